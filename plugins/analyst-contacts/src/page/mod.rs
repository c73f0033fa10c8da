//! The parts of a page that may contain contacts, collected in one walk.

mod microdata;

use analyst_base::percent_decoded;
use serde_json::Value;
use trawl_sdk::embedded::{self, Budget, items, string};
pub(crate) use trawl_sdk::rank::squeeze as folded;
use trawl_sdk::{Document, Element, Kind, Tag, TextOptions};

/// Maximum bytes of page text, and of a script, that are searched.
const TEXT_BYTES_MAX: usize = 2 << 20;

/// Maximum number of microdata items.
const ITEMS_MAX: usize = 2_000;

/// An item of structured data and its source.
pub(crate) struct Item {
    /// `json_ld` or `microdata`.
    pub(crate) source: &'static str,
    /// The item as JSON-LD.
    pub(crate) value: Value,
}

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
    pub(crate) items: Vec<Item>,
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
            items: Vec::new(),
        };
        page.walk();
        page
    }

    /// The visible text.
    pub(crate) fn text(&self) -> &str {
        &self.text
    }

    fn walk(&mut self) {
        let document = self.document;
        let has_css_reversal = document_reverses(document);
        let mut has_json = false;
        let mut nodes = document.descendants();
        while let Some(node) = nodes.next() {
            let element = match node.kind() {
                Kind::Element(element) => element,
                Kind::TemplateContents => {
                    nodes.skip_inside(node);
                    continue;
                }
                _ => continue,
            };
            match element.tag() {
                Tag::Script => has_json |= self.script(element),
                Tag::A | Tag::Area => {
                    if let Some(href) = element.attr("href") {
                        self.links.push((element, href));
                    }
                }
                _ => {}
            }
            self.attributes(element, &has_css_reversal);
        }
        if has_json {
            let values = embedded::json_ld_within(document, &mut Budget::default());
            let items = values.into_iter().map(|value| Item {
                source: "json_ld",
                value,
            });
            self.items.splice(0..0, items);
        }
    }

    /// Collects a script; returns whether it is JSON-LD.
    fn script(&mut self, element: Element<'a>) -> bool {
        let kind = embedded::script_type(element).to_ascii_lowercase();
        let is_data = kind == "application/json";
        let is_code = matches!(
            kind.as_str(),
            "" | "module" | "text/javascript" | "application/javascript"
        );
        if is_data || is_code {
            let text = embedded::script_text(element);
            if text.contains('@') && text.len() <= TEXT_BYTES_MAX {
                self.scripts.push(text.into_owned());
            }
        }
        kind == "application/ld+json"
    }

    fn attributes(&mut self, element: Element<'a>, reversing: &[String]) {
        let (mut is_marked, mut is_reversed) = (false, false);
        for (name, value) in element.attrs() {
            match name {
                "style" => is_reversed = is_reversing(value),
                "class" => {
                    let mut classes = value.split_ascii_whitespace();
                    is_reversed |= classes.any(|class| reversing.iter().any(|own| own == class));
                }
                "itemscope" if self.items.len() < ITEMS_MAX && !element.has_attr("itemprop") => {
                    let value = microdata::item(element);
                    self.items.push(Item {
                        source: "microdata",
                        value,
                    });
                }
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

/// Classes whose rules reverse text: `.rev { direction: rtl; unicode-bidi: bidi-override }`.
fn document_reverses(document: &Document<'_>) -> Vec<String> {
    let mut classes = Vec::new();
    for style in document
        .elements()
        .filter(|element| element.tag() == Tag::Style)
    {
        let css = style.text();
        if !css.contains("bidi") {
            continue;
        }
        for rule in css.split('}') {
            let Some((selectors, declarations)) = rule.split_once('{') else {
                continue;
            };
            if is_reversing(declarations) {
                let names = selectors
                    .split(',')
                    .filter_map(|selector| selector.trim().rsplit('.').next());
                classes.extend(names.map(|name| name.trim().to_owned()));
            }
        }
    }
    classes
}

/// Whether declarations reverse text: only the override changes the order of Latin letters.
fn is_reversing(declarations: &str) -> bool {
    declarations.contains("bidi-override") && declarations.contains("rtl")
}
