//! Recognises URLs of crawler traps: paths that repeat themselves, and session ids in URLs, with
//! which every page has endless URLs. Decision D393.

use std::collections::HashSet;
use std::hash::{BuildHasher, RandomState};

use super::table::Table;

/// Most segments of a run that a path repeats.
const RUN_SEGMENTS_MAX: usize = 4;
/// How often a run may follow itself: what a site means to have twice, it may have twice.
const RUN_TIMES_MAX: usize = 2;
/// Shortest session id; shorter values mean something.
const ID_BYTES_MIN: usize = 16;
/// Parameters that software gives session ids to, whatever their letters.
const SESSIONS: [&str; 7] = [
    "phpsessid",
    "jsessionid",
    "sessionid",
    "session_id",
    "sessid",
    "zenid",
    "oscsid",
];
/// Parameters that other things have as well; an id of theirs is a hexadecimal number.
const PERHAPS_SESSIONS: [&str; 3] = ["sid", "s", "session"];
/// The parameter of a path that servlets put the session into.
const PATH_SESSION: &str = ";jsessionid=";

/// The URLs of a crawl that had a session id.
#[derive(Debug, Default)]
pub(super) struct Traps {
    /// Their hashes without it, which a site cannot choose.
    seen: HashSet<u64>,
    hasher: RandomState,
}

impl Traps {
    /// Whether a URL that is not in the table is one of a trap. If not, it is known from now on.
    pub(super) fn has(&mut self, url: &str, path: &str, table: &Table) -> bool {
        repeats_itself(path) || self.is_known(url, table)
    }

    /// Notes a URL that is in the table.
    pub(super) fn note(&mut self, url: &str) {
        if let Some(plain) = without_session(url) {
            self.seen.insert(self.hasher.hash_one(plain));
        }
    }

    /// Whether the crawl has this URL with another session id, or without one.
    fn is_known(&mut self, url: &str, table: &Table) -> bool {
        without_session(url).is_some_and(|plain| {
            let is_first = self.seen.insert(self.hasher.hash_one(&plain));
            !is_first || table.find(&plain).is_some()
        })
    }
}

/// Whether a run of segments, which are not all numbers or single letters, follows itself too
/// often.
fn repeats_itself(path: &str) -> bool {
    let path = path.split(['?', '#']).next().unwrap_or_default();
    if path.bytes().filter(|byte| *byte == b'/').count() <= RUN_TIMES_MAX {
        return false;
    }
    let segments = path.split('/').filter(|segment| !segment.is_empty());
    let segments: Vec<&str> = segments.collect();
    let is_word =
        |segment: &&str| segment.len() > 1 && !segment.bytes().all(|byte| byte.is_ascii_digit());
    (1..=RUN_SEGMENTS_MAX).any(|n_run| {
        // Segments so far that are the same as those a run before.
        let mut n_same = 0;
        (n_run..segments.len()).any(|at| {
            let is_same = segments[at] == segments[at - n_run];
            n_same = if is_same { n_same + 1 } else { 0 };
            let is_repeated = n_same >= n_run * RUN_TIMES_MAX;
            is_repeated && segments[at + 1 - n_run..=at].iter().any(is_word)
        })
    })
}

/// A URL without its session ids; `None` if it has none.
fn without_session(url: &str) -> Option<String> {
    let (before, query) = match url.split_once('?') {
        Some((before, query)) => (before, Some(query)),
        None => (url, None),
    };
    let path = without_path_session(before);
    let query_left = query.map(|query| {
        let fields = query.split('&').filter(|field| !is_session(field));
        fields.collect::<Vec<_>>().join("&")
    });
    if path.is_none() && query_left.as_deref() == query {
        return None;
    }
    let mut plain = path.unwrap_or_else(|| before.to_owned());
    if let Some(query) = query_left.filter(|query| !query.is_empty()) {
        plain.push('?');
        plain.push_str(&query);
    }
    Some(plain)
}

/// A URL without the session id in its path; `None` if it has none.
fn without_path_session(before: &str) -> Option<String> {
    let at = before.find(';')?;
    let found = before[at..].to_ascii_lowercase().find(PATH_SESSION)? + at;
    let value = &before[found + PATH_SESSION.len()..];
    let end = value.find(['/', ';']).unwrap_or(value.len());
    is_id(&value[..end]).then(|| format!("{}{}", &before[..found], &value[end..]))
}

fn is_session(field: &str) -> bool {
    let Some((name, value)) = field.split_once('=') else {
        return false;
    };
    let is_one_of = |names: &[&str]| names.iter().any(|known| name.eq_ignore_ascii_case(known));
    let is_hex = || {
        value
            .bytes()
            .all(|byte| byte.is_ascii_hexdigit() || byte == b'-')
    };
    is_id(value) && (is_one_of(&SESSIONS) || is_one_of(&PERHAPS_SESSIONS) && is_hex())
}

/// Whether a value is long and arbitrary enough for a session id.
fn is_id(value: &str) -> bool {
    let is_part = |byte: u8| byte.is_ascii_alphanumeric() || b"-_.!~,".contains(&byte);
    value.len() >= ID_BYTES_MIN
        && value.bytes().all(is_part)
        && value.bytes().any(|byte| byte.is_ascii_digit())
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn runs_that_follow_themselves_twice_are_traps() {
        let check = |path: &str, expected: bool| {
            assert_eq!(repeats_itself(path), expected, "{path}");
        };
        check("/", false);
        check("/products/products/", false);
        check("/products/products/products/", true);
        check("/a/img/b/img/b/img/b/x.html", true);
        check("/en/shop/en/shop/en/shop/", true);
        check("/en/shop/en/shop/en/", false);
        check("/en/shop/en/cart/en/shop/", false);
        check("/1999/1999/1999/", false);
        check("/a/a/a/a/file", false);
        check("/list?next=/x1/x1/x1/x1", false);
    }

    #[test]
    fn session_ids_are_taken_out() {
        let check = |url: &str, expected: Option<&str>| {
            assert_eq!(without_session(url).as_deref(), expected, "{url}");
        };
        let id = "0a1b2c3d4e5f60718293a4b5c6d7e8f9";
        check("http://a/x?page=2", None);
        check("http://a/x?sid=12", None);
        check("http://a/x?session=spring-2024-conference", None);
        check(&format!("http://a/x?token={id}"), None);
        check(&format!("http://a/x?PHPSESSID={id}"), Some("http://a/x"));
        check(
            &format!("http://a/x?a=1&sid={id}&b=2"),
            Some("http://a/x?a=1&b=2"),
        );
        check(
            &format!("http://a/x;jsessionid={id}.node1!7/y?a=1"),
            Some("http://a/x/y?a=1"),
        );
        check("http://a/x;JSESSIONID=ABCDEFGHIJKLMNO1", Some("http://a/x"));
        check("http://a/x;v=2", None);
    }
}
