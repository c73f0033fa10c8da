//! The elements that applications are mounted in, and whether they are still empty.

use std::sync::LazyLock;

use memchr::memmem::{self, Finder};

use super::marks::Marks;
use super::prose::{Prose, is_appeal, is_waiting};
use super::scripts::Scripts;
use super::things::thing;
use super::tokens::{HiddenElement, Tag, Token, Tokens};

/// Text of a mount that is not empty: more than a request to enable JavaScript has.
const MOUNT_BYTES_MAX: usize = 300;
/// Text allowed next to a spinner: the name of the application.
const SPLASH_BYTES_MAX: usize = 60;
/// Other content allowed in an empty mount: a logo.
const SPLASH_THINGS_MAX: usize = 1;
/// Longest name of an element or attribute that marks a mount.
const NAME_BYTES_MAX: usize = 64;

/// Ids of elements that applications are mounted in, by habit or by a framework's template.
const MOUNT_IDS: [&str; 26] = [
    "root",
    "app",
    "__next",
    "__nuxt",
    "___gatsby",
    "svelte",
    "sapper",
    "q-app",
    "app-root",
    "approot",
    "root-app",
    "react-root",
    "reactroot",
    "react-app",
    "reactapp",
    "react",
    "vue-app",
    "vue",
    "ng-app",
    "app-mount",
    "app-container",
    "application",
    "main-app",
    "mount",
    "spa",
    "single-spa",
];

/// Elements without an end tag or with other purposes, whatever their id: the targets of links in
/// documents are empty as well.
const NO_MOUNTS: [&str; 18] = [
    "input", "img", "meta", "link", "a", "button", "span", "p", "h1", "h2", "h3", "h4", "h5", "h6",
    "li", "td", "i", "br",
];

/// Names of elements and attributes that mark where an application is mounted.
const MOUNT_NAMES: [&str; 8] = [
    "ng-app",
    "data-ng-app",
    "ng-view",
    "data-ng-view",
    "ui-view",
    "data-ui-view",
    "router-view",
    "router-outlet",
];

/// Endings of the names of elements that a script defines as a whole application.
const OWN_ENDINGS: [&str; 3] = ["-app", "-root", "-shell"];

/// What the names of mounts end with, ids aside. Pages have many dashes, so each ending is searched
/// for on its own.
static NAME_ENDINGS: LazyLock<[Finder<'static>; 5]> =
    LazyLock::new(|| ["-app", "-root", "-shell", "-view", "-outlet"].map(Finder::new));

/// Parts of class names of what is shown until the content is there.
static SPINNERS: LazyLock<Marks> = LazyLock::new(|| {
    Marks::of_any_case([
        "spinner", "loader", "loading", "splash", "preload", "skeleton", "progress",
    ])
});

/// Ids of elements that have the content of a page, be it in the source or made by a script.
const MAIN_IDS: [&str; 4] = ["main", "content", "main-content", "page-content"];

/// Follows the mounts of a page. One within another is part of it.
pub(super) struct Mounts<'a> {
    /// Whether an element is one.
    is_mount: fn(&Tag<'_>) -> bool,
    open: Option<Mount<'a>>,
    /// Whether one has ended that is empty, or contains only what is displayed until the
    /// application has loaded.
    has_empty: bool,
}

/// A mount that is not closed yet.
struct Mount<'a> {
    name: &'a [u8],
    /// Open elements of the same name, itself included. Other names mean nothing in broken HTML.
    depth: usize,
    prose: Prose,
    n_things: usize,
    has_spinner: bool,
}

impl<'a> Mounts<'a> {
    /// Of the elements that only applications have.
    pub(super) fn new() -> Self {
        Self::of(is_mount)
    }

    /// Of the elements that have the content of any page.
    pub(super) fn of_content() -> Self {
        Self::of(is_main)
    }

