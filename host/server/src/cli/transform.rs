//! `trawl transform FILE`: a page from a file or standard input, without a server and without a network.

use std::io::Read;
use std::path::{Path, PathBuf};
use std::time::{Duration, Instant};

use anyhow::Context;
use clap::Args;
use url::Url;

use super::output_args::OutputArgs;
use super::{cache_folder, plugins_file};
use trawl_engine::extract::{self, Input};
use trawl_engine::page::PageOutcome;
use trawl_plan::address;
use trawl_plugins::{Plugins, PluginsConfig};

/// How long the page may take.
const TIME_MAX: Duration = Duration::from_secs(60);

/// Options of `trawl transform`.
#[derive(Debug, Args)]
pub(super) struct TransformArgs {
    /// The page's file; `-` is standard input.
    file: PathBuf,
    /// The page's address: what relative links resolve against, and what selector maps by path look at.
    #[arg(long)]
    url: Option<String>,
    /// Its `Content-Type`.
    #[arg(long, value_name = "TYPE", default_value = "text/html")]
    content_type: String,
    #[command(flatten)]
    output: OutputArgs,
    /// Plugin manifest; without it `plugins.toml` here or beside the program.
    #[arg(long, env = "TRAWL_PLUGINS", value_name = "FILE")]
    plugins: Option<PathBuf>,
}

pub(super) fn run(args: TransformArgs) -> anyhow::Result<()> {
    let url = match &args.url {
        Some(url) => {
            address::parse(url).map_err(|failure| anyhow::anyhow!("`--url`: {failure}"))?
        }
        // Without an address relative links have nothing to resolve against and stay as they are.
        None => Url::parse("about:blank").expect("about:blank is an address"),
    };
    let plugins = Plugins::start(PluginsConfig {
        manifest: plugins_file(args.plugins.clone())?,
        cache_dir: cache_folder(),
    })?;
    let registry = plugins.snapshot();
    let mut request = args.output.request()?;
    // A plan wants an address; the one that counts is the input's.
    request["url"] = "page.invalid".into();
    let plan = trawl_wire::plan(&request, &*registry)?
        .pop()
        .context("one page")?;
    let input = Input {
        url,
        body: page(&args.file)?.into(),
        content_type: args.content_type,
        picture: None,
    };
    let started = Instant::now();
    let (outputs, _) = extract::run(&registry, &input, &plan.output, started + TIME_MAX);
    let url = input.url.to_string();
    let outcome = PageOutcome::handed_in(url, outputs, started.elapsed());
    args.output.print(outcome)
}

fn page(file: &Path) -> anyhow::Result<Vec<u8>> {
    if file == Path::new("-") {
        let mut page = Vec::new();
        let read = std::io::stdin().lock().read_to_end(&mut page);
        return read.map(|_| page).context("cannot read standard input");
    }
    std::fs::read(file).with_context(|| format!("cannot read `{}`", file.display()))
}
