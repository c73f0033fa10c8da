//! Runs of words that may be names, in the clauses of a line.

use super::fold::plain_word;
use super::lines::EDGE;
use super::names::{PARTICLES, TITLES};
use super::occupations::is_role_word;
use super::stop_words::is_stranger;

/// Most clauses of a line, and most words of one, that are read.
const CLAUSES_MAX: usize = 60;
const WORDS_MAX: usize = 60;
/// Most words of a name, and most of them that are no particles.
const NAME_WORDS_MAX: usize = 6;
const FULL_WORDS_MAX: usize = 4;
/// Longest name, in bytes.
const NAME_BYTES_MAX: usize = 60;
/// Most words of what somebody does.
const ROLE_WORDS_MAX: usize = 8;
/// Letters of a word that a full stop ends with its sentence; shorter ones are cut short.
const SENTENCE_WORD_MIN: usize = 3;

/// Titles that are words or initials too: they show nobody by themselves.
const TITLES_UNSURE: &[&str] = &[
    "me", "m.", "d.", "p.", "don", "cr", "sir", "fr.", "hr.", "av.", "op.", "ks.", "miss", "ing.",
    "arch.", "pan", "pani", "med.", "doc.", "nat.", "dt.", "dl.", "eng.", "rev.", "κ.", "ms", "dr",
    "prof",
];

/// Occupations that are family names too.
const SURNAMES: &[&str] = &[
    "baker",
    "cook",
    "mason",
    "bishop",
    "priest",
    "potter",
    "carpenter",
    "gardener",
    "farmer",
    "brewer",
    "driver",
    "steward",
    "lehrer",
    "meister",
    "kantor",
    "pastor",
    "kok",
    "dean",
    "head",
    "park",
    "young",
];

/// Ends of companies' names that follow a name of somebody.
const COMPANY_ENDS: &[&str] = &[
    "gmbh", "ag", "kg", "ohg", "ltd", "llc", "llp", "inc", "co", "corp", "plc", "limited", "sarl",
    "sas", "sa", "srl", "spa", "sl", "slp", "bv", "nv", "as", "ab", "aps", "oy", "oyj", "ou",
    "kft", "zrt", "bt", "sp.", "sro", "s.r.o", "doo", "d.o.o", "ltda", "lda", "eireli", "pty",
    "pvt", "e.k", "e.v", "s.a", "s.l", "s.p.a", "s.r.l", "b.v", "n.v", "a.s", "z.o.o", "s.s", "&",
    "et", "uab", "sia", "eood", "ood", "ооо", "оао", "тов",
];

/// What stands between two marks of a line.
pub(super) struct Clause<'t> {
    pub(super) text: &'t str,
    /// The mark before it; `\n` at the start of the line.
    pub(super) mark: char,
}

/// The clauses of a line.
pub(super) fn clauses(line: &str) -> Vec<Clause<'_>> {
    let mut clauses = Vec::new();
    let (mut start, mut mark) = (0, '\n');
    for (at, character) in line.char_indices() {
        let (before, after) = (&line[start..at], &line[at + character.len_utf8()..]);
        let is_apart = || before.ends_with([' ', EDGE]) && after.starts_with([' ', EDGE]);
        let ends = match character {
            EDGE | ',' | ';' | ':' | '：' | '|' | '·' | '•' | '(' | ')' | '（' | '）' | '['
            | ']' | '、' | '，' | '،' | '؛' | '／' | '“' | '”' | '„' | '"' | '«' | '»' | '!'
            | '?' | '…' | '→' | '。' => true,
            '/' => !after.starts_with(char::is_lowercase),
            '–' | '—' => is_apart() || !before.ends_with(|c: char| c.is_ascii_digit()),
            '-' | '~' => is_apart(),
            '.' => (after.is_empty() || after.starts_with([' ', EDGE])) && ends_sentence(before),
            _ => false,
        };
        if !ends {
            continue;
        }
        let text = before.trim();
        if !text.is_empty() {
            clauses.push(Clause { text, mark });
            mark = EDGE;
        }
        if mark == EDGE || mark == '\n' && !clauses.is_empty() {
            mark = character;
        }
        start = at + character.len_utf8();
        if clauses.len() >= CLAUSES_MAX {
            return clauses;
        }
    }
    let text = line[start..].trim();
    if !text.is_empty() {
        clauses.push(Clause { text, mark });
    }
    clauses
}

