//! `trawl account`: accounts, keys, paying in, statements. Asks the running server, or the store when there is none.

use std::collections::BTreeMap;
use std::io::{self, Write};
use std::path::PathBuf;

use clap::{Args, Subcommand};
use serde_json::{Value, json};

use crate::clock::Timestamp;
use crate::control::{
    AccountView, AuditView, ControlError, EntryView, KeyView, Operator, Reply, Request,
    STATEMENT_ENTRIES_MAX, SumView,
};
use crate::model::Nanodollars;

/// Accounts, their keys and their money.
#[derive(Debug, Args)]
pub(super) struct AccountArgs {
    /// Data directory.
    #[arg(
        long,
        global = true,
        value_name = "DIR",
        env = "TRAWL_DATA",
        default_value = "data"
    )]
    data: PathBuf,
    /// Answer in JSON; amounts are integers in nanodollars.
    #[arg(long, global = true)]
    json: bool,
    #[command(subcommand)]
    command: AccountCommand,
}

/// What to do. ACCOUNT is an identifier or a name.
#[derive(Clone, Debug, Subcommand)]
enum AccountCommand {
    /// Make an account and its first API key, which is shown only now.
    Create {
        /// A name of your choice.
        name: String,
        /// Dollars to start with; from $500 on they earn a bonus.
        #[arg(long, value_name = "USD", value_parser = dollars, default_value = "0")]
        top_up: Nanodollars,
    },
    /// Show every account with its balance.
    List,
    /// Pay in. $500 and more earn 5%, $2,000 and more 12%.
    TopUp {
        /// Who is paid.
        account: String,
        /// How much.
        #[arg(value_name = "USD", value_parser = dollars, allow_negative_numbers = true)]
        amount: Nanodollars,
        /// An id of the payment: paying in again under the same id changes nothing.
        #[arg(long)]
        id: Option<String>,
    },
    /// Make, show and end API keys.
    #[command(subcommand)]
    Key(KeyCommand),
    /// Show what the account's webhook events are signed with.
    WebhookSecret {
        /// Whose.
        account: String,
    },
    /// Show what was paid in and charged.
    Statement {
        /// Whose.
        account: String,
        /// Earliest time: `2026-01-31` or `2026-01-31T10:20:30Z`.
        #[arg(long, value_parser = moment)]
        from: Option<Timestamp>,
        /// Latest time, not included.
        #[arg(long, value_parser = moment)]
        to: Option<Timestamp>,
    },
    /// Add up every ledger entry and compare with the balances.
    Verify,
}

#[derive(Clone, Debug, Subcommand)]
enum KeyCommand {
    /// Make another key, which is shown only now.
    Create {
        /// For whom.
        account: String,
    },
    /// Show the first characters of each key.
    List {
        /// Whose.
        account: String,
    },
    /// End a key at once and for good.
    Revoke {
        /// Whose.
        account: String,
        /// The key's first characters as listed.
        key: String,
    },
}

/// Runs one command and prints its result.
///
/// # Errors
/// What went wrong, in words for the operator.
pub(super) async fn run(args: AccountArgs) -> anyhow::Result<()> {
    let creates = matches!(args.command, AccountCommand::Create { .. });
    let mut operator = Operator::reach(&args.data, creates).await?;
    let answered = answer(&mut operator, args.command).await;
    operator.leave().await;
    let answer = answered?;
    let text = if args.json {
        format!("{:#}\n", answer.json())
    } else {
        answer.text()
    };
    io::stdout().write_all(text.as_bytes())?;
    match answer {
        Answer::Reply(Reply::Audit(audit)) if !audit.disagreements.is_empty() => {
            anyhow::bail!("the ledger does not add up")
        }
        _ => Ok(()),
    }
}

/// What there is to print.
enum Answer {
    Reply(Reply),
    Statement(Statement),
}

struct Statement {
    account: AccountView,
    entries: Vec<EntryView>,
    sums: BTreeMap<String, SumView>,
}

async fn answer(operator: &mut Operator, command: AccountCommand) -> Result<Answer, ControlError> {
    let request = match command {
        AccountCommand::Statement { account, from, to } => {
            return whole_statement(operator, &account, from, to)
                .await
                .map(Answer::Statement);
        }
        AccountCommand::Create { name, top_up } => Request::CreateAccount {
            name,
            top_up: top_up.0,
        },
        AccountCommand::List => Request::Accounts {},
        AccountCommand::TopUp {
            account,
            amount,
            id,
        } => Request::TopUp {
            account,
            amount: amount.0,
            id,
        },
        AccountCommand::Key(KeyCommand::Create { account }) => Request::CreateKey { account },
        AccountCommand::Key(KeyCommand::List { account }) => Request::Keys { account },
        AccountCommand::Key(KeyCommand::Revoke { account, key }) => {
            Request::RevokeKey { account, key }
        }
        AccountCommand::WebhookSecret { account } => Request::WebhookSecret { account },
        AccountCommand::Verify => Request::Verify {},
    };
    operator.ask(request).await.map(Answer::Reply)
}

