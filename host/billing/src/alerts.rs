//! Detection of low balances.
//!
//! Each change of a balance compares it with two thresholds, under the lock that the change holds
//! anyway. Crossings go into a channel; `notices` records in the store which were delivered. So
//! each crossing has its own number, and one that was not delivered before a restart is reported
//! again.

use std::sync::{Arc, Mutex, PoisonError};

use tokio::sync::mpsc;

use trawl_model::{Nanodollars, money::PER_CREDIT};
use trawl_store::{AccountId, Notice, NoticeState, Threshold};

/// Capacity of the channel. An account crosses a threshold again only after a top-up, so the
/// channel fills up only if the receiver is stuck; a crossing that does not fit is reported at the
/// next start.
const QUEUED_MAX: usize = 4_096;
/// A balance below this is empty: less than a credit buys nothing.
pub(crate) const EMPTY_BELOW: Nanodollars = Nanodollars(PER_CREDIT);

/// A balance fell below a threshold, or rose above it again.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Crossing {
    /// The account.
    pub account: AccountId,
    /// The threshold.
    pub threshold: Threshold,
    /// Whether the balance fell; a rise is recorded, but no notice is sent.
    pub is_below: bool,
    /// Number of falls below this threshold so far, including this one.
    pub number: u64,
    /// The balance.
    pub left: Nanodollars,
    /// URL of the receiver.
    pub destination: Arc<str>,
}

/// The receiving end of the channel.
pub type Crossings = mpsc::Receiver<Crossing>;

/// The state of one threshold of an account.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
struct ThresholdState {
    below: Nanodollars,
    is_below: bool,
    count: u64,
}

impl ThresholdState {
    fn new(below: Nanodollars, notice: NoticeState) -> Self {
        Self {
            below,
            is_below: notice.is_sent,
            count: notice.count,
        }
    }

    fn notice(&self) -> NoticeState {
        NoticeState {
            count: self.count,
            is_sent: self.is_below,
        }
    }

    /// Whether the balance has crossed the threshold, in either direction.
    fn update(&mut self, balance: Nanodollars) -> bool {
        let is_below = balance < self.below;
        let has_crossed = is_below != self.is_below;
        self.is_below = is_below;
        self.count += u64::from(has_crossed && is_below);
        has_crossed
    }
}

/// The thresholds of an account, and the receiver of its notices.
#[derive(Debug)]
pub(crate) struct BalanceAlerts {
    destination: Option<Arc<str>>,
    low: ThresholdState,
    empty: ThresholdState,
}

impl BalanceAlerts {
    pub(crate) fn new(notice: &Notice) -> Self {
        Self {
            destination: notice.destination.as_deref().map(Arc::from),
            low: ThresholdState::new(notice.below, notice.low),
            empty: ThresholdState::new(EMPTY_BELOW, notice.empty),
        }
    }

    /// The settings and the state of each threshold, as they are stored.
    pub(crate) fn notice(&self) -> Notice {
        Notice {
            destination: self.destination.as_deref().map(str::to_owned),
            below: self.low.below,
            low: self.low.notice(),
            empty: self.empty.notice(),
        }
    }

    /// Compares a changed balance with the thresholds, and sends the crossings.
    pub(crate) fn check(
        &mut self,
        account: &AccountId,
        balance: Nanodollars,
        sender: &AlertSender,
    ) {
        let Some(destination) = &self.destination else {
            return;
        };
        for (threshold, state) in [
            (Threshold::Low, &mut self.low),
            (Threshold::Empty, &mut self.empty),
        ] {
            if state.update(balance) {
                sender.send(Crossing {
                    account: account.clone(),
                    threshold,
                    is_below: state.is_below,
                    number: state.count,
                    left: balance,
                    destination: Arc::clone(destination),
                });
            }
        }
    }
}

/// The channel from all wallets to the task that sends notices.
#[derive(Debug)]
pub(crate) struct AlertSender {
    sender: mpsc::Sender<Crossing>,
    receiver: Mutex<Option<Crossings>>,
}

impl Default for AlertSender {
    fn default() -> Self {
        let (sender, receiver) = mpsc::channel(QUEUED_MAX);
        Self {
            sender,
            receiver: Mutex::new(Some(receiver)),
        }
    }
}

impl AlertSender {
    fn send(&self, crossing: Crossing) {
        if let Err(error) = self.sender.try_send(crossing) {
            tracing::warn!(error = %error, "a balance crossed a threshold; its notice is sent after the next start");
        }
    }

    /// The receiving end; `None` if it was taken before.
    pub(crate) fn take_receiver(&self) -> Option<Crossings> {
        let mut receiver = self.receiver.lock().unwrap_or_else(PoisonError::into_inner);
        receiver.take()
    }
}
