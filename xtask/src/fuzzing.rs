//! Fuzz targets: tests called `fuzz::TARGET` in the crates that read strangers' bytes.

use std::path::{Path, PathBuf};
use std::process::{Child, Command, Output, Stdio};
use std::time::Duration;

use anyhow::{Context, bail};
use serde::Deserialize;

use crate::workspace;

/// Part of the names of all targets.
pub(crate) const PREFIX: &str = "fuzz::";
/// How long each target runs before the tests. All run at once, so it is also how long they all
/// take.
pub(crate) const TIME_IN_TESTS: Duration = Duration::from_secs(60);
/// Priority of targets: by hand they run for hours beside other work.
const NICENESS: &str = "10";
/// Targets of one crate at once: all of them.
const THREADS: &str = "64";

/// Targets that run, one process for each test program.
pub(crate) struct Running(Vec<Child>);

/// A line of cargo's account of a build.
#[derive(Debug, Deserialize)]
struct Built {
    executable: Option<PathBuf>,
    manifest_path: Option<PathBuf>,
    #[serde(default)]
    profile: BuiltProfile,
}

#[derive(Debug, Default, Deserialize)]
struct BuiltProfile {
    test: bool,
}

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
    let started = programs()?.into_iter().map(|(folder, program)| {
        let mut command = Command::new("nice");
        command
            .args(["-n", NICENESS])
            .arg(&program)
            .args([&filter, "--test-threads", THREADS])
            .current_dir(folder)
            .env("BOLERO_RANDOM_TEST_TIME_MS", time.as_millis().to_string())
            .stdin(Stdio::null())
            .stdout(Stdio::piped());
        command
            .spawn()
            .with_context(|| format!("cannot start {}", program.display()))
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

/// The test programs of the crates that have targets, with the folder that each runs in.
fn programs() -> anyhow::Result<Vec<(PathBuf, PathBuf)>> {
    let arguments = ["test", "--release", "--workspace", "--no-run"];
    let mut command = workspace::linting_cargo(&arguments)?;
    let output = command
        .arg("--message-format=json-render-diagnostics")
        .stderr(Stdio::inherit())
        .output()
        .context("cannot start cargo")?;
    if !output.status.success() {
        bail!("the targets do not compile");
    }
    let fuzzed = fuzzed_manifests()?;
    let lines = output.stdout.split(|byte| *byte == b'\n');
    let built = lines.filter_map(|line| serde_json::from_slice::<Built>(line).ok());
    let found = built.filter_map(|built| program(built, &fuzzed)).collect();
    Ok(found)
}

fn program(built: Built, fuzzed: &[PathBuf]) -> Option<(PathBuf, PathBuf)> {
    let manifest = built.manifest_path?;
    if !built.profile.test || !fuzzed.contains(&manifest) {
        return None;
    }
    let folder = manifest.parent().map(Path::to_path_buf)?;
    Some((folder, built.executable?))
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

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn test_programs_of_crates_with_targets_are_found() {
        let fuzzed = [PathBuf::from("/r/host/net/Cargo.toml")];
        let found = |line: &str| program(serde_json::from_str(line).expect("JSON"), &fuzzed);
        let line = r#"{"reason":"compiler-artifact","manifest_path":"/r/host/net/Cargo.toml","profile":{"test":true},"executable":"/t/net"}"#;
        assert_eq!(found(line), Some(("/r/host/net".into(), "/t/net".into())));
        assert_eq!(found(&line.replace("/net/C", "/api/C")), None);
        assert_eq!(found(&line.replace("true", "false")), None);
        assert_eq!(found(r#"{"reason":"build-finished","success":true}"#), None);
    }
}
