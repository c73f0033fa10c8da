//! Content type of the page a link leads to, judged by URL and anchor text.

use serde::Serialize;
use trawl_sdk::rank::{Region, each_word, fold};

use crate::anchors::{ANCHORS, SOCIAL};
use crate::link::Link;
use crate::segments::SEGMENTS;
use crate::url::UrlParts;

/// Type of the page a link leads to.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord, Serialize)]
#[serde(rename_all = "snake_case")]
pub(crate) enum ContentType {
    /// A news item or post.
    Article,
    /// Something for sale.
    Product,
    /// Contact details.
    Contact,
    /// About a person or organisation.
    About,
    /// Manuals, references, help.
    Documentation,
    /// A list of other pages: a category, search results, pagination.
    Listing,
    /// Terms, privacy policy, imprint.
    Legal,
    /// Sign-in, sign-up, account, cart.
    Login,
    /// An image, video or audio file.
    Media,
    /// A file to download.
    Download,
    /// Anything else.
    Other,
}

/// A content type with its certainty and the reason.
#[derive(Clone, Debug, PartialEq)]
pub(crate) struct Classification {
    pub(crate) content_type: ContentType,
    /// 0 to 1.
    pub(crate) certainty: f32,
    pub(crate) reason: String,
}

pub(crate) const ALL: [(&str, ContentType); 11] = [
    ("article", ContentType::Article),
    ("product", ContentType::Product),
    ("contact", ContentType::Contact),
    ("about", ContentType::About),
    ("documentation", ContentType::Documentation),
    ("listing", ContentType::Listing),
    ("legal", ContentType::Legal),
    ("login", ContentType::Login),
    ("media", ContentType::Media),
    ("download", ContentType::Download),
    ("other", ContentType::Other),
];

const MEDIA: [&str; 20] = [
    "jpg", "jpeg", "png", "gif", "webp", "avif", "svg", "bmp", "tiff", "mp4", "webm", "mov", "avi",
    "mkv", "mp3", "wav", "ogg", "flac", "m4a", "m3u8",
];
const FILES: [&str; 28] = [
    "pdf", "zip", "exe", "dmg", "msi", "apk", "deb", "rpm", "gz", "tgz", "rar", "7z", "bz2", "xz",
    "iso", "doc", "docx", "xls", "xlsx", "ppt", "pptx", "odt", "ods", "csv", "epub", "jar", "pkg",
    "ics",
];

/// Query parameters of search results and of lists with filters or pages.
const LISTING_KEYS: [&str; 8] = [
    "page=",
    "q=",
    "search=",
    "category=",
    "tag=",
    "sort=",
    "query=",
    "filter=",
];

/// Minimum number of words in a path segment that reads like a title.
const TITLE_WORDS_MIN: usize = 4;
/// Maximum number of words in a path segment that names a type: `privacy-policy` does,
/// `how-to-contact-the-moon` does not.
const NAMING_WORDS_MAX: usize = 3;
/// Maximum number of words in an anchor text that names a type.
const ANCHOR_WORDS_MAX: usize = 4;

impl ContentType {
    /// Its name in answers.
    pub(crate) fn name(self) -> &'static str {
        ALL.iter()
            .find(|(_, own)| *own == self)
            .map_or("other", |(name, _)| name)
    }

    /// Parses a type as written by the caller.
    pub(crate) fn of_name(name: &str) -> Option<Self> {
        let name = name.trim().to_lowercase();
        let exact = ALL
            .iter()
            .find(|(own, _)| *own == name)
            .map(|(_, own)| *own);
        exact.or_else(|| crate::vocabulary::type_word(&name))
    }
}

impl Classification {
    fn new(content_type: ContentType, certainty: f32, reason: impl Into<String>) -> Self {
        Self {
            content_type,
            certainty,
            reason: reason.into(),
        }
    }

    /// Classifies the target of a link.
    pub(crate) fn of(link: &Link, url: &UrlParts) -> Self {
        let by_url = by_url(url);
        let by_anchor = by_anchor(link);
        let by_file = by_file(link, url);
        if let Some(classification) = by_file {
            return classification;
        }
        match (by_url, by_anchor) {
            (Some(url), Some(anchor)) if url.content_type == anchor.content_type => Self::new(
                url.content_type,
                1.0,
                format!("{} and {}", url.reason, anchor.reason),
            ),
            (Some(url), Some(anchor)) if url.certainty >= anchor.certainty => url,
            (_, Some(anchor)) => anchor,
            (Some(url), None) => url,
            (None, None) => by_surroundings(link, url),
        }
    }
}

