//! Which URLs belong to a crawl. The lists of a request are compiled here, once; a URL is matched
//! in a time that does not grow with the number of plain entries.

use std::collections::HashSet;

use url::{Position, Url};

use trawl_model::SkipReason;

use super::PlanError;
use super::address;
use super::expression::{Allowance, Expression, Expressions, shown};

/// Which URLs belong to a crawl in addition to those of the seed's host, and which do not.
#[derive(Clone, Debug, Default)]
pub struct ScopePlan {
    /// Hosts under the seed's registered domain.
    pub subdomains: bool,
    /// The same registered name under other public suffixes.
    pub tld: bool,
    /// On the hosts of the seeds, only URLs in the directory of a seed or below it. Decision D241.
    pub below_seed: bool,
    /// Other hosts.
    pub external: Hosts,
    /// URLs that are excluded, whatever else includes them.
    pub blacklist: Patterns,
    /// If not empty, only these are included. The seed always is.
    pub whitelist: Patterns,
}

impl ScopePlan {
    /// Why `blacklist` or `whitelist` excludes a URL. `path` is its path with query and fragment.
    pub fn excludes(&self, url: &str, path: &str) -> Option<SkipReason> {
        if self.blacklist.matches(url, path) {
            return Some(SkipReason::Blacklist);
        }
        let is_included = self.whitelist.is_empty() || self.whitelist.matches(url, path);
        (!is_included).then_some(SkipReason::Whitelist)
    }

    /// Most steps that [`excludes`](Self::excludes) takes in regular expressions for each byte of a
    /// URL; 0 if there are none.
    pub fn steps_per_byte(&self) -> usize {
        let lists = [&self.blacklist, &self.whitelist];
        let expressions = lists
            .iter()
            .flat_map(|list| list.expressions.iter().chain(&list.path_expressions));
        expressions.map(Expressions::n_states).sum()
    }
}

/// The hosts of `external_domains`.
#[derive(Clone, Debug, Default)]
pub struct Hosts {
    /// Whether every host is allowed.
    any: bool,
    /// Host names, lower case.
    names: HashSet<String>,
    /// Hosts that one of these matches from end to end.
    expressions: Option<Expressions>,
}

/// The entries of `blacklist` or `whitelist`.
#[derive(Clone, Debug, Default)]
pub struct Patterns {
    /// Beginnings of paths.
    paths: Prefixes,
    /// Beginnings of URLs without their scheme.
    urls: Prefixes,
    /// Regular expressions over URLs.
    expressions: Option<Expressions>,
    /// Those with an anchor in front of a slash, over paths: no URL begins with one.
    path_expressions: Option<Expressions>,
}

/// Characters that make an entry a regular expression. A dot and a hyphen occur in host names, a
/// dot and a question mark in URLs.
const REGEX_IN_HOST: &[char] = &[
    '*', '+', '?', '^', '$', '|', '(', ')', '[', ']', '{', '}', '\\',
];
const REGEX_IN_PATH: &[char] = &['*', '+', '^', '$', '|', '(', ')', '[', ']', '{', '}', '\\'];

impl Hosts {
    /// All hosts.
    pub fn all() -> Self {
        Self {
            any: true,
            ..Self::default()
        }
    }

