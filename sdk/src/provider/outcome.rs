//! What a step of a conversation is: a request, the page, or why there is none.

use serde_json::{Map, Value};

use super::reply::{from_base64, set_cookies};
use super::{Cost, Exchange, Reply, Task, header_pairs};

/// What is next in a conversation.
#[derive(Clone, Debug, PartialEq, Eq)]
pub enum Step {
    /// Send a request and resume with its reply.
    Send(Box<Exchange>),
    /// The page is there.
    Done(Box<Page>),
    /// There is no page.
    Failed(Box<Failure>),
}

impl Step {
    /// The same, with a pause before it is sent.
    #[must_use]
    pub fn after_ms(mut self, delay_ms: u32) -> Self {
        if let Self::Send(exchange) = &mut self {
            exchange.delay_ms = delay_ms;
        }
        self
    }

    /// The same, with a request to be sent when the conversation is given up after this one.
    #[must_use]
    pub fn on_cancel(mut self, request: super::Request) -> Self {
        if let Self::Send(exchange) = &mut self {
            exchange.on_cancel = Some(request);
        }
        self
    }
}

/// A page as the target answered it, also with a 404 or 503.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Page {
    /// The body.
    pub content: Content,
    /// Status of the target, if known.
    pub status: Option<u16>,
    /// Address after redirects, if known.
    pub url: Option<String>,
    /// Headers of the target, if known.
    pub headers: Option<Vec<(String, String)>>,
    /// Cookies that the target set, name and value.
    pub cookies: Vec<(String, String)>,
    /// The target's `Content-Type`, if known and not among the headers.
    pub content_type: Option<String>,
    /// Whether scripts ran, if known.
    pub rendered: Option<bool>,
    /// How the service went about it, for `costs.vendor.route`.
    pub variant: String,
    /// The service's name for the request.
    pub request_id: Option<String>,
    /// A PNG picture.
    pub screenshot: Option<Vec<u8>>,
    /// What it cost.
    pub cost: Cost,
}

/// The body of a page.
#[derive(Clone, Debug, PartialEq, Eq)]
pub enum Content {
    /// The body of the reply as it is; nothing is copied.
    Reply,
    /// Bytes.
    Bytes(Vec<u8>),
    /// Text.
    Text(String),
}

impl Page {
    /// A page whose body is the reply's.
    pub fn of_reply(task: &Task) -> Self {
        Self::new(task, Content::Reply)
    }

    /// A page with this text.
    pub fn of_text(task: &Task, text: impl Into<String>) -> Self {
        Self::new(task, Content::Text(text.into()))
    }

    /// A page with these bytes.
    pub fn of_bytes(task: &Task, bytes: impl Into<Vec<u8>>) -> Self {
        Self::new(task, Content::Bytes(bytes.into()))
    }

    /// A page of base64 text (standard alphabet).
    ///
    /// # Errors
    /// [`Class::Drift`]: it is something else.
    pub fn of_base64(task: &Task, text: &str) -> Result<Self, Failure> {
        from_base64(text).map(|bytes| Self::of_bytes(task, bytes))
    }

    fn new(task: &Task, content: Content) -> Self {
        Self {
            content,
            status: None,
            url: None,
            headers: None,
            cookies: Vec::new(),
            content_type: None,
            rendered: Some(task.javascript),
            variant: task.variant().to_owned(),
            request_id: None,
            screenshot: None,
            cost: Cost::unknown(),
        }
    }

    /// Sets the target's status.
    #[must_use]
    pub fn status(self, status: impl Into<Option<u16>>) -> Self {
        let status = status.into();
        Self { status, ..self }
    }

    /// Sets the address after redirects.
    #[must_use]
    pub fn url(self, url: Option<&str>) -> Self {
        let url = url.map(str::to_owned);
        Self { url, ..self }
    }

