//! Attachments of a message. Source: RFC 2183.

use mail_parser::{Message, MessagePart, MimeHeaders, PartType};

/// Most attachments of a message.
const ATTACHMENTS_MAX: usize = 1_000;
/// Longest name, in characters.
const NAME_CHARS_MAX: usize = 200;

/// An attachment.
pub(crate) struct Attachment<'a> {
    /// Its name; one is made up if it has none.
    pub(crate) name: String,
    /// Its `Content-Type`; text is UTF-8, whatever the message says.
    pub(crate) content_type: String,
    pub(crate) body: &'a [u8],
}

/// The attachments in their order, other messages among them.
pub(crate) fn of<'a>(message: &'a Message<'_>) -> Vec<Attachment<'a>> {
    let ids = message.attachments.iter().take(ATTACHMENTS_MAX);
    let parts = ids.filter_map(|id| message.parts.get(*id as usize));
    let attachments = (1..).zip(parts).map(|(number, part)| Attachment {
        name: name(part, number),
        content_type: content_type(part),
        body: part.contents(),
    });
    attachments.collect()
}

fn name(part: &MessagePart<'_>, number: usize) -> String {
    let subject = match &part.body {
        PartType::Message(inner) => inner.subject().map(|subject| format!("{subject}.eml")),
        _ => None,
    };
    let own = part.attachment_name().map(str::to_owned).or(subject);
    let own = own.filter(|name| !name.trim().is_empty());
    let name = own.unwrap_or_else(|| format!("attachment-{number}"));
    name.trim().chars().take(NAME_CHARS_MAX).collect()
}

fn content_type(part: &MessagePart<'_>) -> String {
    let declared = part.content_type().map(|declared| {
        let subtype = declared.subtype().unwrap_or("octet-stream");
        format!("{}/{subtype}", declared.ctype()).to_ascii_lowercase()
    });
    match &part.body {
        PartType::Message(_) => "message/rfc822".to_owned(),
        PartType::Text(_) | PartType::Html(_) => {
            let declared = declared.as_deref().unwrap_or("text/plain");
            format!("{declared}; charset=utf-8")
        }
        _ => declared.unwrap_or_default(),
    }
}
