//! Why a connection is not made, or broke. The texts are for callers: no address that the caller did not write.

use std::error::Error as StdError;
use std::io;

use trawl_model::failure::status;

/// Why the door stayed shut, or what happened behind it.
#[derive(Debug, thiserror::Error)]
pub enum EgressError {
    /// Only `http` and `https` leave this server.
    #[error("scheme `{0}` is refused, use http or https")]
    Scheme(String),
    /// The address has no host, or a port that no server has.
    #[error("the address has no host to connect to")]
    NoHost,
    /// The host is, or resolves only to, addresses that are not public.
    #[error("host `{0}` is refused: it has no public address")]
    NotPublic(String),
    /// The host and port are a server of our own.
    #[error("host `{0}` is refused: it is this service itself")]
    OwnListener(String),
    /// The name has no address.
    #[error("host `{0}` has no address")]
    NotResolved(String),
    /// The name servers did not answer in time.
    #[error("looking up host `{0}` took too long")]
    ResolveTimedOut(String),
    /// A request in the operator's name to a host that the configuration does not grant.
    #[error("host `{0}` is not granted by the configuration")]
    NotGranted(String),
    /// The connection failed or broke.
    #[error("{trouble}")]
    Broken {
        /// In which way.
        trouble: EgressFault,
        /// For the log only.
        #[source]
        cause: Box<dyn StdError + Send + Sync>,
    },
    /// The client could not be built: no name server, no certificate store, or a proxy address that is none.
    #[error("outgoing connections cannot be set up: {0}")]
    SetUp(String),
}

/// In which way a connection failed or broke.
#[derive(Clone, Copy, Debug, PartialEq, Eq, thiserror::Error)]
pub enum EgressFault {
    /// Nobody listens there.
    #[error("the connection was refused")]
    Refused,
    /// The other side reset the connection.
    #[error("the connection was reset")]
    Reset,
    /// The other side closed the connection too early.
    #[error("the connection was closed before the answer was complete")]
    Closed,
    /// Connecting took too long.
    #[error("the connection could not be opened in time")]
    TimedOut,
    /// No way to the host.
    #[error("the host is unreachable")]
    Unreachable,
    /// The TLS handshake failed, the certificate above all.
    #[error("a secure connection could not be made: the certificate or the handshake is not valid")]
    Tls,
    /// The proxy on the way failed.
    #[error("the proxy did not make the connection")]
    Proxy,
}

impl EgressError {
    /// The synthetic status of a page that this kept from being loaded.
    pub fn status(&self) -> u16 {
        match self {
            Self::NotResolved(_) | Self::ResolveTimedOut(_) => status::NAME_NOT_RESOLVED,
            Self::Scheme(_)
            | Self::NoHost
            | Self::NotPublic(_)
            | Self::OwnListener(_)
            | Self::NotGranted(_) => status::UNREACHABLE_OR_REFUSED,
            Self::SetUp(_) => status::UNKNOWN,
            Self::Broken { trouble, .. } => match trouble {
                EgressFault::Refused => status::CONNECTION_REFUSED,
                EgressFault::Closed => status::ABORTED,
                EgressFault::Reset => status::RESET,
                EgressFault::TimedOut => status::TIMED_OUT,
                EgressFault::Unreachable | EgressFault::Tls | EgressFault::Proxy => {
                    status::UNREACHABLE_OR_REFUSED
                }
            },
        }
    }

    /// A connection that could not be opened for a tunnel.
    pub(super) fn from_dial(cause: Box<dyn StdError + Send + Sync>, through_proxy: bool) -> Self {
        let trouble = match through_proxy {
            true => EgressFault::Proxy,
            false => trouble_among(&*cause).unwrap_or(EgressFault::Unreachable),
        };
        Self::Broken { trouble, cause }
    }

    /// Reads an error of the HTTP client, whose causes tell more than its own text.
    pub(super) fn from_client(error: reqwest::Error, through_proxy: bool) -> Self {
        let trouble = match trouble_of(&error) {
            // What fails before a proxied request is under way is the proxy's or behind it, and its address is nobody's business.
            EgressFault::Refused | EgressFault::Unreachable | EgressFault::Closed
                if through_proxy && error.is_connect() =>
            {
                EgressFault::Proxy
            }
            trouble => trouble,
        };
        // Without the address: it may carry a secret in its query.
        Self::Broken {
            trouble,
            cause: Box::new(error.without_url()),
        }
    }
}

fn trouble_of(error: &reqwest::Error) -> EgressFault {
    trouble_among(error).unwrap_or(match error.is_timeout() {
        true => EgressFault::TimedOut,
        false => EgressFault::Closed,
    })
}

/// The trouble that an error or one of its causes names.
fn trouble_among(error: &(dyn StdError + 'static)) -> Option<EgressFault> {
    let mut cause = Some(error);
    while let Some(current) = cause {
        if current.downcast_ref::<rustls::Error>().is_some() {
            return Some(EgressFault::Tls);
        }
        if let Some(error) = current.downcast_ref::<io::Error>()
            && let Some(trouble) = trouble_of_io(error)
        {
            return Some(trouble);
        }
        cause = current.source();
    }
    None
}

/// An I/O error may wrap the one that matters, and then leaves it out of its chain of sources.
fn trouble_of_io(error: &io::Error) -> Option<EgressFault> {
    if let Some(inner) = error.get_ref() {
        if inner.is::<rustls::Error>() {
            return Some(EgressFault::Tls);
        }
        if let Some(inner) = inner.downcast_ref::<io::Error>() {
            return trouble_of_io(inner);
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
        _ => None,
    }
}
