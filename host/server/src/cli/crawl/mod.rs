//! `trawl crawl URL`: crawls a site to a file, a folder or a pipe, without a server.
//!
//! Runs the crawl of the server as a background crawl of this process and writes its pages as they
//! come. Its state has a directory of its own until the crawl ends, so `--resume` continues an
//! interrupted crawl; that of one which ended at a cap stays for a while, so that a higher cap
//! continues it.

mod continuation;
mod names;
mod output;
mod progress;
mod state;
mod stored;

use std::path::PathBuf;
use std::sync::Arc;
use std::time::Duration;

use anyhow::{Context, anyhow, bail};
use clap::Args;
use serde_json::{Map, Value, json};
use tokio::signal::unix::{Signal, SignalKind, signal};

use trawl_api::Service;
use trawl_billing::AccountId;
use trawl_crawl::{CrawlProgress, CrawlView, Crawls, NewCrawl};
use trawl_model::clock::Clock;
use trawl_model::memory::Held;
use trawl_model::{Nanodollars, SkipReason, Terms, UrlState};
use trawl_plan::address;
use trawl_plan::parameters::Route;
use trawl_store::CrawlState;
use trawl_wire::{PlanContext, RequestDefaults, Verb, crawl_request, with_secrets};

use super::engine_args::EngineArgs;
use super::output_args::{FORMAT_DEFAULT, complete_format};
use super::parameters::{
    self, CommandParameters, Given, PageNotices, ParameterArgs, Request, choices, count, help,
    section, switch,
};
use crate::app::{App, Paths};
use output::{Output, Written};
use progress::{Progress, Summary};
use state::{Checkpoint, State};
use stored::StoredOptions;

/// The account that is charged. No real money is involved; the charges show what a server would
/// bill.
const ACCOUNT: &str = "command line";
/// Its balance: more than any crawl costs.
const BALANCE: Nanodollars = Nanodollars(1_000_000 * trawl_model::money::PER_DOLLAR);
/// Pages that are read at a time.
const PAGES_AT_ONCE: usize = 64;
/// Skipped URLs that are read at a time.
const SKIPPED_AT_ONCE: u32 = 10_000;
/// How often the progress line is updated.
const TICK: Duration = Duration::from_millis(200);

/// The parameters of the command.
const PARAMETERS: CommandParameters = CommandParameters {
    route: Route::Crawl,
    argument: "url",
    idle: &[
        (
            "cache",
            "a crawl of the command line fetches every page once",
        ),
        ("run_in_background", "the command runs until the crawl ends"),
        ("webhooks", "the command line sends no events"),
    ],
};

/// Options of `trawl crawl`.
#[derive(Debug, Args)]
#[command(after_long_help = section(&PARAMETERS))]
pub(super) struct CrawlArgs {
    /// Seed URL; `https://` may be omitted.
    #[arg(required_unless_present = "data")]
    url: Option<String>,
    #[arg(long, help = help("return_format").default(FORMAT_DEFAULT).named())]
    format: Option<String>,
    #[arg(long, help = help("request"), value_parser = choices("request"), ignore_case = true)]
    request: Option<String>,
    #[arg(long, value_name = "N", help = help("limit"), value_parser = count("limit"))]
    limit: Option<u64>,
    #[arg(long, value_name = "N", help = help("depth"), value_parser = count("depth"))]
    depth: Option<u64>,
    #[arg(long, value_name = "MS", help = help("delay"), value_parser = count("delay"))]
    delay: Option<u64>,
    #[arg(
        long,
        value_name = "N",
        help = help("concurrency_limit").named(),
        value_parser = count("concurrency_limit")
    )]
    concurrency: Option<u64>,
    #[arg(
        long,
        value_name = "USD",
        help = help("max_credits_allowed")
            .note("Here in dollars, in steps of 0.0001, at the configured prices")
            .named(),
        value_parser = dollars
    )]
    max_cost: Option<Nanodollars>,
    #[arg(long, help = help("sitemap"))]
    sitemap: bool,
    #[arg(long, help = help("subdomains"))]
    subdomains: bool,
    #[arg(
        long,
        value_name = "PATTERN",
        help = help("blacklist").note("May be repeated").default("").named()
    )]
    exclude: Vec<String>,
    #[arg(
        long,
        value_name = "PATTERN",
        help = help("whitelist").note("May be repeated").default("").named()
    )]
    include: Vec<String>,
    #[arg(long, help = help("respect_robots").note("Sets it to false").named())]
    ignore_robots: bool,
    #[command(flatten)]
    parameters: ParameterArgs,
    /// Write page entries to this file, one JSON object per line.
    #[arg(short, long, value_name = "FILE", conflicts_with = "dir")]
    output: Option<PathBuf>,
    /// Write the content of each page to a file in this folder, with an index in `pages.jsonl`.
    #[arg(long, value_name = "DIR")]
    dir: Option<PathBuf>,
    /// Continue the crawl of this URL and output that was interrupted, or that ended at a cap in
    /// the last 7 days. Its options stay, but for `--limit`, `--depth` and `--max-cost`.
    #[arg(long, conflicts_with = "overwrite")]
    resume: bool,
    /// Replace the file, or the index of the folder and the files of pages that it lists.
    #[arg(long)]
    overwrite: bool,
    #[command(flatten)]
    engine: EngineArgs,
}

