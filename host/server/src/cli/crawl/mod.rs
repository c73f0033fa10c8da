//! `trawl crawl URL`: a whole site to a file, a folder or a pipe, without a server.
//!
//! It is the server's own crawl, run in the background of this process and followed page by page. What it knows is in a
//! directory of its own until the crawl has ended, so a crawl that was interrupted goes on with `--resume`.

mod names;
mod output;
mod progress;
mod state;

use std::path::PathBuf;
use std::sync::Arc;
use std::time::Duration;

use anyhow::{Context, bail};
use clap::Args;
use serde_json::{Value, json};
use tokio::signal::unix::{Signal, SignalKind, signal};

use super::engine_args::{EngineArgs, RequestMode};
use crate::app::{App, Paths};
use output::{Output, Written};
use progress::Progress;
use state::{Mark, State};
use trawl_api::Service;
use trawl_billing::AccountId;
use trawl_crawl::{CrawlView, Crawls, NewCrawl};
use trawl_model::{Nanodollars, Terms};
use trawl_store::CrawlState;
use trawl_wire::RequestDefaults;

/// The account that pays: nobody is billed, but what the crawl costs on a server is told.
const ACCOUNT: &str = "command line";
/// What is on it, in dollars: no site costs as much.
const BALANCE: Nanodollars = Nanodollars(1_000_000 * trawl_model::money::PER_DOLLAR);
/// Pages that are read at once.
const PAGES_AT_ONCE: u32 = 64;
/// How often the progress is shown anew.
const TICK: Duration = Duration::from_millis(200);

/// Options of `trawl crawl`.
#[derive(Debug, Args)]
pub(super) struct CrawlArgs {
    /// Where to begin; `https://` may be left out.
    url: String,
    /// Format of the content: markdown, html, text, bytes, xml, empty, or one that plugins.toml loads.
    #[arg(long, default_value = "markdown")]
    format: String,
    /// How pages may be fetched.
    #[arg(long, value_enum, default_value_t = RequestMode::Smart)]
    request: RequestMode,
    /// Most pages; 0 is no bound.
    #[arg(long, value_name = "N")]
    limit: Option<u64>,
    /// Most hops from the first page; 0 is that page alone.
    #[arg(long, value_name = "N")]
    depth: Option<u64>,
    /// Milliseconds between two requests to a host.
    #[arg(long, value_name = "MS")]
    delay: Option<u64>,
    /// Pages fetched at once, 1 to 10.
    #[arg(long, value_name = "N")]
    concurrency: Option<u64>,
    /// Most dollars that the crawl may cost at a server's prices.
    #[arg(long, value_name = "USD", value_parser = dollars)]
    max_cost: Option<Nanodollars>,
    /// Seed the queue from the site's sitemap too.
    #[arg(long)]
    sitemap: bool,
    /// Follow links onto subdomains.
    #[arg(long)]
    subdomains: bool,
    /// Paths or expressions to leave out; may be repeated.
    #[arg(long, value_name = "PATTERN")]
    exclude: Vec<String>,
    /// Paths or expressions to keep to; may be repeated.
    #[arg(long, value_name = "PATTERN")]
    include: Vec<String>,
    /// Do not ask robots.txt.
    #[arg(long)]
    ignore_robots: bool,
    /// Write page entries to this file, one JSON object a line.
    #[arg(short, long, value_name = "FILE", conflicts_with = "dir")]
    output: Option<PathBuf>,
    /// Write the content of each page to a file in this folder, and `pages.jsonl` that lists them.
    #[arg(long, value_name = "DIR")]
    dir: Option<PathBuf>,
    /// Go on with the crawl of this address and output that was interrupted, with the options it was begun with.
    #[arg(long)]
    resume: bool,
    #[command(flatten)]
    engine: EngineArgs,
}

fn dollars(text: &str) -> Result<Nanodollars, String> {
    Nanodollars::parse_dollars(text)
        .filter(|amount| *amount > Nanodollars::ZERO)
        .ok_or_else(|| "write dollars such as 0.5".to_owned())
}

pub(super) async fn run(args: CrawlArgs) -> anyhow::Result<()> {
    // Logs would run into the progress; who asks for them gets them.
    if let Some(filter) = super::log_filter() {
        trawl_telemetry::start_logs(Some(&filter))?;
    }
    let (mut config, plugins) = args.engine.load()?;
    // Its pages are not asked for again.
    config.cache.size_mib = 0;
    let target = args.output.as_deref().or(args.dir.as_deref());
    let state = State::of(&super::state_folder().join("crawls"), &args.url, target)?;
    let was_begun = state.prepare(args.resume, &super::cache_folder())?;
    let places = Paths {
        data: state.data(),
        plugins,
    };
    let app = App::build(config, &places).await?;
    let followed = begin_and_follow(&app, &args, &state).await;
    if let Ok((_, Written::StoppedAtOnce)) = followed {
        bail!("stopped at once; the same command with `--resume` goes on");
    }
    app.close().await;
    let (shown, written) = followed?;
    if shown.tally.state == CrawlState::Ended || written == Written::NobodyReads {
        state.remove();
    } else {
        eprintln!("stopped; the same command with `--resume` goes on");
    }
    if was_begun && !args.resume {
        eprintln!("an earlier crawl of this address that was interrupted was begun anew");
    }
    let tally = &shown.tally;
    if tally.n_pages > 0 && tally.n_pages == tally.n_failed && written == Written::Whole {
        bail!("no page could be fetched; the entries say why");
    }
    Ok(())
}

