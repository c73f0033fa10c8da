//! What all endpoints share: authentication, rate limits, bodies, response formats, errors.

pub(crate) mod auth;
pub(crate) mod body;
pub(crate) mod closest;
pub(crate) mod concurrency;
pub(crate) mod control;
pub(crate) mod cors;
pub(crate) mod deprecation;
pub(crate) mod drain;
pub(crate) mod error;
pub(crate) mod fields;
pub(crate) mod format;
pub(crate) mod headers;
pub(crate) mod idempotency;
pub(crate) mod media_type;
pub(crate) mod methods;
pub(crate) mod observe;
pub(crate) mod paging;
pub(crate) mod params;
pub(crate) mod planning;
pub(crate) mod prepared;
pub(crate) mod problem;
pub(crate) mod queries;
pub(crate) mod rate;
pub(crate) mod request;
pub(crate) mod stream;
pub(crate) mod version;
