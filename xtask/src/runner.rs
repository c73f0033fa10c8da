//! Runs the workspace's tests: several programs at once, since most of them wait for a socket, a
//! timer or a browser; cargo would run one after the other.

use std::collections::VecDeque;
use std::io::{BufRead, BufReader, Write};
use std::process::{Command, Stdio};
use std::sync::{Mutex, PoisonError};
use std::time::{Duration, Instant};

use anyhow::Context;

use crate::again::{self, Failed};
use crate::fuzzing;
use crate::programs::{self, TestProgram};
use crate::tally::{Ended, Tally, durations};
use crate::workspace;

/// Programs at once.
const LANES: usize = 2;
/// The program with the end-to-end tests. It takes longest, so it starts first.
const END_TO_END: &str = "it";
/// Part of the names of those of them that need the browser most.
const BROWSER: &str = "render::";

/// Tests of a program that are a job of their own.
#[derive(Debug)]
struct Part {
    /// What follows the program's title.
    name: &'static str,
    /// Arguments of the test runner that leave these tests of those that are selected.
    arguments: &'static [&'static str],
    /// Tests at once for each core.
    per_core: usize,
    /// Whether it starts after all other programs.
    is_last: bool,
}

/// All tests of a program.
const WHOLE: Part = Part {
    name: "",
    arguments: &[],
    per_core: 1,
    is_last: false,
};
/// All end-to-end tests: they wait most of the time.
const ALL_END_TO_END: Part = Part {
    per_core: 3,
    ..WHOLE
};
/// The same in two jobs, since otherwise the other lane would be empty for minutes.
const IN_TWO: [Part; 2] = [
    Part {
        arguments: &["--skip", BROWSER],
        ..ALL_END_TO_END
    },
    Part {
        name: " in the browser",
        arguments: &[BROWSER],
        per_core: 2,
        is_last: true,
    },
];

/// The jobs of a program's tests.
fn parts(program: &str, selected: Selected<'_>) -> &'static [Part] {
    match selected {
        _ if program != END_TO_END => &[WHOLE],
        Selected::All => &IN_TWO,
        // An argument that selects would select more than these.
        Selected::Named(_) => &[ALL_END_TO_END],
    }
}

/// So many of the slowest tests are named, if they take longer than this.
const SLOWEST_MAX: usize = 12;
const SLOW: Duration = Duration::from_secs(5);

/// Which tests run.
#[derive(Debug, Clone, Copy)]
pub(crate) enum Selected<'a> {
    /// All but the fuzz targets.
    All,
    /// Those whose name contains this.
    Named(&'a str),
}

impl<'a> Selected<'a> {
    /// What the test runner calls it.
    fn arguments(self) -> Vec<&'a str> {
        match self {
            Self::All => vec!["--skip", fuzzing::PREFIX],
            Self::Named(part) => vec![part],
        }
    }
}

/// What all programs reported.
#[derive(Debug, Default)]
pub(crate) struct Report {
    pub(crate) tally: Tally,
    /// Tests that failed, and programs that ended badly without naming one.
    pub(crate) failures: Vec<String>,
    /// Tests that failed and passed when they ran once more by themselves.
    pub(crate) passed_alone: Vec<String>,
    failed: Vec<Failed>,
    durations: Vec<(String, Duration)>,
}

/// A process that runs tests.
struct Job {
    title: String,
    /// The program, unless cargo makes one for each example.
    program: Option<TestProgram>,
    command: Command,
    n_threads: usize,
    /// Whether the times of its lines say how long its tests took.
    is_measured: bool,
}

/// Compiles and runs all tests that are selected, and a few that failed once more. Their output is
/// shown program by program.
///
/// # Errors
/// They do not compile, or a program cannot be started. Failures are in the report.
pub(crate) fn run(selected: Selected<'_>) -> anyhow::Result<Report> {
    let mut report = run_once(selected)?;
    // What cannot be tried again has failed anyway.
    if report.failed.len() == report.failures.len() {
        let passed = again::passed(&report.failed)?;
        let passed: Vec<String> = passed.into_iter().map(str::to_owned).collect();
        report.have_passed_alone(passed);
    }
    Ok(report)
}

