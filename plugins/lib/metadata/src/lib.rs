//! What a page says about itself: its title, author, dates and site, in its head, its data and its
//! text, and what kind of page it is.
//!
//! The extractor `metadata` returns all of it. Filters ask whether a text of the page is its
//! headline, its author or its date, so that both agree.

mod agreement;
mod author;
mod body;
mod choice;
mod date;
mod fields;
mod head;
mod headline;
mod kind;
mod lines;
mod months;
mod names;
mod schema;

use trawl_sdk::Document;

pub use fields::Metadata;
pub use kind::{KindGuess, PageKind, kind_evidence};

use choice::Choice;

impl Metadata {
    /// The metadata of a page.
    pub fn of(document: &Document<'_>) -> Self {
        let url = document.resolve_url(document.url());
        let domain = url.as_ref().and_then(|url| url.host_str());
        let path = url.as_ref().map(|url| url.path());
        let choice = Choice::of(document, domain, path);
        let title = choice.title();
        Self {
            description: choice.description(),
            keywords: choice.keywords(),
            og_image: choice.image(),
            domain: domain.map(str::to_owned),
            pathname: path.map(str::to_owned),
            resource_type: resource_type(document.media_type()),
            language: choice.language(),
            canonical: choice.canonical(),
            known: choice.known(&title),
            title,
        }
    }
}

fn resource_type(media_type: &str) -> String {
    let (kind, subtype) = media_type.split_once('/').unwrap_or_default();
    let name = match (kind, subtype) {
        (_, "html" | "xhtml+xml") => "html",
        (_, "json") => "json",
        (_, "xml") => "xml",
        (_, "pdf") => "pdf",
        (_, subtype) if subtype.ends_with("+json") => "json",
        ("application" | "text", subtype) if subtype.ends_with("+xml") => "xml",
        ("image" | "audio" | "video" | "font" | "text", _) => kind,
        _ => media_type,
    };
    name.to_owned()
}
