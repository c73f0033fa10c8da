//! Which request headers a caller may set. Pure, so that `plan` can refuse and `fetch` can rely on
//! it.

use http::{HeaderName, HeaderValue};

/// Bytes of one caller header, name and value together: what common servers accept for a line.
pub const HEADER_BYTES_MAX: usize = 8 * 1024;

/// Headers that describe the connection or the message, not the request: only the server may set
/// them. RFC 9110 section 7.6.1 names the hop-by-hop ones; two spellings of a length or a host are
/// how requests are smuggled.
const REFUSED: [&str; 13] = [
    "host",
    "content-length",
    "transfer-encoding",
    "te",
    "trailer",
    "connection",
    "keep-alive",
    "proxy-connection",
    "proxy-authenticate",
    "proxy-authorization",
    "upgrade",
    "expect",
    "http2-settings",
];

/// White space around a field that RFC 9110 section 5.5 lets a sender remove. Line breaks are not
/// included.
const BLANK: [char; 2] = [' ', '\t'];

/// Checks one header of a caller.
///
/// # Errors
/// The reason for the caller: the name or the value is malformed (a line break above all), too
/// long, or one that only the server may set.
pub fn check(name: &str, value: &str) -> Result<(HeaderName, HeaderValue), String> {
    let header = HeaderName::from_bytes(name.trim_matches(BLANK).as_bytes())
        .map_err(|_| format!("`{}` is not a header name", name.escape_debug()))?;
    if REFUSED.contains(&header.as_str()) {
        return Err(format!(
            "header `{header}` is set by the server, leave it out"
        ));
    }
    if header.as_str().len() + value.len() > HEADER_BYTES_MAX {
        return Err(format!(
            "header `{header}` is longer than {HEADER_BYTES_MAX} bytes"
        ));
    }
    let value = HeaderValue::from_bytes(value.trim_matches(BLANK).as_bytes()).map_err(|_| {
        format!("the value of header `{header}` has a line break or another control character")
    })?;
    Ok((header, value))
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn ordinary_headers_pass_and_are_trimmed() {
        let (name, value) = check(" X-Token ", " grüß dich ").expect("an ordinary header");
        assert_eq!(name, "x-token");
        assert_eq!(value.as_bytes(), "grüß dich".as_bytes());
        for name in ["Authorization", "Cookie", "Accept", "Referer", "User-Agent"] {
            assert!(check(name, "x").is_ok(), "{name}");
        }
    }

    #[test]
    fn line_breaks_are_refused_in_names_and_values() {
        for (name, value) in [
            ("X-A", "1\r\nX-B: 2"),
            ("X-A", "1\nX-B: 2"),
            ("X-A", "1\r"),
            ("X-A", "nul\0"),
            ("X-A\r\nX-B", "1"),
            ("X A", "1"),
            ("", "1"),
            ("X:", "1"),
        ] {
            assert!(check(name, value).is_err(), "{name:?}: {value:?}");
        }
    }

    #[test]
    fn headers_of_the_connection_are_refused() {
        for name in REFUSED {
            assert!(check(name, "x").is_err(), "{name}");
            assert!(check(&name.to_uppercase(), "x").is_err(), "{name}");
        }
        assert!(check("X-Long", &"a".repeat(HEADER_BYTES_MAX)).is_err());
    }
}
