//! What names of people look like, and what stands in front of them.

/// Longest name, in bytes, and most words of it.
pub(super) const NAME_BYTES_MAX: usize = 60;
pub(super) const NAME_WORDS_MAX: usize = 5;

/// Titles in front of names.
pub(super) const TITLES: &[&str] = &[
    "dr.",
    "dr",
    "prof.",
    "prof",
    "dipl.-ing.",
    "dipl.-kfm.",
    "mag.",
    "ing.",
    "univ.-prof.",
    "med.",
    "mr.",
    "mr",
    "mrs.",
    "mrs",
    "ms.",
    "ms",
    "miss",
    "sir",
    "herr",
    "frau",
    "m.",
    "mme",
    "mlle",
    "avv.",
    "dott.",
    "dott.ssa",
    "arch.",
    "sig.",
    "sig.ra",
    "d.",
    "mgr",
    "inż.",
    "rechtsanwalt",
    "rechtsanwältin",
];
/// Titles that show a name wherever they stand.
pub(super) const TITLES_SURE: &[&str] = &[
    "dr.",
    "prof.",
    "avv.",
    "dott.",
    "dott.ssa",
    "dipl.-ing.",
    "rechtsanwalt",
    "rechtsanwältin",
    "maître",
    "mudr.",
];
/// Small words inside names.
const PARTICLES: &[&str] = &[
    "von", "van", "der", "den", "de", "del", "della", "di", "da", "dos", "das", "do", "du", "la",
    "le", "el", "al", "bin", "ibn", "zu", "ter", "ten", "af", "y",
];
/// Words that no name has: what headings and buttons say.
const NOT_NAMES: &[&str] = &[
    "about",
    "us",
    "our",
    "the",
    "team",
    "contact",
    "kontakt",
    "impressum",
    "email",
    "e-mail",
    "mail",
    "call",
    "phone",
    "home",
    "page",
    "legal",
    "notice",
    "privacy",
    "policy",
    "press",
    "office",
    "sales",
    "support",
    "service",
    "services",
    "company",
    "products",
    "product",
    "read",
    "more",
    "learn",
    "new",
    "news",
    "all",
    "rights",
    "reserved",
    "follow",
    "share",
    "customer",
    "care",
    "opening",
    "hours",
    "street",
    "road",
    "avenue",
    "write",
    "book",
    "now",
    "get",
    "in",
    "touch",
    "send",
    "message",
    "view",
    "map",
    "terms",
    "conditions",
    "data",
    "protection",
    "head",
    "help",
    "center",
    "centre",
    "gmbh",
    "ltd",
    "inc",
    "inc.",
    "llc",
    "ag",
    "kg",
    "sarl",
    "s.r.l.",
    "studio",
    "hotel",
    "restaurant",
    "praxis",
    "kanzlei",
    "agentur",
    "group",
    "holding",
    "unser",
    "unsere",
    "ihre",
    "ihr",
    "unternehmen",
    "leistungen",
    "startseite",
    "mehr",
    "jetzt",
    "nous",
    "notre",
    "nos",
    "accueil",
    "mentions",
    "légales",
    "contatti",
    "chi",
    "siamo",
    "inicio",
    "contacto",
    "sobre",
    "nosotros",
    "aviso",
    "über",
    "uns",
    "meet",
    "agents",
    "managing",
    "broker",
    "associate",
    "director",
    "manager",
    "engineer",
    "developer",
    "designer",
    "partner",
    "founder",
    "assistant",
    "amtsgericht",
    "handelsregister",
    "germany",
    "iroda",
    "ügyvédi",
    "law",
    "firm",
    "clinic",
    "dental",
    "school",
    "church",
    "city",
    "museum",
    "society",
    "foundation",
    "institute",
    "university",
    "notaires",
    "avocats",
    "cabinet",
    "estudio",
    "consulting",
    "partners",
    "associates",
    "services",
    "trading",
    "logistics",
    "tours",
    "farm",
    "house",
];

/// The name without titles in front and degrees behind.
pub(crate) fn without_titles(text: &str) -> &str {
    let mut rest = text.trim();
    while let Some((first, after)) = rest.split_once(' ') {
        if !TITLES.contains(&first.to_lowercase().as_str()) {
            break;
        }
        rest = after.trim_start();
    }
    rest.split(',')
        .next()
        .unwrap_or_default()
        .trim()
        .trim_end_matches('.')
}

/// Whether a text is a person's name: a few words that begin with capitals.
pub(crate) fn is_name(text: &str) -> bool {
    if text.len() > NAME_BYTES_MAX {
        return false;
    }
    let words: Vec<&str> = text.split(' ').collect();
    let is_small = |word: &str| PARTICLES.contains(&word);
    let n_full = words
        .iter()
        .filter(|word| !is_small(word) && word.chars().count() > 1 && !word.ends_with('.'))
        .count();
    (2..=NAME_WORDS_MAX).contains(&words.len())
        && n_full >= 2
        && !words.last().is_some_and(|word| is_small(word))
        && words
            .iter()
            .all(|word| is_small(word) || is_name_word(word))
}

pub(super) fn is_name_word(word: &str) -> bool {
    let mut characters = word.chars();
    let is_begun = characters.next().is_some_and(|c| c.is_uppercase());
    let is_letter = |c: char| c.is_alphabetic() || matches!(c, '-' | '\'' | '’' | '.');
    let letters: Vec<char> = characters.collect();
    let is_shouted = letters.len() > 2 && letters.iter().all(|c| c.is_uppercase());
    is_begun
        && !is_shouted
        && letters.iter().all(|&c| is_letter(c))
        && !NOT_NAMES.contains(&word.to_lowercase().as_str())
}

/// Names in Chinese, Japanese and Korean: two to four signs, maybe a blank between.
pub(super) fn is_east_asian_name(text: &str) -> bool {
    let is_sign = |c: char| matches!(c as u32, 0x3040..=0x30ff | 0x4e00..=0x9fff | 0xac00..=0xd7a3);
    let n_signs = text.chars().filter(|&c| is_sign(c)).count();
    (2..=6).contains(&n_signs)
        && text
            .chars()
            .all(|c| is_sign(c) || c == ' ' || c == '\u{3000}')
}