async fn begin_and_follow(
    app: &Arc<App>,
    args: &CrawlArgs,
    state: &State,
) -> anyhow::Result<(CrawlView, Written)> {
    let mark = match args.resume {
        true => {
            app.crawls().recover().await?;
            state.mark()?
        }
        false => {
            let id = begin(app, args).await?;
            let mark = Mark {
                id,
                ..Mark::default()
            };
            state.set_mark(&mark)?;
            mark
        }
    };
    let account = app.billing().known(ACCOUNT)?.id.clone();
    let output = match (&args.output, &args.dir) {
        (Some(file), _) => Output::file(file, mark.bytes)?,
        (None, Some(dir)) => Output::folder(dir, &args.format, mark.bytes)?,
        (None, None) => Output::standard(),
    };
    let following = Following {
        app,
        crawls: app.crawls().clone(),
        account,
        state,
        mark,
        output,
        progress: Progress::new(),
    };
    following.follow().await
}

/// Begins the crawl as the interface does. Returns its id.
async fn begin(app: &Arc<App>, args: &CrawlArgs) -> anyhow::Result<String> {
    let (account, _key) = app.billing().create_account(ACCOUNT, BALANCE).await?;
    let terms = Terms::PayAsYouGo;
    let registry = app.begin_run(&account, ACCOUNT, terms).registry();
    let request = request(args).to_string();
    let ways = RequestDefaults {
        pools: app.pools(),
        router: app.router_default(),
        terms,
        model: app.model(),
    };
    let plan = trawl_wire::crawl_plan(&request, "crawl", &*registry, ways);
    let begin = NewCrawl {
        account: account.id.clone(),
        plan: plan.map_err(anyhow::Error::msg)?,
        request,
        needs_secrets: false,
        verb: "crawl",
        terms,
        slot: None,
        registry,
    };
    Ok(app.crawls().begin(begin).await?.id)
}

fn request(args: &CrawlArgs) -> Value {
    let list = |entries: &[String]| (!entries.is_empty()).then(|| entries.to_vec());
    let credits = args
        .max_cost
        .map(|cost| cost.0.div_euclid(trawl_model::money::PER_CREDIT));
    json!({
        "url": args.url,
        "return_format": args.format,
        "request": args.request.name(),
        "limit": args.limit,
        "depth": args.depth,
        "delay": args.delay,
        "concurrency_limit": args.concurrency,
        "max_credits_allowed": credits,
        "sitemap": args.sitemap,
        "subdomains": args.subdomains,
        "blacklist": list(&args.exclude),
        "whitelist": list(&args.include),
        "respect_robots": !args.ignore_robots,
        "cache": false,
        "run_in_background": true,
    })
}

/// A crawl whose pages are written as they come.
struct Following<'a> {
    app: &'a App,
    crawls: Crawls,
    account: AccountId,
    state: &'a State,
    mark: Mark,
    output: Output,
    progress: Progress,
}

impl Following<'_> {
    async fn follow(mut self) -> anyhow::Result<(CrawlView, Written)> {
        let mut interrupts = signal(SignalKind::interrupt())?;
        let mut terminations = signal(SignalKind::terminate())?;
        let mut is_stopping = false;
        let mut ticks = tokio::time::interval(TICK);
        let mut written = Written::Whole;
        while written == Written::Whole {
            let n_written = self.write_pages(&mut written).await?;
            if n_written > 0 {
                continue;
            }
            let last = self.mark.cursor;
            tokio::select! {
                more = self.crawls.wait_for_pages(&self.account, &self.mark.id, last) => {
                    // Pages that came between the last look and the end are there now.
                    if !more && self.write_pages(&mut written).await? == 0 {
                        break;
                    }
                }
                () = told(&mut interrupts, &mut terminations) => {
                    if is_stopping {
                        return Ok((self.shown().await?, Written::StoppedAtOnce));
                    }
                    is_stopping = true;
                    self.progress.say_stopping();
                    self.app.stop();
                }
                _ = ticks.tick() => self.progress.show(&self.shown().await?.tally),
            }
        }
        if written == Written::NobodyReads {
            self.crawls.cancel(&self.account, &self.mark.id).await?;
        }
        let shown = self.shown().await?;
        self.progress.finish(&shown.tally);
        Ok((shown, written))
    }

    /// Writes the pages that have come, and notes how far it is.
    async fn write_pages(&mut self, written: &mut Written) -> anyhow::Result<usize> {
        let (id, last) = (&self.mark.id, self.mark.cursor);
        let pages = self.crawls.pages(&self.account, id, last, PAGES_AT_ONCE);
        let pages = pages.await?;
        for (number, entry) in &pages {
            let progress = &self.progress;
            *written = self.output.write(entry, |line| progress.line(line))?;
            if *written == Written::NobodyReads {
                return Ok(0);
            }
            self.mark.cursor = *number;
        }
        if !pages.is_empty() {
            self.mark.bytes = self
                .output
                .flush()
                .context("the output cannot be written")?;
            self.state.set_mark(&self.mark)?;
            self.progress.show(&self.shown().await?.tally);
        }
        Ok(pages.len())
    }

    async fn shown(&self) -> anyhow::Result<CrawlView> {
        Ok(self.crawls.show(&self.account, &self.mark.id).await?)
    }
}

async fn told(interrupts: &mut Signal, terminations: &mut Signal) {
    tokio::select! {
        _ = interrupts.recv() => {}
        _ = terminations.recv() => {}
    }
}
