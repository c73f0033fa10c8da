//! People and their roles: from structured data, from cards of team pages, and from lines such as
//! `Geschäftsführer: …`.

pub(crate) mod fold;
mod headings;
mod lines;
mod local_parts;
mod names;
mod occupations;
mod roles;
mod rules;
mod runs;
mod stop_words;
#[cfg(test)]
mod tests;
mod writing_systems;

use std::collections::HashMap;

use trawl_embedded::{has_type, string};
use trawl_sdk::{Element, Tag};

use crate::emails::verify::{Trust, address};
use crate::found::{Email, Person};
use crate::page::{Page, folded, percent_decoded};
use crate::phones::{self, Region};
use crate::words::{CERTAIN_TITLES, TITLES};
pub(crate) use names::is_name;
use names::{NAME_BYTES_MAX, NAME_WORDS_MAX, is_east_asian_name, is_name_word, without_titles};
use roles::{is_role, is_role_label};

/// Maximum number of people on one page.
const PEOPLE_MAX: usize = 200;
/// Maximum length of a role, in characters.
const ROLE_CHARACTERS_MAX: usize = 70;

/// Finds the people of a page; `emails` are its e-mail addresses, whose local parts may contain
/// names.
pub(crate) fn find(page: &Page<'_>, homes: &[Region], emails: &[Email]) -> Vec<Person> {
    let mut people = People::default();
    structured(page, homes, &mut people);
    cards(page, homes, &mut people);
    for line in page.text().lines().filter(|line| line.len() < 400) {
        role_line(line, &mut people);
        titled(line, &mut people);
    }
    rules::find(page, emails, &mut people);
    people.found
}

fn structured(page: &Page<'_>, homes: &[Region], people: &mut People) {
    for object in page
        .objects()
        .filter(|object| has_type(object, &["Person"]))
    {
        let text = |name: &str| object.get(name).and_then(string).map(folded);
        let (Some(name), role) = (text("name"), text("jobTitle")) else {
            continue;
        };
        let email = text("email")
            .and_then(|email| address(email.trim_start_matches("mailto:"), Trust::Declared));
        let phone = text("telephone")
            .and_then(|phone| phones::read(&phone, homes))
            .map(|number| number.e164());
        if name.len() <= NAME_BYTES_MAX * 2 {
            people.add(Person {
                name,
                role,
                email,
                phone,
            });
        }
    }
}

/// People in cards: a name in a heading, then a role, with an e-mail or phone link in the same
/// element.
fn cards(page: &Page<'_>, homes: &[Region], people: &mut People) {
    let mut open: Vec<Card<'_>> = Vec::new();
    for element in page.document.elements() {
        if !may_name(element) {
            continue;
        }
        let text = folded(&element.visible_text());
        let name = without_titles(&text);
        if !is_name(name) {
            continue;
        }
        let Some(parent) = element.parent_element() else {
            continue;
        };
        let Some(card) = card_in(&mut open, parent) else {
            continue;
        };
        // A card has one name; several headings of one kind are a list.
        if card.n_children.get(&element.tag()) != Some(&1) {
            continue;
        }
        let role = element.next_element().and_then(role_of);
        let (email, phone) = card.reach(homes);
        let is_person = (role.is_some() && (email.is_some() || phone.is_some()))
            || role.as_deref().is_some_and(is_role)
            || email.is_some();
        if is_person {
            people.add(Person {
                name: name.to_owned(),
                role,
                email,
                phone,
            });
        }
    }
}

/// Whether an element is of a kind that contains the name on a card.
fn may_name(element: Element<'_>) -> bool {
    let is_heading = element.tag().heading_level().is_some()
        || matches!(
            element.tag(),
            Tag::Strong | Tag::B | Tag::Dt | Tag::Figcaption
        );
    let has_name_class = || {
        element.classes().any(|class| {
            matches!(
                class,
                "name" | "team-name" | "member-name" | "person-name" | "staff-name"
            )
        })
    };
    is_heading || has_name_class()
}

/// The card of an element on the stack of open ones, which it puts there if it is new.
fn card_in<'c, 'a>(open: &'c mut Vec<Card<'a>>, element: Element<'a>) -> Option<&'c mut Card<'a>> {
    // Elements come in page order: a card that does not contain this one cannot come again.
    while open.last().is_some_and(|card| {
        card.element != element && element.ancestors().all(|above| above != card.element)
    }) {
        open.pop();
    }
    if open.last().is_none_or(|card| card.element != element) {
        open.push(Card::of(element));
    }
    open.last_mut()
}

/// An element that may be a card, read once for all headings in it.
struct Card<'a> {
    element: Element<'a>,
    /// Number of children by tag.
    n_children: HashMap<Tag, usize>,
    /// E-mail address and phone number, once read.
    reach: Option<(Option<String>, Option<String>)>,
}

