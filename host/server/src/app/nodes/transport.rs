//! Pages on their way to the servers that extract them.

use std::sync::Arc;

use axum::body::{Body, Bytes, to_bytes};
use futures_util::FutureExt as _;
use futures_util::future::BoxFuture;
use http::header::AUTHORIZATION;
use http::{HeaderValue, Request, StatusCode};
use hyper_util::client::legacy::Client;
use hyper_util::client::legacy::connect::HttpConnector;
use hyper_util::rt::TokioExecutor;

use trawl_engine::extract::remote::Transport;
use trawl_model::secret::Secret;

use super::{PAGES_PATH, authorization};

/// Largest answer: all outputs of the largest page, several times. What is larger is made here.
const ANSWER_BYTES_MAX: usize = 16 << 20;

/// Requests over HTTP, on connections that are used again.
#[derive(Debug)]
pub(in super::super) struct HttpTransport {
    client: Client<HttpConnector, Body>,
    authorization: HeaderValue,
}

impl HttpTransport {
    /// With the key of this server; `None` if that is not one that a header can have.
    pub(in super::super) fn new(key: &Secret) -> Option<Self> {
        Some(Self {
            client: client(),
            authorization: authorization(key)?,
        })
    }
}

/// A client of other servers.
pub(super) fn client() -> Client<HttpConnector, Body> {
    let mut connector = HttpConnector::new();
    connector.set_nodelay(true);
    Client::builder(TokioExecutor::new()).build(connector)
}

impl Transport for HttpTransport {
    fn send(&self, address: Arc<str>, request: Vec<u8>) -> BoxFuture<'_, Option<Bytes>> {
        async move {
            let request = Request::post(format!("http://{address}{PAGES_PATH}"))
                .header(AUTHORIZATION, self.authorization.clone())
                .body(Body::from(request))
                .ok()?;
            let answer = self.client.request(request).await.ok()?;
            if answer.status() != StatusCode::OK {
                tracing::debug!(status = answer.status().as_u16(), "a node refuses a page");
                return None;
            }
            let body = Body::new(answer.into_body());
            to_bytes(body, ANSWER_BYTES_MAX).await.ok()
        }
        .boxed()
    }
}
