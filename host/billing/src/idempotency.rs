//! Idempotency: a request repeated with the same `Idempotency-Key` gets the stored answer and is
//! not charged again.
//!
//! That a request begins is stored before anything is charged. Its pages are charged under a name
//! that follows from what is stored. If the server is killed before the answer is stored, or cannot
//! store it, a repetition runs again under the same name, and the ledger accepts no second charge
//! for a page that was charged. Decision D305.

use std::collections::HashMap;
use std::sync::{Arc, Mutex, PoisonError};
use std::time::Duration;

use trawl_model::clock::Timestamp;
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
pub enum IdempotencyStart {
    /// The first with this key, or one that was interrupted: call [`FirstRequest::open`], serve it,
    /// and then call [`FirstRequest::finish`] or [`FirstRequest::release`].
    New(FirstRequest),
    /// The first request is still being served.
    InFlight,
    /// The key was used before.
    Repeated(Repeated),
}

/// What a request gets whose key was used before.
#[derive(Debug)]
pub enum Repeated {
    /// Send this answer.
    Replay(Answer),
    /// The first request had a different body.
    Mismatch,
    /// The answer exceeded [`ANSWER_BYTES_MAX`] and was not stored.
    TooLarge,
}

/// The first request with its key. Dropping it without an answer lets a repetition run.
#[derive(Debug)]
pub struct FirstRequest {
    key: AnswerKey,
    body_hash: [u8; 32],
    billing: Billing,
    /// When it began, if that is stored.
    begun: Option<Timestamp>,
}

/// The name under which the pages of a request with a key are charged, the same for each of its
/// tries: 32 hexadecimal digits.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Payment {
    /// The name.
    pub name: Arc<str>,
    /// Whether an earlier try was interrupted, so that pages may have been charged.
    pub is_repeated: bool,
}

impl Payment {
    /// The payment of one of several parts of a request, such as one of its crawls.
    #[must_use]
    pub fn part(&self, n: usize) -> Self {
        let mut hasher = blake3::Hasher::new();
        hasher.update(self.name.as_bytes()).update(&n.to_le_bytes());
        Self {
            name: name_of(&hasher),
            ..*self
        }
    }
}

/// What is stored under a key.
enum Stored {
    /// Nothing.
    Nothing,
    /// The same request began at this time, and has no answer.
    Interrupted(Timestamp),
    /// A request that has ended, or another one.
    Repeated(Repeated),
}

fn answer_key(account: &AccountId, key: &str) -> Result<AnswerKey, BillingError> {
    let (len, max) = (key.len(), KEY_BYTES_MAX);
    if len == 0 || len > max {
        return Err(BillingError::BadIdempotencyKey { len, max });
    }
    Ok(AnswerKey {
        account: account.clone(),
        key: key.to_owned(),
    })
}

fn name_of(hasher: &blake3::Hasher) -> Arc<str> {
    Arc::from(&hasher.finalize().to_hex()[..32])
}

/// Keys whose first request is being served, with the hash of its body.
#[derive(Debug, Default)]
pub(crate) struct KeysInFlight(Mutex<HashMap<AnswerKey, [u8; 32]>>);

impl KeysInFlight {
    fn with<T>(&self, change: impl FnOnce(&mut HashMap<AnswerKey, [u8; 32]>) -> T) -> T {
        change(&mut self.0.lock().unwrap_or_else(PoisonError::into_inner))
    }
}

