//! Text statistics.

use crate::lexicon::{FNV_START, N_TOPICS, Topic, fnv, hash_of, topic_of};

/// Counts over a text. A unit is a word, or two characters in scripts without spaces.
#[derive(Clone, Copy, Debug, Default)]
pub(crate) struct Stats {
    /// Units of text.
    pub(crate) units: f32,
    /// Units inside links.
    pub(crate) link_units: f32,
    /// Units in blocks that read like prose.
    pub(crate) prose_units: f32,
    /// Function words, which any text of a language contains.
    pub(crate) common: f32,
    /// Capitalized words.
    pub(crate) capitals: f32,
    /// Sentence ends.
    pub(crate) sentences: f32,
    /// Commas.
    pub(crate) commas: f32,
    /// Words that start with a digit.
    pub(crate) numbers: f32,
    /// Currency signs.
    pub(crate) money: f32,
    /// Links.
    pub(crate) links: f32,
    /// Links that look like single pages: the name has several words or a number.
    pub(crate) named_links: f32,
    /// Links to fragments of the page, and to scripts, e-mail addresses and telephone numbers.
    pub(crate) inner_links: f32,
    /// Links to social networks.
    pub(crate) social_links: f32,
    /// Blocks of text.
    pub(crate) blocks: f32,
    /// Letters and digits.
    pub(crate) letters: f32,
}

impl Stats {
    /// Adds the counts of another text.
    pub(crate) fn add(&mut self, other: &Self) {
        self.units += other.units;
        self.link_units += other.link_units;
        self.prose_units += other.prose_units;
        self.common += other.common;
        self.capitals += other.capitals;
        self.sentences += other.sentences;
        self.commas += other.commas;
        self.numbers += other.numbers;
        self.money += other.money;
        self.links += other.links;
        self.named_links += other.named_links;
        self.inner_links += other.inner_links;
        self.social_links += other.social_links;
        self.blocks += other.blocks;
        self.letters += other.letters;
    }

    /// Counts a link.
    pub(crate) fn add_link(&mut self, href: &str) {
        let href = href.trim_ascii();
        self.links += 1.0;
        if is_inner(href) {
            self.inner_links += 1.0;
        } else if is_social(href) {
            self.social_links += 1.0;
        } else if is_named(href) {
            self.named_links += 1.0;
        }
    }

    /// Share of units inside links, 0 to 1.
    pub(crate) fn link_share(&self) -> f32 {
        share(self.link_units, self.units)
    }
}

/// Maximum number of bytes of a URL that are examined.
const HREF_MAX: usize = 300;

fn is_inner(href: &str) -> bool {
    let schemes = ["#", "javascript:", "mailto:", "tel:"];
    href.is_empty() || schemes.iter().any(|scheme| href.starts_with(scheme))
}

fn is_social(href: &str) -> bool {
    const HOSTS: [&str; 14] = [
        "facebook.com",
        "twitter.com",
        "//x.com",
        "linkedin.com",
        "pinterest.",
        "instagram.com",
        "youtube.com",
        "whatsapp.com",
        "reddit.com",
        "t.me/",
        "tiktok.com",
        "threads.net",
        "bsky.app",
        "tumblr.com",
    ];
    let is_far = href.starts_with("http") || href.starts_with("//");
    is_far
        && href
            .as_bytes()
            .get(..HREF_MAX.min(40).min(href.len()))
            .is_some_and(|start| {
                let start = String::from_utf8_lossy(start);
                HOSTS.iter().any(|host| start.contains(host))
            })
}

/// Whether the last path segment has at least four words, or a number with at least four digits.
fn is_named(href: &str) -> bool {
    let path = href.split(['?', '#']).next().unwrap_or_default();
    let path = &path.as_bytes()[path.len().saturating_sub(HREF_MAX)..];
    let end = path
        .iter()
        .rposition(|&byte| byte != b'/')
        .map_or(0, |last| last + 1);
    let start = path[..end]
        .iter()
        .rposition(|&byte| byte == b'/')
        .map_or(0, |slash| slash + 1);
    let name = &path[start..end];
    let n_dashes = name
        .iter()
        .filter(|&&byte| matches!(byte, b'-' | b'_' | b'+'))
        .count();
    let n_digits = name.iter().filter(|byte| byte.is_ascii_digit()).count();
    n_dashes >= 3 || n_digits >= 4
}

/// `part` of `whole`; 0 if `whole` is 0.
pub(crate) fn share(part: f32, whole: f32) -> f32 {
    if whole > 0.0 { part / whole } else { 0.0 }
}

/// Counts text that arrives in pieces.
#[derive(Clone, Debug, Default)]
pub(crate) struct Counter {
    pub(crate) stats: Stats,
    /// Words of each topic, among the first [`WORDS_READ`].
    pub(crate) topics: [u8; N_TOPICS],
    /// FNV hash of letters and digits.
    pub(crate) hash: u32,
    /// Words that occur in the page's title.
    pub(crate) title_words: u16,
    /// Last non-blank character.
    pub(crate) last: char,
    /// First non-blank character.
    pub(crate) first: char,
    word: Word,
}

