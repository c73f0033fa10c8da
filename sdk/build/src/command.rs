//! Running cargo and its kin without the traces of a cargo that runs us.

use std::ffi::OsStr;
use std::io::Read;
use std::process::{Command, Stdio};
use std::time::{Duration, Instant};

use crate::BuildError;

/// Variables with which a caller of cargo changes how code is compiled; a build of guests wants none of them.
pub const PROFILE_VARIABLES: [&str; 8] = [
    "RUSTC",
    "RUSTFLAGS",
    "CARGO_ENCODED_RUSTFLAGS",
    "CARGO_BUILD_RUSTFLAGS",
    "CARGO_BUILD_TARGET",
    "CARGO_TARGET_DIR",
    "CARGO_BUILD_TARGET_DIR",
    "RUSTC_BOOTSTRAP",
];

/// Variables that `cargo run` and `cargo test` set for the program they start. Build scripts watch some of them: left in
/// place they make the inner cargo compile crates again that are up to date.
const SET_BY_CARGO: [&str; 6] = [
    "CARGO",
    "OUT_DIR",
    "CARGO_BIN_NAME",
    "CARGO_CRATE_NAME",
    "CARGO_PRIMARY_PACKAGE",
    "LD_LIBRARY_PATH",
];

/// A cargo command as a shell would start it, also when another cargo started this program.
pub fn cargo(program: impl AsRef<OsStr>) -> Command {
    let mut command = Command::new(program);
    let inside_cargo = std::env::vars_os().any(|(name, _)| name == "CARGO_MANIFEST_DIR");
    if inside_cargo {
        for (name, _) in std::env::vars_os() {
            let of_package = name.to_str().is_some_and(|name| {
                name.starts_with("CARGO_PKG_") || name.starts_with("CARGO_MANIFEST_")
            });
            if of_package {
                command.env_remove(name);
            }
        }
        for name in SET_BY_CARGO {
            command.env_remove(name);
        }
    }
    command
}

/// How a bounded command ended.
#[derive(Debug, Clone, PartialEq, Eq)]
pub enum Ended {
    /// It succeeded; what it printed on standard output.
    Well(String),
    /// It failed; the last line it printed on standard error.
    Badly(String),
    /// It was stopped at its time limit.
    Late,
}

/// Runs `command` for at most `limit`, without input, and keeps what it prints (at most a megabyte is read).
///
/// # Errors
/// [`BuildError::Spawn`] when the program is not there.
pub fn run_within(command: &mut Command, limit: Duration) -> Result<Ended, BuildError> {
    let program = command.get_program().to_string_lossy().into_owned();
    let mut child = command
        .stdin(Stdio::null())
        .stdout(Stdio::piped())
        .stderr(Stdio::piped())
        .spawn()
        .map_err(|source| BuildError::Spawn { program, source })?;
    let stdout = read_aside(child.stdout.take());
    let stderr = read_aside(child.stderr.take());
    let deadline = Instant::now() + limit;
    let status = loop {
        match child.try_wait() {
            Ok(Some(status)) => break status,
            Ok(None) if Instant::now() < deadline => pause(),
            _ => {
                // It may have ended since: an error here leaves nothing to do.
                let _ = child.kill();
                let _ = child.wait();
                return Ok(Ended::Late);
            }
        }
    };
    let stdout = stdout.join().unwrap_or_default();
    let stderr = stderr.join().unwrap_or_default();
    if status.success() {
        return Ok(Ended::Well(stdout));
    }
    let last = stderr.lines().rev().find(|line| !line.trim().is_empty());
    Ok(Ended::Badly(last.unwrap_or("no message").trim().to_owned()))
}

/// Half the resolution at which a person would notice.
fn pause() {
    std::thread::park_timeout(Duration::from_millis(10));
}

const OUTPUT_BYTES_MAX: u64 = 1 << 20;

/// Reads a pipe on a thread of its own, so that the child never waits for a full pipe.
fn read_aside(pipe: Option<impl Read + Send + 'static>) -> std::thread::JoinHandle<String> {
    std::thread::spawn(move || {
        let mut text = Vec::new();
        if let Some(pipe) = pipe {
            // A broken pipe ends the text early, which only shortens a message.
            let _ = pipe.take(OUTPUT_BYTES_MAX).read_to_end(&mut text);
        }
        String::from_utf8_lossy(&text).into_owned()
    })
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_failure_gives_its_last_line() {
        let mut command = Command::new("sh");
        command.args(["-c", "echo first >&2; echo second >&2; exit 3"]);
        let ended = run_within(&mut command, Duration::from_secs(10)).expect("sh starts");
        assert_eq!(ended, Ended::Badly("second".to_owned()));
    }

    #[test]
    fn a_command_is_stopped_at_its_limit() {
        let mut command = Command::new("sleep");
        command.arg("30");
        let ended = run_within(&mut command, Duration::from_millis(50)).expect("sleep starts");
        assert_eq!(ended, Ended::Late);
    }

    #[test]
    fn a_missing_program_is_named() {
        let error = run_within(&mut Command::new("no-such-program"), Duration::ZERO)
            .expect_err("there is no such program");
        assert!(error.to_string().contains("`no-such-program`"), "{error}");
    }
}
