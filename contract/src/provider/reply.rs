//! Responses of the service.

use std::borrow::Cow;

use base64::Engine;
use base64::engine::general_purpose::STANDARD;
use serde::de::DeserializeOwned;

use super::{Class, Failure};

/// Headers that describe the connection to the service rather than the target's response.
const CONNECTION_HEADERS: [&str; 9] = [
    "connection",
    "keep-alive",
    "proxy-authenticate",
    "proxy-authorization",
    "proxy-connection",
    "te",
    "trailer",
    "transfer-encoding",
    "upgrade",
];

/// A response of the service. The host has removed all credentials from it.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct Reply<'a> {
    /// HTTP status.
    pub status: u16,
    /// Headers in order, names in lower case, repeated names allowed.
    pub headers: Vec<(String, String)>,
    /// Body, with its content encoding decoded.
    pub body: Cow<'a, [u8]>,
    /// Duration of the exchange in milliseconds.
    pub elapsed_ms: u32,
}

impl Reply<'_> {
    /// First header of this name, ignoring case.
    pub fn header(&self, name: &str) -> Option<&str> {
        let mut found = self.headers.iter();
        let found = found.find(|(known, _)| known.eq_ignore_ascii_case(name));
        found.map(|(_, value)| value.as_str())
    }

    /// A header with a numeric value.
    pub fn number(&self, name: &str) -> Option<u16> {
        self.header(name)?.trim().parse().ok()
    }

    /// Headers whose names start with `prefix` (lower case), with the prefix removed.
    pub fn headers_after(&self, prefix: &str) -> Vec<(String, String)> {
        let pairs = self.headers.iter();
        let strip = |(name, value): &(String, String)| {
            Some((name.strip_prefix(prefix)?.to_owned(), value.clone()))
        };
        pairs.filter_map(strip).collect()
    }

    /// The target's headers in a response that passes them through: excludes the service's own,
    /// whose names start with `own_prefix` (lower case), and connection headers (RFC 9110, section
    /// 7.6.1).
    pub fn passed_headers(&self, own_prefix: &str) -> Vec<(String, String)> {
        let is_targets =
            |name: &str| !name.starts_with(own_prefix) && !CONNECTION_HEADERS.contains(&name);
        let pairs = self.headers.iter();
        pairs
            .filter(|(name, _)| is_targets(name))
            .cloned()
            .collect()
    }

    /// `Retry-After` in seconds, if it is a number.
    pub fn retry_after(&self) -> Option<u32> {
        let text = self.header("retry-after")?.trim();
        // Round fractions up.
        let seconds: f64 = text.parse().ok()?;
        (seconds >= 0.0).then_some(seconds.min(86_400.0).ceil() as u32)
    }

    /// The body as text.
    pub fn text(&self) -> Cow<'_, str> {
        String::from_utf8_lossy(&self.body)
    }

    /// Deserialises the body from JSON.
    ///
    /// # Errors
    /// [`Class::Drift`] if the body does not match the type.
    pub fn json<T: DeserializeOwned>(&self) -> Result<T, Failure> {
        serde_json::from_slice(&self.body).map_err(|error| {
            let message = format!("the reply does not have the documented shape: {error}");
            Failure::new(Class::Drift, message)
        })
    }

    /// Cookies of the `Set-Cookie` headers, name and value.
    pub fn set_cookies(&self) -> Vec<(String, String)> {
        set_cookies(&self.headers)
    }
}

/// Cookies of the `Set-Cookie` headers in this list, name and value; header names in any case.
pub(super) fn set_cookies(headers: &[(String, String)]) -> Vec<(String, String)> {
    let lines = headers
        .iter()
        .filter(|(name, _)| name.eq_ignore_ascii_case("set-cookie"));
    lines
        .filter_map(|(_, line)| {
            let pair = line.split(';').next()?;
            let (name, value) = pair.split_once('=')?;
            Some((name.trim().to_owned(), value.trim().to_owned()))
        })
        .collect()
}

/// Decodes base64 text (standard alphabet), ignoring white space.
///
/// # Errors
/// [`Class::Drift`] if the text is not base64.
pub(super) fn from_base64(text: &str) -> Result<Vec<u8>, Failure> {
    let decoded = if text.bytes().any(|byte| byte.is_ascii_whitespace()) {
        STANDARD.decode(text.split_ascii_whitespace().collect::<String>())
    } else {
        STANDARD.decode(text)
    };
    decoded.map_err(|error| {
        let message = format!("the reply is not valid base64: {error}");
        Failure::new(Class::Drift, message)
    })
}
