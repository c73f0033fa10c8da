//! Progress of a crawl on a terminal, and a summary at the end.

use std::borrow::Cow;
use std::collections::VecDeque;
use std::sync::{Mutex, PoisonError};
use std::time::{Duration, Instant};

use indicatif::{ProgressBar, ProgressStyle};

use trawl_crawl::CrawlProgress;
use trawl_model::{SkipReason, StopReason};

use super::continuation::option_of;
use super::output::OutputEnd;
use super::stored::StoredOptions;
use crate::cli::standard_output::print;

/// Period over which the page rate is measured.
const RATE_PERIOD: Duration = Duration::from_secs(5);
/// Interval of the spinner.
const SPINNER_INTERVAL: Duration = Duration::from_millis(120);

/// What the summary of a crawl is made of.
pub(super) struct Summary<'a> {
    /// Its progress when it ended or paused.
    pub(super) progress: &'a CrawlProgress,
    /// Its options.
    pub(super) options: &'a StoredOptions,
    /// How much of it was written.
    pub(super) written: OutputEnd,
    /// How many URLs were not fetched, by reason.
    pub(super) skipped: &'a [(SkipReason, u64)],
}

/// The progress line at the bottom of the terminal.
pub(super) struct Progress {
    bar: ProgressBar,
    started: Instant,
    /// Recent page counts with their times.
    samples: Mutex<VecDeque<(Instant, u64)>>,
    /// Pages of earlier processes of the crawl.
    earlier: Mutex<Option<u64>>,
}

impl Progress {
    /// Shown only when standard error is a terminal.
    pub(super) fn new() -> Self {
        let bar = ProgressBar::new_spinner();
        if let Ok(style) = ProgressStyle::with_template("{spinner} {elapsed}  {wide_msg}") {
            bar.set_style(style);
        }
        bar.enable_steady_tick(SPINNER_INTERVAL);
        Self {
            bar,
            started: Instant::now(),
            samples: Mutex::default(),
            earlier: Mutex::default(),
        }
    }

    /// Updates the line.
    pub(super) fn show(&self, progress: &CrawlProgress) {
        let _ = self.n_here(progress);
        let rate = self.rate(Instant::now(), progress.n_pages);
        let failed = match progress.n_failed {
            0 => String::new(),
            failed => format!(", {failed} failed"),
        };
        let waiting = progress.urls.waiting + progress.urls.in_flight;
        let message = format!(
            "{} pages{failed}, {rate:.1}/s, {}, {waiting} waiting, {}",
            progress.n_pages,
            bytes_text(progress.n_bytes),
            progress.spent,
        );
        self.bar.set_message(message);
    }

    /// Prints a line above the progress line.
    pub(super) fn print_line(&self, line: &str) {
        self.bar.suspend(|| {
            // A closed terminal does not stop the crawl.
            let _ = print(line);
        });
    }

    /// Prints that the crawl is stopping.
    pub(super) fn print_stopping(&self) {
        let text = "stopping when the pages in flight finish; press Ctrl-C again to abort";
        self.bar.suspend(|| trawl_telemetry::say(text));
    }

    /// Removes the line and prints a summary.
    pub(super) fn finish(&self, summary: &Summary<'_>) {
        self.bar.finish_and_clear();
        let progress = summary.progress;
        let seconds = self.started.elapsed().as_secs_f64();
        let n_here = self.n_here(progress);
        if let Some(line) = skipped_line(summary.skipped) {
            trawl_telemetry::say(line);
        }
        trawl_telemetry::say(format_args!(
            "{} {} ({} failed), {}, {} at the configured prices, {seconds:.1} s, {:.1} pages/s: {}",
            progress.n_pages,
            if progress.n_pages == 1 {
                "page"
            } else {
                "pages"
            },
            progress.n_failed,
            bytes_text(progress.n_bytes),
            progress.spent,
            n_here as f64 / seconds.max(0.001),
            reason(summary),
        ));
    }

    /// Pages since this process started or resumed the crawl.
    fn n_here(&self, progress: &CrawlProgress) -> u64 {
        let mut earlier = self.earlier.lock().unwrap_or_else(PoisonError::into_inner);
        progress.n_pages - *earlier.get_or_insert(progress.n_pages)
    }

    fn rate(&self, now: Instant, n_pages: u64) -> f64 {
        let mut samples = self.samples.lock().unwrap_or_else(PoisonError::into_inner);
        samples.push_back((now, n_pages));
        while samples.len() > 2 && now.duration_since(samples[0].0) > RATE_PERIOD {
            samples.pop_front();
        }
        let (since, before) = samples[0];
        let seconds = now.duration_since(since).as_secs_f64();
        if seconds > 0.0 {
            (n_pages - before) as f64 / seconds
        } else {
            0.0
        }
    }
}

/// The URLs that were not fetched, by reason; none for duplicates, whose page was fetched. Decision
/// D225.
fn skipped_line(skipped: &[(SkipReason, u64)]) -> Option<String> {
    let missed = skipped
        .iter()
        .filter(|(reason, _)| *reason != SkipReason::Duplicate);
    let n_all: u64 = missed.clone().map(|(_, n)| n).sum();
    let reasons = missed.map(|(reason, n)| format!("{} {n}", reason.name()));
    let reasons = reasons.collect::<Vec<_>>().join(", ");
    (n_all > 0).then(|| format!("{n_all} URLs were found but not fetched: {reasons}"))
}

