//! E-mail addresses in attributes that scripts or assistive technology read.

use trawl_sdk::{Element, Tag};

use super::values::Budget;
use super::verify::Trust;
use super::{Emails, decode, javascript, spoken, text};
use crate::page::{Page, percent_decoded};

/// Parts of attribute names for the local part, the domain and the top-level domain.
const USERS: [&str; 11] = [
    "user", "name", "local", "login", "account", "before", "first", "part1", "left", "-u", "-l",
];
const DOMAINS: [&str; 10] = [
    "domain", "host", "site", "server", "after", "second", "part2", "right", "-d", "provider",
];
const TOPS: [&str; 5] = ["tld", "suffix", "ext", "part3", "-t"];

/// The path of links in which Cloudflare obfuscates e-mail addresses.
const CLOUDFLARE: &str = "/cdn-cgi/l/email-protection#";

pub(super) fn scan(page: &Page<'_>, budget: &mut Budget, emails: &mut Emails) {
    for (_, href) in &page.links {
        if let Some((_, hex)) = href.split_once(CLOUDFLARE) {
            if let Some(address) = decode::cloudflare(hex) {
                emails.add(
                    address.split('?').next().unwrap_or_default(),
                    "cloudflare",
                    Trust::Declared,
                );
            }
        } else if let Some(code) = href
            .trim()
            .get(..11)
            .filter(|head| head.eq_ignore_ascii_case("javascript:"))
        {
            let code = percent_decoded(&href.trim()[code.len()..]);
            javascript::scan(&code, budget, &mut |address| {
                emails.add(address, "script", Trust::Shown)
            });
        }
    }
    for element in &page.marked {
        marked(*element, budget, emails);
    }
    for (element, value) in &page.labelled {
        labelled(*element, value, emails);
    }
}

/// Reads attributes that are visible or read aloud, form actions, and `<meta>` elements for e-mail.
fn labelled(element: Element<'_>, value: &str, emails: &mut Emails) {
    let is_read = match element.tag() {
        Tag::Meta => ["name", "property", "itemprop"]
            .iter()
            .filter_map(|name| element.attr(name))
            .any(|name| name.to_ascii_lowercase().contains("mail")),
        Tag::Form => element.attr("action").is_some_and(|action| {
            action
                .get(..7)
                .is_some_and(|scheme| scheme.eq_ignore_ascii_case("mailto:"))
        }),
        Tag::Input => false,
        _ => true,
    };
    if is_read {
        text::scan(&percent_decoded(value), &mut |address, _| {
            emails.add(address, "attribute", Trust::Shown)
        });
    }
}

fn marked(element: Element<'_>, budget: &mut Budget, emails: &mut Emails) {
    let (mut user, mut domain, mut top) = (None, None, None);
    for (name, value) in element.attrs() {
        if name.starts_with("on") {
            javascript::scan(value, budget, &mut |address| {
                emails.add(address, "script", Trust::Shown)
            });
            continue;
        }
        let Some(name) = name.strip_prefix("data") else {
            continue;
        };
        if name == "-cfemail" {
            let address = decode::cloudflare(value);
            emails.add(
                address.as_deref().unwrap_or_default(),
                "cloudflare",
                Trust::Declared,
            );
            continue;
        }
        let holds = |parts: &[&str]| {
            parts
                .iter()
                .any(|part| name.contains(part) && (part.len() > 2 || name == *part))
        };
        if holds(&TOPS) {
            top = Some(value);
        } else if holds(&DOMAINS) {
            domain = Some(value);
        } else if holds(&USERS) {
            user = Some(value);
        }
        single(value, emails);
    }
    if let (Some(user), Some(domain)) = (user, domain) {
        joined(user, domain, top, emails);
    }
}

/// Reads an e-mail address from a single attribute.
fn single(value: &str, emails: &mut Emails) {
    if value.len() < 6 || value.starts_with(['{', '[']) {
        return;
    }
    if let Some((address, _)) = decode::hidden(value) {
        emails.add(&address, "attribute", Trust::Shown);
    } else if value.contains('@') && value.contains(':') {
        text::scan(value, &mut |address, _| {
            emails.add(address, "attribute", Trust::Shown)
        });
    }
    spoken::scan(value, &mut |address| {
        emails.add(address, "attribute", Trust::Shown)
    });
    // Plugins combine ROT13 with a spelled-out `@`: `vasb[at]npzr.qr`.
    let signed = value.replace("[at]", "@").replace("(at)", "@");
    if signed.len() < value.len()
        && super::verify::address(&signed, Trust::Shown).is_none()
        && let Some((address, _)) = decode::hidden(&signed.replace("[dot]", "."))
    {
        emails.add(&address, "attribute", Trust::Shown);
    }
}

/// Reads an e-mail address whose parts are in separate attributes, plain or reversed.
fn joined(user: &str, domain: &str, top: Option<&str>, emails: &mut Emails) {
    let top = top.map(|top| format!(".{}", top.trim_start_matches('.')));
    let domain = format!(
        "{}{}",
        domain.trim_start_matches('@'),
        top.unwrap_or_default()
    );
    let joined = format!("{user}@{domain}");
    if super::verify::address(&joined, Trust::Shown).is_some() {
        emails.add(&joined, "attribute", Trust::Shown);
        return;
    }
    let turned = format!("{}@{}", decode::reversed(user), decode::reversed(&domain));
    emails.add(&turned, "attribute", Trust::Shown);
}
