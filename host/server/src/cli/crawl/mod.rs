//! `trawl crawl URL`: crawls a site to a file, a folder or a pipe, without a server.
//!
//! Runs the crawl of the server as a background crawl of this process and writes its pages as they
//! come. Its state has a directory of its own until the crawl ends, so `--resume` continues an
//! interrupted crawl.

mod names;
mod output;
mod progress;
mod state;
mod stored;

use std::path::PathBuf;
use std::sync::Arc;
use std::time::Duration;

use anyhow::{Context, bail};
use clap::Args;
use serde_json::{Value, json};
use tokio::signal::unix::{Signal, SignalKind, signal};

use trawl_api::Service;
use trawl_billing::AccountId;
use trawl_crawl::{CrawlView, Crawls, NewCrawl};
use trawl_model::{Nanodollars, Terms};
use trawl_plan::address;
use trawl_store::CrawlState;
use trawl_wire::{PlanContext, RequestDefaults, Verb, crawl_request, with_secrets};

use super::engine_args::{EngineArgs, RequestMode};
use crate::app::{App, Paths};
use output::{Output, Written};
use progress::Progress;
use state::{Checkpoint, State};
use stored::StoredOptions;

/// The account that is charged. No real money is involved; the charges show what a server would
/// bill.
const ACCOUNT: &str = "command line";
/// Its balance: more than any crawl costs.
const BALANCE: Nanodollars = Nanodollars(1_000_000 * trawl_model::money::PER_DOLLAR);
/// Pages that are read at a time.
const PAGES_AT_ONCE: u32 = 64;
/// Format of the content unless another one is given.
const FORMAT_DEFAULT: &str = "markdown";
/// How often the progress line is updated.
const TICK: Duration = Duration::from_millis(200);

/// Options of `trawl crawl`.
#[derive(Debug, Args)]
pub(super) struct CrawlArgs {
    /// Seed URL; `https://` may be omitted.
    url: String,
    /// Format of the content: markdown, html, text, bytes, xml, empty, or a format plugin
    /// [default: markdown].
    #[arg(long)]
    format: Option<String>,
    /// How to fetch pages [default: smart].
    #[arg(long, value_enum)]
    request: Option<RequestMode>,
    /// Maximum number of pages; 0 is unlimited [default: 0].
    #[arg(long, value_name = "N")]
    limit: Option<u64>,
    /// Maximum number of hops from the seed page; 0 fetches only that page [default: 25].
    #[arg(long, value_name = "N")]
    depth: Option<u64>,
    /// Milliseconds between two requests to a host [default: 0].
    #[arg(long, value_name = "MS")]
    delay: Option<u64>,
    /// Concurrent pages, 1 to 10 [default: 10].
    #[arg(long, value_name = "N")]
    concurrency: Option<u64>,
    /// Maximum cost in dollars at the configured prices [default: none].
    #[arg(long, value_name = "USD", value_parser = dollars)]
    max_cost: Option<Nanodollars>,
    /// Also crawl the URLs of the site's sitemap.
    #[arg(long)]
    sitemap: bool,
    /// Follow links to subdomains.
    #[arg(long)]
    subdomains: bool,
    /// Exclude URLs by path or regular expression; may be repeated.
    #[arg(long, value_name = "PATTERN")]
    exclude: Vec<String>,
    /// Include only URLs by path or regular expression; may be repeated.
    #[arg(long, value_name = "PATTERN")]
    include: Vec<String>,
    /// Ignore robots.txt.
    #[arg(long)]
    ignore_robots: bool,
    /// Write page entries to this file, one JSON object per line.
    #[arg(short, long, value_name = "FILE", conflicts_with = "dir")]
    output: Option<PathBuf>,
    /// Write the content of each page to a file in this folder, with an index in `pages.jsonl`.
    #[arg(long, value_name = "DIR")]
    dir: Option<PathBuf>,
    /// Continue the interrupted crawl of this URL and output, with its original options.
    #[arg(long, conflicts_with = "overwrite")]
    resume: bool,
    /// Replace the pages of an earlier crawl in the file or folder.
    #[arg(long)]
    overwrite: bool,
    #[command(flatten)]
    engine: EngineArgs,
}

fn dollars(text: &str) -> Result<Nanodollars, String> {
    Nanodollars::parse_dollars(text)
        .filter(|amount| *amount > Nanodollars::ZERO)
        .ok_or_else(|| "write dollars such as 0.5".to_owned())
}

