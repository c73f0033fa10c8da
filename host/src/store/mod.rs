//! What outlives the process: accounts, API keys, the ledger, answers to repeated requests.
//!
//! [`Store`] is the seam: its operations are whole (a group of entries is one call and one transaction), so that a
//! database across a network can serve them as well as the file behind [`sqlite`]. Only billing calls it.

mod account;
mod answer;
#[cfg(test)]
mod conformance;
mod data_dir;
mod ledger;
pub mod sqlite;

use std::fmt;

use futures_util::future::BoxFuture;

use crate::clock::Timestamp;

pub use account::{AccountId, AccountRecord, KeyRecord};
pub use answer::{ANSWER_BYTES_MAX, Answer, AnswerKey, KeptAnswer};
pub use data_dir::{DataDir, DataDirError};
pub use ledger::{
    Audit, Disagreement, Entry, EntryKind, KindSum, OpenReserve, Posted, StatementPage, Window,
    Written,
};

/// The result of one operation; the borrow is the store's.
pub type StoreFuture<'a, T> = BoxFuture<'a, Result<T, StoreError>>;

/// A back end. Every operation is atomic, and durable when its future has ended with `Ok`.
pub trait Store: fmt::Debug + Send + Sync + 'static {
    /// All accounts with their balances as materialised.
    fn accounts(&self) -> StoreFuture<'_, Vec<AccountRecord>>;

    /// All keys that have not been revoked.
    fn keys(&self) -> StoreFuture<'_, Vec<KeyRecord>>;

    /// Adds an account with its first key and its opening entries, all or nothing.
    ///
    /// # Errors
    /// [`StoreError::Taken`] when the id, the name, the key or an entry's id exists already.
    fn create_account<'a>(
        &'a self,
        account: &'a AccountRecord,
        key: &'a KeyRecord,
        opening: &'a [Entry],
    ) -> StoreFuture<'a, ()>;

    /// Adds a key to an account.
    ///
    /// # Errors
    /// [`StoreError::Taken`] when its hash or prefix exists already.
    fn create_key<'a>(&'a self, key: &'a KeyRecord) -> StoreFuture<'a, ()>;

    /// Ends a key of this account for good; `false` when there is no such key or it was ended before.
    fn revoke_key<'a>(
        &'a self,
        account: &'a AccountId,
        prefix: &'a str,
        at: Timestamp,
    ) -> StoreFuture<'a, bool>;

    /// Writes entries in their order in one transaction, balances with them, and makes them durable together.
    ///
    /// An entry whose id exists is left as it stands and changes nothing. An entry that would break a rule (an unknown
    /// account, a balance below zero) is refused without touching the others. The answer has one result an entry.
    fn post_group<'a>(&'a self, entries: &'a [Entry]) -> StoreFuture<'a, Vec<Written>>;

    /// The entry with this id.
    fn entry<'a>(&'a self, id: &'a str) -> StoreFuture<'a, Option<Posted>>;

    /// Every reserve that was neither posted nor voided.
    fn open_reserves(&self) -> StoreFuture<'_, Vec<OpenReserve>>;

    /// A page of an account's entries in the order they were written, with sums over the whole window.
    fn statement<'a>(
        &'a self,
        account: &'a AccountId,
        window: Window,
    ) -> StoreFuture<'a, StatementPage>;

    /// Adds up all entries and compares with the materialised balances.
    fn audit(&self) -> StoreFuture<'_, Audit>;

    /// The answer kept under this key at or after `since`.
    fn answer<'a>(
        &'a self,
        key: &'a AnswerKey,
        since: Timestamp,
    ) -> StoreFuture<'a, Option<KeptAnswer>>;

    /// Keeps an answer, in place of an older one under the same key, and forgets some of those from before `expired`.
    fn keep_answer<'a>(
        &'a self,
        key: &'a AnswerKey,
        answer: &'a KeptAnswer,
        expired: Timestamp,
    ) -> StoreFuture<'a, ()>;

    /// Ends the connections after what was begun is done.
    fn close(&self) -> BoxFuture<'_, ()>;
}

/// Why the store did not do what it was asked.
#[derive(Debug, thiserror::Error)]
pub enum StoreError {
    /// The data directory could not be opened or is in use.
    #[error(transparent)]
    DataDir(#[from] DataDirError),
    /// The file was written by a later version of the program.
    #[error(
        "the database has schema version {found}, this program knows versions up to {known}: use the newer program that wrote it"
    )]
    SchemaTooNew {
        /// Version of the file.
        found: i64,
        /// Latest version this program knows.
        known: i64,
    },
    /// The file is a database, but not one of this program.
    #[error(
        "the database was not written by this program: choose another data directory, or move the file away"
    )]
    NotOurs,
    /// Something with this name or id exists.
    #[error("{what} exists already")]
    Taken {
        /// What is taken.
        what: &'static str,
    },
    /// A stored value has no meaning for this program.
    #[error("the database has an unreadable {what}")]
    Unreadable {
        /// Which value.
        what: &'static str,
    },
    /// The database failed.
    #[error("the database failed to {doing}")]
    Database {
        /// What was being done.
        doing: &'static str,
        /// Why.
        #[source]
        source: sqlx::Error,
    },
}
