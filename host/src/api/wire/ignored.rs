//! Parameters that are accepted but have no effect, for the header `X-Ignored-Parameters`.

use super::into_plan::Purpose;

/// Parameters that only crawls obey.
const OF_CRAWLS: &[&str] = &[
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
const OF_BROWSERS: &[&str] = &[
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

/// Parameters that have no feature behind them yet.
const OF_NOTHING: &[&str] = &["return_json_data", "css_extraction_map"];

/// Most names in the header, and most bytes of one: names are the caller's own text.
const NAMES_MAX: usize = 64;
const NAME_BYTES_MAX: usize = 64;

/// Whether a known parameter has no effect. As long as there is no browser, that is so for every engine.
fn is_inert(name: &str, purpose: Purpose) -> bool {
    let is_crawl = matches!(purpose, Purpose::Seeds { .. });
    OF_BROWSERS.contains(&name)
        || OF_NOTHING.contains(&name)
        || !is_crawl && OF_CRAWLS.contains(&name)
}

/// Adds the names without effect of one request object: known ones that ask for something, and unknown ones.
pub(super) fn collect(
    present: &[&'static str],
    unknown: Vec<String>,
    purpose: Purpose,
    into: &mut Vec<String>,
) {
    for &name in present.iter().filter(|name| is_inert(name, purpose)) {
        add(into, name.to_owned());
    }
    for name in unknown {
        add(into, name);
    }
}

/// Adds one name, unless it is there already, cannot stand in a header, or the list is full.
pub(super) fn add(into: &mut Vec<String>, name: String) {
    let is_printable = |byte: u8| byte.is_ascii_graphic() && byte != b',';
    let fits = !name.is_empty() && name.len() <= NAME_BYTES_MAX && name.bytes().all(is_printable);
    if fits && into.len() < NAMES_MAX && !into.contains(&name) {
        into.push(name);
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    const PAGES: Purpose = Purpose::Pages { room: 1 };

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
            Purpose::Seeds { room: 1 },
            &mut names,
        );
        assert_eq!(names, ["limit", "wait_for", "cron"]);
        collect(
            &[],
            (0..1_000).map(|i| format!("n{i}")).collect(),
            PAGES,
            &mut names,
        );
        assert_eq!(names.len(), NAMES_MAX);
    }
}
