//! The structure of a page with little text, for the rules to judge.

use memchr::memmem;

use super::pieces::{Piece, Pieces, Seal, Tag};
use super::prose::{Prose, has_any, is_appeal, is_waiting};
use super::scripts::Scripts;

/// Most links, images and fields of a page that needs a browser: some hosts need a copy of every
/// form in the shell. No rule applies to a page with more.
pub(super) const THINGS_MAX: usize = 10;
/// How much of a `noscript` is examined: those that ask for scripts do so at once.
const NOSCRIPT_BYTES_MAX: usize = 4 * 1024;
/// Seconds after which a refresh is no longer a redirect but a periodic reload.
const REFRESH_SECONDS_MAX: u64 = 10;
/// Text allowed beside a spinner: the name of the application.
const SPLASH_BYTES_MAX: usize = 60;
/// Other content allowed in an empty mount: a logo.
const SPLASH_THINGS_MAX: usize = 1;

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

/// Elements without an end tag or with other purposes, whatever their id.
const NO_MOUNTS: [&str; 6] = ["input", "img", "meta", "link", "a", "button"];

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

/// Parts of class names of what is shown until the content is there.
const SPINNERS: [&str; 7] = [
    "spinner", "loader", "loading", "splash", "preload", "skeleton", "progress",
];

/// Elements that are content without being text, links aside.
const THINGS: [&str; 6] = ["img", "video", "audio", "object", "embed", "frame"];

/// Elements that are filled in or pressed.
const FIELDS: [&str; 3] = ["input", "button", "select"];

/// Attributes by which frameworks find server-rendered elements or their data.
const HYDRATION_ATTRIBUTES: [&str; 5] = [
    "data-reactroot",
    "data-server-rendered",
    "ng-version",
    "q:container",
    "data-page",
];

/// A page with little text.
#[derive(Default)]
pub(super) struct Shape {
    /// Its visible words.
    pub(super) prose: Prose,
    /// Its scripts.
    pub(super) scripts: Scripts,
    /// Links, images, fields, media and frames: content that is not text.
    pub(super) n_things: usize,
    /// The fields among them.
    pub(super) n_fields: usize,
    /// Whether a mount element is empty, or contains only what is displayed until the application
    /// has loaded.
    pub(super) has_empty_mount: bool,
    /// Whether a framework left the data from which it makes the page.
    pub(super) has_hydration: bool,
    /// Whether a `noscript` asks for JavaScript.
    pub(super) has_noscript_appeal: bool,
    /// Whether a `meta` redirects soon.
    pub(super) has_refresh: bool,
}

/// A mount that is not closed yet.
struct Mount<'a> {
    name: &'a [u8],
    /// Open elements of the same name, itself included. Other names mean nothing in broken HTML.
    depth: usize,
    text_from: usize,
    things_from: usize,
    has_spinner: bool,
}

impl Shape {
    /// The shape of a source. Stops early once it has more than any rule allows.
    pub(super) fn of(source: &[u8]) -> Self {
        let mut shape = Self::default();
        let mut mount = None;
        for piece in Pieces::new(source) {
            if shape.prose.is_full() || shape.n_things > THINGS_MAX {
                break;
            }
            match piece {
                Piece::Text(text) => shape.prose.add(text),
                Piece::Open(tag) => {
                    shape.prose.add_gap();
                    shape.add_tag(&tag);
                    shape.open(&tag, &mut mount);
                }
                Piece::Close(name) => {
                    shape.prose.add_gap();
                    shape.close(name, &mut mount);
                }
                Piece::Sealed(seal, tag, inner) => {
                    shape.prose.add_gap();
                    shape.add_sealed(seal, &tag, inner);
                }
            }
        }
        shape.settle(mount);
        shape.has_hydration |= shape.scripts.has_hydration;
        shape
    }

    fn add_tag(&mut self, tag: &Tag<'_>) {
        match tag.name {
            b"a" | b"A" if tag.attribute("href").is_some() => self.n_things += 1,
            _ if THINGS.iter().any(|name| tag.is(name)) => self.n_things += 1,
            _ if tag.is("input") && is_hidden_field(tag) => {}
            _ if FIELDS.iter().any(|name| tag.is(name)) => self.add_field(),
            _ => self.has_refresh |= is_refresh(tag),
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

    fn add_sealed(&mut self, seal: Seal, tag: &Tag<'_>, inner: &[u8]) {
        match seal {
            Seal::Script => self.scripts.add(tag, inner),
            Seal::Noscript => self.has_noscript_appeal |= asks_for_scripts(inner),
            Seal::Frame => self.n_things += 1,
            Seal::Field => self.add_field(),
            Seal::Template | Seal::Drawing | Seal::Other => {}
        }
    }

    fn open<'a>(&mut self, tag: &Tag<'a>, mount: &mut Option<Mount<'a>>) {
        match mount {
            Some(mount) => {
                mount.depth += usize::from(tag.name.eq_ignore_ascii_case(mount.name));
                mount.has_spinner = mount.has_spinner || is_spinner(tag);
            }
            None if is_mount(tag) => {
                *mount = Some(Mount {
                    name: tag.name,
                    depth: 1,
                    text_from: self.prose.bytes().len(),
                    things_from: self.n_things,
                    has_spinner: is_spinner(tag),
                });
            }
            None => {}
        }
    }

    fn close<'a>(&mut self, name: &[u8], mount: &mut Option<Mount<'a>>) {
        if let Some(open) = mount
            && open.name.eq_ignore_ascii_case(name)
        {
            open.depth -= 1;
            if open.depth == 0 {
                self.settle(mount.take());
            }
        }
    }

