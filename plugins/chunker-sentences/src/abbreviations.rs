//! Words with a full stop that does not end a sentence. The lists are sorted by bytes.

/// Abbreviations that precede another word. Lower-case entries also match with a capital.
#[rustfmt::skip]
const BEFORE: &[&str] = &[
    "Adm", "Av", "Col", "Dir", "Ed", "Ev", "Fa", "Fam", "Gen", "Gov", "Gral", "Lic", "Maj", "Mio",
    "Mrd", "Ms", "Mt", "Op", "Pres", "Rep", "Sen", "Sig", "Sog", "St", "Sta", "Std", "Ste", "Str",
    "abb", "abs", "adj", "allg", "anm", "approx", "asst", "avda", "ave", "bd", "bes", "betr",
    "brig", "bsp", "bspw", "bzgl", "bzw", "ca", "capt", "cf", "cmdr", "cnel", "comdr", "cpl",
    "dept", "dipl", "dott", "dr", "dra", "ebd", "eds", "ej", "engr", "esp", "etw", "evtl", "exmo",
    "fr", "geb", "gegr", "gest", "ggf", "hg", "hl", "hon", "hr", "hrn", "hrsg", "inkl", "insp",
    "jhd", "kath", "kgl", "krs", "lfd", "lt", "ltnt", "messrs", "mgr", "mlle", "mlles", "mme",
    "mmes", "mr", "mrs", "mx", "nr", "num", "núm", "op", "pag", "pfc", "prof", "profa", "pvt",
    "pág", "págs", "resp", "rev", "rt", "sgt", "spc", "sr", "sra", "sras", "sres", "srta", "supt",
    "tel", "uds", "urspr", "usf", "vd", "vds", "verw", "vgl", "viz", "vs", "zit", "zzgl", "г",
    "дол", "др", "им", "млн", "млрд", "проф", "ред", "руб", "см", "стр", "тыс", "ул", "डॉ", "श्री",
];

/// Abbreviations that precede a number.
const BEFORE_NUMBER: &[&str] = &[
    "abb", "apr", "art", "aug", "bl", "cap", "ch", "chap", "dec", "dez", "eq", "eqs", "ex", "feb",
    "fig", "figs", "fol", "jan", "jul", "jun", "kap", "mar", "n", "no", "nos", "nov", "num", "oct",
    "okt", "p", "par", "pp", "pt", "ref", "refs", "s", "sec", "sect", "sep", "sept", "tab", "vol",
    "vols", "z",
];

/// Abbreviations that may end a sentence.
const EITHER: &[&str] = &[
    "bros", "co", "corp", "dist", "est", "ft", "hrs", "hwy", "inc", "jr", "ltd", "mfg", "mins",
    "ph.d", "plc", "rd", "univ",
];

/// Words that start a sentence much more often than they follow an abbreviation or an initial.
const STARTERS: &[&str] = &[
    "A", "Aber", "After", "Al", "All", "Also", "Although", "An", "And", "As", "At", "Auch",
    "Because", "But", "By", "Das", "Der", "Des", "Die", "Dies", "Diese", "During", "Each", "Ein",
    "Eine", "El", "Elle", "Er", "Es", "For", "From", "He", "Her", "His", "How", "However", "I",
    "Ich", "If", "Il", "Im", "In", "It", "Its", "La", "Las", "Le", "Les", "Los", "Many", "Most",
    "My", "No", "Not", "On", "One", "Or", "Our", "She", "Sie", "Since", "So", "Some", "That",
    "The", "Their", "Then", "There", "These", "They", "This", "Those", "Thus", "To", "Un", "Una",
    "Und", "Une", "Was", "We", "What", "When", "Where", "While", "Who", "Why", "Wir", "With",
    "Yes", "Yet", "You", "Your",
];

/// Words before an ordinal number: articles and prepositions of languages that write ordinals with
/// a full stop.
const BEFORE_ORDINAL: &[&str] = &[
    "ab", "am", "bis", "das", "dem", "den", "der", "des", "die", "ein", "im", "ins", "jeden",
    "jeder", "jedes", "seit", "vom", "zum", "zur",
];

