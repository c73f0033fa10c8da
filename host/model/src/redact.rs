//! Texts without the secrets that they may contain: URLs for display, lines of a log, messages of
//! panics.

use std::any::Any;
use std::borrow::Cow;

use url::Url;

/// Replaces what is left out of a log line.
const LEFT_OUT: &str = "…";
/// Parts of names whose values are secrets, lower case. `key` would match too many query
/// parameters (`keyword`), so it is one of the endings.
const SIGNS: [&str; 9] = [
    "auth",
    "cookie",
    "credential",
    "jwt",
    "passw",
    "secret",
    "session",
    "signature",
    "token",
];
/// Endings of such names.
const ENDINGS: [&str; 2] = ["key", "pwd"];
/// Whole names of such values.
const NAMES: [&str; 5] = ["code", "pass", "pw", "sid", "sig"];
/// What an `Authorization` header, our own API keys and signing secrets begin with, and the least
/// number of characters that must follow: `Basic` is an ordinary word, too.
const PREFIXES: [(&str, usize); 5] = [
    ("Bearer ", 8),
    ("Basic ", 8),
    ("tr_", 32),
    ("tra_", 32),
    ("whsec_", 32),
];
/// Most bytes of a panic's message that are logged.
const MESSAGE_BYTES_MAX: usize = 300;

/// A URL for display: without user name, password, query and fragment. Empty if it is not a URL.
pub fn shown_url(text: &str) -> String {
    let Ok(mut url) = Url::parse(text) else {
        return String::new();
    };
    url.set_query(None);
    url.set_fragment(None);
    without_userinfo(url).into()
}

/// A URL without user name and password.
pub fn without_userinfo(mut url: Url) -> Url {
    if !url.username().is_empty() || url.password().is_some() {
        // These fail only for URLs without a host, which have neither.
        let _ = url.set_username("");
        let _ = url.set_password(None);
    }
    url
}

/// Whether a header, cookie or query parameter of this name holds a secret.
pub fn is_secret_name(name: &str) -> bool {
    let name = name.to_ascii_lowercase();
    SIGNS.iter().any(|sign| name.contains(sign))
        || ENDINGS.iter().any(|ending| name.ends_with(ending))
        || NAMES.contains(&name.as_str())
}

/// A line of a log without user names and passwords in URLs, values of query parameters that hold
/// secrets, `Authorization` values, and API keys. The names stay.
pub fn log_line(line: &str) -> Cow<'_, str> {
    let line = cut(Cow::Borrowed(line), next_userinfo);
    let line = cut(line, next_query_value);
    cut(line, next_key)
}

/// The part of a panic's message that a log may show. A literal is shown whole. One that was
/// formatted may contain anything, so it ends at its first colon, quote or backquote: messages
/// usually have one of them before their first value.
pub fn panic_message(payload: &(dyn Any + Send)) -> String {
    let message = match (
        payload.downcast_ref::<&'static str>(),
        payload.downcast_ref::<String>(),
    ) {
        (Some(literal), _) => literal,
        (None, Some(formatted)) => {
            let end = formatted.find([':', '"', '\'', '`']);
            &formatted[..end.unwrap_or(formatted.len())]
        }
        (None, None) => "a panic without a message",
    };
    let message = &message[..message.floor_char_boundary(MESSAGE_BYTES_MAX)];
    log_line(message).into_owned()
}

