//! Transactions, values to bind, and the error mapping that every query shares.

use std::borrow::Cow;
use std::time::Duration;

use sqlx::postgres::{PgPool, PgTransaction};

use crate::StoreError;

/// Longest time of a statement on a connection for lists.
pub(super) const LIST_TIME_MAX: Duration = Duration::from_secs(2);
/// Times that a transaction is tried which another one crossed.
pub(super) const ATTEMPTS_MAX: usize = 5;

pub(super) async fn begin(
    writers: &PgPool,
    doing: &'static str,
) -> Result<PgTransaction<'static>, StoreError> {
    writers.begin().await.map_err(failed_to(doing))
}

pub(super) fn failed_to(doing: &'static str) -> impl Fn(sqlx::Error) -> StoreError {
    move |source| StoreError::Database { doing, source }
}

/// As [`failed_to`], for statements on a connection for lists, which stops those that take too
/// long.
pub(super) fn list_failed_to(doing: &'static str) -> impl Fn(sqlx::Error) -> StoreError {
    /// `query_canceled`.
    const CANCELED: &str = "57014";
    move |source| match has_code(&source, &[CANCELED]) {
        true => StoreError::TooSlow(LIST_TIME_MAX),
        false => StoreError::Database { doing, source },
    }
}

/// Waits for so long. The server bounds the time of a statement, but one whose machine is gone says
/// nothing more, and the connection would wait for it for good.
pub(super) async fn in_time<T>(
    time_max: Duration,
    doing: &'static str,
    work: impl Future<Output = Result<T, StoreError>>,
) -> Result<T, StoreError> {
    let done = tokio::time::timeout(time_max, work).await;
    done.unwrap_or_else(|_| {
        let late = std::io::Error::from(std::io::ErrorKind::TimedOut);
        Err(failed_to(doing)(sqlx::Error::Io(late)))
    })
}

/// Whether the transaction may succeed when it is repeated: PostgreSQL has ended it because
/// another one waited for it (`serialization_failure`, `deadlock_detected`).
pub(super) fn is_crossed(error: &StoreError) -> bool {
    match error {
        StoreError::Database { source, .. } => has_code(source, &["40001", "40P01"]),
        _ => false,
    }
}

fn has_code(error: &sqlx::Error, codes: &[&str]) -> bool {
    let code = error.as_database_error().and_then(|error| error.code());
    code.is_some_and(|code| codes.contains(&&*code))
}

/// The error of an insert: a record with this name or id exists, or something else.
pub(super) fn taken_or(
    what: &'static str,
    doing: &'static str,
) -> impl FnOnce(sqlx::Error) -> StoreError {
    move |error| match error.as_database_error() {
        Some(database) if database.is_unique_violation() => StoreError::Taken { what },
        _ => failed_to(doing)(error),
    }
}

/// A text as PostgreSQL stores it: without U+0000, which a text of a page may have.
pub(super) fn text(text: &str) -> Cow<'_, str> {
    match text.contains('\0') {
        true => Cow::Owned(text.replace('\0', "\u{fffd}")),
        false => Cow::Borrowed(text),
    }
}

/// The hash by which texts of any length are found.
pub(super) fn digest(texts: &[&str]) -> Vec<u8> {
    let mut hasher = blake3::Hasher::new();
    for text in texts {
        hasher.update(&(text.len() as u64).to_le_bytes());
        hasher.update(text.as_bytes());
    }
    hasher.finalize().as_bytes().to_vec()
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_text_is_stored_without_the_character_that_ends_it() {
        assert_eq!(text("a\0b"), "a\u{fffd}b");
        assert!(matches!(text("äb"), Cow::Borrowed("äb")));
    }

    #[tokio::test]
    async fn a_silent_server_is_waited_for_with_a_bound() {
        let silence = std::future::pending::<Result<(), StoreError>>();
        let ended = in_time(Duration::from_millis(1), "wait", silence).await;
        let is_late = matches!(
            &ended,
            Err(StoreError::Database { source: sqlx::Error::Io(error), .. })
                if error.kind() == std::io::ErrorKind::TimedOut
        );
        assert!(is_late, "{ended:?}");
    }

    #[test]
    fn texts_are_told_apart_by_their_borders() {
        assert_eq!(digest(&["a", "b"]), digest(&["a", "b"]));
        assert_ne!(digest(&["a", "b"]), digest(&["ab", ""]));
        assert_ne!(digest(&["ab"]), digest(&["a", "b"]));
    }
}
