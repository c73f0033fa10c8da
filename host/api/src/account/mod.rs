//! The account of the key: its details, balance, alerts and statement.

pub(crate) mod credits;
pub(crate) mod deliveries;
pub(crate) mod details;
pub(crate) mod hosts;
pub(crate) mod keys;
pub(crate) mod limits;
pub(crate) mod notices;
pub(crate) mod statement;
mod statement_body;
pub(crate) mod usage;
pub(crate) mod views;
