//! Asks billing what the operator asked. The same for the socket and for the command line by itself.

use std::collections::BTreeMap;

use super::request::{
    AccountView, AuditView, DisagreementView, EntryView, KeyView, Reply, Request, SubscriptionView,
    SumView,
};
use super::{ControlError, STATEMENT_ENTRIES_MAX};
use crate::billing::{
    Account, Billing, BillingError, Funds, KeyRecord, LedgerEntryKind, Posted, Subscription, Window,
};
use crate::clock::Timestamp;
use crate::model::{Charge, Nanodollars};

/// Does it, and says in the reply what went wrong.
pub(super) async fn perform(billing: &Billing, request: Request) -> Reply {
    match answer(billing, request).await {
        Ok(reply) => reply,
        Err(error) => Reply::Error(with_causes(&error)),
    }
}

async fn answer(billing: &Billing, request: Request) -> Result<Reply, ControlError> {
    Ok(match request {
        Request::CreateAccount { name, top_up } => {
            let created = billing.create_account(&name, Nanodollars(top_up)).await?;
            let (account, key) = created;
            let api_key = key.expose().to_owned();
            let account = view(billing, &account, billing.funds(&account.id));
            Reply::Created { account, api_key }
        }
        Request::Accounts {} => {
            let accounts = billing.accounts();
            let views = accounts
                .iter()
                .map(|(account, funds)| view(billing, account, *funds));
            Reply::Accounts(views.collect())
        }
        Request::TopUp {
            account,
            amount,
            id,
        } => {
            let account = billing.known(&account)?;
            let amount = Nanodollars(amount);
            let top_up = billing.top_up(&account.id, amount, id.as_deref()).await?;
            Reply::ToppedUp {
                account: view(billing, &account, billing.funds(&account.id)),
                id: top_up.id,
                amount: top_up.amount.0,
                bonus: top_up.bonus.0,
                is_repeat: top_up.is_repeat,
            }
        }
        Request::CreateKey { account } => {
            let account = billing.known(&account)?;
            let key = billing.create_key(&account.id).await?;
            let api_key = key.expose().to_owned();
            Reply::Key { api_key }
        }
        Request::Keys { account } => {
            let account = billing.known(&account)?;
            Reply::Keys(billing.keys(&account.id).into_iter().map(key).collect())
        }
        Request::WebhookSecret { account } => {
            let account = billing.known(&account)?;
            let secret = billing.webhook_secret(&account.id).await?;
            let secret = secret.expose().to_owned();
            Reply::WebhookSecret { secret }
        }
        Request::RevokeKey { account, key } => revoke(billing, &account, &key).await?,
        Request::SetSeats { account, seats } => {
            let account = billing.known(&account)?;
            let (_, charged) = billing.set_seats(&account.id, seats).await?;
            seats_reply(billing, &account, charged)
        }
        Request::SuspendSeats { account } => {
            let account = billing.known(&account)?;
            billing.suspend_seats(&account.id).await?;
            seats_reply(billing, &account, Nanodollars::ZERO)
        }
        Request::ResumeSeats { account } => {
            let account = billing.known(&account)?;
            let charged = billing.resume_seats(&account.id).await?;
            seats_reply(billing, &account, charged)
        }
        Request::Statement {
            account,
            from,
            to,
            after,
        } => {
            let window = Window {
                from: Timestamp(from),
                to: Timestamp(to),
                after,
                limit: STATEMENT_ENTRIES_MAX,
            };
            statement(billing, &account, window).await?
        }
        Request::Verify {} => audit(billing).await?,
        Request::Plugins {} => {
            let reason = "no server is running: plugins are in effect only in a running one";
            return Err(ControlError::Refused(reason.to_owned()));
        }
    })
}

async fn revoke(billing: &Billing, account: &str, key: &str) -> Result<Reply, ControlError> {
    let account = billing.known(account)?;
    if billing.revoke_key(&account.id, key).await? {
        return Ok(Reply::Revoked {});
    }
    Err(ControlError::Refused(format!(
        "`{}` has no key `{key}`: `trawl account key list` shows those it has",
        account.name
    )))
}

async fn statement(
    billing: &Billing,
    account: &str,
    window: Window,
) -> Result<Reply, ControlError> {
    let account = billing.known(account)?;
    let page = billing.statement(&account.id, window).await?;
    let funds = Funds {
        balance: page.balance,
        held: page.held,
    };
    let sums = page.sums.iter().map(|sum| {
        let view = SumView {
            entries: sum.n_entries,
            amount: sum.amount.0,
        };
        (sum.kind.name().to_owned(), view)
    });
    Ok(Reply::Statement {
        account: view(billing, &account, funds),
        sums: sums.collect(),
        entries: page.entries.into_iter().map(entry).collect(),
    })
}

async fn audit(billing: &Billing) -> Result<Reply, BillingError> {
    let audit = billing.verify().await?;
    let disagreements = audit.disagreements.into_iter();
    Ok(Reply::Audit(AuditView {
        accounts: audit.n_accounts,
        entries: audit.n_entries,
        disagreements: disagreements
            .map(|one| DisagreementView {
                account: one.account.to_string(),
                balance: one.balance.0,
                entries_balance: one.entries_balance.0,
                held: one.held.0,
                entries_held: one.entries_held.0,
            })
            .collect(),
    }))
}

fn seats_reply(billing: &Billing, account: &Account, charged: Nanodollars) -> Reply {
    Reply::Seats {
        account: view(billing, account, billing.funds(&account.id)),
        charged: charged.0,
    }
}

fn view(billing: &Billing, account: &Account, funds: Funds) -> AccountView {
    AccountView {
        account: account.id.to_string(),
        name: account.name.clone(),
        balance: funds.balance.0,
        held: funds.held.0,
        subscription: billing.subscription(&account.id).map(subscription),
    }
}

fn subscription(row: Subscription) -> SubscriptionView {
    SubscriptionView {
        state: row.state.name().to_owned(),
        seats: row.seats,
        next_seats: row.next_seats,
        from: row.from.to_string(),
        to: row.to.to_string(),
        price: row.price.0,
    }
}

fn key(key: KeyRecord) -> KeyView {
    KeyView {
        key: key.prefix,
        created: key.created.to_string(),
    }
}

fn entry(posted: Posted) -> EntryView {
    let entry = posted.entry;
    let costs = match entry.kind {
        LedgerEntryKind::Post => costs(&entry.charge),
        _ => BTreeMap::new(),
    };
    EntryView {
        seq: posted.seq,
        id: entry.id,
        kind: entry.kind.name().to_owned(),
        amount: entry.amount.0,
        held: entry.held.0,
        run: entry.run.to_string(),
        url: entry.url.to_string(),
        costs,
        reason: entry.reason,
        at: entry.at.to_string(),
    }
}

fn costs(charge: &Charge) -> BTreeMap<String, i64> {
    let parts = [
        ("ai_cost", charge.ai),
        ("compute_cost", charge.compute),
        ("file_cost", charge.file),
        ("bytes_transferred_cost", charge.bytes_transferred),
        ("transform_cost", charge.transform),
        ("billed_cost", charge.vendor_billed),
        ("total_cost", charge.total()),
    ];
    parts.map(|(name, part)| (name.to_owned(), part.0)).into()
}

fn with_causes(error: &dyn std::error::Error) -> String {
    let causes = std::iter::successors(Some(error), |error| error.source());
    let texts: Vec<String> = causes.map(ToString::to_string).collect();
    texts.join(": ")
}