pub(super) async fn run(args: CrawlArgs) -> anyhow::Result<()> {
    // Logs would interfere with the progress line, so they are off unless RUST_LOG is set.
    if let Some(filter) = super::log_filter() {
        trawl_telemetry::start_logs(Some(&filter))?;
    }
    let (mut config, plugins) = args.engine.load()?;
    // No page is fetched twice.
    config.cache.size_mib = 0;
    let target = args.output.as_deref().or(args.dir.as_deref());
    let state = State::of(&super::state_folder().join("crawls"), &args.url, target)?;
    let was_interrupted = state.is_interrupted();
    if !args.resume {
        if !args.overwrite {
            output::check_unused(args.output.as_deref(), args.dir.as_deref(), was_interrupted)?;
        }
        if was_interrupted {
            eprintln!(
                "the interrupted crawl of this URL starts over; `--resume` would continue it"
            );
        }
    }
    state.prepare(args.resume, &super::cache_folder())?;
    let paths = Paths {
        data: state.data(),
        plugins,
    };
    let app = App::build_alone(config, &paths).await?;
    let result = start_and_follow(&app, &args, &state).await;
    if let Ok((_, Written::Aborted)) = result {
        bail!("aborted; run the command again with `--resume` to continue");
    }
    app.close().await;
    let (view, written) = result?;
    if view.progress.state == CrawlState::Ended || written == Written::PipeClosed {
        state.remove();
    } else {
        eprintln!("stopped; run the command again with `--resume` to continue");
    }
    let tally = &view.progress;
    if tally.n_pages > 0 && tally.n_pages == tally.n_failed && written == Written::Complete {
        bail!("no page could be fetched, see the errors of the entries");
    }
    Ok(())
}

async fn start_and_follow(
    app: &Arc<App>,
    args: &CrawlArgs,
    state: &State,
) -> anyhow::Result<(CrawlView, Written)> {
    let checkpoint = if args.resume {
        app.crawls().recover().await?;
        state.checkpoint()?
    } else {
        let checkpoint = Checkpoint {
            id: start(app, args).await?,
            ..Checkpoint::default()
        };
        state.set_checkpoint(&checkpoint)?;
        checkpoint
    };
    let account = app.billing().known(ACCOUNT)?.id.clone();
    let view = app.crawls().show(&account, &checkpoint.id).await?;
    let options = StoredOptions::read(&view.record.request);
    if args.resume {
        unlock(app, &account, &checkpoint.id, &view, &args.url).await?;
        for line in options.without_effect(args) {
            eprintln!("{line}");
        }
    }
    let output = match (&args.output, &args.dir) {
        (Some(file), _) => Output::file(file, checkpoint.bytes)?,
        (None, Some(dir)) => Output::folder(dir, options.format(), checkpoint.bytes)?,
        (None, None) => Output::standard(),
    };
    let follower = Follower {
        app,
        crawls: app.crawls().clone(),
        account,
        state,
        checkpoint,
        output,
        options,
        progress: Progress::new(),
    };
    follower.follow().await
}

/// Starts the crawl as the HTTP interface does. Returns its id.
async fn start(app: &Arc<App>, args: &CrawlArgs) -> anyhow::Result<String> {
    let (account, _key) = app.billing().create_account(ACCOUNT, BALANCE).await?;
    let terms = Terms::PayAsYouGo;
    let registry = app.begin_run(&account, ACCOUNT, terms).registry();
    let context = PlanContext {
        catalog: &*registry,
        defaults: RequestDefaults {
            pools: app.pools(),
            router: app.router_default(),
            terms,
            model: app.model(),
        },
    };
    let request = request(args).to_string();
    let mut planned = crawl_request(request.as_bytes(), Verb::Scrape, context)?.crawls;
    let (Some(planned), true) = (planned.pop(), planned.is_empty()) else {
        bail!("give one URL")
    };
    let plans = [&planned.plan];
    let admitted = app.crawls().admit(&account.id, &plans).await?;
    let places = admitted
        .into_iter()
        .next()
        .context("the crawl has no place")?;
    let crawl = NewCrawl {
        places,
        account: account.id.clone(),
        plan: planned.plan,
        request: planned.request,
        needs_secrets: planned.needs_secrets,
        verb: "crawl",
        terms,
        slot: None,
        registry,
    };
    Ok(app.crawls().begin(crawl).await?.id)
}

