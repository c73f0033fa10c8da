//! Addresses that scripts put together: what they write, without running them.

use trawl_sdk::embedded::decode_entities;

use super::evaluate::{self, Made};
use super::values::Budget;
use super::verify::{Trust, address};
use super::{decode, text};

/// Longest script that is read, in bytes: what hides an address is short.
const SCRIPT_BYTES_MAX: usize = 200_000;

/// What a script must hold one of to be read at all.
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

/// Calls `found` with each address; `budget` is what the scripts of the page may make.
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
