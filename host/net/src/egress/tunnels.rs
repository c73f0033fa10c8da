//! Connections through an upstream proxy that gets no names: each is a tunnel to an IP address that
//! was checked here, whatever the page's scheme.

use std::future::ready;
use std::sync::Arc;
use std::task::{Context, Poll};
use std::time::Duration;

use http::Uri;
use hyper_util::rt::TokioIo;
use tokio::net::TcpStream;
use tower::Service;

use trawl_model::timing;

use super::client::{Cause, Connector, HttpClient, Opening};
use super::connect::{checked_for_request, checked_url_for_request};
use super::dial::through;
use super::upstream::UpstreamProxy;

/// Sends requests through tunnels of one upstream proxy.
pub(super) type TunnelClient = HttpClient<Tunnels>;

/// Opens the tunnels.
#[derive(Clone)]
pub(super) struct Tunnels {
    pub(super) upstream: Arc<UpstreamProxy>,
    /// Time in which one opens.
    pub(super) time_max: Duration,
}

impl Connector for Tunnels {}

impl Service<Uri> for Tunnels {
    type Response = TokioIo<TcpStream>;
    type Error = Cause;
    type Future = Opening;

    fn poll_ready(&mut self, _: &mut Context<'_>) -> Poll<Result<(), Cause>> {
        Poll::Ready(Ok(()))
    }

    fn call(&mut self, uri: Uri) -> Self::Future {
        let (target, via) = (
            checked_for_request(&uri),
            checked_url_for_request(&self.upstream.url),
        );
        let (Some(target), Some(via)) = (target, via) else {
            let refusal = "the host was not checked before it was dialled";
            return Box::pin(ready(Err(refusal.into())));
        };
        let (upstream, time_max) = (Arc::clone(&self.upstream), self.time_max);
        Box::pin(async move {
            let opening = through(&upstream, via, target, time_max);
            let stream = timing::step("connect", opening).await?;
            Ok(TokioIo::new(stream))
        })
    }
}
