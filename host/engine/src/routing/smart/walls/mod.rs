//! Bot walls: answers that are a challenge instead of the page, which a browser passes by running
//! its scripts.
//!
//! The marks belong to the challenge, not to the vendor: vendors put their scripts into ordinary
//! pages too.

#[cfg(test)]
mod tests;

use std::sync::LazyLock;

use memchr::memmem;

use super::PageSignals;
use super::marks::Marks;
use super::prose::is_waiting;
use super::shape::PageShape;

/// How much of a body is searched for marks. Challenges are small; larger bodies are pages.
const WALL_BYTES_MAX: usize = 64 * 1024;
/// Visible characters from which a good answer is a page whatever its source has: twice what
/// challenges say that come with status 200.
pub(super) const TEXT_PLENTY: usize = 600;
/// Most text of a refusal that a vendor's header marks as a challenge: its reference number and a
/// sentence.
const REFUSAL_BYTES_MAX: usize = 200;
/// Most links, images and fields of one: a logo and a contact.
const REFUSAL_THINGS_MAX: usize = 5;

/// In the source of challenges only, with the rule's name: whose challenge it is.
const CHALLENGE_MARKS: [(&str, &str); 20] = [
    ("_cf_chl_opt", "cloudflare"),
    ("cf-browser-verification", "cloudflare"),
    ("/orchestrate/chl_page", "cloudflare"),
    ("/orchestrate/jsch", "cloudflare"),
    ("captcha-delivery.com", "datadome"),
    // HUMAN, once PerimeterX.
    ("px-captcha", "human"),
    ("gokuProps", "aws"),
    ("sec-if-cpt-container", "akamai"),
    ("/_sec/cp_challenge", "akamai"),
    ("bm-verify=", "akamai"),
    ("triggerInterstitialChallenge", "akamai"),
    // Imperva, once Incapsula.
    ("WUDNSAI=", "imperva"),
    ("onProtectionInitialized", "imperva"),
    ("sucuri_cloudproxy_js", "sucuri"),
    ("/.well-known/sgcaptcha/", "siteground"),
    ("ddos-guard/js-challenge", "ddos_guard"),
    ("/_fs-ch-", "fastly"),
    ("validate.perfdrive.com", "radware"),
    ("/.well-known/vercel/security/", "vercel"),
    (ANUBIS_MARK, "anubis"),
];

/// The widgets that ask a person to prove to be one. Forms have them too.
const WIDGET_MARKS: [&str; 12] = [
    "g-recaptcha",
    "/recaptcha/api.js",
    "h-captcha",
    "hcaptcha.com/1/api.js",
    "cf-turnstile",
    "challenges.cloudflare.com/turnstile/",
    "/recaptcha/enterprise.js",
    // A site's own.
    "id=captcha",
    "id=\"captcha",
    "id='captcha",
    "class=captcha",
    "class=\"captcha",
];
/// What a page asks for that is nothing but such a widget, in lower case.
static WIDGET_WORDS: LazyLock<Marks> = LazyLock::new(|| {
    Marks::new([
        "you are human",
        "you are a human",
        "you're human",
        "you are not a robot",
        "you're not a robot",
        "are you a robot",
        "unusual traffic",
        "automated access",
        "security check",
        "checking your browser",
    ])
});
/// Most text around a widget that is alone on its page.
const WIDGET_BYTES_MAX: usize = 600;
/// Most other links, images and fields: a logo, a contact and the button.
const WIDGET_THINGS_MAX: usize = 4;
const ANUBIS_MARK: &str = "/.within.website/x/cmd/anubis/";

/// Also in ordinary pages of the vendors' customers: they are evidence only if there is no other
/// content.
const VENDOR_MARKS: [&str; 7] = [
    "awsWafCookieDomainList",
    "_Incapsula_Resource",
    "datadome",
    "/cdn-cgi/challenge-platform/",
    "KPSDK",
    "/TSPD/",
    "_pxAppId",
];

/// What several marks have in common: each stands for those that contain it.
const COMMON_PARTS: [&str; 3] = ["captcha", "turnstile", "/orchestrate/"];

/// Something of every mark that a challenge may have: a page without any of it is none, unless its
/// headers say so. Few enough to be searched for at once, many bytes at a time.
static MARK_PARTS: LazyLock<Marks> = LazyLock::new(|| {
    let challenge = CHALLENGE_MARKS.into_iter().map(|(mark, _)| mark);
    let marks = challenge.chain(VENDOR_MARKS).chain(WIDGET_MARKS);
    let has_no_part = |mark: &&str| COMMON_PARTS.iter().all(|part| !mark.contains(part));
    Marks::new(COMMON_PARTS.into_iter().chain(marks.filter(has_no_part)))
});
/// The search for [`VENDOR_MARKS`].
static VENDOR_SEARCH: LazyLock<Marks> = LazyLock::new(|| Marks::new(VENDOR_MARKS));