/// Whether the host is a social network.
pub(crate) fn is_social(url: &UrlParts) -> bool {
    let host = url.host.strip_prefix("www.").unwrap_or(&url.host);
    SOCIAL.iter().any(|site| {
        host == *site
            || host
                .strip_suffix(site)
                .is_some_and(|sub| sub.ends_with('.'))
    })
}

fn by_file(link: &Link, url: &UrlParts) -> Option<Classification> {
    let extension = url.extension.as_str();
    if MEDIA.contains(&extension) {
        return Some(Classification::new(
            ContentType::Media,
            1.0,
            format!("its URL ends in .{extension}"),
        ));
    }
    if FILES.contains(&extension) {
        return Some(Classification::new(
            ContentType::Download,
            1.0,
            format!("its URL ends in .{extension}"),
        ));
    }
    link.is_download.then(|| {
        Classification::new(
            ContentType::Download,
            1.0,
            "it has the `download` attribute",
        )
    })
}

/// Classifies by URL; among equally certain types the first wins.
fn by_url(url: &UrlParts) -> Option<Classification> {
    let found = by_host(url)
        .into_iter()
        .chain(by_segments(url))
        .chain(by_date(url))
        .chain(by_query(url));
    found.reduce(|best, other| {
        if other.certainty > best.certainty {
            other
        } else {
            best
        }
    })
}

fn by_host(url: &UrlParts) -> Option<Classification> {
    let label = url.host.split('.').next().unwrap_or_default();
    let (content_type, certainty) = match label {
        "docs" | "doc" | "developer" | "developers" | "help" | "support" | "wiki" => {
            (ContentType::Documentation, 0.75)
        }
        "blog" | "news" if !url.segments.is_empty() => (ContentType::Article, 0.75),
        "login" | "accounts" | "auth" | "sso" => (ContentType::Login, 0.85),
        _ => return None,
    };
    Some(Classification::new(
        content_type,
        certainty,
        format!("its host starts with {label}."),
    ))
}

fn by_segments(url: &UrlParts) -> Vec<Classification> {
    let mut found = Vec::new();
    for (at, segment) in url.segments.iter().enumerate() {
        let is_last = at + 1 == url.segments.len();
        let words: Vec<String> = segment
            .split(['-', '_', '.', '+', ' '])
            .map(fold)
            .filter(|word| !word.is_empty())
            .collect();
        for (content_type, names) in SEGMENTS {
            let exact = names.contains(&words.join("-").as_str());
            let among = words.len() <= NAMING_WORDS_MAX
                && words.len() > 1
                && words
                    .iter()
                    .any(|word| word.len() > 3 && names.contains(&word.as_str()));
            if !exact && !among {
                continue;
            }
            // The last segment describes the page itself, the others its place in the site.
            let certainty = if exact { 0.85 } else { 0.7 } + if is_last { 0.05 } else { 0.0 };
            found.push(Classification::new(
                kind_below(*content_type, is_last, url, at),
                certainty,
                format!("its URL has /{segment}"),
            ));
        }
    }
    found
}

fn by_date(url: &UrlParts) -> Option<Classification> {
    let kind = if dated(&url.segments)? {
        ContentType::Article
    } else {
        ContentType::Listing
    };
    Some(Classification::new(kind, 0.88, "its URL has a date"))
}

/// A page of a list is a listing, whatever it lists.
fn by_query(url: &UrlParts) -> Option<Classification> {
    let key = LISTING_KEYS
        .iter()
        .find(|key| url.query.split('&').any(|pair| pair.starts_with(**key)))?;
    Some(Classification::new(
        ContentType::Listing,
        0.95,
        format!("its URL has ?{key}"),
    ))
}

