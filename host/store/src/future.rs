//! The return type of the store traits.

use futures_util::future::BoxFuture;

use crate::error::StoreError;

/// The result of one operation; it borrows the store.
pub type StoreFuture<'a, T> = BoxFuture<'a, Result<T, StoreError>>;
