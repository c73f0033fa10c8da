//! Comments of text documents, which stand after the text.

use trawl_sdk::decoder::Html;

use crate::inline::Inline;

/// A comment.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub(crate) struct Comment {
    /// Who wrote it; empty if the document does not say.
    pub(crate) author: String,
    pub(crate) paragraphs: Vec<Inline>,
}

/// Writes them, an article each; nothing if there are none.
pub(crate) fn write(html: &mut Html, comments: &[Comment]) {
    if comments.is_empty() {
        return;
    }
    html.open_with("section", &[("class", "comments")]);
    for comment in comments {
        html.open("article");
        if !comment.author.is_empty() {
            html.element("h4", &comment.author);
        }
        for paragraph in comment.paragraphs.iter().filter(|it| !it.is_blank()) {
            html.open("p");
            paragraph.write(html, false);
            html.close();
        }
        html.close();
    }
    html.close();
}