/// The text with [`LEFT_OUT`] in place of every range that `next` finds, given a start.
fn cut(text: Cow<'_, str>, next: fn(&str, usize) -> Option<(usize, usize)>) -> Cow<'_, str> {
    let Some(mut range) = next(&text, 0) else {
        return text;
    };
    let mut shown = String::with_capacity(text.len());
    let mut copied = 0;
    loop {
        shown.push_str(&text[copied..range.0]);
        shown.push_str(LEFT_OUT);
        copied = range.1;
        match next(&text, copied) {
            Some(another) => range = another,
            None => break,
        }
    }
    shown.push_str(&text[copied..]);
    Cow::Owned(shown)
}

/// User name and password of the next URL that has them: from `://` to the last `@` of its
/// authority.
fn next_userinfo(text: &str, from: usize) -> Option<(usize, usize)> {
    let mut from = from;
    loop {
        let start = from + text[from..].find("://")? + "://".len();
        let authority = &text[start..];
        let ends = |c: char| c.is_whitespace() || c.is_control() || "/?#\\\"<>|".contains(c);
        let end = authority.find(ends).unwrap_or(authority.len());
        match authority[..end].rfind('@') {
            Some(0) | None => from = start,
            Some(at) if authority[..at] == *LEFT_OUT => from = start + at,
            Some(at) => return Some((start, start + at)),
        }
    }
}

/// The value of the next query parameter whose name says that it is a secret.
fn next_query_value(text: &str, from: usize) -> Option<(usize, usize)> {
    let is_name = |c: char| c.is_ascii_alphanumeric() || "_-.[]%$".contains(c);
    let mut from = from;
    loop {
        let equals = from + text[from..].find('=')?;
        let before = &text[..equals];
        let name_start = before.rfind(|c| !is_name(c)).map_or(0, |at| {
            at + before[at..].chars().next().map_or(1, char::len_utf8)
        });
        let is_parameter = before[..name_start].ends_with(['?', '&', ';']);
        let start = equals + 1;
        let ends = |c: char| c.is_whitespace() || c.is_control() || "&#;\"'\\<>`".contains(c);
        let end = start + text[start..].find(ends).unwrap_or(text.len() - start);
        let value = &text[start..end];
        let is_found = is_parameter && !value.is_empty() && value != LEFT_OUT;
        if is_found && is_secret_name(&before[name_start..]) {
            return Some((start, end));
        }
        from = start;
    }
}

/// What follows the next of [`PREFIXES`], if it is long enough to be a key.
fn next_key(text: &str, from: usize) -> Option<(usize, usize)> {
    let found = PREFIXES.iter().filter_map(|(prefix, length_min)| {
        let mut at = from;
        loop {
            let start = at + text[at..].find(prefix)? + prefix.len();
            let is_part = |byte: u8| byte.is_ascii_alphanumeric() || b"-._~+/=".contains(&byte);
            let rest = text.as_bytes()[start..].iter();
            let length = rest.take_while(|byte| is_part(**byte)).count();
            if length >= *length_min {
                return Some((start, start + length));
            }
            at = start;
        }
    });
    found.min()
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_shown_url_has_no_secret_part() {
        let shown = shown_url("https://ada:pass@a.example:8443/hook?token=x#y");
        assert_eq!(shown, "https://a.example:8443/hook");
        assert_eq!(shown_url("nonsense"), "");
    }

    #[test]
    fn passwords_and_secret_values_are_cut_out_of_a_log_line() {
        let check = |line: &str, expected: &str| {
            assert_eq!(log_line(line), expected, "{line}");
            assert_eq!(log_line(expected), expected, "twice");
        };
        for same in [
            "",
            "a crawl failed",
            "https://a.example/x@y?keyword=z&page=2",
            "a@b.example://x",
            "count=3 &x=1 ?sid=",
            "Basic ideas, Bearer of news, tr_short",
        ] {
            check(same, same);
        }
        check(
            "{\"url\":\"https://us:p%40s@a.example/x\",\"b\":\"socks5://u:p@b:1\"}",
            "{\"url\":\"https://…@a.example/x\",\"b\":\"socks5://…@b:1\"}",
        );
        check("http://a:b@c@d.example", "http://…@d.example");
        check(
            "GET /x?api_key=K1&q=ü&X-Amz-Signature=S2;access_token=T3#f then ?sig=S4\"",
            "GET /x?api_key=…&q=ü&X-Amz-Signature=…;access_token=…#f then ?sig=…\"",
        );
        check(
            "authorization: Bearer abc.def-123== x",
            "authorization: Bearer … x",
        );
        check(
            &format!("tr_{} tra_{}", "a".repeat(43), "b".repeat(43)),
            "tr_… tra_…",
        );
    }

    #[test]
    fn a_formatted_panic_message_ends_before_its_values() {
        let message = |payload: Box<dyn Any + Send>| panic_message(&*payload);
        assert_eq!(message(Box::new("a literal: whole")), "a literal: whole");
        let formatted = format!("a promise: {:?}", "canary");
        assert_eq!(message(Box::new(formatted)), "a promise");
        assert_eq!(message(Box::new("no `canary`".to_owned())), "no ");
        assert_eq!(message(Box::new(7)), "a panic without a message");
        assert!(message(Box::new("ü".repeat(1_000))).len() <= MESSAGE_BYTES_MAX);
    }

    #[test]
    fn names_tell_secrets() {
        for name in [
            "X-Api-Key",
            "PHPSESSION_ID",
            "access_token",
            "sig",
            "passwd",
        ] {
            assert!(is_secret_name(name), "{name}");
        }
        for name in ["keyword", "page", "author_page", "design"] {
            assert_eq!(is_secret_name(name), name.contains("auth"), "{name}");
        }
    }
}
