//! Checks e-mail addresses: file names of images, package versions and form samples only look like
//! one.

use analyst_base::lists;

use crate::phones::Region;
use crate::words::{NOWHERE, PLACEHOLDERS, SAMPLE_DOMAINS, SAMPLES, TOP_LEVEL_DOMAINS};

/// How an e-mail address appears on a page.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum Trust {
    /// In a link or in structured data.
    Declared,
    /// In a text or an attribute.
    Shown,
}

/// Limits of RFC 5321, section 4.5.3.1.
const LOCAL_BYTES_MAX: usize = 64;
const ADDRESS_BYTES_MAX: usize = 254;
const LABEL_BYTES_MAX: usize = 63;
/// Minimum hexadecimal digits of a local part that is the key of a service.
const KEY_DIGITS_MIN: usize = 20;

/// File extensions that follow an `@` in names of images and packages, and top-level domains that
/// receive no mail.
const NO_TOPS: &str = "png jpg jpeg gif webp avif svg ico bmp tif tiff css scss js mjs ts tsx jsx \
    json html xml woff woff2 ttf mp4 webm local internal lan localdomain invalid";

/// Top-level domains of two letters that are not regions of the numbering plans.
const TWO_LETTERS: &str = "uk eu su aq bv gs hm pn tf um cs yu an sj";

/// Words in front of an e-mail address that is an example.
const SAMPLE_MARKS: [&str; 9] = [
    "ex.:",
    "beispiel:",
    "z. b.",
    "z.b.",
    "e.g.",
    "e.g.,",
    "example:",
    "for example",
    "such as",
];

/// The e-mail address with its domain in lower case; `None` for anything else.
pub(crate) fn address(text: &str, trust: Trust) -> Option<String> {
    let text = text.trim().trim_matches(['<', '>', '"', '\u{200b}']);
    let (local, domain) = text.rsplit_once('@')?;
    let (local, domain) = (without_trap(local), without_trap(domain));
    let domain = domain.trim_end_matches(['.', '-', '_']).to_lowercase();
    let is_address = local.len() + domain.len() < ADDRESS_BYTES_MAX
        && is_local(&local, trust)
        && is_domain(&domain, trust)
        && !is_sample_address(&local, &domain, trust);
    is_address.then(|| format!("{local}@{domain}"))
}

/// Removes spam traps that readers have to remove: `info@NOSPAM.acme.de`.
fn without_trap(part: &str) -> String {
    let traps = ["NOSPAM", "NO-SPAM", "REMOVETHIS", "REMOVE-THIS", "REMOVE"];
    match traps.iter().find(|trap| part.contains(**trap)) {
        Some(trap) => {
            let part = part.replacen(trap, "", 1).replace("..", ".");
            part.trim_matches(['.', '-', '_', '+']).to_owned()
        }
        None => part.to_owned(),
    }
}

fn is_local(local: &str, trust: Trust) -> bool {
    let signs = match trust {
        Trust::Declared => "!#$%&'*+/=?^_`{|}~-.",
        Trust::Shown => "._+'&-",
    };
    let is_key = local.len() >= KEY_DIGITS_MIN
        && local.bytes().all(|byte| byte.is_ascii_hexdigit())
        && local.bytes().any(|byte| byte.is_ascii_digit());
    local
        .chars()
        .all(|c| c.is_alphanumeric() || signs.contains(c))
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
fn is_top(top: &str, trust: Trust) -> bool {
    if lists(NO_TOPS, top) {
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
        2 => lists(TWO_LETTERS, top) || Region::of(&top.to_ascii_uppercase()).is_some(),
        _ if !top.is_ascii() => true,
        _ => trust == Trust::Declared || lists(TOP_LEVEL_DOMAINS, top),
    }
}

/// Whether the local part is a pattern for local parts: `firstname.lastname`, `v.nachname`.
pub(super) fn is_pattern(address: &str) -> bool {
    let local = address.split('@').next().unwrap_or_default().to_lowercase();
    let parts = || local.split(['.', '-', '_']);
    let is_placeholder = |part: &str| part.len() > 1 && lists(PLACEHOLDERS, part);
    let n_parts = parts().count();
    let is_joined = n_parts == 1 && local.len() > 8 && is_placeholder(&local);
    let are_all = parts().all(|part| part.chars().count() == 1 || is_placeholder(part));
    is_joined || n_parts > 1 && are_all && parts().any(is_placeholder)
}

fn is_sample_address(local: &str, domain: &str, trust: Trust) -> bool {
    domain.ends_with(".ingest.sentry.io")
        || lists(NOWHERE, domain)
        || trust == Trust::Shown
            && lists(SAMPLES, &local.to_lowercase())
            && lists(SAMPLE_DOMAINS, domain)
}

/// Whether the words in front of an e-mail address mark it as an example.
pub(super) fn is_sample(address: &str, before: &str) -> bool {
    let domain = address.rsplit('@').next().unwrap_or_default();
    if !lists(SAMPLE_DOMAINS, domain) && !domain.ends_with(".example") {
        return false;
    }
    let start = before.ceil_char_boundary(before.len().saturating_sub(20));
    let near = before[start..].to_lowercase();
    let near = near.trim_end_matches([' ', '"', '\'', '(', '„', '“', '<']);
    SAMPLE_MARKS.iter().any(|mark| near.ends_with(mark))
}
