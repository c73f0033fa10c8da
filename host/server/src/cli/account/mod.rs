//! `trawl account`: accounts, keys, top-ups, statements. Talks to the running server, or opens the
//! store if none is running.

mod answer;
mod money;
#[cfg(test)]
mod tests;

use std::io;
use std::path::{Path, PathBuf};

use anyhow::Context;
use clap::{Args, Subcommand};

use trawl_control::{ControlError, Operator, Reply, Request, STATEMENT_ENTRIES_MAX};
use trawl_model::Nanodollars;
use trawl_model::clock::Timestamp;
use trawl_store::postgres::PostgresUrl;

use super::standard_output::print_bytes;
use crate::app;
use crate::config::Config;
use answer::{Answer, Statement};

pub(super) use money::{PricesArgs, UsageArgs, prices, usage};

/// Accounts, their keys and their balances.
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
    /// PostgreSQL database of the server, if it has one; needed only while it does not run.
    #[arg(
        long,
        global = true,
        value_name = "URL",
        env = "TRAWL_STORE",
        hide_env_values = true
    )]
    store: Option<String>,
    /// Print JSON; amounts are integers in nanodollars.
    #[arg(long, global = true)]
    json: bool,
    #[command(subcommand)]
    command: AccountCommand,
}

/// The command. ACCOUNT is an identifier or a name.
#[derive(Clone, Debug, Subcommand)]
enum AccountCommand {
    /// Create an account and its first API key, which is shown only once.
    Create {
        /// Name of the account.
        name: String,
        /// Initial top-up in dollars; $500 and more earn a bonus.
        #[arg(long, value_name = "USD", default_value = "0")]
        top_up: Nanodollars,
    },
    /// List all accounts with their balances.
    List,
    /// Show an account with its seats, keys and balance alerts.
    Show {
        /// The account.
        account: String,
    },
    /// Top up an account. $500 and more earn a bonus of 5 %, $2,000 and more 12 %.
    TopUp {
        /// The account.
        account: String,
        /// Dollars.
        #[arg(value_name = "USD", allow_negative_numbers = true)]
        amount: Nanodollars,
        /// Id of the payment: a repeat with the same id has no effect.
        #[arg(long)]
        id: Option<String>,
    },
    /// Create, list and revoke API keys, and set their budgets.
    #[command(subcommand)]
    Key(KeyCommand),
    /// Set the number of seats: concurrent requests of the Unlimited plan, paid monthly from the
    /// balance.
    Seats {
        /// The account.
        account: String,
        /// New number of seats. Additional seats are paid for the rest of the period; a reduction
        /// takes effect with the next period, 0 ends the subscription then.
        #[arg(
            value_name = "N",
            required_unless_present_any = ["suspend", "resume"],
            conflicts_with_all = ["suspend", "resume"]
        )]
        seats: Option<u32>,
        /// Suspend the seats.
        #[arg(long, conflicts_with = "resume")]
        suspend: bool,
        /// Resume suspended seats.
        #[arg(long)]
        resume: bool,
        /// Configuration file with the prices of seats; a running server uses its own.
        #[arg(long, env = "TRAWL_CONFIG", value_name = "FILE")]
        config: Option<PathBuf>,
    },
    /// Show the secret that signs the account's webhook events.
    WebhookSecret {
        /// The account.
        account: String,
        /// Replace the secret first: events sent from now on are signed with the new one, and for
        /// 24 hours in `webhook-signature` with the replaced one as well.
        #[arg(long)]
        rotate: bool,
    },
    /// Set the webhook that is called when the balance is low or empty.
    Notices {
        /// The account.
        account: String,
        /// Webhook URL.
        #[arg(long, value_name = "URL", required_unless_present = "off")]
        destination: Option<String>,
        /// Alert when the balance falls below this many dollars (default: only when it is empty).
        #[arg(long, value_name = "USD", default_value = "0")]
        below: Nanodollars,
        /// Turn the alerts off.
        #[arg(long, conflicts_with_all = ["destination", "below"])]
        off: bool,
    },
    /// Show top-ups and charges.
    Statement {
        /// The account.
        account: String,
        /// Start of the period: `2026-01-31` or `2026-01-31T10:20:30Z`.
        #[arg(long)]
        from: Option<Timestamp>,
        /// End of the period, exclusive.
        #[arg(long)]
        to: Option<Timestamp>,
    },
    /// Sum up all ledger entries and compare the sums with the balances.
    Verify,
}

#[derive(Clone, Debug, Subcommand)]
enum KeyCommand {
    /// Create another key, which is shown only once.
    Create {
        /// The account.
        account: String,
        /// Name of the key, at most 100 bytes.
        #[arg(long, default_value = "", hide_default_value = true)]
        name: String,
        /// Dollars that its pages may cost in a calendar month (UTC). Without it, only the balance
        /// limits them.
        #[arg(long, value_name = "USD")]
        monthly_budget: Option<Nanodollars>,
    },
    /// Set what the pages of a key may cost in a calendar month (UTC), or remove the budget.
    Budget {
        /// The account.
        account: String,
        /// First characters of the key, as listed.
        key: String,
        /// Dollars.
        #[arg(value_name = "USD", required_unless_present = "off")]
        monthly_budget: Option<Nanodollars>,
        /// Remove the budget.
        #[arg(long, conflicts_with = "monthly_budget")]
        off: bool,
    },
    /// List the keys by their first characters, with name and last use.
    List {
        /// The account.
        account: String,
        /// Include revoked keys.
        #[arg(long)]
        all: bool,
    },
    /// Revoke a key immediately and permanently.
    Revoke {
        /// The account.
        account: String,
        /// First characters of the key, as listed.
        key: String,
    },
}

