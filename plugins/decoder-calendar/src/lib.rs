//! The `calendar` decoder: events, tasks and journals of iCalendar (ICS, RFC 5545), and contacts of
//! vCard (VCF, RFC 6350 and versions before).
//!
//! Both formats are components of content lines. Each event and each contact becomes an article
//! with a heading and its properties. Repeated events stand once, with their rule; photographs and
//! keys are left out.

mod contacts;
mod dates;
mod events;
mod lines;
mod write;

use trawl_sdk::decoder::{Decoded, Decoder, Failure, File, Html};
use trawl_sdk::{Info, Needs};

use lines::Component;

/// Most items that are written.
const ITEMS_MAX: usize = 20_000;
/// Bytes of HTML from which on no item is begun.
const HTML_BYTES_MAX: usize = 48 << 20;
/// Longest title.
const TITLE_BYTES_MAX: usize = 1_000;

/// Decodes calendars and contacts.
pub struct Calendar;

trawl_sdk::export!(decoder: Calendar);

impl Decoder for Calendar {
    type Options = ();

    fn info() -> Info {
        Info::new(
            "calendar",
            env!("CARGO_PKG_VERSION"),
            "ICS and VCF: events, tasks and contacts",
        )
        .needs(Needs::SOURCE)
    }

    fn decode(file: &File<'_>, (): ()) -> Result<Decoded, Failure> {
        let (roots, fault) = lines::read(&file.text)?;
        let Some(first) = roots.first() else {
            let reason = "it has neither a calendar nor a contact".to_owned();
            return Err(Failure::Unsupported(reason));
        };
        let (format, name) = match is_card(first) {
            true => ("vcard", None),
            false => (
                "icalendar",
                first.text("X-WR-CALNAME").or(first.text("NAME")),
            ),
        };
        let mut title = name.unwrap_or_else(|| file.name().unwrap_or(format).to_owned());
        title.truncate(title.floor_char_boundary(TITLE_BYTES_MAX));
        let mut html = Html::new(&title, None);
        html.element("h1", &title);
        let (mut count, mut n_written) = (0, 0);
        for root in &roots {
            let items: Vec<&Component> = match is_card(root) {
                true => vec![root],
                false => root.children.iter().filter(events::is_item).collect(),
            };
            for item in items {
                count += 1;
                if n_written == ITEMS_MAX || html.bytes() > HTML_BYTES_MAX {
                    continue;
                }
                n_written += 1;
                match is_card(item) {
                    true => contacts::write(&mut html, item),
                    false => events::write(&mut html, item),
                }
            }
        }
        let mut decoded = Decoded::new(html.finish())
            .with("title", title)
            .with("calendar_format", format)
            .with("item_count", count);
        if n_written < count {
            decoded = decoded.warn(format!("{} items are left out", count - n_written));
        }
        Ok(match fault {
            Some(fault) => decoded.warn(fault),
            None => decoded,
        })
    }
}

fn is_card(component: &Component) -> bool {
    component.name == "VCARD"
}

#[cfg(test)]
mod fuzz;
#[cfg(test)]
mod tests;
