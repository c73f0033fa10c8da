//! The lines of an imprint: names with legal forms, numbers of tax offices and registers.

use super::NAME_BYTES_MAX;
use crate::found::Business;
use crate::phones::Region;

/// Digits of a number of a tax office or register.
const ID_DIGITS: std::ops::RangeInclusive<usize> = 5..=20;

/// Legal forms that end a company's name, as written.
const FORMS: [&str; 44] = [
    "GmbH & Co. KG",
    "gGmbH",
    "GmbH",
    "AG",
    "UG (haftungsbeschränkt)",
    "e.K.",
    "e.V.",
    "OHG",
    "KG",
    "SE",
    "Ltd",
    "Ltd.",
    "Limited",
    "PLC",
    "plc",
    "LLP",
    "Inc.",
    "Inc",
    "LLC",
    "Corp.",
    "SARL",
    "SAS",
    "S.A.S.",
    "S.A.",
    "SA",
    "S.r.l.",
    "Srl",
    "S.p.A.",
    "S.L.",
    "S.L.U.",
    "B.V.",
    "N.V.",
    "ASBL",
    "BVBA",
    "Sp. z o.o.",
    "AB",
    "ApS",
    "A/S",
    "AS",
    "Oy",
    "s.r.o.",
    "Kft.",
    "Ltda.",
    "Lda.",
];
const FORMS_TOO: [&str; 12] = [
    "Pvt. Ltd.",
    "Pty Ltd",
    "Pte. Ltd.",
    "d.o.o.",
    "S.R.L.",
    "A.Ş.",
    "ООО",
    "株式会社",
    "有限会社",
    "有限公司",
    "주식회사",
    "Α.Ε.",
];

/// What a label of an imprint names.
#[derive(Clone, Copy)]
enum Label {
    Vat,
    Tax,
    Registration,
}

/// Labels in lower case, each before those that begin with it, with the country's letters that its VAT number lacks.
const LABELS: &[(&str, Label, &str)] = &[
    ("ust-idnr", Label::Vat, "DE"),
    ("ust-id", Label::Vat, "DE"),
    ("ust.-id", Label::Vat, "DE"),
    ("ustid", Label::Vat, "DE"),
    ("umsatzsteuer-id", Label::Vat, "DE"),
    ("umsatzsteuer-identifikationsnummer", Label::Vat, "DE"),
    ("uid-nr", Label::Vat, ""),
    ("uid-nummer", Label::Vat, ""),
    ("uid:", Label::Vat, ""),
    ("vat no", Label::Vat, "GB"),
    ("vat number", Label::Vat, "GB"),
    ("vat reg", Label::Vat, "GB"),
    ("vat id", Label::Vat, ""),
    ("vat:", Label::Vat, ""),
    ("tva", Label::Vat, ""),
    ("p.iva", Label::Vat, "IT"),
    ("p. iva", Label::Vat, "IT"),
    ("partita iva", Label::Vat, "IT"),
    ("cif", Label::Vat, "ES"),
    ("ič dph", Label::Vat, "SK"),
    ("vat ", Label::Vat, ""),
    ("mwst-nr", Label::Vat, "CH"),
    ("cui", Label::Vat, "RO"),
    ("alv", Label::Vat, "FI"),
    ("pvm", Label::Vat, "LT"),
    ("ddv", Label::Vat, "SI"),
    ("btw", Label::Vat, ""),
    ("nip:", Label::Vat, "PL"),
    ("nip ", Label::Vat, "PL"),
    ("moms", Label::Vat, ""),
    ("mva", Label::Vat, ""),
    ("cvr", Label::Vat, "DK"),
    ("dič", Label::Vat, "CZ"),
    ("nif", Label::Vat, "PT"),
    ("nipc", Label::Vat, "PT"),
    ("αφμ", Label::Vat, "EL"),
    ("adószám", Label::Tax, ""),
    ("steuernummer", Label::Tax, ""),
    ("steuer-nr", Label::Tax, ""),
    ("siret", Label::Tax, ""),
    ("cnpj", Label::Tax, ""),
    ("rfc:", Label::Tax, ""),
    ("abn", Label::Tax, ""),
    ("gstin", Label::Tax, ""),
    ("инн", Label::Tax, ""),
    ("cuit", Label::Tax, ""),
    ("ičo", Label::Registration, ""),
    ("company no", Label::Registration, ""),
    ("company number", Label::Registration, ""),
    ("krs", Label::Registration, ""),
    ("kvk", Label::Registration, ""),
    ("org.nr", Label::Registration, ""),
    ("огрн", Label::Registration, ""),
];

