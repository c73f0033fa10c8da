//! E-mail addresses of a page: visible, linked, in structured data and plainly obfuscated.

pub(crate) mod obfuscated;
#[cfg(test)]
mod tests;
pub(crate) mod text;
pub(crate) mod verify;

use std::collections::{HashMap, HashSet};

use analyst_base::percent_decoded;
use serde_json::Value;
use trawl_embedded::{has_type, string};
use trawl_sdk::Tag;

use crate::found::Email;
use crate::page::Page;
use text::AT_SIGNS;
use verify::Trust;

/// Maximum number of e-mail addresses on one page.
const EMAILS_MAX: usize = 500;
/// Bytes in front of an e-mail address in a script that are searched for its key.
const KEY_BYTES: usize = 60;
/// Words of keys for e-mail addresses, and of keys for samples of them.
const KEYS: [&str; 4] = ["mail", "correo", "courriel", "epost"];
const SAMPLE_KEYS: [&str; 4] = ["placeholder", "example", "sample", "pattern"];

/// Finds the e-mail addresses of a page.
pub(crate) fn find(page: &Page<'_>) -> Vec<Email> {
    let mut emails = Emails::default();
    links(page, &mut emails);
    structured(page, &mut emails);
    for element in &page.reversed {
        let raw = element.text();
        let turned: String = raw.chars().rev().collect();
        text::scan(&raw, &AT_SIGNS, &mut |address, _| emails.refuse(address));
        emails.take(&turned, "reversed");
    }
    attributes(page, &mut emails);
    text::scan(page.text(), &AT_SIGNS, &mut |address, before| {
        // A sentence with a pattern: `firstname.lastname@acme.de`.
        let is_pattern = is_in_sentence(before) && verify::is_pattern(address);
        if !is_pattern && !verify::is_sample(address, before) {
            emails.add(address, "text", Trust::Shown);
        }
    });
    for scan in [obfuscated::scan, obfuscated::scan_spaced] {
        scan(page.text(), &mut |address| {
            emails.add(address, "obfuscated", Trust::Shown)
        });
    }
    for script in &page.scripts {
        text::scan(script, &AT_SIGNS, &mut |address, before| {
            if is_keyed(before) {
                emails.add(address, "script", Trust::Shown);
            }
        });
    }
    emails.found
}

/// Whether the line has more than a label in front of an e-mail address.
fn is_in_sentence(before: &str) -> bool {
    let near = &before[before.ceil_char_boundary(before.len().saturating_sub(100))..];
    let line = near.rsplit(['\n', '\t']).next().unwrap_or_default();
    let words = line
        .split(' ')
        .filter(|word| word.contains(char::is_alphabetic));
    words.count() > 1
}

/// Whether a script has a key for e-mail addresses and an opening quote at its end:
/// `"email":"info@acme.de"`.
fn is_keyed(before: &str) -> bool {
    let near = &before[before.floor_char_boundary(before.len().saturating_sub(KEY_BYTES))..];
    let Some(key) = near
        .strip_suffix(['"', '\''])
        .map(|near| near.trim_end_matches('\\').trim_end())
        .and_then(|near| near.strip_suffix([':', '=']))
    else {
        return false;
    };
    let key = key
        .trim_end_matches([' ', '"', '\'', '\\', '='])
        .rsplit(|c: char| !(c.is_alphanumeric() || matches!(c, '_' | '-')))
        .next()
        .unwrap_or_default()
        .to_lowercase();
    let has = |words: &[&str]| words.iter().any(|word| key.contains(word));
    has(&KEYS) && !has(&SAMPLE_KEYS)
}

fn links(page: &Page<'_>, emails: &mut Emails) {
    for (_, href) in &page.links {
        let href = href.trim();
        let (scheme, rest) = href.split_once(':').unwrap_or_default();
        if !scheme.eq_ignore_ascii_case("mailto") {
            continue;
        }
        let (to, query) = rest.split_once('?').unwrap_or((rest, ""));
        let copies = query.split('&').filter_map(|pair| {
            let (name, value) = pair.split_once('=')?;
            matches!(name.to_ascii_lowercase().as_str(), "to" | "cc" | "bcc").then_some(value)
        });
        for list in std::iter::once(to).chain(copies) {
            for address in percent_decoded(list).split([',', ';']) {
                emails.add(address.trim(), "mailto", Trust::Declared);
                obfuscated::scan(address, &mut |address| {
                    emails.add(address, "obfuscated", Trust::Declared)
                });
            }
        }
    }
}

