//! Fuzz targets: tests called `fuzz::TARGET` in the crates that read strangers' bytes.

use std::path::PathBuf;
use std::process::{Child, Command, Output, Stdio};
use std::time::Duration;

use anyhow::{Context, bail};

use crate::programs::{self, TestProgram};
use crate::workspace;

/// Part of the names of all targets.
pub(crate) const PREFIX: &str = "fuzz::";
/// How long each target runs before the tests. All run at once, so it is also how long they all
/// take.
pub(crate) const TIME_IN_TESTS: Duration = Duration::from_secs(60);
/// Priority of targets: by hand they run for hours during other work. The lowest, since there are
/// dozens of threads: at 10 they took most of the time from the builds beside them.
const NICENESS: &str = "19";
/// Targets of one crate at once: all of them.
const THREADS: &str = "64";

/// Targets that run, one process for each test program.
pub(crate) struct Running(Vec<Child>);

/// Builds the targets and runs those with `target` in their name for so many minutes each.
pub(crate) fn by_hand(target: &str, minutes: u64) -> anyhow::Result<()> {
    let outputs = start(target, Duration::from_secs(60 * minutes))?.finish()?;
    let text = outputs
        .iter()
        .map(|output| String::from_utf8_lossy(&output.stdout));
    let text = text.collect::<String>();
    eprint!("{text}");
    if outputs.iter().any(|output| !output.status.success()) {
        bail!("a target failed; its input is above");
    }
    if !text.contains(" ... ok") {
        bail!("no target has `{target}` in its name");
    }
    Ok(())
}

/// Starts the targets with `target` in their name, each for this long, at low priority.
pub(crate) fn start(target: &str, time: Duration) -> anyhow::Result<Running> {
    let filter = format!("{PREFIX}{target}");
    let started = programs()?.into_iter().map(|program| {
        let mut command = Command::new("nice");
        command
            .args(["-n", NICENESS])
            .arg(&program.file)
            .args([&filter, "--test-threads", THREADS])
            .current_dir(&program.folder)
            .env("BOLERO_RANDOM_TEST_TIME_MS", time.as_millis().to_string())
            .stdin(Stdio::null())
            .stdout(Stdio::piped());
        command
            .spawn()
            .with_context(|| format!("cannot start {}", program.file.display()))
    });
    Ok(Running(started.collect::<Result<_, _>>()?))
}

impl Running {
    /// Waits for all of them.
    pub(crate) fn finish(self) -> anyhow::Result<Vec<Output>> {
        let outputs = self.0.into_iter().map(Child::wait_with_output);
        outputs.map(|output| Ok(output?)).collect()
    }
}

/// The test programs of the crates that have targets.
fn programs() -> anyhow::Result<Vec<TestProgram>> {
    let fuzzed = fuzzed_manifests()?;
    let mut programs = programs::compiled()?;
    programs.retain(|program| fuzzed.contains(&program.manifest()));
    Ok(programs)
}

/// Manifests of the crates that use what targets share.
fn fuzzed_manifests() -> anyhow::Result<Vec<PathBuf>> {
    let metadata = workspace::Metadata::read(&["--no-deps"])?;
    let uses = |package: &&workspace::Package| {
        let mut names = package.dependencies.iter();
        names.any(|dependency| dependency.name == "trawl-fuzz")
    };
    let manifests = metadata.members().filter(uses);
    Ok(manifests
        .map(|package| package.manifest_path.clone())
        .collect())
}
