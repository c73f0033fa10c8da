//! Smart mode's detector: whether a page that plain HTTP fetched needs a browser, judged by its
//! source alone.
//!
//! Most pages contain their text, so the source is read only until there is enough of it, and
//! searched for the mark of an application that is not there yet. Only a page with such a mark or
//! with little text is examined closely, by small named rules. In doubt a page is
//! [`Verdict::Enough`]: a browser costs a hundred times more than plain HTTP. Pure functions; only
//! [`HostMemory`] and [`KnownVerdicts`] have state.

mod known;
mod marks;
mod memory;
mod mount;
mod prose;
mod redirect;
mod refresh;
mod rules;
mod scripts;
mod shape;
mod text;
mod things;
mod tokens;
mod walls;

use std::borrow::Cow;

use trawl_model::MediaKind;
use url::Url;

use shape::PageShape;

pub(crate) use known::KnownVerdicts;
pub(crate) use memory::HostMemory;

/// Visible characters from which a page counts as containing its text, unless an application is
/// mounted in an element that is empty yet: more than other rules allow.
pub(crate) const TEXT_PLENTY: usize = 250;
/// The same for a refusal (403, 429, …): bot walls explain themselves at some length.
pub(crate) const REFUSAL_TEXT_PLENTY: usize = 1_500;

/// Status of an answer that asks for a password, whatever page comes with it.
const UNAUTHORIZED: u16 = 401;
/// How much of a body in UTF-16 is read.
const UTF_16_BYTES_MAX: usize = 256 * 1024;

/// What the verdict is based on: one answer of plain HTTP.
#[derive(Clone, Copy, Debug)]
pub(crate) struct PageSignals<'a> {
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
    /// An empty element in which applications are mounted (`<div id="root"></div>`), and a script
    /// that may fill it.
    EmptyShell,
    /// Little text, and a request to enable JavaScript, usually in a `noscript`.
    NoscriptAppeal,
    /// No text and no other content, only scripts.
    ScriptOnlyBody,
    /// No text, but the data from which a framework renders it.
    HydrationWithoutText,
    /// No text, and a short script that redirects, reloads or submits a form.
    ScriptRedirect,
    /// No text of its own, only frames.
    Frames,
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
            Self::Frames => "frames",
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
            Self::Frames => "the page has no content but frames",
            Self::BotWall => "the site answered with a challenge that only a browser passes",
        }
    }

    /// Whether it suggests something about other pages of the host. A redirect does not. Neither do
    /// frames: what they show are other pages of it.
    pub(crate) fn speaks_for_host(self) -> bool {
        !matches!(self, Self::ScriptRedirect | Self::Frames)
    }
}

/// Whether a page needs a browser. Takes time linear in the body at most: for most pages some
/// searches in it, and a look at its beginning up to the end of enough text.
pub(crate) fn judge(signals: &PageSignals<'_>) -> Verdict {
    of_html(signals, judge_html).unwrap_or(Verdict::Enough)
}

fn judge_html(signals: &PageSignals<'_>) -> Verdict {
    if walls::announced(signals).is_some() {
        return Verdict::NeedsBrowser(Rule::BotWall);
    }
    if signals.status == UNAUTHORIZED {
        return Verdict::Enough;
    }
    let plenty = if walls::is_refusal(signals.status) {
        REFUSAL_TEXT_PLENTY
    } else {
        TEXT_PLENTY
    };
    let is_short = text::visible_chars(signals.body, plenty) < plenty;
    let shape = is_short.then(|| PageShape::of(signals.body));
    let leads_on = shape.as_ref().is_some_and(|shape| shape.has_refresh);
    let rule = shape.and_then(|shape| rules::first(signals, &shape));
    match rule {
        Some(rule) => Verdict::NeedsBrowser(rule),
        None if !leads_on && mount::is_awaited(signals.body) => {
            Verdict::NeedsBrowser(Rule::EmptyShell)
        }
        None => Verdict::Enough,
    }
}