/// Whose challenge the headers announce, so that the body need not be examined.
pub(super) fn announced(signals: &PageSignals<'_>) -> Option<&'static str> {
    signals
        .headers
        .iter()
        .find_map(|(name, value)| match name.as_str() {
            "cf-mitigated" => is_value(value, &["challenge"]).then_some("cloudflare"),
            "x-vercel-mitigated" => is_value(value, &["challenge"]).then_some("vercel"),
            "x-amzn-waf-action" => is_value(value, &["challenge", "captcha"]).then_some("aws"),
            // Anubis explains itself at length and with status 200; it deletes its cookie when it
            // does.
            "set-cookie" => {
                let is_own = value.starts_with("techaro.lol-anubis");
                (is_own && has_mark(head(signals.body), ANUBIS_MARK)).then_some("anubis")
            }
            _ => None,
        })
}

fn is_value(value: &str, known: &[&str]) -> bool {
    known
        .iter()
        .any(|known| value.trim().eq_ignore_ascii_case(known))
}

/// Whether walls answer with this status. 202 is not a refusal elsewhere, but hardly any page has
/// it.
pub(super) fn is_refusal(status: u16) -> bool {
    matches!(status, 202 | 403 | 405 | 406 | 429 | 503)
}

/// Whether a page with little text is a challenge.
pub(super) fn is_challenge(signals: &PageSignals<'_>, shape: &PageShape) -> bool {
    challenge(signals, shape).is_some()
}

/// Whether a page may be a challenge, whatever its text and shape. Nearly all pages may not, and
/// need no closer look.
pub(super) fn may_be_challenge(signals: &PageSignals<'_>) -> bool {
    has_vendors_header(signals) || MARK_PARTS.are_in(head(signals.body))
}

/// Whose challenge a page with little text is; `None` if it is none.
pub(super) fn challenge(signals: &PageSignals<'_>, shape: &PageShape) -> Option<&'static str> {
    if !may_be_challenge(signals) {
        return None;
    }
    let words = shape.prose.bytes();
    let head = head(signals.body);
    let marked = CHALLENGE_MARKS
        .iter()
        .find(|(mark, _)| has_mark(head, mark) && !is_spoken(words, mark));
    if let Some((_, rule)) = marked {
        return Some(rule);
    }
    let is_bare = is_waiting(words) && shape.n_things <= 1 && !shape.scripts.is_empty();
    if is_bare && VENDOR_SEARCH.are_in(head) {
        return Some("script_of_a_vendor");
    }
    if is_vendors_refusal(signals, shape) {
        return Some("refusal_of_a_vendor");
    }
    is_lone_widget(head, shape).then_some("human_check")
}

/// A page that is a human check and nothing else. A form that is protected by one has fields, a
/// page about them has text.
fn is_lone_widget(head: &[u8], shape: &PageShape) -> bool {
    let words = shape.prose.bytes();
    words.len() <= WIDGET_BYTES_MAX
        && shape.n_fields == 0
        && shape.n_things <= WIDGET_THINGS_MAX
        && WIDGET_WORDS.are_in(words)
        && WIDGET_MARKS
            .iter()
            .any(|mark| has_mark(head, mark) && !is_spoken(words, mark))
}

/// A page may speak of a mark, which does not make it one.
fn is_spoken(words: &[u8], mark: &str) -> bool {
    has_mark(words, &mark.to_ascii_lowercase())
}

/// A refusal with next to no text, a script, and a header or cookie of a vendor whose script
/// inspects the client.
fn is_vendors_refusal(signals: &PageSignals<'_>, shape: &PageShape) -> bool {
    let is_small = shape.prose.bytes().len() <= REFUSAL_BYTES_MAX
        && shape.n_things <= REFUSAL_THINGS_MAX
        && !shape.scripts.is_empty();
    is_small && has_vendors_header(signals)
}

/// Whether a refusal has a header or cookie of such a vendor.
fn has_vendors_header(signals: &PageSignals<'_>) -> bool {
    let is_vendors = |name: &str, value: &str| match name {
        "x-kpsdk-ct" | "x-datadome" | "x-dd-b" => true,
        "set-cookie" => ["ak_bmsc=", "_abck=", "bm_sz="]
            .iter()
            .any(|cookie| value.starts_with(cookie)),
        _ => false,
    };
    let mut headers = signals.headers.iter();
    is_refusal(signals.status) && headers.any(|(name, value)| is_vendors(name, value))
}

/// Whether a mark is in it, letter by letter.
fn has_mark(source: &[u8], mark: &str) -> bool {
    memmem::find(source, mark.as_bytes()).is_some()
}

/// Whether a body is larger than any challenge.
pub(super) fn is_too_large(body: &[u8]) -> bool {
    body.len() > 2 * WALL_BYTES_MAX
}

fn head(body: &[u8]) -> &[u8] {
    &body[..body.len().min(WALL_BYTES_MAX)]
}
