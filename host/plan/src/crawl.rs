//! What a crawl means: where it begins, what belongs to it, when it ends. Spec S5, Spec S7.

use std::collections::BTreeMap;
use std::sync::Arc;
use std::time::Duration;

use url::Url;

use trawl_model::{Discovered, Nanodollars};

use super::address::Receiver;
use super::expression::shown;
use super::scope::ScopePlan;
use super::{BatchPlan, PagePlan, PlanError, Prefer};

/// Default of `depth`: hops from the seed. Spec S12.
pub const DEPTH_DEFAULT: u16 = 25;
/// Pages of one crawl in flight at once. Spec S11.
pub const IN_FLIGHT_MAX: usize = 10;
/// Longest delay between two requests to one host, in milliseconds. Decision D42.
pub const DELAY_MS_MAX: u64 = 60_000;
/// Most keys of `budget`: more than a site has sections.
pub const BUDGETS_MAX: usize = 1_000;
/// Most keys of `budget` that may apply to one path. Each of them is asked when a page is leased.
pub const BUDGETS_NESTED_MAX: usize = 32;

/// One crawl.
#[derive(Clone, Debug)]
pub struct CrawlPlan {
    /// The seed, and the plan of every page: pages differ in their URL only.
    pub seed: PagePlan,
    /// The further seeds that the caller named; their URL and headers count. They are at depth 0
    /// like the first, and their hosts belong to the crawl as its does: one crawl, whose caps hold
    /// for all.
    pub roots: Vec<PagePlan>,
    /// The seeds that the caller's text mentions. They are like `roots`, but must pass `blacklist`
    /// and `whitelist`.
    pub named: Option<Arc<Discovered>>,
    /// The pages of a batch: it fetches these and follows no links, and `seed` is the first of
    /// them. `None` for a crawl.
    pub batch: Option<Arc<BatchPlan>>,
    /// Most pages, failed ones included; `None` for no cap.
    pub limit: Option<u64>,
    /// Most hops from the seed; 0 is the seed alone.
    pub depth: u16,
    /// Most pages whose path begins with a prefix, each prefix once. A page must fit every prefix
    /// that is its own.
    pub budget: Vec<Budget>,
    /// Most pages of one host; `None` for no cap.
    pub host_limit: Option<u64>,
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
    /// Which URLs are fetched first. Without entries the order is breadth-first.
    pub prefer: Prefer,
    /// Whether URLs that look like those of a crawler trap are fetched.
    pub follows_traps: bool,
    /// Whether entries have the text of the link that led to their page.
    pub anchors: bool,
    /// Which pages are left out because the crawl has them under another URL.
    pub fold: Fold,
    /// What sitemaps are used for.
    pub sitemap: SitemapPlan,
    /// Where events go.
    pub webhook: Option<WebhookPlan>,
    /// Whether the stream of its pages ends with an object that says why it ended.
    pub has_final_entry: bool,
    /// Whether the request is answered at once and the crawl runs in the background.
    pub in_background: bool,
}

impl CrawlPlan {
    /// The seeds that the caller named.
    pub fn seeds(&self) -> impl Iterator<Item = &PagePlan> {
        std::iter::once(&self.seed).chain(&self.roots)
    }
}

/// Which pages are one page. Decision D394.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub struct Fold {
    /// Those that state the same canonical URL.
    pub canonical: bool,
    /// Those with the same content.
    pub equal: bool,
}

/// One entry of `budget`.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Budget {
    /// Path prefix, lower case, beginning with `/`; `*` is the whole crawl.
    pub prefix: String,
    /// Most pages.
    pub pages: u64,
}

/// The entries of `budget`, each prefix once. A missing slash in front is put there. Decision D39.
///
/// # Errors
/// There are more keys than [`BUDGETS_MAX`], or more than [`BUDGETS_NESTED_MAX`] apply to one path,
/// or a key applies to none.
pub fn budgets(keys: &BTreeMap<String, u64>) -> Result<Vec<Budget>, PlanError> {
    let refuse = |reason| PlanError::new("budget", reason);
    if keys.len() > BUDGETS_MAX {
        return Err(refuse(format!(
            "has {} keys, at most {BUDGETS_MAX} are allowed, leave out paths that need no cap",
            keys.len()
        )));
    }
    let mut smallest: BTreeMap<String, u64> = BTreeMap::new();
    for (key, &pages) in keys {
        let prefix = budget_prefix(key);
        if let Some(advice) = applies_to_nothing(&prefix) {
            let key = shown(key);
            return Err(refuse(format!("`{key}` can apply to no page: {advice}")));
        }
        let known = smallest.entry(prefix).or_insert(pages);
        *known = pages.min(*known);
    }
    let mut around: Vec<&str> = Vec::new();
    for prefix in smallest.keys() {
        while around
            .last()
            .is_some_and(|outer| !prefix.starts_with(outer))
        {
            around.pop();
        }
        around.push(prefix);
        if around.len() > BUDGETS_NESTED_MAX {
            return Err(refuse(format!(
                "more than {BUDGETS_NESTED_MAX} keys apply to `{}`, leave out some of them",
                shown(prefix)
            )));
        }
    }
    let budgets = smallest.into_iter();
    Ok(budgets
        .map(|(prefix, pages)| Budget { prefix, pages })
        .collect())
}

