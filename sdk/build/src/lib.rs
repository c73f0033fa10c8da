//! Compiles plugin crates to WebAssembly and encodes them as components.
//!
//! This is the only place that knows how a plugin is built: which toolchain on this machine can do
//! it, with which settings, and how the resulting module becomes a component. `cargo xtask guests`
//! and `trawl plugin build` both call [`build`].

#![deny(missing_docs)]

mod command;
mod compile;
mod component;
mod debian;
mod toolchain;

use std::path::{Path, PathBuf};

pub use command::{Exit, PROFILE_VARIABLES, cargo, run_within};
pub use component::encode;
pub use toolchain::Way;

/// What to build and where to put it.
#[derive(Debug, Clone)]
pub struct BuildRequest {
    /// Folder of the workspace, or of a standalone package.
    pub manifest_dir: PathBuf,
    /// Names of the packages to build, all in one cargo invocation; empty means the package in
    /// `manifest_dir`.
    pub packages: Vec<String>,
    /// Output folder for the components, `<library name>.wasm` for each package; created if
    /// missing.
    pub out_dir: PathBuf,
    /// Target directory for the build, separate so that it never invalidates a build of the host.
    pub target_dir: PathBuf,
    /// The only method to try; `None` tries all in order and uses the first that works.
    pub way: Option<Way>,
}

/// A component that was built.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Component {
    /// Library name of the package, `format_markdown` for a package `format-markdown`.
    pub name: String,
    /// Path of the component.
    pub path: PathBuf,
    /// Size in bytes.
    pub bytes: u64,
    /// Interfaces it exports, for example `trawl:format/format@1.0.0`.
    pub exports: Vec<String>,
}

/// Why a build failed.
#[derive(Debug, thiserror::Error)]
pub enum BuildError {
    /// No toolchain here can compile to WebAssembly and none could be installed; says what to
    /// install.
    #[error(
        "no Rust toolchain on this machine can compile plugins ({tried}): run `rustup target add wasm32-unknown-unknown`, or on Debian \
         as root `apt-get install {}`",
        debian::PACKAGES.join(" ")
    )]
    NoToolchain {
        /// What was tried, with the reason why each attempt failed.
        tried: String,
    },
    /// A program could not be started.
    #[error("cannot run `{program}`: {source}")]
    Spawn {
        /// The program.
        program: String,
        /// Why.
        source: std::io::Error,
    },
    /// The folder has no `Cargo.toml`.
    #[error(
        "`{}` has no `Cargo.toml`: pass the folder of a plugin crate, or create one with `trawl plugin \
         new`",
        .0.display()
    )]
    NoManifest(PathBuf),
    /// The code does not compile; the compiler's messages went to standard error.
    #[error("the plugin does not compile; see the messages above")]
    Compile,
    /// A package was built but produced no WebAssembly module.
    #[error(
        "package `{0}` produced no WebAssembly module: its `Cargo.toml` needs a `[lib]` with `crate-type = [\"cdylib\", \"rlib\"]`"
    )]
    NoModule(String),
    /// The module cannot be encoded as a component.
    #[error("cannot encode `{name}` as a component: {reason}")]
    Encode {
        /// Library name of the package.
        name: String,
        /// The encoder's message.
        reason: String,
    },
    /// The module exports none of Trawl's interfaces.
    #[error(
        "`{0}` exports no plugin: call the SDK's export macro once, at the end of `src/lib.rs`"
    )]
    NoPlugin(String),
    /// A file could not be read or written.
    #[error("cannot access `{}`: {source}", path.display())]
    Io {
        /// The file.
        path: PathBuf,
        /// Why.
        source: std::io::Error,
    },
}

/// Builds the packages as components. `progress` receives a human-readable line before each slow
/// step.
///
/// A component whose bytes are unchanged is not rewritten, so a running server does not reload it.
///
/// # Errors
/// [`BuildError`]: no toolchain, code that does not compile, or a module that is no plugin.
pub fn build(
    request: &BuildRequest,
    progress: &mut dyn FnMut(&str),
) -> Result<Vec<Component>, BuildError> {
    if !request.manifest_dir.join("Cargo.toml").is_file() {
        return Err(BuildError::NoManifest(request.manifest_dir.clone()));
    }
    create_dir(&request.out_dir)?;
    create_dir(&request.target_dir)?;
    let toolchain = toolchain::find(request, progress)?;
    progress(&format!(
        "building plugins with {}",
        toolchain.description()
    ));
    let modules = compile::modules(request, &toolchain)?;
    modules
        .iter()
        .map(|module| component::write(module, &request.out_dir))
        .collect()
}

fn create_dir(dir: &Path) -> Result<(), BuildError> {
    std::fs::create_dir_all(dir).map_err(|source| BuildError::Io {
        path: dir.to_path_buf(),
        source,
    })
}
