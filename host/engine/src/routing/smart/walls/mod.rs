//! Bot walls: answers that are a challenge instead of the page, which a browser passes by running
//! its scripts.
//!
//! The marks are those of the challenge, not of the vendor: vendors put their scripts into ordinary
//! pages too.

#[cfg(test)]
mod tests;

use super::Clues;
use super::prose::{has_any, is_waiting};
use super::shape::Shape;

/// How much of a body is searched for marks. Challenges are small; larger bodies are pages.
const WALL_BYTES_MAX: usize = 64 * 1024;
/// Most text of a refusal that a vendor's header marks as a challenge: its reference number and a
/// sentence.
const REFUSAL_BYTES_MAX: usize = 200;
/// Most links, images and fields of one: a logo and a contact.
const REFUSAL_THINGS_MAX: usize = 5;

/// In the source of challenges only.
const CHALLENGE_MARKS: [&str; 20] = [
    // Cloudflare
    "_cf_chl_opt",
    "cf-browser-verification",
    "/orchestrate/chl_page",
    "/orchestrate/jsch",
    // DataDome
    "captcha-delivery.com",
    // HUMAN, once PerimeterX
    "px-captcha",
    // AWS
    "gokuProps",
    // Akamai
    "sec-if-cpt-container",
    "/_sec/cp_challenge",
    "bm-verify=",
    "triggerInterstitialChallenge",
    // Imperva, once Incapsula
    "WUDNSAI=",
    "onProtectionInitialized",
    // Sucuri, SiteGround, DDoS-Guard, Fastly, Radware
    "sucuri_cloudproxy_js",
    "/.well-known/sgcaptcha/",
    "ddos-guard/js-challenge",
    "/_fs-ch-",
    "validate.perfdrive.com",
    // Vercel, Anubis
    "/.well-known/vercel/security/",
    ANUBIS_MARK,
];
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

/// Whether the headers announce a challenge, so that the body need not be examined.
pub(super) fn is_announced(clues: &Clues<'_>) -> bool {
    clues
        .headers
        .iter()
        .any(|(name, value)| match name.as_str() {
            "cf-mitigated" | "x-vercel-mitigated" => is_value(value, &["challenge"]),
            "x-amzn-waf-action" => is_value(value, &["challenge", "captcha"]),
            // Anubis explains itself at length and with status 200; it deletes its cookie when it
            // does.
            "set-cookie" => {
                value.starts_with("techaro.lol-anubis") && has_any(head(clues.body), &[ANUBIS_MARK])
            }
            _ => false,
        })
}

fn is_value(value: &str, known: &[&str]) -> bool {
    known
        .iter()
        .any(|known| value.trim().eq_ignore_ascii_case(known))
}

/// Whether walls answer with this status. 202 is no refusal elsewhere, but hardly any page has it.
pub(super) fn is_refusal(status: u16) -> bool {
    matches!(status, 202 | 403 | 405 | 406 | 429 | 503)
}

/// Whether a page with little text is a challenge.
pub(super) fn is_challenge(clues: &Clues<'_>, shape: &Shape) -> bool {
    let words = shape.prose.bytes();
    let head = head(clues.body);
    let is_marked = CHALLENGE_MARKS
        .iter()
        .any(|mark| has_any(head, &[mark]) && !is_spoken(words, mark));
    let is_bare = is_waiting(words) && shape.n_things <= 1 && !shape.scripts.is_empty();
    is_marked || (is_bare && has_any(head, &VENDOR_MARKS)) || is_vendors_refusal(clues, shape)
}

/// A page may speak of a mark, which does not make it one.
fn is_spoken(words: &[u8], mark: &str) -> bool {
    has_any(words, &[&mark.to_ascii_lowercase()])
}

/// A refusal with next to no text, a script, and a header or cookie of a vendor whose script
/// inspects the client.
fn is_vendors_refusal(clues: &Clues<'_>, shape: &Shape) -> bool {
    let is_small = shape.prose.bytes().len() <= REFUSAL_BYTES_MAX
        && shape.n_things <= REFUSAL_THINGS_MAX
        && !shape.scripts.is_empty();
    let is_vendors = |name: &str, value: &str| match name {
        "x-kpsdk-ct" | "x-datadome" | "x-dd-b" => true,
        "set-cookie" => ["ak_bmsc=", "_abck=", "bm_sz="]
            .iter()
            .any(|cookie| value.starts_with(cookie)),
        _ => false,
    };
    is_refusal(clues.status)
        && is_small
        && clues
            .headers
            .iter()
            .any(|(name, value)| is_vendors(name, value))
}

fn head(body: &[u8]) -> &[u8] {
    &body[..body.len().min(WALL_BYTES_MAX)]
}
