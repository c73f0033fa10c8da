//! Checks e-mail addresses: file names of images, package versions and form samples only look like
//! one.

use crate::people::fold::plain_word;
use crate::phones::Region;
use crate::words::{
    JOINED_NAME_PLACEHOLDERS, NAME_PLACEHOLDERS, SAMPLE_DOMAINS, SAMPLE_LOCAL_PARTS, SAMPLE_MARKS,
    SAMPLE_ONLY_DOMAINS, TOP_LEVEL_DOMAINS,
};

/// How an e-mail address appears on a page.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum Trust {
    /// In a link or in structured data.
    Declared,
    /// In a text or as the result of a script.
    Shown,
}

/// Limits of RFC 5321, section 4.5.3.1.
const LOCAL_BYTES_MAX: usize = 64;
const ADDRESS_BYTES_MAX: usize = 254;
const LABEL_BYTES_MAX: usize = 63;
/// Minimum hexadecimal digits of a local part that is the key of a service.
const KEY_DIGITS_MIN: usize = 20;

/// File extensions that follow an `@` in names of images and packages.
const FILES: [&str; 26] = [
    "png", "jpg", "jpeg", "gif", "webp", "avif", "svg", "ico", "bmp", "tif", "tiff", "css", "scss",
    "js", "mjs", "ts", "tsx", "jsx", "json", "html", "xml", "woff", "woff2", "ttf", "mp4", "webm",
];

/// Top-level domains that receive no mail.
const NOWHERE: [&str; 5] = ["local", "internal", "lan", "localdomain", "invalid"];

/// Top-level domains of two letters that are no region of the numbering plans.
const TWO_LETTERS: [&str; 14] = [
    "uk", "eu", "su", "aq", "bv", "gs", "hm", "pn", "tf", "um", "cs", "yu", "an", "sj",
];

/// The e-mail address with its domain in lower case; `None` for anything else.
pub(crate) fn address(text: &str, trust: Trust) -> Option<String> {
    let text = text.trim().trim_matches(['<', '>', '"', '\u{200b}']);
    let (local, domain) = text.rsplit_once('@')?;
    let (local, domain) = without_trap(local, domain);
    let domain = domain.trim_end_matches(['.', '-', '_']).to_lowercase();
    let is_address = local.len() + domain.len() < ADDRESS_BYTES_MAX
        && is_local(&local, trust)
        && is_domain(&domain, trust);
    (is_address && !is_sample_address(&local, &domain, trust)).then(|| format!("{local}@{domain}"))
}

/// Removes spam traps that readers have to remove: `info@NOSPAM.acme.de`.
fn without_trap(local: &str, domain: &str) -> (String, String) {
    let mut parts = (local.to_owned(), domain.to_owned());
    for trap in ["NOSPAM", "NO-SPAM", "REMOVETHIS", "REMOVE-THIS", "REMOVE"] {
        for part in [&mut parts.0, &mut parts.1] {
            if let Some(at) = part.find(trap) {
                part.replace_range(at..at + trap.len(), "");
                *part = part.trim_matches(['.', '-', '_', '+']).replace("..", ".");
            }
        }
    }
    parts
}

fn is_local(local: &str, trust: Trust) -> bool {
    let is_allowed = |c: char| c.is_ascii_alphanumeric() || "!#$%&'*+/=?^_`{|}~-.".contains(c);
    let is_plain = |c: char| c.is_alphanumeric() || "._%+'&-".contains(c);
    let is_good = match trust {
        Trust::Declared => local.chars().all(|c| is_allowed(c) || c.is_alphanumeric()),
        Trust::Shown => local.chars().all(is_plain) && !local.contains('%'),
    };
    let is_key = local.len() >= KEY_DIGITS_MIN
        && local.bytes().all(|byte| byte.is_ascii_hexdigit())
        && local.bytes().any(|byte| byte.is_ascii_digit());
    is_good
        && (1..=LOCAL_BYTES_MAX).contains(&local.len())
        && !local.starts_with('.')
        && !local.ends_with('.')
        && !local.contains("..")
        && !is_key
        && local.chars().any(char::is_alphanumeric)
}

fn is_domain(domain: &str, trust: Trust) -> bool {
    let is_label = |label: &str| {
        (1..=LABEL_BYTES_MAX).contains(&label.len())
            && label.chars().all(|c| c.is_alphanumeric() || c == '-')
            && !label.starts_with('-')
            && !label.ends_with('-')
    };
    let Some((rest, top)) = domain.rsplit_once('.') else {
        return false;
    };
    domain.split('.').all(is_label) && rest.chars().any(char::is_alphanumeric) && is_top(top, trust)
}

/// Whether a top-level domain exists; a declared address may have a rare one.
pub(super) fn is_top(top: &str, trust: Trust) -> bool {
    if FILES.contains(&top) || NOWHERE.contains(&top) {
        return false;
    }
    if top.starts_with("xn--") {
        return true;
    }
    if !top.chars().all(char::is_alphabetic) {
        return false;
    }
    match top.len() {
        0 | 1 => false,
        2 => TWO_LETTERS.contains(&top) || Region::of(&top.to_ascii_uppercase()).is_some(),
        _ if !top.is_ascii() => true,
        _ => trust == Trust::Declared || TOP_LEVEL_DOMAINS.has(top),
    }
}

/// Whether a local part is a pattern for local parts: `firstname.lastname`, `v.nachname`.
pub(super) fn is_pattern(local: &str) -> bool {
    let mut n_parts = 0;
    let mut n_placeholders = 0;
    for part in local.split(['.', '-', '_']) {
        let part = plain_word(part);
        let is_placeholder = part.len() > 1 && NAME_PLACEHOLDERS.has(&part);
        if !is_placeholder && part.chars().count() != 1 {
            return n_parts == 0 && JOINED_NAME_PLACEHOLDERS.has(&part);
        }
        n_parts += 1;
        n_placeholders += usize::from(is_placeholder);
    }
    n_parts > 1 && n_placeholders > 0
}

fn is_sample_address(local: &str, domain: &str, trust: Trust) -> bool {
    if domain.ends_with(".ingest.sentry.io") || SAMPLE_ONLY_DOMAINS.has(domain) {
        return true;
    }
    let local = local.to_lowercase();
    trust == Trust::Shown && SAMPLE_LOCAL_PARTS.has(&local) && SAMPLE_DOMAINS.has(domain)
}

/// Whether the words in front of an e-mail address mark it as an example.
pub(super) fn is_sample(address: &str, before: &str) -> bool {
    let domain = address.rsplit('@').next().unwrap_or_default();
    if !SAMPLE_DOMAINS.has(domain) && !domain.ends_with(".example") {
        return false;
    }
    let start = before.ceil_char_boundary(before.len().saturating_sub(20));
    let near = before[start..].to_lowercase();
    let near = near.trim_end_matches([' ', '"', '\'', '(', '„', '“', '<']);
    SAMPLE_MARKS.ends(near)
}