    /// The entries of `external_domains`: a host, an anchored regular expression if it has special
    /// characters, or `*`. No host has an `@`, so an entry that has one is a host behind a user
    /// name and password, which are left out as in the stored request ([`address::domain`]).
    ///
    /// # Errors
    /// An entry is neither, or the expressions exceed what one request may have.
    pub fn read(entries: &[String], allowance: &mut Allowance) -> Result<Self, PlanError> {
        const FIELD: &str = "external_domains";
        let mut hosts = Self::default();
        let mut expressions = Vec::new();
        for (index, entry) in entries.iter().enumerate() {
            let entry = entry.trim();
            if entry == "*" {
                hosts.any = true;
            } else if entry.contains(REGEX_IN_HOST) && !entry.contains('@') {
                if entry.contains("://") {
                    let reason = "an expression is matched with the host alone, so write it without scheme and path";
                    return Err(never(FIELD, entry, index, reason.to_owned()));
                }
                expressions.push(Expression {
                    index,
                    source: format!("^(?i:{entry})$"),
                    written: entry,
                });
            } else {
                let clean = address::domain(entry);
                let is_plain = !clean.contains(REGEX_IN_HOST);
                if is_plain && let Some(domain) = clean.strip_prefix('.') {
                    let escaped = domain.replace('.', "\\.");
                    let reason = format!(
                        "write `{domain}` for the host, and `.*\\.{escaped}` for the hosts below it"
                    );
                    return Err(never(FIELD, &clean, index, reason));
                }
                let name = host_name(&clean).filter(|_| is_plain);
                let name = name.ok_or_else(|| {
                    let shown = shown(&clean);
                    let reason = "is neither a host nor a regular expression";
                    PlanError::new(FIELD, format!("`{shown}` (item {index}) {reason}"))
                })?;
                hosts.names.insert(name);
            }
        }
        hosts.expressions = allowance.set(FIELD, &expressions)?;
        Ok(hosts)
    }

    /// Whether a host is one of them.
    pub fn allow(&self, host: &str) -> bool {
        let is_match = |expressions: &Expressions| expressions.is_match(host);
        self.any || self.names.contains(host) || self.expressions.as_ref().is_some_and(is_match)
    }
}

/// The host that an entry names. Callers also write hosts as URLs.
fn host_name(entry: &str) -> Option<String> {
    let host = entry.split_once("://").map_or(entry, |(_, rest)| rest);
    let host = host.split(['/', '?', '#']).next().unwrap_or_default();
    let host = host.rsplit('@').next().unwrap_or_default();
    let host = host.split(':').next().unwrap_or_default();
    url::Host::parse(host).ok().map(|host| host.to_string())
}

impl Patterns {
    /// The entries of a list: the beginning of a path, the beginning of a URL if it has a scheme,
    /// or a regular expression if it has special characters. Blank entries are left out.
    ///
    /// # Errors
    /// An expression is not one, or the expressions exceed what one request may have, or an entry
    /// can match no URL.
    pub fn read(
        field: &'static str,
        entries: &[String],
        allowance: &mut Allowance,
    ) -> Result<Self, PlanError> {
        let (mut paths, mut urls) = (Vec::new(), Vec::new());
        let (mut expressions, mut of_paths) = (Vec::new(), Vec::new());
        for (index, entry) in entries.iter().enumerate() {
            let entry = entry.trim();
            if entry.contains(REGEX_IN_PATH) {
                let expression = || Expression {
                    index,
                    source: entry.to_owned(),
                    written: entry,
                };
                let anchors = ["^/", "^\\/"];
                if anchors.iter().any(|anchor| entry.contains(anchor)) {
                    of_paths.push(expression());
                }
                let is_of_paths = anchors.iter().any(|anchor| entry.starts_with(anchor));
                if !is_of_paths || entry.contains('|') {
                    expressions.push(expression());
                }
            } else if entry.is_empty() {
                continue;
            } else if let Some(reason) = matches_nothing(entry) {
                return Err(never(field, &address::domain(entry), index, reason));
            } else if let Some((_, rest)) = entry.split_once("://") {
                urls.push(in_url(rest));
            } else {
                paths.push(in_path(entry));
            }
        }
        Ok(Self {
            paths: Prefixes::new(paths),
            urls: Prefixes::new(urls),
            expressions: allowance.set(field, &expressions)?,
            path_expressions: allowance.set(field, &of_paths)?,
        })
    }

    fn is_empty(&self) -> bool {
        self.paths.0.is_empty()
            && self.urls.0.is_empty()
            && self.expressions.is_none()
            && self.path_expressions.is_none()
    }

