//! Every chore of this repository, as `cargo xtask CHORE`.

mod again;
mod apps;
mod browser;
mod checks;
mod clients;
mod cluster;
mod console;
mod documents;
mod fuzzing;
mod guests;
mod host;
mod image;
mod judges;
mod package;
mod postgres;
mod programs;
mod python;
mod runner;
mod siege;
mod skeletons;
mod stages;
mod tally;
mod tidy;
mod training;
mod workshop;
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
    /// Build every plugin into target/guests, and the server into target/debug/trawl
    Build,
    /// Build the program that is shipped, with the plugins inside: target/release/bundle/trawl
    Dist,
    /// Build the container image: target/image/trawl.tar, with a browser and fonts (needs Debian's
    /// apt and dpkg, and no daemon)
    Image {
        /// Run the image that was built in its bare root, and have it render a page (needs root)
        #[arg(long)]
        check: bool,
    },
    /// Build the Debian package of the shipped program (needs cargo-deb)
    Package,
    /// Build every plugin into target/guests
    Guests {
        /// Try only this way to a Rust for WebAssembly
        #[arg(long, value_enum)]
        way: Option<guests::WayName>,
    },
    /// Build the JavaScript applications that the browser is tested with into target/apps (needs
    /// Node.js and npm)
    Apps,
    /// Install the tools that read the OpenAPI document into target/clients: validators, generators
    /// of clients, Schemathesis (needs Node.js, npm and Python)
    Clients,
    /// Install the judges of the conformance tests into target/conformance: packages of Python and
    /// data of the standards (needs Python)
    Judges,
    /// Fetch what `bench documents` reads and compares with into target/documents: documentation of
    /// Debian, packages of Python (needs apt, dpkg, Python, poppler-utils, pandoc, groff and
    /// LibreOffice)
    Documents,
    /// Build everything and serve on this machine, data in ./data; prints a link to the console
    Serve {
        /// Further arguments of `trawl serve`
        #[arg(trailing_var_arg = true, allow_hyphen_values = true)]
        arguments: Vec<String>,
    },
    /// Check everything: format, tidy, plugins, lints, skeletons, tests
    #[command(alias = "ci")]
    Test {
        /// Build the plugins and run only the tests whose name contains this
        filter: Option<String>,
    },
    /// Take the pictures of README anew: the playground in both themes, in docs/pictures (needs a
    /// browser)
    Pictures,
    /// Attack a running server while another account works
    Siege {
        /// All attacks at once, for an hour or as long as `--minutes` says
        #[arg(long)]
        long: bool,
        /// How long a long siege lasts
        #[arg(long, requires = "long", default_value_t = 60)]
        minutes: u64,
    },
    /// Start three servers on one PostgreSQL database with a standby and an S3 server, on loopback
    Cluster,
    /// Kill, suspend and cut off servers of such a cluster, and its database, while it crawls; then
    /// check pages and bills
    Chaos {
        /// For how long; the crawl that runs then is finished
        #[arg(long, default_value_t = 60)]
        minutes: u64,
        /// The seed that an earlier run printed, to draw the same faults again
        #[arg(long)]
        seed: Option<u64>,
    },
    /// Compare the server with other programs (Chromium, libxml2, ...) over inputs that are drawn
    Conformance {
        /// How long each judge draws; all draw at once
        #[arg(long, default_value_t = 60)]
        minutes: u64,
        /// The seed that an earlier run printed, to draw the same again
        #[arg(long)]
        seed: Option<u64>,
        /// Only the judges with this in their name
        #[arg(default_value = "")]
        judge: String,
    },
    /// Run the fuzz targets: generated input for everything that reads untrusted bytes
    Fuzz {
        /// Only the targets whose name contains this
        #[arg(default_value = "")]
        target: String,
        /// How long each target runs; all run at once
        #[arg(long, default_value_t = 10)]
        minutes: u64,
    },
    /// Check the rules that no compiler checks: crates, cycles, frozen contract, files, licences
    Tidy,
    /// Note a folder of wit/ as released: from then on tidy refuses changes to it
    Freeze {
        /// The folder, wit/format/1 for one
        folder: String,
    },
    /// Learn the models of `readability` and of the kinds of pages, and print what they reach on
    /// pages of domains that they have not seen (needs Python)
    Train(training::TrainingArguments),
    /// Run the benchmarks on the shipped program
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
        Chore::Build => host::build(host::Profile::Dev),
        Chore::Dist => host::dist().map(|_| ()),
        Chore::Image { check: false } => image::build(),
        Chore::Image { check: true } => image::check(),
        Chore::Package => package::build(),
        Chore::Guests { way } => guests::build(way),
        Chore::Apps => apps::build(),
        Chore::Clients => clients::install(),
        Chore::Judges => judges::install(),
        Chore::Documents => documents::install(),
        Chore::Serve { arguments } => host::serve(&arguments),
        Chore::Test { filter: None } => checks::all(),
        Chore::Test {
            filter: Some(filter),
        } => checks::tests_named(&filter),
        Chore::Pictures => checks::pictures(),
        Chore::Siege { long, minutes } => checks::siege(long.then_some(minutes)),
        Chore::Cluster => cluster::local(),
        Chore::Chaos { minutes, seed } => cluster::chaos(minutes, seed),
        Chore::Conformance {
            minutes,
            seed,
            judge,
        } => checks::conformance(&judge, minutes, seed),
        Chore::Fuzz { target, minutes } => fuzzing::by_hand(&target, minutes),
        Chore::Tidy => tidy::run(),
        Chore::Freeze { folder } => tidy::frozen::freeze(&workspace::root(), &folder),
        Chore::Train(arguments) => training::run(&arguments),
        Chore::Bench { arguments } => host::bench(&arguments),
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn only_a_long_siege_has_a_length() {
        let siege = |options: &str| {
            let words = format!("xtask siege {options}");
            match Arguments::try_parse_from(words.split_whitespace())
                .ok()?
                .chore
            {
                Chore::Siege { long, minutes } => Some((long, minutes)),
                _ => None,
            }
        };
        assert_eq!(siege(""), Some((false, 60)));
        assert_eq!(siege("--long"), Some((true, 60)));
        assert_eq!(siege("--long --minutes 5"), Some((true, 5)));
        assert_eq!(siege("--minutes 5"), None);
    }
}