/// Type of a page below a path segment: `/blog/x` is an article, `/blog` a listing.
fn kind_below(kind: ContentType, is_last: bool, url: &UrlParts, at: usize) -> ContentType {
    match kind {
        ContentType::Article | ContentType::Product if is_last && url.query.is_empty() => {
            ContentType::Listing
        }
        ContentType::Article | ContentType::Product => {
            let below = &url.segments[at + 1..];
            let is_list = below.iter().any(|part| {
                matches!(
                    part.as_str(),
                    "category"
                        | "categories"
                        | "tag"
                        | "tags"
                        | "page"
                        | "author"
                        | "archive"
                        | "kategorie"
                        | "categoria"
                        | "categorie"
                )
            });
            if is_list { ContentType::Listing } else { kind }
        }
        kind => kind,
    }
}

/// Whether a date in the path is followed by a title (`2024/05/a-title`, `2024-05-12-a-title`);
/// `None` without a date.
fn dated(segments: &[String]) -> Option<bool> {
    let number = |text: &str| text.parse::<u32>().ok();
    let is_year = |text: &str| {
        text.len() == 4 && number(text).is_some_and(|year| (1990..2100).contains(&year))
    };
    let is_part = |text: &str| number(text).is_some_and(|part| (1..=31).contains(&part));
    segments.iter().enumerate().find_map(|(at, segment)| {
        let after = &segments[at + 1..];
        if is_year(segment) {
            let n_parts = after
                .iter()
                .take(2)
                .take_while(|part| is_part(part))
                .count();
            return (!after.is_empty()).then_some(n_parts < after.len());
        }
        let mut parts = segment.split('-');
        let is_date = parts.next().is_some_and(is_year) && parts.next().is_some_and(is_part);
        let n_parts = parts.next().map_or(0, |part| usize::from(!is_part(part)));
        is_date.then(|| n_parts > 0 || parts.next().is_some() || !after.is_empty())
    })
}

fn by_anchor(link: &Link) -> Option<Classification> {
    let shown = if link.text.is_empty() {
        &link.label
    } else {
        &link.text
    };
    let mut words = Vec::new();
    each_word(shown, |word| words.push(fold(word)));
    if words.is_empty() || words.len() > ANCHOR_WORDS_MAX {
        return None;
    }
    if words.len() == 1 && words[0].len() <= 3 && words[0].bytes().all(|byte| byte.is_ascii_digit())
    {
        return Some(Classification::new(
            ContentType::Listing,
            0.7,
            "its text is a page number",
        ));
    }
    let anchor = words.join(" ");
    let (content_type, _) = ANCHORS
        .iter()
        .find(|(_, names)| names.contains(&anchor.as_str()))?;
    Some(Classification::new(
        *content_type,
        0.88,
        format!("its text is “{shown}”"),
    ))
}

/// Falls back to the link's region and the shape of the URL.
fn by_surroundings(link: &Link, url: &UrlParts) -> Classification {
    if link.region == Region::Main && (has_price(&link.context) || has_price(&link.text)) {
        return Classification::new(ContentType::Product, 0.6, "it is next to a price");
    }
    let last = url.segments.last().map(String::as_str).unwrap_or_default();
    let n_words = last
        .split(['-', '_'])
        .filter(|word| word.chars().any(char::is_alphabetic))
        .count();
    if n_words >= TITLE_WORDS_MIN {
        return Classification::new(ContentType::Article, 0.6, "its URL ends in a title");
    }
    let n_anchor = link.text.split_whitespace().count();
    if n_anchor > TITLE_WORDS_MIN && link.region == Region::Main && n_words >= 2 {
        return Classification::new(ContentType::Article, 0.5, "its text is a title");
    }
    Classification::new(ContentType::Other, 0.5, "its type is unknown")
}

/// Whether the text contains an amount of money.
fn has_price(text: &str) -> bool {
    let is_beside = |at: usize, len: usize| {
        let before = text[..at].trim_end().chars().next_back();
        let after = text[at + len..].trim_start().chars().next();
        before.is_some_and(|c| c.is_ascii_digit()) || after.is_some_and(|c| c.is_ascii_digit())
    };
    ["€", "$", "£", "EUR", "USD", "CHF", "zł", "₽", "¥"]
        .iter()
        .any(|sign| {
            text.match_indices(sign)
                .any(|(at, sign)| is_beside(at, sign.len()))
        })
}