    fn of(is_mount: fn(&Tag<'_>) -> bool) -> Self {
        Self {
            is_mount,
            open: None,
            has_empty: false,
        }
    }

    /// Takes the next token of the source into account.
    pub(super) fn add(&mut self, token: &Token<'a>) {
        match token {
            Token::Text(text) => {
                if let Some(mount) = &mut self.open
                    && !mount.is_filled()
                {
                    mount.prose.add(text);
                }
            }
            Token::Open(tag) => self.enter(tag),
            Token::Close(name) => self.leave(name),
            Token::Hidden(element, ..) => {
                if let Some(mount) = &mut self.open {
                    mount.prose.add_gap();
                    mount.n_things += usize::from(matches!(
                        element,
                        HiddenElement::Frame | HiddenElement::Field
                    ));
                }
            }
        }
    }

    /// Whether one was empty, at the end of the source.
    pub(super) fn end(mut self) -> bool {
        self.settle();
        self.has_empty
    }

    /// Whether the source so far has an empty one, or one that may become it.
    fn is_undecided(&self) -> bool {
        self.has_empty || self.open.as_ref().is_some_and(|mount| !mount.is_filled())
    }

    fn enter(&mut self, tag: &Tag<'a>) {
        // The document as a whole gives way to an element in it.
        let is_free = self.open.as_ref().is_none_or(Mount::is_document);
        if is_free && (self.is_mount)(tag) {
            self.open = Some(Mount {
                name: tag.name,
                depth: 1,
                prose: Prose::default(),
                n_things: 0,
                has_spinner: is_spinner(tag),
            });
            return;
        }
        if let Some(mount) = &mut self.open {
            mount.prose.add_gap();
            mount.depth += usize::from(tag.name.eq_ignore_ascii_case(mount.name));
            if !mount.is_filled() {
                mount.n_things += usize::from(thing(tag).is_some());
                mount.has_spinner = mount.has_spinner || is_spinner(tag);
            }
        }
    }

    fn leave(&mut self, name: &[u8]) {
        let Some(mount) = &mut self.open else { return };
        mount.prose.add_gap();
        if mount.name.eq_ignore_ascii_case(name) {
            mount.depth -= 1;
            if mount.depth == 0 {
                self.settle();
            }
        }
    }

    /// Judges the content of the mount that has ended.
    fn settle(&mut self) {
        if let Some(mount) = self.open.take() {
            self.has_empty |= mount.is_empty();
        }
    }
}

impl Mount<'_> {
    fn is_document(&self) -> bool {
        is_one_of(self.name, &["html", "body"])
    }

    /// Whether it has more than any empty one.
    fn is_filled(&self) -> bool {
        self.n_things > SPLASH_THINGS_MAX || self.prose.bytes().len() > MOUNT_BYTES_MAX
    }

    fn is_empty(&self) -> bool {
        let words = self.prose.bytes();
        let is_splash = self.has_spinner && words.len() <= SPLASH_BYTES_MAX;
        !self.is_filled() && (is_waiting(words) || is_appeal(words) || is_splash)
    }
}

/// Whether a page has an empty mount and a script of its own that may fill it, whatever is
/// around them. Only a page whose source has the mark of a mount is split into tokens, and only up
/// to the token that decides.
pub(super) fn is_awaited(source: &[u8]) -> bool {
    let Some(last) = last_mark(source) else {
        return false;
    };
    let (mut mounts, mut scripts) = (Mounts::new(), Scripts::default());
    let mut tokens = Tokens::new(source);
    while (tokens.at() <= last || mounts.is_undecided())
        && let Some(token) = tokens.next()
    {
        if let Token::Hidden(HiddenElement::Script, tag, code) = &token {
            scripts.add(tag, code);
        }
        mounts.add(&token);
        if mounts.has_empty && scripts.is_application() {
            return true;
        }
    }
    mounts.end() && scripts.is_application()
}

/// Where the last text is that may mark a mount: an id, or the name of an element or attribute.
fn last_mark(source: &[u8]) -> Option<usize> {
    let id = b"id=";
    let is_id = |at: &usize| {
        let rest = &source[at + id.len()..];
        if !may_begin_mount_id(rest) {
            return false;
        }
        let value = rest.strip_prefix(b"\"").or(rest.strip_prefix(b"'"));
        let value = value.unwrap_or(rest);
        let end = value
            .iter()
            .take(NAME_BYTES_MAX)
            .position(|byte| byte.is_ascii_whitespace() || matches!(byte, b'"' | b'\'' | b'>'));
        is_mount_id(&value[..end.unwrap_or(value.len().min(NAME_BYTES_MAX))])
    };
    let by_id = memmem::find_iter(source, id).filter(is_id).last();
    let by_name = NAME_ENDINGS.iter().filter_map(|end| {
        let found = end.find_iter(source);
        let length = end.needle().len();
        found.filter(|at| is_name(source, *at, length)).last()
    });
    by_id.into_iter().chain(by_name).max()
}

