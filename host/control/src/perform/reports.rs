//! Reports: statements, prices, usage, audits.

use trawl_billing::{Billing, Funds, Window};
use trawl_model::Charge;
use trawl_model::clock::Timestamp;

use super::views;
use crate::STATEMENT_ENTRIES_MAX;
use crate::error::ControlError;
use crate::reply::{AuditView, DisagreementView, KeyDisagreementView, Reply, SumView, UsageView};

pub(super) async fn statement(
    billing: &Billing,
    account: &str,
    (from, to): (i64, i64),
    after: i64,
) -> Result<Reply, ControlError> {
    let account = billing.known(account)?;
    let window = Window {
        from: Timestamp(from),
        to: Timestamp(to),
        after,
        limit: STATEMENT_ENTRIES_MAX,
    };
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
        account: views::account_with(billing, &account, funds),
        sums: sums.collect(),
        entries: page.entries.into_iter().map(views::entry).collect(),
    })
}

pub(super) async fn prices(billing: &Billing) -> Result<Reply, ControlError> {
    let current = billing.prices().await?.pop();
    Ok(Reply::Prices(current.map(views::prices)))
}

pub(super) async fn price_history(billing: &Billing) -> Result<Reply, ControlError> {
    let history = billing.prices().await?.into_iter();
    Ok(Reply::PriceHistory(history.map(views::prices).collect()))
}

pub(super) async fn usage(
    billing: &Billing,
    (from, to): (i64, i64),
    by_key: bool,
) -> Result<Reply, ControlError> {
    let period = (Timestamp(from), Timestamp(to));
    let rows = billing.usage(period.0, period.1).await?;
    let mut accounts = Vec::with_capacity(rows.len());
    for row in &rows {
        let mut view = views::usage(billing, row);
        if by_key {
            let keys = billing.usage_of_keys(&row.account, period).await?;
            view.keys = Some(keys.iter().map(views::key_usage).collect());
        }
        accounts.push(view);
    }
    let mut total = UsageView {
        costs: views::costs(&Charge::default()),
        ..UsageView::default()
    };
    for account in &accounts {
        add(&mut total, account);
    }
    Ok(Reply::Usage { accounts, total })
}

fn add(total: &mut UsageView, account: &UsageView) {
    total.pages += account.pages;
    total.failed += account.failed;
    total.bytes = total.bytes.saturating_add(account.bytes);
    total.cpu_micros = total.cpu_micros.saturating_add(account.cpu_micros);
    for (name, amount) in &account.costs {
        let sum = total.costs.entry(name.clone()).or_default();
        *sum = sum.saturating_add(*amount);
    }
    total.top_ups = total.top_ups.saturating_add(account.top_ups);
    total.bonuses = total.bonuses.saturating_add(account.bonuses);
    total.seats = total.seats.saturating_add(account.seats);
}

pub(super) async fn audit(billing: &Billing) -> Result<Reply, ControlError> {
    let audit = billing.verify().await?;
    let disagreements = audit.disagreements.into_iter();
    let key_disagreements = audit.key_disagreements.into_iter();
    Ok(Reply::Audit(AuditView {
        accounts: audit.n_accounts,
        entries: audit.n_entries,
        disagreements: disagreements
            .map(|disagreement| DisagreementView {
                account: disagreement.account.to_string(),
                balance: disagreement.balance.0,
                entries_balance: disagreement.entries_balance.0,
                held: disagreement.held.0,
                entries_held: disagreement.entries_held.0,
            })
            .collect(),
        key_disagreements: key_disagreements
            .map(|disagreement| KeyDisagreementView {
                account: disagreement.account.to_string(),
                key: disagreement.key.to_string(),
                month_spent: disagreement.month_spent.0,
                entries_spent: disagreement.entries_spent.0,
            })
            .collect(),
    }))
}
