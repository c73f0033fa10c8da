//! `trawl plugin …`: commands for plugin authors, from an empty directory to a loaded component,
//! and for the bundled plugins.

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

use std::io::Write;
use std::path::PathBuf;

use clap::Subcommand;
use clap::builder::{PossibleValue, PossibleValuesParser, TypedValueParser};

use trawl_model::PluginKind;

use super::standard_output::print_bytes;

/// The commands.
#[derive(Debug, Subcommand)]
pub enum PluginCommand {
    /// Create a plugin crate from a template, with the SDK
    New {
        /// Kind of plugin
        #[arg(value_parser = kind_parser())]
        kind: PluginKind,
        /// Name in requests: lower-case letters, digits and `_`, starting with a letter
        name: String,
        /// Directory of the crate (default: the name)
        #[arg(long)]
        dir: Option<PathBuf>,
    },
    /// Compile a plugin crate into a component
    Build {
        /// Directory of the crate
        #[arg(default_value = ".")]
        dir: PathBuf,
        /// Directory for intermediate files (default: `target` in the crate)
        #[arg(long, env = "TRAWL_PLUGIN_TARGET_DIR")]
        target_dir: Option<PathBuf>,
    },
    /// Run the tests of a plugin crate natively
    Test {
        /// Directory of the crate
        #[arg(default_value = ".")]
        dir: PathBuf,
        /// Directory for intermediate files (default: `target` in the crate)
        #[arg(long, env = "TRAWL_PLUGIN_TARGET_DIR")]
        target_dir: Option<PathBuf>,
    },
    /// Inspect a component and call it once
    Check {
        /// Component file
        file: PathBuf,
        /// Print JSON
        #[arg(long)]
        json: bool,
        /// Cache directory for compiled code, writable only by you (default: your cache directory)
        #[arg(long, env = "TRAWL_CACHE_DIR")]
        cache_dir: Option<PathBuf>,
    },
    /// List the plugins of the running server, or load the manifest if none is running
    List {
        /// Manifest to load instead of asking the server
        #[arg(long, value_name = "FILE")]
        plugins: Option<PathBuf>,
        /// Data directory of the server
        #[arg(long, env = "TRAWL_DATA", value_name = "DIR", default_value = "data")]
        data: PathBuf,
        /// Print JSON
        #[arg(long)]
        json: bool,
        /// Cache directory for compiled code, writable only by you (default: your cache directory)
        #[arg(long, env = "TRAWL_CACHE_DIR")]
        cache_dir: Option<PathBuf>,
    },
    /// Write the bundled `plugins.toml` and its components to a directory
    Eject {
        /// Directory to write to; nothing in it is overwritten
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

/// Parses a kind by its name; the help describes each.
fn kind_parser() -> impl TypedValueParser<Value = PluginKind> {
    let values = PluginKind::ALL.map(|kind| PossibleValue::new(kind.name()).help(kind.summary()));
    PossibleValuesParser::new(values).try_map(|name| name.parse::<PluginKind>())
}

/// Runs one of the commands; prints results to standard output, progress to standard error.
///
/// # Errors
/// The command failed.
pub fn run(command: PluginCommand) -> anyhow::Result<()> {
    // A reader that closes the pipe early, such as `head`, is not an error.
    let mut out = Vec::new();
    let done = perform(command, &mut out);
    print_bytes(&out)?;
    done
}

fn perform(command: PluginCommand, out: &mut dyn Write) -> anyhow::Result<()> {
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
            let source = list::ListSource {
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