    /// Judges the content of a mount that has ended.
    fn settle(&mut self, mount: Option<Mount<'_>>) {
        let Some(mount) = mount else {
            return;
        };
        let words = &self.prose.bytes()[mount.text_from..];
        let is_splash = mount.has_spinner && words.len() <= SPLASH_BYTES_MAX;
        let is_empty = self.n_things - mount.things_from <= SPLASH_THINGS_MAX
            && (is_waiting(words) || is_appeal(words) || is_splash);
        self.has_empty_mount |= is_empty;
    }
}

fn is_hidden_field(tag: &Tag<'_>) -> bool {
    tag.attribute("type")
        .is_some_and(|kind| kind.eq_ignore_ascii_case(b"hidden"))
}

fn is_mount(tag: &Tag<'_>) -> bool {
    let is_mount_name = |name: &[u8]| {
        MOUNT_NAMES
            .iter()
            .any(|known| name.eq_ignore_ascii_case(known.as_bytes()))
    };
    let is_own_element = tag.name.contains(&b'-')
        && ["-app", "-root", "-shell"]
            .iter()
            .any(|end| tag.name.to_ascii_lowercase().ends_with(end.as_bytes()));
    if NO_MOUNTS.iter().any(|name| tag.is(name)) {
        return false;
    }
    is_own_element
        || is_mount_name(tag.name)
        || tag.attributes().any(|(name, value)| {
            is_mount_name(name) || (name.eq_ignore_ascii_case(b"id") && is_mount_id(value))
        })
}

fn is_mount_id(id: &[u8]) -> bool {
    MOUNT_IDS
        .iter()
        .any(|known| id.trim_ascii().eq_ignore_ascii_case(known.as_bytes()))
}

fn is_spinner(tag: &Tag<'_>) -> bool {
    tag.attributes().any(|(name, value)| {
        let is_name = name.eq_ignore_ascii_case(b"class") || name.eq_ignore_ascii_case(b"id");
        is_name && has_any(&value.to_ascii_lowercase(), &SPINNERS)
    })
}

/// Whether a `noscript` speaks of JavaScript, in whatever language, or leads away.
fn asks_for_scripts(inner: &[u8]) -> bool {
    let look = &inner[..inner.len().min(NOSCRIPT_BYTES_MAX)];
    let mut prose = Prose::default();
    for piece in Pieces::new(look) {
        match piece {
            Piece::Text(text) => prose.add(text),
            Piece::Open(tag) if is_refresh(&tag) => return true,
            _ => prose.add_gap(),
        }
    }
    is_appeal(prose.bytes()) || has_any(prose.bytes(), &["javascript", "java script"])
}

/// Whether it is a `meta` that redirects within [`REFRESH_SECONDS_MAX`].
fn is_refresh(tag: &Tag<'_>) -> bool {
    let is_meta = tag.is("meta")
        && tag
            .attribute("http-equiv")
            .is_some_and(|kind| kind.trim_ascii().eq_ignore_ascii_case(b"refresh"));
    is_meta && tag.attribute("content").is_some_and(is_soon_elsewhere)
}

/// `0; url=/start`: seconds, a separator, a URL.
fn is_soon_elsewhere(content: &[u8]) -> bool {
    let content = content.trim_ascii().to_ascii_lowercase();
    let n_digits = content
        .iter()
        .take_while(|byte| byte.is_ascii_digit())
        .count();
    let seconds = std::str::from_utf8(&content[..n_digits]).unwrap_or_default();
    let is_soon = n_digits == 0
        || seconds
            .parse()
            .is_ok_and(|seconds: u64| seconds <= REFRESH_SECONDS_MAX);
    let target = memmem::find(&content, b"url").map(|at| content[at + 3..].trim_ascii_start());
    is_soon && matches!(target, Some([b'=', rest @ ..]) if !rest.trim_ascii().is_empty())
}
