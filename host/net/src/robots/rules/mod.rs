//! The rules of one robots.txt for one crawler. RFC 9309; where it is silent, Google's published
//! parser is followed. Pure.
//!
//! The crate `texting_robots` is the oracle of a test but cannot be the matcher: it compares a
//! whole `User-agent` line with the token, takes an empty `Disallow` for an `Allow`, treats `$` in
//! the middle of a pattern as an end, never compares percent-encodings, and compiles one regular
//! expression for each pattern with a `$`, so that a hostile file of 500 KiB costs seconds.

mod plain;
mod usage;

use std::time::Duration;

use memchr::{memchr, memmem, memrchr};

use trawl_model::rights::{LICENSE_BYTES_MAX, LICENSES_MAX};
use trawl_model::{Rights, urls};

use plain::Plain;
use usage::Usages;

use super::statements::Source;

/// Bytes of a robots.txt that are read. RFC 9309 section 2.5 requires at least 500 KiB.
pub const ROBOTS_BYTES_MAX: usize = 500 * 1024;
/// Bytes of one line that are read, as in Google's parser: eight times the longest URL of old
/// browsers, less the terminator.
const LINE_BYTES_MAX: usize = 8 * 2083 - 1;
/// Longest `Crawl-delay` that is obeyed. A longer one would keep a crawl from ever finishing, and
/// is usually a typing error.
pub const CRAWL_DELAY_MAX: Duration = Duration::from_secs(30);
/// Spellings of `Disallow`.
const DISALLOW: [&str; 6] = [
    "disallow",
    "dissallow",
    "dissalow",
    "disalow",
    "diasllow",
    "disallaw",
];
/// `Sitemap` lines that are read: large sites have a few dozen.
pub const SITEMAPS_MAX: usize = 500;

/// The rules of one robots.txt for one crawler.
#[derive(Clone, Debug, Default, PartialEq)]
pub struct Rules {
    /// Rules that are the beginning of a path, or a whole one.
    plain: Plain,
    /// The others, each once. The most specific first, and of two equally specific ones the
    /// `Allow`: the first match decides.
    wildcards: Vec<Rule>,
    /// Minimum time between two requests, as it is applied.
    pub crawl_delay: Option<Duration>,
    /// URLs of sitemaps, as they are written.
    pub sitemaps: Vec<String>,
    /// URLs of licences, as they are written.
    pub licenses: Vec<String>,
    /// What is said about the use of pages, in lines of the crawler's group.
    usages: Usages,
}

/// One `Allow` or `Disallow`.
#[derive(Clone, Debug, PartialEq, Eq)]
struct Rule {
    is_allow: bool,
    /// How specific it is. RFC 9309 section 2.2.2: "the match that has the most octets".
    octets: usize,
    /// The normalized pattern. Only `*` is special in it, and never occurs twice in a row.
    pattern: Box<str>,
    /// Whether the pattern ends with `$`.
    is_whole: bool,
}

/// How much a rule counts against others that match: the more specific one decides, and the `Allow`
/// of two equally specific ones.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord)]
struct Weight {
    octets: usize,
    is_allow: bool,
}

