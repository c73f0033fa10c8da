//! One message: its headers, its text and what is attached. Source: RFC 5322, 3.6.

use mail_parser::{Address, Message, MessagePart, PartType};
use trawl_sdk::decoder::Html;

use crate::attachments::Attachment;

/// Most addresses of a header.
const ADDRESSES_MAX: usize = 1_000;
/// Longest subject and identifier.
const TEXT_BYTES_MAX: usize = 1_000;
/// Most bytes of a list in the metadata, which the host bounds: what is more is in the text alone.
const LIST_BYTES_MAX: usize = 8 * 1024;

/// The subject, unless it is empty.
pub(crate) fn title<'a>(message: &'a Message<'_>) -> Option<&'a str> {
    let subject = message.subject().map(str::trim);
    let subject = subject.filter(|subject| !subject.is_empty());
    subject.map(short)
}

/// The beginning of a text.
pub(crate) fn short(text: &str) -> &str {
    &text[..text.floor_char_boundary(TEXT_BYTES_MAX)]
}

/// The first texts of a list.
pub(crate) fn first(texts: Vec<String>) -> Vec<String> {
    let mut n_bytes = 0;
    let fits = |text: &String| {
        n_bytes += text.len();
        n_bytes <= LIST_BYTES_MAX
    };
    texts.into_iter().take_while(fits).collect()
}

/// Addresses as people write them: `Anna <anna@example.com>`.
pub(crate) fn addresses(header: Option<&Address<'_>>) -> Vec<String> {
    let all = header.into_iter().flat_map(|header| header.iter());
    let written = all.filter_map(|one| match (one.name(), one.address()) {
        (Some(name), Some(address)) => Some(format!("{name} <{address}>")),
        (Some(only), None) | (None, Some(only)) => Some(only.to_owned()),
        (None, None) => None,
    });
    written.take(ADDRESSES_MAX).collect()
}

/// Writes a message.
pub(crate) fn write(html: &mut Html, message: &Message<'_>, attachments: &[Attachment<'_>]) {
    html.element("h1", title(message).unwrap_or("(no subject)"));
    html.open("dl");
    let date = message.date().map(|date| date.to_rfc3339());
    let headers = [
        ("from", addresses(message.from())),
        ("to", addresses(message.to())),
        ("cc", addresses(message.cc())),
        ("date", date.into_iter().collect()),
    ];
    for (name, values) in headers {
        if !values.is_empty() {
            html.element("dt", name);
        }
        for value in &values {
            html.element("dd", value);
        }
    }
    html.close();
    for id in bodies(message) {
        if let Some(part) = message.parts.get(*id as usize) {
            write_part(html, part);
        }
    }
    if !attachments.is_empty() {
        write_attachments(html, attachments);
    }
}

/// The parts that are the text, in HTML where there is the choice.
fn bodies<'a>(message: &'a Message<'_>) -> &'a [u32] {
    match message.html_body.is_empty() {
        true => &message.text_body,
        false => &message.html_body,
    }
}

fn write_part(html: &mut Html, part: &MessagePart<'_>) {
    match &part.body {
        PartType::Html(markup) => {
            html.markup(markup);
        }
        PartType::Text(text) => write_text(html, text),
        _ => {}
    }
}

/// Writes plain text: blank lines end paragraphs, other line breaks stay.
fn write_text(html: &mut Html, text: &str) {
    let mut is_open = false;
    for line in text.lines() {
        let line = line.trim_end();
        match (line.is_empty(), is_open) {
            (true, true) => {
                html.close();
            }
            (true, false) => {}
            (false, true) => {
                html.open("br").text(line);
            }
            (false, false) => {
                html.open("p").text(line);
            }
        }
        is_open = !line.is_empty();
    }
    if is_open {
        html.close();
    }
}

fn write_attachments(html: &mut Html, attachments: &[Attachment<'_>]) {
    html.element("h2", "Attachments").open("table");
    html.open("thead").open("tr");
    for head in ["name", "type", "bytes"] {
        html.element("th", head);
    }
    html.close().close().open("tbody");
    for attachment in attachments {
        let media_type = attachment
            .content_type
            .split(';')
            .next()
            .unwrap_or_default();
        html.open("tr").element("td", &attachment.name);
        html.element("td", media_type)
            .element("td", &attachment.body.len().to_string())
            .close();
    }
    html.close().close();
}
