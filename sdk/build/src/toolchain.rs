//! Finds a Rust toolchain that compiles to WebAssembly, trying the methods of [`Way`] in order.

use std::path::{Path, PathBuf};
use std::process::Command;
use std::time::{Duration, SystemTime};

use crate::command::{Exit, cargo, run_within};
use crate::{BuildError, BuildRequest, debian};

/// The compilation target of every plugin.
pub(crate) const TARGET: &str = "wasm32-unknown-unknown";

/// How to get a toolchain for plugins; tried in this order.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Way {
    /// The default toolchain has the target's standard library, or rustup adds it.
    Rustup,
    /// A local toolchain has the standard library's source, which is compiled too.
    Source,
    /// Debian's packages are installed; then as [`Way::Source`].
    Debian,
}

/// A toolchain that can compile plugins.
#[derive(Debug, Clone, PartialEq, Eq)]
pub(crate) struct Toolchain {
    /// Its sysroot.
    sysroot: PathBuf,
    /// Its version, for example `1.95.0`.
    version: String,
    /// Paths of cargo and rustc; `None` uses the defaults (rustup chooses them by folder).
    pub(crate) own_programs: Option<Programs>,
    /// Path of the linker, if this toolchain would not find one by itself.
    pub(crate) linker: Option<PathBuf>,
    /// Whether the standard library is compiled from source.
    pub(crate) builds_std: bool,
}

/// Paths of cargo and of the matching rustc.
#[derive(Debug, Clone, PartialEq, Eq)]
pub(crate) struct Programs {
    pub(crate) cargo: PathBuf,
    pub(crate) rustc: PathBuf,
}

impl Toolchain {
    /// Human-readable description: version, sysroot and method.
    pub(crate) fn description(&self) -> String {
        let way = if self.builds_std {
            ", compiling the standard library too"
        } else {
            ""
        };
        format!("Rust {} of {}{way}", self.version, self.sysroot.display())
    }

    /// Short identifier without spaces, used as a folder name.
    pub(crate) fn tag(&self) -> &'static str {
        if self.builds_std { "source" } else { "rustup" }
    }
}

/// Returns the first toolchain that works, installing one if that is allowed.
pub(crate) fn find(
    request: &BuildRequest,
    progress: &mut dyn FnMut(&str),
) -> Result<Toolchain, BuildError> {
    let in_use = Rust::in_use(&request.manifest_dir);
    let mut tried = Vec::new();
    for way in [Way::Rustup, Way::Source, Way::Debian] {
        if request.way.is_some_and(|only| only != way) {
            continue;
        }
        let found = match way {
            Way::Rustup => with_prebuilt_std(in_use.as_ref(), &request.target_dir, progress),
            Way::Source => with_source(in_use.as_ref()),
            Way::Debian => debian::install(progress).and_then(|()| with_source(in_use.as_ref())),
        };
        match found {
            Ok(toolchain) => return Ok(toolchain),
            Err(reason) => tried.push(reason),
        }
    }
    Err(BuildError::NoToolchain {
        tried: tried.join("; "),
    })
}

/// A Rust toolchain found on this machine.
#[derive(Debug, Clone, PartialEq, Eq)]
struct Rust {
    sysroot: PathBuf,
    version: String,
    host: String,
}

impl Rust {
    /// The toolchain that `rustc` resolves to in `dir`.
    fn in_use(dir: &Path) -> Option<Self> {
        Self::query(|| {
            let mut command = cargo("rustc");
            command.current_dir(dir);
            command
        })
    }

    /// The toolchain with this sysroot.
    fn at(sysroot: &Path) -> Option<Self> {
        let rustc = sysroot.join("bin/rustc");
        if !rustc.is_file() || !sysroot.join("bin/cargo").is_file() {
            return None;
        }
        Self::query(|| cargo(&rustc))
    }

    /// Asks a compiler for its sysroot and version.
    fn query(rustc: impl Fn() -> Command) -> Option<Self> {
        let sysroot = output_of(rustc().args(["--print", "sysroot"]))?;
        Self::parse(sysroot.trim(), &output_of(rustc().arg("-vV"))?)
    }

