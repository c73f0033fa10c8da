//! `trawl prices` and `trawl usage`: what things cost, and what everyone used.

use std::path::PathBuf;

use clap::Args;

use super::answer::Answer;
use trawl_control::{Operator, Request};
use trawl_model::clock::Timestamp;

/// Options of `trawl prices`.
#[derive(Debug, Args)]
pub(in crate::cli) struct PricesArgs {
    #[command(flatten)]
    place: Place,
    /// All prices there ever were, with the times from which on they were in effect.
    #[arg(long)]
    history: bool,
}

/// Options of `trawl usage`.
#[derive(Debug, Args)]
pub(in crate::cli) struct UsageArgs {
    #[command(flatten)]
    place: Place,
    /// Earliest time: `2026-01-31` or `2026-01-31T10:20:30Z`.
    #[arg(long)]
    from: Option<Timestamp>,
    /// Latest time, not included.
    #[arg(long)]
    to: Option<Timestamp>,
}

/// Where the answers are, and how to show them.
#[derive(Debug, Args)]
struct Place {
    /// Data directory.
    #[arg(long, value_name = "DIR", env = "TRAWL_DATA", default_value = "data")]
    data: PathBuf,
    /// Answer in JSON; amounts are integers in nanodollars.
    #[arg(long)]
    json: bool,
}

/// Shows prices.
///
/// # Errors
/// What went wrong, in words for the operator.
pub(in crate::cli) async fn prices(args: PricesArgs) -> anyhow::Result<()> {
    let request = match args.history {
        true => Request::PriceHistory {},
        false => Request::Prices {},
    };
    ask(args.place, request).await
}

/// Shows what accounts consumed and paid.
///
/// # Errors
/// What went wrong, in words for the operator.
pub(in crate::cli) async fn usage(args: UsageArgs) -> anyhow::Result<()> {
    let request = Request::Usage {
        from: args.from.unwrap_or(Timestamp::MIN).0,
        to: args.to.unwrap_or(Timestamp::MAX).0,
    };
    ask(args.place, request).await
}

async fn ask(place: Place, request: Request) -> anyhow::Result<()> {
    let mut operator = Operator::reach(&place.data, false).await?;
    let answered = operator.ask(request).await;
    operator.leave().await;
    Ok(super::show(&Answer::Reply(answered?), place.json)?)
}