/// Runs one command and prints its result.
///
/// # Errors
/// The server or the store cannot be reached, or refuses the request.
pub(super) async fn run(args: AccountArgs) -> anyhow::Result<()> {
    let creates = matches!(args.command, AccountCommand::Create { .. });
    // No server uses a directory that is not there.
    let is_new = creates && !args.data.exists();
    let store = store_url(args.store.as_deref())?;
    let mut operator = Operator::reach_store(&args.data, creates, store.as_ref()).await?;
    if let AccountCommand::Seats { config, .. } = &args.command {
        let prices = app::seat_prices(&Config::load(config.as_deref())?)?;
        operator = operator.with_seat_prices(prices);
    }
    let result = answer(&mut operator, args.command).await;
    operator.leave().await;
    let answer = result?;
    show(&answer, args.json)?;
    if is_new {
        trawl_telemetry::say(new_directory(&args.data));
    }
    match answer {
        Answer::Reply(Reply::Audit(audit)) if !audit.is_consistent() => {
            anyhow::bail!("the ledger is inconsistent")
        }
        _ => Ok(()),
    }
}

/// The database that the command line or the environment names. It is not read by clap, which
/// repeats a wrong value, and this one may have a password.
fn store_url(text: Option<&str>) -> anyhow::Result<Option<PostgresUrl>> {
    let url = text.map(str::parse::<PostgresUrl>).transpose();
    url.context("`--store` or TRAWL_STORE cannot be used")
}

/// Says that the account is in a new data directory, which may not be the one of the server.
fn new_directory(data: &Path) -> String {
    let shown = std::path::absolute(data).unwrap_or_else(|_| data.to_path_buf());
    format!(
        "created the data directory `{}`: only a server that is started with it knows the account; for another server, select its directory with `--data`",
        shown.display()
    )
}

fn show(answer: &Answer, json: bool) -> io::Result<()> {
    let text = if json {
        format!("{:#}\n", answer.json())
    } else {
        answer.text()
    };
    print_bytes(text.as_bytes())
}

async fn answer(operator: &mut Operator, command: AccountCommand) -> Result<Answer, ControlError> {
    let request = match command {
        AccountCommand::Statement { account, from, to } => {
            return full_statement(operator, &account, from, to)
                .await
                .map(Answer::Statement);
        }
        AccountCommand::Create { name, top_up } => Request::CreateAccount {
            name,
            top_up: top_up.0,
        },
        AccountCommand::List => Request::Accounts {},
        AccountCommand::Show { account } => Request::Account { account },
        AccountCommand::TopUp {
            account,
            amount,
            id,
        } => Request::TopUp {
            account,
            amount: amount.0,
            id,
        },
        AccountCommand::Key(command) => key_request(command),
        AccountCommand::Seats {
            account,
            suspend: true,
            ..
        } => Request::SuspendSeats { account },
        AccountCommand::Seats {
            account,
            seats: Some(seats),
            ..
        } => Request::SetSeats { account, seats },
        AccountCommand::Seats { account, .. } => Request::ResumeSeats { account },
        AccountCommand::WebhookSecret { account, rotate } => Request::WebhookSecret {
            account,
            renew: rotate,
        },
        AccountCommand::Notices {
            account,
            destination,
            below,
            ..
        } => Request::SetNotices {
            account,
            destination,
            below: below.0,
        },
        AccountCommand::Verify => Request::Verify {},
    };
    operator.ask(request).await.map(Answer::Reply)
}

/// The request of a command about keys.
fn key_request(command: KeyCommand) -> Request {
    match command {
        KeyCommand::Create {
            account,
            name,
            monthly_budget,
        } => Request::CreateKey {
            account,
            name,
            budget: monthly_budget.map(|budget| budget.0),
        },
        KeyCommand::Budget {
            account,
            key,
            monthly_budget,
            ..
        } => Request::SetKeyBudget {
            account,
            key,
            budget: monthly_budget.map(|budget| budget.0),
        },
        KeyCommand::List { account, all } => Request::Keys { account, all },
        KeyCommand::Revoke { account, key } => Request::RevokeKey { account, key },
    }
}

/// Reads a statement page by page.
async fn full_statement(
    operator: &mut Operator,
    account: &str,
    from: Option<Timestamp>,
    to: Option<Timestamp>,
) -> Result<Statement, ControlError> {
    let mut statement: Option<Statement> = None;
    loop {
        let last = statement
            .as_ref()
            .and_then(|statement| statement.entries.last());
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
                "the server sent no statement".to_owned(),
            ));
        };
        let statement = statement.get_or_insert_with(|| Statement {
            account,
            entries: Vec::new(),
            sums,
        });
        let is_last = entries.len() < STATEMENT_ENTRIES_MAX as usize;
        statement.entries.extend(entries);
        // Balance and sums are those at the time of the first page, so later entries are dropped.
        statement.entries.truncate(statement.n_entries());
        if is_last || statement.entries.len() == statement.n_entries() {
            break;
        }
    }
    statement.ok_or_else(|| ControlError::Refused("the statement is empty".to_owned()))
}
