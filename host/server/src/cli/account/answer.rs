//! Output of the account commands: text for people, JSON for programs.

use std::collections::BTreeMap;

use serde_json::{Value, json};

use trawl_control::{
    AccountView, AuditView, EntryView, KeyUsageView, KeyView, PricesView, Reply, SubscriptionView,
    SumView, UsageView,
};
use trawl_model::Nanodollars;

/// The result of a command.
pub(super) enum Answer {
    Reply(Reply),
    Statement(Statement),
}

pub(super) struct Statement {
    pub(super) account: AccountView,
    pub(super) entries: Vec<EntryView>,
    pub(super) sums: BTreeMap<String, SumView>,
}

impl Answer {
    pub(super) fn json(&self) -> Value {
        match self {
            Self::Statement(statement) => statement.json(),
            Self::Reply(Reply::Created { account, api_key }) => {
                json!({"account": account.account, "api_key": api_key})
            }
            Self::Reply(Reply::Accounts(accounts)) => json!(accounts),
            Self::Reply(Reply::Account { account, keys }) => {
                let mut shown = json!(account);
                shown["keys"] = json!(keys);
                shown
            }
            Self::Reply(Reply::Notices(account)) => json!({
                "account": account.account, "notices": account.notices,
            }),
            Self::Reply(Reply::Keys(keys)) => json!(keys),
            Self::Reply(Reply::Prices(prices)) => json!(prices),
            Self::Reply(Reply::PriceHistory(history)) => json!(history),
            Self::Reply(Reply::Usage { accounts, total }) => json!({
                "unit": "nanodollars", "accounts": accounts, "total": total,
            }),
            Self::Reply(Reply::ToppedUp {
                account,
                id,
                amount,
                bonus,
                is_repeat,
            }) => json!({
                "account": account.account, "id": id, "amount": amount, "bonus": bonus,
                "balance": account.balance, "repeat": is_repeat,
            }),
            Self::Reply(Reply::Key { api_key }) => json!({"api_key": api_key}),
            Self::Reply(Reply::KeyBudget(key)) => json!(key),
            Self::Reply(Reply::WebhookSecret { secret }) => json!({"webhook_secret": secret}),
            Self::Reply(Reply::Revoked {}) => json!({"revoked": true}),
            Self::Reply(Reply::Seats { account, charged }) => json!({
                "account": account.account, "subscription": account.subscription, "charged": charged,
                "balance": account.balance,
            }),
            Self::Reply(Reply::Audit(audit)) => json!(audit),
            Self::Reply(
                reply @ (Reply::Error(_) | Reply::Plugins(_) | Reply::Statement { .. }),
            ) => json!(reply),
        }
    }

    pub(super) fn text(&self) -> String {
        match self {
            Self::Statement(statement) => statement.text(),
            Self::Reply(Reply::Created { account, api_key }) => created_text(account, api_key),
            Self::Reply(Reply::Accounts(accounts)) => lines(accounts, account_line),
            Self::Reply(Reply::Account { account, keys }) => format!(
                "{}\nreserved {}\n{}\n{}",
                account_line(account),
                money(account.held),
                notices_text(account),
                lines(keys, key_line)
            ),
            Self::Reply(Reply::Notices(account)) => notices_text(account) + "\n",
            Self::Reply(Reply::Keys(keys)) => lines(keys, key_line),
            Self::Reply(Reply::Prices(prices)) => lines(prices.as_slice(), prices_text),
            Self::Reply(Reply::PriceHistory(history)) => lines(history, prices_text),
            Self::Reply(Reply::Usage { accounts, total }) => {
                lines(accounts, usage_text) + &usage_text(total) + "\n"
            }
            Self::Reply(Reply::ToppedUp {
                account,
                amount,
                bonus,
                is_repeat,
                ..
            }) => format!(
                "{} {}, bonus {}, balance {}\n",
                if *is_repeat {
                    "already topped up:"
                } else {
                    "topped up"
                },
                money(*amount),
                money(*bonus),
                money(account.balance)
            ),
            Self::Reply(Reply::Key { api_key }) => {
                format!("api key  {api_key}\nThe key is shown only once.\n")
            }
            Self::Reply(Reply::KeyBudget(key)) => key_line(key) + "\n",
            Self::Reply(Reply::WebhookSecret { secret }) => format!("{secret}\n"),
            Self::Reply(Reply::Revoked {}) => "key revoked\n".to_owned(),
            Self::Reply(Reply::Seats { account, charged }) => format!(
                "{}\ncharged {}, balance {}\n",
                account
                    .subscription
                    .as_ref()
                    .map_or_else(|| "no seats".to_owned(), seats_text),
                money(*charged),
                money(account.balance)
            ),
            Self::Reply(Reply::Audit(audit)) => audit_text(audit),
            Self::Reply(Reply::Plugins(status)) => format!("{status}\n"),
            Self::Reply(Reply::Error(text)) => format!("{text}\n"),
            Self::Reply(Reply::Statement { entries, .. }) => lines(entries, entry_line),
        }
    }
}

