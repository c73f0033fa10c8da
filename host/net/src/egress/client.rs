//! The HTTP client: sends requests over connections that a connector opens, within the bound of
//! connections, and keeps them for the next request. It dials only the IP addresses that were
//! checked for the current request.

use std::io;
use std::task::{Context, Poll};
use std::time::Duration;

use futures_util::future::BoxFuture;
use http::header::ACCEPT;
use http::{HeaderValue, Uri};
use hyper::rt::{Read, Write};
use hyper_rustls::{HttpsConnector, HttpsConnectorBuilder};
use hyper_util::client::legacy::connect::{Connection, capture_connection};
use hyper_util::client::legacy::{Builder, Client, Error};
use hyper_util::rt::{TokioExecutor, TokioIo, TokioTimer};
use reqwest::{Body, Request, Response};
use tokio::net::TcpStream;
use tower::Service;

use super::connect::{Dial, HEADER_BYTES_MAX, HEADERS_MAX, IDLE_PER_HOST_MAX, IDLE_TIME_MAX, tls};
use super::connection_auth;
use super::connections::{Connections, Counted};
use super::error::{EgressError, EgressFault, fault_among, wants_http1};

/// Why a connection could not be opened.
pub(super) type Cause = Box<dyn std::error::Error + Send + Sync>;

/// Sends requests over the connections of a connector.
pub(super) struct HttpClient<C> {
    shared: Client<Bounded<HttpsConnector<C>>, Body>,
    /// For requests that authenticate their connection: each has one of its own, which is closed
    /// afterwards.
    alone: Client<Bounded<HttpsConnector<C>>, Body>,
    /// For requests that a site refuses on the connection they came on: each has one of its own,
    /// over HTTP/1.1.
    afresh: Client<Bounded<HttpsConnector<C>>, Body>,
    connections: Connections,
}

/// Why a request has no response.
#[derive(Debug)]
pub(super) enum ClientError {
    /// The request is not valid.
    Request(reqwest::Error),
    /// Connecting or sending failed.
    Send(Error),
}

/// What opens plain connections for a client.
pub(super) trait Connector:
    Service<Uri, Response = TokioIo<TcpStream>, Error = Cause, Future = Opening>
    + Clone
    + Send
    + Sync
    + 'static
{
}

/// A connection being opened.
pub(super) type Opening = BoxFuture<'static, Result<TokioIo<TcpStream>, Cause>>;

impl<C: Connector> HttpClient<C> {
    /// A client whose connections open within this time.
    pub(super) fn new(connector: C, time_max: Duration, connections: &Connections) -> Self {
        let bounded = |connector| Bounded {
            connector,
            connections: connections.clone(),
            time_max,
        };
        let of_any_version = HttpsConnectorBuilder::new()
            .with_tls_config(tls())
            .https_or_http()
            .enable_all_versions()
            .wrap_connector(connector.clone());
        let of_http1 = HttpsConnectorBuilder::new()
            .with_tls_config(tls())
            .https_or_http()
            .enable_http1()
            .wrap_connector(connector);
        let any = bounded(of_any_version);
        let no_pool = || {
            let mut settings = settings();
            settings.pool_max_idle_per_host(0);
            settings
        };
        Self {
            shared: settings().build(any.clone()),
            alone: no_pool().build(any),
            afresh: no_pool().build(bounded(of_http1)),
            connections: connections.clone(),
        }
    }

    /// Sends one request over HTTP/1.1, on a connection that is opened for it and closed
    /// afterwards. Runs inside the scope of the IP addresses that were checked for it.
    pub(super) async fn send_afresh(&self, request: Request) -> Result<Response, ClientError> {
        let request = http::Request::<Body>::try_from(request).map_err(ClientError::Request)?;
        let response = self.afresh.request(request).await;
        let response = response.map_err(ClientError::Send)?;
        Ok(Response::from(response.map(Body::wrap)))
    }
}

/// Sends requests.
pub(super) trait Sender: Sync {
    /// Why a request has no response.
    type Error: Send;

    /// Sends one request. Runs inside the scope of the IP addresses that were checked for it.
    fn send(&self, request: Request) -> impl Future<Output = Result<Response, Self::Error>> + Send;

