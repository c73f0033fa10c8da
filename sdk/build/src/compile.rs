//! Compiles all plugins in one cargo invocation and collects the WebAssembly modules.

use std::io::{BufRead, BufReader};
use std::path::PathBuf;
use std::process::{Command, Stdio};

use serde::Deserialize;

use crate::command::{PROFILE_VARIABLES, cargo};
use crate::toolchain::{TARGET, Toolchain};
use crate::{BuildError, BuildRequest};

/// How plugins are optimised. A dedicated profile gives an author's crate and this workspace the
/// same settings, whatever their manifests say. Function names stay in the module for readable
/// traps.
const SETTINGS: [&str; 9] = [
    "profile.guest.inherits=\"release\"",
    "profile.guest.opt-level=3",
    "profile.guest.lto=\"fat\"",
    "profile.guest.codegen-units=1",
    "profile.guest.panic=\"abort\"",
    "profile.guest.debug=false",
    "profile.guest.strip=\"debuginfo\"",
    "profile.guest.overflow-checks=false",
    "profile.guest.incremental=false",
];

/// Compiler flags: SIMD instructions, which the engine supports, and enough initial memory for a
/// typical page, because growing memory is a call into the host. Plugins have no source of
/// randomness: the SDK gives libraries that ask for one the same bytes in every call.
const FLAGS: &str = r#"["-Ctarget-feature=+simd128", "-Clink-arg=--initial-heap=2097152", "--cfg=getrandom_backend=\"custom\""]"#;

/// A compiled plugin that has not been encoded as a component yet.
#[derive(Debug)]
pub(crate) struct Module {
    /// Library name.
    pub(crate) name: String,
    /// Path of the WebAssembly file.
    pub(crate) path: PathBuf,
}

/// Compiles the requested packages and returns their modules, one per package, sorted by name.
pub(crate) fn modules(
    request: &BuildRequest,
    toolchain: &Toolchain,
) -> Result<Vec<Module>, BuildError> {
    let mut command = command(request, toolchain);
    let program = command.get_program().to_string_lossy().into_owned();
    let spawned = |source| BuildError::Spawn { program, source };
    let mut child = command.spawn().map_err(spawned)?;
    let mut artifacts = Vec::new();
    if let Some(stdout) = child.stdout.take() {
        let lines = BufReader::new(stdout).lines().map_while(Result::ok);
        artifacts.extend(lines.filter_map(|line| Artifact::parse(&line)));
    }
    let succeeded = child.wait().is_ok_and(|status| status.success());
    if !succeeded {
        return Err(BuildError::Compile);
    }
    if request.packages.is_empty() {
        let module = artifacts.into_iter().rev().find_map(Artifact::module);
        let missing = || BuildError::NoModule(request.manifest_dir.display().to_string());
        return module.map(|module| vec![module]).ok_or_else(missing);
    }
    choose(artifacts, &request.packages)
}

fn command(request: &BuildRequest, toolchain: &Toolchain) -> Command {
    let mut command = match &toolchain.own_programs {
        Some(own) => cargo(&own.cargo),
        None => cargo("cargo"),
    };
    for name in PROFILE_VARIABLES {
        command.env_remove(name);
    }
    command
        .current_dir(&request.manifest_dir)
        .args(["build", "--lib", "--target", TARGET]);
    for package in &request.packages {
        command.args(["--package", package]);
    }
    command.args([
        "--profile",
        "guest",
        "--message-format",
        "json-render-diagnostics",
    ]);
    // Each toolchain has its own target directory; sharing one would rebuild everything on a
    // switch.
    command
        .arg("--target-dir")
        .arg(request.target_dir.join(toolchain.tag()));
    for setting in SETTINGS {
        command.args(["--config", setting]);
    }
    command
        .arg("--config")
        .arg(format!("target.{TARGET}.rustflags={FLAGS}"));
    if let Some(linker) = &toolchain.linker {
        command.arg("--config").arg(format!(
            "target.{TARGET}.linker={:?}",
            linker.display().to_string()
        ));
    }
    if let Some(own) = &toolchain.own_programs {
        command
            .env("RUSTC", &own.rustc)
            .env_remove("RUSTUP_TOOLCHAIN");
    }
    if toolchain.builds_std {
        // `-Z build-std` is unstable; this variable enables it on stable compilers.
        command
            .args(["-Z", "build-std=std,panic_abort"])
            .env("RUSTC_BOOTSTRAP", "1");
    }
    command.stdin(Stdio::null()).stdout(Stdio::piped());
    command
}

