//! The structure of a page with little text, for the rules to judge.

use std::sync::LazyLock;

use super::marks::Marks;
use super::mount::Mounts;
use super::prose::{Prose, is_appeal};
use super::refresh;
use super::scripts::Scripts;
use super::things::{Thing, thing};
use super::tokens::{HiddenElement, Tag, Token, Tokens};

/// Most links, images and fields of a page that needs a browser: some hosts need a copy of every
/// form in the shell. No rule applies to a page with more.
pub(super) const THINGS_MAX: usize = 10;
/// How much of a `noscript` is examined: those that ask for scripts do so at once.
const NOSCRIPT_BYTES_MAX: usize = 4 * 1024;
/// Attributes by which frameworks find server-rendered elements or their data.
const HYDRATION_ATTRIBUTES: [&str; 5] = [
    "data-reactroot",
    "data-server-rendered",
    "ng-version",
    "q:container",
    "data-page",
];

/// Parts of a page that a `noscript` asks scripts for, although the page is there without them.
static PARTS: LazyLock<Marks> =
    LazyLock::new(|| Marks::new(["comment", "disqus", "kommentar", "commentaire"]));

/// The name of the language.
static LANGUAGE: LazyLock<Marks> = LazyLock::new(|| Marks::new(["javascript", "java script"]));

/// A page with little text.
#[derive(Default)]
pub(super) struct PageShape {
    /// Its visible words.
    pub(super) prose: Prose,
    /// Its scripts.
    pub(super) scripts: Scripts,
    /// Links, images, fields, media and frames: content that is not text.
    pub(super) n_things: usize,
    /// The fields among them.
    pub(super) n_fields: usize,
    /// The frames among them that show a document.
    pub(super) n_frames: usize,
    /// Whether a mount element is empty, or contains only what is displayed until the application
    /// has loaded.
    pub(super) has_empty_mount: bool,
    /// The same for the element for the content of the page.
    pub(super) has_empty_content: bool,
    /// Whether a framework left the data from which it makes the page.
    pub(super) has_hydration: bool,
    /// Whether a `noscript` asks for JavaScript.
    pub(super) has_noscript_appeal: bool,
    /// Whether a `meta` redirects soon.
    pub(super) has_refresh: bool,
}

impl PageShape {
    /// The shape of a source. Stops early once it has more than any rule allows.
    pub(super) fn of(source: &[u8]) -> Self {
        let mut shape = Self::default();
        let (mut mounts, mut contents) = (Mounts::new(), Mounts::of_content());
        for token in Tokens::new(source) {
            if shape.prose.is_full() || shape.n_things > THINGS_MAX {
                break;
            }
            mounts.add(&token);
            contents.add(&token);
            match token {
                Token::Text(text) => shape.prose.add(text),
                Token::Open(tag) => {
                    shape.prose.add_gap();
                    shape.add_tag(&tag);
                }
                Token::Close(_) => shape.prose.add_gap(),
                Token::Hidden(element, tag, inner) => {
                    shape.prose.add_gap();
                    shape.add_hidden(element, &tag, inner);
                }
            }
        }
        shape.has_empty_mount = mounts.end();
        shape.has_empty_content = contents.end();
        shape.has_hydration |= shape.scripts.has_hydration;
        shape
    }

    fn add_tag(&mut self, tag: &Tag<'_>) {
        match thing(tag) {
            Some(Thing::Field) => self.add_field(),
            Some(Thing::Other) => {
                self.n_things += 1;
                self.n_frames += usize::from(tag.is("frame") && shows_document(tag));
            }
            None => self.has_refresh |= refresh::of_tag(tag).is_some(),
        }
        if tag.is("body")
            && let Some(code) = tag.attribute("onload")
        {
            self.scripts.add_handler(code);
        }
        self.has_hydration |= tag.attributes().any(|(name, _)| {
            HYDRATION_ATTRIBUTES
                .iter()
                .any(|known| name.eq_ignore_ascii_case(known.as_bytes()))
        });
    }

    fn add_field(&mut self) {
        self.n_things += 1;
        self.n_fields += 1;
    }

    fn add_hidden(&mut self, element: HiddenElement, tag: &Tag<'_>, inner: &[u8]) {
        match element {
            HiddenElement::Script => self.scripts.add(tag, inner),
            HiddenElement::Noscript => self.has_noscript_appeal |= asks_for_scripts(inner),
            HiddenElement::Frame => {
                self.n_things += 1;
                self.n_frames += usize::from(shows_document(tag));
            }
            HiddenElement::Field => self.add_field(),
            HiddenElement::Template | HiddenElement::Drawing | HiddenElement::Other => {}
        }
    }
}

/// Whether a frame has a document of its own from the start.
fn shows_document(frame: &Tag<'_>) -> bool {
    let url = frame.attribute("src").unwrap_or_default().trim_ascii();
    let begins = |scheme: &[u8]| {
        let start = url.get(..scheme.len());
        start.is_some_and(|start| start.eq_ignore_ascii_case(scheme))
    };
    let is_url = !url.is_empty() && !begins(b"about:") && !begins(b"javascript:");
    is_url || frame.attribute("srcdoc").is_some()
}

/// Whether a `noscript` speaks of JavaScript, in whatever language, or leads away.
fn asks_for_scripts(inner: &[u8]) -> bool {
    let look = &inner[..inner.len().min(NOSCRIPT_BYTES_MAX)];
    let mut prose = Prose::default();
    for token in Tokens::new(look) {
        match token {
            Token::Text(text) => prose.add(text),
            Token::Open(tag) if refresh::of_tag(&tag).is_some() => return true,
            _ => prose.add_gap(),
        }
    }
    let words = prose.bytes();
    (is_appeal(words) || LANGUAGE.are_in(words)) && !PARTS.are_in(words)
}
