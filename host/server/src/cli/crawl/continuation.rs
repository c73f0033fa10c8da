//! Continuing a crawl that was interrupted, or that ended at a cap, with the caps of the command
//! line. Its other options stay.

use anyhow::{Context, bail};
use serde_json::{Map, Value};

use trawl_model::StopReason;
use trawl_store::CrawlState;

use super::state::{Checkpoint, ResumeState};
use super::{ACCOUNT, App, Request};

/// The parameters that a continued crawl takes from the command line.
const CAPS: [&str; 3] = ["limit", "depth", "max_credits_allowed"];

/// The option that lets a crawl go on which ended for this reason, if it is given with a higher
/// value; `None` if nothing does.
pub(super) fn option_of(stop: StopReason) -> Option<&'static str> {
    match stop {
        StopReason::Limit => Some("--limit"),
        StopReason::Depth => Some("--depth"),
        StopReason::Spend => Some("--max-cost"),
        _ => None,
    }
}

/// What may be done with the crawl that was there before, to precede other advice.
pub(super) fn advice(earlier: Option<&Checkpoint>) -> &'static str {
    match earlier {
        None => "",
        Some(Checkpoint { ended: None, .. }) => "continue that crawl with `--resume`, ",
        Some(Checkpoint { ended: Some(_), .. }) => {
            "continue that crawl with `--resume` and a higher cap, "
        }
    }
}

/// Gives the crawl of a checkpoint the caps of the command line, and lets it go on if it has ended.
///
/// # Errors
/// It has ended, all of it is in the output, and no other cap is given; or the store failed.
pub(super) async fn reopen(
    app: &App,
    request: &Request,
    state: &ResumeState,
    checkpoint: &mut Checkpoint,
) -> anyhow::Result<()> {
    let account = app.billing().known(ACCOUNT)?.id.clone();
    let view = app.crawls().show(&account, &checkpoint.id).await?;
    let stored = app.crawls().request(&view).await?;
    let progress = &view.progress;
    let is_over = progress.state == CrawlState::Ended && checkpoint.cursor >= progress.n_pages;
    match with_caps(&stored, request)? {
        Some(changed) => app.crawls().reopen(&checkpoint.id, &changed).await?,
        None if is_over => bail!("{}", nothing_left(progress.stop)),
        None => return Ok(()),
    }
    checkpoint.ended = None;
    state.set_checkpoint(checkpoint)
}

/// Why a crawl cannot be resumed that ended for this reason.
fn nothing_left(stop: Option<StopReason>) -> String {
    match stop.and_then(option_of) {
        Some(option) => {
            format!("nothing to resume: the crawl ended at a cap, a higher `{option}` continues it")
        }
        None => "nothing to resume: the crawl has ended".to_owned(),
    }
}

/// A stored request with the caps of the command line; `None` if it has the same.
fn with_caps(stored: &str, given: &Request) -> anyhow::Result<Option<String>> {
    let mut stored: Map<String, Value> =
        serde_json::from_str(stored).context("the stored request is damaged")?;
    let mut has_changed = false;
    for name in CAPS {
        let cap = given.get(name);
        if !cap.is_null() && stored.get(name) != Some(cap) {
            stored.insert(name.to_owned(), cap.clone());
            has_changed = true;
        }
    }
    Ok(has_changed.then(|| Value::Object(stored).to_string()))
}

#[cfg(test)]
mod tests {
    use super::super::args::tests::sent;
    use super::*;

    #[test]
    fn only_caps_change_a_stored_request() {
        let (_, stored) = sent(&["--limit", "30", "--exclude", "/x"]);
        let changed = |words: &[&str]| {
            let changed = with_caps(&stored.to_string(), &sent(words).0);
            let changed = changed.expect("a request")?;
            Some(serde_json::from_str::<Value>(&changed).expect("JSON"))
        };
        assert_eq!(changed(&[]), None);
        assert_eq!(changed(&["--limit", "30", "--format", "html"]), None);
        let mut expected = stored.clone();
        expected["limit"] = 400.into();
        expected["depth"] = 2.into();
        expected["max_credits_allowed"] = 5_000.into();
        let words = ["--limit", "400", "--depth", "2", "--max-cost", "0.5"];
        assert_eq!(changed(&words), Some(expected));
    }

    #[test]
    fn the_cap_that_ended_a_crawl_is_named() {
        assert!(nothing_left(Some(StopReason::Limit)).contains("a higher `--limit`"));
        assert!(nothing_left(Some(StopReason::Spend)).contains("a higher `--max-cost`"));
        let ended = nothing_left(Some(StopReason::Completed));
        assert_eq!(ended, "nothing to resume: the crawl has ended");
    }
}
