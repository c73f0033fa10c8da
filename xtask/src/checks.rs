//! Everything that must hold before a change lands, cheapest first.

use std::io::{BufRead, BufReader, Write};
use std::path::Path;
use std::process::Stdio;
use std::time::Duration;

use anyhow::{Context, bail};
use trawl_guest_build::run_within;

use crate::host::Profile;
use crate::stages::Stages;
use crate::{browser, fuzzing, host, tidy, workspace};

/// All stages; the tests come last, so their closing lines end the output.
pub(crate) fn all() -> anyhow::Result<()> {
    let mut stages = Stages::default();
    stages.run("tools", tools)?;
    stages.run("format", || {
        workspace::run(&mut workspace::cargo(&["fmt", "--all", "--check"]))
    })?;
    stages.run("tidy", tidy::run)?;
    stages.run("apps", apps)?;
    stages.run("clients", clients)?;
    stages.run("build", || host::beside_plugins(compile))?;
    stages.run("bundle", bundle)?;
    stages.run("skeletons", skeletons)?;
    let fuzzed = stages.run("fuzz", fuzz)?;
    stages.run("siege", || {
        // Each attack measures an innocent caller's time. Something else may have used the machine.
        besiege(false).or_else(|error| {
            eprintln!("siege: {error:#}; once more, on what may be a quieter machine");
            besiege(false)
        })
    })?;
    let tested = stages.run("tests", || tests(&["--", "--skip", fuzzing::PREFIX]))?;
    eprintln!("\n{}", stages.summary());
    close(fuzzed.and(tested))
}

/// Builds, then runs the tests with `filter` in their name.
pub(crate) fn tests_named(filter: &str) -> anyhow::Result<()> {
    host::beside_plugins(compile)?;
    bundle()?;
    let tally = tests(&[filter])?;
    if tally.passed == 0 {
        bail!("no test has `{filter}` in its name");
    }
    close(tally)
}

/// Builds, then runs the suite `siege`: its quick form, or all attacks at once for an hour.
pub(crate) fn siege(is_long: bool) -> anyhow::Result<()> {
    host::beside_plugins(compile)?;
    besiege(is_long)
}

fn besiege(is_long: bool) -> anyhow::Result<()> {
    let mut command = workspace::linting_cargo(&[
        "test",
        "--release",
        "--workspace",
        "--test",
        "siege",
        "--",
        "--nocapture",
        "--ignored",
    ])?;
    if is_long {
        command.arg("everything_at_once");
        command.env("TRAWL_SIEGE_MINUTES", "60");
    } else {
        command.args(["--skip", "everything_at_once"]);
    }
    workspace::run(&mut command)
}

/// Compiles the workspace with its tests, and lints it on the way: a warning is an error here, and
/// only here.
fn compile() -> anyhow::Result<()> {
    workspace::run(&mut workspace::linting_cargo(&[
        "build",
        "--release",
        "--workspace",
        "--all-targets",
    ])?)
}

/// The server with its plugins inside, for the tests of a copied program.
fn bundle() -> anyhow::Result<()> {
    let file = workspace::root().join("target/bundle/trawl");
    host::pack(&Profile::Release.program("trawl"), &file)
}

/// How long rustup may take to add a component.
const COMPONENT_LIMIT: Duration = Duration::from_secs(120);

/// Rust's formatter and linter, added by rustup when they are missing, and a browser.
fn tools() -> anyhow::Result<()> {
    browser::ensure();
    for (tool, component) in [("fmt", "rustfmt"), ("clippy", "clippy")] {
        if is_there(tool)? {
            continue;
        }
        eprintln!("tools: rustup component add {component}");
        let mut rustup = std::process::Command::new("rustup");
        rustup
            .current_dir(workspace::root())
            .args(["component", "add", component]);
        run_within(&mut rustup, COMPONENT_LIMIT)?;
        if !is_there(tool)? {
            bail!("`cargo {tool}` is missing: run `rustup component add {component}`");
        }
    }
    Ok(())
}

/// JavaScript applications for the tests of the browser. Without Node.js, those tests are ignored.
fn apps() -> anyhow::Result<()> {
    if let Err(error) = crate::apps::build() {
        eprintln!("apps: {error:#}; tests that need them are ignored");
    }
    Ok(())
}

/// Validators, generators of clients and Schemathesis. Without Node.js or Python, their tests are
/// ignored.
fn clients() -> anyhow::Result<()> {
    if let Err(error) = crate::clients::install() {
        eprintln!("clients: {error:#}; tests that need them are ignored");
    }
    Ok(())
}

fn is_there(tool: &str) -> anyhow::Result<bool> {
    let mut command = workspace::cargo(&[tool, "--version"]);
    let output = command.output().context("cannot start cargo")?;
    Ok(output.status.success())
}

