//! Authentication of a connection instead of a request: NTLM and Negotiate (RFC 4559). What such a
//! connection carries next counts as its first user's, so no other may use it. Decision D293.

use http::HeaderMap;
use http::header::{
    AUTHORIZATION, HeaderName, PROXY_AUTHENTICATE, PROXY_AUTHORIZATION, WWW_AUTHENTICATE,
};

const SCHEMES: [&[u8]; 2] = [b"negotiate", b"ntlm"];

/// Whether a request authenticates its connection.
pub(crate) fn is_sent(headers: &HeaderMap) -> bool {
    has_scheme(headers, [&AUTHORIZATION, &PROXY_AUTHORIZATION])
}

/// Whether a response offers to authenticate its connection, or continues that.
pub(crate) fn is_offered(headers: &HeaderMap) -> bool {
    has_scheme(headers, [&WWW_AUTHENTICATE, &PROXY_AUTHENTICATE])
}

fn has_scheme(headers: &HeaderMap, names: [&HeaderName; 2]) -> bool {
    let mut values = names.into_iter().flat_map(|name| headers.get_all(name));
    values.any(|value| authenticates_connection(value.as_bytes()))
}

/// Whether a value of `Authorization` or `WWW-Authenticate` authenticates a connection: it begins
/// with such a scheme, or has one in its list of challenges (RFC 9110 section 11.6.1).
pub fn authenticates_connection(value: &[u8]) -> bool {
    value.split(|byte| *byte == b',').any(|challenge| {
        let mut words = challenge.trim_ascii().split(u8::is_ascii_whitespace);
        let scheme = words.next().unwrap_or_default();
        SCHEMES
            .iter()
            .any(|known| scheme.eq_ignore_ascii_case(known))
    })
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn schemes_that_authenticate_the_connection_are_found() {
        for (value, is_found) in [
            ("NTLM TlRMTVNTUAAB", true),
            ("negotiate YII=", true),
            ("Negotiate", true),
            ("Basic realm=\"a\", NTLM", true),
            ("Basic bmVnb3RpYXRl", false),
            ("Bearer ntlm", false),
            ("Basic realm=\"x Negotiate\"", false),
            ("NegotiateX a", false),
            ("", false),
        ] {
            for (name, found) in [
                (AUTHORIZATION, is_sent as fn(&HeaderMap) -> bool),
                (PROXY_AUTHORIZATION, is_sent),
                (WWW_AUTHENTICATE, is_offered),
                (PROXY_AUTHENTICATE, is_offered),
            ] {
                let value = value.parse().expect("a header value");
                let headers = HeaderMap::from_iter([(name, value)]);
                assert_eq!(found(&headers), is_found, "{headers:?}");
            }
        }
    }
}
