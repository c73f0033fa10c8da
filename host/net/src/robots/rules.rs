//! What a robots.txt says to us. RFC 9309; where it is silent, as Google's published parser reads it. Pure.
//!
//! The crate `texting_robots` was tried and is the oracle of a test. It cannot be the matcher: it compares a whole
//! `User-agent` line with our token, takes an empty `Disallow` for an `Allow`, reads `$` in the middle of a pattern as an end,
//! never compares percent-encodings, and compiles one regular expression for each pattern with a `$`, so that a hostile file
//! of 500 KiB costs seconds.

use std::time::Duration;

use memchr::memmem;

/// Bytes of a robots.txt that are read. RFC 9309 section 2.5 asks for at least 500 KiB.
pub const ROBOTS_BYTES_MAX: usize = 500 * 1024;
/// Bytes of one line that are read, as in Google's parser: eight times the longest address of old browsers, less the end.
const LINE_BYTES_MAX: usize = 8 * 2083 - 1;
/// Longest `Crawl-delay` that is obeyed. More would keep a crawl from ever ending, and is usually a typing error.
pub const CRAWL_DELAY_MAX: Duration = Duration::from_secs(30);
/// `Sitemap` lines that are read: large sites have a few dozen.
pub const SITEMAPS_MAX: usize = 500;

/// What one robots.txt says to one robot.
#[derive(Clone, Debug, Default, PartialEq)]
pub struct Rules {
    /// The most specific first, and of two equally specific ones the one that allows: the first that matches decides.
    rules: Vec<Rule>,
    /// Time between two requests, as it is obeyed.
    pub crawl_delay: Option<Duration>,
    /// Addresses of sitemaps, as they are written.
    pub sitemaps: Vec<String>,
}

/// One `Allow` or `Disallow`.
#[derive(Clone, Debug, PartialEq, Eq)]
struct Rule {
    is_allow: bool,
    /// How specific it is. RFC 9309 section 2.2.2: "the match that has the most octets".
    octets: usize,
    /// The pattern between its `*`, in normal form.
    parts: Vec<String>,
    /// Whether the pattern ends with `$`.
    is_whole: bool,
}

