//! Bytes of the requests of queued crawls, which are stored until it is their turn.

use std::collections::HashMap;
use std::sync::{Arc, Mutex};

use trawl_billing::AccountId;

use super::lock;

/// Most bytes of the requests of an account's queued crawls together: a dozen of the largest ones,
/// or its thousand crawls with requests of 100 kB. Decision D281.
pub(super) const QUEUED_BYTES_MAX: u64 = 128 << 20;
/// What a byte of a request's secrets counts: unlike the rest they wait in memory, because they are
/// never stored.
const SECRET_BYTE: u64 = 16;

/// An account has as many bytes of queued crawls as it may. The text is for its owner.
#[derive(Clone, Copy, Debug, PartialEq, Eq, thiserror::Error)]
#[error(
    "queued_crawl_bytes: the requests of the account's queued crawls have {used} of {limit} bytes and this one adds {wanted}: wait until one of them runs, or cancel one with `DELETE /crawl/{{id}}`"
)]
pub struct TooManyBytes {
    /// Bytes that the account has.
    pub used: u64,
    /// Bytes that it may have.
    pub limit: u64,
    /// Bytes of the request.
    pub wanted: u64,
}

/// The bytes of all accounts.
#[derive(Debug)]
pub(super) struct Queued {
    in_use: Mutex<HashMap<AccountId, u64>>,
    limit: u64,
}

/// Bytes of one account's queued crawls, given back on drop.
#[derive(Debug)]
pub(super) struct QueuedBytes {
    queued: Arc<Queued>,
    account: AccountId,
    counted: u64,
    /// Bytes of the stored requests.
    request_bytes: u64,
}

impl Default for Queued {
    fn default() -> Self {
        Self::new(QUEUED_BYTES_MAX)
    }
}

impl Queued {
    fn new(limit: u64) -> Self {
        Self {
            in_use: Mutex::default(),
            limit,
        }
    }

    /// Bytes of an account, and how many it may have.
    pub(super) fn used(&self, account: &AccountId) -> (u64, u64) {
        let used = lock(&self.in_use).get(account).copied();
        (used.unwrap_or_default(), self.limit)
    }

    /// Takes the bytes of a request with its secrets. An account without queued crawls may always
    /// have one.
    pub(super) fn take(
        self: &Arc<Self>,
        account: &AccountId,
        request_bytes: usize,
        secret_bytes: usize,
    ) -> Result<QueuedBytes, TooManyBytes> {
        let request_bytes = request_bytes as u64;
        let wanted =
            request_bytes.saturating_add((secret_bytes as u64).saturating_mul(SECRET_BYTE));
        let mut in_use = lock(&self.in_use);
        let used = in_use.get(account).copied().unwrap_or_default();
        if used > 0 && used.saturating_add(wanted) > self.limit {
            return Err(TooManyBytes {
                used,
                limit: self.limit,
                wanted,
            });
        }
        if wanted > 0 {
            *in_use.entry(account.clone()).or_default() += wanted;
        }
        Ok(QueuedBytes {
            queued: Arc::clone(self),
            account: account.clone(),
            counted: wanted,
            request_bytes,
        })
    }

    /// Takes bytes without a check: of crawls that were admitted before a restart.
    pub(super) fn take_anyway(
        self: &Arc<Self>,
        account: &AccountId,
        request_bytes: u64,
    ) -> QueuedBytes {
        if request_bytes > 0 {
            *lock(&self.in_use).entry(account.clone()).or_default() += request_bytes;
        }
        QueuedBytes {
            queued: Arc::clone(self),
            account: account.clone(),
            counted: request_bytes,
            request_bytes,
        }
    }
}

impl QueuedBytes {
    /// Bytes of the stored requests.
    pub(super) fn request_bytes(&self) -> u64 {
        self.request_bytes
    }

    /// Takes the bytes of one request out of these, or all that are left.
    pub(super) fn split(&mut self, request_bytes: u64) -> Self {
        let counted = request_bytes.min(self.counted);
        self.counted -= counted;
        self.request_bytes = self.request_bytes.saturating_sub(request_bytes);
        Self {
            queued: Arc::clone(&self.queued),
            account: self.account.clone(),
            counted,
            request_bytes,
        }
    }
}

impl Drop for QueuedBytes {
    fn drop(&mut self) {
        let mut in_use = lock(&self.queued.in_use);
        if let Some(used) = in_use.get_mut(&self.account) {
            *used = used.saturating_sub(self.counted);
            if *used == 0 {
                in_use.remove(&self.account);
            }
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn bytes_are_those_of_an_account_and_come_back() {
        let queued = Arc::new(Queued::new(100));
        let (one, other) = (AccountId::new("acc_1"), AccountId::new("acc_2"));
        let large = queued.take(&one, 1_000, 0).expect("it is the only one");
        let refused = queued.take(&one, 1, 0).expect_err("full");
        assert_eq!(
            (refused.used, refused.limit, refused.wanted),
            (1_000, 100, 1)
        );
        assert!(refused.to_string().starts_with("queued_crawl_bytes: "));
        let secret = queued.take(&other, 10, 5).expect("room");
        assert_eq!(
            (queued.used(&other), secret.request_bytes()),
            ((90, 100), 10)
        );
        assert!(queued.take(&other, 11, 0).is_err());
        drop((large, secret));
        let mut left = queued.take_anyway(&one, 300);
        let first = left.split(200);
        let further = left.split(200);
        drop(left);
        assert_eq!((queued.used(&one).0, further.request_bytes()), (300, 200));
        drop(first);
        assert_eq!(queued.used(&one).0, 100);
        drop(further);
        assert!(lock(&queued.in_use).is_empty(), "nothing is left over");
    }
}