/// A key as a prefix. What follows a prefix is free, so a `*` at the end adds nothing to it.
fn budget_prefix(key: &str) -> String {
    let key = key.trim().to_lowercase();
    match key.as_str() {
        "*" | "/*" => "*".to_owned(),
        path => {
            let path = path.trim_end_matches('*');
            let slash = if path.starts_with('/') { "" } else { "/" };
            format!("{slash}{path}")
        }
    }
}

/// What to write in place of a prefix that no path has.
fn applies_to_nothing(prefix: &str) -> Option<String> {
    if let Some((_, rest)) = prefix.split_once("://") {
        let path = rest.find('/').map_or("/", |at| &rest[at..]);
        let path = shown(path);
        return Some(format!(
            "a key is the beginning of a path, so write `{path}`"
        ));
    }
    if prefix != "*"
        && let Some((before, _)) = prefix.split_once('*')
    {
        let before = shown(before);
        return Some(format!(
            "`*` alone is the whole crawl, and within a path it has no meaning; write `{before}`"
        ));
    }
    let is_fragment = prefix.contains('#');
    is_fragment.then(|| "URLs are compared without their fragments, so leave out `#`".to_owned())
}

/// What sitemaps are used for.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct SitemapPlan {
    /// Whether the queue is seeded from sitemaps.
    pub is_used: bool,
    /// Whether links of pages are not followed: the sitemap alone.
    pub only: bool,
    /// Their URLs; if empty, the sitemaps of robots.txt and `/sitemap.xml`.
    pub addresses: Vec<Url>,
}

/// Where events of a crawl go, and which. Decision D104.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct WebhookPlan {
    /// The receiver.
    pub destination: Receiver,
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

    fn read(keys: impl IntoIterator<Item = (String, u64)>) -> Result<Vec<Budget>, String> {
        budgets(&keys.into_iter().collect()).map_err(|error| error.to_string())
    }

    #[test]
    fn budgets_are_prefixes_and_the_smallest_of_a_prefix_holds() {
        let keys = [("Blog", 3), ("/blog", 2), ("*", 9), ("/BLOG", 7)];
        let read = read(keys.map(|(key, pages)| (key.to_owned(), pages))).expect("budgets");
        let budget = |prefix: &str, pages| Budget {
            prefix: prefix.to_owned(),
            pages,
        };
        assert_eq!(read, [budget("*", 9), budget("/blog", 2)]);
    }

    #[test]
    fn a_star_at_the_end_adds_nothing_and_keys_without_effect_are_refused() {
        let one = |key: &str| read([(key.to_owned(), 1)]);
        for (key, prefix) in [
            ("/blog/*", "/blog/"),
            ("blog*", "/blog"),
            ("/*", "*"),
            ("", "/"),
        ] {
            let read = one(key).expect(key);
            assert_eq!(read[0].prefix, prefix, "{key}");
        }
        for (key, advice) in [
            ("https://a.test/Blog/x", "write `/blog/x`"),
            ("/*/blog", "write `/`"),
            ("/a#b", "leave out `#`"),
        ] {
            let error = one(key).expect_err(key);
            let start = format!("budget: `{key}` can apply to no page: ");
            assert!(
                error.starts_with(&start) && error.contains(advice),
                "{error}"
            );
        }
    }

    #[test]
    fn too_many_budgets_are_refused() {
        let keys = |n: usize| (0..n).map(|key| (format!("/{key:04}/"), 1));
        assert_eq!(
            read(keys(BUDGETS_MAX)).map(|all| all.len()),
            Ok(BUDGETS_MAX)
        );
        let error = read(keys(60_000)).expect_err("too many");
        assert!(
            error.starts_with("budget: has 60000 keys, at most 1000"),
            "{error}"
        );
        let nested = |n: usize| (0..n).map(|key| ("/a".repeat(key + 1), 1));
        assert!(read(nested(BUDGETS_NESTED_MAX)).is_ok());
        let error = read(nested(BUDGETS_NESTED_MAX + 1)).expect_err("nested");
        assert!(
            error.starts_with("budget: more than 32 keys apply to `/a/a"),
            "{error}"
        );
    }
}
