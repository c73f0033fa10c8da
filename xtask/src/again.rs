//! Tests that failed, once more by themselves: many of them wait for a browser, a timer or a socket
//! beside others, and something else may have used the machine.

use std::io::Write;
use std::path::PathBuf;
use std::process::Stdio;

use anyhow::Context;

use crate::programs::TestProgram;
use crate::tally::Tally;

/// So many failed tests are tried once more; with more of them something is broken.
const TESTS_MAX: usize = 3;

/// A test that failed.
#[derive(Debug)]
pub(crate) struct Failed {
    /// The test with its program, as it is reported.
    pub(crate) title: String,
    file: PathBuf,
    folder: PathBuf,
    name: String,
}

impl Failed {
    pub(crate) fn new(title: String, program: &TestProgram, name: &str) -> Self {
        Self {
            title,
            file: program.file.clone(),
            folder: program.folder.clone(),
            name: name.to_owned(),
        }
    }

    /// Runs the test alone; whether it has passed.
    fn passes(&self) -> anyhow::Result<bool> {
        let mut command = trawl_guest_build::cargo(&self.file);
        command
            .current_dir(&self.folder)
            .args(["--exact", &self.name, "--test-threads", "1"])
            .stdin(Stdio::null())
            .stderr(Stdio::inherit());
        let output = command
            .output()
            .with_context(|| format!("cannot start the test {}", self.title))?;
        std::io::stdout().lock().write_all(&output.stdout)?;
        let mut tally = Tally::default();
        String::from_utf8_lossy(&output.stdout)
            .lines()
            .for_each(|line| tally.add(line));
        Ok(output.status.success() && tally.passed == 1)
    }
}

/// Runs the tests once more, if they are few. Titles of those that have passed.
///
/// # Errors
/// One cannot be started.
pub(crate) fn passed(tests: &[Failed]) -> anyhow::Result<Vec<&str>> {
    let mut passed = Vec::new();
    if tests.len() > TESTS_MAX {
        return Ok(passed);
    }
    for test in tests {
        eprintln!("tests: failed, and now once more: {}", test.title);
        if test.passes()? {
            passed.push(test.title.as_str());
        }
    }
    Ok(passed)
}