fn structured(page: &Page<'_>, emails: &mut Emails) {
    for (source, object) in page.objects_with_source() {
        let Some(value) = object.get("email") else {
            continue;
        };
        let is_person = has_type(object, &["Person"]);
        let name = object.get("name").and_then(string).filter(|_| is_person);
        let several = value.as_array().map_or(&[][..], Vec::as_slice);
        for text in several
            .iter()
            .chain(Some(value).filter(|value| !value.is_array()))
            .filter_map(Value::as_str)
        {
            let text = text.trim();
            let address = text.strip_prefix("mailto:").unwrap_or(text);
            let address = address.split('?').next().unwrap_or_default();
            emails.add_named(address, source, Trust::Declared, name.map(str::to_owned));
        }
    }
}

/// Reads attributes that scripts, assistive technology or forms read.
fn attributes(page: &Page<'_>, emails: &mut Emails) {
    for (_, href) in &page.links {
        if let Some(address) = obfuscated::cloudflare_link(href) {
            emails.add(&address, "cloudflare", Trust::Declared);
        } else if let Some(address) = obfuscated::shifted_link(href) {
            emails.add(&address, "obfuscated", Trust::Declared);
        }
    }
    for element in &page.marked {
        if let Some(code) = element.attr("data-cfemail") {
            let address = obfuscated::cloudflare(code).unwrap_or_default();
            emails.add(&address, "cloudflare", Trust::Declared);
        } else if let Some(token) = element.attr("data-mailto-token") {
            let address = obfuscated::shifted(token).unwrap_or_default();
            emails.add(&address, "obfuscated", Trust::Declared);
        } else {
            obfuscated::in_data(*element, &mut |address| {
                emails.add(address, "attribute", Trust::Shown)
            });
        }
    }
    for (element, value) in &page.labelled {
        let is_read = match element.tag() {
            Tag::Meta => ["name", "property", "itemprop"]
                .iter()
                .filter_map(|name| element.attr(name))
                .any(|name| name.to_ascii_lowercase().contains("mail")),
            Tag::Form => value.trim().starts_with("mailto:"),
            Tag::Input => false,
            _ => true,
        };
        if is_read {
            emails.take(&percent_decoded(value), "attribute");
        }
    }
}

/// E-mail addresses without duplicates, regardless of case, in the order found.
#[derive(Default)]
struct Emails {
    found: Vec<Email>,
    places: HashMap<String, usize>,
    /// Strings that only look like e-mail addresses because they are reversed.
    refused: HashSet<String>,
}

impl Emails {
    fn refuse(&mut self, address: &str) {
        self.refused.insert(address.to_lowercase());
    }

    /// Adds the e-mail addresses of a text.
    fn take(&mut self, text: &str, source: &'static str) {
        text::scan(text, &AT_SIGNS, &mut |address, _| {
            self.add(address, source, Trust::Shown)
        });
    }

    fn add(&mut self, address: &str, source: &'static str, trust: Trust) {
        self.add_named(address, source, trust, None);
    }

    fn add_named(
        &mut self,
        address: &str,
        source: &'static str,
        trust: Trust,
        name: Option<String>,
    ) {
        let Some(value) = verify::address(address, trust) else {
            return;
        };
        let key = value.to_lowercase();
        let is_pattern = trust == Trust::Shown && source != "text" && verify::is_pattern(&key);
        if self.refused.contains(&key) || is_pattern {
            return;
        }
        if let Some(&place) = self.places.get(&key) {
            let known = &mut self.found[place];
            if !known.sources.iter().any(|own| own == source) {
                known.sources.push(source.to_owned());
            }
            known.name = known.name.take().or(name);
        } else if self.found.len() < EMAILS_MAX {
            self.places.insert(key, self.found.len());
            self.found.push(Email {
                value,
                sources: vec![source.to_owned()],
                name,
            });
        }
    }
}
