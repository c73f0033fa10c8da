//! Runs cargo and related tools, without the environment of a cargo that started this program.

use std::ffi::OsStr;
use std::io::Read;
use std::process::{Command, Stdio};
use std::time::{Duration, Instant};

use crate::BuildError;

/// Environment variables that change how cargo compiles code; a plugin build ignores all of them.
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

/// Variables that `cargo run` and `cargo test` set for the program they start. Some build scripts
/// watch them, so leaving them set makes the inner cargo rebuild crates that are up to date.
const SET_BY_CARGO: [&str; 6] = [
    "CARGO",
    "OUT_DIR",
    "CARGO_BIN_NAME",
    "CARGO_CRATE_NAME",
    "CARGO_PRIMARY_PACKAGE",
    "LD_LIBRARY_PATH",
];

/// A cargo command as a shell would start it, even when this program was started by cargo.
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

/// How a command with a time limit ended.
#[derive(Debug, Clone, PartialEq, Eq)]
pub enum Exit {
    /// It succeeded; holds its standard output.
    Success(String),
    /// It failed; holds the last line of its standard error.
    Failure(String),
    /// It was killed at its time limit.
    Timeout,
}

/// Runs `command` without input for at most `limit` and captures its output (at most 1 MiB per
/// stream).
///
/// # Errors
/// [`BuildError::Spawn`] if the program cannot be started.
pub fn run_within(command: &mut Command, limit: Duration) -> Result<Exit, BuildError> {
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
                // The process may have exited in the meantime, so these errors are ignored.
                let _ = child.kill();
                let _ = child.wait();
                return Ok(Exit::Timeout);
            }
        }
    };
    let stdout = stdout.join().unwrap_or_default();
    let stderr = stderr.join().unwrap_or_default();
    if status.success() {
        return Ok(Exit::Success(stdout));
    }
    let last = stderr.lines().rev().find(|line| !line.trim().is_empty());
    Ok(Exit::Failure(
        last.unwrap_or("no message").trim().to_owned(),
    ))
}

/// Sleeps between two polls of the child process.
fn pause() {
    std::thread::park_timeout(Duration::from_millis(10));
}

const OUTPUT_BYTES_MAX: u64 = 1 << 20;

/// Reads a pipe on its own thread, so that the child never blocks on a full pipe.
fn read_aside(pipe: Option<impl Read + Send + 'static>) -> std::thread::JoinHandle<String> {
    std::thread::spawn(move || {
        let mut text = Vec::new();
        if let Some(pipe) = pipe {
            // A broken pipe only truncates the text of a message.
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
        assert_eq!(ended, Exit::Failure("second".to_owned()));
    }

    #[test]
    fn a_command_is_stopped_at_its_limit() {
        let mut command = Command::new("sleep");
        command.arg("30");
        let ended = run_within(&mut command, Duration::from_millis(50)).expect("sleep starts");
        assert_eq!(ended, Exit::Timeout);
    }

    #[test]
    fn a_missing_program_is_named() {
        let error = run_within(&mut Command::new("no-such-program"), Duration::ZERO)
            .expect_err("there is no such program");
        assert!(error.to_string().contains("`no-such-program`"), "{error}");
    }
}
