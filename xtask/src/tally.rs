//! What the lines of test programs say: how many tests passed, which failed, how long each took.

use std::time::Duration;

/// What test programs counted.
#[derive(Debug, Default, Clone, Copy, PartialEq, Eq)]
pub(crate) struct Tally {
    pub(crate) passed: u64,
    pub(crate) failed: u64,
    pub(crate) skipped: u64,
}

impl Tally {
    /// The sums of both.
    pub(crate) fn and(self, other: Self) -> Self {
        Self {
            passed: self.passed + other.passed,
            failed: self.failed + other.failed,
            skipped: self.skipped + other.skipped,
        }
    }

    /// Adds the numbers of a program's closing line; other lines count nothing.
    pub(crate) fn add(&mut self, line: &str) {
        let Some((_, counts)) = line
            .split_once("test result: ")
            .and_then(|(_, rest)| rest.split_once(". "))
        else {
            return;
        };
        for count in counts.split(';') {
            let mut words = count.split_whitespace();
            let number = words
                .next()
                .and_then(|word| word.parse::<u64>().ok())
                .unwrap_or(0);
            match words.next() {
                Some("passed") => self.passed += number,
                Some("failed") => self.failed += number,
                Some("ignored") => self.skipped += number,
                _ => {}
            }
        }
    }
}

/// The line that ends the checks.
impl std::fmt::Display for Tally {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        let Self {
            passed,
            failed,
            skipped,
        } = self;
        write!(f, "{passed} passed, {failed} failed, {skipped} skipped")
    }
}

/// A test that has ended.
#[derive(Debug, Clone, PartialEq, Eq)]
pub(crate) struct Ended {
    pub(crate) name: String,
    pub(crate) has_failed: bool,
    /// Time since the start of its program.
    pub(crate) at: Duration,
}

impl Ended {
    /// The test of a line such as `test rooms::a_test ... ok`, printed at that time.
    pub(crate) fn parse(line: &str, at: Duration) -> Option<Self> {
        let (name, result) = line.strip_prefix("test ")?.split_once(" ... ")?;
        Some(Self {
            name: name.trim_end_matches(" - should panic").to_owned(),
            has_failed: result.starts_with("FAILED"),
            at,
        })
    }
}

/// How long each test took, in a program that runs so many at once. The test runner starts them in
/// the order of their names, the next one as soon as one has ended.
pub(crate) fn durations(ended: &[Ended], n_threads: usize) -> Vec<(String, Duration)> {
    let mut by_name: Vec<&Ended> = ended.iter().collect();
    by_name.sort_by(|one, other| one.name.cmp(&other.name));
    let mut ends: Vec<Duration> = ended.iter().map(|test| test.at).collect();
    ends.sort_unstable();
    let started = |index: usize| match index.checked_sub(n_threads) {
        Some(before) => ends.get(before).copied().unwrap_or_default(),
        None => Duration::ZERO,
    };
    let tests = by_name.into_iter().enumerate();
    tests
        .map(|(index, test)| (test.name.clone(), test.at.saturating_sub(started(index))))
        .collect()
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn closing_lines_are_added_up() {
        let mut tally = Tally::default();
        tally.add("test result: ok. 12 passed; 0 failed; 1 ignored; 0 measured; 3 filtered out; finished in 0.1s");
        tally.add("test result: FAILED. 1 passed; 2 failed; 0 ignored; 0 measured; 0 filtered out; finished in 0.1s");
        tally.add("test rooms::a_test ... ok");
        let expected = Tally {
            passed: 13,
            failed: 2,
            skipped: 1,
        };
        assert_eq!(tally, expected);
        assert_eq!(tally.to_string(), "13 passed, 2 failed, 1 skipped");
    }

    #[test]
    fn the_lines_of_tests_are_read() {
        let at = Duration::from_secs(1);
        let ended = |line: &str| Ended::parse(line, at);
        let passed = ended("test rooms::a_test ... ok").expect("a test");
        assert_eq!(
            (passed.name.as_str(), passed.has_failed),
            ("rooms::a_test", false)
        );
        let failed = ended("test a - should panic ... FAILED").expect("a test");
        assert_eq!((failed.name.as_str(), failed.has_failed), ("a", true));
        assert_eq!(ended("test result: ok. 1 passed; 0 failed"), None);
        assert_eq!(ended("testing ... ok"), None);
    }

    #[test]
    fn a_test_starts_when_one_before_it_ends() {
        let at = |name: &str, seconds: u64| Ended {
            name: name.to_owned(),
            has_failed: false,
            at: Duration::from_secs(seconds),
        };
        // Two at once: `a` and `b`, then `c` when `b` ends, then `d` when `c` ends.
        let ended = [at("b", 1), at("c", 3), at("a", 4), at("d", 9)];
        let took: Vec<_> = durations(&ended, 2)
            .into_iter()
            .map(|(name, took)| (name, took.as_secs()))
            .collect();
        let expected = [("a", 4), ("b", 1), ("c", 2), ("d", 6)];
        let expected = expected.map(|(name, took)| (name.to_owned(), took));
        assert_eq!(took, expected);
    }
}
