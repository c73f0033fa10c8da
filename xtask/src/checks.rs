//! Everything that must hold before a change lands, cheapest first.

use std::io::Write;
use std::time::Duration;

use anyhow::{Context, bail};
use trawl_guest_build::run_within;

use crate::host::Profile;
use crate::runner::{self, Report, Selected};
use crate::stages::Stages;
use crate::tally::Tally;
use crate::{browser, console, fuzzing, host, postgres, siege, skeletons, tidy, workspace};

/// All stages; the tests come last, so their closing lines end the output.
pub(crate) fn all() -> anyhow::Result<()> {
    let mut stages = Stages::default();
    stages.run("tools", tools)?;
    stages.run("format", || {
        workspace::run(&mut workspace::cargo(&["fmt", "--all", "--check"]))
    })?;
    stages.run("tidy", tidy::run)?;
    stages.run("apps, clients, build", || {
        host::beside_plugins(|| {
            // They wait for registries. The build of the tests looks for them, the build of plugins
            // does not.
            apps();
            clients();
            judges();
            compile()
        })
    })?;
    // Targets run for a fixed time at low priority.
    let fuzzed = stages.run("bundle, skeletons, fuzz", || {
        let targets = fuzzing::start("", fuzzing::TIME_IN_TESTS)?;
        let built = bundle().and_then(|()| skeletons::check());
        let fuzzed = fuzz(targets);
        built.and(fuzzed)
    })?;
    stages.run("siege", siege::all)?;
    let tested = stages.run("tests", || tests(Selected::All))?;
    eprintln!("\n{}", stages.summary());
    close(fuzzed.and(tested.tally), &tested.failures)
}

/// Builds, then runs the tests with `filter` in their name.
pub(crate) fn tests_named(filter: &str) -> anyhow::Result<()> {
    host::beside_plugins(compile)?;
    bundle()?;
    let Report {
        tally, failures, ..
    } = tests(Selected::Named(filter))?;
    if tally == Tally::default() {
        bail!("no test has `{filter}` in its name");
    }
    close(tally, &failures)
}

/// The test that takes the pictures of README.
const TAKES_PICTURES: &str = "pictures_of_the_readme_are_taken";

/// Takes the pictures of README, and puts them where it shows them.
pub(crate) fn pictures() -> anyhow::Result<()> {
    browser::ensure();
    console::forget_pictures()?;
    tests_named(TAKES_PICTURES)?;
    console::keep_pictures()
}

/// Builds, then runs the suite `siege`: its quick form, or all attacks at once for so many minutes.
pub(crate) fn siege(minutes: Option<u64>) -> anyhow::Result<()> {
    host::beside_plugins(compile)?;
    minutes.map_or_else(siege::all, siege::long)
}

/// Judges at once in a long draw: all of them. Those that need the browser take turns.
const JUDGES: &str = "32";

/// Builds, then lets the judges with `judge` in their name draw for so many minutes each.
pub(crate) fn conformance(judge: &str, minutes: u64, seed: Option<u64>) -> anyhow::Result<()> {
    browser::ensure();
    host::beside_plugins(|| {
        // The build of the tests looks for them.
        judges();
        compile()
    })?;
    let mut command = workspace::linting_cargo(&[
        "test",
        "--workspace",
        "--test",
        "conformance",
        "--",
        "--include-ignored",
        judge,
    ])?;
    command
        .env("RUST_TEST_THREADS", JUDGES)
        .env("TRAWL_CONFORMANCE_SECONDS", (60 * minutes).to_string());
    if let Some(seed) = seed {
        command.env("TRAWL_CONFORMANCE_SEED", seed.to_string());
    }
    workspace::run(&mut command)
}

/// Compiles the workspace with its tests, and lints it on the way: a warning is an error here, and
/// only here.
fn compile() -> anyhow::Result<()> {
    workspace::run(&mut workspace::linting_cargo(&[
        "build",
        "--workspace",
        "--all-targets",
    ])?)
}

/// The server with its plugins inside, for the tests of a copied program.
fn bundle() -> anyhow::Result<()> {
    let file = workspace::root().join("target/bundle/trawl");
    host::pack(&Profile::Dev.program("trawl"), &file)
}

/// How long rustup may take to add a component.
const COMPONENT_LIMIT: Duration = Duration::from_secs(120);

/// Rust's formatter and linter, added by rustup when they are missing, a browser and PostgreSQL.
fn tools() -> anyhow::Result<()> {
    browser::ensure();
    postgres::ensure();
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
fn apps() {
    if let Err(error) = crate::apps::build() {
        eprintln!("apps: {error:#}; tests that need them are ignored");
    }
}

/// Validators, generators of clients and Schemathesis. Without Node.js or Python, their tests are
/// ignored.
fn clients() {
    if let Err(error) = crate::clients::install() {
        eprintln!("clients: {error:#}; tests that need them are ignored");
    }
}

/// Programs of others that the server is held against. Without Python, their tests are ignored.
fn judges() {
    if let Err(error) = crate::judges::install() {
        eprintln!("judges: {error:#}; tests that need them are ignored");
    }
}

fn is_there(tool: &str) -> anyhow::Result<bool> {
    let mut command = workspace::cargo(&[tool, "--version"]);
    let output = command.output().context("cannot start cargo")?;
    Ok(output.status.success())
}

/// Waits for the fuzz targets, and shows and counts what they print.
fn fuzz(targets: fuzzing::Running) -> anyhow::Result<Tally> {
    let fuzzed = targets.finish()?;
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

/// Runs the tests that are selected, and names failures and the slowest after their output.
fn tests(selected: Selected<'_>) -> anyhow::Result<Report> {
    let report = runner::run(selected)?;
    let slowest = report.slowest();
    if !slowest.is_empty() {
        eprint!("\nslowest tests:\n{slowest}");
    }
    for test in &report.passed_alone {
        eprintln!("failed beside others, passed alone: {test}");
    }
    Ok(report)
}

/// Prints the closing line.
///
/// # Errors
/// A test failed; the line is printed all the same, after the names.
fn close(tally: Tally, failures: &[String]) -> anyhow::Result<()> {
    for failure in failures {
        eprintln!("failed: {failure}");
    }
    writeln!(std::io::stdout().lock(), "{tally}")?;
    if !failures.is_empty() {
        bail!("tests failed");
    }
    Ok(())
}
