//! `trawl plugin …`: commands for authors of plugins, from a skeleton to a loaded component, and for
//! the bundled plugins.

mod build;
mod check;
mod crate_dir;
mod eject;
mod embed;
mod list;
pub(super) mod manifest;
mod new;
mod sdk;
mod skeleton;
mod test;

use std::path::PathBuf;

use clap::Subcommand;
use clap::builder::{PossibleValue, PossibleValuesParser, TypedValueParser};
use trawl_model::PluginKind;

/// Commands for plugins.
#[derive(Debug, Subcommand)]
pub enum PluginCommand {
    /// Write the skeleton of a new plugin, with the SDK beside it
    New {
        /// What it does
        #[arg(value_parser = kind_parser())]
        kind: PluginKind,
        /// Its name in requests: lower-case letters, digits and `_`, a letter first
        name: String,
        /// Folder to write (default: the name, here)
        #[arg(long)]
        dir: Option<PathBuf>,
    },
    /// Compile a plugin crate into a component
    Build {
        /// Folder of the crate
        #[arg(default_value = ".")]
        dir: PathBuf,
        /// Folder for intermediate files (default: `target` in the crate)
        #[arg(long, env = "TRAWL_PLUGIN_TARGET_DIR")]
        target_dir: Option<PathBuf>,
    },
    /// Run a plugin crate's own tests, natively
    Test {
        /// Folder of the crate
        #[arg(default_value = ".")]
        dir: PathBuf,
        /// Folder for intermediate files (default: `target` in the crate)
        #[arg(long, env = "TRAWL_PLUGIN_TARGET_DIR")]
        target_dir: Option<PathBuf>,
    },
    /// Inspect a component and call it once
    Check {
        /// The component
        file: PathBuf,
        /// Print JSON
        #[arg(long)]
        json: bool,
        /// Folder for compiled code, which only you may write to (default: your cache folder)
        #[arg(long, env = "TRAWL_CACHE_DIR")]
        cache_dir: Option<PathBuf>,
    },
    /// List what the running server has in effect; without one, load the manifest as it would
    List {
        /// A manifest to load instead of asking a server
        #[arg(long, value_name = "FILE")]
        plugins: Option<PathBuf>,
        /// Data directory of the server
        #[arg(long, env = "TRAWL_DATA", value_name = "DIR", default_value = "data")]
        data: PathBuf,
        /// Print JSON
        #[arg(long)]
        json: bool,
        /// Folder for compiled code, which only you may write to (default: your cache folder)
        #[arg(long, env = "TRAWL_CACHE_DIR")]
        cache_dir: Option<PathBuf>,
    },
    /// Write the bundled `plugins.toml` and its components into a folder
    Eject {
        /// Folder to write; nothing in it is overwritten
        #[arg(long, default_value = ".")]
        dir: PathBuf,
    },
    /// Write a copy of this program that has the plugins of a manifest bundled
    #[command(hide = true)]
    Embed {
        /// The manifest
        #[arg(long, value_name = "FILE")]
        plugins: PathBuf,
        /// The program to write
        #[arg(long, value_name = "FILE")]
        output: PathBuf,
    },
}

/// Accepts the kinds by name, with what each does in the help.
fn kind_parser() -> impl TypedValueParser<Value = PluginKind> {
    let values = PluginKind::ALL.map(|kind| PossibleValue::new(kind.name()).help(kind.summary()));
    PossibleValuesParser::new(values).try_map(|name| name.parse::<PluginKind>())
}

/// Runs one of the commands; results go to standard output, progress to standard error.
///
/// # Errors
/// One sentence for people, with its causes chained.
pub fn run(command: PluginCommand) -> anyhow::Result<()> {
    let out = &mut std::io::stdout().lock();
    match command {
        PluginCommand::New { kind, name, dir } => new::run(kind, &name, dir, out),
        PluginCommand::Build { dir, target_dir } => build::run(&dir, target_dir, out),
        PluginCommand::Test { dir, target_dir } => test::run(&dir, target_dir),
        PluginCommand::Check {
            file,
            json,
            cache_dir,
        } => check::run(&file, json, cache_dir, out),
        PluginCommand::List {
            plugins,
            data,
            json,
            cache_dir,
        } => {
            let source = list::Source {
                manifest: plugins,
                data,
                cache_dir,
            };
            list::run(source, json, out)
        }
        PluginCommand::Eject { dir } => eject::run(&dir, out),
        PluginCommand::Embed { plugins, output } => embed::run(&plugins, &output, out),
    }
}
