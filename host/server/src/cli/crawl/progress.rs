//! How far a crawl is, on a terminal; one line at the end in any case.

use std::collections::VecDeque;
use std::sync::{Mutex, PoisonError};
use std::time::{Duration, Instant};

use indicatif::{ProgressBar, ProgressStyle};

use trawl_crawl::CrawlProgress;
use trawl_model::StopReason;

/// The rate that is shown is that of the last seconds.
const RATE_TIME: Duration = Duration::from_secs(5);
/// How often the sign of life moves.
const SPIN: Duration = Duration::from_millis(120);

/// The line at the foot of a terminal.
pub(super) struct Progress {
    bar: ProgressBar,
    started: Instant,
    /// Pages at moments of the last seconds.
    seen: Mutex<VecDeque<(Instant, u64)>>,
    /// Pages of the processes before this one.
    first: Mutex<Option<u64>>,
}

impl Progress {
    /// Shown only when standard error is a terminal.
    pub(super) fn new() -> Self {
        let bar = ProgressBar::new_spinner();
        if let Ok(style) = ProgressStyle::with_template("{spinner} {elapsed}  {wide_msg}") {
            bar.set_style(style);
        }
        bar.enable_steady_tick(SPIN);
        Self {
            bar,
            started: Instant::now(),
            seen: Mutex::default(),
            first: Mutex::default(),
        }
    }

    /// Shows how far it is.
    pub(super) fn show(&self, tally: &CrawlProgress) {
        let _ = self.n_here(tally);
        let rate = self.rate(Instant::now(), tally.n_pages);
        let failed = match tally.n_failed {
            0 => String::new(),
            failed => format!(", {failed} failed"),
        };
        let waiting = tally.urls.waiting + tally.urls.in_flight;
        let message = format!(
            "{} pages{failed}, {rate:.1} a second, {}, {waiting} waiting, {}",
            tally.n_pages,
            bytes_text(tally.n_bytes),
            tally.spent,
        );
        self.bar.set_message(message);
    }

    /// A line for people above it.
    pub(super) fn line(&self, line: &str) {
        self.bar.suspend(|| {
            // A terminal that went away is no reason to end a crawl.
            let _ = super::super::print(line);
        });
    }

    /// Says that pages in flight are waited for.
    pub(super) fn say_stopping(&self) {
        let text = "stopping: pages in flight finish; once more to stop at once";
        self.bar.println(text);
    }

    /// Takes the line away and says what the crawl came to.
    pub(super) fn finish(&self, tally: &CrawlProgress) {
        self.bar.finish_and_clear();
        let seconds = self.started.elapsed().as_secs_f64();
        let n_here = self.n_here(tally);
        eprintln!(
            "{} pages ({} failed), {}, {} at a server's prices, {seconds:.1} s, {:.1} pages a second: {}",
            tally.n_pages,
            tally.n_failed,
            bytes_text(tally.n_bytes),
            tally.spent,
            n_here as f64 / seconds.max(0.001),
            tally.stop.map_or("stopped", reason),
        );
    }

    /// Pages since this process took the crawl up.
    fn n_here(&self, tally: &CrawlProgress) -> u64 {
        let mut first = self.first.lock().unwrap_or_else(PoisonError::into_inner);
        tally.n_pages - *first.get_or_insert(tally.n_pages)
    }

    fn rate(&self, now: Instant, n_pages: u64) -> f64 {
        let mut seen = self.seen.lock().unwrap_or_else(PoisonError::into_inner);
        seen.push_back((now, n_pages));
        while seen.len() > 2 && now.duration_since(seen[0].0) > RATE_TIME {
            seen.pop_front();
        }
        let (since, before) = seen[0];
        let seconds = now.duration_since(since).as_secs_f64();
        match seconds > 0.0 {
            true => (n_pages - before) as f64 / seconds,
            false => 0.0,
        }
    }
}

/// Why it ended, for people.
fn reason(stop: StopReason) -> &'static str {
    match stop {
        StopReason::Completed => "every page was fetched",
        StopReason::Limit => "the limit of pages was reached",
        StopReason::Depth => "only pages beyond the depth were left",
        StopReason::Budget => "only pages over their budget were left",
        StopReason::Spend => "the most it may cost was reached",
        StopReason::Balance => "the account is empty",
        StopReason::Timeout => "its time was over",
        StopReason::Cancelled => "it was cancelled",
        StopReason::HungUp => "nobody took its pages any more",
        StopReason::ServerStopped => "stopped",
        StopReason::Failed => "it failed, see the log with RUST_LOG=error",
    }
}

/// Decimal, as gigabytes are priced.
fn bytes_text(bytes: u64) -> String {
    let units = [("GB", 1_000_000_000), ("MB", 1_000_000), ("kB", 1_000)];
    match units.into_iter().find(|(_, size)| bytes >= *size) {
        Some((unit, size)) => format!("{:.1} {unit}", bytes as f64 / size as f64),
        None => format!("{bytes} bytes"),
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn bytes_are_told_in_the_units_of_the_price() {
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
