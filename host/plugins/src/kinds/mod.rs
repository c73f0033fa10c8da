//! The kinds of plugins: what each is called with, and what its answer has to be.

pub(crate) mod analyst;
pub(crate) mod chunker;
pub(crate) mod decoder;
pub(crate) mod extractor;
pub(crate) mod filter;
pub(crate) mod format;
pub(crate) mod grant;
pub(crate) mod provider;
pub(crate) mod question;
pub(crate) mod search;
pub(crate) mod v1;
