//! What a crawl means: where it begins, what belongs to it, when it ends. Spec S5, Spec S7.

use std::sync::Arc;
use std::time::Duration;

use regex::Regex;
use url::Url;

use trawl_model::{Discovered, Nanodollars};

use super::expression::{self, shown};
use super::{PagePlan, PlanError};

/// Default of `depth`: hops from the seed. Spec S12.
pub const DEPTH_DEFAULT: u16 = 25;
/// Pages of one crawl in flight at once. Spec S11.
pub const IN_FLIGHT_MAX: usize = 10;

/// One crawl.
#[derive(Clone, Debug)]
pub struct CrawlPlan {
    /// The seed, and the plan of every page: pages differ in their URL only.
    pub seed: PagePlan,
    /// More seeds, at depth 0 like the first: one crawl, with one budget and one `limit`. Their
    /// hosts belong to the crawl as the seed's does.
    pub named: Option<Arc<Discovered>>,
    /// Most pages, failed ones included; `None` is no cap.
    pub limit: Option<u64>,
    /// Most hops from the seed; 0 is the seed alone.
    pub depth: u16,
    /// Most pages whose path begins with a prefix. A page must fit every prefix that is its own.
    pub budget: Vec<Budget>,
    /// The most that the whole crawl may cost; `Nanodollars::MAX` if the caller set no ceiling.
    pub ceiling: Nanodollars,
    /// Least time between two requests to one host; more than zero makes them serial.
    pub delay: Duration,
    /// Pages in flight at once, 1 to [`IN_FLIGHT_MAX`].
    pub in_flight: usize,
    /// Time for the whole crawl.
    pub timeout: Option<Duration>,
    /// Which URLs belong to the crawl.
    pub scope: ScopePlan,
    /// What sitemaps are used for.
    pub sitemap: SitemapPlan,
    /// Where events go.
    pub webhook: Option<WebhookPlan>,
    /// Whether the request is answered at once and the crawl runs in the background.
    pub in_background: bool,
}

/// One entry of `budget`.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Budget {
    /// Path prefix, lower case, beginning with `/`; `*` is the whole crawl.
    pub prefix: String,
    /// Most pages.
    pub pages: u64,
}

/// Which URLs belong to a crawl besides those of the seed's host.
#[derive(Clone, Debug, Default)]
pub struct ScopePlan {
    /// Hosts under the seed's registered domain.
    pub subdomains: bool,
    /// The same registered name under other public suffixes.
    pub tld: bool,
    /// Other hosts.
    pub external: Vec<External>,
    /// URLs that are excluded, whatever else includes them.
    pub blacklist: Vec<Pattern>,
    /// If not empty, only these are included. The seed always is.
    pub whitelist: Vec<Pattern>,
}

/// One entry of `external_domains`.
#[derive(Clone, Debug)]
pub enum External {
    /// Every host.
    Any,
    /// This host, lower case.
    Host(String),
    /// Hosts that this matches from end to end.
    Matching(Regex),
}

/// One entry of `blacklist` or `whitelist`: the beginning of a path, or a regular expression if it
/// has special characters.
#[derive(Clone, Debug)]
pub enum Pattern {
    /// Paths that begin with this text. An entry that is a whole URL is compared with the whole
    /// URL.
    Text(String),
    /// URLs that match this.
    Regex(Regex),
}

/// Characters that make an entry a regular expression. A dot and a hyphen occur in host names, a
/// dot and a question mark in URLs.
const REGEX_IN_HOST: &[char] = &[
    '*', '+', '?', '^', '$', '|', '(', ')', '[', ']', '{', '}', '\\',
];
const REGEX_IN_PATH: &[char] = &['*', '+', '^', '$', '|', '(', ')', '[', ']', '{', '}', '\\'];

/// One entry of `budget`. A missing slash in front is put there. Decision D39.
pub fn budget(key: &str, pages: u64) -> Budget {
    let key = key.trim().to_lowercase();
    let prefix = match key.as_str() {
        "*" => key,
        path if path.starts_with('/') => key,
        path => format!("/{path}"),
    };
    Budget { prefix, pages }
}

/// One entry of `external_domains`: a host, an anchored regular expression if it has special
/// characters, or `*`.
///
/// # Errors
/// The expression is not one.
pub fn external(entry: &str) -> Result<External, PlanError> {
    let entry = entry.trim();
    if entry == "*" {
        return Ok(External::Any);
    }
    if entry.contains(REGEX_IN_HOST) {
        let anchored = format!("^(?i:{entry})$");
        return expression::compile("external_domains", &anchored, entry).map(External::Matching);
    }
    // Callers also write hosts as URLs.
    let host = entry.split_once("://").map_or(entry, |(_, rest)| rest);
    let host = host.split(['/', ':']).next().unwrap_or_default();
    match url::Host::parse(host) {
        Ok(host) => Ok(External::Host(host.to_string())),
        Err(_) => Err(PlanError::new(
            "external_domains",
            format!(
                "`{}` is neither a host nor a regular expression",
                shown(entry)
            ),
        )),
    }
}

/// One entry of `blacklist` or `whitelist`: the beginning of a path, or a regular expression if it
/// has special characters.
///
/// # Errors
/// The expression is not one.
pub fn pattern(field: &'static str, entry: &str) -> Result<Pattern, PlanError> {
    let entry = entry.trim();
    if entry.contains(REGEX_IN_PATH) {
        return expression::compile(field, entry, entry).map(Pattern::Regex);
    }
    let text = if entry.contains("://") || entry.starts_with('/') {
        entry.to_owned()
    } else {
        format!("/{entry}")
    };
    Ok(Pattern::Text(text))
}

/// What sitemaps are used for.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct SitemapPlan {
    /// Whether the queue is seeded from sitemaps.
    pub is_used: bool,
    /// Whether links of pages are not followed: the sitemap alone.
    pub only: bool,
    /// Their URLs; if empty, those of robots.txt and `/sitemap.xml`.
    pub addresses: Vec<Url>,
}

/// Where events of a crawl go, and which. Decision D104.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct WebhookPlan {
    /// The receiver.
    pub destination: Url,
    /// A page's content.
    pub on_find: bool,
    /// A page's URL, status and headers.
    pub on_find_metadata: bool,
    /// The end of a site's crawl.
    pub on_website_status: bool,
    /// The account has no credits left.
    pub on_credits_depleted: bool,
    /// Half of the account's credits at the start of the crawl are gone.
    pub on_credits_half_depleted: bool,
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn entries_are_hosts_paths_or_expressions() {
        assert!(matches!(external("*"), Ok(External::Any)));
        assert!(
            matches!(external("https://B.Example/x"), Ok(External::Host(host)) if host == "b.example")
        );
        let Ok(External::Matching(regex)) = external(".*\\.b\\.example") else {
            panic!("an expression")
        };
        assert!(regex.is_match("A.b.example") && !regex.is_match("a.b.example.evil.test"));
        assert!(matches!(pattern("blacklist", "docs"), Ok(Pattern::Text(text)) if text == "/docs"));
        assert!(matches!(
            pattern("blacklist", "/a?b=1"),
            Ok(Pattern::Text(_))
        ));
        assert!(matches!(
            pattern("blacklist", "/a/.*"),
            Ok(Pattern::Regex(_))
        ));
        let refused = pattern("blacklist", "/a(").map_err(|error| error.to_string());
        assert!(
            refused
                .is_err_and(|text| text.starts_with("blacklist: `/a(` is no regular expression"))
        );
        assert_eq!(budget("Blog", 3), budget("/blog", 3));
        assert_eq!(budget("*", 3).prefix, "*");
    }
}
