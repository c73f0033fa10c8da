//! Fake scraping services: each speaks its vendor's documented wire form and refuses what the vendor would refuse. Nothing here
//! does I/O: [`Vendor::answer`] turns a request into a reply, and the one who listens on a socket is `vendor_server`.
//!
//! What a vendor does with a page is decided by the page's address, the same for all of them ([`Target`]), and by the key that
//! it is sent ([`KeyState`]).

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

/// A request as a vendor gets it.
#[derive(Clone, Debug)]
pub struct Asked {
    /// HTTP method.
    pub method: String,
    /// Path of the address.
    pub path: String,
    /// Query parameters in order, decoded.
    pub query: Vec<(String, String)>,
    /// Headers in order, names in lower case.
    pub headers: Vec<(String, String)>,
    /// Body.
    pub body: Vec<u8>,
    /// `http://host:port` under which the vendor was asked, for addresses in its replies.
    pub origin: String,
}

/// What it answers.
#[derive(Clone, Debug, Default)]
pub struct Answered {
    /// HTTP status.
    pub status: u16,
    /// Headers in order.
    pub headers: Vec<(String, String)>,
    /// Body.
    pub body: Vec<u8>,
    /// How long it takes.
    pub delay: Duration,
}

/// A scraping service. One object is one vendor's whole state.
pub trait Vendor: Send + Sync {
    /// `provider_1`…
    fn name(&self) -> &'static str;

    /// Answers one request.
    fn answer(&self, asked: &Asked) -> Answered;
}

/// Every vendor.
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
    /// Works.
    Good,
    /// Works, but no credit is left.
    NoCredit,
    /// Works, but too often.
    RateLimited,
    /// Nobody's.
    Bad,
}

/// The keys that vendors know. With a user and a password this is the password; the user is `user-` and the same.
pub const GOOD_KEY: &str = "canary-good-key-7f3a/b+c=1";
/// A key without credit.
pub const POOR_KEY: &str = "canary-poor-key-55d0";
/// A key that is used too often.
pub const BUSY_KEY: &str = "canary-busy-key-90ce";
/// A key of nobody.
pub const BAD_KEY: &str = "canary-bad-key-1234";
/// Seconds of `Retry-After` that go with [`KeyState::RateLimited`].
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

    /// The account behind a `Basic` user and password, as text `user:password`.
    pub fn of_basic(pair: &str) -> Self {
        match pair.split_once(':') {
            Some((user, password)) if user == format!("user-{password}") => {
                Self::of(Some(password))
            }
            _ => Self::Bad,
        }
    }
}

/// What a caller wanted of a vendor, read back from the vendor's own wire form. `/echo` shows it, so that a test sees what arrived.
#[derive(Clone, Debug, Default, PartialEq)]
pub struct Wanted {
    /// Address of the page.
    pub url: String,
    /// Method of the target's request.
    pub method: String,
    /// Body of the target's request.
    pub body: Vec<u8>,
    /// Headers for the target, names in lower case; no cookies.
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
    /// Country, two letters in upper case.
    pub country: Option<String>,
    /// Whether residential addresses are asked for.
    pub residential: bool,
    /// Whether a picture is asked for: `window` or `full_page`.
    pub screenshot: Option<&'static str>,
}