impl<'a> Card<'a> {
    fn of(element: Element<'a>) -> Self {
        let mut n_children = HashMap::new();
        for child in element.child_elements() {
            *n_children.entry(child.tag()).or_default() += 1;
        }
        Self {
            element,
            n_children,
            reach: None,
        }
    }

    fn reach(&mut self, homes: &[Region]) -> (Option<String>, Option<String>) {
        self.reach
            .get_or_insert_with(|| reach(self.element, homes))
            .clone()
    }
}

fn role_of(element: Element<'_>) -> Option<String> {
    let text = folded(&element.visible_text());
    let is_short = (2..=ROLE_CHARACTERS_MAX).contains(&text.chars().count());
    let is_words = !text.contains('@')
        && !text.contains("http")
        && text.chars().filter(char::is_ascii_digit).count() < 3
        && !text.ends_with(['.', ':', '?']);
    (is_short && is_words && !text.is_empty()).then_some(text)
}

/// The e-mail address of a card, if it has exactly one, and its first phone number.
fn reach(card: Element<'_>, homes: &[Region]) -> (Option<String>, Option<String>) {
    let mut emails = Vec::new();
    let mut phone = None;
    for link in card
        .descendants()
        .filter_map(|node| node.as_element())
        .filter(|element| element.tag() == Tag::A)
    {
        let href = link.attr("href").unwrap_or_default().trim();
        if let Some(to) = href.strip_prefix("mailto:") {
            let to = percent_decoded(to.split('?').next().unwrap_or_default());
            emails.extend(address(&to, Trust::Declared));
        } else if href.starts_with("tel:") && phone.is_none() {
            phone = phones::read(href, homes).map(|number| number.e164());
        }
    }
    if emails.is_empty() {
        let text = card.visible_text();
        for word in text.split_whitespace().filter(|word| word.contains('@')) {
            emails.extend(address(
                word.trim_matches([',', ';', '.', ':']),
                Trust::Shown,
            ));
        }
    }
    emails.dedup();
    let email = emails.pop().filter(|_| emails.is_empty());
    (email, phone)
}

/// People of a line such as `Role: Name, Name`.
fn role_line(line: &str, people: &mut People) {
    for (at, sign) in line
        .char_indices()
        .filter(|(_, c)| matches!(c, ':' | '：' | '\t'))
    {
        let label = line[..at]
            .rsplit(['.', ',', '·', '|', ';', '\t'])
            .next()
            .unwrap_or_default();
        let label = label.trim().trim_start_matches("- ");
        if !is_role_label(label) {
            continue;
        }
        let rest = &line[at + sign.len_utf8()..];
        let rest = rest
            .split(['\t', '|', '·', ';', '('])
            .next()
            .unwrap_or_default();
        for (n_names, part) in split_names(rest).enumerate() {
            let name = without_titles(part.trim());
            if !(is_name(name) || (n_names == 0 && is_east_asian_name(name))) {
                break;
            }
            people.add(Person {
                name: name.to_owned(),
                role: Some(label.to_owned()),
                ..Person::default()
            });
        }
    }
}

fn split_names(text: &str) -> impl Iterator<Item = &str> {
    text.split([',', '/', '&']).flat_map(|part| {
        let words = [
            " und ", " and ", " et ", " e ", " y ", " og ", " och ", " en ",
        ];
        let word = words.into_iter().find(|word| part.contains(word));
        part.split(word.unwrap_or("\u{0}"))
    })
}

/// People whose title is never an ordinary word: `Avv. Marco Ferri`.
fn titled(line: &str, people: &mut People) {
    let words: Vec<&str> = line.split_whitespace().collect();
    for (at, word) in words.iter().enumerate() {
        let title = word.trim_start_matches(['(', ',']).to_lowercase();
        if !CERTAIN_TITLES.has(&title) {
            continue;
        }
        let mut name: Vec<&str> = Vec::new();
        for word in words[at + 1..].iter().take(NAME_WORDS_MAX) {
            if name.is_empty() && TITLES.has(&word.to_lowercase()) {
                continue;
            }
            let bare = word.trim_end_matches([',', ';', '.', ')', ':']);
            if !is_name_word(bare) {
                break;
            }
            name.push(bare);
            if bare.len() < word.len() {
                break;
            }
            if name.len() == 3 {
                break;
            }
        }
        let name = name.join(" ");
        if is_name(&name) {
            people.add(Person {
                name,
                ..Person::default()
            });
        }
    }
}

/// People without duplicates, in the order found.
#[derive(Default)]
struct People {
    found: Vec<Person>,
    places: HashMap<String, usize>,
}

impl People {
    fn add(&mut self, person: Person) {
        let key = person.name.to_lowercase();
        if let Some(&place) = self.places.get(&key) {
            let known = &mut self.found[place];
            known.role = known.role.take().or(person.role);
            known.email = known.email.take().or(person.email);
            known.phone = known.phone.take().or(person.phone);
        } else if self.found.len() < PEOPLE_MAX && !person.name.is_empty() {
            self.places.insert(key, self.found.len());
            self.found.push(person);
        }
    }
}
