//! Why a request is refused, or its connection fails. The texts are for callers: they contain no IP
//! address that the caller did not write.

use std::error::Error as StdError;
use std::io;
use std::net::IpAddr;

use trawl_model::Cause;

/// Why a request was not sent, or how its connection failed.
#[derive(Debug, thiserror::Error)]
pub enum EgressError {
    /// The scheme is not `http` or `https`.
    #[error("scheme `{0}` is refused: use `http` or `https`")]
    Scheme(String),
    /// The URL has no host, or port 0.
    #[error("the URL has no host to connect to: write it like `https://example.com/`")]
    NoHost,
    /// The host is, or resolves only to, IP addresses that are not public.
    #[error("host `{0}` is refused: it has no public IP address; the operator of the server can allow it with `--allow-private {range}`", range = range(.0))]
    NotPublic(String),
    /// The host and port are a listener of this server.
    #[error("host `{0}` is refused: it leads to this service itself")]
    OwnListener(String),
    /// The port belongs to another protocol.
    #[error(
        "port {0} is refused: it belongs to another protocol than HTTP, and browsers refuse it too"
    )]
    BadPort(u16),
    /// The host name has no IP address.
    #[error("host `{0}` cannot be resolved: it has no IP address, check the spelling")]
    NotResolved(String),
    /// The name servers did not answer in time.
    #[error("resolving host `{0}` timed out, try again later")]
    ResolveTimedOut(String),
    /// A request on the operator's behalf to a host that the configuration does not allow.
    #[error("host `{0}` is not allowed: the configuration names no such host")]
    NotGranted(String),
    /// The connection failed.
    #[error("{fault}")]
    Broken {
        /// How it failed.
        fault: EgressFault,
        /// For the log only.
        #[source]
        cause: Box<dyn StdError + Send + Sync>,
    },
    /// The client could not be built: no name server, no certificate store, or an invalid proxy
    /// URL.
    #[error("outgoing connections cannot be set up: {0}")]
    SetUp(String),
}

/// How a connection failed.
#[derive(Clone, Copy, Debug, PartialEq, Eq, thiserror::Error)]
pub enum EgressFault {
    /// The connection was refused: nothing listens on the port.
    #[error("the connection was refused")]
    Refused,
    /// The peer reset the connection.
    #[error("the connection was reset")]
    Reset,
    /// The peer closed the connection too early.
    #[error("the connection was closed before the response was complete")]
    Closed,
    /// The response is not HTTP.
    #[error("the response of the site is not valid HTTP")]
    Malformed,
    /// Connecting, or waiting for data, took too long.
    #[error("the connection timed out")]
    TimedOut,
    /// There is no route to the host.
    #[error("the host is unreachable")]
    Unreachable,
    /// The TLS handshake failed, mostly because of the certificate.
    #[error(
        "the TLS handshake failed: the site's certificate or TLS configuration is not valid; a URL without a scheme means `https://`, write `http://` for a site without TLS"
    )]
    Tls,
    /// The upstream proxy failed.
    #[error("the upstream proxy did not connect to the site")]
    Proxy,
}

impl EgressError {
    /// Why a page failed that failed with this error.
    pub fn cause(&self) -> Cause {
        match self {
            Self::NotResolved(_) => Cause::Dns,
            Self::ResolveTimedOut(_) => Cause::DnsTimeout,
            Self::Scheme(_) | Self::NoHost | Self::BadPort(_) => Cause::BadUrl,
            Self::NotPublic(_) | Self::OwnListener(_) | Self::NotGranted(_) => {
                Cause::PrivateAddress
            }
            Self::SetUp(_) => Cause::Internal,
            Self::Broken { fault, .. } => match fault {
                EgressFault::Refused => Cause::ConnectionRefused,
                EgressFault::Closed | EgressFault::Malformed => Cause::ConnectionClosed,
                EgressFault::Reset => Cause::ConnectionReset,
                EgressFault::TimedOut => Cause::ConnectionTimeout,
                EgressFault::Unreachable => Cause::Unreachable,
                EgressFault::Tls => Cause::Tls,
                EgressFault::Proxy => Cause::Proxy,
            },
        }
    }

    /// Whether a body that failed with this ended before its announced end.
    pub(crate) fn is_early_end(&self) -> bool {
        matches!(
            self,
            Self::Broken {
                fault: EgressFault::Closed,
                ..
            }
        )
    }

    /// Whether a browser may reach the site all the same: it reads what is not quite HTTP, and has
    /// cipher suites that are missing here. It refuses the same certificates.
    pub(crate) fn may_suit_browsers(&self) -> bool {
        match self {
            Self::Broken {
                fault: EgressFault::Closed | EgressFault::Malformed,
                ..
            } => true,
            Self::Broken {
                fault: EgressFault::Tls,
                cause,
            } => !is_bad_certificate(&**cause),
            _ => false,
        }
    }

    /// The end of a connection before the announced end of a body.
    pub(super) fn early_end() -> Self {
        Self::Broken {
            fault: EgressFault::Closed,
            cause: "the body is shorter than announced".into(),
        }
    }

    /// Classifies an error from opening a tunnel's connection.
    pub(super) fn from_dial(cause: Box<dyn StdError + Send + Sync>, through_proxy: bool) -> Self {
        let fault = if through_proxy {
            EgressFault::Proxy
        } else {
            fault_among(&*cause).unwrap_or(EgressFault::Unreachable)
        };
        Self::Broken { fault, cause }
    }