/// A new plugin of each kind builds, passes its own tests and is a plugin, with nothing but the
/// binary.
fn skeletons() -> anyhow::Result<()> {
    let root = workspace::root();
    let dir = root.join("target/skeletons");
    for kind in [
        "format",
        "filter",
        "extractor",
        "chunker",
        "analyst",
        "decoder",
        "provider",
    ] {
        let name = format!("new_{kind}");
        let plugin = dir.join(&name);
        if plugin.exists() {
            std::fs::remove_dir_all(&plugin).context("an older skeleton is in the way")?;
        }
        std::fs::create_dir_all(&dir)?;
        trawl(&dir, &["new", kind, &name])?;
        trawl(&plugin, &["build"])?;
        trawl(&plugin, &["test"])?;
        trawl(&plugin, &["check", &format!("target/guests/{name}.wasm")])?;
    }
    Ok(())
}

fn trawl(dir: &Path, arguments: &[&str]) -> anyhow::Result<()> {
    let root = workspace::root();
    let mut command = trawl_guest_build::cargo(root.join("target/release/trawl"));
    // One folder for the crates that all skeletons share with our own plugins.
    command.env("TRAWL_PLUGIN_TARGET_DIR", root.join("target"));
    workspace::run(command.current_dir(dir).arg("plugin").args(arguments))
}

/// What the test runner counted.
#[derive(Debug, Default, Clone, Copy, PartialEq, Eq)]
struct Tally {
    passed: u64,
    failed: u64,
    skipped: u64,
}

/// Runs all fuzz targets for a short time.
fn fuzz() -> anyhow::Result<Tally> {
    let fuzzed = fuzzing::start("", fuzzing::TIME_IN_TESTS)?.finish()?;
    let mut tally = Tally::default();
    let mut out = std::io::stdout().lock();
    for output in &fuzzed {
        out.write_all(&output.stdout)?;
        String::from_utf8_lossy(&output.stdout)
            .lines()
            .for_each(|line| tally.add(line));
    }
    if fuzzed.iter().any(|output| !output.status.success()) {
        bail!("a fuzz target failed; its input is above");
    }
    Ok(tally)
}

/// Tests at once for each core. Most wait for a socket, a timer or a browser, not for a core.
const TESTS_PER_CORE: usize = 2;

/// How many tests run at once. `RUST_TEST_THREADS` overrules it.
#[expect(
    clippy::disallowed_methods,
    reason = "the test runner reads the same variable"
)]
fn test_threads() -> anyhow::Result<usize> {
    match std::env::var("RUST_TEST_THREADS") {
        Ok(threads) => threads
            .parse()
            .context("RUST_TEST_THREADS: must be a whole number"),
        Err(_) => Ok(TESTS_PER_CORE * std::thread::available_parallelism()?.get()),
    }
}

/// Runs the workspace's tests, shows their output as it comes, and counts.
fn tests(arguments: &[&str]) -> anyhow::Result<Tally> {
    let mut command =
        workspace::linting_cargo(&["test", "--release", "--workspace", "--no-fail-fast"])?;
    command
        .args(arguments)
        .env("RUST_TEST_THREADS", test_threads()?.to_string())
        .stdin(Stdio::null())
        .stdout(Stdio::piped());
    let mut child = command.spawn().context("cannot start cargo")?;
    let mut tally = Tally::default();
    if let Some(stdout) = child.stdout.take() {
        let mut out = std::io::stdout().lock();
        for line in BufReader::new(stdout).split(b'\n') {
            let line = line.context("the tests' output ended early")?;
            out.write_all(&line)?;
            out.write_all(b"\n")?;
            tally.add(&String::from_utf8_lossy(&line));
        }
    }
    let status = child.wait()?;
    if !status.success() {
        bail!(
            "{} passed, {} failed; the failures are named above",
            tally.passed,
            tally.failed
        );
    }
    Ok(tally)
}

impl Tally {
    /// The sums of both.
    fn and(self, other: Self) -> Self {
        Self {
            passed: self.passed + other.passed,
            failed: self.failed + other.failed,
            skipped: self.skipped + other.skipped,
        }
    }

    /// Adds the numbers of a runner's closing line; other lines count nothing.
    fn add(&mut self, line: &str) {
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

fn close(tally: Tally) -> anyhow::Result<()> {
    let Tally {
        passed,
        failed,
        skipped,
    } = tally;
    writeln!(
        std::io::stdout().lock(),
        "{passed} passed, {failed} failed, {skipped} skipped"
    )?;
    Ok(())
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
        assert_eq!(
            tally,
            Tally {
                passed: 13,
                failed: 2,
                skipped: 1
            }
        );
    }
}