/// Whether the word that has an ending of this length here is the name of an element or of an
/// attribute that marks a mount.
fn is_name(source: &[u8], at: usize, end: usize) -> bool {
    let is_part = |byte: &u8| byte.is_ascii_alphanumeric() || *byte == b'-';
    let before = &source[at.saturating_sub(NAME_BYTES_MAX)..at];
    let length = before.iter().rev().take_while(|byte| is_part(byte)).count();
    let name = &source[at - length..at + end];
    let is_tag = source[..at - length].last() == Some(&b'<');
    is_mount_name(name) || (is_tag && is_own_element(name))
}

fn is_mount(tag: &Tag<'_>) -> bool {
    if NO_MOUNTS.iter().any(|name| tag.is(name)) {
        return false;
    }
    is_own_element(tag.name)
        || is_mount_name(tag.name)
        || tag.attributes().any(|(name, value)| {
            is_mount_name(name) || (name.eq_ignore_ascii_case(b"id") && is_mount_id(value))
        })
}

fn is_main(tag: &Tag<'_>) -> bool {
    let is_id = |id: &[u8]| is_one_of(id, &MAIN_IDS);
    tag.is("main") || (tag.is("div") && tag.attribute("id").is_some_and(is_id))
}

/// Whether a script of the page defines the element, by its name.
fn is_own_element(name: &[u8]) -> bool {
    OWN_ENDINGS.iter().any(|end| {
        let start = name.len().checked_sub(end.len());
        start.is_some_and(|start| name[start..].eq_ignore_ascii_case(end.as_bytes()))
    })
}

fn is_mount_name(name: &[u8]) -> bool {
    is_one_of(name, &MOUNT_NAMES)
}

/// The second bytes of [`MOUNT_IDS`] by their first: bit n is set for the nth letter, and
/// [`NOT_A_LETTER`] for any other byte. Pages have thousands of ids, and hardly one of them needs a
/// closer look.
static MOUNT_ID_BEGINNINGS: [u32; 128] = {
    let mut seconds = [0_u32; 128];
    let mut at = 0;
    while at < MOUNT_IDS.len() {
        let id = MOUNT_IDS[at].as_bytes();
        seconds[id[0] as usize] |= letter(id[1]);
        at += 1;
    }
    seconds
};
/// The bit of what is no letter.
const NOT_A_LETTER: u32 = 1 << 31;

/// The bit of a letter, whatever its case.
const fn letter(byte: u8) -> u32 {
    match byte {
        b'a'..=b'z' => 1 << (byte - b'a'),
        b'A'..=b'Z' => 1 << (byte - b'A'),
        _ => NOT_A_LETTER,
    }
}

/// Whether the value of an attribute that begins here, quoted or not, may be one of [`MOUNT_IDS`],
/// by its first two bytes.
fn may_begin_mount_id(value: &[u8]) -> bool {
    let (first, second) = match value {
        [b'"' | b'\'', first, second, ..] | [first, second, ..] => (*first, *second),
        _ => return false,
    };
    let seconds = MOUNT_ID_BEGINNINGS.get(usize::from(first.to_ascii_lowercase()));
    seconds.is_some_and(|seconds| seconds & letter(second) != 0)
}

fn is_mount_id(id: &[u8]) -> bool {
    let id = id.trim_ascii();
    may_begin_mount_id(id) && is_one_of(id, &MOUNT_IDS)
}

/// Whether it is one of these names, whatever its case.
fn is_one_of(name: &[u8], names: &[&str]) -> bool {
    names
        .iter()
        .any(|known| name.eq_ignore_ascii_case(known.as_bytes()))
}

fn is_spinner(tag: &Tag<'_>) -> bool {
    tag.attributes().any(|(name, value)| {
        let is_name = name.eq_ignore_ascii_case(b"class") || name.eq_ignore_ascii_case(b"id");
        is_name && SPINNERS.are_in(value)
    })
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn the_beginning_of_an_id_rules_out_no_mount() {
        for id in MOUNT_IDS {
            let written = id.to_ascii_uppercase();
            for id in [id, written.as_str()] {
                assert!(is_mount_id(id.as_bytes()), "{id}");
                for source in [
                    format!("<div id={id}>"),
                    format!("<div id='{id}'>"),
                    format!("<div id=\"{id}\""),
                ] {
                    assert!(last_mark(source.as_bytes()).is_some(), "{source}");
                }
            }
        }
        for id in ["", "r", "ro", "main", "method.map", "\u{e9}t\u{e9}", "1a"] {
            assert!(!is_mount_id(id.as_bytes()), "{id}");
            assert_eq!(last_mark(format!("<p id={id}>").as_bytes()), None, "{id}");
        }
    }
}
