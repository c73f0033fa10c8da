//! The sample page for the first call of a plugin, right after loading.

use trawl_contract::provider::Task;
use trawl_contract::search::Query;
use trawl_document::{Document, kind, namespace};

use crate::call::view::PageView;
use crate::kinds::decoder::File;
use crate::kinds::grant::Grant;

/// Text for a chunker's first call.
pub(crate) const TEXT: &str = "A small page. It has two sentences.\nAnd a second line: ü.\n";
const SOURCE: &str = "<html><body><p><a href=\"/x\">A small page</a></p></body></html>";

/// Calls `call` with the sample page.
pub(crate) fn with_page<R>(call: impl FnOnce(&PageView<'_>) -> R) -> R {
    let document = document();
    call(&PageView {
        document: &document,
        kept: &[],
        text: SOURCE,
        body: SOURCE.as_bytes(),
        content_type: "text/html; charset=utf-8",
        charset: "utf-8",
    })
}

/// The document of a decoder's first call.
pub(crate) fn file() -> File<'static> {
    File {
        text: TEXT,
        body: TEXT.as_bytes(),
        media_type: "text/plain",
        content_type: "text/plain; charset=utf-8",
        url: "https://sample.example/a.txt",
        pages: &[],
    }
}

/// The task of a provider's first call.
pub(crate) fn task(grant: &Grant) -> Task {
    let settings = grant.settings.to_string();
    Task {
        settings,
        ..Task::new("https://sample.example/", &grant.base)
    }
}

/// The query of a search adapter's first call.
pub(crate) fn query(grant: &Grant) -> Query {
    let settings = grant.settings.to_string();
    Query {
        settings,
        ..Query::new("sample", &grant.base)
    }
}

/// [`SOURCE`], parsed.
fn document() -> Document {
    Document {
        url: "https://sample.example/".to_owned(),
        base: "https://sample.example/".to_owned(),
        media_type: "text/html".to_owned(),
        quirks: true,
        // document, html, head, body, p, a, text
        kinds: vec![
            kind::DOCUMENT,
            kind::ELEMENT,
            kind::ELEMENT,
            kind::ELEMENT,
            kind::ELEMENT,
            kind::ELEMENT,
            kind::TEXT,
        ],
        parents: vec![0, 0, 1, 1, 3, 4, 5],
        ends: vec![7, 7, 3, 7, 7, 7, 7],
        names: vec![0, 1, 2, 3, 4, 5, 0],
        starts: vec![0, 0, 0, 0, 0, 0, 2],
        counts: vec![0, 0, 0, 0, 0, 1, 12],
        attribute_names: vec![6],
        attribute_starts: vec![0],
        attribute_lengths: vec![2],
        name_text: "htmlheadbodypahref".to_owned(),
        name_ends: vec![0, 4, 8, 12, 13, 14, 18],
        name_spaces: vec![namespace::HTML; 7],
        text: "/xA small page".to_owned(),
    }
}
