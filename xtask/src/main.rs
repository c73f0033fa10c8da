//! Every chore of this repository, as `cargo xtask CHORE`.

mod apps;
mod browser;
mod checks;
mod guests;
mod host;
mod stages;
mod tidy;
mod workspace;

use std::process::ExitCode;

use clap::{Parser, Subcommand};

#[derive(Debug, Parser)]
#[command(name = "cargo xtask", about = "Every chore of this repository")]
struct Arguments {
    #[command(subcommand)]
    chore: Chore,
}

#[derive(Debug, Subcommand)]
enum Chore {
    /// Build every plugin into target/guests, and the server
    Build {
        /// Optimised: leaves target/release/trawl (otherwise target/debug/trawl)
        #[arg(long)]
        release: bool,
    },
    /// Build every plugin into target/guests
    Guests {
        /// Try only this way to a Rust for WebAssembly
        #[arg(long, value_enum)]
        way: Option<guests::WayName>,
    },
    /// Build the pages made by JavaScript that the browser is tested with into target/apps (needs node and npm)
    Apps,
    /// Build everything and serve on this machine, data in ./data
    Serve {
        /// Further arguments of `trawl serve`
        #[arg(trailing_var_arg = true, allow_hyphen_values = true)]
        arguments: Vec<String>,
    },
    /// Everything that must hold: format, tidy, plugins, lints, skeletons, tests
    #[command(alias = "ci")]
    Test {
        /// Build the plugins and run only the tests whose name contains this
        filter: Option<String>,
    },
    /// The rules that no compiler checks: room arrows, frozen contract, long files, licences
    Tidy,
    /// Note a folder of wit/ as released: from then on tidy refuses changes to it
    Freeze {
        /// The folder, wit/format/1 for one
        folder: String,
    },
    /// Run the benchmarks
    Bench {
        /// Arguments of the benchmark program
        #[arg(trailing_var_arg = true, allow_hyphen_values = true)]
        arguments: Vec<String>,
    },
}

fn main() -> ExitCode {
    match run(Arguments::parse().chore) {
        Ok(()) => ExitCode::SUCCESS,
        Err(error) => {
            eprintln!("error: {error:#}");
            ExitCode::FAILURE
        }
    }
}

fn run(chore: Chore) -> anyhow::Result<()> {
    match chore {
        Chore::Build { release } => {
            guests::build(None)?;
            host::build(release)
        }
        Chore::Guests { way } => guests::build(way),
        Chore::Apps => apps::build(),
        Chore::Serve { arguments } => host::serve(&arguments),
        Chore::Test { filter: None } => checks::all(),
        Chore::Test {
            filter: Some(filter),
        } => checks::tests_named(&filter),
        Chore::Tidy => tidy::run(),
        Chore::Freeze { folder } => tidy::frozen::freeze(&workspace::root(), &folder),
        Chore::Bench { arguments } => host::bench(&arguments),
    }
}