/// Takes the numbers and the name that a line of an imprint holds.
pub(super) fn imprint(line: &str, homes: &[Region], business: &mut Business) {
    let has_digits = line.bytes().filter(u8::is_ascii_digit).count() >= *ID_DIGITS.start();
    if has_digits {
        let lower = line.to_lowercase();
        // Lower case may be longer than the text; then places do not fit.
        let lower = if lower.len() == line.len() {
            lower
        } else {
            line.to_ascii_lowercase()
        };
        for &(label, kind, country) in LABELS {
            if let Some(value) = value_of(line, &lower, label, matches!(kind, Label::Vat)) {
                take(kind, value, country, homes, business);
            }
        }
        register(line, business);
        bare_vat(line, business);
    }
    if business.legal_name.is_none() && may_have_form(line) {
        business.legal_name = legal_name(line);
    }
}

fn take(kind: Label, value: &str, country: &str, homes: &[Region], business: &mut Business) {
    match kind {
        Label::Vat if business.vat_id.is_none() => {
            let vat = compact(value);
            let has_country =
                vat.len() > 2 && vat.as_bytes()[..2].iter().all(u8::is_ascii_uppercase);
            let home = homes.first().map_or("", |home| home.code());
            let country = if country.is_empty() || (country == "PT" && home == "ES") {
                home
            } else {
                country
            };
            business.vat_id = Some(if has_country {
                vat
            } else {
                format!("{country}{vat}")
            });
        }
        Label::Tax if business.tax_id.is_none() => business.tax_id = Some(value.trim().to_owned()),
        Label::Registration if business.registration.is_none() => {
            business.registration = Some(value.trim().to_owned())
        }
        _ => {}
    }
}

/// What follows a label: a number with letters, blanks and marks in it.
fn value_of<'l>(
    line: &'l str,
    lower: &str,
    label: &str,
    may_have_letters: bool,
) -> Option<&'l str> {
    let is_whole =
        |at: usize| label.len() > 3 || !lower[at + label.len()..].starts_with(char::is_alphabetic);
    let mut places = lower.match_indices(label).map(|(at, _)| at);
    let at = places.find(|&at| !lower[..at].ends_with(char::is_alphanumeric) && is_whole(at))?;
    let rest = line.get(at + label.len()..)?;
    // The rest of the label: `-Nummer:`, ` no.:`, ` intracommunautaire :`, ` registered`.
    let colon = rest
        .find([':', '：', '\t'])
        .filter(|&colon| colon < 30 && !rest[..colon].bytes().any(|byte| byte.is_ascii_digit()));
    let rest = colon.map_or(rest, |colon| {
        &rest[colon + rest[colon..].chars().next().map_or(1, char::len_utf8)..]
    });
    let rest = rest.trim_start_matches([' ', '.', '\u{a0}', '-', ':', 'n', 'r', '°', 'º', '#']);
    let first = rest.find(|c: char| c.is_ascii_digit())?;
    let start = rest[..first]
        .rfind(|c: char| !(c.is_ascii_uppercase() || matches!(c, ' ' | '-' | '\u{a0}')))
        .map_or(0, |at| {
            at + rest[at..].chars().next().map_or(1, char::len_utf8)
        });
    if first > 14 || (start > 0 && start + 6 < first) {
        return None;
    }
    let start = if may_have_letters {
        start
    } else {
        first.min(start)
    };
    let body = &rest[start..];
    let mut end = 0;
    let mut n_letters = 0;
    for (at, character) in body.char_indices() {
        let is_digit = character.is_ascii_digit();
        if is_digit || character.is_ascii_uppercase() {
            n_letters = if is_digit { 0 } else { n_letters + 1 };
            if n_letters > 4 {
                break;
            }
            end = at + 1;
        } else if !matches!(character, ' ' | '.' | '-' | '/' | '\u{a0}')
            || body[at..].starts_with(" - ")
            || body[at..].starts_with(". ")
        {
            break;
        }
    }
    let value = body[..end].trim();
    // Letters at the end, apart from the number, are the next label.
    let value = match value.rsplit_once(' ') {
        Some((number, last)) if last.bytes().all(|byte| byte.is_ascii_uppercase()) => number,
        _ => value,
    };
    let n_digits = value.bytes().filter(u8::is_ascii_digit).count();
    ID_DIGITS.contains(&n_digits).then_some(value)
}