async fn whole_statement(
    operator: &mut Operator,
    account: &str,
    from: Option<Timestamp>,
    to: Option<Timestamp>,
) -> Result<Statement, ControlError> {
    let mut whole: Option<Statement> = None;
    loop {
        let last = whole.as_ref().and_then(|whole| whole.entries.last());
        let request = Request::Statement {
            account: account.to_owned(),
            from: from.unwrap_or(Timestamp::MIN).0,
            to: to.unwrap_or(Timestamp::MAX).0,
            after: last.map_or(0, |entry| entry.seq),
        };
        let Reply::Statement {
            account,
            entries,
            sums,
        } = operator.ask(request).await?
        else {
            return Err(ControlError::Refused(
                "the server did not answer with a statement".to_owned(),
            ));
        };
        let whole = whole.get_or_insert_with(|| Statement {
            account,
            entries: Vec::new(),
            sums,
        });
        let is_last = entries.len() < STATEMENT_ENTRIES_MAX as usize;
        whole.entries.extend(entries);
        // Balance and sums are of the moment of the first page; so are the entries, whatever was written since.
        whole.entries.truncate(whole.n_entries());
        if is_last || whole.entries.len() == whole.n_entries() {
            break;
        }
    }
    whole.ok_or_else(|| ControlError::Refused("the statement is empty".to_owned()))
}

impl Answer {
    fn json(&self) -> Value {
        match self {
            Self::Statement(statement) => statement.json(),
            Self::Reply(Reply::Created { account, api_key }) => {
                json!({"account": account.account, "api_key": api_key})
            }
            Self::Reply(Reply::Accounts(accounts)) => json!(accounts),
            Self::Reply(Reply::Keys(keys)) => json!(keys),
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
            Self::Reply(Reply::WebhookSecret { secret }) => json!({"webhook_secret": secret}),
            Self::Reply(Reply::Revoked {}) => json!({"revoked": true}),
            Self::Reply(Reply::Audit(audit)) => json!(audit),
            Self::Reply(
                reply @ (Reply::Error(_) | Reply::Plugins(_) | Reply::Statement { .. }),
            ) => json!(reply),
        }
    }

    fn text(&self) -> String {
        match self {
            Self::Statement(statement) => statement.text(),
            Self::Reply(Reply::Created { account, api_key }) => format!(
                "account  {}  {}\nbalance  {}\napi key  {api_key}\nThe key is shown only now.\n",
                account.account,
                account.name,
                money(account.balance)
            ),
            Self::Reply(Reply::Accounts(accounts)) => lines(accounts, account_line),
            Self::Reply(Reply::Keys(keys)) => lines(keys, key_line),
            Self::Reply(Reply::ToppedUp {
                account,
                amount,
                bonus,
                is_repeat,
                ..
            }) => format!(
                "{} {}, bonus {}, balance {}\n",
                if *is_repeat {
                    "paid in before:"
                } else {
                    "paid in"
                },
                money(*amount),
                money(*bonus),
                money(account.balance)
            ),
            Self::Reply(Reply::Key { api_key }) => {
                format!("api key  {api_key}\nThe key is shown only now.\n")
            }
            Self::Reply(Reply::WebhookSecret { secret }) => format!("{secret}\n"),
            Self::Reply(Reply::Revoked {}) => "the key is ended\n".to_owned(),
            Self::Reply(Reply::Audit(audit)) => audit_text(audit),
            Self::Reply(Reply::Plugins(status)) => format!("{status}\n"),
            Self::Reply(Reply::Error(text)) => format!("{text}\n"),
            Self::Reply(Reply::Statement { entries, .. }) => lines(entries, entry_line),
        }
    }
}

impl Statement {
    fn n_entries(&self) -> usize {
        self.sums.values().map(|sum| sum.entries as usize).sum()
    }

    /// Sum of the amounts shown; for a statement without a window, the balance.
    fn total(&self) -> i64 {
        self.sums.values().map(|sum| sum.amount).sum()
    }