/// Dollars that are whole credits, at least one.
fn dollars(text: &str) -> Result<Nanodollars, String> {
    let is_whole = |amount: &Nanodollars| amount.0 % trawl_model::money::PER_CREDIT == 0;
    Nanodollars::parse_dollars(text)
        .filter(|amount| *amount > Nanodollars::ZERO && is_whole(amount))
        .ok_or_else(|| "write dollars such as 0.5, in steps of 0.0001".to_owned())
}

/// The options that stand for parameters.
fn given(args: &CrawlArgs) -> [Given; 12] {
    let list = |entries: &[String]| match entries {
        [] => Value::Null,
        entries => json!(entries),
    };
    let credits = args
        .max_cost
        .map(|cost| cost.0 / trawl_model::money::PER_CREDIT);
    [
        ("--format", "return_format", json!(args.format)),
        ("--request", "request", json!(args.request)),
        ("--limit", "limit", json!(args.limit)),
        ("--depth", "depth", json!(args.depth)),
        ("--delay", "delay", json!(args.delay)),
        (
            "--concurrency",
            "concurrency_limit",
            json!(args.concurrency),
        ),
        ("--max-cost", "max_credits_allowed", json!(credits)),
        ("--sitemap", "sitemap", switch(args.sitemap, true)),
        ("--subdomains", "subdomains", switch(args.subdomains, true)),
        ("--exclude", "blacklist", list(&args.exclude)),
        ("--include", "whitelist", list(&args.include)),
        (
            "--ignore-robots",
            "respect_robots",
            switch(args.ignore_robots, false),
        ),
    ]
}

/// The parameters that were given, without what has no effect here.
fn request(args: &CrawlArgs) -> anyhow::Result<Request> {
    let mut request = args.parameters.request(given(args), &PARAMETERS)?;
    let url = args.url.as_deref().map(Into::into);
    request.put_argument(PARAMETERS.argument, url)?;
    Ok(request)
}

/// The body of the request: what was given, and what holds for every crawl of the command line.
fn body(args: &CrawlArgs, request: &Request) -> Vec<u8> {
    let mut request = Request {
        object: request.object.clone(),
        ..Request::default()
    };
    let is_image = complete_format(&mut request) && args.dir.is_some();
    if is_image {
        request.set_default("binary", true.into());
    }
    request.set_default("cache", false.into());
    request.set_default("run_in_background", true.into());
    request.body()
}

pub(super) async fn run(args: CrawlArgs) -> anyhow::Result<()> {
    // Logs would interfere with the progress line, so they are off unless RUST_LOG is set.
    if let Some(filter) = super::log_filter() {
        trawl_telemetry::start_logs(Some(&filter))?;
    }
    let request = request(&args)?;
    let (mut config, plugins) = args.engine.load()?;
    // No page is fetched twice.
    config.cache.size_mib = 0;
    let target = args.output.as_deref().or(args.dir.as_deref());
    let url = request.get("url").as_str().unwrap_or_default();
    let states = super::state_folder()?.join("crawls");
    state::expire(&states, Clock::wall().now());
    let state = State::of(&states, url, target)?;
    if !args.resume {
        let earlier = state.checkpoint().ok();
        if !args.overwrite {
            let advice = continuation::advice(earlier.as_ref());
            output::check_unused(args.output.as_deref(), args.dir.as_deref(), advice)?;
        }
        if earlier.is_some_and(|earlier| earlier.ended.is_none()) {
            trawl_telemetry::say(
                "the interrupted crawl of this URL starts over; `--resume` would continue it",
            );
        }
    }
    state.prepare(args.resume, &super::cache_folder()?)?;
    let paths = Paths {
        data: state.data(),
        plugins,
    };
    let app = App::build_alone(config, &paths).await?;
    let result = start_and_follow(&app, &args, &request, &state).await;
    if let Ok(Followed {
        written: Written::Aborted,
        ..
    }) = result
    {
        bail!("aborted; run the command again with `--resume` to continue");
    }
    app.close().await;
    let Followed {
        view,
        written,
        first_error,
    } = result?;
    let tally = &view.progress;
    leave(&state, tally, written)?;
    if tally.n_pages > 0 && tally.n_pages == tally.n_failed && written == Written::Complete {
        return Err(nothing_fetched(tally.n_pages, first_error));
    }
    Ok(())
}

