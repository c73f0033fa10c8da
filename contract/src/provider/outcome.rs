//! Steps of a conversation: a request, a page, or a failure.

use serde_json::{Map, Value};

use super::reply::{from_base64, set_cookies};
use super::{Cost, Exchange, Reply, Task, header_pairs};

/// The next step of a conversation.
#[derive(Clone, Debug, PartialEq, Eq)]
pub enum Step {
    /// Send a request and resume with its reply.
    Send(Box<Exchange>),
    /// Success, with the page.
    Done(Box<Page>),
    /// Failure, without a page.
    Failed(Box<Failure>),
}

impl Step {
    /// Delays the request of this step.
    #[must_use]
    pub fn after_ms(mut self, delay_ms: u32) -> Self {
        if let Self::Send(exchange) = &mut self {
            exchange.delay_ms = delay_ms;
        }
        self
    }

    /// Adds a request to be sent if the conversation is cancelled after this step.
    #[must_use]
    pub fn on_cancel(mut self, request: super::Request) -> Self {
        if let Self::Send(exchange) = &mut self {
            exchange.on_cancel = Some(request);
        }
        self
    }
}

/// A page as the target returned it, including 404 or 503 pages.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Page {
    /// The body.
    pub content: Content,
    /// Status code of the target, if known.
    pub status: Option<u16>,
    /// URL after redirects, if known.
    pub url: Option<String>,
    /// Headers of the target, if known.
    pub headers: Option<Vec<(String, String)>>,
    /// Cookies set by the target, name and value.
    pub cookies: Vec<(String, String)>,
    /// The target's `Content-Type`, if known and not among the headers.
    pub content_type: Option<String>,
    /// Whether scripts ran, if known.
    pub rendered: Option<bool>,
    /// How the service fetched the page, for `costs.vendor.route`.
    pub variant: String,
    /// Request ID of the service.
    pub request_id: Option<String>,
    /// Screenshot in PNG format.
    pub screenshot: Option<Vec<u8>>,
    /// Cost of the conversation.
    pub cost: Cost,
}

/// The body of a page.
#[derive(Clone, Debug, PartialEq, Eq)]
pub enum Content {
    /// The body of the reply, without a copy.
    Reply,
    /// Bytes.
    Bytes(Vec<u8>),
    /// Text.
    Text(String),
}

impl Page {
    /// A page whose body is the reply's body.
    pub fn of_reply(task: &Task) -> Self {
        Self::new(task, Content::Reply)
    }

    /// A page with this text.
    pub fn of_text(task: &Task, text: impl Into<String>) -> Self {
        Self::new(task, Content::Text(text.into()))
    }

    /// A page with the text of a JSON string, or with any other value as JSON: services parse the
    /// JSON of a target.
    pub fn of_json(task: &Task, value: Value) -> Self {
        match value {
            Value::String(text) => Self::of_text(task, text),
            parsed => Self::of_text(task, parsed.to_string()),
        }
    }

    /// A page with these bytes.
    pub fn of_bytes(task: &Task, bytes: impl Into<Vec<u8>>) -> Self {
        Self::new(task, Content::Bytes(bytes.into()))
    }

    /// A page from base64 text (standard alphabet).
    ///
    /// # Errors
    /// [`Class::Drift`] if the text is not base64.
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

    /// Sets the target's status code.
    #[must_use]
    pub fn status(self, status: impl Into<Option<u16>>) -> Self {
        let status = status.into();
        Self { status, ..self }
    }

    /// Sets the URL after redirects.
    #[must_use]
    pub fn url(self, url: Option<&str>) -> Self {
        let url = url.map(str::to_owned);
        Self { url, ..self }
    }

    /// Sets the target's headers, and the cookies in them unless cookies are already set.
    #[must_use]
    pub fn headers(mut self, headers: Vec<(String, String)>) -> Self {
        if self.cookies.is_empty() {
            self.cookies = set_cookies(&headers);
        }
        self.headers = Some(headers);
        self
    }

    /// Sets the target's headers from a JSON object ([`header_pairs`]), if any.
    #[must_use]
    pub fn header_object(self, object: Option<&Map<String, Value>>) -> Self {
        match object {
            Some(object) => self.headers(header_pairs(object)),
            None => self,
        }
    }

    /// Sets the cookies set by the target.
    #[must_use]
    pub fn cookies(self, cookies: Vec<(String, String)>) -> Self {
        Self { cookies, ..self }
    }

    /// Sets the cookies from a text such as `a=b; c=d`, if any.
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

    /// Sets whether scripts ran; `None` if that is not known.
    #[must_use]
    pub fn rendered(self, rendered: Option<bool>) -> Self {
        Self { rendered, ..self }
    }

    /// Sets how the service fetched the page.
    #[must_use]
    pub fn variant(self, variant: &str) -> Self {
        let variant = variant.to_owned();
        Self { variant, ..self }
    }

    /// Sets the service's request ID.
    #[must_use]
    pub fn request_id(self, id: Option<&str>) -> Self {
        let request_id = id.map(str::to_owned);
        Self { request_id, ..self }
    }

    /// Sets a PNG screenshot from base64 text, if any.
    ///
    /// # Errors
    /// [`Class::Drift`] if the text is not base64.
    pub fn screenshot_base64(self, text: Option<&str>) -> Result<Self, Failure> {
        let screenshot = text.map(from_base64).transpose()?;
        Ok(Self { screenshot, ..self })
    }

    /// Sets the cost.
    #[must_use]
    pub fn cost(self, cost: Cost) -> Self {
        Self { cost, ..self }
    }