    fn json(&self) -> Value {
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

    fn text(&self) -> String {
        let sums = self.sums.iter().map(|(kind, sum)| {
            let amount = money(sum.amount);
            format!("{kind:<8} {:>8} entries  {amount}\n", sum.entries)
        });
        let head = format!(
            "{}  {}\nbalance {}, of it set aside {}\n\n",
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

fn account_line(account: &AccountView) -> String {
    let balance = money(account.balance);
    format!("{}  {balance:>16}  {}", account.account, account.name)
}

fn key_line(key: &KeyView) -> String {
    format!("{}…  made {}", key.key, key.created)
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
    if audit.disagreements.is_empty() {
        return format!("{counted}: every balance is the sum of its entries\n");
    }
    let wrong = lines(&audit.disagreements, |one| {
        format!(
            "{}: balance {} but entries {}, set aside {} but entries {}",
            one.account,
            money(one.balance),
            money(one.entries_balance),
            money(one.held),
            money(one.entries_held)
        )
    });
    format!("{counted}\n{wrong}")
}

fn money(nanodollars: i64) -> String {
    Nanodollars(nanodollars).to_string()
}

fn dollars(text: &str) -> Result<Nanodollars, String> {
    Nanodollars::parse_dollars(text.trim_start_matches('$'))
        .ok_or_else(|| "write dollars like `25` or `0.50`, with at most nine decimals".to_owned())
}

fn moment(text: &str) -> Result<Timestamp, String> {
    Timestamp::parse(text)
        .ok_or_else(|| "write a time like `2026-01-31` or `2026-01-31T10:20:30Z`".to_owned())
}

#[cfg(test)]
mod tests {
    use std::path::Path;

    use clap::Parser;

    use super::*;

    #[derive(Debug, Parser)]
    struct Cli {
        #[command(flatten)]
        args: AccountArgs,
    }

    async fn said(data: &Path, line: &str) -> Result<Answer, String> {
        let words = std::iter::once("account").chain(line.split(' '));
        let args = Cli::try_parse_from(words).map_err(|error| error.to_string())?;
        let reached = Operator::reach(data, true).await;
        let mut operator = reached.map_err(|error| error.to_string())?;
        let answer = answer(&mut operator, args.args.command).await;
        operator.leave().await;
        answer.map_err(|error| error.to_string())
    }

    #[tokio::test]
    async fn an_account_is_made_and_topped_up_and_read() {
        let data = tempfile::tempdir().expect("a temporary directory");
        let say = |line| said(data.path(), line);
        let created = say("create alice --top-up 5 --json").await;
        let created = created.expect("created").json();
        let key = created["api_key"].as_str().expect("a key");
        assert!(key.starts_with("tr_"));
        assert_eq!(created.as_object().map(|object| object.len()), Some(2));

        let top_up = say("top-up alice 500").await.expect("paid in").text();
        assert_eq!(top_up, "paid in $500, bonus $25, balance $530\n");
        let id = created["account"].as_str().expect("an id");
        let by_id = said(data.path(), &format!("top-up {id} 0.5 --id x")).await;
        assert!(by_id.is_ok());
        let again = said(data.path(), &format!("top-up {id} 0.5 --id x")).await;
        let again = again.expect("a repeat").text();
        assert!(again.starts_with("paid in before: $0.5"), "{again}");

        let statement = say("statement alice --json").await;
        let statement = statement.expect("a statement").json();
        assert_eq!(statement["balance"], 530_500_000_000_i64);
        assert_eq!(statement["total"], statement["balance"]);
        let entries = statement["entries"].as_array().expect("entries");
        let amounts = entries.iter().filter_map(|entry| entry["amount"].as_i64());
        assert_eq!(amounts.sum::<i64>(), 530_500_000_000);
        assert_eq!(statement["sums"]["bonus"]["entries"], 1);

        let audit = say("verify").await.expect("an audit").text();
        assert_eq!(
            audit,
            "1 accounts, 4 entries: every balance is the sum of its entries\n"
        );
    }

    #[tokio::test]
    async fn keys_are_made_and_ended() {
        let data = tempfile::tempdir().expect("a temporary directory");
        let say = |line| said(data.path(), line);
        say("create alice").await.expect("created");
        let key = say("key create alice --json").await.expect("a key").json();
        let shown = &key["api_key"].as_str().expect("a key")[..11];
        let listed = say("key list alice").await.expect("a list").text();
        assert!(listed.contains(shown), "{listed}");
        assert_eq!(listed.lines().count(), 2);
        let revoke = format!("key revoke alice {shown}");
        assert!(said(data.path(), &revoke).await.is_ok());
        let again = said(data.path(), &revoke).await.err().expect("refused");
        assert!(again.contains("has no key"), "{again}");
    }

    #[tokio::test]
    async fn bad_input_is_explained() {
        let data = tempfile::tempdir().expect("a temporary directory");
        let check = |line: &'static str, expected: &'static str| {
            let data = data.path();
            async move {
                let refusal = said(data, line).await.err().expect("refused");
                assert!(refusal.contains(expected), "{line}: {refusal}");
            }
        };
        check("top-up nobody 5", "there is no account `nobody`").await;
        check("create a --top-up lots", "write dollars like `25`").await;
        check("create a --top-up 2000000", "more than a million dollars").await;
        said(data.path(), "create a").await.expect("created");
        check("create a", "an account of this name exists already").await;
        check("top-up a -5", "it is not more than zero").await;
        check("top-up a 0", "it is not more than zero").await;
        check("statement a --from yesterday", "write a time like").await;
    }

    #[tokio::test]
    async fn a_long_statement_is_read_page_by_page() {
        let data = tempfile::tempdir().expect("a temporary directory");
        said(data.path(), "create alice").await.expect("created");
        let mut operator = Operator::reach(data.path(), false)
            .await
            .expect("the store");
        let payments = i64::from(STATEMENT_ENTRIES_MAX) + 5;
        for _ in 0..payments {
            let request = Request::TopUp {
                account: "alice".to_owned(),
                amount: 3,
                id: None,
            };
            operator.ask(request).await.expect("paid in");
        }
        let statement = whole_statement(&mut operator, "alice", None, None).await;
        let statement = statement.expect("a statement");
        assert_eq!(statement.entries.len() as i64, payments);
        assert_eq!(statement.total(), payments * 3);
        operator.leave().await;
    }
}