    /// Sets the target's headers, and the cookies among them unless there are others already.
    #[must_use]
    pub fn headers(mut self, headers: Vec<(String, String)>) -> Self {
        if self.cookies.is_empty() {
            self.cookies = set_cookies(&headers);
        }
        self.headers = Some(headers);
        self
    }

    /// Sets the target's headers from a JSON object ([`header_pairs`]), if there is one.
    #[must_use]
    pub fn header_object(self, object: Option<&Map<String, Value>>) -> Self {
        match object {
            Some(object) => self.headers(header_pairs(object)),
            None => self,
        }
    }

    /// Sets the cookies that the target set.
    #[must_use]
    pub fn cookies(self, cookies: Vec<(String, String)>) -> Self {
        Self { cookies, ..self }
    }

    /// Sets the cookies from a text `a=b; c=d`, if there is one.
    #[must_use]
    pub fn cookie_line(self, line: Option<&str>) -> Self {
        let Some(line) = line else {
            return self;
        };
        let pairs = line.split(';').filter_map(|pair| pair.split_once('='));
        let cookies = pairs.map(|(name, value)| (name.trim().to_owned(), value.trim().to_owned()));
        Self {
            cookies: cookies.collect(),
            ..self
        }
    }

    /// Sets the target's `Content-Type`.
    #[must_use]
    pub fn content_type(self, content_type: Option<&str>) -> Self {
        let content_type = content_type.map(str::to_owned);
        Self {
            content_type,
            ..self
        }
    }

    /// Sets whether scripts ran; `None` when nobody knows.
    #[must_use]
    pub fn rendered(self, rendered: Option<bool>) -> Self {
        Self { rendered, ..self }
    }

    /// Sets how the service went about it.
    #[must_use]
    pub fn variant(self, variant: &str) -> Self {
        let variant = variant.to_owned();
        Self { variant, ..self }
    }

    /// Sets the service's name for the request.
    #[must_use]
    pub fn request_id(self, id: Option<&str>) -> Self {
        let request_id = id.map(str::to_owned);
        Self { request_id, ..self }
    }

    /// Sets a PNG picture from base64 text, if there is one.
    ///
    /// # Errors
    /// [`Class::Drift`]: it is something else.
    pub fn screenshot_base64(self, text: Option<&str>) -> Result<Self, Failure> {
        let screenshot = text.map(from_base64).transpose()?;
        Ok(Self { screenshot, ..self })
    }

    /// Sets what it cost.
    #[must_use]
    pub fn cost(self, cost: Cost) -> Self {
        Self { cost, ..self }
    }

    /// The step that ends the conversation with this page.
    pub fn done(self) -> Step {
        Step::Done(Box::new(self))
    }
}

/// Why there is no page.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord)]
pub enum Class {
    /// The task cannot be done; nothing was sent.
    Unsupported,
    /// A credential is wrong, missing or without permission.
    BadKey,
    /// No credit is left, or a spending limit is reached.
    NoCredit,
    /// The service's own limit of rate or concurrency.
    RateLimited,
    /// The service refused the parameters.
    BadRequest,
    /// The target answered with an error whose body is not delivered.
    TargetFailed,
    /// The target turned the service away.
    TargetBlocked,
    /// The target cannot be reached.
    TargetUnreachable,
    /// The service took too long.
    ProviderTimeout,
    /// The service failed, or its reply is broken.
    ProviderError,
    /// The reply is not of the documented shape.
    Drift,
}

impl Class {
    /// Every class.
    pub const ALL: [Self; 11] = [
        Self::Unsupported,
        Self::BadKey,
        Self::NoCredit,
        Self::RateLimited,
        Self::BadRequest,
        Self::TargetFailed,
        Self::TargetBlocked,
        Self::TargetUnreachable,
        Self::ProviderTimeout,
        Self::ProviderError,
        Self::Drift,
    ];

