//! A request sent again under the same `Idempotency-Key` gets the first one's answer, and is not charged again.

use std::collections::HashMap;
use std::sync::{Arc, Mutex, PoisonError};
use std::time::Duration;

use super::{Billing, BillingError};
use trawl_store::{ANSWER_BYTES_MAX, AccountId, Answer, AnswerKey, KeptAnswer};

/// How long an answer is kept. Decision D50.
const KEPT: Duration = Duration::from_secs(24 * 60 * 60);
/// Longest key in bytes.
const KEY_BYTES_MAX: usize = 255;

/// What a request with an idempotency key is.
#[derive(Debug)]
pub enum Begun {
    /// The first of its key: serve it, then [`FirstRequest::finish`].
    New(FirstRequest),
    /// A repeat: send this answer.
    Replay(Answer),
    /// The first one is still being served.
    InFlight,
    /// The first one had another body.
    Mismatch,
    /// A repeat, and the first one was answered, but with more than [`ANSWER_BYTES_MAX`]: its answer was not kept.
    TooLarge,
}

/// The first request of its key. Dropping it without an answer frees the key.
#[derive(Debug)]
pub struct FirstRequest {
    key: AnswerKey,
    body_hash: [u8; 32],
    billing: Billing,
}

/// Keys whose first request is being served, with the hash of its body.
#[derive(Debug, Default)]
pub(super) struct InFlight(Mutex<HashMap<AnswerKey, [u8; 32]>>);

impl InFlight {
    fn with<T>(&self, change: impl FnOnce(&mut HashMap<AnswerKey, [u8; 32]>) -> T) -> T {
        change(&mut self.0.lock().unwrap_or_else(PoisonError::into_inner))
    }
}

impl Billing {
    /// What a request with this idempotency key is; `body_hash` is the BLAKE3 hash of its path and body.
    ///
    /// # Errors
    /// [`BillingError::BadIdempotencyKey`] for a key that is empty or too long, [`BillingError::Store`] when the store
    /// fails.
    pub async fn begin(
        &self,
        account: &AccountId,
        key: &str,
        body_hash: [u8; 32],
    ) -> Result<Begun, BillingError> {
        let (len, max) = (key.len(), KEY_BYTES_MAX);
        if len == 0 || len > max {
            return Err(BillingError::BadIdempotencyKey { len, max });
        }
        let key = AnswerKey {
            account: account.clone(),
            key: key.to_owned(),
        };
        let first = match self.claim(key, body_hash) {
            Ok(first) => first,
            Err(in_flight) if in_flight == body_hash => return Ok(Begun::InFlight),
            Err(_) => return Ok(Begun::Mismatch),
        };
        let since = self.clock.now().before(KEPT);
        Ok(match self.store.answer(&first.key, since).await? {
            None => Begun::New(first),
            Some(kept) if kept.body_hash != body_hash => Begun::Mismatch,
            Some(KeptAnswer { answer, .. }) => answer.map_or(Begun::TooLarge, Begun::Replay),
        })
    }

    /// Takes the key, or tells the hash of the body that has it.
    fn claim(&self, key: AnswerKey, body_hash: [u8; 32]) -> Result<FirstRequest, [u8; 32]> {
        self.in_flight.with(|in_flight| match in_flight.get(&key) {
            Some(first) => Err(*first),
            None => {
                in_flight.insert(key.clone(), body_hash);
                let billing = self.clone();
                Ok(FirstRequest {
                    key,
                    body_hash,
                    billing,
                })
            }
        })
    }
}

impl FirstRequest {
    /// Keeps the answer for a day; ends once it is durable. Send it after that.
    ///
    /// # Errors
    /// [`BillingError::Store`] when the store fails; the key is free again then.
    pub async fn finish(self, answer: Answer) -> Result<(), BillingError> {
        let at = self.billing.clock.now();
        let kept = KeptAnswer {
            body_hash: self.body_hash,
            answer: (answer.body.len() <= ANSWER_BYTES_MAX).then_some(answer),
            at,
        };
        let store = Arc::clone(&self.billing.store);
        store
            .keep_answer(&self.key, &kept, at.before(KEPT))
            .await
            .map_err(BillingError::from)
    }
}

impl Drop for FirstRequest {
    fn drop(&mut self) {
        self.billing
            .in_flight
            .with(|in_flight| in_flight.remove(&self.key));
    }
}
