//! The HTTP client behind an upstream proxy that gets no names: each connection is a tunnel to an
//! IP address that was checked here, whatever the page's scheme.

use std::future::ready;
use std::sync::Arc;
use std::task::{Context, Poll};
use std::time::Duration;

use futures_util::future::BoxFuture;
use http::Uri;
use hyper_rustls::{HttpsConnector, HttpsConnectorBuilder};
use hyper_util::client::legacy::{Builder, Client, Error};
use hyper_util::rt::{TokioExecutor, TokioIo, TokioTimer};
use reqwest::{Body, Request, Response};
use tokio::net::TcpStream;
use tower::Service;
use url::Url;

use super::connect::{
    HEADER_BYTES_MAX, HEADERS_MAX, IDLE_PER_HOST_MAX, IDLE_TIME_MAX, permitted, tls,
};
use super::proxy::through;
use super::{Checked, EgressError, UpstreamProxy, host_and_port};

type Cause = Box<dyn std::error::Error + Send + Sync>;

/// Sends requests through tunnels of one upstream proxy.
pub(super) struct TunnelClient(Client<HttpsConnector<Tunnels>, Body>);

/// Opens the tunnels.
#[derive(Clone)]
struct Tunnels {
    upstream: Arc<UpstreamProxy>,
    time_max: Duration,
}

impl TunnelClient {
    /// A client for this proxy, with the settings of the other clients.
    pub(super) fn new(upstream: &UpstreamProxy, time_max: Duration) -> Self {
        let tunnels = Tunnels {
            upstream: Arc::new(upstream.clone()),
            time_max,
        };
        let connector = HttpsConnectorBuilder::new()
            .with_tls_config(tls())
            .https_or_http()
            .enable_all_versions()
            .wrap_connector(tunnels);
        Self(settings().build(connector))
    }

    /// Sends one request. Runs inside the scope of the IP addresses that were checked for it.
    pub(super) async fn send(&self, request: Request) -> Result<Response, EgressError> {
        let request = http::Request::<Body>::try_from(request)
            .map_err(|error| EgressError::from_client(error, true))?;
        let response = self.0.request(request).await;
        let response = response.map_err(|error| {
            let is_connect = error.is_connect();
            EgressError::from_tunnel(Box::<Error>::new(error), is_connect)
        })?;
        Ok(Response::from(response.map(Body::wrap)))
    }
}

fn settings() -> Builder {
    let mut builder = Client::builder(TokioExecutor::new());
    builder
        .pool_timer(TokioTimer::new())
        .pool_idle_timeout(IDLE_TIME_MAX)
        .pool_max_idle_per_host(IDLE_PER_HOST_MAX)
        .http1_max_headers(HEADERS_MAX)
        .http1_ignore_invalid_headers_in_responses(true)
        .http1_allow_spaces_after_header_name_in_responses(true)
        .http1_allow_obsolete_multiline_headers_in_responses(true)
        .http2_max_header_list_size(HEADER_BYTES_MAX);
    builder
}

impl Service<Uri> for Tunnels {
    type Response = TokioIo<TcpStream>;
    type Error = Cause;
    type Future = BoxFuture<'static, Result<Self::Response, Cause>>;

    fn poll_ready(&mut self, _: &mut Context<'_>) -> Poll<Result<(), Cause>> {
        Poll::Ready(Ok(()))
    }

    /// The client calls this in the task of the request, where the checked IP addresses are.
    fn call(&mut self, uri: Uri) -> Self::Future {
        let target = Url::parse(&uri.to_string()).ok();
        let target = target.as_ref().and_then(checked);
        let (Some(target), Some(via)) = (target, checked(&self.upstream.url)) else {
            let refusal = "the host was not checked before it was dialled";
            return Box::pin(ready(Err(refusal.into())));
        };
        let (upstream, time_max) = (Arc::clone(&self.upstream), self.time_max);
        Box::pin(async move {
            let opening = through(&upstream, via, target, time_max);
            let stream = tokio::time::timeout(time_max, opening).await??;
            stream.set_nodelay(true)?;
            Ok(TokioIo::new(stream))
        })
    }
}

/// The host of a URL with the IP addresses that were checked for the current request.
fn checked(url: &Url) -> Option<Checked> {
    let (host, port) = host_and_port(url)?;
    let (ip_addresses, is_name) = permitted(&host)?;
    Some(Checked {
        host,
        port,
        ip_addresses,
        is_name,
    })
}
