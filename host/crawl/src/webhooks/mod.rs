//! Webhooks: events of crawls and of balances, sent to a server of the caller. Events are stored
//! until they are delivered, signed, and delivered at least once. Decision D106.
//!
//! An event is one POST with a JSON body and six headers: `X-Trawl-Event` (its kind),
//! `X-Trawl-Event-Id` (the same for every attempt), `X-Trawl-Signature`, whose value is
//! `t=<unix seconds>,v1=<hex>`: the HMAC-SHA256 of `<t>.<body>` under the account's webhook secret;
//! and those of Standard Webhooks 1.0.0: `webhook-id` (the same id), `webhook-timestamp` (Unix
//! seconds of the attempt) and `webhook-signature`. Decision D461.
//! Any 2xx acknowledges the event; everything else is retried with backoff.

mod deliver;
mod deliveries;
mod event;
mod kind;
mod outbox;
mod sign;
#[cfg(test)]
mod tests;
mod traces;

pub use deliver::ANSWER_TIME_MAX;
pub use deliveries::Delivery;
pub use event::{CONTENT_BYTES_MAX, EndedCrawl, Event, FoundPage};
pub use kind::{EventField, EventKind, FieldType};
pub use outbox::{
    AGE_MAX, ROTATION, WAITING_FLOOR, WAITING_MAX, WebhookLimits, Webhooks, WebhooksFull,
};
pub use sign::{signature, standard_signature};
pub use trawl_store::SigningSecrets;
