//! Pages that only lead to another one by a refresh.

use std::sync::LazyLock;

use memchr::memmem::Finder;
use url::Url;

use trawl_model::urls;
use trawl_plan::address::without_fragment;

use super::shape::PageShape;
use super::tokens::{HiddenElement, Tag, Token, Tokens};
use super::{PageSignals, refresh, walls};

/// Longest body of one, with its styles and scripts.
const BODY_BYTES_MAX: usize = 64 * 1024;
/// Most text of one: that it has moved, and where to.
const WORDS_BYTES_MAX: usize = 200;
/// Most links and images of one: its target, a logo and a contact.
const THINGS_MAX: usize = 3;
/// How `refresh` is written. The letters are frequent, so each is searched for on its own.
static REFRESHES: LazyLock<[Finder<'static>; 3]> =
    LazyLock::new(|| ["refresh", "Refresh", "REFRESH"].map(Finder::new));

/// The refreshes and the base of a source, as they are written.
#[derive(Default)]
struct Refreshes {
    refresh: Option<String>,
    /// The same in a `noscript`.
    without_scripts: Option<String>,
    base: Option<String>,
}

/// Where a page leads that is nothing but a refresh, by its header or its markup; `None` for any
/// other page, and for one that only reloads itself. `page` is its URL.
pub(super) fn target(signals: &PageSignals<'_>, page: &Url) -> Option<Url> {
    let mut headers = signals.headers.iter();
    let header = headers.find(|(name, _)| name == "refresh");
    let is_small = signals.body.len() <= BODY_BYTES_MAX;
    if !is_small || !(200..300).contains(&signals.status) || walls::announced(signals).is_some() {
        return None;
    }
    let is_written = |word: &Finder<'_>| word.find(signals.body).is_some();
    if header.is_none() && !REFRESHES.iter().any(is_written) {
        return None;
    }
    let shape = PageShape::of(signals.body);
    let is_bare = shape.prose.bytes().len() <= WORDS_BYTES_MAX
        && shape.n_fields == 0
        && shape.n_things <= THINGS_MAX;
    if !is_bare || walls::is_challenge(signals, &shape) {
        return None;
    }
    let written = Refreshes::of(signals.body);
    let by_header = header.and_then(|(_, value)| refresh::of_value(value));
    // A browser that runs the scripts does not see what is meant for those without.
    let without_scripts = written.without_scripts.filter(|_| shape.scripts.is_empty());
    let found = by_header.or(written.refresh).or(without_scripts)?;
    let base = match &written.base {
        Some(base) => urls::join(page, base).unwrap_or_else(|_| page.clone()),
        None => page.clone(),
    };
    let target = urls::join(&base, &found).ok()?;
    let is_web = matches!(target.scheme(), "http" | "https");
    let is_elsewhere = without_fragment(&target) != without_fragment(page);
    (is_web && is_elsewhere).then_some(target)
}

impl Refreshes {
    fn of(source: &[u8]) -> Self {
        let mut written = Self::default();
        for token in Tokens::new(source) {
            match token {
                Token::Open(tag) => written.add(&tag),
                Token::Hidden(HiddenElement::Noscript, _, inner)
                    if written.without_scripts.is_none() =>
                {
                    let mut tags = Tokens::new(inner).filter_map(|token| match token {
                        Token::Open(tag) => Some(tag),
                        _ => None,
                    });
                    written.without_scripts = tags.find_map(|tag| refresh::of_tag(&tag));
                }
                _ => {}
            }
        }
        written
    }

    fn add(&mut self, tag: &Tag<'_>) {
        if self.refresh.is_none() {
            self.refresh = refresh::of_tag(tag);
        }
        if self.base.is_none()
            && tag.is("base")
            && let Some(href) = tag.attribute("href")
        {
            let href = urls::text_of(href);
            self.base = Some(trawl_document::attribute_value(&href).into_owned());
        }
    }
}
