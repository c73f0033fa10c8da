//! What went through a channel and what did not.

use std::collections::VecDeque;
use std::io;
use std::sync::atomic::{AtomicU64, Ordering};
use std::sync::{Arc, Mutex, PoisonError};

use http::StatusCode;
use url::Url;

use crate::egress::{EgressError, EgressFault, host_and_port};
use trawl_model::failure::status;

/// Destinations kept that were not reached: what a page's developer would read, not what a scanning script makes.
const REFUSALS_MAX: usize = 64;

/// A destination that was not reached: refused, or broken before it answered.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Refusal {
    /// Host and port, the host as the URL standard writes it.
    pub destination: String,
    /// Synthetic status of a page that lives there.
    pub status: u16,
    /// Why, for the caller: lower case, no full stop.
    pub reason: String,
}

/// A refusal and the status that the browser gets for it.
#[derive(Clone, Debug)]
pub(super) struct Denial {
    /// What is told.
    pub(super) refusal: Refusal,
    /// 403 when a rule refused it, 502 or 504 when the network did.
    pub(super) answer: StatusCode,
}

impl Denial {
    /// By a rule of the channel itself.
    pub(super) fn by_rule(url: &Url, reason: impl Into<String>) -> Self {
        Self {
            refusal: Refusal {
                destination: destination(url),
                status: status::UNREACHABLE_OR_REFUSED,
                reason: reason.into(),
            },
            answer: StatusCode::FORBIDDEN,
        }
    }

    /// By the door, or by what is behind it.
    pub(super) fn by_egress(url: &Url, error: &EgressError) -> Self {
        let answer = match error {
            EgressError::Scheme(_)
            | EgressError::NoHost
            | EgressError::NotPublic(_)
            | EgressError::OwnListener(_)
            | EgressError::NotGranted(_) => StatusCode::FORBIDDEN,
            EgressError::ResolveTimedOut(_)
            | EgressError::Broken {
                trouble: EgressFault::TimedOut,
                ..
            } => StatusCode::GATEWAY_TIMEOUT,
            EgressError::NotResolved(_) | EgressError::Broken { .. } | EgressError::SetUp(_) => {
                StatusCode::BAD_GATEWAY
            }
        };
        Self {
            refusal: Refusal {
                destination: destination(url),
                status: error.status(),
                reason: error.to_string(),
            },
            answer,
        }
    }
}

/// Host and port as they are told.
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
    /// The whole server's count of what was received.
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

    /// Counts bytes of a body that the door has already counted for the server as a whole.
    ///
    /// # Errors
    /// The channel has carried more than it may.
    pub(super) fn receive(&self, bytes: usize) -> io::Result<()> {
        self.received.fetch_add(bytes as u64, Ordering::Relaxed);
        self.within()
    }

    /// Counts bytes that came out of a tunnel.
    ///
    /// # Errors
    /// As [`Meter::receive`].
    pub(super) fn receive_from_tunnel(&self, bytes: usize) -> io::Result<()> {
        self.received_by_all
            .fetch_add(bytes as u64, Ordering::Relaxed);
        self.receive(bytes)
    }

    /// Counts bytes of a request's body or into a tunnel.
    ///
    /// # Errors
    /// As [`Meter::receive`].
    pub(super) fn send(&self, bytes: usize) -> io::Result<()> {
        self.sent.fetch_add(bytes as u64, Ordering::Relaxed);
        self.within()
    }

    /// Says no when the channel has carried more than it may.
    ///
    /// # Errors
    /// The sentence for whoever is refused.
    pub(super) fn within(&self) -> io::Result<()> {
        match self.received() + self.sent() > self.total_max {
            true => Err(io::Error::other(format!(
                "the page has moved more than {} bytes",
                self.total_max
            ))),
            false => Ok(()),
        }
    }

    /// Keeps what was not reached. The same again is kept once, as the newest.
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
