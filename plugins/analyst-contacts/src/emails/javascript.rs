//! E-mail addresses that scripts assemble, found without executing them.

use trawl_embedded::decode_entities;

use super::evaluate::{self, Made};
use super::values::Budget;
use super::verify::{Trust, address};
use super::{decode, text};

/// Maximum size of a script that is evaluated, in bytes: obfuscation code is short.
const SCRIPT_BYTES_MAX: usize = 200_000;

/// Signs of obfuscation; a longer script without any of them is skipped.
const SIGNS: [&str; 10] = [
    "fromCharCode",
    "atob(",
    "document.write",
    "mailto",
    "ailto",
    "innerHTML",
    "reverse()",
    "location",
    "rot13",
    "CryptMailto",
];

/// Maximum size of a script whose data is read, and bytes in front of an e-mail address that are
/// searched for its key.
const STATE_BYTES_MAX: usize = 2_000_000;
const KEY_BYTES: usize = 60;

/// Calls `found` with each e-mail address under a key for one: `"email":"info@acme.de"`.
pub(super) fn scan_state(script: &str, found: &mut dyn FnMut(&str)) {
    if script.len() > STATE_BYTES_MAX || !script.contains('@') {
        return;
    }
    text::scan(script, &mut |address, before| {
        if is_keyed(before) {
            found(address);
        }
    });
}

/// Whether a text ends with a key for e-mail addresses and an opening quote.
fn is_keyed(before: &str) -> bool {
    let near = &before[before.floor_char_boundary(before.len().saturating_sub(KEY_BYTES))..];
    let Some(key) = near
        .strip_suffix(['"', '\''])
        .map(|near| near.trim_end_matches('\\').trim_end())
        .and_then(|near| near.strip_suffix([':', '=']))
    else {
        return false;
    };
    let key = key
        .trim_end_matches([' ', '"', '\'', '\\', '='])
        .rsplit(|c: char| !(c.is_alphanumeric() || matches!(c, '_' | '-')))
        .next()
        .unwrap_or_default()
        .to_lowercase();
    ["mail", "correo", "courriel", "epost"]
        .iter()
        .any(|word| key.contains(word))
        && !["placeholder", "example", "sample", "pattern"]
            .iter()
            .any(|word| key.contains(word))
}

/// Calls `found` with each e-mail address; `budget` limits the work for all scripts of the page.
pub(super) fn scan(script: &str, budget: &mut Budget, found: &mut dyn FnMut(&str)) {
    if script.len() > SCRIPT_BYTES_MAX
        || !SIGNS.iter().any(|sign| script.contains(sign)) && script.len() > 2_000
    {
        return;
    }
    let Made { texts, calls } = evaluate::run(script, budget);
    for made in &texts {
        let decoded = decode_entities(made);
        text::scan(&decoded, &mut |address, _| found(address));
        super::spoken::scan(&decoded, &mut |address| found(address));
        let is_turned = decoded.starts_with(':') || decoded.contains(":otliam");
        if is_turned {
            text::scan(&decode::reversed(&decoded), &mut |address, _| {
                found(address)
            });
        }
    }
    for (name, argument) in &calls {
        let name = name.to_ascii_lowercase();
        let decoded = match argument.as_str() {
            text if name.contains("rot13") => Some(decode::rot13(text)),
            text if name.contains("rev") => Some(decode::reversed(text)),
            text if name.contains("crypt") || name.contains("decod") || name.contains("mail") => {
                decode::typo3(text).or_else(|| decode::hidden(text).map(|(address, _)| address))
            }
            _ => None,
        };
        if let Some(decoded) = decoded {
            let plain = decoded.strip_prefix("mailto:").unwrap_or(&decoded);
            if address(plain, Trust::Shown).is_some() {
                found(plain);
            } else {
                text::scan(&decoded, &mut |address, _| found(address));
            }
        }
    }
}