    /// Whether the request was to be sent on a connection, rather than that none could be opened.
    fn is_after_connecting(error: &Self::Error) -> bool;
}

impl Sender for reqwest::Client {
    type Error = reqwest::Error;

    fn send(
        &self,
        request: Request,
    ) -> impl Future<Output = Result<Response, reqwest::Error>> + Send {
        self.execute(request)
    }

    fn is_after_connecting(error: &reqwest::Error) -> bool {
        error.is_request() && !error.is_timeout()
    }
}

impl<C: Connector> Sender for HttpClient<C> {
    type Error = ClientError;

    async fn send(&self, request: Request) -> Result<Response, ClientError> {
        let mut request = http::Request::<Body>::try_from(request).map_err(ClientError::Request)?;
        let accepted = request.headers_mut().entry(ACCEPT);
        accepted.or_insert(HeaderValue::from_static("*/*"));
        let client = if connection_auth::is_sent(request.headers()) {
            &self.alone
        } else {
            &self.shared
        };
        let used = capture_connection(&mut request);
        let response = client.request(request).await.map_err(ClientError::Send)?;
        if connection_auth::is_offered(response.headers()) || self.connections.are_scarce() {
            // It is closed after this response.
            if let Some(connection) = used.connection_metadata().as_ref() {
                connection.poison();
            }
        }
        Ok(Response::from(response.map(Body::wrap)))
    }

    fn is_after_connecting(error: &ClientError) -> bool {
        matches!(error, ClientError::Send(error) if !error.is_connect())
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

impl ClientError {
    /// Whether the site wants the request over HTTP/1.1.
    pub(super) fn wants_http1(&self) -> bool {
        matches!(self, Self::Send(error) if wants_http1(error))
    }

    /// The error for the caller. Behind an upstream proxy its text must not reveal the proxy.
    pub(super) fn classified(self, through_proxy: bool) -> EgressError {
        let error = match self {
            Self::Request(error) => return EgressError::from_client(error, through_proxy),
            Self::Send(error) => error,
        };
        let fault = match fault_among(&error) {
            Some(fault @ (EgressFault::Tls | EgressFault::TimedOut)) => fault,
            _ if through_proxy && error.is_connect() => EgressFault::Proxy,
            fault => fault.unwrap_or(EgressFault::Closed),
        };
        EgressError::Broken {
            fault,
            cause: Box::new(error),
        }
    }
}

/// Opens connections within their bound and within a time, which does not include the wait for the
/// bound: the request's own time limits that.
#[derive(Clone)]
struct Bounded<C> {
    connector: C,
    connections: Connections,
    time_max: Duration,
}

impl<C> Service<Uri> for Bounded<C>
where
    C: Service<Uri, Error = Cause> + Clone + Send + 'static,
    C::Response: Connection + Read + Write + Send + Unpin + 'static,
    C::Future: Send + 'static,
{
    type Response = Counted<C::Response>;
    type Error = Cause;
    type Future = BoxFuture<'static, Result<Self::Response, Cause>>;

    fn poll_ready(&mut self, cx: &mut Context<'_>) -> Poll<Result<(), Cause>> {
        self.connector.poll_ready(cx)
    }

    /// The client calls this in the task of the request, where the checked IP addresses are; it may
    /// continue in another one.
    fn call(&mut self, uri: Uri) -> Self::Future {
        let dial = Dial::current();
        let Self {
            mut connector,
            connections,
            time_max,
        } = self.clone();
        Box::pin(async move {
            let dial = dial.ok_or("the host was not checked before it was dialled")?;
            let permit = connections.permit(dial.account()).await;
            // A client may keep a connection as soon as it has read a short response, before the
            // request's own task sees that response.
            let are_scarce = connections.are_scarce();
            dial.open();
            let opening = dial.scope(async move { connector.call(uri).await });
            let opened = tokio::time::timeout(time_max, opening).await;
            let stream = opened.map_err(|_| io::Error::from(io::ErrorKind::TimedOut))??;
            Ok(Counted::new(stream, permit).for_one_response(are_scarce))
        })
    }
}
