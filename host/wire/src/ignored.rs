//! Parameters that are accepted but have no effect, for the header `X-Ignored-Parameters`.

/// Parameters that only crawls use.
const CRAWL_ONLY: &[&str] = &[
    "limit",
    "depth",
    "budget",
    "max_credits_allowed",
    "delay",
    "concurrency_limit",
    "crawl_timeout",
    "subdomains",
    "tld",
    "external_domains",
    "blacklist",
    "whitelist",
    "sitemap",
    "sitemap_only",
    "sitemap_path",
    "sitemaps",
    "run_in_background",
    "webhooks",
    "webhook",
];

/// Parameters that need a browser.
const BROWSER_ONLY: &[&str] = &[
    "evaluate_on_new_document",
    "automation_scripts",
    "execution_scripts",
    "wait_for",
    "scroll",
    "viewport",
    "block_ads",
    "block_images",
    "block_stylesheets",
    "full_resources",
];

/// Parameters of a screenshot.
const SCREENSHOT_ONLY: &[&str] = &["full_page", "omit_background", "clip", "binary"];

/// Most names in the header, and most bytes of one: the caller chooses the names.
const NAMES_MAX: usize = 64;
const NAME_BYTES_MAX: usize = 64;

/// Features that a request does not use, so that their parameters have no effect.
#[derive(Clone, Copy, Debug)]
pub(crate) struct Without {
    /// It is not a crawl.
    pub crawl: bool,
    /// It uses no browser. Decision D56.
    pub browser: bool,
    /// It takes no screenshot.
    pub screenshot: bool,
}

/// Whether a known parameter has no effect.
fn is_inert(name: &str, without: Without) -> bool {
    without.crawl && CRAWL_ONLY.contains(&name)
        || without.browser && BROWSER_ONLY.contains(&name)
        || without.screenshot && SCREENSHOT_ONLY.contains(&name)
}

/// Adds the parameters of one request object that have no effect: known ones that are set, and
/// unknown ones.
pub(crate) fn collect(
    present: &[&'static str],
    unknown: Vec<String>,
    without: Without,
    into: &mut Vec<String>,
) {
    for &name in present.iter().filter(|name| is_inert(name, without)) {
        add(into, name.to_owned());
    }
    for name in unknown {
        add(into, name);
    }
}

/// Adds one name, unless it is listed already, cannot be part of a header value, or the list is
/// full.
pub(crate) fn add(into: &mut Vec<String>, name: String) {
    let is_printable = |byte: u8| byte.is_ascii_graphic() && byte != b',';
    let fits = !name.is_empty() && name.len() <= NAME_BYTES_MAX && name.bytes().all(is_printable);
    if fits && into.len() < NAMES_MAX && !into.contains(&name) {
        into.push(name);
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    const PAGES: Without = Without {
        crawl: true,
        browser: true,
        screenshot: true,
    };

    #[test]
    fn names_are_collected_once_and_fit_a_header() {
        let mut names = Vec::new();
        let unknown = ["cron", "cron", "a,b", "c\r\nd", "", "ü"]
            .map(str::to_owned)
            .to_vec();
        collect(&["url", "limit", "wait_for"], unknown, PAGES, &mut names);
        collect(&["limit"], vec!["x".repeat(65)], PAGES, &mut names);
        collect(
            &["limit"],
            Vec::new(),
            Without {
                crawl: false,
                ..PAGES
            },
            &mut names,
        );
        assert_eq!(names, ["limit", "wait_for", "cron"]);
        let all = Without {
            crawl: false,
            browser: false,
            screenshot: false,
        };
        let effective = ["limit", "wait_for", "clip"];
        collect(&effective, Vec::new(), all, &mut Vec::new());
        let mut none = Vec::new();
        collect(&effective, Vec::new(), all, &mut none);
        assert!(none.is_empty(), "{none:?}");
        collect(
            &[],
            (0..1_000).map(|i| format!("n{i}")).collect(),
            PAGES,
            &mut names,
        );
        assert_eq!(names.len(), NAMES_MAX);
    }
}