fn run_once(selected: Selected<'_>) -> anyhow::Result<Report> {
    let jobs = Mutex::new(jobs(selected)?);
    let (front, report) = (Mutex::new(Front::default()), Mutex::new(Report::default()));
    let lane = || -> anyhow::Result<()> {
        loop {
            let job = lock(&jobs).pop_front();
            let Some(job) = job else { return Ok(()) };
            let ended = run_job(job, &front)?;
            lock(&report).add(ended);
        }
    };
    std::thread::scope(|scope| {
        let lanes: Vec<_> = (0..LANES).map(|_| scope.spawn(lane)).collect();
        let ended = lanes.into_iter().map(|lane| match lane.join() {
            Ok(ended) => ended,
            Err(panic) => std::panic::resume_unwind(panic),
        });
        ended.collect::<anyhow::Result<()>>()
    })?;
    Ok(report.into_inner().unwrap_or_else(PoisonError::into_inner))
}

/// The programs, those that take long first, and the examples in comments.
fn jobs(selected: Selected<'_>) -> anyhow::Result<VecDeque<Job>> {
    let mut programs = programs::compiled()?;
    let size = |program: &TestProgram| std::fs::metadata(&program.file).map_or(0, |it| it.len());
    // What links more tests more.
    programs.sort_by_key(|program| {
        let is_end_to_end = program.name == END_TO_END;
        (!is_end_to_end, std::cmp::Reverse(size(program)))
    });
    let (mut jobs, mut last) = (VecDeque::new(), Vec::new());
    for program in programs {
        for part in parts(&program.name, selected) {
            let job = Job::of(&program, part, selected)?;
            match part.is_last {
                true => last.push(job),
                false => jobs.push_back(job),
            }
        }
    }
    jobs.extend(last);
    let mut examples = workspace::linting_cargo(&["test", "--workspace", "--doc"])?;
    examples
        .args(["--no-fail-fast", "--"])
        .args(selected.arguments());
    let title = "examples in comments".to_owned();
    let examples = Job {
        // Many programs, one after the other.
        is_measured: false,
        ..Job::new(title, examples, WHOLE.per_core)?
    };
    // At the same time as the longest program, not alone at the end.
    jobs.insert(1.min(jobs.len()), examples);
    Ok(jobs)
}

impl Job {
    /// The tests of a part of a program that are selected.
    fn of(program: &TestProgram, part: &Part, selected: Selected<'_>) -> anyhow::Result<Self> {
        let mut command = trawl_guest_build::cargo(&program.file);
        command
            .current_dir(&program.folder)
            .args(selected.arguments())
            .args(part.arguments);
        let title = program.title(&workspace::root());
        let job = Self::new(format!("{title}{}", part.name), command, part.per_core)?;
        Ok(Self {
            program: Some(program.clone()),
            ..job
        })
    }

    fn new(title: String, mut command: Command, per_core: usize) -> anyhow::Result<Self> {
        let n_threads = test_threads(per_core)?;
        command
            .env("RUST_TEST_THREADS", n_threads.to_string())
            .stdin(Stdio::null())
            .stdout(Stdio::piped());
        Ok(Self {
            title,
            program: None,
            command,
            n_threads,
            is_measured: true,
        })
    }
}

/// How many tests run at once. `RUST_TEST_THREADS` overrules it.
#[expect(
    clippy::disallowed_methods,
    reason = "the test runner reads the same variable"
)]
fn test_threads(per_core: usize) -> anyhow::Result<usize> {
    match std::env::var("RUST_TEST_THREADS") {
        Ok(threads) => threads
            .parse()
            .context("RUST_TEST_THREADS: must be a whole number"),
        Err(_) => Ok(per_core * std::thread::available_parallelism()?.get()),
    }
}

