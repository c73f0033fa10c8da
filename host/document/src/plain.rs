//! Documents for pages that are not HTML.

use url::Url;

use super::limits::SOURCE_BYTES_MAX;
use super::{Document, kind};

/// A document for text that is not HTML, much as browsers display it: the text in one `pre` of the
/// body. Text beyond the longest source that is parsed is cut off.
#[must_use]
pub fn plain(text: &str, url: &Url, media_type: &str) -> Document {
    let text = &text[..text.floor_char_boundary(SOURCE_BYTES_MAX)];
    Document {
        kinds: vec![
            kind::DOCUMENT,
            kind::ELEMENT,
            kind::ELEMENT,
            kind::ELEMENT,
            kind::TEXT,
        ],
        parents: vec![0, 0, 1, 2, 3],
        ends: vec![5; 5],
        names: vec![0, 1, 2, 3, 0],
        starts: vec![0; 5],
        counts: vec![0, 0, 0, 0, text.len() as u32],
        name_text: "htmlbodypre".to_owned(),
        name_ends: vec![0, 4, 8, 11],
        name_spaces: vec![0; 4],
        text: text.to_owned(),
        ..empty(url, media_type)
    }
}

/// A document without content, for pages that are not text.
#[must_use]
pub fn empty(url: &Url, media_type: &str) -> Document {
    Document {
        url: url.as_str().to_owned(),
        base: url.as_str().to_owned(),
        media_type: media_type.to_owned(),
        kinds: vec![kind::DOCUMENT],
        parents: vec![0],
        ends: vec![1],
        names: vec![0],
        starts: vec![0],
        counts: vec![0],
        name_ends: vec![0],
        name_spaces: vec![0],
        ..Document::default()
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn text_becomes_a_pre() {
        let url = Url::parse("https://a.example/x.json").expect("a URL");
        let document = plain("{\"a\":\"é\"}", &url, "application/json");
        assert_eq!(document.name(3), "pre");
        assert_eq!(document.node_text(4), "{\"a\":\"é\"}");
        assert_eq!(document.media_type, "application/json");
        assert_eq!(empty(&url, "image/png").kinds, [kind::DOCUMENT]);
    }
}