    /// Classifies an error of the HTTP client by its causes, which say more than its own text.
    pub(super) fn from_client(error: reqwest::Error, through_proxy: bool) -> Self {
        let fault = match fault_of(&error) {
            // A failure before a proxied request is under way is the proxy's or lies behind it; the
            // text must not reveal the proxy.
            EgressFault::Refused | EgressFault::Unreachable | EgressFault::Closed
                if through_proxy && error.is_connect() =>
            {
                EgressFault::Proxy
            }
            fault => fault,
        };
        // Without the URL: its query may carry a secret.
        Self::Broken {
            fault,
            cause: Box::new(error.without_url()),
        }
    }
}

/// Whether the site refuses to answer over HTTP/2 and wants the request over HTTP/1.1. RFC 9113
/// section 7.
pub(super) fn wants_http1(error: &(dyn StdError + 'static)) -> bool {
    let mut cause = Some(error);
    while let Some(current) = cause {
        if let Some(error) = current.downcast_ref::<h2::Error>() {
            return error.reason() == Some(h2::Reason::HTTP_1_1_REQUIRED);
        }
        cause = current.source();
    }
    false
}

/// Whether TLS failed because of the site's certificate.
fn is_bad_certificate(error: &(dyn StdError + 'static)) -> bool {
    let mut cause = Some(error);
    while let Some(current) = cause {
        let wrapped = current
            .downcast_ref::<io::Error>()
            .and_then(io::Error::get_ref);
        let inner = wrapped.map(|inner| inner as &(dyn StdError + 'static));
        if let Some(error) = current.downcast_ref::<rustls::Error>() {
            return matches!(error, rustls::Error::InvalidCertificate(_));
        }
        cause = inner.or_else(|| current.source());
    }
    false
}

/// What allows a private host: its IP address if the caller wrote one.
fn range(host: &str) -> String {
    let literal = host.trim_matches(['[', ']']).parse::<IpAddr>();
    literal.map_or_else(|_| "RANGE".to_owned(), |address| address.to_string())
}

fn fault_of(error: &reqwest::Error) -> EgressFault {
    fault_among(error).unwrap_or(if error.is_timeout() {
        EgressFault::TimedOut
    } else {
        EgressFault::Closed
    })
}

/// The fault that an error or one of its causes stands for.
pub(super) fn fault_among(error: &(dyn StdError + 'static)) -> Option<EgressFault> {
    let mut cause = Some(error);
    while let Some(current) = cause {
        if current.downcast_ref::<rustls::Error>().is_some() {
            return Some(EgressFault::Tls);
        }
        if let Some(error) = current.downcast_ref::<hyper::Error>()
            && error.is_parse()
        {
            return Some(EgressFault::Malformed);
        }
        if let Some(error) = current.downcast_ref::<io::Error>()
            && let Some(fault) = fault_of_io(error)
        {
            return Some(fault);
        }
        cause = current.source();
    }
    None
}

/// An I/O error may wrap the one that matters without listing it as its source.
fn fault_of_io(error: &io::Error) -> Option<EgressFault> {
    if let Some(inner) = error.get_ref() {
        if inner.is::<rustls::Error>() {
            return Some(EgressFault::Tls);
        }
        if let Some(inner) = inner.downcast_ref::<io::Error>() {
            return fault_of_io(inner);
        }
    }
    match error.kind() {
        io::ErrorKind::ConnectionRefused => Some(EgressFault::Refused),
        io::ErrorKind::ConnectionReset => Some(EgressFault::Reset),
        io::ErrorKind::TimedOut => Some(EgressFault::TimedOut),
        io::ErrorKind::HostUnreachable
        | io::ErrorKind::NetworkUnreachable
        | io::ErrorKind::NetworkDown
        | io::ErrorKind::AddrNotAvailable => Some(EgressFault::Unreachable),
        io::ErrorKind::ConnectionAborted
        | io::ErrorKind::BrokenPipe
        | io::ErrorKind::UnexpectedEof => Some(EgressFault::Closed),
        // A chunk without a size.
        io::ErrorKind::InvalidData | io::ErrorKind::InvalidInput => Some(EgressFault::Malformed),
        _ => None,
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn the_demand_for_http1_is_seen_among_the_causes() {
        for (reason, expected) in [
            (h2::Reason::HTTP_1_1_REQUIRED, true),
            (h2::Reason::PROTOCOL_ERROR, false),
        ] {
            let error = EgressError::Broken {
                fault: EgressFault::Closed,
                cause: Box::new(h2::Error::from(reason)),
            };
            assert_eq!(wants_http1(&error), expected, "{reason}");
        }
        assert!(!wants_http1(&EgressError::NoHost));
    }

    #[test]
    fn a_browser_has_more_cipher_suites_and_takes_no_other_certificates() {
        use rustls::{AlertDescription, CertificateError, Error};
        for (error, expected) in [
            (
                Error::AlertReceived(AlertDescription::HandshakeFailure),
                true,
            ),
            (Error::InvalidCertificate(CertificateError::Expired), false),
        ] {
            let shown = error.to_string();
            // As the client wraps it.
            let cause = io::Error::other(error);
            assert_eq!(fault_among(&cause), Some(EgressFault::Tls), "{shown}");
            let error = EgressError::Broken {
                fault: EgressFault::Tls,
                cause: Box::new(cause),
            };
            assert_eq!(error.may_suit_browsers(), expected, "{shown}");
        }
    }
}