/// Runs a program to its end.
fn run_job(mut job: Job, front: &Mutex<Front>) -> anyhow::Result<Report> {
    let (title, begun) = (job.title, Instant::now());
    let child = job.command.spawn();
    let mut child = child.with_context(|| format!("cannot start the tests of {title}"))?;
    let (mut report, mut ended) = (Report::default(), Vec::new());
    lock(front).begin(&title, &mut std::io::stdout())?;
    if let Some(stdout) = child.stdout.take() {
        for line in BufReader::new(stdout).split(b'\n') {
            let line = line.context("the tests' output ended early")?;
            let text = String::from_utf8_lossy(&line).into_owned();
            report.tally.add(&text);
            ended.extend(Ended::parse(&text, begun.elapsed()));
            lock(front).line(&title, &line, &mut std::io::stdout())?;
        }
    }
    let status = child.wait()?;
    lock(front).end(&title, &mut std::io::stdout())?;
    let named = |name: &str| format!("{title}: {name}");
    for test in ended.iter().filter(|test| test.has_failed) {
        let title = named(&test.name);
        let program = job.program.iter();
        let failed = program.map(|program| Failed::new(title.clone(), program, &test.name));
        report.failed.extend(failed);
        report.failures.push(title);
    }
    if !status.success() && report.failures.is_empty() {
        report.failures.push(named(&status.to_string()));
    }
    if job.is_measured {
        let took = durations(&ended, job.n_threads).into_iter();
        report.durations = took.map(|(name, took)| (named(&name), took)).collect();
    }
    Ok(report)
}

impl Report {
    fn add(&mut self, other: Self) {
        self.tally = self.tally.and(other.tally);
        self.failures.extend(other.failures);
        self.passed_alone.extend(other.passed_alone);
        self.failed.extend(other.failed);
        self.durations.extend(other.durations);
    }

    /// Tests that failed have passed by themselves.
    fn have_passed_alone(&mut self, passed: Vec<String>) {
        self.failures.retain(|failure| !passed.contains(failure));
        self.tally.failed -= passed.len() as u64;
        self.tally.passed += passed.len() as u64;
        self.passed_alone = passed;
    }

    /// The slowest tests, one a line, with what they took.
    pub(crate) fn slowest(&self) -> String {
        let mut slow: Vec<_> = self
            .durations
            .iter()
            .filter(|(_, took)| *took > SLOW)
            .collect();
        slow.sort_by_key(|(_, took)| std::cmp::Reverse(*took));
        let lines = slow.into_iter().take(SLOWEST_MAX);
        lines
            .map(|(name, took)| format!("  {:>5.1} s  {name}\n", took.as_secs_f64()))
            .collect()
    }
}

/// Shows the output of one program as it comes, and the output of the others after it.
#[derive(Default)]
struct Front {
    /// The program that is shown.
    shown: Option<String>,
    /// Lines of others, in the order in which they started.
    waiting: Vec<(String, Vec<u8>)>,
    running: Vec<String>,
}

impl Front {
    /// A program has started; its heading.
    fn begin(&mut self, title: &str, out: &mut dyn Write) -> std::io::Result<()> {
        self.running.push(title.to_owned());
        let heading = format!("\n--- {title}");
        self.line(title, heading.as_bytes(), out)
    }

    /// A line of a program.
    fn line(&mut self, title: &str, line: &[u8], out: &mut dyn Write) -> std::io::Result<()> {
        let shown = self.shown.get_or_insert_with(|| title.to_owned());
        if shown == title {
            out.write_all(line)?;
            out.write_all(b"\n")?;
            return out.flush();
        }
        let at = match self.waiting.iter().position(|(known, _)| known == title) {
            Some(at) => at,
            None => {
                self.waiting.push((title.to_owned(), Vec::new()));
                self.waiting.len() - 1
            }
        };
        let (_, lines) = &mut self.waiting[at];
        lines.extend_from_slice(line);
        lines.push(b'\n');
        Ok(())
    }

