//! `trawl crawl URL` and `trawl batch FILE`: crawl a site, or fetch listed pages, to a file, a
//! folder or a pipe, without a server.
//!
//! Runs the crawl of the server as a background crawl of this process and writes its pages as they
//! come. Its state has a directory of its own until the crawl ends, so `--resume` continues an
//! interrupted crawl; that of one which ended at a cap stays for a while, so that a higher cap
//! continues it.

mod args;
mod batch;
mod continuation;
mod follow;
mod names;
mod output;
mod progress;
mod state;
mod stored;
mod work;

use std::sync::Arc;

use anyhow::{Context, anyhow, bail};
use serde_json::{Map, Value, json};

use trawl_api::Service;
use trawl_crawl::{CrawlProgress, CrawlView, NewCrawl};
use trawl_model::clock::Clock;
use trawl_model::memory::Held;
use trawl_model::{Nanodollars, Terms};
use trawl_plan::address;
use trawl_store::CrawlState;
use trawl_wire::{PlanContext, runs, with_secrets};

use super::environment::{cache_folder, log_filter, state_folder};
use super::parameters::{self, PageNotices, Request};
use crate::app::{App, Paths};
pub(super) use args::CrawlArgs;
pub(super) use batch::BatchArgs;
use follow::{Followed, Follower};
use output::{Output, OutputEnd};
use progress::Progress;
use state::{Checkpoint, ResumeState};
use stored::StoredOptions;
use work::Work;

/// The account that is charged. No real money is involved; the charges show what a server would
/// bill.
const ACCOUNT: &str = "command line";
/// Its balance: more than any crawl costs.
const BALANCE: Nanodollars = Nanodollars(1_000_000 * trawl_model::money::PER_DOLLAR);

/// Crawls a site.
pub(super) async fn run(args: CrawlArgs) -> anyhow::Result<()> {
    run_to_end(args.work()?).await
}

/// Fetches listed pages.
pub(super) async fn run_batch(args: BatchArgs) -> anyhow::Result<()> {
    run_to_end(args.work()?).await
}

async fn run_to_end(work: Work) -> anyhow::Result<()> {
    // Logs would interfere with the progress line, so they are off unless RUST_LOG is set.
    if let Some(filter) = log_filter() {
        trawl_telemetry::start_logs(Some(&filter))?;
    }
    let args = &work.args;
    let (mut config, plugins) = args.engine.load()?;
    // No page is fetched twice.
    config.cache.size_mib = 0;
    let states = state_folder()?.join("crawls");
    state::expire(&states, Clock::wall().now());
    let state = ResumeState::of(&states, &work.key, args.target())?;
    if !args.resume {
        let earlier = state.checkpoint().ok();
        if !args.overwrite {
            let advice = continuation::advice(earlier.as_ref());
            output::check_unused(args.output.as_deref(), args.dir.as_deref(), advice)?;
        }
        if earlier.is_some_and(|earlier| earlier.ended.is_none()) {
            trawl_telemetry::say("the interrupted crawl starts over; `--resume` would continue it");
        }
    }
    state.prepare(args.resume, &cache_folder()?)?;
    let paths = Paths {
        data: state.data(),
        plugins,
    };
    let app = App::build_alone(config, &paths).await?;
    let result = start_and_follow(&app, &work, &state).await;
    if let Ok(Followed {
        written: OutputEnd::Aborted,
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
    if tally.n_pages > 0 && tally.n_pages == tally.n_failed && written == OutputEnd::Complete {
        return Err(nothing_fetched(tally.n_pages, first_error));
    }
    Ok(())
}

/// Removes the state of a crawl, unless `--resume` can continue it.
fn leave(state: &ResumeState, tally: &CrawlProgress, written: OutputEnd) -> anyhow::Result<()> {
    let has_ended = tally.state == CrawlState::Ended;
    let may_go_on = tally.stop.and_then(continuation::option_of).is_some();
    if written == OutputEnd::PipeClosed || has_ended && !may_go_on {
        state.remove();
    } else if has_ended {
        state.note_end(Clock::wall().now())?;
    } else {
        trawl_telemetry::say("stopped; run the command again with `--resume` to continue");
    }
    Ok(())
}

/// The error of a crawl whose pages all failed: the page's own if there was one page. Decision
/// D225.
fn nothing_fetched(n_pages: u64, first_error: Option<String>) -> anyhow::Error {
    match first_error.filter(|_| n_pages == 1) {
        Some(error) => anyhow!("the page could not be fetched: {error}"),
        None => anyhow!("no page could be fetched, see the errors of the entries"),
    }
}

async fn start_and_follow(
    app: &Arc<App>,
    work: &Work,
    state: &ResumeState,
) -> anyhow::Result<Followed> {
    let (args, request) = (&work.args, &work.request);
    let checkpoint = if args.resume {
        let mut checkpoint = state.checkpoint()?;
        continuation::reopen(app, request, state, &mut checkpoint).await?;
        let last = app.crawls().interrupt().await?;
        app.crawls().recover(last).await;
        checkpoint
    } else {
        let checkpoint = Checkpoint {
            id: start(app, work).await?,
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
async fn start(app: &Arc<App>, work: &Work) -> anyhow::Result<String> {
    let (account, _key) = app.billing().create_account(ACCOUNT, BALANCE).await?;
    let terms = Terms::PayAsYouGo;
    let registry = app.snapshot().registry;
    let context = PlanContext {
        catalog: &*registry,
        defaults: app.defaults().with_terms(terms),
    };
    let mut planned = runs(&work.body, work.verb, context)?;
    parameters::print(work.request.idle.iter().cloned());
    parameters::print(parameters::ignored(&planned.ignored, work.route));
    // The body is one object, so there is one crawl.
    let planned = planned.crawls.pop().context("give a URL")?;
    let crawl = NewCrawl {
        account: account.id.clone(),
        key: account.key,
        plan: planned.plan,
        request: planned.request,
        needs_secrets: planned.needs_secrets,
        secrets: planned.secrets,
        verb: work.verb.name(),
        terms,
        slot: None,
        payment: None,
        registry,
        trace: None,
    };
    let begun = app.crawls().begin(vec![crawl]).await?.pop();
    Ok(begun.context("the crawl was not started")?.id)
}

/// Resumes a crawl that waits for its secrets, which are not stored, with the command line's.
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
    let Some(url) = address::split(urls).first().copied() else {
        // The URLs of a batch have none.
        return Ok(sent);
    };
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

#[cfg(test)]
mod tests {
    use clap::Parser;

    use super::args::request;
    use super::args::tests::{Command, sent};
    use super::follow::error_of;
    use super::*;

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