/// `HRB 28741`, `FN 413258 k`, with the court that keeps the register.
fn register(line: &str, business: &mut Business) {
    if business.registration.is_some() {
        return;
    }
    for mark in ["HRB ", "HRA ", "VR ", "FN ", "RCS ", "REA "] {
        let Some(at) = line
            .find(mark)
            .filter(|&at| !line[..at].ends_with(char::is_alphanumeric))
        else {
            continue;
        };
        let rest = &line[at + mark.len()..];
        let end = rest
            .find([',', ';', '|', '·', '\t', '('])
            .unwrap_or(rest.len());
        let rest = rest[..end].split(" - ").next().unwrap_or_default().trim();
        let n_digits = rest.bytes().filter(u8::is_ascii_digit).count();
        if !(4..=12).contains(&n_digits) || rest.len() > 40 {
            continue;
        }
        let court = line[..at]
            .rsplit(['.', ':', '|'])
            .next()
            .unwrap_or_default()
            .trim()
            .trim_end_matches(',');
        let court = if court.to_lowercase().contains("gericht") {
            format!("{court}, ")
        } else {
            String::new()
        };
        business.registration = Some(format!("{court}{}{rest}", mark));
        return;
    }
}

/// VAT numbers whose form alone says what they are.
fn bare_vat(line: &str, business: &mut Business) {
    if business.vat_id.is_some() {
        return;
    }
    for word in line.split(|c: char| c.is_whitespace() || matches!(c, ',' | ':' | ';' | '(' | ')'))
    {
        let bare = word.trim_end_matches('.');
        let digits = |from: usize| {
            bare.len() > from && bare.as_bytes()[from..].iter().all(u8::is_ascii_digit)
        };
        let is_swiss =
            bare.starts_with("CHE-") && bare.bytes().filter(u8::is_ascii_digit).count() == 9;
        let is_austrian = bare.starts_with("ATU") && bare.len() == 11 && digits(3);
        if is_swiss || is_austrian {
            business.vat_id = Some(compact(bare));
            return;
        }
    }
}

/// Whether a word of the line ends a legal form; most lines have none, and looking for the forms themselves takes long.
fn may_have_form(line: &str) -> bool {
    let is_end = |form: &str, word: &str| {
        let before = form.strip_suffix(word);
        before.is_some_and(|before| before.is_empty() || before.ends_with(' '))
    };
    let ends_one = |word: &str| {
        let is_plain = word.bytes().all(|byte| byte.is_ascii_lowercase());
        let is_odd = !word
            .chars()
            .all(|c| c.is_alphabetic() || matches!(c, '.' | '/'));
        if word.is_empty() || is_plain && word != "plc" || is_odd || word.len() > 20 {
            return false;
        }
        let bare = word.trim_end_matches('.');
        let mut forms = FORMS.iter().chain(&FORMS_TOO);
        forms.any(|form| is_end(form, word) || !bare.is_empty() && is_end(form, bare))
    };
    let marks = [',', ';', ':', '(', ')', '|'];
    let mut words = line
        .split([' ', '\t', '\u{a0}'])
        .map(|word| word.trim_matches(marks));
    words.any(ends_one)
        || !line.is_ascii()
            && FORMS_TOO
                .iter()
                .any(|form| !form.is_ascii() && line.contains(form))
}

