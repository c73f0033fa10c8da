//! `trawl transform FILE`: transforms HTML from a file or standard input, without server or
//! network.

use std::io::Read;
use std::path::{Path, PathBuf};
use std::time::{Duration, Instant};

use anyhow::Context;
use clap::Args;
use url::Url;

use trawl_engine::extract::{self, Input};
use trawl_engine::page;
use trawl_plan::address;
use trawl_plugins::{Plugins, PluginsConfig};

use super::output_args::OutputArgs;
use super::{cache_folder, plugins_file};
use crate::app::report_compiling;

/// Timeout of the transformation.
const TIMEOUT: Duration = Duration::from_secs(60);

/// Options of `trawl transform`.
#[derive(Debug, Args)]
pub(super) struct TransformArgs {
    /// HTML file; `-` for standard input.
    file: PathBuf,
    /// URL of the page: base of relative links, and key of selector maps by path.
    #[arg(long)]
    url: Option<String>,
    /// `Content-Type` of the page.
    #[arg(long, value_name = "TYPE", default_value = "text/html")]
    content_type: String,
    #[command(flatten)]
    output: OutputArgs,
    /// Plugin manifest (default: `plugins.toml` in the working directory or beside the program,
    /// else the plugins inside the program).
    #[arg(long, env = "TRAWL_PLUGINS", value_name = "FILE")]
    plugins: Option<PathBuf>,
}

pub(super) fn run(args: TransformArgs) -> anyhow::Result<()> {
    let url = match &args.url {
        Some(url) => {
            let target = address::parse(url);
            let target = target.map_err(|failure| anyhow::anyhow!("`--url`: {failure}"))?;
            target.url
        }
        // Without a URL, relative links stay unresolved.
        None => Url::parse("about:blank").expect("about:blank is a URL"),
    };
    let config = PluginsConfig {
        manifest: plugins_file(args.plugins.clone())?,
        cache_dir: cache_folder(),
    };
    let plugins = Plugins::start_reporting(config, report_compiling)?;
    let registry = plugins.snapshot();
    let mut request = args.output.request()?;
    // Planning needs some URL; the transformation uses the one of the input.
    request["url"] = "page.invalid".into();
    let plan = trawl_wire::plan(&request, &*registry)?
        .pop()
        .and_then(Result::ok)
        .context("one page")?;
    let input = Input {
        url,
        body: page(&args.file)?.into(),
        content_type: args.content_type,
        screenshot: None,
    };
    let started = Instant::now();
    let (outputs, _) = extract::run(&registry, &input, &plan.output, started + TIMEOUT);
    let url = input.url.to_string();
    let outcome = page::handed_in(url, outputs, started.elapsed());
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
