//! Expressions that yield data: literals, `JSON.parse("…")`, and their wrappers.

use base64::Engine;
use base64::alphabet::STANDARD;
use base64::engine::general_purpose::{GeneralPurpose, NO_PAD};
use percent_encoding::percent_decode_str;
use serde::de::IgnoredAny;
use serde_json::Value;
use trawl_embedded::{Budget, Names, Prefix, after_group, is_word_byte};

use crate::nuxt;

/// Maximum number of nested wrappers around a value.
const WRAPPERS_MAX: usize = 8;

/// Up to one in this many parts of a value may be code; with more it is a program.
const CODE_SHARE: usize = 3;

/// Base64 as browsers read it: the bits after the last byte may have any value.
const LENIENT: GeneralPurpose =
    GeneralPurpose::new(&STANDARD, NO_PAD.with_decode_allow_trailing_bits(true));

/// Result of reading an expression.
pub(crate) struct Found {
    /// A non-empty object or array; otherwise `None`.
    pub(crate) value: Option<Value>,
    /// Number of bytes read.
    pub(crate) end: usize,
}

/// Reads the data of an expression.
pub(crate) fn value(text: &str, budget: &mut Budget) -> Found {
    let mut at = 0;
    for _ in 0..WRAPPERS_MAX {
        at = text.len() - text[at..].trim_ascii_start().len();
        let rest = &text[at..];
        let Some(&first) = rest.as_bytes().first() else {
            break;
        };
        match first {
            b'{' | b'[' => return literal(text, at, budget),
            b'"' | b'\'' | b'`' => return encoded(text, at, false, budget),
            b'(' => match nuxt::call(rest, budget) {
                Ok(found) => {
                    let value = some_data(found.value);
                    return Found {
                        value,
                        end: at + found.end,
                    };
                }
                Err(0) => at += 1,
                Err(end) => {
                    return Found {
                        value: None,
                        end: at + end,
                    };
                }
            },
            _ if is_word_byte(first) => match after_wrapper(rest) {
                Wrapper::Parse(length) => return encoded(text, at + length, true, budget),
                Wrapper::Other(length) => at += length,
                Wrapper::None => break,
            },
            _ => break,
        }
    }
    Found {
        value: None,
        end: at,
    }
}

enum Wrapper {
    /// `JSON.parse(` and what may surround its argument.
    Parse(usize),
    /// `Object.freeze(`, `A ||`, `B =`: the data starts after this many bytes.
    Other(usize),
    None,
}

fn after_wrapper(text: &str) -> Wrapper {
    let length = after_path(text, 0);
    let path = &text[..length];
    let rest = text[length..].trim_ascii_start();
    let at_rest = text.len() - rest.len();
    if let Some(argument) = rest.strip_prefix('(') {
        let at_argument = text.len() - argument.len();
        return match path {
            "JSON.parse" | "window.JSON.parse" | "$.parseJSON" | "jQuery.parseJSON" => {
                Wrapper::Parse(at_argument)
            }
            "Object.freeze" | "Object.seal" | "Immutable.fromJS" | "structuredClone" => {
                Wrapper::Other(at_argument)
            }
            _ => Wrapper::None,
        };
    }
    match rest.as_bytes() {
        [b'|', b'|', ..] | [b'?', b'?', ..] => Wrapper::Other(at_rest + 2),
        [b'=', next, ..] if !matches!(next, b'=' | b'>') => Wrapper::Other(at_rest + 1),
        _ => Wrapper::None,
    }
}

/// End of the name at `at`, including dotted properties.
pub(crate) fn after_path(text: &str, at: usize) -> usize {
    let is_part = |&byte: &u8| is_word_byte(byte) || byte == b'.';
    let length = text.as_bytes()[at..]
        .iter()
        .take_while(|&byte| is_part(byte))
        .count();
    at + length
}

fn literal(text: &str, at: usize, budget: &mut Budget) -> Found {
    literal_with(text, at, &[], budget).unwrap_or_else(|| Found {
        value: None,
        end: after_group(text, at),
    })
}

/// Reads a literal in which these names have values.
pub(crate) fn literal_with(
    text: &str,
    at: usize,
    names: &Names<'_>,
    budget: &mut Budget,
) -> Option<Found> {
    let Prefix {
        value,
        end,
        n_values,
        n_opaque,
    } = trawl_embedded::prefix_with(&text[at..], names, budget)?;
    let is_data = n_opaque * CODE_SHARE <= n_values;
    Some(Found {
        value: some_data(value).filter(|_| is_data),
        end: at + end,
    })
}

/// Reads a string that contains JSON, along with decoding calls around it. Only a string that is
/// valid JSON is data, as in a browser; outside `JSON.parse` it must look like JSON, too.
fn encoded(text: &str, at: usize, is_parsed: bool, budget: &mut Budget) -> Found {
    let rest = text[at..].trim_ascii_start();
    let start = text.len() - rest.len();
    let (decoding, string_at) = match after_path(rest, 0) {
        0 => ("", start),
        length => match rest[length..].trim_ascii_start().strip_prefix('(') {
            Some(argument) => {
                let argument = argument.trim_ascii_start();
                (&rest[..length], text.len() - argument.len())
            }
            None => {
                return Found {
                    value: None,
                    end: start,
                };
            }
        },
    };
    let Some(Prefix {
        value: Value::String(string),
        end,
        ..
    }) = text[string_at..]
        .starts_with(['"', '\'', '`'])
        .then(|| trawl_embedded::prefix(&text[string_at..], budget))
        .flatten()
    else {
        return Found {
            value: None,
            end: start,
        };
    };
    let end = string_at + end;
    let is_like_json = string.trim_ascii_start().starts_with(['{', '[']);
    let is_escaped = string.starts_with("%7B") || string.starts_with("%5B");
    let json = match decoding.rsplit('.').next().unwrap_or_default() {
        "atob" => base64_text(&string),
        "decodeURIComponent" | "decodeURI" | "unescape" => Some(percent_decoded(&string)),
        _ if is_escaped => Some(percent_decoded(&string)),
        _ if is_parsed || is_like_json => Some(string),
        _ => None,
    };
    let json = json.filter(|json| serde_json::from_str::<IgnoredAny>(json).is_ok());
    let value = json.and_then(|json| {
        trawl_embedded::read_within(&json, budget)
            .into_iter()
            .next()
    });
    Found {
        value: value.and_then(some_data),
        end,
    }
}

/// The value if it is a non-empty object or array.
pub(crate) fn some_data(value: Value) -> Option<Value> {
    let has_data = match &value {
        Value::Object(map) => !map.is_empty(),
        Value::Array(values) => !values.is_empty(),
        _ => false,
    };
    has_data.then_some(value)
}

fn percent_decoded(text: &str) -> String {
    percent_decode_str(text).decode_utf8_lossy().into_owned()
}

/// Decodes base64 in either alphabet; `None` if it is invalid.
fn base64_text(text: &str) -> Option<String> {
    let text = text.split('=').next()?;
    let text = text.replace('-', "+").replace('_', "/");
    String::from_utf8(LENIENT.decode(text).ok()?).ok()
}