    /// A program has ended. If it was the one that is shown, the others' lines follow, and one that
    /// still runs is shown from now on.
    fn end(&mut self, title: &str, out: &mut dyn Write) -> std::io::Result<()> {
        self.running.retain(|running| running != title);
        if self.shown.as_deref() != Some(title) {
            return Ok(());
        }
        self.shown = None;
        let running = &self.running;
        // Its lines follow those that are there.
        self.waiting
            .sort_by_key(|(title, _)| running.contains(title));
        for (title, lines) in self.waiting.drain(..) {
            out.write_all(&lines)?;
            self.shown = Some(title).filter(|title| running.contains(title));
        }
        out.flush()
    }
}

fn lock<T>(mutex: &Mutex<T>) -> std::sync::MutexGuard<'_, T> {
    mutex.lock().unwrap_or_else(PoisonError::into_inner)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn one_program_is_shown_and_the_others_follow() {
        let (mut front, mut out) = (Front::default(), Vec::new());
        let shown = |out: &[u8]| String::from_utf8_lossy(out).replace('\n', "|");
        front.begin("a", &mut out).expect("written");
        front.begin("b", &mut out).expect("written");
        front.line("b", b"b1", &mut out).expect("written");
        front.line("a", b"a1", &mut out).expect("written");
        assert_eq!(shown(&out), "|--- a|a1|");
        front.end("b", &mut out).expect("written");
        front.begin("c", &mut out).expect("written");
        front.line("c", b"c1", &mut out).expect("written");
        front.line("a", b"a2", &mut out).expect("written");
        assert_eq!(shown(&out), "|--- a|a1|a2|");
        // What still runs is shown from now on.
        front.end("a", &mut out).expect("written");
        front.line("c", b"c2", &mut out).expect("written");
        assert_eq!(shown(&out), "|--- a|a1|a2||--- b|b1||--- c|c1|c2|");
        front.end("c", &mut out).expect("written");
        front.begin("d", &mut out).expect("written");
        front.end("d", &mut out).expect("written");
        assert!(shown(&out).ends_with("c2||--- d|"), "{}", shown(&out));
    }

    #[test]
    fn each_test_is_in_one_part_of_its_program() {
        let has = |part: &Part, test: &str| match part.arguments {
            [] => true,
            [only] => test.contains(only),
            ["--skip", but] => !test.contains(but),
            other => panic!("{other:?}"),
        };
        for program in [END_TO_END, "trawl_net"] {
            for selected in [Selected::All, Selected::Named("x")] {
                for test in [
                    "render::steps::one",
                    "money::kill::one",
                    "documentation::rendering",
                ] {
                    let parts = parts(program, selected).iter();
                    assert_eq!(parts.filter(|part| has(part, test)).count(), 1, "{test}");
                }
            }
        }
        assert_eq!(parts(END_TO_END, Selected::All).len(), 2);
        assert_eq!(Selected::All.arguments(), ["--skip", "fuzz::"]);
        assert_eq!(Selected::Named("x").arguments(), ["x"]);
    }

    #[test]
    fn what_has_passed_alone_has_not_failed() {
        let names = |names: &[&str]| names.iter().map(|&name| name.to_owned()).collect();
        let mut report = Report {
            tally: Tally {
                passed: 5,
                failed: 2,
                skipped: 0,
            },
            failures: names(&["a", "b"]),
            ..Report::default()
        };
        report.have_passed_alone(names(&["b"]));
        assert_eq!(report.tally.to_string(), "6 passed, 1 failed, 0 skipped");
        assert_eq!(report.failures, ["a"]);
        assert_eq!(report.passed_alone, ["b"]);
    }

    #[test]
    fn the_slowest_tests_are_named_first() {
        let took = |name: &str, seconds| (name.to_owned(), Duration::from_secs(seconds));
        let report = Report {
            durations: vec![took("a", 6), took("b", 1), took("c", 60)],
            ..Report::default()
        };
        assert_eq!(report.slowest(), "   60.0 s  c\n    6.0 s  a\n");
    }
}
