//! Fake vendors. Each implements its vendor's documented API and refuses what the vendor would
//! refuse. They do no I/O: [`Vendor::answer`] turns a request into a response, and `vendor_server`
//! listens on a socket.
//!
//! The URL of a page decides what a vendor does with it, the same for all of them ([`Target`]); the
//! key decides the state of the account ([`KeyState`]).

use std::time::Duration;

use serde_json::{Value, json};

pub mod provider_1;
pub mod provider_10;
pub mod provider_11;
pub mod provider_2;
pub mod provider_3;
pub mod provider_4;
pub mod provider_5;
pub mod provider_6;
pub mod provider_7;
pub mod provider_8;
pub mod provider_9;
mod read;

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

/// A vendor with its whole state.
pub trait Vendor: Send + Sync {
    /// `provider_1`…
    fn name(&self) -> &'static str;

    /// Answers one request.
    fn answer(&self, asked: &Asked) -> Answered;
}

/// All vendors.
pub fn all() -> Vec<Box<dyn Vendor>> {
    vec![
        Box::new(provider_1::Zyte),
        Box::new(provider_2::ScrapingBee),
        Box::new(provider_3::ScraperApi),
        Box::<provider_4::Scrapfly>::default(),
        Box::new(provider_5::ScrapeDo),
        Box::new(provider_6::ZenRows),
        Box::new(provider_7::BrightData),
        Box::<provider_8::Apify>::default(),
        Box::new(provider_9::Browserless),
        Box::new(provider_10::Oxylabs),
        Box::new(provider_11::Decodo),
    ]
}

/// The account behind a key.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
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
/// `Retry-After` of [`KeyState::RateLimited`], in seconds.
pub const RETRY_AFTER: u32 = 7;

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

/// The page that a caller asked a vendor for, parsed from the vendor's own request format. `/echo`
/// returns it, so that tests see what arrived.
#[derive(Clone, Debug, Default, PartialEq)]
pub struct TargetRequest {
    /// URL of the page.
    pub url: String,
    /// Method of the request to the target.
    pub method: String,
    /// Body of the request to the target.
    pub body: Vec<u8>,
    /// Headers for the target, without cookies; names in lower case.
    pub headers: Vec<(String, String)>,
    /// Cookies for the target.
    pub cookies: Vec<(String, String)>,
    /// Whether scripts run.
    pub javascript: bool,
    /// Milliseconds to wait.
    pub wait_ms: Option<u64>,
    /// Selector to wait for.
    pub wait_for: Option<String>,
    /// Script to run.
    pub script: Option<String>,
    /// Country code of two letters in upper case.
    pub country: Option<String>,
    /// Whether residential IP addresses are requested.
    pub residential: bool,
    /// The requested screenshot: `window` or `full_page`.
    pub screenshot: Option<&'static str>,
}

impl TargetRequest {
    /// A GET request for this URL.
    pub fn new(url: &str) -> Self {
        Self {
            url: url.to_owned(),
            method: "GET".to_owned(),
            ..Self::default()
        }
    }

    fn shown(&self) -> Value {
        json!({
            "url": self.url, "method": self.method, "body": String::from_utf8_lossy(&self.body),
            "headers": self.headers, "cookies": self.cookies, "javascript": self.javascript,
            "wait_ms": self.wait_ms, "wait_for": self.wait_for, "script": self.script,
            "country": self.country, "residential": self.residential, "screenshot": self.screenshot,
        })
    }
}

/// The result of fetching a page.
#[derive(Clone, Debug, PartialEq)]
pub enum Target {
    /// The target responds.
    Page(TargetPage),
    /// The target blocks every IP address of the vendor: `/blocked`.
    Blocked,
    /// The target's host name does not resolve: any host below `.nowhere.example`.
    Unreachable,
    /// The vendor's own timeout expires: `/slow`.
    Slow,
    /// The vendor itself fails: `/breaks`.
    VendorDown,
    /// The vendor responds with 200 and a malformed response: `/garbage`. Vendors whose response is
    /// the page itself leave out their metadata headers.
    Garbage,
    /// The vendor rejects the parameters: `/refused`.
    Refused,
}

/// The response of a target.
#[derive(Clone, Debug, Default, PartialEq)]
pub struct TargetPage {
    /// The status.
    pub status: u16,
    /// The URL after redirects.
    pub url: String,
    /// The headers, `content-type` and `set-cookie` among them.
    pub headers: Vec<(String, String)>,
    /// The body.
    pub body: Vec<u8>,
}

/// An ordinary HTML page with characters that every encoding must preserve.
pub const PAGE: &str = "<!DOCTYPE html><html><head><title>Fish</title></head><body><h1>Fish</h1><p>Grüße \"aus\" 東京 &amp; \\ more</p></body></html>";
/// The page after its scripts have run.
pub const PAGE_RENDERED: &str = "<!DOCTYPE html><html><head><title>Fish</title></head><body><h1>Fish, rendered</h1></body></html>";
/// The target's response to blocked clients, for vendors that deliver it.
pub const TURNED_AWAY: &str = "<h1>Access denied</h1>";
/// An image: bytes that are not text in any character set.
pub const IMAGE: [u8; 16] = [
    0x89, b'P', b'N', b'G', b'\r', b'\n', 0x1a, b'\n', 0, 0xff, 0xfe, 0x80, 0xc3, 0x28, 0, 1,
];
/// Size of `/large` in bytes, more than any vendor puts into its JSON.
pub const LARGE_BYTES: usize = 6_000_000;

