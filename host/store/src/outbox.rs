//! Events that wait for their delivery, and what they are signed with.

use super::AccountId;
use trawl_model::clock::Timestamp;
use trawl_model::secret::Secret;

/// Bytes of a secret: as many as the hash of a signature gives.
const SECRET_BYTES: usize = 32;
/// What a secret begins with, so that a scanner for leaked secrets knows it.
const SECRET_PREFIX: &str = "whsec_";

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

/// A new secret for signing.
pub(super) fn new_webhook_secret() -> Secret {
    let mut bytes = [0_u8; SECRET_BYTES];
    getrandom::fill(&mut bytes).expect("the machine has randomness");
    let digits = bytes.iter().flat_map(|byte| [byte >> 4, byte & 15]);
    let hex = digits.filter_map(|digit| char::from_digit(u32::from(digit), 16));
    Secret::new(format!("{SECRET_PREFIX}{}", hex.collect::<String>()))
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn secrets_differ() {
        let (a, b) = (new_webhook_secret(), new_webhook_secret());
        assert_ne!(a, b);
        assert_eq!(a.expose().len(), SECRET_PREFIX.len() + 2 * SECRET_BYTES);
    }
}
