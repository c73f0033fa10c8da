//! Properties as a list of terms.

use trawl_sdk::decoder::Html;

/// Writes a term with its values; nothing without a value.
pub(crate) fn term(html: &mut Html, name: &str, values: &[String]) {
    let mut values = values.iter().filter(|value| !value.is_empty()).peekable();
    if values.peek().is_some() {
        html.element("dt", name);
    }
    for value in values {
        html.element("dd", value);
    }
}

/// Writes a term whose values are links.
pub(crate) fn links(html: &mut Html, name: &str, values: &[(String, String)]) {
    if !values.is_empty() {
        html.element("dt", name);
    }
    for (url, text) in values {
        html.open("dd").link(Some(url.as_str()), text).close();
    }
}

/// Writes text in paragraphs: each line is one.
pub(crate) fn paragraphs(html: &mut Html, text: &str) {
    for line in text.lines().map(str::trim) {
        if !line.is_empty() {
            html.element("p", line);
        }
    }
}