impl Target {
    /// The result of fetching this URL.
    pub fn of(request: &TargetRequest) -> Self {
        let rest = request.url.split_once("://").map_or("", |(_, rest)| rest);
        let (host, path) = rest.split_once('/').unwrap_or((rest, ""));
        if host.ends_with(".nowhere.example") {
            return Self::Unreachable;
        }
        let path = path.split(['?', '#']).next().unwrap_or_default();
        let html =
            |status, body: &str| page(status, &request.url, "text/html; charset=utf-8", body);
        Self::Page(match path {
            "blocked" => return Self::Blocked,
            "slow" => return Self::Slow,
            "breaks" => return Self::VendorDown,
            "garbage" => return Self::Garbage,
            "refused" => return Self::Refused,
            // A vendor that answers in JSON has decoded the page, and repeats what its site said.
            "legacy" => page(200, &request.url, "text/html; charset=gbk", PAGE),
            "missing" => html(404, "<h1>Not here</h1>"),
            "busy" => html(503, "<h1>Busy</h1>"),
            "forbidden" => html(403, "<h1>Forbidden</h1>"),
            "image" => page(200, &request.url, "image/png", IMAGE),
            "json" => page(
                200,
                &request.url,
                "application/json",
                r#"{"fish": ["cod"]}"#,
            ),
            "moved" => {
                let url = format!("http://{host}/page");
                TargetPage {
                    url,
                    ..html(200, PAGE)
                }
            }
            "echo" => page(
                200,
                &request.url,
                "application/json",
                request.shown().to_string(),
            ),
            "large" => html(200, &format!("<p>{}</p>", "x".repeat(LARGE_BYTES))),
            _ if request.javascript => html(200, PAGE_RENDERED),
            _ => html(200, PAGE),
        })
    }
}

fn page(status: u16, url: &str, content_type: &str, body: impl Into<Vec<u8>>) -> TargetPage {
    let headers = [
        ("content-type", content_type),
        ("set-cookie", "fish=cod; Path=/; HttpOnly"),
        ("set-cookie", "sea=north"),
        ("x-target", "yes"),
    ];
    TargetPage {
        status,
        url: url.to_owned(),
        headers: headers
            .map(|(name, value)| (name.to_owned(), value.to_owned()))
            .to_vec(),
        body: body.into(),
    }
}

impl TargetPage {
    /// The first header of this name.
    pub fn header(&self, name: &str) -> &str {
        let mut headers = self.headers.iter();
        let found = headers.find(|(known, _)| known == name);
        found.map_or("", |(_, value)| value.as_str())
    }

    /// The cookies with names and values.
    pub fn cookies(&self) -> Vec<(String, String)> {
        let lines = self.headers.iter().filter(|(name, _)| name == "set-cookie");
        let pair = |line: &str| {
            let pair = line.split(';').next().unwrap_or_default();
            let (name, value) = pair.split_once('=').unwrap_or((pair, ""));
            (name.to_owned(), value.to_owned())
        };
        lines.map(|(_, line)| pair(line)).collect()
    }

    /// The body as text.
    pub fn text(&self) -> String {
        String::from_utf8_lossy(&self.body).into_owned()
    }
}

impl Asked {
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

    /// The first query parameter with another name than these.
    pub fn unknown_param(&self, known: &[&str]) -> Option<&str> {
        let mut names = self.query.iter().map(|(name, _)| name.as_str());
        names.find(|name| !known.contains(name))
    }

    /// The media type of the body as a header, for vendors that forward the body of the call.
    fn body_type(&self) -> Vec<(String, String)> {
        let headers = self.headers.iter();
        let types = headers.filter(|(name, _)| name == "content-type" && !self.body.is_empty());
        types.cloned().collect()
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

const ALPHABET: &[u8; 64] = b"ABCDEFGHIJKLMNOPQRSTUVWXYZabcdefghijklmnopqrstuvwxyz0123456789+/";

/// Encodes base64 with padding in the standard alphabet.
pub fn to_base64(bytes: &[u8]) -> String {
    let mut text = String::new();
    for chunk in bytes.chunks(3) {
        let word = chunk
            .iter()
            .fold(0_u32, |word, byte| word << 8 | u32::from(*byte))
            << (8 * (3 - chunk.len()));
        for place in 0..4 {
            if place <= chunk.len() {
                text.push(ALPHABET[(word >> (18 - 6 * place) & 63) as usize] as char);
            } else {
                text.push('=');
            }
        }
    }
    text
}

/// Decodes base64 with or without padding, in the standard or the URL-safe alphabet.
pub fn from_base64(text: &str) -> Option<Vec<u8>> {
    let text = text
        .trim_end_matches('=')
        .replace('-', "+")
        .replace('_', "/");
    let mut bytes = Vec::new();
    let (mut word, mut bits) = (0_u32, 0);
    for letter in text.bytes() {
        let value = ALPHABET.iter().position(|known| *known == letter)?;
        word = (word << 6 | value as u32) & 0xffff;
        bits += 6;
        if bits >= 8 {
            bits -= 8;
            bytes.push((word >> bits & 0xff) as u8);
        }
    }
    Some(bytes)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn base64_is_the_standards() {
        for (bytes, text) in [
            (b"".as_slice(), ""),
            (b"f", "Zg=="),
            (b"fo", "Zm8="),
            (b"foobar", "Zm9vYmFy"),
            (&[0xfb, 0xff], "+/8="),
        ] {
            assert_eq!(to_base64(bytes), text);
            assert_eq!(from_base64(text).as_deref(), Some(bytes));
        }
        assert_eq!(from_base64("-_8"), Some(vec![0xfb, 0xff]));
        assert_eq!(from_base64("a b"), None);
    }
}