    /// Its name in metrics and messages: `bad_key`.
    pub const fn name(self) -> &'static str {
        match self {
            Self::Unsupported => "unsupported",
            Self::BadKey => "bad_key",
            Self::NoCredit => "no_credit",
            Self::RateLimited => "rate_limited",
            Self::BadRequest => "bad_request",
            Self::TargetFailed => "target_failed",
            Self::TargetBlocked => "target_blocked",
            Self::TargetUnreachable => "target_unreachable",
            Self::ProviderTimeout => "provider_timeout",
            Self::ProviderError => "provider_error",
            Self::Drift => "drift",
        }
    }
}

/// A failure with all that the reply told. Nothing is charged unless [`cost`](Self::cost) says so.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Failure {
    /// Which kind.
    pub class: Class,
    /// One sentence, lower case, no full stop; the service's own words where it has some.
    pub message: String,
    /// The service's own code.
    pub code: Option<String>,
    /// Status of the target, if known.
    pub target_status: Option<u16>,
    /// Seconds after which the service may be asked again.
    pub retry_after: Option<u32>,
    /// Whether the service itself says that another try can help.
    pub retryable: Option<bool>,
    /// The service's name for the request.
    pub request_id: Option<String>,
    /// What it cost nevertheless.
    pub cost: Cost,
}

/// Longest text of the service that is quoted in a message, in characters.
const QUOTED_CHARS_MAX: usize = 300;

impl Failure {
    /// A failure in the adapter's own words.
    pub fn new(class: Class, message: impl Into<String>) -> Self {
        Self {
            class,
            message: message.into(),
            code: None,
            target_status: None,
            retry_after: None,
            retryable: None,
            request_id: None,
            cost: Cost::free(),
        }
    }

    /// A failure in the words of the reply's body, with its status and `Retry-After`.
    pub fn of_reply(class: Class, reply: &Reply<'_>) -> Self {
        Self::quoting(class, reply, &reply.text())
    }

    /// A failure in these words of the service, with the reply's status and `Retry-After`.
    pub fn quoting(class: Class, reply: &Reply<'_>, words: &str) -> Self {
        let words = words.split_whitespace().collect::<Vec<_>>().join(" ");
        let quoted: String = words.chars().take(QUOTED_CHARS_MAX).collect();
        let message = match quoted.is_empty() {
            true => format!("it answered {}", reply.status),
            false => format!("it answered {}: {quoted}", reply.status),
        };
        Self {
            retry_after: reply.retry_after(),
            ..Self::new(class, message)
        }
    }

    /// A failure in these words of the service, or in those of the reply's body when there are none.
    pub fn quoting_some(class: Class, reply: &Reply<'_>, words: Option<&str>) -> Self {
        match words {
            Some(words) => Self::quoting(class, reply, words),
            None => Self::of_reply(class, reply),
        }
    }

    /// Sets the service's own code.
    #[must_use]
    pub fn code(self, code: &str) -> Self {
        self.code_some(Some(code))
    }

    /// Sets the service's own code, if there is one.
    #[must_use]
    pub fn code_some(self, code: Option<&str>) -> Self {
        let code = code.map(str::to_owned);
        Self { code, ..self }
    }

    /// Sets the target's status.
    #[must_use]
    pub fn target_status(self, status: impl Into<Option<u16>>) -> Self {
        let target_status = status.into();
        Self {
            target_status,
            ..self
        }
    }

    /// Sets whether the service says that another try can help.
    #[must_use]
    pub fn retryable(self, retryable: Option<bool>) -> Self {
        Self { retryable, ..self }
    }

    /// Sets the service's name for the request.
    #[must_use]
    pub fn request_id(self, id: Option<&str>) -> Self {
        let request_id = id.map(str::to_owned);
        Self { request_id, ..self }
    }

    /// Sets what it cost nevertheless.
    #[must_use]
    pub fn cost(self, cost: Cost) -> Self {
        Self { cost, ..self }
    }
}
