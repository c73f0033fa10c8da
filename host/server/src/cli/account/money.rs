//! `trawl prices` and `trawl usage`.

use std::path::PathBuf;

use clap::Args;

use trawl_control::{Operator, Request};
use trawl_model::clock::Timestamp;

use super::answer::Answer;

/// Options of `trawl prices`.
#[derive(Debug, Args)]
pub(in crate::cli) struct PricesArgs {
    #[command(flatten)]
    server: ServerArgs,
    /// Show all past prices with the times when they took effect.
    #[arg(long)]
    history: bool,
}

/// Options of `trawl usage`.
#[derive(Debug, Args)]
pub(in crate::cli) struct UsageArgs {
    #[command(flatten)]
    server: ServerArgs,
    /// Start of the period: `2026-01-31` or `2026-01-31T10:20:30Z`.
    #[arg(long)]
    from: Option<Timestamp>,
    /// End of the period, exclusive.
    #[arg(long)]
    to: Option<Timestamp>,
    /// Add the usage of each key.
    #[arg(long)]
    by_key: bool,
}

/// The server, and the format of the output.
#[derive(Debug, Args)]
struct ServerArgs {
    /// Data directory.
    #[arg(long, value_name = "DIR", env = "TRAWL_DATA", default_value = "data")]
    data: PathBuf,
    /// PostgreSQL database of the server, if it has one; needed only while it does not run.
    #[arg(long, value_name = "URL", env = "TRAWL_STORE", hide_env_values = true)]
    store: Option<String>,
    /// Print JSON; amounts are integers in nanodollars.
    #[arg(long)]
    json: bool,
}

/// Prints the prices.
///
/// # Errors
/// The server or the store cannot be reached, or refuses the request.
pub(in crate::cli) async fn prices(args: PricesArgs) -> anyhow::Result<()> {
    let request = if args.history {
        Request::PriceHistory {}
    } else {
        Request::Prices {}
    };
    ask(&args.server, request).await
}

/// Prints the usage and payments of accounts.
///
/// # Errors
/// The server or the store cannot be reached, or refuses the request.
pub(in crate::cli) async fn usage(args: UsageArgs) -> anyhow::Result<()> {
    let request = Request::Usage {
        from: args.from.unwrap_or(Timestamp::MIN).0,
        to: args.to.unwrap_or(Timestamp::MAX).0,
        by_key: args.by_key,
    };
    ask(&args.server, request).await
}

async fn ask(server: &ServerArgs, request: Request) -> anyhow::Result<()> {
    let store = super::store_url(server.store.as_deref())?;
    let mut operator = Operator::reach_store(&server.data, false, store.as_ref()).await?;
    let reply = operator.ask(request).await;
    operator.leave().await;
    Ok(super::show(&Answer::Reply(reply?), server.json)?)
}
