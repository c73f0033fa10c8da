//! What the scripts of a page with little text are there for.

use std::sync::LazyLock;

use memchr::memmem;

use super::marks::Marks;
use super::tokens::Tag;

/// How much of an inline script is examined. Its purpose shows at its beginning; the rest is data
/// or a library.
const LOOK_BYTES_MAX: usize = 4 * 1024;

/// URLs of analytics and consent scripts, which never make a page's content.
static BYSTANDER_ADDRESSES: LazyLock<Marks> = LazyLock::new(|| {
    Marks::new([
        "googletagmanager.com",
        "google-analytics.com",
        "googlesyndication.com",
        "cloudflareinsights.com",
        "/cdn-cgi/scripts/",
        "/scripts/jsd/",
        "connect.facebook.net",
        "plausible.io",
        "matomo.js",
        "hotjar.com",
        "clarity.ms",
        "cookielaw.org",
    ])
});

/// The same, inline.
static BYSTANDER_CODE: LazyLock<Marks> = LazyLock::new(|| {
    Marks::new([
        "gtag(",
        "gtm.start",
        "GoogleAnalyticsObject",
        "__CF$cv$params",
        "_paq.push",
        "fbq(",
        "clarity.ms",
    ])
});

/// Names under which frameworks store the data that they render pages from; all begin with two
/// underscores.
const HYDRATION_NAMES: [&str; 14] = [
    "__NEXT_DATA__",
    "__next_f",
    "__NUXT__",
    "__remixContext",
    "__reactRouterContext",
    "__staticRouterHydrationData",
    "__sveltekit",
    "__INITIAL_STATE__",
    "__INITIAL_DATA__",
    "__PRELOADED_STATE__",
    "__APOLLO_STATE__",
    "__TSR",
    "___gatsby",
    "__meteor_runtime_config__",
];

/// The scripts of a page that could make its content.
#[derive(Debug, Default)]
pub(super) struct Scripts {
    /// Scripts with a `src`.
    pub(super) n_external: usize,
    /// Scripts with code of their own.
    pub(super) n_inline: usize,
    /// Modules among them: they import the rest of an application.
    n_modules: usize,
    /// Bytes of the latter.
    pub(super) inline_bytes: usize,
    /// Whether one redirects, reloads or submits a form.
    pub(super) goes_elsewhere: bool,
    /// Whether one contains the data from which a framework renders the page.
    pub(super) has_hydration: bool,
}

impl Scripts {
    /// Whether there is none.
    pub(super) fn is_empty(&self) -> bool {
        self.n_external + self.n_inline == 0
    }

    /// Whether one is large enough for a whole application, by its own file or its imports.
    pub(super) fn is_application(&self) -> bool {
        self.n_external + self.n_modules > 0
    }

    /// Takes the code of an attribute into account, such as `onload`.
    pub(super) fn add_handler(&mut self, code: &[u8]) {
        let look = &code[..code.len().min(LOOK_BYTES_MAX)];
        if goes_elsewhere(look) {
            self.n_inline += 1;
            self.inline_bytes += code.len();
            self.goes_elsewhere = true;
        }
    }

    /// Takes a script into account.
    pub(super) fn add(&mut self, tag: &Tag<'_>, code: &[u8]) {
        let code = code.trim_ascii();
        let look = &code[..code.len().min(LOOK_BYTES_MAX)];
        self.has_hydration = self.has_hydration || has_hydration(tag, look);
        if !is_run(tag) {
            return;
        }
        match tag.attribute("src") {
            Some(address) if BYSTANDER_ADDRESSES.are_in(address) => {}
            Some(_) => self.n_external += 1,
            None if code.is_empty() => {}
            None if BYSTANDER_CODE.are_in(look) => {}
            None => {
                let is_module = tag
                    .attribute("type")
                    .is_some_and(|kind| kind.trim_ascii().eq_ignore_ascii_case(b"module"));
                self.n_inline += 1;
                self.n_modules += usize::from(is_module);
                self.inline_bytes += code.len();
                self.goes_elsewhere = self.goes_elsewhere || goes_elsewhere(look);
            }
        }
    }
}

/// Whether a browser runs it: no type, `module`, or a JavaScript type. Loaders that defer scripts
/// prefix the latter.
fn is_run(tag: &Tag<'_>) -> bool {
    let Some(stated) = tag.attribute("type") else {
        return true;
    };
    let stated = stated.trim_ascii();
    let ends_with = |language: &[u8]| {
        let start = stated.len().checked_sub(language.len());
        start.is_some_and(|start| stated[start..].eq_ignore_ascii_case(language))
    };
    let languages: [&[u8]; 4] = [b"javascript", b"ecmascript", b"babel", b"jsx"];
    stated.is_empty()
        || stated.eq_ignore_ascii_case(b"module")
        || languages.into_iter().any(ends_with)
}

fn has_hydration(tag: &Tag<'_>, look: &[u8]) -> bool {
    let is_named = |found: usize, source: &[u8]| {
        HYDRATION_NAMES
            .iter()
            .any(|name| source[found..].starts_with(name.as_bytes()))
    };
    let is_data = tag
        .attribute("id")
        .is_some_and(|id| matches!(id, b"__NEXT_DATA__" | b"__NUXT_DATA__" | b"ng-state"));
    is_data || memmem::find_iter(look, b"__").any(|found| is_named(found, look))
}

/// Whether it submits a form, assigns to `location` or calls what replaces it. Comparisons are not
/// meant.
fn goes_elsewhere(look: &[u8]) -> bool {
    let name = b"location";
    memmem::find(look, b".submit(").is_some()
        || memmem::find_iter(look, name).any(|found| is_departure(&look[found + name.len()..]))
}

fn is_departure(after: &[u8]) -> bool {
    let calls: [&[u8]; 3] = [b".replace(", b".assign(", b".reload("];
    if calls.iter().any(|call| after.starts_with(call)) {
        return true;
    }
    let after = after.strip_prefix(b".href").unwrap_or(after);
    let after = &after[..after.len().min(8)];
    matches!(after.trim_ascii_start(), [b'=', next, ..] if *next != b'=')
}
