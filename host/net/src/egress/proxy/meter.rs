//! Counts the bytes of a channel, enforces its limit, and records the destinations that were not
//! reached.

use std::collections::VecDeque;
use std::io;
use std::sync::atomic::{AtomicU64, Ordering};
use std::sync::{Arc, Mutex, PoisonError};

use http::StatusCode;
use url::Url;

use trawl_model::Cause;

use crate::egress::{EgressError, EgressFault, host_and_port};

/// Recorded destinations that were not reached: what a page's developer would read, not what a
/// port-scanning script produces.
const REFUSALS_MAX: usize = 64;

/// A destination that was not reached: refused, or failed before it responded.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Refusal {
    /// Host and port, the host as the URL standard writes it.
    pub destination: String,
    /// Why a page at that destination fails.
    pub cause: Cause,
    /// Why, for the caller: lower case, no full stop.
    pub reason: String,
}

/// A refusal and the HTTP status that the browser gets for it.
#[derive(Clone, Debug)]
pub(super) struct Denial {
    /// What is reported to the caller.
    pub(super) refusal: Refusal,
    /// 403 when a rule refused it, 502 or 504 when the network did.
    pub(super) status: StatusCode,
}

impl Denial {
    /// Refused by a rule of the channel itself.
    pub(super) fn by_rule(url: &Url, cause: Cause, reason: impl Into<String>) -> Self {
        Self {
            refusal: Refusal {
                destination: destination(url),
                cause,
                reason: reason.into(),
            },
            status: StatusCode::FORBIDDEN,
        }
    }

    /// Refused by egress, or failed on the network.
    pub(super) fn by_egress(url: &Url, error: &EgressError) -> Self {
        let status = match error {
            EgressError::Scheme(_)
            | EgressError::NoHost
            | EgressError::NotPublic(_)
            | EgressError::BadPort(_)
            | EgressError::OwnListener(_)
            | EgressError::NotGranted(_) => StatusCode::FORBIDDEN,
            EgressError::ResolveTimedOut(_)
            | EgressError::Broken {
                fault: EgressFault::TimedOut,
                ..
            } => StatusCode::GATEWAY_TIMEOUT,
            EgressError::NotResolved(_) | EgressError::Broken { .. } | EgressError::SetUp(_) => {
                StatusCode::BAD_GATEWAY
            }
        };
        Self {
            refusal: Refusal {
                destination: destination(url),
                cause: error.cause(),
                reason: error.to_string(),
            },
            status,
        }
    }
}

/// Host and port as they are reported.
fn destination(url: &Url) -> String {
    match host_and_port(url) {
        Some((host, port)) => format!("{host}:{port}"),
        None => url.host_str().unwrap_or_default().to_owned(),
    }
}

/// Counts of one channel.
pub(super) struct Meter {
    received: AtomicU64,
    sent: AtomicU64,
    total_max: u64,
    /// The count of received bytes of the whole server.
    received_by_all: Arc<AtomicU64>,
    refused: Mutex<VecDeque<Refusal>>,
}

impl Meter {
    pub(super) fn new(total_max: u64, received_by_all: Arc<AtomicU64>) -> Self {
        Self {
            received: AtomicU64::new(0),
            sent: AtomicU64::new(0),
            total_max,
            received_by_all,
            refused: Mutex::default(),
        }
    }

    pub(super) fn received(&self) -> u64 {
        self.received.load(Ordering::Relaxed)
    }

    pub(super) fn sent(&self) -> u64 {
        self.sent.load(Ordering::Relaxed)
    }

    /// Counts bytes of a body that egress has already counted for the whole server.
    ///
    /// # Errors
    /// The channel has reached its byte limit.
    pub(super) fn receive(&self, bytes: usize) -> io::Result<()> {
        self.received.fetch_add(bytes as u64, Ordering::Relaxed);
        self.within()
    }

    /// Counts bytes that arrived through a tunnel.
    ///
    /// # Errors
    /// As [`Meter::receive`].
    pub(super) fn receive_from_tunnel(&self, bytes: usize) -> io::Result<()> {
        self.received_by_all
            .fetch_add(bytes as u64, Ordering::Relaxed);
        self.receive(bytes)
    }

    /// Counts bytes of a request body, or sent into a tunnel.
    ///
    /// # Errors
    /// As [`Meter::receive`].
    pub(super) fn send(&self, bytes: usize) -> io::Result<()> {
        self.sent.fetch_add(bytes as u64, Ordering::Relaxed);
        self.within()
    }

    /// Refuses a request for `url` once the channel has reached its byte limit.
    pub(super) fn check_limit(&self, url: &Url) -> Result<(), Denial> {
        self.within()
            .map_err(|error| Denial::by_rule(url, Cause::PageLimit, error.to_string()))
    }

    fn within(&self) -> io::Result<()> {
        if self.received() + self.sent() <= self.total_max {
            return Ok(());
        }
        let bytes_max = self.total_max;
        Err(io::Error::other(format!(
            "the page has transferred more than {bytes_max} bytes, the most one page may"
        )))
    }

    /// Records a destination that was not reached. A repeated one is recorded once, as the newest.
    pub(super) fn refuse(&self, refusal: &Refusal) {
        let mut refused = self.refused.lock().unwrap_or_else(PoisonError::into_inner);
        refused.retain(|known| known != refusal);
        if refused.len() == REFUSALS_MAX {
            refused.pop_front();
        }
        refused.push_back(refusal.clone());
    }

    pub(super) fn refused(&self) -> Vec<Refusal> {
        let refused = self.refused.lock().unwrap_or_else(PoisonError::into_inner);
        refused.iter().cloned().collect()
    }
}
