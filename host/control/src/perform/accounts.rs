//! Accounts, keys, webhook secrets, balance notices.

use trawl_billing::{Account, Billing, BillingError, key_prefix};
use trawl_model::Nanodollars;
use trawl_plan::address;

use super::views;
use crate::error::ControlError;
use crate::reply::Reply;

pub(super) async fn create(
    billing: &Billing,
    name: &str,
    top_up: i64,
) -> Result<Reply, ControlError> {
    let (account, key) = billing.create_account(name, Nanodollars(top_up)).await?;
    Ok(Reply::Created {
        account: views::account(billing, &account),
        api_key: key.expose().to_owned(),
    })
}

pub(super) fn list(billing: &Billing) -> Reply {
    let accounts = billing.accounts();
    let accounts = accounts
        .iter()
        .map(|(account, funds)| views::account_with(billing, account, *funds));
    Reply::Accounts(accounts.collect())
}

pub(super) fn show(billing: &Billing, account: &str) -> Result<Reply, ControlError> {
    let account = billing.known(account)?;
    let keys = billing.keys(&account.id).into_iter();
    Ok(Reply::Account {
        account: views::account(billing, &account),
        keys: keys.map(views::key).collect(),
    })
}

pub(super) async fn top_up(
    billing: &Billing,
    account: &str,
    amount: i64,
    id: Option<&str>,
) -> Result<Reply, ControlError> {
    let account = billing.known(account)?;
    let top_up = billing.top_up(&account.id, Nanodollars(amount), id).await?;
    Ok(Reply::ToppedUp {
        account: views::account(billing, &account),
        id: top_up.id,
        amount: top_up.amount.0,
        bonus: top_up.bonus.0,
        is_repeat: top_up.is_repeat,
    })
}

pub(super) async fn create_key(
    billing: &Billing,
    account: &str,
    name: &str,
    budget: Option<i64>,
) -> Result<Reply, ControlError> {
    let account = billing.known(account)?;
    let budget = budget.map(Nanodollars);
    let key = billing.create_key(&account.id, name, budget).await?;
    let api_key = key.expose().to_owned();
    Ok(Reply::Key { api_key })
}

pub(super) async fn set_key_budget(
    billing: &Billing,
    account: &str,
    key: &str,
    budget: Option<i64>,
) -> Result<Reply, ControlError> {
    let account = billing.known(account)?;
    let budget = budget.map(Nanodollars);
    match billing.set_key_budget(&account.id, key, budget).await? {
        Some(key) => Ok(Reply::KeyBudget(views::key(key))),
        None => Err(unknown_key(&account, key)),
    }
}

pub(super) async fn keys(
    billing: &Billing,
    account: &str,
    includes_revoked: bool,
) -> Result<Reply, ControlError> {
    let account = billing.known(account)?;
    let keys = if includes_revoked {
        billing.all_keys(&account.id).await?
    } else {
        billing.keys(&account.id)
    };
    Ok(Reply::Keys(keys.into_iter().map(views::key).collect()))
}

pub(super) async fn revoke_key(
    billing: &Billing,
    account: &str,
    key: &str,
) -> Result<Reply, ControlError> {
    let account = billing.known(account)?;
    if billing.revoke_key(&account.id, key).await? {
        return Ok(Reply::Revoked {});
    }
    Err(unknown_key(&account, key))
}

/// The caller may have sent a whole key, of which the message shows what lists show.
fn unknown_key(account: &Account, key: &str) -> ControlError {
    ControlError::Billing(BillingError::UnknownKey {
        account: account.name.clone(),
        key: key_prefix(key).to_owned(),
    })
}

pub(super) async fn webhook_secret(
    billing: &Billing,
    account: &str,
    renew: bool,
) -> Result<Reply, ControlError> {
    let account = billing.known(account)?;
    let secret = if renew {
        billing.renew_webhook_secret(&account.id).await?
    } else {
        billing.webhook_secret(&account.id).await?
    };
    let secret = secret.expose().to_owned();
    Ok(Reply::WebhookSecret { secret })
}

pub(super) async fn set_notices(
    billing: &Billing,
    account: &str,
    destination: Option<&str>,
    below: i64,
) -> Result<Reply, ControlError> {
    let account = billing.known(account)?;
    let destination = destination.map(receiver_url).transpose()?;
    billing
        .set_notice(&account.id, destination.as_deref(), Nanodollars(below))
        .await?;
    Ok(Reply::Notices(views::account(billing, &account)))
}

/// The URL of a notice receiver, validated like a webhook URL.
fn receiver_url(text: &str) -> Result<String, ControlError> {
    let receiver = address::receiver(text).map_err(|failure| ControlError::Field {
        field: "destination",
        reason: failure.to_string(),
    })?;
    Ok(receiver.expose().to_owned())
}