/// A recognised line.
enum Line<'a> {
    UserAgent(&'a [u8]),
    Rule(bool, &'a [u8]),
    CrawlDelay(&'a [u8]),
    Sitemap(&'a [u8]),
    License(&'a [u8]),
    Usage(Source, &'a [u8]),
}

/// The lines of one group: the one for the crawler's token, or for `*`.
#[derive(Default)]
struct Group {
    /// Whether the file has such a group.
    is_present: bool,
    /// Whether the lines being read belong to it.
    is_open: bool,
    rules: Vec<Rule>,
    crawl_delay: Option<Duration>,
    usages: Usages,
}

impl Rules {
    /// Parses the lines within the first [`ROBOTS_BYTES_MAX`] bytes of a robots.txt for the crawler
    /// with this product token. Parsing never fails. The text is octets, whatever their encoding:
    /// RFC 9309 section 2.2.2 compares octets.
    pub fn read(text: &[u8], token: &str) -> Self {
        let (mut own, mut default) = (Group::default(), Group::default());
        let mut is_naming = false;
        let (mut sitemaps, mut licenses) = (Vec::new(), Vec::new());
        let lines = without_mark(whole_lines(text)).split(|byte| is_line_end(*byte));
        for line in lines.filter_map(line) {
            match line {
                Line::UserAgent(name) => {
                    if !is_naming {
                        (own.is_open, default.is_open, is_naming) = (false, false, true);
                    }
                    if is_wildcard(name) {
                        default.is_open = true;
                    } else if product_token(name).eq_ignore_ascii_case(token.as_bytes()) {
                        (own.is_open, own.is_present) = (true, true);
                    }
                }
                Line::Rule(is_allow, pattern) => {
                    is_naming = false;
                    own.add(is_allow, pattern);
                    default.add(is_allow, pattern);
                }
                // Other lines may be anywhere and do not end a list of names: RFC 9309 section
                // 2.2.4.
                Line::CrawlDelay(value) => {
                    own.delay(value);
                    default.delay(value);
                }
                Line::Sitemap(url) if sitemaps.len() < SITEMAPS_MAX => {
                    sitemaps.push(urls::text_of(url).into_owned());
                }
                Line::Sitemap(_) => {}
                Line::License(url)
                    if licenses.len() < LICENSES_MAX && url.len() <= LICENSE_BYTES_MAX =>
                {
                    licenses.push(urls::text_of(url).into_owned());
                }
                Line::License(_) => {}
                Line::Usage(source, value) => {
                    own.usage(source, value);
                    default.usage(source, value);
                }
            }
        }
        let group = if own.is_present { own } else { default };
        Self {
            sitemaps,
            licenses,
            ..Self::of(group)
        }
    }

    /// The rules of a group.
    fn of(group: Group) -> Self {
        let rules = group.rules.into_iter();
        let (plain, mut wildcards): (Vec<Rule>, Vec<Rule>) = rules.partition(Rule::is_plain);
        let order = |a: &Rule, b: &Rule| {
            b.weight()
                .cmp(&a.weight())
                .then_with(|| a.pattern.cmp(&b.pattern))
        };
        wildcards.sort_unstable_by(order);
        wildcards.dedup();
        Self {
            plain: Plain::new(plain),
            wildcards,
            crawl_delay: group.crawl_delay,
            usages: group.usages,
            ..Self::default()
        }
    }

    /// What is said about the use of this path with its query, without the licences.
    pub fn rights(&self, path_and_query: &str) -> Rights {
        if self.usages.is_empty() {
            return Rights::default();
        }
        self.usages
            .of(&normalize(path_and_query.as_bytes(), Text::Path))
    }

    /// Whether this path with its query (`/a?b`) may be fetched.
    pub fn allows(&self, path_and_query: &str) -> bool {
        if path_and_query == "/robots.txt" || self.is_empty() {
            return true;
        }
        let path = normalize(path_and_query.as_bytes(), Text::Path);
        let plain = self.plain.find(&path);
        let mut stronger = self.wildcards.iter();
        let decisive = stronger
            .by_ref()
            .take_while(|rule| Some(rule.weight()) > plain)
            .find(|rule| rule.matches(&path));
        let decisive = decisive.map(Rule::weight).or(plain);
        decisive.is_none_or(|weight| weight.is_allow)
    }

    /// Most steps that [`allows`](Self::allows) and [`rights`](Self::rights) take together for a
    /// path of so many bytes: the product of its length and the number of rules and lines with
    /// wildcards. Other rules are looked up.
    pub fn steps(&self, path_bytes: usize) -> usize {
        let n_wildcards = self.wildcards.len() + self.usages.n_wildcards();
        n_wildcards.saturating_mul(path_bytes)
    }

    fn is_empty(&self) -> bool {
        self.wildcards.is_empty() && self.plain.is_empty()
    }

    /// Approximate bytes that it takes in memory.
    pub fn bytes(&self) -> usize {
        let of_rule = |rule: &Rule| size_of::<Rule>() + rule.pattern.len();
        let of_url = |url: &String| url.capacity() + size_of::<String>();
        let urls = self.sitemaps.iter().chain(&self.licenses);
        self.wildcards.iter().map(of_rule).sum::<usize>()
            + self.plain.bytes()
            + self.usages.bytes()
            + urls.map(of_url).sum::<usize>()
    }
}

impl Group {
    /// Adds a rule if the group is open.
    fn add(&mut self, is_allow: bool, pattern: &[u8]) {
        // An empty pattern matches no path.
        if !self.is_open || pattern.is_empty() {
            return;
        }
        self.rules.push(Rule::new(is_allow, pattern));
        // As in Google's parser: allowing the index page of a folder allows the folder.
        let folder = memrchr(b'/', pattern).map(|slash| pattern.split_at(slash + 1));
        if let Some((folder, file)) = folder
            && is_allow
            && file.starts_with(b"index.htm")
        {
            self.rules.push(Rule::new(true, &[folder, b"$"].concat()));
        }
    }

    /// Adds what is said about the use of pages if the group is open.
    fn usage(&mut self, source: Source, value: &[u8]) {
        if self.is_open {
            self.usages.add(source, value);
        }
    }

    /// Takes the first delay of the group.
    fn delay(&mut self, value: &[u8]) {
        if self.is_open && self.crawl_delay.is_none() {
            self.crawl_delay = crawl_delay(value);
        }
    }
}

impl Rule {
    fn new(is_allow: bool, pattern: &[u8]) -> Self {
        let (pattern, is_whole) = match pattern.strip_suffix(b"$") {
            Some(pattern) => (pattern, true),
            None => (pattern, false),
        };
        let mut pattern = normalize(pattern, Text::Pattern);
        let octets = pattern.len() + usize::from(is_whole);
        // `**` is `*`.
        let mut is_repeat = false;
        pattern.retain(|character| {
            let was_wildcard = std::mem::replace(&mut is_repeat, character == '*');
            !(was_wildcard && is_repeat)
        });
        Self {
            is_allow,
            octets,
            pattern: pattern.replace('$', "%24").into(),
            is_whole,
        }
    }

    /// How much it counts against others that match.
    fn weight(&self) -> Weight {
        Weight {
            octets: self.octets,
            is_allow: self.is_allow,
        }
    }

    /// Whether it matches one path, or those that begin with one text: `/a$`, `/a`, `/a*`.
    fn is_plain(&self) -> bool {
        let wildcard = self.pattern.find('*');
        wildcard.is_none_or(|at| at + 1 == self.pattern.len())
    }

    /// Whether it matches a normalized path. Linear: each part is matched where it occurs first.
    fn matches(&self, path: &str) -> bool {
        let Some((first, rest)) = self.pattern.split_once('*') else {
            let rest = path.strip_prefix(&*self.pattern);
            return rest.is_some_and(|rest| rest.is_empty() || !self.is_whole);
        };
        let Some(mut left) = path.as_bytes().strip_prefix(first.as_bytes()) else {
            return false;
        };
        let (middle, last) = match (self.is_whole, rest.rsplit_once('*')) {
            (true, None) => ("", Some(rest)),
            (true, Some((middle, last))) => (middle, Some(last)),
            (false, _) => (rest, None),
        };
        for part in middle.split('*') {
            match memmem::find(left, part.as_bytes()) {
                Some(at) => left = &left[at + part.len()..],
                None => return false,
            }
        }
        last.is_none_or(|last| left.ends_with(last.as_bytes()))
    }
}

/// Without the byte order mark, or the part of one that is there.
fn without_mark(text: &[u8]) -> &[u8] {
    let mark = b"\xef\xbb\xbf";
    let len = text
        .iter()
        .zip(mark)
        .take_while(|(byte, expected)| byte == expected);
    &text[len.count()..]
}

/// The lines within the first [`ROBOTS_BYTES_MAX`] bytes. One that continues behind them does
/// not count: its beginning is another rule. Decision D154.
fn whole_lines(text: &[u8]) -> &[u8] {
    if text.len() <= ROBOTS_BYTES_MAX {
        return text;
    }
    let mut read = text[..=ROBOTS_BYTES_MAX].iter();
    let end = read.rposition(|byte| is_line_end(*byte));
    &text[..end.unwrap_or(0)]
}

fn line(text: &[u8]) -> Option<Line<'_>> {
    let text = &text[..text.len().min(LINE_BYTES_MAX)];
    let text = text.split(|byte| *byte == b'#').next().unwrap_or_default();
    let text = trimmed(text);
    let (name, value) = match memchr(b':', text) {
        Some(colon) => (trimmed(&text[..colon]), trimmed(&text[colon + 1..])),
        // `Disallow /a`: a missing colon, accepted when there are exactly two words.
        None => {
            let (name, value) = text.split_at(text.iter().position(|byte| is_blank(*byte))?);
            let value = trimmed(value);
            (!value.iter().any(|byte| is_blank(*byte))).then_some((name, value))?
        }
    };
    let begins = |known: &&str| {
        let start = name.get(..known.len());
        start.is_some_and(|start| start.eq_ignore_ascii_case(known.as_bytes()))
    };
    let is = |known: &&str| name.eq_ignore_ascii_case(known.as_bytes());
    // The misspellings are those that Google's parser accepts, which compares only the beginning
    // of a name.
    if ["user-agent", "useragent", "user agent"].iter().any(begins) {
        Some(Line::UserAgent(value))
    } else if ["allow"].iter().any(begins) {
        Some(Line::Rule(true, value))
    } else if DISALLOW.iter().any(begins) {
        Some(Line::Rule(false, value))
    } else if ["sitemap", "site-map"].iter().any(begins) {
        Some(Line::Sitemap(value)).filter(|_| !value.is_empty())
    } else if ["crawl-delay", "crawldelay", "crawl delay"].iter().any(is) {
        Some(Line::CrawlDelay(value))
    } else if is(&"license") {
        Some(Line::License(value)).filter(|_| !value.is_empty())
    } else if is(&"content-usage") {
        Some(Line::Usage(Source::RobotsContentUsage, value))
    } else if is(&"content-signal") {
        Some(Line::Usage(Source::RobotsContentSignal, value))
    } else {
        None
    }
}

fn is_line_end(byte: u8) -> bool {
    matches!(byte, b'\n' | b'\r')
}

/// White space as Google's parser strips it, with the vertical tab.
fn is_blank(byte: u8) -> bool {
    byte.is_ascii_whitespace() || matches!(byte, b'\0' | 0x0b)
}

fn trimmed(text: &[u8]) -> &[u8] {
    let is_word = |byte: &u8| !is_blank(*byte);
    let start = text.iter().position(is_word).unwrap_or(text.len());
    let end = text
        .iter()
        .rposition(is_word)
        .map_or(start, |last| last + 1);
    &text[start..end]
}

/// Whether a name is `*`, also with words after it.
fn is_wildcard(name: &[u8]) -> bool {
    let rest = name.strip_prefix(b"*");
    rest.is_some_and(|rest| rest.first().is_none_or(|byte| is_blank(*byte)))
}

/// The product token at the start of a name: `Trawl` in `Trawl/1.0`. RFC 9309 section 2.2.1.
fn product_token(name: &[u8]) -> &[u8] {
    let is_part = |byte: &u8| byte.is_ascii_alphabetic() || matches!(byte, b'-' | b'_');
    let end = name.iter().position(|byte| !is_part(byte));
    &name[..end.unwrap_or(name.len())]
}

fn crawl_delay(value: &[u8]) -> Option<Duration> {
    let seconds: f64 = std::str::from_utf8(value).ok()?.parse().ok()?;
    if !seconds.is_finite() || seconds < 0.0 {
        return None;
    }
    Some(Duration::from_secs_f64(
        seconds.min(CRAWL_DELAY_MAX.as_secs_f64()),
    ))
}

/// What is normalized.
#[derive(Clone, Copy, PartialEq, Eq)]
enum Text {
    /// A path: `*` and `$` are ordinary characters.
    Path,
    /// A pattern: `*` matches anything.
    Pattern,
}

/// Normalizes patterns and paths for comparison, RFC 9309 section 2.2.2: octets that never need an
/// escape are unescaped, all others that may need one are escaped with upper case digits.
fn normalize(text: &[u8], kind: Text) -> String {
    const HEX: &[u8; 16] = b"0123456789ABCDEF";
    let mut normalized = String::with_capacity(text.len() + 8);
    let escape = |normalized: &mut String, byte: u8| {
        normalized.push('%');
        normalized.push(char::from(HEX[usize::from(byte >> 4)]));
        normalized.push(char::from(HEX[usize::from(byte & 15)]));
    };
    let mut rest = text;
    while let [byte, tail @ ..] = rest {
        rest = tail;
        match (*byte, tail) {
            (b'%', [high, low, after @ ..])
                if high.is_ascii_hexdigit() && low.is_ascii_hexdigit() =>
            {
                let value = digit(*high) * 16 + digit(*low);
                if is_unreserved(value) {
                    normalized.push(char::from(value))
                } else {
                    escape(&mut normalized, value)
                }
                rest = after;
            }
            (b'*' | b'$', _) if kind == Text::Path => escape(&mut normalized, *byte),
            (byte, _) if is_unreserved(byte) || b"%:/?#[]@!$&()*+,;=".contains(&byte) => {
                normalized.push(char::from(byte));
            }
            (byte, _) => escape(&mut normalized, byte),
        }
    }
    normalized
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
mod fuzz;
#[cfg(test)]
mod tests;
