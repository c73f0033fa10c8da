//! Names of months.

/// Minimum length of an abbreviation in characters.
const ABBREVIATION_MIN: usize = 3;

/// Names of each month as used in dates, in English, German, French, Spanish, Italian, Portuguese,
/// Dutch, Polish, Russian, the Scandinavian languages, Turkish, Czech, Hungarian, Romanian,
/// Finnish, Greek, Ukrainian, Indonesian and Vietnamese.
const NAMES: [&str; 12] = [
    "january januar jänner janvier enero gennaio janeiro januari stycznia января january januar ocak ledna január ianuarie tammikuuta ιανουαρίου січня",
    "february februar février fevrier febrero febbraio fevereiro februari lutego февраля şubat února február februarie helmikuuta φεβρουαρίου лютого",
    "march märz maerz mars marzo março marco maart marca марта mart března március martie maaliskuuta μαρτίου березня maret",
    "april avril abril aprile april kwietnia апреля nisan dubna április aprilie huhtikuuta απριλίου квітня",
    "may mai mayo maggio maio mei maja мая maj mayıs května május toukokuuta μαΐου травня",
    "june juni juin junio giugno junho czerwca июня haziran června június iunie kesäkuuta ιουνίου червня",
    "july juli juillet julio luglio julho lipca июля temmuz července július iulie heinäkuuta ιουλίου липня",
    "august août aout agosto augustus sierpnia августа augusti ağustos srpna augusztus elokuuta αυγούστου серпня agustus",
    "september septembre septiembre settembre setembro september września сентября eylül září szeptember septembrie syyskuuta σεπτεμβρίου вересня",
    "october oktober octobre octubre ottobre outubro oktober października октября ekim října október octombrie lokakuuta οκτωβρίου жовтня",
    "november novembre noviembre novembro listopada ноября kasım listopadu noiembrie marraskuuta νοεμβρίου листопада",
    "december dezember décembre decembre diciembre dicembre dezembro december grudnia декабря aralık prosince decembrie joulukuuta δεκεμβρίου грудня desember",
];

/// The month of a name or abbreviation, 1 to 12.
pub(crate) fn month_of(name: &str) -> Option<u32> {
    let name = name.to_lowercase();
    let n_letters = name.chars().count();
    if n_letters < ABBREVIATION_MIN {
        return None;
    }
    let means = |names: &str| {
        names
            .split(' ')
            .any(|known| is_short_for(&name, n_letters, known))
    };
    let place = NAMES.iter().position(|names| means(names))?;
    u32::try_from(place + 1).ok()
}

/// Whether a word is a name or an abbreviation of it.
fn is_short_for(word: &str, n_letters: usize, name: &str) -> bool {
    const ABBREVIATION_MAX: usize = 4;
    name == word || (n_letters <= ABBREVIATION_MAX && name.starts_with(word))
}

#[cfg(test)]
mod tests {
    use super::month_of;

    #[test]
    fn names_and_their_abbreviations_are_months() {
        for (name, month) in [
            ("Jan", 1),
            ("Sept", 9),
            ("März", 3),
            ("MAI", 5),
            ("août", 8),
            ("Dez", 12),
            ("июн", 6),
            ("Okt", 10),
            ("juil", 7),
            ("Juni", 6),
        ] {
            assert_eq!(month_of(name), Some(month), "{name}");
        }
    }

    #[test]
    fn other_words_are_not_months() {
        for word in ["ma", "Monday", "marching", "th", "octopus", ""] {
            assert_eq!(month_of(word), None, "{word}");
        }
    }
}
