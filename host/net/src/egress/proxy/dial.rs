//! Opens a tunnel's connection: directly to the checked IP addresses, or through the route's
//! upstream proxy.

use std::io;
use std::time::Duration;

use hyper_util::rt::TokioIo;
use tokio::net::TcpStream;
use url::Url;

use crate::egress::connections::Counted;
use crate::egress::dial::{Cause, direct, through};
use crate::egress::error::{EgressError, EgressFault};
use crate::egress::route::Route;
use crate::egress::{Egress, Trust};

/// Refuses a route whose tunnels cannot be opened.
///
/// # Errors
/// [`io::ErrorKind::Unsupported`] when the upstream proxy is itself reached over TLS.
pub(super) fn supports(egress: &Egress, route: &Route) -> io::Result<()> {
    match egress.pools.proxy(route) {
        Some(proxy) if proxy.upstream.url.scheme() == "https" => Err(io::Error::new(
            io::ErrorKind::Unsupported,
            "a browser's tunnels cannot use an upstream proxy with scheme `https`: use `http` or `socks5`",
        )),
        _ => Ok(()),
    }
}

/// Opens a connection to the host and port of `url`, which are checked like a request's. It
/// counts as one of the account of `route`, and waits until that may have another one.
///
/// # Errors
/// As [`Egress::send`].
pub(super) async fn dial(
    egress: &Egress,
    url: &Url,
    route: &Route,
) -> Result<TokioIo<Counted<TokioIo<TcpStream>>>, EgressError> {
    let target = egress.checked(url, Trust::Caller, &route.account).await?;
    let time_max = egress.connect_time_max;
    let stream = match egress.pools.proxy(route) {
        None => {
            let permit = egress.connections.permit(&route.account).await;
            let opening = direct(target, time_max);
            (in_time(opening, time_max, false).await?, permit)
        }
        Some(proxy) => {
            let upstream = &proxy.upstream;
            let via = egress.checked(&upstream.url, Trust::Operator, &route.account);
            let via = via.await?;
            let permit = egress.connections.permit(&route.account).await;
            let opening = through(upstream, via, target, time_max);
            (in_time(opening, time_max, true).await?, permit)
        }
    };
    let (stream, permit) = stream;
    Ok(TokioIo::new(Counted::new(TokioIo::new(stream), permit)))
}

async fn in_time(
    opening: impl Future<Output = Result<TcpStream, Cause>>,
    time_max: Duration,
    through_proxy: bool,
) -> Result<TcpStream, EgressError> {
    match tokio::time::timeout(time_max, opening).await {
        Ok(opened) => opened.map_err(|cause| EgressError::from_dial(cause, through_proxy)),
        Err(elapsed) => Err(EgressError::Broken {
            fault: EgressFault::TimedOut,
            cause: Box::new(elapsed),
        }),
    }
}
