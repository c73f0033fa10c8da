//! The suite `siege`: attacks on a running server while another account works.

use std::io::{BufRead, BufReader, Write};
use std::process::{Command, Stdio};
use std::time::Duration;

use anyhow::{Context, bail};

use crate::programs;
use crate::tally::Ended;

/// Name of the suite's program.
const PROGRAM: &str = "siege";
/// The attack whose length is an option.
const LONG: &str = "everything_at_once";
/// Servers at once: one or two are attacked, others recover, and the next ones wait for their turn.
const SERVERS: usize = 4;

/// Runs the attacks. Each measures an innocent caller's time, and something else may have used the
/// machine: those that fail run once more, one after the other.
///
/// # Errors
/// An attack failed twice.
pub(crate) fn all() -> anyhow::Result<()> {
    let failed = run(SERVERS, &["--skip", LONG], &[])?;
    if failed.is_empty() {
        return Ok(());
    }
    eprintln!("siege: failed, and now once more: {}", failed.join(", "));
    let mut names = vec!["--exact"];
    names.extend(failed.iter().map(String::as_str));
    none(&run(1, &names, &[])?)
}

/// Runs all attacks at once for so many minutes.
///
/// # Errors
/// An expectation was not met.
pub(crate) fn long(minutes: u64) -> anyhow::Result<()> {
    let minutes = minutes.to_string();
    none(&run(
        1,
        &[LONG],
        &[("TRAWL_SIEGE_MINUTES", minutes.as_str())],
    )?)
}

fn none(failed: &[String]) -> anyhow::Result<()> {
    if !failed.is_empty() {
        bail!("attacks failed: {}", failed.join(", "));
    }
    Ok(())
}

/// Runs the tests that the arguments select, so many at once. Names of those that failed.
fn run(
    n_threads: usize,
    arguments: &[&str],
    environment: &[(&str, &str)],
) -> anyhow::Result<Vec<String>> {
    let mut child = command(n_threads, arguments)?
        .envs(environment.iter().copied())
        .spawn()
        .context("cannot start the siege")?;
    let mut ended = Vec::new();
    if let Some(stdout) = child.stdout.take() {
        for line in BufReader::new(stdout).split(b'\n') {
            let line = line.context("the siege's output ended early")?;
            ended.extend(Ended::parse(
                &String::from_utf8_lossy(&line),
                Duration::ZERO,
            ));
            let mut out = std::io::stdout().lock();
            out.write_all(&line)?;
            out.write_all(b"\n")?;
            out.flush()?;
        }
    }
    let status = child.wait()?;
    let failed = ended.into_iter().filter(|test| test.has_failed);
    let failed: Vec<String> = failed.map(|test| test.name).collect();
    if !status.success() && failed.is_empty() {
        bail!("the siege ended with {status}");
    }
    Ok(failed)
}

/// The suite's program with these arguments.
fn command(n_threads: usize, arguments: &[&str]) -> anyhow::Result<Command> {
    let mut programs = programs::compiled()?.into_iter();
    let program = programs.find(|program| program.name == PROGRAM);
    let program = program.context("there is no test program of the siege")?;
    let mut command = trawl_guest_build::cargo(&program.file);
    command
        .current_dir(&program.folder)
        .args(["--nocapture", "--ignored", "--test-threads"])
        .arg(n_threads.to_string())
        .args(arguments)
        .stdin(Stdio::null())
        .stdout(Stdio::piped());
    Ok(command)
}