impl Billing {
    /// Registers a request with an idempotency key, or finds the answer of an earlier one.
    /// `body_hash` is the BLAKE3 hash of its path and body; a stored answer is read under a lease
    /// of `memory`.
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
    ) -> Result<IdempotencyStart, BillingError> {
        let key = answer_key(account, key)?;
        // Before the key is claimed: of several repeats at once each gets the answer.
        if let Stored::Repeated(repeated) = self.stored(&key, body_hash, memory).await? {
            return Ok(IdempotencyStart::Repeated(repeated));
        }
        let claimed = self.claim(key.clone(), body_hash);
        // The answer may have been stored in between.
        let interrupted = match self.stored(&key, body_hash, memory).await? {
            Stored::Repeated(repeated) => return Ok(IdempotencyStart::Repeated(repeated)),
            Stored::Interrupted(at) => Some(at),
            Stored::Nothing => None,
        };
        Ok(match claimed {
            Ok(mut first) => {
                first.begun = interrupted;
                IdempotencyStart::New(first)
            }
            Err(in_flight) if in_flight == body_hash => IdempotencyStart::InFlight,
            Err(_) => IdempotencyStart::Repeated(Repeated::Mismatch),
        })
    }

    /// What a request gets whose key was used before and is used by no request now; `None` for one
    /// that has to be served.
    ///
    /// # Errors
    /// As [`Self::begin`].
    pub async fn repeated(
        &self,
        account: &AccountId,
        key: &str,
        body_hash: [u8; 32],
        memory: &MemoryShare,
    ) -> Result<Option<Repeated>, BillingError> {
        let key = answer_key(account, key)?;
        Ok(match self.stored(&key, body_hash, memory).await? {
            Stored::Repeated(repeated) => Some(repeated),
            Stored::Interrupted(_) | Stored::Nothing => None,
        })
    }

    /// What is stored under a key.
    async fn stored(
        &self,
        key: &AnswerKey,
        body_hash: [u8; 32],
        memory: &MemoryShare,
    ) -> Result<Stored, BillingError> {
        let since = self.clock.now().before(RETENTION);
        let stored = self.store.answer(key, since, &memory.page()).await?;
        Ok(match stored {
            None => Stored::Nothing,
            Some(stored) if stored.body_hash != body_hash => Stored::Repeated(Repeated::Mismatch),
            Some(stored) if !stored.has_ended => Stored::Interrupted(stored.at),
            Some(StoredAnswer { answer, .. }) => {
                Stored::Repeated(answer.map_or(Repeated::TooLarge, Repeated::Replay))
            }
        })
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
                    begun: None,
                })
            }
        })
    }
}

impl FirstRequest {
    /// Stores that the request begins, unless an interrupted one did. Charge its pages under the
    /// payment's name.
    ///
    /// # Errors
    /// [`BillingError::Store`] if the store fails: nothing may be charged then.
    pub async fn open(&mut self) -> Result<Payment, BillingError> {
        let is_repeated = self.begun.is_some();
        let at = match self.begun {
            Some(at) => at,
            None => self.store(None, false).await?,
        };
        self.begun = Some(at);
        let mut hasher = blake3::Hasher::new();
        for part in [self.key.account.as_str(), &self.key.key] {
            hasher.update(&part.len().to_le_bytes());
            hasher.update(part.as_bytes());
        }
        hasher.update(&self.body_hash).update(&at.0.to_le_bytes());
        Ok(Payment {
            name: name_of(&hasher),
            is_repeated,
        })
    }

    /// Ends a request without an answer. If nothing was charged under its payment, the key may be
    /// used for another request; otherwise only for the same again, which then continues this one.
    ///
    /// # Errors
    /// [`BillingError::Store`] if the store fails.
    pub async fn release(self, payment: &Payment) -> Result<(), BillingError> {
        let store = Arc::clone(&self.billing.store);
        // Charges that are on their way to the ledger count.
        self.billing.flush().await?;
        if !self.billing.has_charged(&payment.name).await? {
            store.forget_answer(&self.key).await?;
        }
        Ok(())
    }

    /// Stores the answer for a day. Send it once this has returned, when it is durable.
    ///
    /// # Errors
    /// [`BillingError::Store`] if the store fails, [`BillingError::Unavailable`] if the ledger was
    /// closed meanwhile; a repetition continues the request then.
    pub async fn finish(self, answer: Answer) -> Result<(), BillingError> {
        let answer = (answer.body.len() <= ANSWER_BYTES_MAX).then_some(answer);
        self.store(answer, true).await.map(drop)
    }

    /// Ends a request whose answer is larger than [`ANSWER_BYTES_MAX`]: it cannot be repeated.
    ///
    /// # Errors
    /// As [`Self::finish`].
    pub async fn finish_too_large(self) -> Result<(), BillingError> {
        self.store(None, true).await.map(drop)
    }

    async fn store(
        &self,
        answer: Option<Answer>,
        has_ended: bool,
    ) -> Result<Timestamp, BillingError> {
        if self.billing.queue.is_closed() {
            // The last pages could not be charged any more, so they are missing from the answer.
            return Err(BillingError::Unavailable);
        }
        let at = self.billing.clock.now();
        let stored = StoredAnswer {
            body_hash: self.body_hash,
            has_ended,
            answer,
            at,
        };
        let expired = at.before(RETENTION);
        let store = &self.billing.store;
        store.store_answer(&self.key, &stored, expired).await?;
        Ok(at)
    }
}

impl Drop for FirstRequest {
    fn drop(&mut self) {
        self.billing
            .in_flight
            .with(|in_flight| in_flight.remove(&self.key));
    }
}