    /// The final step of the conversation, with this page.
    pub fn done(self) -> Step {
        Step::Done(Box::new(self))
    }
}

/// Why a conversation failed.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord)]
pub enum Class {
    /// The service cannot handle the task; nothing was sent.
    Unsupported,
    /// A credential is wrong, missing or lacks a permission.
    BadKey,
    /// The account has no credit left or has reached a spending limit.
    NoCredit,
    /// The service's rate or concurrency limit was hit.
    RateLimited,
    /// The service rejected the parameters.
    BadRequest,
    /// The target returned an error whose body is not available.
    TargetFailed,
    /// The target blocked the service.
    TargetBlocked,
    /// The target cannot be reached.
    TargetUnreachable,
    /// The service timed out.
    ProviderTimeout,
    /// The service failed, or its reply is malformed.
    ProviderError,
    /// The reply does not have the documented shape.
    Drift,
}

impl Class {
    /// All classes.
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

    /// The class that a status has by RFC 9110 alone: for replies in which the service says no
    /// more. Timeouts of a gateway count as the service's, and whatever else it refuses, a retry of
    /// the same request does not help.
    pub const fn of_status(status: u16) -> Self {
        match status {
            200..=299 => Self::Drift,
            401 | 403 | 407 => Self::BadKey,
            402 => Self::NoCredit,
            // 524 is the gateway's of Cloudflare.
            408 | 504 | 524 => Self::ProviderTimeout,
            429 => Self::RateLimited,
            400..=499 => Self::BadRequest,
            _ => Self::ProviderError,
        }
    }

    /// Name in metrics and messages: `bad_key`.
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

/// A failure with the details of the reply. Nothing is charged unless [`cost`](Self::cost) says so.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Failure {
    /// Class of the failure.
    pub class: Class,
    /// One sentence, lower case, no full stop; quotes the service's message if there is one.
    pub message: String,
    /// Error code of the service.
    pub code: Option<String>,
    /// Status code of the target, if known.
    pub target_status: Option<u16>,
    /// Seconds until the service accepts another request.
    pub retry_after: Option<u32>,
    /// Whether the service itself says that a retry can help.
    pub retryable: Option<bool>,
    /// Request ID of the service.
    pub request_id: Option<String>,
    /// Cost of the failed conversation.
    pub cost: Cost,
}

/// Maximum length of a service's message in ours, in characters.
const QUOTED_CHARS_MAX: usize = 300;

impl Failure {
    /// A failure with this message.
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

    /// A failure of class [`Class::Unsupported`] with this message: nothing is sent.
    pub fn unsupported(message: impl Into<String>) -> Self {
        Self::new(Class::Unsupported, message)
    }

    /// A failure that quotes the reply's body, with its status and `Retry-After`.
    pub fn of_reply(class: Class, reply: &Reply<'_>) -> Self {
        Self::quoting(class, reply, &reply.text())
    }

    /// A failure that quotes this message of the service, with the reply's status and
    /// `Retry-After`.
    pub fn quoting(class: Class, reply: &Reply<'_>, words: &str) -> Self {
        let words = words.split_whitespace().collect::<Vec<_>>().join(" ");
        let quoted: String = words.chars().take(QUOTED_CHARS_MAX).collect();
        let message = if quoted.is_empty() {
            format!("responded with status {}", reply.status)
        } else {
            format!("responded with status {}: {quoted}", reply.status)
        };
        Self {
            retry_after: reply.retry_after(),
            ..Self::new(class, message)
        }
    }

    /// A failure that quotes this message of the service, or the reply's body if there is none.
    pub fn quoting_some(class: Class, reply: &Reply<'_>, words: Option<&str>) -> Self {
        match words {
            Some(words) => Self::quoting(class, reply, words),
            None => Self::of_reply(class, reply),
        }
    }

    /// Sets the service's error code.
    #[must_use]
    pub fn code(self, code: &str) -> Self {
        self.code_some(Some(code))
    }

    /// Sets the service's error code, if any.
    #[must_use]
    pub fn code_some(self, code: Option<&str>) -> Self {
        let code = code.map(str::to_owned);
        Self { code, ..self }
    }

    /// Sets the target's status code.
    #[must_use]
    pub fn target_status(self, status: impl Into<Option<u16>>) -> Self {
        let target_status = status.into();
        Self {
            target_status,
            ..self
        }
    }

    /// Sets whether the service says that a retry can help.
    #[must_use]
    pub fn retryable(self, retryable: Option<bool>) -> Self {
        Self { retryable, ..self }
    }

    /// Sets the service's request ID.
    #[must_use]
    pub fn request_id(self, id: Option<&str>) -> Self {
        let request_id = id.map(str::to_owned);
        Self { request_id, ..self }
    }

    /// Sets the cost of the failed conversation.
    #[must_use]
    pub fn cost(self, cost: Cost) -> Self {
        Self { cost, ..self }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_status_alone_has_a_class() {
        let check = |statuses: &[u16], expected: Class| {
            for status in statuses {
                assert_eq!(Class::of_status(*status), expected, "{status}");
            }
        };
        check(&[200, 202, 204], Class::Drift);
        check(&[401, 403, 407], Class::BadKey);
        check(&[402], Class::NoCredit);
        check(&[408, 504, 524], Class::ProviderTimeout);
        check(&[429], Class::RateLimited);
        check(&[400, 404, 405, 413, 422, 431], Class::BadRequest);
        check(&[101, 302, 500, 502, 503, 520, 999], Class::ProviderError);
    }
}
