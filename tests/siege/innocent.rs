//! An innocent account that asks for a small page ten times a second.

use std::future::Future;
use std::sync::{Mutex, MutexGuard, PoisonError};
use std::time::{Duration, Instant};

use serde_json::json;
use tokio::net::TcpStream;
use tokio::task::JoinSet;
use trawl_tests::Caller;
use trawl_tests::http_server::{self, Listening};
use trawl_tests::site::PAGE;

/// Time between two requests.
const PERIOD: Duration = Duration::from_millis(100);
/// Least time that the account works.
const MOMENT: Duration = Duration::from_secs(1);
/// Bound on one answer, for all but one request in a hundred.
const SLOW: Duration = Duration::from_secs(1);
/// Bound on every answer; tests share two cores with what they attack.
const LONGEST: Duration = Duration::from_secs(5);

/// The path of the page that it asks for.
const PATH: &str = "/page";

pub(crate) struct Innocent {
    caller: Caller,
    site: Listening,
    /// What it went through in the work of the moment.
    suffered: Mutex<Suffered>,
}

impl Innocent {
    pub(crate) async fn new(caller: Caller) -> Self {
        Self {
            caller,
            site: Listening::start("127.0.0.1", serve).await,
            suffered: Mutex::default(),
        }
    }

    /// Works while others may be attacked: afterwards caches are filled. Answers may be late.
    pub(crate) async fn warm_up(&self, duration: Duration) {
        let warm = self.work_while(tokio::time::sleep(duration)).await;
        warm.check_answers();
    }

    /// Works without an attack: afterwards connections are open.
    pub(crate) async fn work_for(&self, duration: Duration) {
        self.work_while(tokio::time::sleep(duration)).await.check();
    }

    /// Works until the attack is over, and for a moment at least: some attacks are refused at once.
    pub(crate) async fn work_during(&self, attack: impl Future<Output = ()>) -> Suffered {
        let moment = tokio::time::sleep(MOMENT);
        let both = async {
            tokio::join!(attack, moment);
        };
        self.work_while(both).await
    }

    async fn work_while(&self, other: impl Future<Output = ()>) -> Suffered {
        let url = format!("http://{}{PATH}", self.site.address);
        let mut requests = JoinSet::new();
        let mut ticks = tokio::time::interval(PERIOD);
        let mut other = std::pin::pin!(other);
        loop {
            tokio::select! {
                () = &mut other => break,
                _ = ticks.tick() => {
                    requests.spawn(one_page(self.caller.clone(), url.clone()));
                }
                Some(ended) = requests.join_next() => {
                    let (duration, fault) = ended.expect("a request does not panic");
                    self.suffered().add(duration, fault);
                }
            }
        }
        for (duration, fault) in requests.join_all().await {
            self.suffered().add(duration, fault);
        }
        std::mem::take(&mut *self.suffered())
    }

    /// What it went through so far, in the work that has not ended.
    pub(crate) fn so_far(&self) -> Suffered {
        self.suffered().clone()
    }

    fn suffered(&self) -> MutexGuard<'_, Suffered> {
        self.suffered.lock().unwrap_or_else(PoisonError::into_inner)
    }
}

