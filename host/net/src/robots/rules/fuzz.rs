//! Fuzzing of robots.txt, with a slow matcher as the reference.

use super::*;

const TOKEN: &str = "Trawl";
/// Paths that are asked for, in addition to those that the file itself names.
const PATHS: [&str; 6] = ["/", "/a", "/a/b.html?q=1", "/%7Euser/", "/*$", "/é"];
/// Bytes that one byte of the file may take in memory: a rule of one character, with its folder.
const GROWTH_MAX: usize = 128;
/// Bytes of a file and of a path up to which the reference, which tries everything, is asked.
const REFERENCE_BYTES_MAX: usize = 4096;
const PATH_BYTES_MAX: usize = 256;

#[test]
fn robots() {
    trawl_fuzz::fuzz!("robots", check);
}

fn check(text: &[u8]) {
    let rules = Rules::read(text, TOKEN);
    check_bounds(&rules, text.len());
    check_spellings(&rules, text);
    if text.len() > REFERENCE_BYTES_MAX {
        return;
    }
    for path in paths(text) {
        let allowed = is_allowed(text, &path);
        assert_eq!(rules.allows(&path), allowed, "{path:?}");
    }
}

fn check_bounds(rules: &Rules, text_bytes: usize) {
    assert!(rules.allows("/robots.txt"));
    assert!(rules.sitemaps.len() <= SITEMAPS_MAX);
    for sitemap in &rules.sitemaps {
        // An octet that is not text has three bytes once it is escaped.
        assert!(!sitemap.is_empty() && sitemap.len() <= 3 * LINE_BYTES_MAX);
        assert_eq!(sitemap.as_bytes(), trimmed(sitemap.as_bytes()));
    }
    assert!(rules.crawl_delay <= Some(CRAWL_DELAY_MAX));
    assert!(rules.bytes() <= 1024 + GROWTH_MAX * text_bytes);
}

/// The same file in other spellings has the same rules.
fn check_spellings(rules: &Rules, text: &[u8]) {
    let same = |text: &[u8], why: &str| assert_eq!(*rules, Rules::read(text, TOKEN), "{why}");
    same(text, "twice");
    assert_eq!(*rules, Rules::read(text, "tRAWL"), "case of the token");
    same(&[text, b"\n# end"].concat(), "a comment");
    same(&[text, b"\nHost: a.example"].concat(), "an unknown line");
    if text.first() != Some(&0xef) {
        same(&[b"\xef\xbb\xbf", text].concat(), "a byte order mark");
    }
    if !text.contains(&b'\r') {
        let ends = text.split(|byte| *byte == b'\n').collect::<Vec<_>>();
        same(&ends.join(&b"\r\n"[..]), "ends of lines");
    }
}

/// The paths of the rules themselves, and ones beyond them.
fn paths(text: &[u8]) -> Vec<String> {
    let lines = without_mark(text).split(|byte| is_line_end(*byte));
    let written = lines.filter_map(|text| match line(text) {
        Some(Line::Rule(_, pattern)) => Some(urls::text_of(pattern).replace(['*', '$'], "x")),
        _ => None,
    });
    let written: Vec<String> = written.take(8).collect();
    let beyond = written.iter().map(|path| format!("{path}/y.html?z"));
    let beyond: Vec<String> = beyond.collect();
    let always = PATHS.map(str::to_owned);
    let all = always.into_iter().chain(written).chain(beyond);
    all.filter(|path| path.len() <= PATH_BYTES_MAX).collect()
}

/// What RFC 9309 says of a path, by trying every rule of the group.
fn is_allowed(text: &[u8], path: &str) -> bool {
    if path == "/robots.txt" {
        return true;
    }
    let path = normalize(path.as_bytes(), Text::Path);
    let matching = group(text).into_iter().filter(|rule| {
        let mut pattern = rule.pattern.as_bytes().to_vec();
        if !rule.is_whole {
            pattern.push(b'*');
        }
        is_match(&pattern, path.as_bytes())
    });
    let decisive = matching.max_by_key(|rule| (rule.octets, rule.is_allow));
    decisive.is_none_or(|rule| rule.is_allow)
}

/// The rules of the crawler's own group, or else of the group for all.
fn group(text: &[u8]) -> Vec<Rule> {
    let lines = without_mark(text).split(|byte| is_line_end(*byte));
    let (mut own, mut default) = (None::<Vec<Rule>>, Vec::new());
    let (mut names, mut is_naming) = (Vec::new(), false);
    for line in lines.filter_map(line) {
        match line {
            Line::UserAgent(name) => {
                if !std::mem::replace(&mut is_naming, true) {
                    names.clear();
                }
                names.push(name);
                if !is_wildcard(name) && product_token(name).eq_ignore_ascii_case(TOKEN.as_bytes())
                {
                    own.get_or_insert_default();
                }
            }
            Line::Rule(is_allow, pattern) => {
                is_naming = false;
                let mut one = Group {
                    is_open: true,
                    ..Group::default()
                };
                one.add(is_allow, pattern);
                if names.iter().any(|name| is_wildcard(name)) {
                    default.extend(one.rules.iter().cloned());
                }
                let token = TOKEN.as_bytes();
                let is_own = |name: &&[u8]| product_token(name).eq_ignore_ascii_case(token);
                if names.iter().any(is_own) {
                    own.get_or_insert_default().extend(one.rules);
                }
            }
            Line::CrawlDelay(_) | Line::Sitemap(_) | Line::License(_) | Line::Usage(_, _) => {}
        }
    }
    own.unwrap_or(default)
}

/// Whether a pattern, in which `*` is anything, is the whole text: by its possible positions.
fn is_match(pattern: &[u8], text: &[u8]) -> bool {
    let mut reached = vec![false; text.len() + 1];
    reached[0] = true;
    for byte in pattern {
        let mut next = Vec::with_capacity(reached.len());
        for (at, is_reached) in reached.iter().enumerate() {
            let before = at.checked_sub(1);
            next.push(match byte {
                b'*' => *is_reached || before.is_some_and(|before| next[before]),
                byte => before.is_some_and(|before| reached[before] && text[before] == *byte),
            });
        }
        reached = next;
    }
    reached[text.len()]
}
