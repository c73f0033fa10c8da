//! What one judge compares: rounds of inputs until the time is over, differences, exceptions.

use std::collections::BTreeMap;
use std::fmt::Write as _;
use std::hash::{BuildHasher, RandomState};
use std::io::Write as _;
use std::time::{Duration, Instant};

use crate::draw::Draw;

/// How long a judge draws in the checks, and so many rounds at most, which are the same each time:
/// what is found by chance must not stop a change that has nothing to do with it.
const QUICK: Duration = Duration::from_secs(5);
const QUICK_ROUNDS_MAX: u64 = 3;
const QUICK_SEED: u64 = 1;
/// How long a judge draws, in seconds; set by `cargo xtask conformance`.
const SECONDS: &str = "TRAWL_CONFORMANCE_SECONDS";
/// The seed of an earlier run.
const SEED: &str = "TRAWL_CONFORMANCE_SEED";
/// A judge that found so many differences stops: most have one cause.
const DIFFERENCES_MAX: usize = 20;
/// Characters of an input or an answer that are shown.
const SHOWN_MAX: usize = 4_000;

/// What a judge and the server make of one input.
#[derive(Clone, Debug)]
pub(crate) struct Difference {
    pub(crate) input: String,
    pub(crate) judge: String,
    pub(crate) trawl: String,
}

/// Differences that are known, and why they stay.
pub(crate) struct Exception {
    pub(crate) reason: &'static str,
    pub(crate) covers: fn(&Difference) -> bool,
}

/// The comparisons of one judge.
pub(crate) struct Trial {
    judge: &'static str,
    exceptions: &'static [Exception],
    seed: u64,
    begun: Instant,
    time: Duration,
    n_rounds_max: u64,
    n_rounds: u64,
    n_compared: u64,
    excepted: BTreeMap<&'static str, u64>,
    differences: Vec<String>,
}

impl Trial {
    /// A judge of this name, with its exceptions.
    pub(crate) fn of(judge: &'static str, exceptions: &'static [Exception]) -> Self {
        let seconds = variable(SECONDS).map(Duration::from_secs);
        let (seed, n_rounds_max) = match seconds {
            None => (QUICK_SEED, QUICK_ROUNDS_MAX),
            Some(_) => (RandomState::new().hash_one(judge) >> 16, u64::MAX),
        };
        Self {
            judge,
            exceptions,
            seed: variable(SEED).unwrap_or(seed),
            begun: Instant::now(),
            time: seconds.unwrap_or(QUICK),
            n_rounds_max,
            n_rounds: 0,
            n_compared: 0,
            excepted: BTreeMap::new(),
            differences: Vec::new(),
        }
    }

    /// The choices of the next round; `None` when the time is over or enough differences were
    /// found. There is always a first round.
    pub(crate) fn round(&mut self) -> Option<Draw> {
        let is_over = self.begun.elapsed() >= self.time || self.n_rounds >= self.n_rounds_max;
        if (is_over && self.n_rounds > 0) || self.differences.len() >= DIFFERENCES_MAX {
            return None;
        }
        let draw = Draw::of(
            self.seed
                .wrapping_add(self.n_rounds.wrapping_mul(0x1_0000_0001)),
        );
        self.n_rounds += 1;
        Some(draw)
    }

    /// Compares the two answers to an input.
    pub(crate) fn compare(&mut self, input: &str, judge: &str, trawl: &str) {
        self.n_compared += 1;
        if judge == trawl {
            return;
        }
        let difference = Difference {
            input: input.to_owned(),
            judge: judge.to_owned(),
            trawl: trawl.to_owned(),
        };
        let known = self.exceptions.iter().find(|row| (row.covers)(&difference));
        if let Some(row) = known {
            *self.excepted.entry(row.reason).or_default() += 1;
            return;
        }
        let text = format!(
            "{}: round {} of seed {}\n  input: {}\n  judge: {}\n  trawl: {}",
            self.judge,
            self.n_rounds,
            self.seed,
            shown(input),
            shown(judge),
            shown(trawl)
        );
        self.differences.push(text);
    }

    /// Prints what was compared.
    ///
    /// # Panics
    /// When something differed, with what and how, or nothing was compared.
    pub(crate) fn close(self) {
        let mut text = format!(
            "conformance: {}: seed {}, {} rounds in {:.0} s, {} comparisons, {} differences",
            self.judge,
            self.seed,
            self.n_rounds,
            self.begun.elapsed().as_secs_f64(),
            self.n_compared,
            self.differences.len()
        );
        for (reason, n) in &self.excepted {
            write!(text, "\n  {n} times: {reason}").expect("a string takes all");
        }
        // Not by a macro: the test runner keeps what those print of a test that passes.
        writeln!(std::io::stderr(), "{text}").expect("an output");
        assert!(self.n_compared > 0, "{}: nothing was compared", self.judge);
        assert!(
            self.differences.is_empty(),
            "{text}\n{}",
            self.differences.join("\n")
        );
    }
}

/// An environment variable that is a number.
#[expect(
    clippy::disallowed_methods,
    reason = "the length of a draw and its seed come from its caller"
)]
fn variable(name: &str) -> Option<u64> {
    let text = std::env::var(name).ok()?;
    Some(text.parse().expect("a whole number"))
}

fn shown(text: &str) -> String {
    text.chars().take(SHOWN_MAX).collect()
}

#[test]
fn differences_are_counted_and_excepted() {
    const ROWS: [Exception; 1] = [Exception {
        reason: "a judge that counts from one",
        covers: |it| it.judge == "1" && it.trawl == "0",
    }];
    let mut trial = Trial::of("test", &ROWS);
    trial.compare("a", "2", "2");
    trial.compare("b", "1", "0");
    assert!(trial.differences.is_empty());
    trial.compare("c", "0", "1");
    assert_eq!((trial.n_compared, trial.differences.len()), (3, 1));
    assert!(trial.differences[0].contains("input: c"));
}