/// Its site: one page. It keeps nothing of its visitors, who come for an hour.
async fn serve(mut stream: TcpStream) {
    let headers = [("content-type".to_owned(), "text/html".to_owned())];
    while let Some(received) = http_server::read(&mut stream).await {
        let is_page = received.first_line().is_some_and(|(_, path)| path == PATH);
        let (status, body) = if is_page { (200, PAGE) } else { (404, "") };
        let sent = http_server::write(&mut stream, status, &headers, body.as_bytes());
        if sent.await.is_none() {
            return;
        }
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

/// What the innocent account went through. It has the same size however long that was.
#[derive(Clone, Debug)]
pub(crate) struct Suffered {
    /// How many requests took so many milliseconds; the last is for all that took longer.
    by_milliseconds: Vec<u64>,
    n_requests: u64,
    n_faults: u64,
    first_fault: Option<String>,
}

impl Default for Suffered {
    fn default() -> Self {
        Self {
            by_milliseconds: vec![0; LONGEST.as_millis() as usize + 2],
            n_requests: 0,
            n_faults: 0,
            first_fault: None,
        }
    }
}

impl Suffered {
    fn add(&mut self, duration: Duration, fault: Option<String>) {
        let last = self.by_milliseconds.len() - 1;
        self.by_milliseconds[(duration.as_millis() as usize).min(last)] += 1;
        self.n_requests += 1;
        self.n_faults += u64::from(fault.is_some());
        if self.first_fault.is_none() {
            self.first_fault = fault;
        }
    }

    /// What came after an earlier moment of the same work. Which fault was the first is not known.
    pub(crate) fn since(&self, earlier: &Self) -> Self {
        let both = self.by_milliseconds.iter().zip(&earlier.by_milliseconds);
        Self {
            by_milliseconds: both.map(|(now, then)| now - then).collect(),
            n_requests: self.n_requests - earlier.n_requests,
            n_faults: self.n_faults - earlier.n_faults,
            first_fault: None,
        }
    }

    pub(crate) fn in_words(&self) -> String {
        format!(
            "{} pages, median {} ms, worst {} ms, {} wrong",
            self.n_requests,
            self.share(50).as_millis(),
            self.share(100).as_millis(),
            self.n_faults,
        )
    }

    /// Requests, wrong answers among them, and milliseconds: the median, what 99 of a hundred did
    /// not exceed, and the worst.
    pub(crate) fn figures(&self) -> [u64; 5] {
        let [median, most, worst] = [50, 99, 100].map(|share| self.share(share).as_millis() as u64);
        [self.n_requests, self.n_faults, median, most, worst]
    }

    /// The duration that so many of a hundred requests did not exceed.
    fn share(&self, percent: u64) -> Duration {
        self.ranked(self.n_requests * percent / 100)
    }

    /// The duration at this place among all, in order, in whole milliseconds; the longest where
    /// there are not so many.
    fn ranked(&self, place: u64) -> Duration {
        let place = place.min(self.n_requests.saturating_sub(1));
        let mut so_many: u64 = 0;
        let at = self.by_milliseconds.iter().position(|n| {
            so_many += n;
            so_many > place
        });
        Duration::from_millis(at.unwrap_or_default() as u64)
    }

    /// # Panics
    /// When an answer was wrong or late.
    pub(crate) fn check(&self) {
        self.check_answers();
        assert!(
            self.share(99).min(self.second_worst()) < SLOW,
            "{}",
            self.in_words()
        );
    }

    /// # Panics
    /// When an answer was wrong.
    fn check_answers(&self) {
        assert!(self.n_requests > 0, "the innocent account worked");
        assert!(
            self.n_faults == 0,
            "{} of {} answers are wrong, the first: {}",
            self.n_faults,
            self.n_requests,
            self.first_fault.as_deref().unwrap_or_default()
        );
    }

    /// The worst but one: a single answer may be late because of the machine.
    fn second_worst(&self) -> Duration {
        self.ranked(self.n_requests.saturating_sub(2))
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn suffered(milliseconds: impl IntoIterator<Item = u64>) -> Suffered {
        let mut suffered = Suffered::default();
        for duration in milliseconds {
            suffered.add(Duration::from_millis(duration), None);
        }
        suffered
    }

    #[test]
    fn shares_are_those_of_the_sorted_durations() {
        let all = suffered((1..=1_000).rev());
        assert_eq!(all.figures(), [1_000, 0, 501, 991, 1_000]);
        assert_eq!(all.second_worst(), Duration::from_millis(999));
        assert_eq!(suffered([7]).figures(), [1, 0, 7, 7, 7]);
        assert_eq!(suffered([]).figures(), [0; 5]);
    }

    #[test]
    fn a_period_has_what_came_in_it() {
        let mut all = suffered([5, 900]);
        let before = all.clone();
        all.add(Duration::from_millis(20), Some("wrong".to_owned()));
        all.add(LONGEST * 3, None);
        let longest = LONGEST.as_millis() as u64 + 1;
        assert_eq!(
            all.since(&before).figures(),
            [2, 1, longest, longest, longest]
        );
        assert_eq!(all.figures()[..2], [4, 1]);
    }

    #[test]
    #[should_panic(expected = "1 of 2 answers are wrong, the first: no connection")]
    fn a_wrong_answer_is_named() {
        let mut all = suffered([5]);
        all.add(Duration::ZERO, Some("no connection".to_owned()));
        all.check();
    }

    #[tokio::test]
    async fn work_is_counted_while_it_goes_on() {
        // Nothing listens there: each request ends at once, and is a fault.
        let nowhere = Caller::new("127.0.0.1:9".parse().unwrap(), "tr_none");
        let innocent = Innocent::new(nowhere).await;
        let all = innocent
            .work_during(async {
                let counted = async {
                    while innocent.so_far().n_requests < 2 {
                        tokio::time::sleep(Duration::from_millis(20)).await;
                    }
                };
                let in_time = tokio::time::timeout(Duration::from_secs(20), counted);
                in_time.await.expect("counted while it goes on");
            })
            .await;
        assert!(all.n_requests >= 2, "{}", all.in_words());
        assert_eq!(all.n_faults, all.n_requests);
        assert_eq!(innocent.so_far().n_requests, 0);
    }
}