/// The current word.
#[derive(Clone, Copy, Debug)]
struct Word {
    hash: u32,
    n_bytes: u32,
    /// Its first character; `None` between words.
    first: Option<char>,
}

impl Default for Word {
    fn default() -> Self {
        Self {
            hash: FNV_START,
            n_bytes: 0,
            first: None,
        }
    }
}

/// Number of words of a block whose topics are looked up.
const WORDS_READ: f32 = 80.0;

impl Counter {
    /// Reads a piece of text; `in_link` if it is inside a link. A word may continue from the
    /// previous piece.
    pub(crate) fn read(&mut self, text: &str, in_link: bool, title: &[u32]) {
        for character in text.chars() {
            if character.is_whitespace() {
                self.end_word(in_link, title);
                continue;
            }
            self.last = character;
            if self.first == '\0' {
                self.first = character;
            }
            if is_solid(character) {
                self.end_word(in_link, title);
                self.count_solid(character, in_link);
            } else if character.is_alphanumeric() || character == '_' {
                self.push(character);
            } else {
                self.end_word(in_link, title);
                self.count_mark(character);
            }
        }
    }

    /// Empty counts.
    pub(crate) fn new() -> Self {
        Self {
            hash: FNV_START,
            ..Self::default()
        }
    }

    /// Ends the text.
    pub(crate) fn end(&mut self, in_link: bool, title: &[u32]) {
        self.end_word(in_link, title);
        self.stats.blocks = 1.0;
    }

    fn push(&mut self, character: char) {
        self.stats.letters += 1.0;
        let word = &mut self.word;
        word.first.get_or_insert(character);
        let mut bytes = [0; 4];
        let small = character.to_ascii_lowercase().encode_utf8(&mut bytes);
        for byte in small.bytes() {
            self.hash = fnv(self.hash, byte);
            word.hash = fnv(word.hash, byte);
            word.n_bytes += 1;
        }
    }

    /// Ends the current word, if any.
    pub(crate) fn end_word(&mut self, in_link: bool, title: &[u32]) {
        let word = std::mem::take(&mut self.word);
        let Some(first) = word.first else {
            return;
        };
        let stats = &mut self.stats;
        stats.units += 1.0;
        stats.link_units += f32::from(in_link);
        stats.capitals += f32::from(first.is_uppercase());
        stats.numbers += f32::from(first.is_ascii_digit());
        if stats.units < WORDS_READ {
            if let Some(topic) = topic_of(word.hash) {
                let count = &mut self.topics[topic as usize];
                *count = count.saturating_add(1);
                stats.common += f32::from(topic == Topic::Common);
            }
            if word.n_bytes > 2 && title.binary_search(&word.hash).is_ok() {
                self.title_words = self.title_words.saturating_add(1);
            }
        } else {
            // Extrapolate from the beginning.
            stats.common += stats.common / stats.units;
        }
    }

    fn count_solid(&mut self, character: char, in_link: bool) {
        let mut bytes = [0; 4];
        for &byte in character.encode_utf8(&mut bytes).as_bytes() {
            self.hash = fnv(self.hash, byte);
        }
        self.stats.letters += 1.0;
        self.stats.units += 0.5;
        self.stats.link_units += if in_link { 0.5 } else { 0.0 };
        // Such scripts have no short function words and no capitals: count the average of prose.
        self.stats.common += 0.15;
    }

    fn count_mark(&mut self, character: char) {
        match character {
            '.' | '!' | '?' | '。' | '！' | '？' | '…' => self.stats.sentences += 1.0,
            ',' | '，' | '、' | ';' | '；' => self.stats.commas += 1.0,
            '$' | '€' | '£' | '¥' | '₹' | '￥' | '₽' | '₩' => self.stats.money += 1.0,
            _ => {}
        }
    }
}

/// Whether the character belongs to a script without spaces.
fn is_solid(character: char) -> bool {
    matches!(character, '\u{0e00}'..='\u{0eff}' | '\u{1000}'..='\u{109f}' | '\u{1780}'..='\u{17ff}' | '\u{3040}'..='\u{30ff}'
        | '\u{3400}'..='\u{9fff}' | '\u{f900}'..='\u{faff}' | '\u{20000}'..='\u{3ffff}')
}

/// Sorted hashes of a title's words, for lookup.
pub(crate) fn title_hashes(title: &str) -> Vec<u32> {
    let words = title.split(|c: char| !c.is_alphanumeric());
    let mut hashes: Vec<u32> = words
        .filter(|word| word.len() > 2)
        .map(|word| hash_of(word.to_ascii_lowercase().as_bytes()))
        .collect();
    hashes.sort_unstable();
    hashes.dedup();
    hashes
}
