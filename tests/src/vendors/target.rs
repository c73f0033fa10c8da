//! The pages behind the vendors: what a caller asks for, and what the target responds.

use serde_json::{Value, json};

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
    /// The target's response to clients that it blocks.
    pub fn blocked(url: &str) -> Self {
        Self {
            status: 403,
            url: url.to_owned(),
            headers: vec![("content-type".to_owned(), "text/html".to_owned())],
            body: TURNED_AWAY.into(),
        }
    }

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