    /// Parses the output of `rustc -vV`: lines of the form `name: value`.
    fn parse(sysroot: &str, version: &str) -> Option<Self> {
        let value = |name: &str| {
            let line = version.lines().find_map(|line| line.strip_prefix(name));
            line.map(|value| value.trim().to_owned())
        };
        Some(Self {
            sysroot: PathBuf::from(sysroot),
            version: value("release:")?,
            host: value("host:")?,
        })
    }

    fn has_target(&self) -> bool {
        let library = self.sysroot.join("lib/rustlib").join(TARGET).join("lib");
        std::fs::read_dir(library).is_ok_and(|files| {
            files
                .flatten()
                .any(|file| file.file_name().to_string_lossy().starts_with("libcore-"))
        })
    }

    fn has_source(&self) -> bool {
        self.sysroot
            .join("lib/rustlib/src/rust/library/std/Cargo.toml")
            .is_file()
    }

    /// Path of lld if this toolchain would not find it by itself; an error message if there is
    /// none.
    fn linker(&self) -> Result<Option<PathBuf>, String> {
        let own = self
            .sysroot
            .join("lib/rustlib")
            .join(&self.host)
            .join("bin/rust-lld");
        if own.is_file() {
            return Ok(None);
        }
        let in_sysroot = ["bin/rust-lld", "bin/wasm-ld"].map(|name| self.sysroot.join(name));
        let in_path = ["rust-lld", "wasm-ld", "lld"]
            .into_iter()
            .filter_map(find_in_path);
        let rustup_linkers = rustup_toolchains().into_iter();
        let rustup_linkers = rustup_linkers.map(|dir| {
            dir.join("lib/rustlib")
                .join(&self.host)
                .join("bin/rust-lld")
        });
        let mut candidates = in_sysroot.into_iter().chain(in_path).chain(rustup_linkers);
        match candidates.find(|path| path.is_file()) {
            Some(path) => Ok(Some(path)),
            None => Err(format!(
                "the toolchain in `{}` has no lld",
                self.sysroot.display()
            )),
        }
    }
}

/// Standard output of a quick command; `None` if it fails.
fn output_of(command: &mut Command) -> Option<String> {
    match run_within(command, Duration::from_secs(20)) {
        Ok(Exit::Success(output)) => Some(output),
        _ => None,
    }
}

fn with_prebuilt_std(
    in_use: Option<&Rust>,
    target_dir: &Path,
    progress: &mut dyn FnMut(&str),
) -> Result<Toolchain, String> {
    let rust = in_use.ok_or("`rustc` is not in PATH")?;
    if !rust.has_target() {
        add_target(rust, target_dir, progress)?;
    }
    Ok(Toolchain {
        sysroot: rust.sysroot.clone(),
        version: rust.version.clone(),
        own_programs: None,
        linker: rust.linker()?,
        builds_std: false,
    })
}

/// Time limit for rustup, enough to download 20 MB on a slow connection.
const RUSTUP_LIMIT: Duration = Duration::from_secs(120);

/// How long a failure of rustup is remembered.
const FAILURE_TTL: Duration = Duration::from_secs(24 * 3600);

fn add_target(
    rust: &Rust,
    target_dir: &Path,
    progress: &mut dyn FnMut(&str),
) -> Result<(), String> {
    let rustup =
        find_in_path("rustup").ok_or("rustup, which would add the target, is not in PATH")?;
    let name = rust.sysroot.file_name().unwrap_or_default();
    if !rustup_toolchains().contains(&rust.sysroot) {
        return Err(format!(
            "rustup does not manage `{}`",
            rust.sysroot.display()
        ));
    }
    let marker = target_dir.join("rustup-refused");
    if is_recent(&marker) {
        return Err("rustup failed to add the target within the last 24 hours".to_owned());
    }
    progress(&format!("rustup target add {TARGET}"));
    let mut command = Command::new(rustup);
    command
        .args(["target", "add", TARGET, "--toolchain"])
        .arg(name)
        .env("RUSTUP_MAX_RETRIES", "1");
    let reason = match run_within(&mut command, RUSTUP_LIMIT) {
        Ok(Exit::Success(_)) if rust.has_target() => return Ok(()),
        Ok(Exit::Success(_)) => "rustup added the target to another toolchain".to_owned(),
        Ok(Exit::Failure(line)) => format!("rustup failed to add the target: {line}"),
        Ok(Exit::Timeout) => "rustup timed out while adding the target".to_owned(),
        Err(error) => error.to_string(),
    };
    // If the marker file cannot be written, the next build simply tries again.
    let _ = std::fs::write(marker, &reason);
    Err(reason)
}