/// Why the crawl ended, and how to continue it if it ended at a cap.
fn reason(summary: &Summary<'_>) -> Cow<'static, str> {
    let ended = end_reason(summary);
    let stop = summary.progress.stop;
    let stop = stop.filter(|_| summary.written == OutputEnd::Complete);
    match stop.and_then(option_of) {
        Some(option) => {
            format!("{ended}; `--resume` with a higher `{option}` continues the crawl").into()
        }
        None => ended,
    }
}

/// Why the crawl ended.
fn end_reason(summary: &Summary<'_>) -> Cow<'static, str> {
    let (progress, options) = (summary.progress, summary.options);
    if summary.written == OutputEnd::PipeClosed {
        return "the output was closed".into();
    }
    let Some(stop) = progress.stop else {
        return "stopped".into();
    };
    let text = match stop {
        StopReason::Completed => match progress.n_pages - progress.n_failed {
            0 => "no page could be fetched",
            n_good if n_good < progress.n_pages => {
                return format!("{n_good} of {} pages were fetched", progress.n_pages).into();
            }
            _ => "all pages were fetched",
        },
        StopReason::Limit => match options.limit() {
            Some(limit) => return format!("the page limit of {limit} was reached").into(),
            None => "the page limit was reached",
        },
        StopReason::Depth => {
            let depth = options.depth();
            return format!("only pages beyond depth {depth} are left").into();
        }
        StopReason::Budget => "all pages within the budget were fetched",
        StopReason::HostLimit => "only pages of hosts with `host_limit` pages are left",
        StopReason::Spend => match options.max_cost() {
            Some(cost) => return format!("the maximum cost of {cost} was reached").into(),
            None => "the maximum cost was reached",
        },
        StopReason::Balance => "the account is empty",
        StopReason::KeyBudget => "the monthly budget of the key is used up",
        StopReason::Timeout => "the time of `crawl_timeout` is over",
        StopReason::Cancelled => "it was cancelled",
        StopReason::HungUp => "the output was closed",
        StopReason::ServerStopped => "stopped",
        StopReason::Storage => {
            "it has stored as much as `limits.stored_mib_per_account` of the configuration or the disk allows"
        }
        StopReason::PlanEnded => "the Unlimited plan has ended",
        StopReason::Failed => "it failed, see the log with RUST_LOG=error",
    };
    text.into()
}

/// Decimal units, like the price per gigabyte.
fn bytes_text(bytes: u64) -> String {
    let units = [("GB", 1_000_000_000), ("MB", 1_000_000), ("kB", 1_000)];
    match units.into_iter().find(|(_, size)| bytes >= *size) {
        Some((unit, size)) => format!("{:.1} {unit}", bytes as f64 / size as f64),
        None => format!("{bytes} bytes"),
    }
}

#[cfg(test)]
mod tests {
    use trawl_crawl::Counts;
    use trawl_model::Nanodollars;
    use trawl_store::CrawlState;

    use super::*;

    #[test]
    fn the_summary_does_not_hide_failures_and_caps() {
        let options = StoredOptions::read(r#"{"limit": 40, "max_credits_allowed": 5000}"#);
        let text_of = |stop: StopReason, n_pages: u64, n_failed: u64, written: OutputEnd| {
            let progress = CrawlProgress {
                state: CrawlState::Ended,
                stop: Some(stop),
                n_pages,
                n_failed,
                n_bytes: 0,
                spent: Nanodollars::ZERO,
                urls: Counts::default(),
            };
            let summary = Summary {
                progress: &progress,
                options: &options,
                written,
                skipped: &[],
            };
            reason(&summary).into_owned()
        };
        let text = |stop: StopReason, n_pages: u64, n_failed: u64| {
            text_of(stop, n_pages, n_failed, OutputEnd::Complete)
        };
        assert_eq!(text(StopReason::Completed, 2, 0), "all pages were fetched");
        assert_eq!(
            text(StopReason::Completed, 1, 1),
            "no page could be fetched"
        );
        assert_eq!(
            text(StopReason::Completed, 3, 1),
            "2 of 3 pages were fetched"
        );
        assert_eq!(
            text(StopReason::Limit, 40, 0),
            "the page limit of 40 was reached; `--resume` with a higher `--limit` continues the crawl"
        );
        assert!(text(StopReason::Depth, 26, 0).contains("beyond depth 25"));
        assert!(text(StopReason::Spend, 26, 0).contains("cost of $0.5 was"));
        let closed = text_of(StopReason::Cancelled, 3, 0, OutputEnd::PipeClosed);
        assert_eq!(closed, "the output was closed");
    }

    #[test]
    fn skipped_urls_are_counted_by_reason() {
        let all = [
            (SkipReason::Robots, 3),
            (SkipReason::Scope, 2),
            (SkipReason::Duplicate, 9),
        ];
        let line = skipped_line(&all).expect("a line");
        assert!(line.starts_with("5 URLs "), "{line}");
        assert!(line.ends_with(": robots 3, scope 2"), "{line}");
        assert_eq!(skipped_line(&all[2..]), None);
    }

    #[test]
    fn bytes_have_decimal_units() {
        assert_eq!(bytes_text(999), "999 bytes");
        assert_eq!(bytes_text(1_250), "1.2 kB");
        assert_eq!(bytes_text(2_500_000_000), "2.5 GB");
    }

    #[test]
    fn the_rate_is_that_of_the_last_seconds() {
        let (progress, start) = (Progress::new(), Instant::now());
        let at = |seconds: u64| start + Duration::from_secs(seconds);
        assert!(progress.rate(at(0), 0).abs() < 1e-9);
        assert!((progress.rate(at(1), 100) - 100.0).abs() < 1e-9);
        let later = progress.rate(at(60), 100);
        assert!(later < 10.0, "{later}");
    }
}
