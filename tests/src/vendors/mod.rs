//! Fake vendors: one server that answers as each vendor's description says (`provider_N.json`, of
//! the form in `description.rs`). It refuses parameters that the description does not have. The
//! wire forms in full are in the recorded cases of the adapters (`providers/*/cases`). There is no
//! I/O here: [`Vendor::answer`] turns a request into a response, and `vendor_server` listens on a
//! socket.
//!
//! The URL of a page decides what a vendor does with it, the same for all of them ([`Target`]); the
//! key decides the state of the account ([`KeyState`]).

use std::net::SocketAddr;
use std::time::Duration;

use base64::Engine;
use base64::engine::general_purpose::{STANDARD, STANDARD_NO_PAD};
use serde::Deserialize;
use serde_json::Value;

use crate::http_server::Received;

mod description;
mod facts;
mod kind;
mod place;
mod target;
mod vendor;
mod wire;

pub(crate) use description::Price;
pub use target::{
    IMAGE, LARGE_BYTES, PAGE, PAGE_RENDERED, TURNED_AWAY, Target, TargetPage, TargetRequest,
};
pub use vendor::Vendor;

/// A request to a vendor.
#[derive(Clone, Debug)]
pub struct Asked {
    /// HTTP method.
    pub method: String,
    /// Path of the URL.
    pub path: String,
    /// Query parameters in order, decoded.
    pub query: Vec<(String, String)>,
    /// Headers in order, names in lower case.
    pub headers: Vec<(String, String)>,
    /// Body.
    pub body: Vec<u8>,
    /// Base URL under which the vendor was called, for URLs in its responses.
    pub origin: String,
}

/// The response.
#[derive(Clone, Debug, Default)]
pub struct Answered {
    /// HTTP status.
    pub status: u16,
    /// Headers in order.
    pub headers: Vec<(String, String)>,
    /// Body.
    pub body: Vec<u8>,
    /// Time until it is sent.
    pub delay: Duration,
}

/// All vendors, each with a state of its own.
pub fn all() -> Vec<Vendor> {
    let descriptions = description::DESCRIPTIONS.iter();
    descriptions.map(Vendor::new).collect()
}

/// What a vendor charges.
pub(crate) fn price(provider: &str) -> &'static Price {
    let mut descriptions = description::DESCRIPTIONS.iter();
    let found = descriptions.find(|known| known.name == provider);
    &found.expect("a vendor of this name").price
}

/// The account behind a key.
#[derive(Clone, Copy, Debug, Deserialize, PartialEq, Eq)]
#[serde(rename_all = "snake_case")]
pub enum KeyState {
    /// The key works.
    Good,
    /// The account has no credit left.
    NoCredit,
    /// The account has exceeded its rate limit.
    RateLimited,
    /// The key is unknown.
    Bad,
}

/// A key that works. Where a vendor has user and password, this is the password, and the user is
/// `user-` and the key.
pub const GOOD_KEY: &str = "canary-good-key-7f3a/b+c=1";
/// A key of an account without credit.
pub const POOR_KEY: &str = "canary-poor-key-55d0";
/// A key of an account over its rate limit.
pub const BUSY_KEY: &str = "canary-busy-key-90ce";
/// A key that is unknown.
pub const BAD_KEY: &str = "canary-bad-key-1234";

impl KeyState {
    /// The account behind this key.
    pub fn of(key: Option<&str>) -> Self {
        match key {
            Some(GOOD_KEY) => Self::Good,
            Some(POOR_KEY) => Self::NoCredit,
            Some(BUSY_KEY) => Self::RateLimited,
            _ => Self::Bad,
        }
    }

    /// The account behind HTTP Basic credentials in the form `user:password`.
    pub fn of_basic(pair: &str) -> Self {
        match pair.split_once(':') {
            Some((user, password)) if user == format!("user-{password}") => {
                Self::of(Some(password))
            }
            _ => Self::Bad,
        }
    }
}

impl Asked {
    /// A request with the service that it is for: the first part of its path.
    pub(crate) fn of(received: Received, address: SocketAddr) -> Option<(String, Self)> {
        let (method, target) = received.first_line()?;
        let url = reqwest::Url::parse(&format!("http://{address}{target}")).ok()?;
        let (name, path) = url.path().strip_prefix('/')?.split_once('/')?;
        let asked = Self {
            method: method.to_owned(),
            path: format!("/{path}"),
            query: url.query_pairs().into_owned().collect(),
            headers: received.headers(),
            origin: format!("http://{address}/{name}"),
            body: received.body,
        };
        Some((name.to_owned(), asked))
    }

    /// The first header of this name (lower case).
    pub fn header(&self, name: &str) -> Option<&str> {
        let mut headers = self.headers.iter();
        let found = headers.find(|(known, _)| known == name);
        found.map(|(_, value)| value.as_str())
    }

    /// A query parameter.
    pub fn param(&self, name: &str) -> Option<&str> {
        let mut query = self.query.iter();
        let found = query.find(|(known, _)| known == name);
        found.map(|(_, value)| value.as_str())
    }

    /// The token of `Authorization: Bearer`.
    pub fn bearer(&self) -> Option<&str> {
        self.header("authorization")?.strip_prefix("Bearer ")
    }

    /// The decoded `user:password` of `Authorization: Basic`.
    pub fn basic(&self) -> Option<String> {
        let text = self.header("authorization")?.strip_prefix("Basic ")?;
        String::from_utf8(from_base64(text)?).ok()
    }

    /// The body as JSON, or null when it is not JSON.
    pub fn json(&self) -> Value {
        serde_json::from_slice(&self.body).unwrap_or_default()
    }
}

impl Answered {
    /// A response with this body.
    pub fn new(status: u16, content_type: &str, body: impl Into<Vec<u8>>) -> Self {
        Self {
            status,
            headers: vec![("content-type".to_owned(), content_type.to_owned())],
            body: body.into(),
            delay: Duration::ZERO,
        }
    }

    /// A JSON response.
    pub fn json(status: u16, body: &Value) -> Self {
        Self::new(status, "application/json", body.to_string())
    }

    /// Adds a header.
    #[must_use]
    pub fn header(mut self, name: &str, value: impl ToString) -> Self {
        self.headers.push((name.to_owned(), value.to_string()));
        self
    }
}

/// The cookies of a `Cookie` header.
pub fn cookies_of(line: &str) -> Vec<(String, String)> {
    let pairs = line.split(';').filter_map(|pair| pair.split_once('='));
    pairs
        .map(|(name, value)| (name.trim().to_owned(), value.trim().to_owned()))
        .collect()
}

/// Encodes base64 with padding in the standard alphabet.
pub fn to_base64(bytes: &[u8]) -> String {
    STANDARD.encode(bytes)
}

/// Decodes base64 with or without padding, in the standard or the URL-safe alphabet.
pub fn from_base64(text: &str) -> Option<Vec<u8>> {
    let text = text.trim_end_matches('=');
    let standard = text.replace('-', "+").replace('_', "/");
    STANDARD_NO_PAD.decode(standard).ok()
}

#[cfg(test)]
mod tests;
