//! Requests to the service: built here, sent by the host.

use base64::Engine;
use base64::engine::general_purpose::{STANDARD, URL_SAFE};
use url::form_urlencoded::byte_serialize;

use super::Step;

/// Most bytes of a memo.
pub const MEMO_BYTES_MAX: usize = 64 * 1024;

/// A request to the service, with the names of the credentials that belong into it.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct Request {
    /// HTTP method.
    pub method: String,
    /// Absolute address without credentials.
    pub url: String,
    /// Headers in order.
    pub headers: Vec<(String, String)>,
    /// Where credentials go.
    pub credentials: Vec<Credential>,
    /// Body.
    pub body: Vec<u8>,
    /// Milliseconds for this exchange; 0 is what is left for the conversation.
    pub time_ms: u32,
}

/// Where a credential goes.
#[derive(Clone, Debug, PartialEq, Eq)]
pub enum Credential {
    /// A query parameter: its name, and the credential's.
    Query(String, String),
    /// A header of its own: its name, and the credential's.
    Header(String, String),
    /// `Authorization: Bearer`: the credential's name.
    Bearer(String),
    /// `Authorization: Basic`: names of user and password; without one that part is empty.
    Basic(Option<String>, Option<String>),
}

/// A request, and what goes with it.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Exchange {
    /// What to send.
    pub request: Request,
    /// Milliseconds to wait before.
    pub delay_ms: u32,
    /// Bytes for the adapter's next call, [`MEMO_BYTES_MAX`] at most.
    pub memo: Vec<u8>,
    /// What to send when the conversation is given up after this request.
    pub on_cancel: Option<Request>,
}

impl Request {
    /// A request with this method.
    pub fn new(method: &str, url: impl Into<String>) -> Self {
        Self {
            method: method.to_owned(),
            url: url.into(),
            ..Self::default()
        }
    }

    /// A GET request.
    pub fn get(url: impl Into<String>) -> Self {
        Self::new("GET", url)
    }

    /// A POST request.
    pub fn post(url: impl Into<String>) -> Self {
        Self::new("POST", url)
    }

    /// Appends a query parameter, encoded.
    #[must_use]
    pub fn query(mut self, name: &str, value: &str) -> Self {
        self.url
            .push(if self.url.contains('?') { '&' } else { '?' });
        self.url.extend(byte_serialize(name.as_bytes()));
        self.url.push('=');
        self.url.extend(byte_serialize(value.as_bytes()));
        self
    }

    /// Appends a query parameter when there is a value.
    #[must_use]
    pub fn query_some(self, name: &str, value: Option<impl AsRef<str>>) -> Self {
        match value {
            Some(value) => self.query(name, value.as_ref()),
            None => self,
        }
    }

    /// Appends a query parameter on a condition.
    #[must_use]
    pub fn query_if(self, condition: bool, name: &str, value: &str) -> Self {
        match condition {
            true => self.query(name, value),
            false => self,
        }
    }

    /// Adds a header.
    #[must_use]
    pub fn header(mut self, name: &str, value: &str) -> Self {
        self.headers.push((name.to_owned(), value.to_owned()));
        self
    }

    /// Adds a header when there is a value.
    #[must_use]
    pub fn header_some(self, name: &str, value: Option<impl AsRef<str>>) -> Self {
        match value {
            Some(value) => self.header(name, value.as_ref()),
            None => self,
        }
    }

    /// Adds headers, each under its name with `prefix` in front.
    #[must_use]
    pub fn prefixed_headers(mut self, prefix: &str, headers: &[(String, String)]) -> Self {
        let prefixed = headers.iter();
        let prefixed = prefixed.map(|(name, value)| (format!("{prefix}{name}"), value.clone()));
        self.headers.extend(prefixed);
        self
    }

    /// Sets the body.
    #[must_use]
    pub fn body(mut self, body: impl Into<Vec<u8>>) -> Self {
        self.body = body.into();
        self
    }

    /// Sets a JSON body, with its `Content-Type`.
    #[must_use]
    pub fn json(self, value: &serde_json::Value) -> Self {
        self.header("content-type", "application/json")
            .body(value.to_string())
    }

    /// Marks a query parameter that is a credential.
    #[must_use]
    pub fn secret_query(self, parameter: &str, credential: &str) -> Self {
        self.secret(Credential::Query(
            parameter.to_owned(),
            credential.to_owned(),
        ))
    }

    /// Marks a header that is a credential.
    #[must_use]
    pub fn secret_header(self, header: &str, credential: &str) -> Self {
        self.secret(Credential::Header(header.to_owned(), credential.to_owned()))
    }

    /// Marks `Authorization: Bearer` with a credential.
    #[must_use]
    pub fn bearer(self, credential: &str) -> Self {
        self.secret(Credential::Bearer(credential.to_owned()))
    }

    /// Marks `Authorization: Basic` with credentials as user and password; `None` leaves a part empty.
    #[must_use]
    pub fn basic(self, user: Option<&str>, password: Option<&str>) -> Self {
        self.secret(Credential::Basic(
            user.map(str::to_owned),
            password.map(str::to_owned),
        ))
    }

    /// Sets the time of this exchange alone.
    #[must_use]
    pub fn time_ms(self, time_ms: u32) -> Self {
        Self { time_ms, ..self }
    }

    /// The step that sends this and needs to know nothing more.
    pub fn send(self) -> Step {
        self.send_with(Vec::new())
    }

    /// The step that sends this and leaves a memo for the reply.
    pub fn send_with(self, memo: impl Into<Vec<u8>>) -> Step {
        Step::Send(Box::new(Exchange {
            request: self,
            delay_ms: 0,
            memo: memo.into(),
            on_cancel: None,
        }))
    }

    fn secret(mut self, credential: Credential) -> Self {
        self.credentials.push(credential);
        self
    }
}

/// Base64 with padding, standard alphabet (RFC 4648 section 4).
pub fn base64(bytes: impl AsRef<[u8]>) -> String {
    STANDARD.encode(bytes)
}

/// Base64 with padding, alphabet for addresses (RFC 4648 section 5).
pub fn base64_url(bytes: impl AsRef<[u8]>) -> String {
    URL_SAFE.encode(bytes)
}
