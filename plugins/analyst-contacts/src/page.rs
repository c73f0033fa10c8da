//! The parts of a page that may contain contacts, collected in one walk.

use analyst_base::{Item, lists, percent_decoded, structured_data};
use serde_json::Value;
use trawl_embedded::{items, string};
pub(crate) use trawl_rank::squeeze as folded;
use trawl_sdk::{Document, Element, Tag, TextOptions};

/// Maximum bytes of page text, and of a script, that are searched.
const TEXT_BYTES_MAX: usize = 2 << 20;

/// Types of scripts and of JSON data that are read.
const SCRIPTS: &str = "module text/javascript application/javascript application/json";

/// A page prepared for the search.
pub(crate) struct Page<'a> {
    pub(crate) document: &'a Document<'a>,
    text: String,
    /// Links with their `href`.
    pub(crate) links: Vec<(Element<'a>, &'a str)>,
    /// Scripts and JSON data with an `@`.
    pub(crate) scripts: Vec<String>,
    /// Elements with a human-readable attribute: `title`, `aria-label`, `alt`, the `content` of
    /// `<meta>`.
    pub(crate) labelled: Vec<(Element<'a>, &'a str)>,
    /// Elements with `data-` attributes.
    pub(crate) marked: Vec<Element<'a>>,
    /// Elements whose style reverses their text.
    pub(crate) reversed: Vec<Element<'a>>,
    items: Vec<Item>,
}

impl<'a> Page<'a> {
    pub(crate) fn read(document: &'a Document<'a>) -> Self {
        let options = TextOptions::default().with_noscript(true);
        let mut text = document.text_with(options);
        if text.len() > TEXT_BYTES_MAX {
            text.truncate(text.floor_char_boundary(TEXT_BYTES_MAX));
        }
        let mut page = Self {
            document,
            text,
            links: Vec::new(),
            scripts: Vec::new(),
            labelled: Vec::new(),
            marked: Vec::new(),
            reversed: Vec::new(),
            items: structured_data(document),
        };
        page.walk();
        page
    }

    /// The visible text.
    pub(crate) fn text(&self) -> &str {
        &self.text
    }

    fn walk(&mut self) {
        for element in self.document.live_elements() {
            match (element.tag(), element.attr("href")) {
                (Tag::Script, _) => self.script(element),
                (Tag::A | Tag::Area, Some(href)) => self.links.push((element, href)),
                _ => {}
            }
            self.attributes(element);
        }
    }

    /// Collects a script or JSON data with an `@`.
    fn script(&mut self, element: Element<'a>) {
        let kind = trawl_embedded::script_type(element).to_ascii_lowercase();
        let is_read = lists(SCRIPTS, &kind) || kind.is_empty();
        let text = trawl_embedded::script_text(element);
        if is_read && text.contains('@') && text.len() <= TEXT_BYTES_MAX {
            self.scripts.push(text.into_owned());
        }
    }

    fn attributes(&mut self, element: Element<'a>) {
        let (mut is_marked, mut is_reversed) = (false, false);
        for (name, value) in element.attrs() {
            match name {
                "style" => is_reversed = is_reversing(value),
                "title" | "aria-label" | "alt" | "content" | "action" if value.contains('@') => {
                    self.labelled.push((element, value));
                }
                "dir" if element.name() == "bdo" => is_reversed = value.eq_ignore_ascii_case("rtl"),
                _ if name.starts_with("data-") => is_marked = true,
                _ => {}
            }
        }
        if is_marked {
            self.marked.push(element);
        }
        if is_reversed {
            self.reversed.push(element);
        }
    }

    /// Numbers in phone links and structured data, with the kind `fax` if declared.
    pub(crate) fn declared_phones(&self) -> Vec<(String, Option<&'static str>)> {
        let mut phones = Vec::new();
        for (element, href) in &self.links {
            if let Some(number) = messenger_number(href) {
                phones.push((number, None));
                continue;
            }
            let (scheme, number) = href.trim().split_once(':').unwrap_or_default();
            if ["tel", "callto", "sms", "fax"]
                .iter()
                .any(|known| scheme.eq_ignore_ascii_case(known))
            {
                let is_fax = scheme.eq_ignore_ascii_case("fax")
                    || element.text().to_lowercase().contains("fax");
                phones.push((percent_decoded(number), is_fax.then_some("fax")));
            }
        }
        for item in self.objects() {
            for (name, kind) in [
                ("telephone", None),
                ("phone", None),
                ("faxNumber", Some("fax")),
            ] {
                let value = item.get(name);
                let several = value
                    .and_then(Value::as_array)
                    .map_or(&[][..], Vec::as_slice);
                let texts = several
                    .iter()
                    .chain(value.filter(|value| !value.is_array()));
                phones.extend(texts.filter_map(string).map(|text| (text.to_owned(), kind)));
            }
        }
        phones
    }

    /// Every object of the structured data.
    pub(crate) fn objects(&self) -> impl Iterator<Item = &serde_json::Map<String, Value>> {
        self.objects_with_source().map(|(_, object)| object)
    }

    /// Every object of the structured data with its source.
    pub(crate) fn objects_with_source(
        &self,
    ) -> impl Iterator<Item = (&'static str, &serde_json::Map<String, Value>)> {
        self.items.iter().flat_map(|item| {
            items(std::slice::from_ref(&item.value)).map(|object| (item.source, object))
        })
    }
}

/// The number in a messenger link, with its calling code.
fn messenger_number(href: &str) -> Option<String> {
    const BEFORE: [&str; 5] = [
        "//wa.me/",
        "whatsapp.com/send?phone=",
        "whatsapp.com/send/?phone=",
        "whatsapp://send?phone=",
        "viber://chat?number=",
    ];
    /// Digits of a number with its calling code (ITU E.164).
    const DIGITS: std::ops::RangeInclusive<usize> = 9..=15;
    let rest = BEFORE
        .iter()
        .find_map(|before| Some(&href[href.find(before)? + before.len()..]))?;
    let rest = rest.strip_prefix("%2B").unwrap_or(rest);
    let digits: String = rest
        .trim_start_matches('+')
        .chars()
        .take_while(char::is_ascii_digit)
        .collect();
    DIGITS.contains(&digits.len()).then(|| format!("+{digits}"))
}

/// Whether declarations reverse text: only the override changes the order of Latin letters.
fn is_reversing(declarations: &str) -> bool {
    declarations.contains("bidi-override") && declarations.contains("rtl")
}