/// A `compiler-artifact` message of cargo.
#[derive(Debug, Deserialize)]
struct Artifact {
    package_id: String,
    target: Target,
    filenames: Vec<PathBuf>,
}

#[derive(Debug, Deserialize)]
struct Target {
    name: String,
}

impl Artifact {
    /// Parses one line of cargo's JSON output; `None` if it is another kind of message.
    fn parse(line: &str) -> Option<Self> {
        // Messages of other kinds lack these fields.
        serde_json::from_str(line).ok()
    }

    fn module(self) -> Option<Module> {
        let path = self
            .filenames
            .into_iter()
            .find(|file| file.extension().is_some_and(|ext| ext == "wasm"))?;
        Some(Module {
            name: self.target.name.replace('-', "_"),
            path,
        })
    }

    /// Whether this artifact belongs to the package `name`. An id ends in `#name@version`, or in
    /// `/name#version` if the folder has the package's name.
    fn is_of(&self, name: &str) -> bool {
        let (place, rest) = self
            .package_id
            .rsplit_once('#')
            .unwrap_or(("", &self.package_id));
        match rest.split_once('@') {
            Some((found, _)) => found == name,
            None => place.rsplit('/').next() == Some(name),
        }
    }
}

/// Returns the module of each package, sorted by name.
fn choose(artifacts: Vec<Artifact>, packages: &[String]) -> Result<Vec<Module>, BuildError> {
    let mut modules: Vec<Module> = Vec::new();
    let mut artifacts: Vec<Option<Artifact>> = artifacts.into_iter().map(Some).collect();
    for package in packages {
        let of_package = artifacts.iter_mut().filter(|artifact| {
            artifact
                .as_ref()
                .is_some_and(|artifact| artifact.is_of(package))
        });
        let module = of_package
            .filter_map(Option::take)
            .find_map(Artifact::module);
        modules.push(module.ok_or_else(|| BuildError::NoModule(package.clone()))?);
    }
    modules.sort_by(|a, b| a.name.cmp(&b.name));
    Ok(modules)
}

#[cfg(test)]
mod tests {
    use super::*;

    fn artifact(package_id: &str, name: &str, file: &str) -> Artifact {
        let line = format!(
            r#"{{"reason":"compiler-artifact","package_id":"{package_id}","target":{{"name":"{name}"}},"filenames":["{file}"]}}"#
        );
        Artifact::parse(&line).expect("an artifact")
    }

    #[test]
    fn finds_the_module_of_each_package() {
        let artifacts = vec![
            artifact(
                "path+file:///w/sdk#trawl-sdk@0.1.0",
                "trawl_sdk",
                "/t/libtrawl_sdk.rlib",
            ),
            artifact(
                "path+file:///w/plugins/format-text#0.1.0",
                "format_text",
                "/t/format_text.wasm",
            ),
            artifact(
                "path+file:///w/plugins/md#format-markdown@0.1.0",
                "format_markdown",
                "/t/format_markdown.wasm",
            ),
        ];
        let packages = ["format-text".to_owned(), "format-markdown".to_owned()];
        let modules = choose(artifacts, &packages).expect("both are there");
        let names: Vec<&str> = modules.iter().map(|module| module.name.as_str()).collect();
        assert_eq!(names, ["format_markdown", "format_text"]);
    }

    #[test]
    fn a_package_without_a_module_is_named() {
        let artifacts = vec![artifact(
            "path+file:///w/plugins/odd#0.1.0",
            "odd",
            "/t/libodd.rlib",
        )];
        let error = choose(artifacts, &["odd".to_owned()]).expect_err("no module");
        assert!(error.to_string().contains("`odd`"), "{error}");
    }

    #[test]
    fn other_messages_are_no_artifacts() {
        assert!(Artifact::parse(r#"{"reason":"build-finished","success":true}"#).is_none());
        assert!(Artifact::parse("Compiling x").is_none());
    }
}
