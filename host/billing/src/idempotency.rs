//! Idempotency: a request repeated with the same `Idempotency-Key` gets the stored answer and is
//! not charged again.

use std::collections::HashMap;
use std::sync::{Arc, Mutex, PoisonError};
use std::time::Duration;

use trawl_model::memory::MemoryShare;
use trawl_store::{ANSWER_BYTES_MAX, AccountId, Answer, AnswerKey, StoredAnswer};

use crate::{Billing, BillingError};

/// How long an answer is stored. Decision D50.
const RETENTION: Duration = Duration::from_secs(24 * 60 * 60);
/// How often expired answers are deleted.
const EXPIRY_INTERVAL: Duration = Duration::from_secs(60 * 60);
/// Maximum length of a key in bytes.
const KEY_BYTES_MAX: usize = 255;

/// How to handle a request with an idempotency key.
#[derive(Debug)]
pub enum Begun {
    /// The first with this key: serve it, then call [`FirstRequest::finish`].
    New(FirstRequest),
    /// A repeat: send this answer.
    Replay(Answer),
    /// The first request is still being served.
    InFlight,
    /// The first request had a different body.
    Mismatch,
    /// A repeat whose answer exceeded [`ANSWER_BYTES_MAX`] and was not stored.
    TooLarge,
}

/// The first request with its key. Dropping it without an answer releases the key.
#[derive(Debug)]
pub struct FirstRequest {
    key: AnswerKey,
    body_hash: [u8; 32],
    billing: Billing,
}

/// Keys whose first request is being served, with the hash of its body.
#[derive(Debug, Default)]
pub(crate) struct InFlight(Mutex<HashMap<AnswerKey, [u8; 32]>>);

impl InFlight {
    fn with<T>(&self, change: impl FnOnce(&mut HashMap<AnswerKey, [u8; 32]>) -> T) -> T {
        change(&mut self.0.lock().unwrap_or_else(PoisonError::into_inner))
    }
}

impl Billing {
    /// Registers a request with an idempotency key, or finds the answer of an earlier one.
    /// `body_hash` is the BLAKE3 hash of its path and body; a stored answer is read under a lease of
    /// `memory`.
    ///
    /// # Errors
    /// [`BillingError::BadIdempotencyKey`] for an empty or too long key, [`BillingError::Store`] if
    /// the store fails.
    pub async fn begin(
        &self,
        account: &AccountId,
        key: &str,
        body_hash: [u8; 32],
        memory: &MemoryShare,
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
        let since = self.clock.now().before(RETENTION);
        Ok(
            match self.store.answer(&first.key, since, &memory.page()).await? {
                None => Begun::New(first),
                Some(stored) if stored.body_hash != body_hash => Begun::Mismatch,
                Some(StoredAnswer { answer, .. }) => answer.map_or(Begun::TooLarge, Begun::Replay),
            },
        )
    }

    /// Deletes expired answers every hour. Never returns.
    pub async fn expire_answers_periodically(&self) {
        loop {
            let before = self.clock.now().before(RETENTION);
            if let Err(error) = self.store.expire_answers(before).await {
                tracing::error!(error = %error, "expired answers could not be deleted");
            }
            tokio::time::sleep(EXPIRY_INTERVAL).await;
        }
    }

    /// Claims the key, or returns the body hash of the request that holds it.
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
    /// Stores the answer for a day. Send it once this has returned, when it is durable.
    ///
    /// # Errors
    /// [`BillingError::Store`] if the store fails; the key is released then.
    pub async fn finish(self, answer: Answer) -> Result<(), BillingError> {
        let at = self.billing.clock.now();
        let stored = StoredAnswer {
            body_hash: self.body_hash,
            answer: (answer.body.len() <= ANSWER_BYTES_MAX).then_some(answer),
            at,
        };
        let store = Arc::clone(&self.billing.store);
        store
            .store_answer(&self.key, &stored, at.before(RETENTION))
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
