//! The command line. Each command is a file; rules live in the rooms.

mod account;
mod crawl;
mod engine_args;
mod output_args;
pub mod plugin;
mod provider;
mod scrape;
mod serve;
mod transform;

use std::io::{self, Write};
use std::path::{Path, PathBuf};
use std::process::ExitCode;

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
    /// Fetch one page and print its content; no server needed.
    Scrape(scrape::ScrapeArgs),
    /// Make formats and fields of a page in a file; no server and no network needed.
    Transform(transform::TransformArgs),
    /// Crawl a site into a file, a folder or a pipe; no server needed.
    Crawl(crawl::CrawlArgs),
    /// Create accounts, top them up, read their statements.
    Account(account::AccountArgs),
    /// Show the prices in effect, or all there ever were.
    Prices(account::PricesArgs),
    /// Show what accounts consumed and paid.
    Usage(account::UsageArgs),
    /// List providers, show what they would be sent, try one.
    #[command(subcommand)]
    Provider(provider::ProviderCommand),
    /// Write, build, test, check, list and eject plugins.
    #[command(subcommand, visible_alias = "plugins")]
    Plugin(plugin::PluginCommand),
}

/// Runs the command line. Errors go to stderr with their causes, one a line, and give exit code 1.
pub fn main() -> ExitCode {
    match run(Cli::parse().command) {
        Ok(()) => ExitCode::SUCCESS,
        Err(error) => {
            eprintln!("error: {error}");
            error
                .chain()
                .skip(1)
                .for_each(|cause| eprintln!("  because: {cause}"));
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
        .build()
}

/// The plugin manifest: the one named, else `plugins.toml` in the working directory or beside the
/// program, else the bundled one, for which the program's own path stands.
fn plugins_file(named: Option<PathBuf>) -> anyhow::Result<PathBuf> {
    let named = named.or_else(|| environment("TRAWL_PLUGINS").map(PathBuf::from));
    let program = std::env::current_exe().ok();
    let places = Places {
        working_dir: Path::new("."),
        program: program.as_deref(),
    };
    places.manifest(named, manifest::own_bundle)
}

/// Where commands that run without a data directory keep compiled plugins.
fn cache_folder() -> PathBuf {
    environment("XDG_CACHE_HOME")
        .map(PathBuf::from)
        .or_else(|| environment("HOME").map(|home| Path::new(&home).join(".cache")))
        .unwrap_or_else(std::env::temp_dir)
        .join("trawl")
}

/// Where commands keep what they need to go on after they were interrupted. Never below [`cache_folder`]: what compiles plugins
/// removes there what it does not know.
fn state_folder() -> PathBuf {
    environment("XDG_STATE_HOME")
        .map(PathBuf::from)
        .or_else(|| environment("HOME").map(|home| Path::new(&home).join(".local/state")))
        .unwrap_or_else(|| std::env::temp_dir().join("state"))
        .join("trawl")
}

/// What `RUST_LOG` asks for.
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

/// Variables whose names credentials may have: upper-case letters, digits and `_`.
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

/// A line on standard output. A reader that went away is no error.
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
    fn what_is_kept_to_go_on_is_not_among_compiled_plugins() {
        assert!(!state_folder().starts_with(cache_folder()));
    }
}
