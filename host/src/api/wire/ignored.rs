//! Parameters that are accepted but have no effect, for the header `X-Ignored-Parameters`.

/// The one table of parameters that `/scrape` and `/links` accept and do not obey, by the reason.
const INERT: [(&str, &[&str]); 3] = [
    (
        "belong to crawls",
        &[
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
            "webhooks",
            "webhook",
        ],
    ),
    (
        "need a browser",
        &[
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
        ],
    ),
    (
        "have no feature behind them yet",
        &[
            "run_in_background",
            "return_json_data",
            "css_extraction_map",
        ],
    ),
];

/// Most names in the header, and most bytes of one: names are the caller's own text.
const NAMES_MAX: usize = 64;
const NAME_BYTES_MAX: usize = 64;

/// Whether a known parameter has no effect on a scrape. As long as there is no browser, that is so for every engine.
fn is_inert(name: &str) -> bool {
    INERT.iter().any(|(_, names)| names.contains(&name))
}

/// Adds the names without effect of one request object: known ones that ask for something, and unknown ones.
pub(super) fn collect(present: &[&'static str], unknown: Vec<String>, into: &mut Vec<String>) {
    for &name in present.iter().filter(|name| is_inert(name)) {
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

    #[test]
    fn names_are_collected_once_and_fit_a_header() {
        let mut names = Vec::new();
        let unknown = ["cron", "cron", "a,b", "c\r\nd", "", "ü"]
            .map(str::to_owned)
            .to_vec();
        collect(&["url", "limit", "wait_for"], unknown, &mut names);
        collect(&["limit"], vec!["x".repeat(65)], &mut names);
        assert_eq!(names, ["limit", "wait_for", "cron"]);
        collect(
            &[],
            (0..1_000).map(|i| format!("n{i}")).collect(),
            &mut names,
        );
        assert_eq!(names.len(), NAMES_MAX);
    }
}
