//! Requests to the service: built by the adapter, sent by the host.

use std::fmt::Display;

use base64::Engine;
use base64::engine::general_purpose::{STANDARD, URL_SAFE};
use url::form_urlencoded::byte_serialize;

use super::Step;

/// Maximum size of a memo, in bytes.
pub const MEMO_BYTES_MAX: usize = 64 * 1024;

/// A request to the service, with the names of the credentials to insert.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct Request {
    /// HTTP method.
    pub method: String,
    /// Absolute URL without credentials.
    pub url: String,
    /// Headers in order.
    pub headers: Vec<(String, String)>,
    /// Where credentials go.
    pub credentials: Vec<Credential>,
    /// Body.
    pub body: Vec<u8>,
    /// Timeout of this exchange in milliseconds; 0 means the remaining time of the conversation.
    pub time_ms: u32,
}

/// Where the host inserts a credential.
#[derive(Clone, Debug, PartialEq, Eq)]
pub enum Credential {
    /// A query parameter: parameter name and credential name.
    Query(String, String),
    /// A header: header name and credential name.
    Header(String, String),
    /// `Authorization: Bearer`: credential name.
    Bearer(String),
    /// `Authorization: Basic`: credential names of user and password; `None` leaves that part
    /// empty.
    Basic(Option<String>, Option<String>),
}

/// A request with its delay, memo and cancel request.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Exchange {
    /// The request to send.
    pub request: Request,
    /// Delay before sending, in milliseconds.
    pub delay_ms: u32,
    /// Passed to the adapter's next call; at most [`MEMO_BYTES_MAX`].
    pub memo: Vec<u8>,
    /// Sent if the conversation is cancelled after this request.
    pub on_cancel: Option<Request>,
}

impl Request {
    /// Creates a request with this method.
    pub fn new(method: &str, url: impl Into<String>) -> Self {
        Self {
            method: method.to_owned(),
            url: url.into(),
            ..Self::default()
        }
    }

    /// Creates a GET request.
    pub fn get(url: impl Into<String>) -> Self {
        Self::new("GET", url)
    }

    /// Creates a POST request.
    pub fn post(url: impl Into<String>) -> Self {
        Self::new("POST", url)
    }

    /// Appends a query parameter, percent-encoding it: a text, a number, `true` or `false`.
    #[must_use]
    pub fn query(mut self, name: &str, value: impl Display) -> Self {
        self.url
            .push(if self.url.contains('?') { '&' } else { '?' });
        self.url.extend(byte_serialize(name.as_bytes()));
        self.url.push('=');
        let value = value.to_string();
        self.url.extend(byte_serialize(value.as_bytes()));
        self
    }

    /// Appends a query parameter if there is a value.
    #[must_use]
    pub fn query_some(self, name: &str, value: Option<impl Display>) -> Self {
        match value {
            Some(value) => self.query(name, value),
            None => self,
        }
    }

    /// Appends a query parameter if the condition holds.
    #[must_use]
    pub fn query_if(self, condition: bool, name: &str, value: impl Display) -> Self {
        if condition {
            self.query(name, value)
        } else {
            self
        }
    }

    /// Adds a header.
    #[must_use]
    pub fn header(mut self, name: &str, value: &str) -> Self {
        self.headers.push((name.to_owned(), value.to_owned()));
        self
    }

    /// Adds a header if there is a value.
    #[must_use]
    pub fn header_some(self, name: &str, value: Option<impl AsRef<str>>) -> Self {
        match value {
            Some(value) => self.header(name, value.as_ref()),
            None => self,
        }
    }

    /// Adds headers, each with `prefix` before its name.
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

    /// Sets a JSON body and its `Content-Type`.
    #[must_use]
    pub fn json(self, value: &serde_json::Value) -> Self {
        self.header("content-type", "application/json")
            .body(value.to_string())
    }

    /// Sets a JSON object as body, without its members that are null: parameters without a value.
    #[must_use]
    pub fn json_some(self, mut object: serde_json::Value) -> Self {
        if let Some(members) = object.as_object_mut() {
            members.retain(|_, value| !value.is_null());
        }
        self.json(&object)
    }

    /// Adds a query parameter whose value is a credential.
    #[must_use]
    pub fn secret_query(self, parameter: &str, credential: &str) -> Self {
        self.secret(Credential::Query(
            parameter.to_owned(),
            credential.to_owned(),
        ))
    }

    /// Adds a header whose value is a credential.
    #[must_use]
    pub fn secret_header(self, header: &str, credential: &str) -> Self {
        self.secret(Credential::Header(header.to_owned(), credential.to_owned()))
    }

    /// Sets `Authorization: Bearer` to a credential.
    #[must_use]
    pub fn bearer(self, credential: &str) -> Self {
        self.secret(Credential::Bearer(credential.to_owned()))
    }

    /// Sets `Authorization: Basic` to credentials for user and password; `None` leaves that part
    /// empty.
    #[must_use]
    pub fn basic(self, user: Option<&str>, password: Option<&str>) -> Self {
        self.secret(Credential::Basic(
            user.map(str::to_owned),
            password.map(str::to_owned),
        ))
    }

    /// Sets the timeout of this exchange.
    #[must_use]
    pub fn time_ms(self, time_ms: u32) -> Self {
        Self { time_ms, ..self }
    }

    /// Decoded value of a query parameter.
    pub fn query_value(&self, name: &str) -> Option<String> {
        let url = url::Url::parse(&self.url).ok()?;
        let mut pairs = url.query_pairs();
        let found = pairs.find(|(known, _)| known == name);
        found.map(|(_, value)| value.into_owned())
    }

    /// The body as JSON; null if it is not JSON.
    pub fn body_json(&self) -> serde_json::Value {
        serde_json::from_slice(&self.body).unwrap_or_default()
    }

    /// The step that sends this request, without a memo.
    pub fn send(self) -> Step {
        self.send_with(Vec::new())
    }

    /// The step that sends this request and passes a memo on to the next call.
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

/// Base64 with padding, URL-safe alphabet (RFC 4648 section 5).
pub fn base64_url(bytes: impl AsRef<[u8]>) -> String {
    URL_SAFE.encode(bytes)
}

#[cfg(test)]
mod tests {
    use serde_json::json;

    use super::*;

    #[test]
    fn values_of_any_type_are_parameters() {
        let request = Request::get("https://api.acme.example/v1")
            .query("url", "https://shop.example/a?b=1&c=2")
            .query("render", true)
            .query_some("wait", Some(1_500))
            .query_some("country", None::<String>)
            .query_if(false, "premium", true);
        let expected = "https://api.acme.example/v1?url=https%3A%2F%2Fshop.example%2Fa%3Fb%3D1%26c%3D2\
                        &render=true&wait=1500";
        assert_eq!(request.url, expected);
    }

    #[test]
    fn parameters_without_a_value_are_left_out() {
        let country: Option<&str> = None;
        let object =
            json!({"url": "a", "country": country, "page": {"wait": null}, "render": false});
        let request = Request::post("https://api.acme.example/v1").json_some(object);
        let expected = json!({"url": "a", "page": {"wait": null}, "render": false});
        let body: serde_json::Value = serde_json::from_slice(&request.body).expect("JSON");
        assert_eq!(body, expected);
    }
}
