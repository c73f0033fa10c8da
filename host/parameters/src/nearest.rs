//! "Did you mean": the known name that a wrong one is closest to.

use trawl_model::nearest::closest;

use super::row::Parameter;

/// The row that a wrong name most probably means: the name differs only in case and separators, is
/// a known mistake, or differs in a letter or two. `None` if several are equally close.
pub fn nearest(
    name: &str,
    rows: impl Iterator<Item = &'static Parameter>,
) -> Option<&'static Parameter> {
    let named = rows.flat_map(|row| {
        let names = std::iter::once(&row.name).chain(row.aliases);
        let typed = names.map(|&known| (known, false));
        let mistaken = row.mistaken.iter().map(|&known| (known, true));
        typed.chain(mistaken).map(move |known| (known, row))
    });
    closest(name, named, |a, b| a.name == b.name)
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::all;

    #[test]
    fn a_wrong_name_is_led_to_the_right_one() {
        let check = |wrong: &str, right: Option<&str>| {
            assert_eq!(nearest(wrong, all()).map(|row| row.name), right, "{wrong}");
        };
        check("returnFormat", Some("return_format"));
        check("return-format", Some("return_format"));
        check("retrun_format", Some("return_format"));
        check("uri", Some("url"));
        check("max_pages", Some("limit"));
        check("limt", Some("limit"));
        check("waitFor", Some("wait_for"));
        check("webhok", Some("webhooks"));
        check("headless", Some("request"));
        check("onlyMainContent", Some("readability"));
        check("cssSelector", Some("root_selector"));
        check("cssSelectors", Some("css_extraction_map"));
        check("excludeTags", Some("exclude_selector"));
        check("maxDiscoveryDepth", Some("depth"));
        check("no_such_parameter", None);
        check("x", None);
        check("cron", None);
        check("session", None);
        check(&"x".repeat(10_000), None);
    }
}
