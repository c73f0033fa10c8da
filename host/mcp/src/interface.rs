//! The HTTP interface as tools see it.

use bytes::Bytes;
use futures_util::future::BoxFuture;
use http::{HeaderMap, Request, StatusCode};

use trawl_model::memory::Held;

/// The HTTP interface, for the caller of one message.
pub trait Interface: Send + Sync + 'static {
    /// Sends a request with the key of the caller and reads the whole answer. The request has no
    /// headers; its body is JSON, or empty. Dropping the future cancels the request.
    ///
    /// # Errors
    /// No complete answer arrived.
    fn call(&self, request: Request<Bytes>) -> BoxFuture<'_, Result<Answer, Unanswered>>;
}

/// An answer of the interface.
#[derive(Debug)]
pub struct Answer {
    /// Its status.
    pub status: StatusCode,
    /// Its headers.
    pub headers: HeaderMap,
    /// Its body, which is JSON, with the memory that it takes.
    pub body: Held<Bytes>,
}

impl Answer {
    /// The text of a header; `None` if there is none.
    pub(crate) fn header(&self, name: &str) -> Option<&str> {
        self.headers.get(name)?.to_str().ok()
    }

    /// The sentence on parameters that had no effect.
    pub(crate) fn without_effect(&self) -> Option<String> {
        let names = self.header("x-ignored-parameters")?;
        Some(format!("Without effect: {names}"))
    }
}

/// Why there is no answer.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Unanswered {
    /// It is longer than this number of bytes.
    TooLarge(usize),
    /// The account had no memory for it in time.
    NoMemory,
    /// It broke off.
    Broken,
}