/// Sends a crawl that waits for the password of its URL, which is not stored, the one of the
/// command line.
async fn unlock(
    app: &App,
    account: &AccountId,
    id: &str,
    view: &CrawlView,
    url: &str,
) -> anyhow::Result<()> {
    if view.progress.state != CrawlState::Parked {
        return Ok(());
    }
    let target = address::parse(url).map_err(anyhow::Error::msg)?;
    let password = target.authorization;
    let password = password.as_ref().and_then(|value| value.to_str().ok());
    let secrets = json!({"headers": {"authorization": password}}).to_string();
    let request = with_secrets(&view.record.request, secrets.as_bytes())?;
    app.crawls().resume(account, id, &request).await?;
    Ok(())
}

/// The maximum cost in credits.
fn credits(args: &CrawlArgs) -> Option<i64> {
    args.max_cost
        .map(|cost| cost.0.div_euclid(trawl_model::money::PER_CREDIT))
}

fn request(args: &CrawlArgs) -> Value {
    let list = |entries: &[String]| (!entries.is_empty()).then(|| entries.to_vec());
    json!({
        "url": args.url,
        "return_format": args.format.as_deref().unwrap_or(FORMAT_DEFAULT),
        "request": args.request.unwrap_or(RequestMode::Smart).name(),
        "limit": args.limit,
        "depth": args.depth,
        "delay": args.delay,
        "concurrency_limit": args.concurrency,
        "max_credits_allowed": credits(args),
        "sitemap": args.sitemap,
        "subdomains": args.subdomains,
        "blacklist": list(&args.exclude),
        "whitelist": list(&args.include),
        "respect_robots": !args.ignore_robots,
        "cache": false,
        "run_in_background": true,
    })
}

/// Writes the pages of a crawl as they come.
struct Follower<'a> {
    app: &'a App,
    crawls: Crawls,
    account: AccountId,
    state: &'a State,
    checkpoint: Checkpoint,
    output: Output,
    options: StoredOptions,
    progress: Progress,
}

impl Follower<'_> {
    async fn follow(mut self) -> anyhow::Result<(CrawlView, Written)> {
        let mut interrupts = signal(SignalKind::interrupt())?;
        let mut terminations = signal(SignalKind::terminate())?;
        let mut is_stopping = false;
        let mut ticks = tokio::time::interval(TICK);
        let mut written = Written::Complete;
        while written == Written::Complete {
            let n_written = self.write_pages(&mut written).await?;
            if n_written > 0 {
                continue;
            }
            let last = self.checkpoint.cursor;
            tokio::select! {
                more = self.crawls.wait_for_pages(&self.account, &self.checkpoint.id, last) => {
                    // Pages may have come between the last read and the end of the crawl.
                    if !more && self.write_pages(&mut written).await? == 0 {
                        break;
                    }
                }
                () = stop_signal(&mut interrupts, &mut terminations) => {
                    if is_stopping {
                        return Ok((self.view().await?, Written::Aborted));
                    }
                    is_stopping = true;
                    self.progress.print_stopping();
                    self.app.stop();
                }
                _ = ticks.tick() => self.progress.show(&self.view().await?.progress),
            }
        }
        if written == Written::PipeClosed {
            self.crawls
                .cancel(&self.account, &self.checkpoint.id)
                .await?;
        }
        let view = self.view().await?;
        self.progress.finish(&view.progress, &self.options);
        Ok((view, written))
    }

    /// Writes the pages that are ready, and stores a checkpoint.
    async fn write_pages(&mut self, written: &mut Written) -> anyhow::Result<usize> {
        let (id, last) = (&self.checkpoint.id, self.checkpoint.cursor);
        let pages = self.crawls.pages(&self.account, id, last, PAGES_AT_ONCE);
        let pages = pages.await?;
        for (number, entry) in &pages {
            let progress = &self.progress;
            *written = self.output.write(entry, |line| progress.print_line(line))?;
            if *written == Written::PipeClosed {
                return Ok(0);
            }
            self.checkpoint.cursor = *number;
        }
        if !pages.is_empty() {
            self.checkpoint.bytes = self.output.flush().context("cannot write the output")?;
            self.state.set_checkpoint(&self.checkpoint)?;
            self.progress.show(&self.view().await?.progress);
        }
        Ok(pages.len())
    }

    async fn view(&self) -> anyhow::Result<CrawlView> {
        Ok(self.crawls.show(&self.account, &self.checkpoint.id).await?)
    }
}

/// Waits for SIGINT or SIGTERM.
async fn stop_signal(interrupts: &mut Signal, terminations: &mut Signal) {
    tokio::select! {
        _ = interrupts.recv() => {}
        _ = terminations.recv() => {}
    }
}