/// Removes the state of a crawl, unless `--resume` can continue it.
fn leave(state: &State, tally: &CrawlProgress, written: Written) -> anyhow::Result<()> {
    let has_ended = tally.state == CrawlState::Ended;
    let may_go_on = tally.stop.and_then(continuation::option_of).is_some();
    if written == Written::PipeClosed || has_ended && !may_go_on {
        state.remove();
    } else if has_ended {
        state.note_end(Clock::wall().now())?;
    } else {
        trawl_telemetry::say("stopped; run the command again with `--resume` to continue");
    }
    Ok(())
}

/// The error of a crawl whose pages all failed: that of its page if there was but one. Decision
/// D225.
fn nothing_fetched(n_pages: u64, first_error: Option<String>) -> anyhow::Error {
    match first_error.filter(|_| n_pages == 1) {
        Some(error) => anyhow!("the page could not be fetched: {error}"),
        None => anyhow!("no page could be fetched, see the errors of the entries"),
    }
}

/// What came of following a crawl.
struct Followed {
    view: CrawlView,
    written: Written,
    /// Error of the first page of the crawl, if it failed and this process has written it.
    first_error: Option<String>,
}

async fn start_and_follow(
    app: &Arc<App>,
    args: &CrawlArgs,
    request: &Request,
    state: &State,
) -> anyhow::Result<Followed> {
    let checkpoint = if args.resume {
        let mut checkpoint = state.checkpoint()?;
        continuation::reopen(app, request, state, &mut checkpoint).await?;
        let last = app.crawls().interrupt().await?;
        app.crawls().recover(last).await;
        checkpoint
    } else {
        let checkpoint = Checkpoint {
            id: start(app, args, request).await?,
            ..Checkpoint::default()
        };
        state.set_checkpoint(&checkpoint)?;
        checkpoint
    };
    let account = app.billing().known(ACCOUNT)?.id.clone();
    let view = app.crawls().show(&account, &checkpoint.id).await?;
    let stored = app.crawls().request(&view).await?;
    let options = StoredOptions::read(&stored);
    if args.resume {
        let is_parked = view.progress.state == CrawlState::Parked;
        if is_parked {
            unlock(app, &view, stored, request).await?;
        }
        parameters::print(options.without_effect(request, is_parked));
    }
    let output = match (&args.output, &args.dir) {
        (Some(file), _) => Output::file(file, checkpoint.bytes)?,
        (None, Some(dir)) => {
            if args.overwrite {
                output::remove_listed(dir)?;
            }
            let may_replace = args.overwrite || args.resume;
            Output::folder(dir, options.extension(), checkpoint.bytes, may_replace)?
        }
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
        notices: PageNotices::default(),
        progress: Progress::new(),
        first_error: None,
    };
    follower.follow().await
}

/// Starts the crawl as the HTTP interface does. Returns its id.
async fn start(app: &Arc<App>, args: &CrawlArgs, request: &Request) -> anyhow::Result<String> {
    let (account, _key) = app.billing().create_account(ACCOUNT, BALANCE).await?;
    let terms = Terms::PayAsYouGo;
    let registry = app.begin_run(&account, ACCOUNT, terms, None).registry();
    let context = PlanContext {
        catalog: &*registry,
        defaults: RequestDefaults {
            pools: app.pools(),
            router: app.router_defaults(),
            terms,
            model: app.model(),
        },
    };
    let mut planned = crawl_request(&body(args, request), Verb::Scrape, context)?;
    parameters::print(request.idle.iter().cloned());
    parameters::print(parameters::ignored(&planned.ignored, Route::Crawl));
    // The body is one object, so there is one crawl.
    let planned = planned.crawls.pop().context("give a URL")?;
    let crawl = NewCrawl {
        account: account.id.clone(),
        key: account.key,
        plan: planned.plan,
        request: planned.request,
        needs_secrets: planned.needs_secrets,
        secrets: planned.secrets,
        verb: "crawl",
        terms,
        slot: None,
        payment: None,
        registry,
    };
    let begun = app.crawls().begin(vec![crawl]).await?.pop();
    Ok(begun.context("the crawl was not started")?.id)
}