fn ends_sentence(before: &str) -> bool {
    let word = before.rsplit([' ', EDGE, '.']).next().unwrap_or_default();
    word.chars().count() >= SENTENCE_WORD_MIN
        && !TITLES.contains(&format!("{}.", word.to_lowercase()).as_str())
}

/// A name in a clause.
#[derive(Clone, Debug)]
pub(super) struct Run {
    pub(super) name: String,
    /// What stands around it says that it is somebody.
    pub(super) is_titled: bool,
    /// What they do, as the words right beside the name say.
    pub(super) role: Option<String>,
    /// Whether it begins and ends with its clause, titles aside.
    pub(super) is_first: bool,
    pub(super) is_last: bool,
}

#[derive(Clone, Copy, PartialEq, Eq)]
enum Sort {
    Name,
    Particle,
    Title,
    Role,
    Stranger,
    Other,
}

/// The names of a clause; `is_behind` where the language puts an occupation behind its name.
pub(super) fn runs(clause: &str, is_behind: bool) -> Vec<Run> {
    let words: Vec<&str> = clause.split(' ').take(WORDS_MAX).collect();
    // Nearly all clauses have no two words side by side that could be a name.
    let could_be = |word: &str| is_shaped(word) || PARTICLES.contains(&word) || is_title(word);
    let n_shaped = words.iter().filter(|word| is_shaped(word)).count();
    if n_shaped < 2 {
        return Vec::new();
    }
    let sorts: Vec<Sort> = words
        .iter()
        .enumerate()
        .map(|(at, word)| {
            let is_beside = at > 0 && could_be(words[at - 1])
                || words.get(at + 1).is_some_and(|next| could_be(next));
            if is_beside { sort(word) } else { Sort::Other }
        })
        .collect();
    let mut runs = Vec::new();
    let mut at = 0;
    while at < words.len() {
        if !matches!(sorts[at], Sort::Name | Sort::Particle) {
            at += 1;
            continue;
        }
        let mut end = at;
        while end < words.len() && matches!(sorts[end], Sort::Name | Sort::Particle) {
            end += 1;
        }
        runs.extend(run(&words, &sorts, at, end, is_behind));
        at = end;
    }
    runs
}

fn run(
    words: &[&str],
    sorts: &[Sort],
    mut start: usize,
    mut end: usize,
    is_behind: bool,
) -> Option<Run> {
    while start < end && sorts[start] == Sort::Particle {
        start += 1;
    }
    while end > start && sorts[end - 1] == Sort::Particle {
        end -= 1;
    }
    let n_full = words[start..end]
        .iter()
        .zip(&sorts[start..end])
        .filter(|(word, sort)| {
            **sort == Sort::Name && word.chars().count() > 1 && !word.ends_with('.')
        })
        .count();
    let name = words[start..end].join(" ");
    let n_shouted = words[start..end]
        .iter()
        .filter(|word| is_shouted(word))
        .count();
    let is_whole = start == 0 && end == words.len();
    let is_name = (2..=FULL_WORDS_MAX).contains(&n_full)
        && end - start <= NAME_WORDS_MAX
        && name.len() <= NAME_BYTES_MAX
        && (n_shouted < n_full || is_whole);
    let next = words.get(end).copied().unwrap_or_default();
    if !is_name || is_company_end(next) {
        return None;
    }
    let is_before = |at: usize, sort: Sort| at > 0 && sorts[at - 1] == sort;
    let n_titles = sorts[..start]
        .iter()
        .rev()
        .take_while(|sort| **sort == Sort::Title)
        .count();
    let first = start - n_titles;
    // `Junior Activities coordinator`: words before an occupation say of what.
    let is_adjective =
        !is_behind && !is_shouted(next) && is_role_word(&bare(next)) && n_titles == 0;
    // A stranger beside it makes it a part of something longer: `Hotel Anna Maria`.
    let is_part = is_before(first, Sort::Stranger)
        && words[first - 1].starts_with(char::is_uppercase)
        || sorts.get(end) == Some(&Sort::Stranger) && next.starts_with(char::is_uppercase);
    let role = role_beside(words, first, end, is_behind);
    if is_part && role.is_none() || is_adjective {
        return None;
    }
    Some(Run {
        name,
        is_titled: words[first..start]
            .iter()
            .any(|title| !TITLES_UNSURE.contains(&title.to_lowercase().as_str())),
        role,
        is_first: first == 0,
        is_last: end == words.len(),
    })
}