impl Statement {
    pub(super) fn n_entries(&self) -> usize {
        self.sums.values().map(|sum| sum.entries as usize).sum()
    }

    /// Sum of all amounts; equals the balance for a statement of the full period.
    pub(super) fn total(&self) -> i64 {
        self.sums.values().map(|sum| sum.amount).sum()
    }

    pub(super) fn json(&self) -> Value {
        json!({
            "account": self.account.account,
            "name": self.account.name,
            "unit": "nanodollars",
            "balance": self.account.balance,
            "held": self.account.held,
            "total": self.total(),
            "sums": self.sums,
            "entries": self.entries,
        })
    }

    pub(super) fn text(&self) -> String {
        let sums = self.sums.iter().map(|(kind, sum)| {
            let amount = money(sum.amount);
            format!("{kind:<8} {:>8} entries  {amount}\n", sum.entries)
        });
        let head = format!(
            "{}  {}\nbalance {}, reserved {}\n\n",
            self.account.account,
            self.account.name,
            money(self.account.balance),
            money(self.account.held)
        );
        let entries = lines(&self.entries, entry_line);
        format!("{head}{}\n{entries}", sums.collect::<String>())
    }
}

fn lines<T>(items: &[T], line: impl Fn(&T) -> String) -> String {
    items.iter().map(|item| line(item) + "\n").collect()
}

fn created_text(account: &AccountView, api_key: &str) -> String {
    format!(
        "account  {}  {}\nbalance  {}\napi key  {api_key}\nThe key is shown only once.\n",
        account.account,
        account.name,
        money(account.balance)
    )
}

fn account_line(account: &AccountView) -> String {
    let balance = money(account.balance);
    let line = format!("{}  {balance:>16}  {}", account.account, account.name);
    match &account.subscription {
        Some(subscription) => format!("{line}  ({})", seats_text(subscription)),
        None => line,
    }
}

fn seats_text(subscription: &SubscriptionView) -> String {
    let (seats, next, state) = (
        subscription.seats,
        subscription.next_seats,
        &subscription.state,
    );
    let day = subscription.to.get(..10).unwrap_or(&subscription.to);
    let until = match (state.as_str(), next) {
        ("lapsed", _) => format!("since {day}"),
        (_, 0) => format!("to {day}, not renewed"),
        (_, next) if next != seats => format!("to {day}, then {next}"),
        _ => format!("to {day}"),
    };
    let noun = if seats == 1 { "seat" } else { "seats" };
    format!("{seats} {noun}, {state} {until}")
}

fn key_line(key: &KeyView) -> String {
    let used = match &key.last_used {
        Some(at) => format!("used {at}"),
        None => "never used".to_owned(),
    };
    let revoked = key.revoked.iter().map(|at| format!("  revoked {at}"));
    let line = format!("{}…  created {}  {used}", key.key, key.created);
    let budget = key.monthly_budget.iter().map(|budget| {
        let (spent, budget) = (money(key.month_spent), money(*budget));
        format!("  spent {spent} of {budget} this month")
    });
    let line = line + &revoked.collect::<String>() + &budget.collect::<String>();
    match key.name.as_str() {
        "" => line,
        name => format!("{line}  {name}"),
    }
}

fn notices_text(account: &AccountView) -> String {
    match &account.notices {
        None => "no alert for a low balance".to_owned(),
        Some(notices) => format!(
            "alerts below {} and at zero to {}",
            money(notices.low_balance),
            notices.destination
        ),
    }
}

fn prices_text(prices: &PricesView) -> String {
    format!("since {}\n{:#}", prices.since, prices.prices)
}

