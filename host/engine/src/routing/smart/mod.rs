//! Smart mode's detector: whether a page that plain HTTP fetched needs a browser, judged by its
//! source alone.
//!
//! Most pages contain their text, so the source is read only until there is enough of it. Only a
//! page with little text is examined closely, by small named rules. In doubt a page is
//! [`Verdict::Enough`]: a browser costs a hundred times more than plain HTTP. Pure functions; only
//! [`HostMemory`] and [`KnownVerdicts`] have state.

mod known;
mod memory;
mod pieces;
mod prose;
mod rules;
mod scripts;
mod shape;
mod text;
mod walls;

use trawl_model::MediaKind;
use url::Url;

use shape::Shape;

pub(crate) use known::KnownVerdicts;
pub(crate) use memory::HostMemory;

/// Visible characters from which a page counts as containing its text. More than any rule allows:
/// empty shells show at most a header, a cookie banner and a footer.
pub(crate) const TEXT_PLENTY: usize = 250;
/// The same for a refusal (403, 429, …): bot walls explain themselves at some length.
pub(crate) const REFUSAL_TEXT_PLENTY: usize = 1_500;

/// What the verdict is based on: one answer of plain HTTP.
#[derive(Clone, Copy, Debug)]
pub(crate) struct Clues<'a> {
    /// HTTP status of the final answer.
    pub(crate) status: u16,
    /// Headers of the final answer, names in lower case.
    pub(crate) headers: &'a [(String, String)],
    /// The `Content-Type` header as received, or only its media type; empty if there is none.
    pub(crate) content_type: &'a str,
    /// The body, content coding removed, character set untouched.
    pub(crate) body: &'a [u8],
}

/// What to do with a page.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum Verdict {
    /// The answer is the page, or a browser could add nothing to it.
    Enough,
    /// The page must be fetched again by a browser, for this reason.
    NeedsBrowser(Rule),
}

/// Why a page needs a browser.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash)]
pub(crate) enum Rule {
    /// Little text, and an empty element in which applications are mounted (`<div
    /// id="root"></div>`).
    EmptyShell,
    /// Little text, and a request to enable JavaScript, usually in a `noscript`.
    NoscriptAppeal,
    /// No text and no other content, only scripts.
    ScriptOnlyBody,
    /// No text, but the data from which a framework renders it.
    HydrationWithoutText,
    /// No text, and a short script that redirects or reloads.
    ScriptRedirect,
    /// A challenge of a bot wall that a browser passes by running its scripts.
    BotWall,
}

impl Rule {
    /// The rule's name in logs, metrics and metadata.
    pub(crate) fn name(self) -> &'static str {
        match self {
            Self::EmptyShell => "empty_shell",
            Self::NoscriptAppeal => "noscript_appeal",
            Self::ScriptOnlyBody => "script_only_body",
            Self::HydrationWithoutText => "hydration_without_text",
            Self::ScriptRedirect => "script_redirect",
            Self::BotWall => "bot_wall",
        }
    }

    /// One sentence for `metadata.render_reason`.
    pub(crate) fn reason(self) -> &'static str {
        match self {
            Self::EmptyShell => "the page is an empty shell that a script fills",
            Self::NoscriptAppeal => "the page has hardly any text and asks for JavaScript",
            Self::ScriptOnlyBody => "the page has no content but scripts",
            Self::HydrationWithoutText => {
                "the page carries a framework's data but none of its text"
            }
            Self::ScriptRedirect => "the page has no content but a script that redirects",
            Self::BotWall => "the site answered with a challenge that only a browser passes",
        }
    }

    /// Whether it suggests something about other pages of the host. A redirect does not.
    pub(crate) fn speaks_for_host(self) -> bool {
        self != Self::ScriptRedirect
    }
}

/// Whether a page needs a browser. Takes time linear in the body at most, and only up to the end of
/// enough text if there is some: 10 to 20 microseconds for most pages.
///
/// A body in UTF-16 is always enough: without decoding, its markup cannot be distinguished from
/// text.
pub(crate) fn judge(clues: &Clues<'_>) -> Verdict {
    if !is_html(clues) {
        return Verdict::Enough;
    }
    if walls::announced(clues).is_some() {
        return Verdict::NeedsBrowser(Rule::BotWall);
    }
    let plenty = if walls::is_refusal(clues.status) {
        REFUSAL_TEXT_PLENTY
    } else {
        TEXT_PLENTY
    };
    if text::visible_chars(clues.body, plenty) >= plenty {
        return Verdict::Enough;
    }
    match rules::first(clues, &Shape::of(clues.body)) {
        Some(rule) => Verdict::NeedsBrowser(rule),
        None => Verdict::Enough,
    }
}

/// Whose bot wall answered instead of the page, whatever the status; `None` for any other page.
pub(crate) fn wall(clues: &Clues<'_>) -> Option<&'static str> {
    if !is_html(clues) {
        return None;
    }
    if let Some(rule) = walls::announced(clues) {
        return Some(rule);
    }
    if walls::is_too_large(clues.body) {
        return None;
    }
    let plenty = if walls::is_refusal(clues.status) {
        REFUSAL_TEXT_PLENTY
    } else {
        walls::TEXT_PLENTY
    };
    if text::visible_chars(clues.body, plenty) >= plenty {
        return None;
    }
    let shape = Shape::of(clues.body);
    let is_small = shape.n_things <= shape::THINGS_MAX;
    walls::challenge(clues, &shape).filter(|_| is_small)
}

/// Endings of paths under which sites serve documents that are not HTML.
const DOCUMENT_ENDINGS: [&str; 26] = [
    "atom", "csv", "docx", "eml", "epub", "gz", "ics", "json", "jsonl", "mbox", "odp", "ods",
    "odt", "pdf", "pptx", "rss", "rtf", "tar", "toml", "tsv", "vcf", "xlsx", "xml", "yaml", "yml",
    "zip",
];

/// Whether a URL looks like that of a document that a decoder reads. It is tried without a browser
/// first, whatever other pages of its host need: its type decides then. Decision D253.
pub(crate) fn names_document(url: &Url) -> bool {
    let path = url.path();
    let ending = path.rsplit_once('/').map_or(path, |(_, file)| file);
    ending.rsplit_once('.').is_some_and(|(_, ending)| {
        DOCUMENT_ENDINGS
            .iter()
            .any(|known| ending.eq_ignore_ascii_case(known))
    })
}

/// By the stated type; without one, a body is HTML if it begins with a tag, a comment or a document
/// type.
fn is_html(clues: &Clues<'_>) -> bool {
    match trawl_document::media_type(clues.content_type).as_str() {
        "" => begins_like_html(clues.body),
        stated => MediaKind::of(stated) == MediaKind::Html,
    }
}

fn begins_like_html(body: &[u8]) -> bool {
    let body = body.strip_prefix(b"\xEF\xBB\xBF").unwrap_or(body);
    match body.trim_ascii_start() {
        [b'<', next, ..] => next.is_ascii_alphabetic() || *next == b'!',
        _ => false,
    }
}

#[cfg(test)]
mod tests;