/// What the words right before or behind a name say somebody does: `our head of sales is Ann Lee`, `opintosihteeri Maaret Ikäheimo`.
fn role_beside(words: &[&str], start: usize, end: usize, is_behind: bool) -> Option<String> {
    const BINDING: &[&str] = &[
        "is", "ist", "est", "es", "è", "é", "är", "er", "jest", "je", "on", "van", "este", ":",
        "heißt", "heet", "named", "jsou", "was", "-",
    ];
    // A few words of a role before its binding word.
    const REACH: usize = 6;
    let is_role = |word: &str| is_role_word(&bare(word));
    if start > 0 {
        let last = words[start - 1];
        if is_role(last) {
            let first = (0..start)
                .rev()
                .take(ROLE_WORDS_MAX / 2)
                .take_while(|&at| is_role(words[at]) || at + 1 == start || is_role(words[at + 1]))
                .last()
                .unwrap_or(start - 1);
            return Some(words[first.max(start - 1)..start].join(" "));
        }
        if BINDING.contains(&last) {
            let near = start.saturating_sub(1 + REACH);
            let at = (near..start - 1).find(|&at| is_role(words[at]));
            if let Some(at) = at {
                return Some(words[at..start - 1].join(" "));
            }
        }
    }
    // Elsewhere words before an occupation say of what: `Junior Activities coordinator`.
    let next = words.get(end)?;
    let is_behind = is_behind || is_shouted(next);
    (is_behind && is_role(next)).then(|| {
        let rest = &words[end..];
        if rest.len() <= ROLE_WORDS_MAX {
            rest.join(" ")
        } else {
            (*next).to_owned()
        }
    })
}

fn sort(word: &str) -> Sort {
    if PARTICLES.contains(&word) {
        return Sort::Particle;
    }
    if is_title(word) {
        return Sort::Title;
    }
    if !is_shaped(word) {
        return Sort::Other;
    }
    let plain = plain_word(word);
    if SURNAMES.contains(&plain.as_str()) {
        Sort::Name
    } else if is_stranger(&plain) {
        Sort::Stranger
    } else if is_role_word(&plain) {
        Sort::Role
    } else {
        Sort::Name
    }
}

/// Whether a word has the form of a name's: `Ann`, `O'Neill`, `Jean-Luc`, `J.`.
fn is_shaped(word: &str) -> bool {
    let mut characters = word.chars();
    let is_begun = characters.next().is_some_and(char::is_uppercase);
    let is_letter = |c: char| c.is_alphabetic() || matches!(c, '-' | '\'' | '’' | '`' | 'ʻ');
    if !is_begun {
        return false;
    }
    match word.strip_suffix('.') {
        Some(initial) => {
            word.chars().count() <= 4
                && initial
                    .split('.')
                    .all(|part| (1..=2).contains(&part.chars().count()))
                && initial.chars().all(|c| c.is_alphabetic() || c == '.')
        }
        None => characters.all(is_letter) && !is_made_up(word),
    }
}