impl Wanted {
    /// GET of this address.
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

/// What becomes of a page.
#[derive(Clone, Debug, PartialEq)]
pub enum Target {
    /// The target answers.
    Page(TargetPage),
    /// The target turns every address of the vendor away: `/blocked`.
    Blocked,
    /// The target's name has no address: any host that ends with `.nowhere.example`.
    Unreachable,
    /// The vendor gives up waiting for it: `/slow`.
    Slow,
    /// The vendor itself breaks down: `/breaks`.
    VendorDown,
    /// The vendor answers 200 with something that is not its wire form: `/garbage`. Vendors whose reply is the page itself leave
    /// their facts out.
    Garbage,
    /// The vendor refuses the parameters: `/refused`.
    Refused,
}

/// The answer of a target.
#[derive(Clone, Debug, Default, PartialEq)]
pub struct TargetPage {
    /// Its status.
    pub status: u16,
    /// Its address after redirects.
    pub url: String,
    /// Its headers, `content-type` and `set-cookie` among them.
    pub headers: Vec<(String, String)>,
    /// Its body.
    pub body: Vec<u8>,
}

/// A page of ordinary HTML, with characters that every coding has to keep.
pub const PAGE: &str = "<!DOCTYPE html><html><head><title>Fish</title></head><body><h1>Fish</h1><p>Grüße \"aus\" 東京 &amp; \\ more</p></body></html>";
/// What the page becomes when scripts run.
pub const PAGE_RENDERED: &str = "<!DOCTYPE html><html><head><title>Fish</title></head><body><h1>Fish, rendered</h1></body></html>";
/// What a target shows to those that it turns away, where a vendor delivers that.
pub const TURNED_AWAY: &str = "<h1>Access denied</h1>";
/// A picture: bytes that are no text in any character set.
pub const IMAGE: [u8; 16] = [
    0x89, b'P', b'N', b'G', b'\r', b'\n', 0x1a, b'\n', 0, 0xff, 0xfe, 0x80, 0xc3, 0x28, 0, 1,
];
/// Bytes of `/large`, more than any body that a vendor puts into its JSON.
pub const LARGE_BYTES: usize = 6_000_000;

impl Target {
    /// What becomes of this page.
    pub fn of(wanted: &Wanted) -> Self {
        let rest = wanted.url.split_once("://").map_or("", |(_, rest)| rest);
        let (host, path) = rest.split_once('/').unwrap_or((rest, ""));
        if host.ends_with(".nowhere.example") {
            return Self::Unreachable;
        }
        let path = path.split(['?', '#']).next().unwrap_or_default();
        let html = |status, body: &str| page(status, &wanted.url, "text/html; charset=utf-8", body);
        Self::Page(match path {
            "blocked" => return Self::Blocked,
            "slow" => return Self::Slow,
            "breaks" => return Self::VendorDown,
            "garbage" => return Self::Garbage,
            "refused" => return Self::Refused,
            "missing" => html(404, "<h1>Not here</h1>"),
            "busy" => html(503, "<h1>Busy</h1>"),
            "forbidden" => html(403, "<h1>Forbidden</h1>"),
            "image" => page(200, &wanted.url, "image/png", IMAGE),
            "json" => page(200, &wanted.url, "application/json", r#"{"fish": ["cod"]}"#),
            "moved" => {
                let url = format!("http://{host}/page");
                TargetPage {
                    url,
                    ..html(200, PAGE)
                }
            }
            "echo" => page(
                200,
                &wanted.url,
                "application/json",
                wanted.shown().to_string(),
            ),
            "large" => html(200, &format!("<p>{}</p>", "x".repeat(LARGE_BYTES))),
            _ if wanted.javascript => html(200, PAGE_RENDERED),
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

    /// Its cookies, name and value.
    pub fn cookies(&self) -> Vec<(String, String)> {
        let lines = self.headers.iter().filter(|(name, _)| name == "set-cookie");
        let pair = |line: &str| {
            let pair = line.split(';').next().unwrap_or_default();
            let (name, value) = pair.split_once('=').unwrap_or((pair, ""));
            (name.to_owned(), value.to_owned())
        };
        lines.map(|(_, line)| pair(line)).collect()
    }

    /// Its body as text.
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

    /// The first query parameter that is not among these.
    pub fn unknown_param(&self, known: &[&str]) -> Option<&str> {
        let mut names = self.query.iter().map(|(name, _)| name.as_str());
        names.find(|name| !known.contains(name))
    }

    /// The key of `Authorization: Bearer`.
    pub fn bearer(&self) -> Option<&str> {
        self.header("authorization")?.strip_prefix("Bearer ")
    }

    /// `user:password` of `Authorization: Basic`, decoded.
    pub fn basic(&self) -> Option<String> {
        let text = self.header("authorization")?.strip_prefix("Basic ")?;
        String::from_utf8(from_base64(text)?).ok()
    }

    /// The body as JSON; null when it is something else.
    pub fn json(&self) -> Value {
        serde_json::from_slice(&self.body).unwrap_or_default()
    }
}

impl Answered {
    /// An answer with this body.
    pub fn new(status: u16, content_type: &str, body: impl Into<Vec<u8>>) -> Self {
        Self {
            status,
            headers: vec![("content-type".to_owned(), content_type.to_owned())],
            body: body.into(),
            delay: Duration::ZERO,
        }
    }

    /// A JSON answer.
    pub fn json(status: u16, body: &Value) -> Self {
        Self::new(status, "application/json", body.to_string())
    }

    /// The same with one more header.
    #[must_use]
    pub fn header(mut self, name: &str, value: impl ToString) -> Self {
        self.headers.push((name.to_owned(), value.to_string()));
        self
    }
}

/// Cookies of a text `a=b; c=d`.
pub fn cookies_of(line: &str) -> Vec<(String, String)> {
    let pairs = line.split(';').filter_map(|pair| pair.split_once('='));
    pairs
        .map(|(name, value)| (name.trim().to_owned(), value.trim().to_owned()))
        .collect()
}

const ALPHABET: &[u8; 64] = b"ABCDEFGHIJKLMNOPQRSTUVWXYZabcdefghijklmnopqrstuvwxyz0123456789+/";

/// Base64 with padding, standard alphabet.
pub fn to_base64(bytes: &[u8]) -> String {
    let mut text = String::new();
    for chunk in bytes.chunks(3) {
        let word = chunk
            .iter()
            .fold(0_u32, |word, byte| word << 8 | u32::from(*byte))
            << (8 * (3 - chunk.len()));
        for place in 0..4 {
            match place <= chunk.len() {
                true => text.push(ALPHABET[(word >> (18 - 6 * place) & 63) as usize] as char),
                false => text.push('='),
            }
        }
    }
    text
}

/// Bytes of a base64 text, padded or not, in the standard alphabet or the one for addresses.
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