/// Words after an ordinal number.
#[rustfmt::skip]
const AFTER_ORDINAL: &[&str] = &[
    "April", "Auflage", "August", "Band", "Dezember", "Etage", "Februar", "Geburtstag",
    "Jahrhundert", "Jahrhunderts", "Januar", "Juli", "Juni", "Jänner", "Kapitel", "Klasse", "Mai",
    "März", "November", "Oktober", "Platz", "Quartal", "Runde", "September", "Stock", "Tag",
    "Weltkrieg", "Weltkriegs",
];

/// Maximum length of a part of a dotted abbreviation, in letters: `Ph.D`.
const PART_LETTERS_MAX: usize = 2;
/// Maximum number of digits in the ordinal number of a date or rank.
const ORDINAL_DIGITS_MAX: usize = 2;
/// Maximum number of digits in a list item's number; a longer number at the start of a line is a
/// year.
const ITEM_DIGITS_MAX: usize = 3;

/// Maximum length of a listed abbreviation in bytes.
const LISTED_BYTES_MAX: usize = 15;

fn has(list: &[&str], word: &str) -> bool {
    list.binary_search(&word).is_ok()
}

/// A full stop and its context.
pub(crate) struct Point<'t> {
    /// The word before `word`; empty if `word` is the first on its line.
    pub(crate) before: &'t str,
    /// The word before the stop, without leading brackets and quotes.
    pub(crate) word: &'t str,
    /// The text after the stop, from its first letter or digit.
    pub(crate) next: &'t str,
}

impl Point<'_> {
    /// Whether the stop belongs to the word and does not end a sentence.
    pub(crate) fn is_of_word(&self) -> bool {
        if self.word.bytes().all(|byte| byte.is_ascii_digit()) {
            return self.is_of_number();
        }
        if self.word.len() > LISTED_BYTES_MAX {
            return false;
        }
        let mut letters = self.word.chars();
        let is_letter = letters.next().is_some_and(char::is_alphabetic) && letters.next().is_none();
        if is_letter || self.has_points() {
            let always = ["e.g", "i.e"];
            return always.contains(&self.word) || !self.has_starter();
        }
        self.is_listed()
    }

    /// Whether the stop belongs to an ordinal number or a list item's number.
    fn is_of_number(&self) -> bool {
        let is_item = self.before.is_empty() && self.word.len() <= ITEM_DIGITS_MAX;
        let is_short = self.word.len() <= ORDINAL_DIGITS_MAX;
        let follows = has(BEFORE_ORDINAL, &self.before.to_lowercase());
        is_item || (is_short && (follows || has(AFTER_ORDINAL, self.next_word())))
    }

    fn is_listed(&self) -> bool {
        let small = self.word.to_lowercase();
        let is_among = |list| has(list, self.word) || has(list, &small);
        let has_number = self.next.starts_with(|c: char| c.is_numeric()) || self.has_numeral();
        is_among(BEFORE)
            || (has_number && is_among(BEFORE_NUMBER))
            || (!self.has_starter() && is_among(EITHER))
    }

    /// Whether the word is letters with full stops in between: `U.S`.
    fn has_points(&self) -> bool {
        let is_part = |part: &str| {
            let n_letters = part.chars().count();
            (1..=PART_LETTERS_MAX).contains(&n_letters) && part.chars().all(char::is_alphabetic)
        };
        self.word.contains('.') && self.word.split('.').all(is_part)
    }

    /// Whether the next word is a Roman numeral.
    fn has_numeral(&self) -> bool {
        let word = self.next_word();
        let is_roman = |byte: u8| matches!(byte, b'I' | b'V' | b'X' | b'L' | b'C');
        !word.is_empty() && word != "I" && word.bytes().all(is_roman)
    }

    fn has_starter(&self) -> bool {
        has(STARTERS, self.next_word())
    }

    fn next_word(&self) -> &str {
        let end = self.next.find(|c: char| !c.is_alphanumeric());
        &self.next[..end.unwrap_or(self.next.len())]
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn the_lists_are_sorted_and_their_words_short() {
        let lists = [
            BEFORE,
            BEFORE_NUMBER,
            EITHER,
            STARTERS,
            BEFORE_ORDINAL,
            AFTER_ORDINAL,
        ];
        for list in lists {
            assert!(list.is_sorted(), "{list:?}");
        }
        let words = [BEFORE, BEFORE_NUMBER, EITHER].concat();
        assert!(words.iter().all(|word| word.len() <= LISTED_BYTES_MAX));
    }
}