fn usage_text(usage: &UsageView) -> String {
    let who = match usage.account.as_str() {
        "" => "all".to_owned(),
        account => format!("{account}  {}", usage.name),
    };
    let used = used_text(
        [usage.pages, usage.failed, usage.bytes, usage.cpu_micros],
        &usage.costs,
    );
    let keys = usage.keys.iter().flatten();
    let keys: String = keys.map(|key| format!("\n  {}", key_usage(key))).collect();
    format!(
        "{who}\n  {used}\n  topped up {}, bonus {}, seats {}{keys}",
        money(usage.top_ups),
        money(usage.bonuses),
        money(usage.seats)
    )
}

fn key_usage(usage: &KeyUsageView) -> String {
    let name = match usage.name.as_str() {
        "" => String::new(),
        name => format!("  {name}"),
    };
    let revoked = usage.revoked.iter().map(|at| format!("  revoked {at}"));
    let revoked: String = revoked.collect();
    let key = match usage.key.as_str() {
        "" => "key not known".to_owned(),
        key => format!("{key}…"),
    };
    let used = used_text(
        [usage.pages, usage.failed, usage.bytes, usage.cpu_micros],
        &usage.costs,
    );
    format!("{key}{name}{revoked}: {used}")
}

/// Pages, failed pages, bytes and microseconds of CPU, and what they cost by part.
fn used_text([pages, failed, bytes, micros]: [u64; 4], costs: &BTreeMap<String, i64>) -> String {
    let costs = costs.iter().filter(|(_, amount)| **amount != 0);
    let costs: String = costs
        .map(|(name, amount)| format!("  {name} {}", money(*amount)))
        .collect();
    let (seconds, micros) = (micros / 1_000_000, micros % 1_000_000);
    format!(
        "{pages} pages, {failed} failed, {bytes} bytes, {seconds}.{micros:06} seconds of CPU\n{costs}"
    )
}

fn entry_line(entry: &EntryView) -> String {
    let amount = match entry.kind.as_str() {
        "reserve" => format!("({})", money(entry.held)),
        _ => money(entry.amount),
    };
    let line = format!(
        "{}  {:<7}  {amount:>16}  {}  {}",
        entry.at, entry.kind, entry.url, entry.reason
    );
    line.trim_end().to_owned()
}

fn audit_text(audit: &AuditView) -> String {
    let counted = format!("{} accounts, {} entries", audit.accounts, audit.entries);
    if audit.is_consistent() {
        return format!("{counted}: every balance equals the sum of its entries\n");
    }
    let accounts = lines(&audit.disagreements, |one| {
        format!(
            "{}: balance {} but entries {}, reserved {} but entries {}",
            one.account,
            money(one.balance),
            money(one.entries_balance),
            money(one.held),
            money(one.entries_held)
        )
    });
    let keys = lines(&audit.key_disagreements, |one| {
        format!(
            "{}: key {} has spent {} in the month of its last charge but entries {}",
            one.account,
            one.key,
            money(one.month_spent),
            money(one.entries_spent)
        )
    });
    format!("{counted}\n{accounts}{keys}")
}

fn money(nanodollars: i64) -> String {
    Nanodollars(nanodollars).to_string()
}

#[cfg(test)]
mod tests {
    use trawl_control::{DisagreementView, KeyDisagreementView};

    use super::*;

    #[test]
    fn an_audit_names_the_accounts_and_keys_that_differ() {
        let mut audit = AuditView {
            accounts: 2,
            entries: 7,
            disagreements: Vec::new(),
            key_disagreements: vec![KeyDisagreementView {
                account: "acc_1".to_owned(),
                key: "tr_1".to_owned(),
                month_spent: 1_500_000_000,
                entries_spent: 500_000_000,
            }],
        };
        assert!(!audit.is_consistent());
        let of_key =
            "acc_1: key tr_1 has spent $1.5 in the month of its last charge but entries $0.5\n";
        let expected = format!("2 accounts, 7 entries\n{of_key}");
        assert_eq!(audit_text(&audit), expected);
        audit.disagreements.push(DisagreementView {
            account: "acc_2".to_owned(),
            balance: 1_000_000_000,
            entries_balance: 2_000_000_000,
            held: 0,
            entries_held: 0,
        });
        let text = audit_text(&audit);
        assert!(
            text.contains("\nacc_2: balance $1 but entries $2"),
            "{text}"
        );
        assert!(text.ends_with(of_key), "{text}");
    }
}
