//! The page to fetch.

/// The page to fetch, with the operator's settings. The host only requests what the abilities in
/// the adapter's description cover.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Task {
    /// Absolute URL, `http` or `https`.
    pub url: String,
    /// Method of the request to the target.
    pub method: String,
    /// Body of the request to the target.
    pub body: Vec<u8>,
    /// Headers for the target, in order, repeated names allowed, without cookies.
    pub headers: Vec<(String, String)>,
    /// Cookies for the target, name and value.
    pub cookies: Vec<(String, String)>,
    /// Whether to run scripts.
    pub javascript: bool,
    /// Time to wait after load, in milliseconds.
    pub wait_ms: Option<u32>,
    /// An element to wait for.
    pub wait_for: Option<WaitFor>,
    /// A script to run after load.
    pub script: Option<String>,
    /// ISO 3166-1 alpha-2 code in upper case.
    pub country: Option<String>,
    /// Kind of IP addresses to fetch from.
    pub pool: Pool,
    /// Screenshot to take.
    pub screenshot: Option<Screenshot>,
    /// Remaining time of the conversation in milliseconds.
    pub time_ms: u32,
    /// Base URL of the service, without a trailing slash.
    pub base: String,
    /// The operator's settings as JSON.
    pub settings: String,
}

/// IP addresses that the target is fetched from.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub enum Pool {
    /// The service's standard IP addresses.
    #[default]
    Standard,
    /// Residential IP addresses.
    Residential,
}

/// Media type of a form, the default of HTTP clients for a body.
const FORM_TYPE: &str = "application/x-www-form-urlencoded";

/// An element to wait for.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct WaitFor {
    /// A CSS selector.
    pub selector: String,
    /// Maximum time to wait, in milliseconds.
    pub time_ms: u32,
}

/// Part of the page shown in a screenshot.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Screenshot {
    /// The visible part.
    Window,
    /// The whole page.
    FullPage,
}

impl Task {
    /// A plain GET request without JavaScript.
    pub fn new(url: &str, base: &str) -> Self {
        Self {
            url: url.to_owned(),
            method: "GET".to_owned(),
            body: Vec::new(),
            headers: Vec::new(),
            cookies: Vec::new(),
            javascript: false,
            wait_ms: None,
            wait_for: None,
            script: None,
            country: None,
            pool: Pool::Standard,
            screenshot: None,
            time_ms: 60_000,
            base: base.to_owned(),
            settings: "{}".to_owned(),
        }
    }

    /// URL of a service endpoint: the base URL with this path.
    pub fn at(&self, path: &str) -> String {
        format!("{}{path}", self.base)
    }

    /// Whether residential IP addresses are requested.
    pub fn is_residential(&self) -> bool {
        self.pool == Pool::Residential
    }

    /// The country code in lower case.
    pub fn country_lower(&self) -> Option<String> {
        self.country.as_deref().map(str::to_lowercase)
    }

    /// Cookies in the form of a `Cookie` header, `a=b; c=d`; `None` if there are none.
    pub fn cookie_line(&self) -> Option<String> {
        self.cookies_with("; ")
    }

    /// Cookies as `name=value`, joined with `between`; `None` if there are none.
    pub fn cookies_with(&self, between: &str) -> Option<String> {
        let pairs = self.cookies.iter();
        let pairs: Vec<_> = pairs
            .map(|(name, value)| format!("{name}={value}"))
            .collect();
        (!pairs.is_empty()).then(|| pairs.join(between))
    }

    /// Media type of the request body: the `Content-Type` among the headers, otherwise that of a
    /// form, as HTTP clients have it; `None` without a body.
    ///
    /// For services that forward the method and the body of the call: there the body's type belongs
    /// on the call itself and is not one of the [`extra_headers`](Self::extra_headers).
    pub fn body_type(&self) -> Option<&str> {
        if self.body.is_empty() {
            return None;
        }
        let mut headers = self.headers.iter();
        let found = headers.find(|(name, _)| is_content_type(name));
        Some(found.map_or(FORM_TYPE, |(_, value)| value.as_str()))
    }

    /// Headers for the target except the [`body_type`](Self::body_type).
    pub fn extra_headers(&self) -> Vec<(String, String)> {
        let mut headers = self.headers.clone();
        headers.retain(|(name, _)| self.body.is_empty() || !is_content_type(name));
        headers
    }

    /// Host of the target, for cookies that need a domain.
    pub fn host(&self) -> String {
        let parsed = url::Url::parse(&self.url).ok();
        let host = parsed.as_ref().and_then(url::Url::host_str);
        host.unwrap_or_default().to_owned()
    }

    /// Standard name of this variant: `plain`, `js`, `residential` or `js_residential`.
    pub fn variant(&self) -> &'static str {
        match (self.javascript, self.is_residential()) {
            (false, false) => "plain",
            (true, false) => "js",
            (false, true) => "residential",
            (true, true) => "js_residential",
        }
    }
}

fn is_content_type(name: &str) -> bool {
    name.eq_ignore_ascii_case("content-type")
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn the_type_of_a_body_is_no_extra_header() {
        let pair = |name: &str, value: &str| (name.to_owned(), value.to_owned());
        let mut task = Task::new("https://shop.example/", "https://api.acme.example");
        task.headers = vec![pair("content-type", "text/x"), pair("X-One", "1")];
        assert_eq!((task.body_type(), task.extra_headers().len()), (None, 2));
        task.body = b"a=1".to_vec();
        assert_eq!(task.body_type(), Some("text/x"));
        assert_eq!(task.extra_headers(), [pair("X-One", "1")]);
        task.headers.clear();
        assert_eq!(task.body_type(), Some(FORM_TYPE));
    }
}
