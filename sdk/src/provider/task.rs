//! The page that is wanted.

/// The page that is wanted, and what the operator set. The host asks only for what [`describe`](super::Provider::describe) says can be done.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Task {
    /// Absolute address, `http` or `https`.
    pub url: String,
    /// Method of the target's request.
    pub method: String,
    /// Body of the target's request.
    pub body: Vec<u8>,
    /// Headers for the target, in order, repeats allowed; no cookies.
    pub headers: Vec<(String, String)>,
    /// Cookies for the target, name and value.
    pub cookies: Vec<(String, String)>,
    /// Whether scripts run.
    pub javascript: bool,
    /// Milliseconds to wait after load.
    pub wait_ms: Option<u32>,
    /// An element to wait for.
    pub wait_for: Option<WaitFor>,
    /// A script to run after load.
    pub script: Option<String>,
    /// ISO 3166 code of two letters, upper case.
    pub country: Option<String>,
    /// Addresses to ask from.
    pub pool: Pool,
    /// A picture to make.
    pub screenshot: Option<Screenshot>,
    /// Milliseconds left for the whole conversation.
    pub time_ms: u32,
    /// Address of the service, without a trailing slash.
    pub base: String,
    /// The operator's settings as JSON; an adapter gets them as its [`Settings`](super::Provider::Settings).
    pub settings: String,
}

/// Addresses that the target is asked from.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub enum Pool {
    /// The service's ordinary ones.
    #[default]
    Standard,
    /// Those of homes.
    Residential,
}

/// Waiting for an element.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct WaitFor {
    /// A CSS selector.
    pub selector: String,
    /// Most milliseconds to wait.
    pub time_ms: u32,
}

/// A picture to be made.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Screenshot {
    /// The visible part.
    Window,
    /// The whole page.
    FullPage,
}

impl Task {
    /// GET of a page without JavaScript and without wishes.
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

    /// An address of the service: its base with this path.
    pub fn at(&self, path: &str) -> String {
        format!("{}{path}", self.base)
    }

    /// Whether residential addresses are asked for.
    pub fn is_residential(&self) -> bool {
        self.pool == Pool::Residential
    }

    /// The country's code in lower case.
    pub fn country_lower(&self) -> Option<String> {
        self.country.as_deref().map(str::to_lowercase)
    }

    /// Cookies as in a `Cookie` header, `a=b; c=d`; `None` without one.
    pub fn cookie_line(&self) -> Option<String> {
        self.cookies_with("; ")
    }

    /// Cookies as `name=value`, separated by `between`; `None` without one.
    pub fn cookies_with(&self, between: &str) -> Option<String> {
        let pairs = self.cookies.iter();
        let pairs: Vec<_> = pairs
            .map(|(name, value)| format!("{name}={value}"))
            .collect();
        (!pairs.is_empty()).then(|| pairs.join(between))
    }

    /// Host of the target, for cookies that need one.
    pub fn host(&self) -> String {
        let parsed = url::Url::parse(&self.url).ok();
        let host = parsed.as_ref().and_then(url::Url::host_str);
        host.unwrap_or_default().to_owned()
    }

    /// The usual name of a variant: `plain`, `js`, `residential` or `js_residential`.
    pub fn variant(&self) -> &'static str {
        match (self.javascript, self.is_residential()) {
            (false, false) => "plain",
            (true, false) => "js",
            (false, true) => "residential",
            (true, true) => "js_residential",
        }
    }
}
