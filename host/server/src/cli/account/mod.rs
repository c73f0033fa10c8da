//! `trawl account`: accounts, keys, paying in, statements. Asks the running server, or the store when there is none.

mod answer;
mod money;
#[cfg(test)]
mod tests;

use std::io;
use std::path::PathBuf;

use clap::{Args, Subcommand};

use crate::app;
use crate::config::Config;
use answer::{Answer, Statement};
use trawl_control::{ControlError, Operator, Reply, Request, STATEMENT_ENTRIES_MAX};
use trawl_model::Nanodollars;
use trawl_model::clock::Timestamp;

pub(super) use money::{PricesArgs, UsageArgs, prices, usage};

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
        #[arg(long, value_name = "USD", default_value = "0")]
        top_up: Nanodollars,
    },
    /// Show every account with its balance.
    List,
    /// Show one account with its seats, its keys and who is told when its balance runs low.
    Show {
        /// Which.
        account: String,
    },
    /// Pay in. $500 and more earn 5%, $2,000 and more 12%.
    TopUp {
        /// Who is paid.
        account: String,
        /// How much.
        #[arg(value_name = "USD", allow_negative_numbers = true)]
        amount: Nanodollars,
        /// An id of the payment: paying in again under the same id changes nothing.
        #[arg(long)]
        id: Option<String>,
    },
    /// Make, show and end API keys.
    #[command(subcommand)]
    Key(KeyCommand),
    /// Buy seats, requests in flight at once under the Unlimited plan: by the month, from the balance.
    Seats {
        /// For whom.
        account: String,
        /// How many from now on. More are paid to the end of the period; fewer count from the next period on, 0 ends it then.
        #[arg(
            value_name = "N",
            required_unless_present_any = ["suspend", "resume"],
            conflicts_with_all = ["suspend", "resume"]
        )]
        seats: Option<u32>,
        /// Stop their use.
        #[arg(long, conflicts_with = "resume")]
        suspend: bool,
        /// Let them be used again.
        #[arg(long)]
        resume: bool,
        /// Configuration with their prices, as the server has it. A running server knows its own.
        #[arg(long, env = "TRAWL_CONFIG", value_name = "FILE")]
        config: Option<PathBuf>,
    },
    /// Show what the account's webhook events are signed with.
    WebhookSecret {
        /// Whose.
        account: String,
        /// Make a new one first: events sent from now on are signed with it.
        #[arg(long)]
        rotate: bool,
    },
    /// Set who is told, by a webhook event, when the balance runs low and when it is empty.
    Notices {
        /// Whose balance.
        account: String,
        /// Address of the receiver.
        #[arg(long, value_name = "URL", required_unless_present = "off")]
        destination: Option<String>,
        /// Told when the balance falls below so many dollars; only of an empty one when left out.
        #[arg(long, value_name = "USD", default_value = "0")]
        below: Nanodollars,
        /// Tell nobody any more.
        #[arg(long, conflicts_with_all = ["destination", "below"])]
        off: bool,
    },
    /// Show what was paid in and charged.
    Statement {
        /// Whose.
        account: String,
        /// Earliest time: `2026-01-31` or `2026-01-31T10:20:30Z`.
        #[arg(long)]
        from: Option<Timestamp>,
        /// Latest time, not included.
        #[arg(long)]
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
        /// What to call it, at most 100 bytes.
        #[arg(long, default_value = "", hide_default_value = true)]
        name: String,
    },
    /// Show the first characters of each key, its name and when it was used last.
    List {
        /// Whose.
        account: String,
        /// With keys that were ended.
        #[arg(long)]
        all: bool,
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
    if let AccountCommand::Seats { config, .. } = &args.command {
        let prices = app::seat_prices(&Config::load(config.as_deref())?)?;
        operator = operator.with_seat_prices(prices);
    }
    let answered = answer(&mut operator, args.command).await;
    operator.leave().await;
    let answer = answered?;
    show(&answer, args.json)?;
    match answer {
        Answer::Reply(Reply::Audit(audit)) if !audit.disagreements.is_empty() => {
            anyhow::bail!("the ledger does not add up")
        }
        _ => Ok(()),
    }
}

fn show(answer: &Answer, json: bool) -> io::Result<()> {
    let text = if json {
        format!("{:#}\n", answer.json())
    } else {
        answer.text()
    };
    super::print_bytes(text.as_bytes())
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
        AccountCommand::Key(KeyCommand::Create { account, name }) => {
            Request::CreateKey { account, name }
        }
        AccountCommand::Key(KeyCommand::List { account, all }) => Request::Keys { account, all },
        AccountCommand::Key(KeyCommand::Revoke { account, key }) => {
            Request::RevokeKey { account, key }
        }
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
