//! Seats: setting their number, suspending and resuming them.

use trawl_billing::{Account, Billing};
use trawl_model::Nanodollars;

use super::views;
use crate::error::ControlError;
use crate::reply::Reply;

pub(super) async fn set(
    billing: &Billing,
    account: &str,
    seats: u32,
) -> Result<Reply, ControlError> {
    let account = billing.known(account)?;
    let (_, charged) = billing.set_seats(&account.id, seats).await?;
    Ok(reply(billing, &account, charged))
}

pub(super) async fn suspend(billing: &Billing, account: &str) -> Result<Reply, ControlError> {
    let account = billing.known(account)?;
    billing.suspend_seats(&account.id).await?;
    Ok(reply(billing, &account, Nanodollars::ZERO))
}

pub(super) async fn resume(billing: &Billing, account: &str) -> Result<Reply, ControlError> {
    let account = billing.known(account)?;
    let charged = billing.resume_seats(&account.id).await?;
    Ok(reply(billing, &account, charged))
}

fn reply(billing: &Billing, account: &Account, charged: Nanodollars) -> Reply {
    Reply::Seats {
        account: views::account(billing, account),
        charged: charged.0,
    }
}
