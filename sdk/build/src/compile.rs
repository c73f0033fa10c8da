//! One run of cargo for all plugins, and the modules it leaves.

use std::io::{BufRead, BufReader};
use std::path::PathBuf;
use std::process::{Command, Stdio};

use serde::Deserialize;

use crate::command::{PROFILE_VARIABLES, cargo};
use crate::toolchain::{TARGET, Toolchain};
use crate::{BuildError, BuildRequest};

/// How guests are optimised. A profile of its own: an author's crate and this workspace get the same, whatever their
/// manifests say. Function names stay in the module, so that a trap can be traced.
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

/// How guests are compiled: with vector instructions, which the engine has, and with memory for a usual page from the start,
/// because growing is a call into the host.
const FLAGS: &str = r#"["-Ctarget-feature=+simd128", "-Clink-arg=--initial-heap=2097152"]"#;

/// A compiled plugin that is not a component yet.
#[derive(Debug)]
pub(crate) struct Module {
    /// Library name.
    pub(crate) name: String,
    /// The WebAssembly file.
    pub(crate) path: PathBuf,
}

/// Compiles the request's packages and lists their modules, one a package, by name.
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
    // Two toolchains never share files: their artifacts would replace each other at every change.
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
        // Compiling the standard library is a switch that stable compilers know but hide.
        command
            .args(["-Z", "build-std=std,panic_abort"])
            .env("RUSTC_BOOTSTRAP", "1");
    }
    command.stdin(Stdio::null()).stdout(Stdio::piped());
    command
}

/// What cargo says when it has made something.
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
    /// The artifact of a line, if the line tells of one.
    fn parse(line: &str) -> Option<Self> {
        // Other messages have other fields.
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

    /// Whether this is of the package `name`; an id ends `#name@version`, or `/name#version` when the folder has the name.
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

fn choose(artifacts: Vec<Artifact>, packages: &[String]) -> Result<Vec<Module>, BuildError> {
    if packages.is_empty() {
        let module = artifacts.into_iter().rev().find_map(Artifact::module);
        return module
            .map(|module| vec![module])
            .ok_or_else(|| BuildError::NoModule("of this folder".to_owned()));
    }
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
