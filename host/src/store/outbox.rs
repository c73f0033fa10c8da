//! Events that wait for their delivery.

use super::AccountId;
use crate::clock::Timestamp;

/// An event that waits for its delivery.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct OutboxRow {
    /// Names the event; an event is kept once.
    pub id: String,
    /// In whose name it is sent.
    pub account: AccountId,
    /// Address of the receiver.
    pub destination: String,
    /// What kind of event it is.
    pub event: String,
    /// What is sent.
    pub body: String,
    /// When it happened.
    pub created: Timestamp,
    /// When it is sent next.
    pub due: Timestamp,
    /// How often it was sent without being received.
    pub n_attempts: u32,
}
