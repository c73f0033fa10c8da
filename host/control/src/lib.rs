//! Administration of accounts: over a Unix socket, in the command line, over HTTP.
//!
//! A running server listens on a socket in the data directory; requests and replies are JSON, one
//! per line. Access is controlled by the mode of the socket file. Without a server, the command
//! line opens the store itself: [`Operator`] is either. [`perform()`] carries out a request, for
//! both and for the HTTP interface.

mod client;
mod error;
mod perform;
mod reply;
mod request;
mod server;
mod socket;

pub use client::Operator;
pub use error::ControlError;
pub use perform::perform;
pub use reply::{
    AccountView, AuditView, DisagreementView, EntryView, KeyDisagreementView, KeyUsageView,
    KeyView, NoticesView, PricesView, Reply, SubscriptionView, SumView, UsageView,
};
pub use request::Request;
pub use server::{ControlHandler, listen};

/// Maximum number of statement entries per reply.
pub const STATEMENT_ENTRIES_MAX: u32 = 1_000;

#[cfg(test)]
mod tests;
