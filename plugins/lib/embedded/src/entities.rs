//! Decodes character references in text that was not parsed as HTML.

use std::borrow::Cow;

/// Maximum length of a reference's name or number, in bytes, without `&` and `;`.
const REFERENCE_BYTES_MAX: usize = 10;

/// Named references that occur in data, with their characters.
const NAMES: [(&str, &str); 24] = [
    ("quot", "\""),
    ("amp", "&"),
    ("apos", "'"),
    ("lt", "<"),
    ("gt", ">"),
    ("nbsp", "\u{a0}"),
    ("rsquo", "\u{2019}"),
    ("lsquo", "\u{2018}"),
    ("rdquo", "\u{201d}"),
    ("ldquo", "\u{201c}"),
    ("ndash", "\u{2013}"),
    ("mdash", "\u{2014}"),
    ("hellip", "\u{2026}"),
    ("bull", "\u{2022}"),
    ("middot", "\u{b7}"),
    ("copy", "\u{a9}"),
    ("reg", "\u{ae}"),
    ("trade", "\u{2122}"),
    ("deg", "\u{b0}"),
    ("euro", "\u{20ac}"),
    ("pound", "\u{a3}"),
    ("laquo", "\u{ab}"),
    ("raquo", "\u{bb}"),
    ("eacute", "\u{e9}"),
];

/// Decodes numeric character references (`&#8217;`, `&#x27;`) and common named ones (`&quot;`);
/// leaves others unchanged.
pub fn decode_entities(text: &str) -> Cow<'_, str> {
    let Some(first) = text.find('&') else {
        return Cow::Borrowed(text);
    };
    let mut decoded = String::with_capacity(text.len());
    decoded.push_str(&text[..first]);
    let mut rest = &text[first..];
    while let Some(at) = rest.find('&') {
        decoded.push_str(&rest[..at]);
        let reference = &rest[at + 1..];
        rest = match read(reference) {
            Some((meaning, length)) => {
                decoded.push_str(&meaning);
                &reference[length..]
            }
            None => {
                decoded.push('&');
                reference
            }
        };
    }
    decoded.push_str(rest);
    Cow::Owned(decoded)
}

/// Decodes the reference after an ampersand: its text, and its length including the semicolon.
fn read(reference: &str) -> Option<(Cow<'static, str>, usize)> {
    let head = &reference.as_bytes()[..reference.len().min(REFERENCE_BYTES_MAX + 1)];
    let end = head.iter().position(|&byte| byte == b';')?;
    let name = &reference[..end];
    let meaning = match name.strip_prefix('#') {
        Some(number) => {
            let code = match number.strip_prefix(['x', 'X']) {
                Some(hex) => u32::from_str_radix(hex, 16),
                None => number.parse(),
            };
            Cow::Owned(char::from_u32(code.ok()?)?.to_string())
        }
        None => Cow::Borrowed(NAMES.iter().find(|(known, _)| *known == name)?.1),
    };
    Some((meaning, end + 1))
}

#[cfg(test)]
mod tests {
    use super::decode_entities;

    #[test]
    fn references_are_decoded_and_other_ampersands_kept() {
        for (text, expected) in [
            ("plain", "plain"),
            ("Tom &amp; Jerry&#039;s &#x2019;", "Tom & Jerry's \u{2019}"),
            ("a && b &unknown; &", "a && b &unknown; &"),
            ("&#1114112; &é;", "&#1114112; &é;"),
            ("&amp;quot;", "&quot;"),
        ] {
            assert_eq!(decode_entities(text), expected);
        }
    }
}
