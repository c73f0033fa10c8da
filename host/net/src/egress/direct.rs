//! Direct connections to sites.

use std::future::ready;
use std::task::{Context, Poll};
use std::time::Duration;

use http::Uri;
use hyper_util::rt::TokioIo;
use tokio::net::TcpStream;
use tower::Service;

use super::client::{Cause, Connector, HttpClient, Opening};
use super::connect::checked_for_request;
use super::dial::direct;

/// Sends requests over direct connections.
pub(super) type DirectClient = HttpClient<Direct>;

/// Opens the connections.
#[derive(Clone, Debug)]
pub(super) struct Direct {
    /// Time in which one opens.
    pub(super) time_max: Duration,
}

impl Connector for Direct {}

impl Service<Uri> for Direct {
    type Response = TokioIo<TcpStream>;
    type Error = Cause;
    type Future = Opening;

    fn poll_ready(&mut self, _: &mut Context<'_>) -> Poll<Result<(), Cause>> {
        Poll::Ready(Ok(()))
    }

    fn call(&mut self, uri: Uri) -> Self::Future {
        let Some(target) = checked_for_request(&uri) else {
            let refusal = "the host was not checked before it was dialled";
            return Box::pin(ready(Err(refusal.into())));
        };
        let time_max = self.time_max;
        Box::pin(async move { Ok(TokioIo::new(direct(target, time_max).await?)) })
    }
}