/// The name in front of a legal form: `Holzbau Brandner GmbH`.
fn legal_name(line: &str) -> Option<String> {
    let part_end = [',', '|', '·', ';', '\t', '©', ':', '–', '•'];
    line.split(part_end).find_map(|part| {
        let part = part.trim();
        let form = FORMS.iter().chain(&FORMS_TOO).filter_map(|form| {
            let at = part.find(form)?;
            let (before, after) = (&part[..at], &part[at + form.len()..]);
            let is_apart = !form.is_ascii()
                || !after.starts_with(|c: char| c.is_alphanumeric())
                    && before.ends_with([' ', ',']);
            is_apart.then_some((at, form.len()))
        });
        let (at, length) = form.max_by_key(|(_, length)| *length)?;
        let name = part[..at + length].trim();
        let name =
            name.trim_start_matches(|c: char| c.is_ascii_digit() || matches!(c, ' ' | '-' | '.'));
        let n_words = name.split(' ').count();
        let is_east_asian =
            !FORMS.iter().any(|form| part[at..].starts_with(form)) && !name.is_ascii();
        let name = if at == 0 { part } else { name };
        let is_begun = name
            .chars()
            .next()
            .is_some_and(|c| c.is_uppercase() || is_east_asian);
        let is_name =
            is_begun && (2..=9).contains(&n_words) || is_east_asian && name.chars().count() > 4;
        (is_name && name.len() <= NAME_BYTES_MAX).then(|| name.to_owned())
    })
}

/// A number without blanks and marks.
pub(super) fn compact(text: &str) -> String {
    text.chars()
        .filter(char::is_ascii_alphanumeric)
        .collect::<String>()
        .to_uppercase()
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn imprints_name_their_numbers() {
        let read = |home: &str, line: &str| {
            let homes: Vec<Region> = Region::of(home).into_iter().collect();
            let mut business = Business::default();
            imprint(line, &homes, &mut business);
            business
        };
        for (home, line, vat) in [
            ("DE", "USt-IdNr.: DE 281 334 912", "DE281334912"),
            ("AT", "UID-Nummer: ATU67812345. FN 413258 k", "ATU67812345"),
            (
                "FR",
                "TVA intracommunautaire : FR 40 512345678",
                "FR40512345678",
            ),
            (
                "GB",
                "Company No. 07654321 | VAT No: GB 123 4567 89 | Registered",
                "GB123456789",
            ),
            (
                "IT",
                "P.IVA 01234560157 - C.F. FRRMRC65A01F205X",
                "IT01234560157",
            ),
            ("ES", "CIF B-12345674", "ESB12345674"),
            ("NL", "BTW: NL812345678B01, IBAN NL91", "NL812345678B01"),
            ("BE", "TVA BE 0456.789.123 – IBAN", "BE0456789123"),
            ("PL", "NIP: 676-123-45-67 REGON: 123456785", "PL6761234567"),
            ("SE", "Moms SE556677889901. Bankgiro", "SE556677889901"),
            ("DK", "CVR-nr. 31245678", "DK31245678"),
            ("CZ", "IČO: 27082440, DIČ: CZ27082440", "CZ27082440"),
            ("CH", "CHE-114.556.712 MWST", "CHE114556712"),
            (
                "IE",
                "Open 17 March – 31 October 2025. VAT IE1234567FA",
                "IE1234567FA",
            ),
            ("SK", "IČ DPH\tSK2020123456", "SK2020123456"),
            (
                "ZA",
                "Reg. 2010/012345/07 VAT 4123456789. R 2 450",
                "ZA4123456789",
            ),
        ] {
            assert_eq!(read(home, line).vat_id.as_deref(), Some(vat), "{line}");
        }
        let german = read("DE", "Handelsregister: Amtsgericht Leipzig, HRB 28741");
        assert_eq!(
            german.registration.as_deref(),
            Some("Amtsgericht Leipzig, HRB 28741")
        );
        assert_eq!(
            read("FR", "SIRET : 512 345 678 00021 – RCS")
                .tax_id
                .as_deref(),
            Some("512 345 678 00021")
        );
        assert_eq!(
            read("BR", "CNPJ 12.345.678/0001-95. Av.").tax_id.as_deref(),
            Some("12.345.678/0001-95")
        );
        assert_eq!(
            read("GB", "Company No. 07654321").registration.as_deref(),
            Some("07654321")
        );
    }

    #[test]
    fn names_end_with_legal_forms() {
        for (line, expected) in [
            ("Holzbau Brandner GmbH", Some("Holzbau Brandner GmbH")),
            (
                "Éditeur : Boulangerie Marchetti SARL au capital",
                Some("Boulangerie Marchetti SARL"),
            ),
            (
                "Stolarnia Nowicki Sp. z o.o.",
                Some("Stolarnia Nowicki Sp. z o.o."),
            ),
            ("会社名\t株式会社青空工房", Some("株式会社青空工房")),
            ("We are limited in space", None),
        ] {
            assert_eq!(legal_name(line).as_deref(), expected, "{line}");
        }
    }
}
