//! Commands that are ended when they take too long.

use std::fmt;
use std::os::unix::process::ExitStatusExt;
use std::process::{Command, ExitStatus};

use anyhow::{Context, bail};
use trawl_plugins::{Fault, PluginError};

/// CPU time of one call that reads a document, in seconds: ten times what ours takes for the
/// longest document, and short enough that a run over all takes about an hour on two cores.
pub(super) const READING_SECONDS: u32 = 30;
/// CPU time of a program that makes a document, in seconds. It runs once.
pub(super) const MAKING_SECONDS: u32 = 300;
/// Time by the clock, as a multiple of the CPU time: a busy machine must not decide who finishes.
const WALL_FACTOR: u32 = 10;
/// Until what does not end is killed, in seconds.
const GRACE_SECONDS: u32 = 5;
/// Exit status of `timeout` when the time by the clock is over.
const TIMED_OUT: i32 = 124;
/// The signal that ends a process when its CPU time is over.
const SIGXCPU: i32 = 24;

/// The failure of a command that had to be ended.
#[derive(Debug)]
struct OutOfTime {
    program: String,
    seconds: u32,
}

impl fmt::Display for OutOfTime {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, "`{}` takes more than {} s", self.program, self.seconds)
    }
}

impl std::error::Error for OutOfTime {}

/// Why a plugin failed.
pub(super) fn fault(error: &anyhow::Error) -> Option<&Fault> {
    let error = error.downcast_ref::<PluginError>();
    error.map(|error| &error.fault)
}

/// Whether a program failed since its time was over: the sandbox ends ours.
pub(super) fn is_out_of_time(error: &anyhow::Error) -> bool {
    error.is::<OutOfTime>() || matches!(fault(error), Some(Fault::OutOfTime { .. }))
}

/// What a command prints within so much CPU time.
///
/// # Errors
/// It cannot be started, is out of time ([`is_out_of_time`]), or fails: with the last line of what
/// it said.
pub(super) fn output(command: &Command, seconds: u32) -> anyhow::Result<Vec<u8>> {
    let program = command.get_program().to_string_lossy().into_owned();
    let mut limited = Command::new("timeout");
    limited
        .arg(format!("--kill-after={GRACE_SECONDS}"))
        .arg((seconds * WALL_FACTOR).to_string())
        .args(["prlimit", "--core=0"])
        .arg(format!("--cpu={seconds}:{}", seconds + GRACE_SECONDS))
        .arg(&program)
        .args(command.get_args());
    let output = limited.output().context("cannot start `timeout`")?;
    if is_ended(output.status) {
        return Err(OutOfTime { program, seconds }.into());
    }
    if !output.status.success() {
        let said = String::from_utf8_lossy(&output.stderr).into_owned();
        let last = said.trim().lines().last().unwrap_or_default().to_owned();
        bail!("`{program}` failed ({}): {last}", output.status);
    }
    Ok(output.stdout)
}

/// Whether a command ended since a limit was exceeded. `timeout` ends as its command does.
fn is_ended(status: ExitStatus) -> bool {
    status.code() == Some(TIMED_OUT) || status.signal() == Some(SIGXCPU)
}

#[cfg(test)]
mod tests {
    use std::process::Command;

    use super::{is_out_of_time, output};

    fn shell(script: &str, seconds: u32) -> anyhow::Result<Vec<u8>> {
        output(Command::new("sh").args(["-c", script]), seconds)
    }

    #[test]
    fn endless_commands_are_ended() {
        let error = shell("while :; do :; done", 1).expect_err("it is ended");
        assert!(is_out_of_time(&error), "{error:#}");
    }

    #[test]
    fn other_commands_print_or_fail() {
        assert_eq!(shell("echo yes", 60).expect("it prints"), b"yes\n");
        let error = shell("echo no >&2; exit 3", 60).expect_err("it fails");
        assert!(!is_out_of_time(&error));
        assert!(error.to_string().ends_with(": no"), "{error:#}");
    }
}
