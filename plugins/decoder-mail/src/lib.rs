//! The `mail` decoder: a message (EML, RFC 5322 and MIME) or a mailbox (MBOX, RFC 4155).
//!
//! A message becomes its subject, its addresses and date, its text, and a table of its attachments.
//! A mailbox has a page for each message. The option `inner` names an attachment, which then is the
//! document. Signatures are not checked and encrypted parts not opened.

mod attachments;
mod message;

use mail_parser::mailbox::mbox::MessageIterator;
use mail_parser::{Message, MessageParser};
use serde::Deserialize;
use trawl_sdk::decoder::{Decoded, Decoder, Failure, File, Html, Inner};
use trawl_sdk::{Info, Needs};

use attachments::Attachment;

/// Most messages of a mailbox.
const MESSAGES_MAX: u32 = 20_000;
/// Bytes of HTML from which on no message is begun.
const HTML_BYTES_MAX: usize = 48 << 20;
/// Most attachments that an error names.
const NAMES_SHOWN: usize = 5;

/// Decodes messages and mailboxes.
pub struct Mail;

trawl_sdk::export!(decoder: Mail);

/// Options of one request.
#[derive(Debug, Default, Deserialize)]
#[serde(default, deny_unknown_fields)]
pub struct Options {
    /// Name of the attachment to decode; without it the message is.
    inner: Option<String>,
}

impl Decoder for Mail {
    type Options = Options;

    fn info() -> Info {
        Info::new(
            "mail",
            env!("CARGO_PKG_VERSION"),
            "EML and MBOX: headers, text and attachments of messages",
        )
        .options_schema(
            r#"{"type": "object", "additionalProperties": false, "properties": {
                "inner": {"type": "string", "minLength": 1, "maxLength": 1024,
                    "description": "Name of the attachment that is decoded in place of the message."}
            }}"#,
        )
        .needs(Needs::BODY)
    }

    fn decode(file: &File<'_>, options: Options) -> Result<Decoded, Failure> {
        if file.body.starts_with(b"From ") {
            return mailbox(file, options.inner.as_deref());
        }
        let message = read(&file.body).ok_or_else(|| {
            Failure::Unsupported("it does not begin with the headers of a message".to_owned())
        })?;
        let attachments = attachments::of(&message);
        if let Some(name) = &options.inner {
            let mut found = attachments.iter();
            let found = found.find(|attachment| attachment.name == *name);
            let names = attachments.iter().map(|it| it.name.clone()).collect();
            return found.map(alone).ok_or_else(|| no_attachment(name, names));
        }
        let title = message::title(&message)
            .or(file.name())
            .unwrap_or("message");
        let mut html = Html::new(title, None);
        message::write(&mut html, &message, &attachments);
        let names: Vec<String> = attachments.into_iter().map(|it| it.name).collect();
        Ok(Decoded::new(html.finish())
            .with("title", title)
            .with(
                "authors",
                message::first(message::addresses(message.from())),
            )
            .with(
                "recipients",
                message::first(message::addresses(message.to())),
            )
            .with("published", message.date().map(|date| date.to_rfc3339()))
            .with("message_id", message.message_id().map(message::short))
            .with("attachments", message::first(names)))
    }
}

/// A message; `None` if there are no headers.
fn read(bytes: &[u8]) -> Option<Message<'_>> {
    let message = MessageParser::default().parse(bytes)?;
    let has_headers = !message.parts.first()?.headers.is_empty();
    has_headers.then_some(message)
}

/// The wanted messages of a mailbox, or the attachment of this name in one of them.
fn mailbox(file: &File<'_>, inner: Option<&str>) -> Result<Decoded, Failure> {
    let title = file.name().unwrap_or("mailbox");
    let mut html = Html::new(title, None);
    let (mut count, mut n_unread, mut n_left_out) = (0_u32, 0_usize, 0_usize);
    let mut names = Vec::new();
    for item in MessageIterator::new(&*file.body) {
        let item = item.map_err(|error| Failure::Damaged(error.to_string()))?;
        count += 1;
        if count > MESSAGES_MAX {
            let reason = format!("it has more than {MESSAGES_MAX} messages");
            return Err(Failure::Limit(reason));
        }
        if !file.wants_page(count) {
            continue;
        }
        let Some(message) = read(item.contents()) else {
            n_unread += 1;
            continue;
        };
        let attachments = attachments::of(&message);
        if let Some(name) = inner {
            if let Some(found) = attachments.iter().find(|it| it.name == name) {
                return Ok(alone(found));
            }
            names.extend(attachments.into_iter().map(|it| it.name).take(NAMES_SHOWN));
            continue;
        }
        if html.bytes() > HTML_BYTES_MAX {
            n_left_out += 1;
            continue;
        }
        html.open_with("section", &[("data-page", &count.to_string())]);
        message::write(&mut html, &message, &attachments);
        html.close();
    }
    if n_unread == count as usize {
        let reason = "none of its messages begins with headers".to_owned();
        return Err(Failure::Unsupported(reason));
    }
    if let Some(name) = inner {
        return Err(no_attachment(name, names));
    }
    let mut decoded = Decoded::new(html.finish()).with("title", title);
    decoded.page_count = Some(count);
    if n_unread > 0 {
        decoded = decoded.warn(format!("{n_unread} messages without headers are left out"));
    }
    if n_left_out > 0 {
        decoded = decoded.warn(format!(
            "{n_left_out} messages are left out, it is too long"
        ));
    }
    Ok(decoded)
}

/// An attachment as the document: text as code, and its bytes for its own decoder.
fn alone(attachment: &Attachment<'_>) -> Decoded {
    let name = attachment.name.as_str();
    let mut html = Html::new(name, None);
    match str::from_utf8(attachment.body) {
        Ok(text) if !text.contains('\0') => html.code(text, None),
        _ => html.element("p", name),
    };
    let mut decoded = Decoded::new(html.finish())
        .with("title", name)
        .with("inner", name);
    decoded.inner = Some(Inner {
        name: name.to_owned(),
        content_type: attachment.content_type.clone(),
        body: attachment.body.to_vec(),
    });
    decoded
}

fn no_attachment(name: &str, names: Vec<String>) -> Failure {
    let shown = |name: &str| format!("`{}`", name.chars().take(80).collect::<String>());
    let names: Vec<String> = names.iter().take(NAMES_SHOWN).map(|it| shown(it)).collect();
    let has = match names.is_empty() {
        true => "it has none".to_owned(),
        false => format!("it has {}", names.join(", ")),
    };
    let name = shown(name);
    Failure::InvalidOptions(format!("`inner`: there is no attachment {name}; {has}"))
}

#[cfg(test)]
mod fuzz;
#[cfg(test)]
mod tests;
