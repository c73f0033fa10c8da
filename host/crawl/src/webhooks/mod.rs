//! Webhooks: events of crawls and of balances, sent to a server of the caller. Events are stored
//! until they are delivered, signed, and delivered at least once. Decision D106.
//!
//! An event is one POST with a JSON body and three headers: `X-Trawl-Event` (its kind),
//! `X-Trawl-Event-Id` (the same for every attempt) and `X-Trawl-Signature`, whose value is
//! `t=<unix seconds>,v1=<hex>`: the HMAC-SHA256 of `<t>.<body>` under the account's webhook secret.
//! Any 2xx acknowledges the event; everything else is retried with backoff.

mod deliver;
mod event;
mod outbox;
mod sign;
#[cfg(test)]
mod tests;

pub use deliver::ANSWER_TIME_MAX;
pub use event::{CONTENT_BYTES_MAX, EndedCrawl, Event, EventKind, FoundPage};
pub use outbox::{AGE_MAX, WAITING_FLOOR, WAITING_MAX, WebhookLimits, Webhooks, WebhooksFull};
pub use sign::signature;
