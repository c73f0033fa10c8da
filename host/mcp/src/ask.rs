//! Requests to the interface, and its refusals.

use bytes::Bytes;
use http::{Method, Request, StatusCode};
use serde_json::{Map, Value};

use crate::interface::{Answer, Interface, Unanswered};

/// Why a call is refused, in the words of the interface.
#[derive(Debug, Default, PartialEq)]
pub(crate) struct Refusal {
    /// The whole text.
    pub(crate) text: String,
    /// The members of the error.
    pub(crate) fields: Map<String, Value>,
    /// Whether it is the answer that is too large.
    pub(crate) is_too_large: bool,
}

impl Refusal {
    /// A refusal with this text.
    pub(crate) fn new(text: impl Into<String>) -> Self {
        let text = text.into();
        let mut fields = Map::new();
        fields.insert("error".to_owned(), text.clone().into());
        Self {
            text,
            fields,
            is_too_large: false,
        }
    }

    /// Whether the interface says that there is no such thing.
    pub(crate) fn is_of_absence(&self) -> bool {
        let status = self.fields.get("status").and_then(Value::as_u64);
        status == Some(u64::from(StatusCode::NOT_FOUND.as_u16()))
    }

    /// What an answer says that is no success.
    fn of(answer: &Answer) -> Self {
        let read = serde_json::from_slice::<Map<String, Value>>(&answer.body);
        let mut fields = read.unwrap_or_default();
        let said = |name: &str| fields.get(name).and_then(Value::as_str);
        let status = answer.status.as_u16();
        let mut text = said("error").map_or_else(|| format!("status {status}"), str::to_owned);
        if let Some(hint) = said("hint") {
            text = format!("{text}: {hint}");
        }
        if let Some(seconds) = answer.header("retry-after") {
            text = format!("{text}; try again in {seconds} s");
            fields.insert("retry_after".to_owned(), seconds.into());
        }
        fields.insert("status".to_owned(), status.into());
        Self {
            text,
            fields,
            is_too_large: false,
        }
    }
}

/// Sends a request.
///
/// # Errors
/// The interface refused it.
pub(crate) async fn ask(
    interface: &dyn Interface,
    request: Request<Bytes>,
) -> Result<Answer, Refusal> {
    match interface.call(request).await {
        Ok(answer) if answer.status.is_success() => Ok(answer),
        Ok(answer) => Err(Refusal::of(&answer)),
        Err(Unanswered::TooLarge(bytes)) => Err(Refusal {
            is_too_large: true,
            ..Refusal::new(format!(
                "the answer is longer than {bytes} bytes: ask for fewer pages, or for less of each"
            ))
        }),
        Err(Unanswered::NoMemory) => Err(Refusal {
            is_too_large: true,
            ..Refusal::new(
                "there is no memory for the answer: ask for fewer pages, for less of each, or try \
                 again later",
            )
        }),
        Err(Unanswered::Broken) => Err(Refusal::new("the answer broke off: try again")),
    }
}

/// The JSON of an answer.
///
/// # Errors
/// It is none, which is a fault of the server.
pub(crate) fn read(body: &[u8]) -> Result<Value, Refusal> {
    serde_json::from_slice(body).map_err(|error| {
        tracing::error!(error = %error, "an answer of the interface is not JSON");
        Refusal::new("internal error, the answer could not be read: try again")
    })
}

/// Long bodies are written, and long answers read, where that delays no other request.
///
/// # Errors
/// Those of the work.
pub(crate) async fn on_a_thread<T: Send + 'static>(
    work: impl FnOnce() -> Result<T, Refusal> + Send + 'static,
) -> Result<T, Refusal> {
    match tokio::task::spawn_blocking(work).await {
        Ok(done) => done,
        // The panic is in the log.
        Err(_panicked) => Err(Refusal::new("internal error: try again")),
    }
}

/// A request with a body, which may be long.
///
/// # Errors
/// It could not be written, which is a fault of the server.
pub(crate) async fn post(
    path: &'static str,
    body: Map<String, Value>,
) -> Result<Request<Bytes>, Refusal> {
    let write = move || {
        let text = Value::Object(body).to_string();
        Ok(request(Method::POST, path, text.into()))
    };
    on_a_thread(write).await
}

/// A request without a body.
pub(crate) fn get(path: &str) -> Request<Bytes> {
    request(Method::GET, path, Bytes::new())
}

/// A request to delete.
pub(crate) fn delete(path: &str) -> Request<Bytes> {
    request(Method::DELETE, path, Bytes::new())
}

fn request(method: Method, path: &str, body: Bytes) -> Request<Bytes> {
    let mut request = Request::new(body);
    *request.method_mut() = method;
    // A path that is none is not found.
    *request.uri_mut() = path.parse().unwrap_or_default();
    request
}