/// A line that means something.
enum Line<'a> {
    UserAgent(&'a str),
    Rule(bool, &'a str),
    CrawlDelay(&'a str),
    Sitemap(&'a str),
}

/// The lines of one kind of group: those for our token, or those for everyone.
#[derive(Default)]
struct Group {
    is_there: bool,
    rules: Vec<Rule>,
    crawl_delay: Option<Duration>,
}

impl Rules {
    /// Reads the first [`ROBOTS_BYTES_MAX`] bytes of a robots.txt for the robot with this product token. Nothing in a
    /// robots.txt is an error.
    pub fn read(text: &[u8], token: &str) -> Self {
        let text = &text[..text.len().min(ROBOTS_BYTES_MAX)];
        let text = String::from_utf8_lossy(without_mark(text));
        let (mut ours, mut everyones) = (Group::default(), Group::default());
        let (mut for_us, mut for_everyone, mut is_naming) = (false, false, false);
        let mut sitemaps = Vec::new();
        for line in text.split(['\n', '\r']).filter_map(line) {
            match line {
                Line::UserAgent(name) => {
                    if !is_naming {
                        (for_us, for_everyone, is_naming) = (false, false, true);
                    }
                    if is_everyone(name) {
                        for_everyone = true;
                    } else if product_token(name).eq_ignore_ascii_case(token) {
                        for_us = true;
                        ours.is_there = true;
                    }
                }
                Line::Rule(is_allow, pattern) => {
                    is_naming = false;
                    if for_us {
                        ours.add(is_allow, pattern);
                    }
                    if for_everyone {
                        everyones.add(is_allow, pattern);
                    }
                }
                // Other lines stand where they like and end no list of names: RFC 9309 section 2.2.4.
                Line::CrawlDelay(value) => {
                    for (is_meant, group) in [(for_us, &mut ours), (for_everyone, &mut everyones)] {
                        if is_meant && group.crawl_delay.is_none() {
                            group.crawl_delay = crawl_delay(value);
                        }
                    }
                }
                Line::Sitemap(address) if sitemaps.len() < SITEMAPS_MAX => {
                    sitemaps.push(address.to_owned());
                }
                Line::Sitemap(_) => {}
            }
        }
        let Group {
            mut rules,
            crawl_delay,
            ..
        } = match ours.is_there {
            true => ours,
            false => everyones,
        };
        rules.sort_by(|a, b| {
            let by_length = b.octets.cmp(&a.octets);
            by_length.then(b.is_allow.cmp(&a.is_allow))
        });
        Self {
            rules,
            crawl_delay,
            sitemaps,
        }
    }

    /// Whether this path with its query (`/a?b`) may be fetched.
    pub fn allows(&self, path_and_query: &str) -> bool {
        if path_and_query == "/robots.txt" || self.rules.is_empty() {
            return true;
        }
        let path = normal(path_and_query, Text::Address);
        let decisive = self.rules.iter().find(|rule| rule.matches(&path));
        decisive.is_none_or(|rule| rule.is_allow)
    }

    /// Bytes that it takes in memory, about.
    pub fn bytes(&self) -> usize {
        let of_rule = |rule: &Rule| {
            let parts = rule
                .parts
                .iter()
                .map(|part| part.capacity() + size_of::<String>());
            size_of::<Rule>() + parts.sum::<usize>()
        };
        let of_sitemap = |address: &String| address.capacity() + size_of::<String>();
        self.rules.iter().map(of_rule).sum::<usize>()
            + self.sitemaps.iter().map(of_sitemap).sum::<usize>()
    }
}

impl Group {
    fn add(&mut self, is_allow: bool, pattern: &str) {
        // An empty pattern says nothing.
        if pattern.is_empty() {
            return;
        }
        self.rules.push(Rule::new(is_allow, pattern));
        // As Google reads it: who allows the index page of a folder allows the folder.
        let folder = pattern.rfind('/').map(|slash| pattern.split_at(slash + 1));
        if let Some((folder, file)) = folder
            && is_allow
            && (file == "index.html" || file == "index.htm")
        {
            self.rules.push(Rule::new(true, &format!("{folder}$")));
        }
    }
}

impl Rule {
    fn new(is_allow: bool, pattern: &str) -> Self {
        let (pattern, is_whole) = match pattern.strip_suffix('$') {
            Some(pattern) => (pattern, true),
            None => (pattern, false),
        };
        let pattern = normal(pattern, Text::Pattern);
        let octets = pattern.len() + usize::from(is_whole);
        // `**` is `*`.
        let parts = pattern.split('*').map(|part| part.replace('$', "%24"));
        let mut parts: Vec<String> = parts.collect();
        parts.dedup_by(|next, part| next.is_empty() && part.is_empty());
        if parts.len() == 1 && pattern.contains('*') {
            parts.push(String::new());
        }
        Self {
            is_allow,
            octets,
            parts,
            is_whole,
        }
    }

    /// Whether it matches a path in normal form. Linear: each part is taken where it is found first.
    fn matches(&self, path: &str) -> bool {
        let Some((first, rest)) = self.parts.split_first() else {
            return true;
        };
        let Some(mut left) = path.as_bytes().strip_prefix(first.as_bytes()) else {
            return false;
        };
        let (middle, last) = match (self.is_whole, rest.split_last()) {
            (true, None) => return left.is_empty(),
            (true, Some((last, middle))) => (middle, Some(last)),
            (false, _) => (rest, None),
        };
        for part in middle {
            match memmem::find(left, part.as_bytes()) {
                Some(place) => left = &left[place + part.len()..],
                None => return false,
            }
        }
        last.is_none_or(|last| left.ends_with(last.as_bytes()))
    }
}

/// Without the byte order mark, or as much of one as is there.
fn without_mark(text: &[u8]) -> &[u8] {
    let mark = b"\xef\xbb\xbf";
    let len = text
        .iter()
        .zip(mark)
        .take_while(|(byte, expected)| byte == expected);
    &text[len.count()..]
}

fn line(text: &str) -> Option<Line<'_>> {
    let mut end = text.len().min(LINE_BYTES_MAX);
    while !text.is_char_boundary(end) {
        end -= 1;
    }
    let text = text[..end].split('#').next().unwrap_or_default();
    let text = text.trim_matches(is_blank);
    let (name, value) = match text.split_once(':') {
        Some((name, value)) => (name.trim_matches(is_blank), value.trim_matches(is_blank)),
        // `Disallow /a`: a colon was forgotten, when there are exactly two words.
        None => {
            let (name, value) = text.split_once(is_blank)?;
            let value = value.trim_matches(is_blank);
            (!value.contains(is_blank)).then_some((name, value))?
        }
    };
    let is_one_of = |names: &[&str]| names.iter().any(|known| name.eq_ignore_ascii_case(known));
    // The misspellings are those that Google's parser knows from the web.
    if is_one_of(&["user-agent", "useragent", "user agent"]) {
        Some(Line::UserAgent(value))
    } else if is_one_of(&["allow"]) {
        Some(Line::Rule(true, value))
    } else if is_one_of(&[
        "disallow",
        "dissallow",
        "dissalow",
        "disalow",
        "diasllow",
        "disallaw",
    ]) {
        Some(Line::Rule(false, value))
    } else if is_one_of(&["sitemap", "site-map"]) {
        Some(Line::Sitemap(value)).filter(|_| !value.is_empty())
    } else if is_one_of(&["crawl-delay", "crawldelay", "crawl delay"]) {
        Some(Line::CrawlDelay(value))
    } else {
        None
    }
}

fn is_blank(character: char) -> bool {
    character.is_ascii_whitespace() || character == '\0'
}

/// `*`, also with words behind it.
fn is_everyone(name: &str) -> bool {
    let rest = name.strip_prefix('*');
    rest.is_some_and(|rest| rest.is_empty() || rest.starts_with(is_blank))
}

/// The product token at the start of a name: `Trawl` in `Trawl/1.0`. RFC 9309 section 2.2.1.
fn product_token(name: &str) -> &str {
    let is_part =
        |character: char| character.is_ascii_alphabetic() || character == '-' || character == '_';
    let end = name.find(|character| !is_part(character));
    &name[..end.unwrap_or(name.len())]
}

fn crawl_delay(value: &str) -> Option<Duration> {
    let seconds: f64 = value.parse().ok()?;
    if !seconds.is_finite() || seconds < 0.0 {
        return None;
    }
    Some(Duration::from_secs_f64(
        seconds.min(CRAWL_DELAY_MAX.as_secs_f64()),
    ))
}

/// What is brought into normal form.
#[derive(Clone, Copy, PartialEq, Eq)]
enum Text {
    /// `*` and `$` are characters like others.
    Address,
    /// `*` stands for anything.
    Pattern,
}

/// The form in which patterns and paths are compared, RFC 9309 section 2.2.2: octets that never need an escape have none,
/// all octets that may need one have it, with upper case digits.
fn normal(text: &str, kind: Text) -> String {
    const HEX: &[u8; 16] = b"0123456789ABCDEF";
    let mut normal = String::with_capacity(text.len() + 8);
    let escape = |normal: &mut String, byte: u8| {
        normal.push('%');
        normal.push(char::from(HEX[usize::from(byte >> 4)]));
        normal.push(char::from(HEX[usize::from(byte & 15)]));
    };
    let mut rest = text.as_bytes();
    while let [byte, tail @ ..] = rest {
        rest = tail;
        match (*byte, tail) {
            (b'%', [high, low, after @ ..])
                if high.is_ascii_hexdigit() && low.is_ascii_hexdigit() =>
            {
                let value = digit(*high) * 16 + digit(*low);
                match is_unreserved(value) {
                    true => normal.push(char::from(value)),
                    false => escape(&mut normal, value),
                }
                rest = after;
            }
            (b'*' | b'$', _) if kind == Text::Address => escape(&mut normal, *byte),
            (byte, _) if is_unreserved(byte) || b"%:/?#[]@!$&()*+,;=".contains(&byte) => {
                normal.push(char::from(byte));
            }
            (byte, _) => escape(&mut normal, byte),
        }
    }
    normal
}

/// RFC 3986 section 2.3.
fn is_unreserved(byte: u8) -> bool {
    byte.is_ascii_alphanumeric() || b"-._~".contains(&byte)
}

fn digit(hex: u8) -> u8 {
    match hex {
        b'0'..=b'9' => hex - b'0',
        _ => (hex | 0x20) - b'a' + 10,
    }
}

#[cfg(test)]
#[path = "rules_tests.rs"]
mod tests;
