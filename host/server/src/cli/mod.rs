//! The command line, one module per command.

mod account;
mod crawl;
mod engine_args;
mod listen;
mod output_args;
mod parameters;
pub mod plugin;
mod provider;
mod scrape;
mod serve;
mod transform;

use std::io::{self, Write};
use std::path::{Path, PathBuf};
use std::process::ExitCode;
use std::time::Duration;

use anyhow::Context;
use clap::{Parser, Subcommand};

use plugin::manifest::{self, Places};

/// A web scraping server with WebAssembly plugins.
#[derive(Debug, Parser)]
#[command(name = "trawl", version, about, arg_required_else_help = true)]
struct Cli {
    #[command(subcommand)]
    command: Command,
}

#[derive(Debug, Subcommand)]
enum Command {
    /// Run the server.
    Serve(serve::ServeArgs),
    /// Fetch one page and print its content; needs no server.
    Scrape(scrape::ScrapeArgs),
    /// Convert an HTML file to other formats and extract fields; needs no server and no network.
    Transform(transform::TransformArgs),
    /// Crawl a site to a file, a folder or a pipe; needs no server.
    Crawl(crawl::CrawlArgs),
    /// Manage accounts: keys, top-ups, seats, statements.
    Account(account::AccountArgs),
    /// Show the current prices, or their history.
    Prices(account::PricesArgs),
    /// Show the usage and payments of accounts.
    Usage(account::UsageArgs),
    /// List providers, print the requests they would get, try one.
    #[command(subcommand)]
    Provider(provider::ProviderCommand),
    /// Create, build, test, check, list and eject plugins.
    #[command(subcommand, visible_alias = "plugins")]
    Plugin(plugin::PluginCommand),
}

/// Runs the command line. An error is printed to stderr with its causes, one per line, and gives
/// exit code 1.
pub fn main() -> ExitCode {
    let cli = Cli::try_parse().unwrap_or_else(|error| {
        let command = std::env::args_os().nth(1);
        let command = command.as_ref().and_then(|command| command.to_str());
        parameters::with_tip(error, command).exit()
    });
    match run(cli.command) {
        Ok(()) => ExitCode::SUCCESS,
        Err(error) => {
            trawl_telemetry::say(format_args!("error: {error}"));
            let causes = error.chain().skip(1);
            causes.for_each(|cause| trawl_telemetry::say(format_args!("  because: {cause}")));
            ExitCode::FAILURE
        }
    }
}

fn run(command: Command) -> anyhow::Result<()> {
    match command {
        Command::Serve(args) => runtime()?.block_on(serve::run(args)),
        Command::Scrape(args) => runtime()?.block_on(scrape::run(args)),
        Command::Transform(args) => transform::run(args),
        Command::Crawl(args) => runtime()?.block_on(crawl::run(args)),
        Command::Account(args) => runtime()?.block_on(account::run(args)),
        Command::Prices(args) => runtime()?.block_on(account::prices(args)),
        Command::Usage(args) => runtime()?.block_on(account::usage(args)),
        Command::Plugin(command) => plugin::run(command),
        Command::Provider(command) => provider::run(command),
    }
}

fn runtime() -> io::Result<tokio::runtime::Runtime> {
    tokio::runtime::Builder::new_multi_thread()
        .enable_all()
        .thread_keep_alive(BLOCKING_THREAD_IDLE)
        .build()
}

/// How long a thread for blocking work waits for more. Idle ones take turns at what little there is
/// to do, so a long wait keeps all threads of a busy moment, each with memory that it once needed.
const BLOCKING_THREAD_IDLE: Duration = Duration::from_secs(1);

/// The plugin manifest: the given one, or `plugins.toml` in the working directory or next to the
/// program, or the bundled one, whose path is the program's own.
fn plugins_file(given: Option<PathBuf>) -> anyhow::Result<PathBuf> {
    let given = given.or_else(|| environment("TRAWL_PLUGINS").map(PathBuf::from));
    let program = std::env::current_exe().ok();
    let places = Places {
        working_dir: Path::new("."),
        program: program.as_deref(),
    };
    places.manifest(given, manifest::own_bundle)
}

