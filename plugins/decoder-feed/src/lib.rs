//! The `feed` decoder: RSS, Atom, JSON Feed and sitemaps as pages.
//!
//! A feed becomes a heading, a description and an `article` for each item, with its link, date,
//! authors, content and enclosures; a sitemap becomes a list of links with dates. Content of an
//! item is inserted as HTML made safe. Other XML and JSON is left to the next decoder.

mod atom;
mod dates;
mod feed;
mod json;
mod rss;
mod sitemap;

use trawl_sdk::decoder::{Decoded, Decoder, Failure, File};
use trawl_sdk::{Info, Needs, xml};

use feed::Base;

/// Decodes feeds and sitemaps.
pub struct Feeds;

trawl_sdk::export!(decoder: Feeds);

impl Decoder for Feeds {
    type Options = ();

    fn info() -> Info {
        Info::new(
            "feed",
            env!("CARGO_PKG_VERSION"),
            "RSS, Atom, JSON Feed and sitemaps: their items with links, dates and content",
        )
        .needs(Needs::SOURCE)
    }

    fn decode(file: &File<'_>, (): ()) -> Result<Decoded, Failure> {
        let base = Base::of(&file.url);
        let text = file.text.trim_start_matches(['\u{feff}']).trim_start();
        if text.starts_with('{') {
            return json::read(text, &base);
        }
        if !text.starts_with('<') {
            let reason = "it is neither XML nor a JSON object".to_owned();
            return Err(Failure::Unsupported(reason));
        }
        // The root is looked at first: other XML is not read whole.
        let name = xml::root_name(text);
        let name = name.as_deref().unwrap_or_default();
        let is_known = matches!(
            xml::local(name),
            "rss" | "RDF" | "feed" | "urlset" | "sitemapindex"
        );
        if !is_known {
            let shown: String = name.chars().take(40).collect();
            let reason = format!("the root element `{shown}` is that of no feed and no sitemap");
            return Err(Failure::Unsupported(reason));
        }
        let (mut root, fault) = xml::read(text)?;
        let decoded = match root.local_name() {
            "urlset" | "sitemapindex" => {
                without_prefix(&mut root);
                sitemap::read(&root, &base)
            }
            "feed" => {
                without_prefix(&mut root);
                atom::read(&root, &base).write()
            }
            _ => rss::read(&root, &base)?.write(),
        };
        Ok(match fault {
            Some(fault) => decoded.warn(format!("the file is damaged, so it ends early: {fault}")),
            None => decoded,
        })
    }
}

/// Removes the root's own prefix from all names: `atom:entry` becomes `entry`.
fn without_prefix(element: &mut xml::Element) {
    let Some((prefix, _)) = element.name.split_once(':') else {
        return;
    };
    let prefix = format!("{prefix}:");
    strip(element, &prefix);
}

fn strip(element: &mut xml::Element, prefix: &str) {
    if let Some(name) = element.name.strip_prefix(prefix) {
        element.name = name.to_owned();
    }
    for child in &mut element.children {
        if let xml::Node::Element(child) = child {
            strip(child, prefix);
        }
    }
}

#[cfg(test)]
mod fuzz;
#[cfg(test)]
mod tests;
