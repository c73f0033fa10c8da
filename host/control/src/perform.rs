//! Asks billing what the operator asked. The same for the socket and for the command line by itself.

use std::collections::BTreeMap;

use super::request::{
    AccountView, AuditView, DisagreementView, EntryView, KeyView, NoticesView, PricesView, Reply,
    Request, SubscriptionView, SumView, UsageView,
};
use super::{ControlError, STATEMENT_ENTRIES_MAX};
use trawl_billing::{
    Account, AccountUsage, Billing, BillingError, Funds, KeyRecord, LedgerEntryKind, Notice,
    Posted, PricesRow, Window,
};
use trawl_model::clock::Timestamp;
use trawl_model::{Charge, Nanodollars};
use trawl_plan::address;

/// Does it, and says in the reply what went wrong.
pub(super) async fn performed(billing: &Billing, request: Request) -> Reply {
    match perform(billing, request).await {
        Ok(reply) => reply,
        Err(error) => Reply::Error(with_causes(&error)),
    }
}

/// Does what was asked: the one piece of code behind the socket, the command line by itself and the HTTP interface.
///
/// # Errors
/// [`ControlError::Billing`] for what billing refuses, [`ControlError::Field`] for a value that makes no sense,
/// [`ControlError::Refused`] for what only a running server knows.
pub async fn perform(billing: &Billing, request: Request) -> Result<Reply, ControlError> {
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
        Request::Account { account } => {
            let account = billing.known(&account)?;
            Reply::Account {
                account: view(billing, &account, billing.funds(&account.id)),
                keys: billing.keys(&account.id).into_iter().map(key).collect(),
            }
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
        Request::CreateKey { account, name } => {
            let account = billing.known(&account)?;
            let key = billing.create_key(&account.id, &name).await?;
            let api_key = key.expose().to_owned();
            Reply::Key { api_key }
        }
        Request::Keys { account, all } => {
            let account = billing.known(&account)?;
            let keys = match all {
                true => billing.all_keys(&account.id).await?,
                false => billing.keys(&account.id),
            };
            Reply::Keys(keys.into_iter().map(key).collect())
        }
        Request::WebhookSecret { account, renew } => {
            let account = billing.known(&account)?;
            let secret = match renew {
                true => billing.renew_webhook_secret(&account.id).await?,
                false => billing.webhook_secret(&account.id).await?,
            };
            let secret = secret.expose().to_owned();
            Reply::WebhookSecret { secret }
        }
        Request::RevokeKey { account, key } => revoke(billing, &account, &key).await?,
        Request::SetNotices {
            account,
            destination,
            below,
        } => {
            let account = billing.known(&account)?;
            let destination = destination.as_deref().map(receiver).transpose()?;
            let below = Nanodollars(below);
            let set = billing.set_notice(&account.id, destination.as_deref(), below);
            set.await?;
            Reply::Notices(view(billing, &account, billing.funds(&account.id)))
        }
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
        Request::Prices {} => Reply::Prices(billing.prices().await?.pop().map(prices)),
        Request::PriceHistory {} => {
            let history = billing.prices().await?.into_iter();
            Reply::PriceHistory(history.map(prices).collect())
        }
        Request::Usage { from, to } => usage(billing, Timestamp(from), Timestamp(to)).await?,
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
    Err(ControlError::Billing(BillingError::UnknownKey {
        account: account.name.clone(),
        key: key.to_owned(),
    }))
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

/// The address of a receiver of events, checked as those of crawls are.
fn receiver(text: &str) -> Result<String, ControlError> {
    let url = address::parse(text).map_err(|failure| ControlError::Field {
        field: "destination",
        reason: failure.to_string(),
    })?;
    Ok(url.into())
}

async fn usage(billing: &Billing, from: Timestamp, to: Timestamp) -> Result<Reply, BillingError> {
    let rows = billing.usage(from, to).await?;
    let mut total = UsageView {
        costs: costs(&Charge::default()),
        ..UsageView::default()
    };
    let accounts: Vec<UsageView> = rows.iter().map(|row| account_usage(billing, row)).collect();
    for one in &accounts {
        total.pages += one.pages;
        total.failed += one.failed;
        total.bytes = total.bytes.saturating_add(one.bytes);
        total.cpu_micros = total.cpu_micros.saturating_add(one.cpu_micros);
        for (name, amount) in &one.costs {
            let sum = total.costs.entry(name.clone()).or_default();
            *sum = sum.saturating_add(*amount);
        }
        total.top_ups = total.top_ups.saturating_add(one.top_ups);
        total.bonuses = total.bonuses.saturating_add(one.bonuses);
        total.seats = total.seats.saturating_add(one.seats);
    }
    Ok(Reply::Usage { accounts, total })
}

fn account_usage(billing: &Billing, row: &AccountUsage) -> UsageView {
    let account = billing.find(row.account.as_str());
    UsageView {
        account: row.account.to_string(),
        name: account
            .map(|account| account.name.clone())
            .unwrap_or_default(),
        pages: row.n_pages,
        failed: row.n_failed,
        bytes: row.consumed.n_bytes,
        cpu_micros: u64::try_from(row.consumed.cpu.as_micros()).unwrap_or(u64::MAX),
        costs: costs(&row.charge),
        top_ups: row.top_ups.0,
        bonuses: row.bonuses.0,
        seats: row.seats.0,
    }
}

fn prices(row: PricesRow) -> PricesView {
    PricesView {
        since: row.at.to_string(),
        prices: serde_json::from_str(&row.prices).unwrap_or_default(),
    }
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
        subscription: subscription(billing, account),
        notices: notices(billing.notice(&account.id)),
    }
}

fn notices(notice: Notice) -> Option<NoticesView> {
    Some(NoticesView {
        destination: notice.destination?,
        low_balance: notice.below.0,
    })
}

fn subscription(billing: &Billing, account: &Account) -> Option<SubscriptionView> {
    let row = billing.subscription(&account.id)?;
    Some(SubscriptionView {
        state: row.state.name().to_owned(),
        seats: row.seats,
        active: billing.slots(&account.id).active,
        next_seats: row.next_seats,
        from: row.from.to_string(),
        to: row.to.to_string(),
        price: row.price.0,
    })
}

fn key(key: KeyRecord) -> KeyView {
    KeyView {
        key: key.prefix,
        name: key.name,
        created: key.created.to_string(),
        last_used: key.last_used.map(|at| at.to_string()),
        revoked: key.revoked.map(|at| at.to_string()),
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
