//! Sitemaps and their indexes (sitemaps.org, version 0.9).

use trawl_sdk::decoder::{Decoded, Html};
use trawl_sdk::xml::Element;

use crate::feed::{Base, plain};

/// Most URLs of a sitemap: the protocol's own limit.
const URLS_MAX: usize = 50_000;

pub(crate) fn read(root: &Element, base: &Base) -> Decoded {
    let is_index = root.name == "sitemapindex";
    let (title, name, format) = if is_index {
        ("Index of sitemaps", "sitemap", "sitemap index")
    } else {
        ("Sitemap", "url", "sitemap")
    };
    let mut html = Html::new(title, None);
    html.element("h1", title).open("ul");
    let mut n_urls = 0;
    for entry in root.all(name) {
        let Some(url) = entry.child_text("loc") else {
            continue;
        };
        n_urls += 1;
        if n_urls > URLS_MAX {
            continue;
        }
        let url = base.absolute(&url);
        html.open("li");
        match entry
            .child("news:news")
            .and_then(|news| news.child_text("news:title"))
        {
            Some(title) => html.link(Some(&url), &plain(&title)),
            None => html.link(Some(&url), &url),
        };
        if let Some(date) = entry.child_text("lastmod") {
            html.text(" ").open_with("time", &[("datetime", &date)]);
            html.text(&date).close();
        }
        html.close();
    }
    let decoded = Decoded::new(html.finish())
        .with("title", title)
        .with("feed_format", format)
        .with("item_count", n_urls);
    match n_urls.saturating_sub(URLS_MAX) {
        0 => decoded,
        left => decoded.warn(format!("{left} of {n_urls} URLs are left out")),
    }
}