    fn matches(&self, url: &str, path: &str) -> bool {
        let is_match = |expressions: &Option<Expressions>, text: &str| {
            let expressions = expressions.as_ref();
            expressions.is_some_and(|expressions| expressions.is_match(text))
        };
        let rest = url.split_once("://").map_or(url, |(_, rest)| rest);
        self.paths.begin(path)
            || self.urls.begin(rest)
            || is_match(&self.expressions, url)
            || is_match(&self.path_expressions, path)
    }
}

/// The refusal of an entry that would have no effect.
fn never(field: &'static str, entry: &str, index: usize, reason: String) -> PlanError {
    let shown = shown(entry);
    PlanError::new(
        field,
        format!("`{shown}` (item {index}) can match nothing: {reason}"),
    )
}

/// Why a plain entry of a list can match no URL, and what to write.
fn matches_nothing(entry: &str) -> Option<String> {
    if entry.contains('#') {
        return Some(
            "URLs are compared without their fragments, so leave out `#` and what follows"
                .to_owned(),
        );
    }
    if let Some(query) = entry.strip_prefix('?') {
        return Some(format!(
            "an entry is the beginning of a path; write `\\?{query}` for a query anywhere"
        ));
    }
    let scheme = entry.split_once("://").map(|(scheme, _)| scheme)?;
    let is_web = scheme.eq_ignore_ascii_case("http") || scheme.eq_ignore_ascii_case("https");
    (!is_web).then(|| "a crawl fetches `http` and `https` URLs only".to_owned())
}

/// The beginning of a path as it is in a URL.
fn in_path(entry: &str) -> String {
    let slash = if entry.starts_with('/') { "" } else { "/" };
    let path = format!("{slash}{entry}");
    if path.bytes().all(|byte| byte.is_ascii_graphic()) {
        return path;
    }
    // The standard says which characters a path has as they are.
    let url = Url::parse(&format!("http://host{path}"));
    url.map_or(path, |url| url[Position::BeforePath..].to_owned())
}

/// The beginning of a URL behind its scheme, as it is in a URL: without a password, with a host in
/// lower case.
fn in_url(rest: &str) -> String {
    let end = rest.find(['/', '?']).unwrap_or(rest.len());
    let (authority, path) = rest.split_at(end);
    let host = authority.rsplit('@').next().unwrap_or_default();
    let path = if path.starts_with('/') {
        in_path(path)
    } else {
        path.to_owned()
    };
    format!("{}{path}", host.to_lowercase())
}

/// Texts that others may begin with: sorted, and none begins with another.
#[derive(Clone, Debug, Default)]
struct Prefixes(Vec<String>);

impl Prefixes {
    fn new(mut prefixes: Vec<String>) -> Self {
        prefixes.sort_unstable();
        prefixes.dedup_by(|next, kept| next.starts_with(kept.as_str()));
        Self(prefixes)
    }

    /// Whether a text begins with one of them. A prefix of it sorts before it, and what is between
    /// the two begins with the prefix, so only the last one before the text can be one.
    fn begin(&self, text: &str) -> bool {
        let n_before = self.0.partition_point(|prefix| prefix.as_str() <= text);
        let last = n_before.checked_sub(1).and_then(|last| self.0.get(last));
        last.is_some_and(|prefix| text.starts_with(prefix.as_str()))
    }
}

#[cfg(test)]
mod tests {
    use proptest::prelude::*;

    use super::*;

    fn owned(entries: &[&str]) -> Vec<String> {
        entries.iter().map(|&entry| entry.to_owned()).collect()
    }

    fn patterns(entries: &[&str]) -> Result<Patterns, String> {
        let read = Patterns::read("blacklist", &owned(entries), &mut Allowance::default());
        read.map_err(|error| error.to_string())
    }

    fn hosts(entries: &[&str]) -> Result<Hosts, String> {
        let read = Hosts::read(&owned(entries), &mut Allowance::default());
        read.map_err(|error| error.to_string())
    }

