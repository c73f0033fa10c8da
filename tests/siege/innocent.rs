//! An innocent account that asks for a small page ten times a second.

use std::future::Future;
use std::time::{Duration, Instant};

use serde_json::json;
use tokio::task::JoinSet;
use trawl_tests::{Caller, FakeSite};

/// Time between two requests.
const PERIOD: Duration = Duration::from_millis(100);
/// Least time that the account works.
const MOMENT: Duration = Duration::from_secs(1);
/// Bound on one answer, for all but one request in a hundred.
const SLOW: Duration = Duration::from_secs(1);
/// Bound on every answer; tests share two cores with what they attack.
const LONGEST: Duration = Duration::from_secs(5);

pub(crate) struct Innocent {
    caller: Caller,
    site: FakeSite,
}

impl Innocent {
    pub(crate) async fn new(caller: Caller) -> Self {
        let site = FakeSite::start().await;
        Self { caller, site }
    }

    /// Works without an attack: connections are open and caches filled afterwards.
    pub(crate) async fn work_for(&self, duration: Duration) {
        self.work_during(tokio::time::sleep(duration)).await.check();
    }

    /// Works until the attack is over, and for a moment at least: some attacks are refused at once.
    pub(crate) async fn work_during(&self, attack: impl Future<Output = ()>) -> Suffered {
        let mut requests = JoinSet::new();
        let mut ticks = tokio::time::interval(PERIOD);
        let moment = tokio::time::sleep(MOMENT);
        let mut attack = std::pin::pin!(async { tokio::join!(attack, moment) });
        loop {
            tokio::select! {
                _over = &mut attack => break,
                _ = ticks.tick() => {
                    requests.spawn(one_page(self.caller.clone(), self.site.url("/page")));
                }
            }
        }
        let mut suffered = Suffered::default();
        for (duration, fault) in requests.join_all().await {
            suffered.durations.push(duration);
            suffered.faults.extend(fault);
        }
        suffered.durations.sort_unstable();
        suffered
    }
}

/// Asks for one page; what was wrong with the answer.
async fn one_page(caller: Caller, url: String) -> (Duration, Option<String>) {
    let started = Instant::now();
    let body = json!({"url": url, "return_format": "text", "request": "http", "cache": false});
    let sent = caller.send(http::Method::POST, "/scrape", &[], body.to_string());
    let answer = tokio::time::timeout(LONGEST, sent).await;
    let fault = match answer {
        Err(_) => Some("no answer in time".to_owned()),
        Ok(None) => Some("no connection".to_owned()),
        Ok(Some(answer)) => {
            let text = String::from_utf8_lossy(&answer.body).into_owned();
            let is_right = answer.status == 200 && text.contains("Some text and a link.");
            (!is_right).then(|| format!("{}: {text:.300}", answer.status))
        }
    };
    (started.elapsed(), fault)
}

/// What the innocent account went through.
#[derive(Debug, Default)]
pub(crate) struct Suffered {
    /// Sorted.
    durations: Vec<Duration>,
    faults: Vec<String>,
}

impl Suffered {
    pub(crate) fn in_words(&self) -> String {
        format!(
            "{} pages, median {} ms, worst {} ms, {} wrong",
            self.durations.len(),
            self.share(50).as_millis(),
            self.share(100).as_millis(),
            self.faults.len(),
        )
    }

    /// The duration that so many of a hundred requests did not exceed.
    fn share(&self, percent: usize) -> Duration {
        let last = self.durations.len().saturating_sub(1);
        let at = (self.durations.len() * percent / 100).min(last);
        self.durations.get(at).copied().unwrap_or_default()
    }

    /// # Panics
    /// When an answer was wrong or late.
    pub(crate) fn check(&self) {
        assert!(!self.durations.is_empty(), "the innocent account worked");
        assert!(
            self.faults.is_empty(),
            "{} of {} answers are wrong, the first: {}",
            self.faults.len(),
            self.durations.len(),
            self.faults[0]
        );
        assert!(
            self.share(99).min(self.second_worst()) < SLOW,
            "{}",
            self.in_words()
        );
    }

    /// The worst but one: a single answer may be late because of the machine.
    fn second_worst(&self) -> Duration {
        let n = self.durations.len();
        self.durations[n.saturating_sub(2)]
    }
}