/// Sends a crawl that waits for its secrets, which are not stored, those of the command line.
async fn unlock(
    app: &App,
    view: &CrawlView,
    stored: Held<String>,
    request: &Request,
) -> anyhow::Result<()> {
    let sent = Value::Object(secrets(request)?).to_string();
    let record = &view.record;
    let complete = with_secrets(&stored, record.needs_secrets, sent.as_bytes())?;
    let (_, lease) = stored.into_parts();
    let complete = lease.hold(complete);
    app.crawls()
        .resume(&record.account, &record.id, complete)
        .await?;
    Ok(())
}

/// The parameters with the password of the URL as a header.
fn secrets(request: &Request) -> anyhow::Result<Map<String, Value>> {
    const AUTHORIZATION: &str = "authorization";
    let mut sent = request.object.clone();
    let urls = request.get("url").as_str().unwrap_or_default();
    // All seeds have the same.
    let url = address::split(urls).first().copied().unwrap_or_default();
    let target = address::parse(url).map_err(anyhow::Error::msg)?;
    let password = target.authorization;
    let password = password.as_ref().and_then(|value| value.to_str().ok());
    if let Some(password) = password
        && let Value::Object(headers) = sent.entry("headers").or_insert_with(|| json!({}))
        && !headers
            .keys()
            .any(|name| name.eq_ignore_ascii_case(AUTHORIZATION))
    {
        headers.insert(AUTHORIZATION.to_owned(), password.into());
    }
    Ok(sent)
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
    notices: PageNotices,
    progress: Progress,
    first_error: Option<String>,
}

impl Follower<'_> {
    async fn follow(mut self) -> anyhow::Result<Followed> {
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
                        return Ok(Followed {
                            view: self.view().await?,
                            written: Written::Aborted,
                            first_error: self.first_error,
                        });
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
        self.progress.finish(&Summary {
            progress: &view.progress,
            options: &self.options,
            written,
            skipped: &self.skipped(&view).await?,
        });
        parameters::print(self.notices.sentences());
        Ok(Followed {
            view,
            written,
            first_error: self.first_error,
        })
    }

    /// Writes the pages that are ready, and stores a checkpoint.
    async fn write_pages(&mut self, written: &mut Written) -> anyhow::Result<usize> {
        let (id, last) = (&self.checkpoint.id, self.checkpoint.cursor);
        let mut pages = self.crawls.pages(&self.account, id, last).await?;
        let mut n_pages = 0;
        while n_pages < PAGES_AT_ONCE
            && let Some((number, entry)) = pages.next().await?
        {
            n_pages += 1;
            let progress = &self.progress;
            *written = self
                .output
                .write(&entry, |line| progress.print_line(line))?;
            if *written == Written::PipeClosed {
                return Ok(0);
            }
            self.notices.add_entry(&entry);
            if self.checkpoint.cursor == 0 {
                self.first_error = error_of(&entry);
            }
            self.checkpoint.cursor = number;
        }
        if n_pages > 0 {
            self.checkpoint.bytes = self.output.flush().context("cannot write the output")?;
            self.state.set_checkpoint(&self.checkpoint)?;
            self.progress.show(&self.view().await?.progress);
        }
        Ok(n_pages)
    }

    /// How many URLs of an ended crawl were not fetched, by reason.
    async fn skipped(&self, view: &CrawlView) -> anyhow::Result<Vec<(SkipReason, u64)>> {
        let mut counts = SkipReason::ALL.map(|reason| (reason, 0));
        let mut last = None;
        let mut is_more = view.progress.state == CrawlState::Ended;
        while is_more {
            let (account, id) = (&self.account, &self.checkpoint.id);
            let rows = self.crawls.skipped(account, id, last, SKIPPED_AT_ONCE);
            let rows = rows.await?;
            for row in &rows {
                if let UrlState::Skipped(reason) = row.state {
                    counts[usize::from(reason.number())].1 += 1;
                }
            }
            is_more = !rows.is_empty();
            last = rows.last().map(|row| row.n).or(last);
        }
        Ok(counts.into_iter().filter(|(_, n)| *n > 0).collect())
    }

    async fn view(&self) -> anyhow::Result<CrawlView> {
        Ok(self.crawls.show(&self.account, &self.checkpoint.id).await?)
    }
}

/// The error of a page entry as JSON.
fn error_of(entry: &[u8]) -> Option<String> {
    let entry: Value = serde_json::from_slice(entry).ok()?;
    entry["error"].as_str().map(str::to_owned)
}