/// Variable with the folder of caches.
const CACHE_HOME: &str = "XDG_CACHE_HOME";
/// Variable with the folder of states.
const STATE_HOME: &str = "XDG_STATE_HOME";

/// Where commands without a data directory cache compiled plugins; created if it is missing.
///
/// # Errors
/// It cannot be created.
fn cache_folder() -> anyhow::Result<PathBuf> {
    created(cache_path(), CACHE_HOME)
}

fn cache_path() -> PathBuf {
    environment(CACHE_HOME)
        .map(PathBuf::from)
        .or_else(|| environment("HOME").map(|home| Path::new(&home).join(".cache")))
        .unwrap_or_else(std::env::temp_dir)
        .join("trawl")
}

/// Where interrupted commands store what they need to resume; created if it is missing. Never below
/// [`cache_folder`]: the plugin compiler removes unknown files there.
///
/// # Errors
/// It cannot be created.
fn state_folder() -> anyhow::Result<PathBuf> {
    created(state_path(), STATE_HOME)
}

fn state_path() -> PathBuf {
    environment(STATE_HOME)
        .map(PathBuf::from)
        .or_else(|| environment("HOME").map(|home| Path::new(&home).join(".local/state")))
        .unwrap_or_else(|| std::env::temp_dir().join("state"))
        .join("trawl")
}

/// The folder, after it was created if it was missing; this variable selects another one.
fn created(folder: PathBuf, variable: &str) -> anyhow::Result<PathBuf> {
    std::fs::create_dir_all(&folder).with_context(|| {
        format!(
            "cannot create `{}`; set the variable {variable} to a folder that can be written",
            folder.display()
        )
    })?;
    Ok(folder)
}

/// The log filter in `RUST_LOG`.
fn log_filter() -> Option<String> {
    environment("RUST_LOG")
}

#[expect(
    clippy::disallowed_methods,
    reason = "the command line reads the environment for the server"
)]
fn environment(name: &str) -> Option<String> {
    std::env::var(name).ok().filter(|value| !value.is_empty())
}

/// Environment variables that may be credentials: upper-case letters, digits and `_`.
fn environment_names() -> Vec<(String, String)> {
    let is_name = |name: &str| {
        name.bytes()
            .all(|byte| matches!(byte, b'A'..=b'Z' | b'0'..=b'9' | b'_'))
    };
    let variables = std::env::vars_os();
    let text = variables
        .filter_map(|(name, value)| Some((name.into_string().ok()?, value.into_string().ok()?)));
    text.filter(|(name, _)| is_name(name)).collect()
}

/// Prints a line to standard output. A closed pipe is not an error.
fn print(text: &str) -> anyhow::Result<()> {
    Ok(print_bytes(format!("{text}\n").as_bytes())?)
}

fn print_bytes(bytes: &[u8]) -> io::Result<()> {
    let mut out = io::stdout().lock();
    match out.write_all(bytes).and_then(|()| out.flush()) {
        Err(error) if error.kind() == io::ErrorKind::BrokenPipe => Ok(()),
        written => written,
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_folder_that_cannot_be_created_names_the_variable_for_another() {
        let parent = tempfile::tempdir().expect("a temporary directory");
        let folder = parent.path().join("a/trawl");
        assert_eq!(
            created(folder.clone(), CACHE_HOME).expect("created"),
            folder
        );
        assert!(folder.is_dir());
        let file = parent.path().join("file");
        std::fs::write(&file, "").expect("a file");
        let text = created(file.join("trawl"), STATE_HOME).expect_err("in a file");
        let text = text.to_string();
        assert!(
            text.contains("file/trawl") && text.contains("XDG_STATE_HOME"),
            "{text}"
        );
    }

    #[test]
    fn state_is_not_stored_among_compiled_plugins() {
        assert!(!state_path().starts_with(cache_path()));
    }
}