/// Short forms and names of brands: `BV`, `CLG`, `SkyRanger`; not `McLeod`.
fn is_made_up(word: &str) -> bool {
    let n_letters = word.chars().count();
    let n_capitals = word.chars().filter(|c| c.is_uppercase()).count();
    if n_capitals == n_letters {
        return n_letters < 4;
    }
    let is_inner = |(at, letter): (usize, char)| {
        letter.is_uppercase() && word[..at].ends_with(char::is_lowercase)
    };
    let start = word.char_indices().find(|place| is_inner(*place));
    start.is_some_and(|(at, _)| {
        at > 4
            || ![
                "Mc", "Mac", "De", "Di", "La", "Le", "Van", "Von", "Fitz", "Du", "Da", "El", "Al",
                "Nic", "Ni",
            ]
            .contains(&&word[..at])
    })
}

fn is_shouted(word: &str) -> bool {
    word.chars().count() > 2 && !word.chars().any(char::is_lowercase)
}

/// Whether a word is a title, or one of the short words of titles: `Dr.`, `med.`.
pub(super) fn is_title(word: &str) -> bool {
    if word.len() > 16 {
        return false;
    }
    let lower = word.to_lowercase();
    TITLES.contains(&lower.as_str())
}

fn is_company_end(word: &str) -> bool {
    let word = word.trim_end_matches(['.', ',']).to_lowercase();
    COMPANY_ENDS.contains(&word.as_str())
}

fn bare(word: &str) -> String {
    plain_word(word.trim_matches(|c: char| !c.is_alphanumeric()))
}

/// Whether a clause says what somebody does: a few words, one of them for an occupation.
pub(super) fn is_role(clause: &str) -> bool {
    let mut words = clause.split(' ');
    clause.len() <= 90 && words.clone().count() <= ROLE_WORDS_MAX && says_role(&mut words)
}

/// Whether a word for an occupation is among these, before a word that makes it somebody else's: `tour with guide`, `for founders`.
fn says_role<'t>(words: &mut impl Iterator<Item = &'t str>) -> bool {
    const BINDING: &[&str] = &[
        "for", "to", "with", "by", "from", "your", "pour", "par", "avec", "fur", "mit", "durch",
        "para", "por", "con", "com", "per", "voor", "met", "till", "til", "med", "dla", "dengan",
        "za", "за", "для", "με", "και", "ile", "icin", "our", "become",
    ];
    for word in words {
        let bare = bare(word);
        if BINDING.contains(&bare.as_str()) {
            return false;
        }
        if is_role_word(&bare) {
            return true;
        }
    }
    false
}

/// Occupations that companies have too: `our evacuation partner, Sky Medevac`.
const COMPANIES_TOO: &[&str] = &[
    "partner",
    "agent",
    "broker",
    "publisher",
    "producer",
    "owner",
    "organiser",
    "organizer",
    "specialist",
    "expert",
];

/// The end of a longer clause that says what somebody, and no company, does.
pub(super) fn role_at_end(clause: &str) -> Option<&str> {
    const NEAR: usize = 3;
    let mut start = clause.len();
    for word in clause.rsplit(' ').take(NEAR) {
        start -= word.len();
        let bare = bare(word);
        if is_role_word(&bare) && !COMPANIES_TOO.contains(&bare.as_str()) {
            return Some(&clause[start..]);
        }
        start = start.saturating_sub(1);
    }
    None
}

/// The start of a longer clause that says what somebody does.
pub(super) fn role_at_start(clause: &str) -> Option<&str> {
    const NEAR: usize = 5;
    let words = clause.split(' ').take(NEAR);
    let is_found = says_role(&mut words.clone());
    let length: usize = words.map(|word| word.len() + 1).sum();
    is_found.then(|| {
        if clause.len() <= 70 {
            clause
        } else {
            &clause[..length - 1]
        }
    })
}