#[expect(
    clippy::disallowed_methods,
    reason = "the age of a file is wall-clock time"
)]
fn is_recent(marker: &Path) -> bool {
    let written = std::fs::metadata(marker).and_then(|file| file.modified());
    written.is_ok_and(|written| {
        SystemTime::now()
            .duration_since(written)
            .is_ok_and(|age| age < FAILURE_TTL)
    })
}

/// The default toolchain if it has the standard library's source, otherwise the newest one that
/// has.
fn with_source(in_use: Option<&Rust>) -> Result<Toolchain, String> {
    let mut rusts: Vec<Rust> = Vec::new();
    if !in_use.is_some_and(Rust::has_source) {
        let places = rustup_toolchains()
            .into_iter()
            .chain(["/usr", "/usr/local"].map(PathBuf::from));
        rusts.extend(
            places
                .filter_map(|place| Rust::at(&place))
                .filter(Rust::has_source),
        );
        rusts.sort_by_key(|rust| std::cmp::Reverse(version_number(&rust.version)));
    }
    let rust = in_use.filter(|rust| rust.has_source()).or(rusts.first());
    let rust = rust.ok_or("no toolchain has the source of the standard library")?;
    let bin = rust.sysroot.join("bin");
    Ok(Toolchain {
        sysroot: rust.sysroot.clone(),
        version: rust.version.clone(),
        own_programs: Some(Programs {
            cargo: bin.join("cargo"),
            rustc: bin.join("rustc"),
        }),
        linker: rust.linker()?,
        builds_std: true,
    })
}

/// Parses `1.96.0` or `1.97.0-nightly` into numbers that can be compared.
fn version_number(version: &str) -> Vec<u32> {
    let release = version.split('-').next().unwrap_or_default();
    release
        .split('.')
        .map(|part| part.parse().unwrap_or(0))
        .collect()
}

/// Folders of rustup's toolchains, with symbolic links resolved.
fn rustup_toolchains() -> Vec<PathBuf> {
    let home = directory("RUSTUP_HOME").or_else(|| Some(directory("HOME")?.join(".rustup")));
    let Some(toolchains) = home.and_then(|home| std::fs::read_dir(home.join("toolchains")).ok())
    else {
        return Vec::new();
    };
    let mut found: Vec<PathBuf> = toolchains
        .flatten()
        .filter_map(|entry| entry.path().canonicalize().ok())
        .collect();
    found.sort();
    found.dedup();
    found
}

fn find_in_path(program: &str) -> Option<PathBuf> {
    let path = environment("PATH")?;
    std::env::split_paths(&path)
        .map(|dir| dir.join(program))
        .find(|file| file.is_file())
}

fn directory(variable: &str) -> Option<PathBuf> {
    environment(variable).map(PathBuf::from)
}

#[expect(
    clippy::disallowed_methods,
    reason = "the environment determines where tools are"
)]
fn environment(variable: &str) -> Option<std::ffi::OsString> {
    std::env::var_os(variable)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn rustc_version_is_parsed() {
        let version =
            "rustc 1.95.0 (abc)\nbinary: rustc\nhost: x86_64-unknown-linux-gnu\nrelease: 1.95.0\n";
        let rust = Rust::parse("/opt/rust", version).expect("all there");
        assert_eq!(rust.sysroot, Path::new("/opt/rust"));
        assert_eq!(rust.version, "1.95.0");
        assert_eq!(rust.host, "x86_64-unknown-linux-gnu");
        assert_eq!(Rust::parse("/opt/rust", "error: no such option"), None);
    }

    #[test]
    fn newer_versions_compare_greater() {
        assert!(version_number("1.100.0") > version_number("1.96.0"));
        assert!(version_number("1.97.0-nightly") > version_number("1.96.3"));
    }
}
