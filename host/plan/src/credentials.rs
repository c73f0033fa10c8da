//! Headers and cookies that a caller sends to the target. They may be secrets: no error and no
//! debug text shows a value.

use http::{HeaderName, HeaderValue};

use trawl_model::header;

use super::PlanError;

/// Most headers and most cookies of one page; common servers refuse more.
const COUNT_MAX: usize = 100;

/// Checks `headers`.
///
/// # Errors
/// Too many, or one that a caller may not set.
pub fn headers(pairs: &[(String, String)]) -> Result<Vec<(HeaderName, HeaderValue)>, PlanError> {
    bounded("headers", pairs.len())?;
    let check = |(name, value): &(String, String)| {
        let (name, mut value) =
            header::check(name, value).map_err(|reason| PlanError::new("headers", reason))?;
        value.set_sensitive(true);
        Ok((name, value))
    };
    pairs.iter().map(check).collect()
}

/// Headers that browsers send to everyone. `sec-` begins the names of more of them.
const HARMLESS: [&str; 11] = [
    "accept",
    "accept-charset",
    "accept-encoding",
    "accept-language",
    "cache-control",
    "dnt",
    "pragma",
    "priority",
    "upgrade-insecure-requests",
    "user-agent",
    "x-requested-with",
];

/// Whether a header of a caller may contain a secret: any but those known to contain none. Such
/// headers are never stored. Decision D85.
pub fn is_secret_header(name: &str) -> bool {
    let name = name.trim().to_ascii_lowercase();
    !HARMLESS.contains(&name.as_str()) && !name.starts_with("sec-")
}

/// Checks a header that has a parameter of its own (`user_agent`, `locale`).
///
/// # Errors
/// The value is not a valid header value.
pub fn header_value(field: &'static str, name: &str, value: &str) -> Result<String, PlanError> {
    let (_, value) = header::check(name, value).map_err(|reason| PlanError::new(field, reason))?;
    Ok(String::from_utf8_lossy(value.as_bytes()).into_owned())
}

/// Reads the cookies of a `Cookie` header: `a=b; c=d`.
///
/// # Errors
/// As [`cookies`].
pub fn cookie_line(line: &str) -> Result<Vec<(String, String)>, PlanError> {
    let pairs = line
        .split(';')
        .map(str::trim)
        .filter(|pair| !pair.is_empty());
    let split = |pair: &str| {
        let (name, value) = pair.split_once('=').ok_or_else(|| {
            PlanError::new(
                "cookies",
                "a cookie is written `name=value`, several separated by `; `",
            )
        })?;
        Ok((name.trim().to_owned(), value.trim().to_owned()))
    };
    cookies(pairs.map(split).collect::<Result<_, _>>()?)
}

/// Checks cookies. They may have what browsers send in a `Cookie` header, names such as `a[b]`
/// included, and none at all. RFC 6265bis section 5.8.3.
///
/// # Errors
/// Too many, or one with a character that would end it.
pub fn cookies(pairs: Vec<(String, String)>) -> Result<Vec<(String, String)>, PlanError> {
    bounded("cookies", pairs.len())?;
    let refused = |reason: &str| Err(PlanError::new("cookies", reason));
    let ends_cookie = |c: char| c == ';' || c.is_control();
    for (name, value) in &pairs {
        if name.contains('=') || name.contains(ends_cookie) {
            return refused("a cookie's name has `=`, a semicolon or a control character");
        }
        if value.contains(ends_cookie) {
            return refused("a cookie's value has a semicolon or a control character");
        }
        if name.len() + value.len() > header::HEADER_BYTES_MAX {
            return refused("a cookie is too long");
        }
    }
    // Browsers pass over what has neither.
    let is_some = |(name, value): &(String, String)| !name.is_empty() || !value.is_empty();
    Ok(pairs.into_iter().filter(is_some).collect())
}

fn bounded(field: &'static str, count: usize) -> Result<(), PlanError> {
    if count <= COUNT_MAX {
        return Ok(());
    }
    Err(PlanError::new(
        field,
        format!("{count} are too many, the limit is {COUNT_MAX}"),
    ))
}

#[cfg(test)]
mod tests {
    use super::*;

    fn pair(name: &str, value: &str) -> (String, String) {
        (name.to_owned(), value.to_owned())
    }

    #[test]
    fn only_ordinary_headers_are_known_to_be_harmless() {
        for name in ["Accept", "user-agent", "Sec-Fetch-Mode", " DNT"] {
            assert!(!is_secret_header(name), "{name}");
        }
        for name in [
            "Authorization",
            "X-Anything",
            "Referer",
            "Cookie",
            "X-Api-Key",
        ] {
            assert!(is_secret_header(name), "{name}");
        }
    }

    #[test]
    fn cookie_lines_are_split() {
        let check = |line: &str, expected: &[(&str, &str)]| {
            let expected: Vec<_> = expected
                .iter()
                .map(|(name, value)| pair(name, value))
                .collect();
            assert_eq!(cookie_line(line), Ok(expected), "{line}");
        };
        check("a=b; c=d", &[("a", "b"), ("c", "d")]);
        check(" a=b=c ;", &[("a", "b=c")]);
        check("a=", &[("a", "")]);
        check("", &[]);
        check(
            "a[b]=c; d:e={\"f\": \"g, h\"}; i j=k; \u{fc}=\u{e9}",
            &[
                ("a[b]", "c"),
                ("d:e", "{\"f\": \"g, h\"}"),
                ("i j", "k"),
                ("\u{fc}", "\u{e9}"),
            ],
        );
        check("=flag; =", &[("", "flag")]);
        for bad in [
            "a",
            "a=b; flag",
            "a=b\r\nSet-Cookie: x",
            "a=\u{1}",
            "a\u{7f}=b",
        ] {
            assert_eq!(
                cookie_line(bad).map_err(|error| error.field),
                Err("cookies"),
                "{bad:?}"
            );
        }
    }

    #[test]
    fn headers_are_checked_and_never_shown() {
        let checked = headers(&[pair("Authorization", "canary-1234")]).expect("allowed");
        assert!(!format!("{checked:?}").contains("canary"));
        for bad in [
            pair("Host", "a"),
            pair("X-A", "canary\r\nX: 1"),
            pair("", "a"),
        ] {
            let error = headers(&[bad]).expect_err("refused");
            assert_eq!(error.field, "headers");
            assert!(!error.reason.contains("canary"));
        }
        assert!(headers(&vec![pair("X-A", "1"); COUNT_MAX + 1]).is_err());
        assert!(cookies(vec![pair("a", "1"); COUNT_MAX + 1]).is_err());
        for (name, value) in [("a;b", "1"), ("a=b", "1"), ("a\n", "1"), ("a", "1;2")] {
            assert!(cookies(vec![pair(name, value)]).is_err(), "{name:?}");
        }
        let long = "x".repeat(header::HEADER_BYTES_MAX);
        assert!(cookies(vec![pair("a", &long)]).is_err());
        assert_eq!(
            header_value("user_agent", "user-agent", "a\nb").map_err(|error| error.field),
            Err("user_agent")
        );
    }
}
