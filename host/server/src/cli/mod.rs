//! The command line, one module per command.

mod account;
mod backup;
mod bot;
mod cluster;
mod crawl;
mod engine_args;
mod environment;
mod health;
mod listen;
mod local_engine;
mod manual;
mod map;
mod mcp;
mod migrate;
mod output_args;
mod parameters;
pub mod plugin;
mod provider;
mod runtime;
mod scrape;
mod search;
mod serve;
mod standard_output;
mod transform;

use std::process::ExitCode;

use clap::{CommandFactory, Parser, Subcommand};

use runtime::runtime;

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
    /// Fetch the pages that a file lists to a file, a folder or a pipe; needs no server.
    Batch(crawl::BatchArgs),
    /// List the URLs of a site without fetching its pages; needs no server.
    Map(map::MapArgs),
    /// Give an agent the tools of a server, by the Model Context Protocol on standard input and
    /// output.
    Mcp(mcp::McpArgs),
    /// Search the web and print the results or their pages; needs no server.
    Search(search::SearchArgs),
    /// Manage accounts: keys, top-ups, seats, statements.
    Account(account::AccountArgs),
    /// Show the current prices, or their history.
    Prices(account::PricesArgs),
    /// Show the usage and payments of accounts.
    Usage(account::UsageArgs),
    /// Copy the data directory of a server, which may run, to a new folder.
    Backup(backup::BackupArgs),
    /// Make a data directory of a backup.
    Restore(backup::RestoreArgs),
    /// Show the servers of a PostgreSQL database, and check its sums.
    #[command(subcommand)]
    Cluster(cluster::ClusterCommand),
    /// Move a data directory into a PostgreSQL database.
    ///
    /// Accounts, keys, seats, the ledger, crawls, webhook events and their secrets, contacts, and
    /// answers for `Idempotency-Key` are written in one transaction, which is kept only if the
    /// ledger and all sums are the same. Stop the server first. The command may be repeated: it
    /// says so if the directory was moved before, and changes nothing. The pages of crawls stay in
    /// the directory unless `--objects` is given, so start the server with both.
    Migrate(migrate::MigrateArgs),
    /// Make the key that signs requests to sites.
    #[command(subcommand)]
    Bot(bot::BotCommand),
    /// List providers, print the requests they would get, try one.
    #[command(subcommand)]
    Provider(provider::ProviderCommand),
    /// Create, build, test, check, list and eject plugins.
    #[command(subcommand, visible_alias = "plugins")]
    Plugin(plugin::PluginCommand),
    /// Ask a running server whether it can serve a page; exits with an error if it cannot.
    Health(health::HealthArgs),
    /// Print the completion script of a shell.
    Completions(manual::CompletionsArgs),
    /// Write the manual pages of all commands to a folder.
    Man(manual::ManArgs),
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
        Command::Batch(args) => runtime()?.block_on(crawl::run_batch(args)),
        Command::Map(args) => runtime()?.block_on(map::run(args)),
        Command::Mcp(args) => runtime()?.block_on(mcp::run(args)),
        Command::Search(args) => runtime()?.block_on(search::run(args)),
        Command::Account(args) => runtime()?.block_on(account::run(args)),
        Command::Prices(args) => runtime()?.block_on(account::prices(args)),
        Command::Usage(args) => runtime()?.block_on(account::usage(args)),
        Command::Backup(args) => runtime()?.block_on(backup::back_up(args)),
        Command::Restore(args) => runtime()?.block_on(backup::restore(args)),
        Command::Cluster(command) => runtime()?.block_on(cluster::run(command)),
        Command::Migrate(args) => runtime()?.block_on(migrate::run(args)),
        Command::Bot(command) => bot::run(command),
        Command::Plugin(command) => plugin::run(command),
        Command::Provider(command) => provider::run(command),
        Command::Health(args) => health::run(&args),
        Command::Completions(args) => manual::completions(&args, Cli::command()),
        Command::Man(args) => manual::man(&args, Cli::command()),
    }
}
