//! Attributes that hold URLs, which are made absolute. Decision D351.

use trawl_sdk::{Document, Element, Tag};

/// How an attribute holds URLs.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
enum Form {
    One,
    /// Several, with white space between them.
    List,
    /// Image candidates: URLs, each with a width or a density.
    Candidates,
}

/// The value of an attribute with its URLs made absolute; trimmed as it is if it holds none.
pub(crate) fn value(element: Element<'_>, name: &str, value: &str) -> String {
    let document = element.document();
    let value = value.trim_ascii();
    let absolute = match form_of(element, &name.to_ascii_lowercase(), value) {
        None => None,
        Some(Form::One) => document.resolve(value),
        Some(Form::List) => Some(list(document, value)),
        Some(Form::Candidates) => Some(candidates(document, value)),
    };
    absolute.unwrap_or_else(|| value.to_owned())
}

/// HTML standard, "Attributes", those of type URL; SVG 2; and what scripts that load images late
/// write instead.
fn form_of(element: Element<'_>, name: &str, value: &str) -> Option<Form> {
    match name {
        "action" | "background" | "cite" | "codebase" | "dynsrc" | "formaction" | "href"
        | "itemid" | "longdesc" | "lowsrc" | "manifest" | "poster" | "src" | "xlink:href" => {
            Some(Form::One)
        }
        "ping" => Some(Form::List),
        "srcset" | "imagesrcset" => Some(Form::Candidates),
        "data" if element.tag() == Tag::Object => Some(Form::One),
        "content" if element.tag() == Tag::Meta && is_meta_url(element, value) => Some(Form::One),
        _ => form_of_data(name.strip_prefix("data-")?, value),
    }
}

/// The form of a `data-` attribute, by the last word of its name and the look of its value.
fn form_of_data(name: &str, value: &str) -> Option<Form> {
    if value.starts_with(['#', '[']) || value.contains('{') || value.starts_with("url(") {
        return None;
    }
    let has_blanks = value.contains(|c: char| c.is_ascii_whitespace());
    match name.rsplit('-').next().unwrap_or_default() {
        "srcset" => Some(Form::Candidates),
        _ if has_blanks => None,
        "href" | "src" | "uri" | "url" => Some(Form::One),
        "background" | "bg" | "image" | "img" | "original" | "poster" | "thumb" => {
            is_like_path(value).then_some(Form::One)
        }
        _ => None,
    }
}

/// Whether a value has a slash, or ends like the name of a file: a price does not.
fn is_like_path(value: &str) -> bool {
    let is_extension = |(_, end): (&str, &str)| end.starts_with(|c: char| c.is_ascii_alphabetic());
    value.contains('/') || value.rsplit_once('.').is_some_and(is_extension)
}

/// Whether the `content` of a `meta` is a URL, by what it is the value of: `og:image`,
/// `twitter:player`, `itemprop=thumbnailUrl`.
fn is_meta_url(meta: Element<'_>, value: &str) -> bool {
    const URLS: [&str; 14] = [
        "audio",
        "contenturl",
        "embedurl",
        "image",
        "logo",
        "msapplication-tileimage",
        "player",
        "secure_url",
        "src",
        "stream",
        "thumbnail",
        "thumbnailurl",
        "url",
        "video",
    ];
    let names = ["property", "name", "itemprop"].map(|name| meta.attr(name).unwrap_or_default());
    let mut names = names.iter().flat_map(|name| name.split_ascii_whitespace());
    let is_url = |name: &str| {
        let last = name.rsplit(':').next().unwrap_or_default();
        URLS.contains(&last.to_ascii_lowercase().as_str())
    };
    !value.is_empty() && !value.contains(|c: char| c.is_ascii_whitespace()) && names.any(is_url)
}

fn list(document: &Document<'_>, value: &str) -> String {
    let urls = value.split_ascii_whitespace();
    let urls = urls.map(|url| document.resolve(url).unwrap_or_else(|| url.to_owned()));
    urls.collect::<Vec<_>>().join(" ")
}

/// HTML standard, "Parsing a srcset attribute": a URL ends at white space, and with a comma if it
/// has no descriptor.
fn candidates(document: &Document<'_>, value: &str) -> String {
    let is_between = |c: char| c.is_ascii_whitespace() || c == ',';
    let mut written = String::new();
    let mut rest = value.trim_start_matches(is_between);
    while !rest.is_empty() {
        let end = rest.find(|c: char| c.is_ascii_whitespace());
        let (word, after) = rest.split_at(end.unwrap_or(rest.len()));
        let url = word.trim_end_matches(',');
        let (descriptor, after) = if url.len() < word.len() {
            ("", after)
        } else {
            after.split_at(descriptor_end(after))
        };
        if !written.is_empty() {
            written.push_str(", ");
        }
        written.push_str(&document.resolve(url).unwrap_or_else(|| url.to_owned()));
        for word in descriptor.split_ascii_whitespace() {
            written.push(' ');
            written.push_str(word);
        }
        rest = after.trim_start_matches(is_between);
    }
    written
}

/// Position of the comma that ends a descriptor: one outside brackets.
fn descriptor_end(text: &str) -> usize {
    let mut depth = 0_usize;
    for (at, byte) in text.bytes().enumerate() {
        match byte {
            b'(' => depth += 1,
            b')' => depth = depth.saturating_sub(1),
            b',' if depth == 0 => return at,
            _ => {}
        }
    }
    text.len()
}