    #[test]
    fn entries_are_hosts_or_expressions() {
        let check = |entry: &str, host: &str, expected: bool| {
            assert_eq!(
                hosts(&[entry]).expect(entry).allow(host),
                expected,
                "{entry} {host}"
            );
        };
        check("*", "any.test", true);
        check("https://B.Example/x", "b.example", true);
        check("https://B.Example/x", "a.b.example", false);
        check(".*\\.b\\.example", "A.b.example", true);
        check(".*\\.b\\.example", "a.b.example.evil.test", false);
        check("u:p@b.example", "b.example", true);
        check("u*:p@b.example", "b.example", true);
        check("https://u*:p@b.example/x", "b.example", true);
        for entry in [
            "u*@b<",
            "u:p@*",
            "u:p@.*\\.b\\.example",
            "https://u:p@(a|b).example",
            "[^@]+",
        ] {
            let error = hosts(&[entry]).expect_err(entry);
            assert!(error.contains("is neither"), "{error}");
            assert!(!error.contains("u:p"), "{error}");
        }
        let refused = [
            (
                ".b.example",
                "write `b.example` for the host, and `.*\\.b\\.example`",
            ),
            ("https?://.*\\.b\\.example", "without scheme and path"),
        ];
        for (entry, advice) in refused {
            let error = hosts(&["a.test", entry]).expect_err(entry);
            let start = format!("external_domains: `{entry}` (item 1) can match nothing: ");
            assert!(
                error.starts_with(&start) && error.contains(advice),
                "{error}"
            );
        }
        let error = hosts(&["a.test", "b c"]).expect_err("no host");
        assert!(
            error.starts_with("external_domains: `b c` (item 1) is neither"),
            "{error}"
        );
    }

    #[test]
    fn entries_are_paths_urls_or_expressions() {
        let check = |entry: &str, path: &str, expected: bool| {
            let url = format!("https://a.com{path}");
            let patterns = patterns(&["", entry, " "]).expect(entry);
            assert_eq!(patterns.matches(&url, path), expected, "{entry} {path}");
        };
        check("docs", "/docs/x", true);
        check("docs", "/a/docs", false);
        check("/a?b=1", "/a?b=1&c", true);
        check("https://a.com/x", "/xy", true);
        check("https://a.com/x", "/y", false);
        check("http://A.com/x", "/xy", true);
        check("http://u:p@a.com/x", "/xy", true);
        check("https://a.com", "/y", true);
        check("/ü b", "/%C3%BC%20b/c", true);
        check("/a/.*", "/b/a/c", true);
        check("^/a/.*$", "/a/c", true);
        check("^/a/.*$", "/b/a/c", false);
        check("^\\/a", "/a/c", true);
        check("^https?://[^/]+/a", "/a/c", true);
        check("(^/a|^https://a.com/b)", "/a/c", true);
        check("(^/a|^https://a.com/b)", "/b/c", true);
        check("", "/", false);
        let refused = [
            ("?page=", "write `\\?page=`"),
            ("/a#b", "leave out `#`"),
            ("ftp://a.com/", "`http` and `https`"),
        ];
        for (entry, advice) in refused {
            let error = patterns(&["/x", entry]).expect_err(entry);
            let start = format!("blacklist: `{entry}` (item 1) can match nothing: ");
            assert!(
                error.starts_with(&start) && error.contains(advice),
                "{error}"
            );
        }
        assert!(patterns(&["", "  "]).expect("nothing").is_empty());
        let error = patterns(&["/b", "/a("]).expect_err("no expression");
        assert!(
            error.starts_with("blacklist: `/a(` (item 1) is not a regular"),
            "{error}"
        );
    }

    proptest! {
        #[test]
        fn a_text_begins_with_a_prefix_of_the_list(
            prefixes in prop::collection::vec("[ab/]{1,4}", 0..12),
            text in "[ab/]{0,6}",
        ) {
            let expected = prefixes.iter().any(|prefix| text.starts_with(prefix.as_str()));
            prop_assert_eq!(Prefixes::new(prefixes).begin(&text), expected);
        }
    }
}
