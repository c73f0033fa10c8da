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

/// Writes them, if there are any.
pub(crate) fn write(html: &mut Html, comments: &[Comment]) {
    html.comments(
        comments,
        |comment| &comment.author,
        |html, comment| {
            for paragraph in comment.paragraphs.iter().filter(|it| !it.is_blank()) {
                html.open("p");
                paragraph.write(html, false);
                html.close();
            }
        },
    );
}