/// Waits for SIGINT or SIGTERM.
async fn stop_signal(interrupts: &mut Signal, terminations: &mut Signal) {
    tokio::select! {
        _ = interrupts.recv() => {}
        _ = terminations.recv() => {}
    }
}

#[cfg(test)]
mod tests {
    use clap::{CommandFactory, Parser};

    use super::super::parameters::tests::check_help;
    use super::*;

    #[derive(Debug, Parser)]
    struct Command {
        #[command(flatten)]
        args: CrawlArgs,
    }

    /// The options of `trawl crawl a.example` with these words.
    pub(super) fn parsed(words: &[&str]) -> Result<CrawlArgs, String> {
        let words = ["crawl", "a.example"].iter().chain(words);
        let command = Command::try_parse_from(words).map_err(|error| error.to_string())?;
        Ok(command.args)
    }

    /// The request of these options, and its body.
    pub(super) fn sent(words: &[&str]) -> (Request, Value) {
        let args = parsed(words).expect("options");
        let request = request(&args).expect("a request");
        let body = serde_json::from_slice(&body(&args, &request)).expect("JSON");
        (request, body)
    }

    #[test]
    fn the_help_of_every_option_is_that_of_its_parameter() {
        let given = given(&parsed(&[]).expect("options"));
        let own = [
            "set",
            "data",
            "output",
            "dir",
            "resume",
            "overwrite",
            "plugins",
            "config",
            "allow-private",
            "browser",
        ];
        check_help(Command::command(), &given, &own, &PARAMETERS);
    }

    #[test]
    fn only_what_was_given_is_sent_beside_what_every_crawl_has() {
        let (request, body) = sent(&[]);
        assert_eq!(Value::Object(request.object), json!({"url": "a.example"}));
        let mut expected = json!({
            "url": "a.example", "return_format": FORMAT_DEFAULT, "cache": false, "run_in_background": true,
        });
        assert_eq!(body, expected);
        let words = ["--max-cost", "0.5", "--exclude", "/x", "--exclude", "/y"];
        let (_, body) = sent(&[&words[..], &["--ignore-robots", "--set", "tld"]].concat());
        expected["max_credits_allowed"] = 5_000.into();
        expected["blacklist"] = json!(["/x", "/y"]);
        expected["respect_robots"] = false.into();
        expected["tld"] = true.into();
        assert_eq!(body, expected);
        let (request, body) = sent(&["--set", "run_in_background=false", "--set", "cache"]);
        assert_eq!(
            (&body["cache"], &body["run_in_background"]),
            (&json!(false), &json!(true))
        );
        assert_eq!(request.idle.len(), 2, "{:?}", request.idle);
    }

    #[test]
    fn screenshots_in_a_folder_are_images() {
        let (_, body) = sent(&["--format", "screenshot", "--dir", "x"]);
        assert_eq!(body["binary"], true);
        let (_, body) = sent(&["--format", "screenshot"]);
        assert_eq!(body["binary"], Value::Null);
    }

    #[test]
    fn the_error_of_a_single_page_is_that_of_the_crawl() {
        let entry = json!({"url": "https://a.example/", "error": "the site answered 404"});
        let error = || error_of(entry.to_string().as_bytes());
        let text = |n_pages, error| nothing_fetched(n_pages, error).to_string();
        let expected = "the page could not be fetched: the site answered 404";
        assert_eq!(text(1, error()), expected);
        for many in [text(2, error()), text(1, None)] {
            assert!(many.contains("see the errors of the entries"), "{many}");
        }
        assert_eq!(error_of(br#"{"error": null}"#), None);
    }

    #[test]
    fn a_cost_is_at_least_a_credit_and_not_rounded() {
        for wrong in ["0", "0.00005", "0.00015", "x"] {
            let text = parsed(&["--max-cost", wrong]).expect_err(wrong);
            assert!(text.contains("in steps of 0.0001"), "{text}");
        }
        assert!(parsed(&["--max-cost", "0.0001"]).is_ok());
    }

    #[test]
    fn a_resumed_crawl_gets_the_password_of_its_url() {
        let words = [
            "crawl",
            "https://u:p@a.example/",
            "--set",
            "headers.X-Any=1",
        ];
        let command = Command::try_parse_from(words).expect("options");
        let sent = secrets(&request(&command.args).expect("a request")).expect("secrets");
        assert_eq!(
            sent["headers"],
            json!({"X-Any": "1", "authorization": "Basic dTpw"})
        );
        let (request, _) = self::sent(&["--set", "cookies=a=b"]);
        let sent = secrets(&request).expect("secrets");
        assert_eq!(sent["cookies"], "a=b");
        assert_eq!(sent.get("headers"), None);
    }
}
