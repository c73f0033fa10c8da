//! E-mail addresses of a page: visible, linked, spelled out and obfuscated.

mod attributes;
mod decode;
mod evaluate;
mod javascript;
pub(crate) mod spoken;
#[cfg(test)]
mod tests;
pub(crate) mod text;
mod tokens;
mod values;
pub(crate) mod verify;

use std::collections::{HashMap, HashSet};

use serde_json::Value;
use trawl_embedded::string;

use crate::found::Email;
use crate::page::{Page, folded, percent_decoded};
use crate::people;
use verify::Trust;

/// Maximum number of e-mail addresses on one page.
const EMAILS_MAX: usize = 500;

/// Finds the e-mail addresses of a page. `source` is the page as served: it shows whether an e-mail
/// address was written in character references.
pub(crate) fn find(page: &Page<'_>, source: &str) -> Vec<Email> {
    let mut emails = Emails::default();
    links(page, &mut emails);
    structured(page, &mut emails);
    for element in &page.reversed {
        let raw = element.text();
        let turned: String = raw.chars().rev().collect();
        text::scan(&raw, &mut |address, _| emails.refuse(address));
        text::scan(&turned, &mut |address, _| {
            emails.add(address, "reversed", Trust::Shown)
        });
    }
    let mut budget = values::Budget::default();
    attributes::scan(page, &mut budget, &mut emails);
    let has_references = source.contains("&#");
    // The page source is searched once per e-mail address.
    let mut asked: HashMap<String, bool> = HashMap::new();
    text::scan(page.text(), &mut |address, before| {
        // A sentence with a pattern: `firstname.lastname@acme.de`.
        let local = address.split('@').next().unwrap_or_default();
        if is_in_sentence(before) && verify::is_pattern(local) {
            return;
        }
        if verify::is_sample(address, before) || verify::address(address, Trust::Shown).is_none() {
            return;
        }
        let is_in_references = match asked.get(address) {
            Some(&known) => known,
            None if !has_references || emails.is_full() || asked.len() >= EMAILS_MAX => false,
            None => {
                let is_hidden = !source.contains(address);
                asked.insert(address.to_owned(), is_hidden);
                is_hidden
            }
        };
        let how = if is_in_references { "entity" } else { "text" };
        emails.add(address, how, Trust::Shown);
    });
    spoken::scan(page.text(), &mut |address| {
        emails.add(address, "obfuscated", Trust::Shown)
    });
    for script in &page.scripts {
        javascript::scan(script, &mut budget, &mut |address| {
            emails.add(address, "script", Trust::Shown)
        });
    }
    for script in page.scripts.iter().chain(&page.data) {
        javascript::scan_state(script, &mut |address| {
            emails.add(address, "script", Trust::Shown)
        });
    }
    emails.found
}

/// Whether the line has more than a label in front of an e-mail address.
fn is_in_sentence(before: &str) -> bool {
    const LABEL_WORDS_MAX: usize = 1;
    let near = &before[before.ceil_char_boundary(before.len().saturating_sub(100))..];
    let line = near.rsplit(['\n', '\t']).next().unwrap_or_default();
    let words = line
        .split(' ')
        .filter(|word| word.contains(char::is_alphabetic));
    words.count() > LABEL_WORDS_MAX
}

fn links(page: &Page<'_>, emails: &mut Emails) {
    for (element, href) in &page.links {
        let href = href.trim();
        let Some((scheme, rest)) = href.split_once(':') else {
            continue;
        };
        if !scheme.eq_ignore_ascii_case("mailto") {
            continue;
        }
        let (to, query) = rest.split_once('?').unwrap_or((rest, ""));
        let copies = query.split('&').filter_map(|pair| {
            let (name, value) = pair.split_once('=')?;
            matches!(name.to_ascii_lowercase().as_str(), "to" | "cc" | "bcc").then_some(value)
        });
        let name = Some(folded(&element.visible_text())).filter(|name| people::is_name(name));
        for list in std::iter::once(to).chain(copies) {
            for address in percent_decoded(list).split([',', ';']) {
                emails.add_named(address.trim(), "mailto", Trust::Declared, name.clone());
                // `mailto:info(at)acme.de`: the target is spelled out.
                spoken::scan(address, &mut |address| {
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
        let is_person = trawl_embedded::has_type(object, &["Person"]);
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

/// E-mail addresses without duplicates, regardless of case, in the order found.
#[derive(Default)]
pub(crate) struct Emails {
    found: Vec<Email>,
    places: HashMap<String, usize>,
    /// Strings that only look like e-mail addresses because they are reversed.
    refused: HashSet<String>,
}

impl Emails {
    fn is_full(&self) -> bool {
        self.found.len() >= EMAILS_MAX
    }

    fn refuse(&mut self, address: &str) {
        self.refused.insert(address.to_lowercase());
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
        let is_pattern = || verify::is_pattern(key.split('@').next().unwrap_or_default());
        if self.refused.contains(&key) || trust == Trust::Shown && source != "text" && is_pattern()
        {
            return;
        }
        if let Some(&place) = self.places.get(&key) {
            let known = &mut self.found[place];
            if !known.sources.iter().any(|own| own == source) {
                known.sources.push(source.to_owned());
            }
            known.name = known.name.take().or(name);
            return;
        }
        if self.is_full() {
            return;
        }
        self.places.insert(key, self.found.len());
        self.found.push(Email {
            value,
            sources: vec![source.to_owned()],
            name,
        });
    }
}