/// Where a page leads that is nothing but a redirect by its markup or its `Refresh` header. `page`
/// is its URL.
pub(crate) fn redirect(signals: &PageSignals<'_>, page: &Url) -> Option<Url> {
    of_html(signals, |signals| redirect::target(signals, page)).flatten()
}

/// Whose bot wall answered instead of the page, whatever the status; `None` for any other page.
pub(crate) fn wall(signals: &PageSignals<'_>) -> Option<&'static str> {
    of_html(signals, wall_of_html).flatten()
}

fn wall_of_html(signals: &PageSignals<'_>) -> Option<&'static str> {
    if let Some(rule) = walls::announced(signals) {
        return Some(rule);
    }
    if walls::is_too_large(signals.body) || !walls::may_be_challenge(signals) {
        return None;
    }
    let plenty = if walls::is_refusal(signals.status) {
        REFUSAL_TEXT_PLENTY
    } else {
        walls::TEXT_PLENTY
    };
    if text::visible_chars(signals.body, plenty) >= plenty {
        return None;
    }
    let shape = PageShape::of(signals.body);
    if shape.n_things > shape::THINGS_MAX {
        return None;
    }
    walls::challenge(signals, &shape)
}

/// Endings of paths under which sites serve documents that are not HTML.
const DOCUMENT_ENDINGS: [&str; 44] = [
    "atom", "avif", "bmp", "csv", "docm", "docx", "eml", "epub", "geojson", "gif", "gz", "heic",
    "heif", "ico", "ics", "jpeg", "jpg", "json", "jsonl", "mbox", "ndjson", "odp", "ods", "odt",
    "pdf", "png", "pptm", "pptx", "rss", "rtf", "tar", "tgz", "tif", "tiff", "toml", "tsv", "vcf",
    "webp", "xlsm", "xlsx", "xml", "yaml", "yml", "zip",
];

/// Whether a URL looks like one of a document that a decoder reads. It is tried without a browser
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

/// How nearly all sites write the type of HTML.
const HTML_TYPES: [&str; 5] = [
    "text/html",
    "text/html; charset=utf-8",
    "text/html; charset=UTF-8",
    "text/html;charset=utf-8",
    "text/html;charset=UTF-8",
];

/// By the stated type; without one, a body is HTML if it begins with a tag, a comment or a document
/// type.
pub(crate) fn is_html(signals: &PageSignals<'_>) -> bool {
    // The usual headers need not be taken apart.
    if HTML_TYPES.contains(&signals.content_type) {
        return true;
    }
    match trawl_document::media_type(signals.content_type).as_str() {
        "" => begins_like_html(signals.body),
        stated => MediaKind::of(stated) == MediaKind::Html,
    }
}

/// What is found in an answer as the rules read it; `None` if it is not HTML.
fn of_html<T>(signals: &PageSignals<'_>, find: impl FnOnce(&PageSignals<'_>) -> T) -> Option<T> {
    let body = without_utf_16(signals.body);
    let signals = &PageSignals {
        body: &body,
        ..*signals
    };
    is_html(signals).then(|| find(signals))
}

/// A body as the rules read it: one in UTF-16, by its byte order mark, as UTF-8 and no further than
/// [`UTF_16_BYTES_MAX`].
fn without_utf_16(body: &[u8]) -> Cow<'_, [u8]> {
    let unit: fn([u8; 2]) -> u16 = match body {
        [0xFF, 0xFE, ..] => u16::from_le_bytes,
        [0xFE, 0xFF, ..] => u16::from_be_bytes,
        _ => return Cow::Borrowed(body),
    };
    let (pairs, _) = body[2..body.len().min(UTF_16_BYTES_MAX)].as_chunks::<2>();
    let units = pairs.iter().map(|pair| unit(*pair));
    let text: String = char::decode_utf16(units)
        .map(|character| character.unwrap_or(char::REPLACEMENT_CHARACTER))
        .collect();
    Cow::Owned(text.into_bytes())
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
