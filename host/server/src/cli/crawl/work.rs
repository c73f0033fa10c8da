//! What a command crawls: a site, or listed pages; and where it writes the pages.

use std::path::{Path, PathBuf};

use clap::Args;

use trawl_parameters::Route;
use trawl_wire::Verb;

use super::super::engine_args::EngineArgs;
use super::super::output_args::complete_format;
use super::super::parameters::Request;

/// Where the pages go, and what fetches them.
#[derive(Debug, Args)]
pub(in crate::cli) struct WorkArgs {
    /// Write page entries to this file, one JSON object per line.
    #[arg(short, long, value_name = "FILE", conflicts_with = "dir")]
    pub(super) output: Option<PathBuf>,
    /// Write the content of each page to a file in this folder, with an index in `pages.jsonl`.
    #[arg(long, value_name = "DIR")]
    pub(super) dir: Option<PathBuf>,
    /// Continue what this command with the same output was interrupted in, or ended at a cap in the
    /// last 7 days. Its options stay, but for `--limit`, `--depth` and `--max-cost`.
    #[arg(long, conflicts_with = "overwrite")]
    pub(super) resume: bool,
    /// Replace the file, or the index of the folder and the files of pages that it lists.
    #[arg(long)]
    pub(super) overwrite: bool,
    #[command(flatten)]
    pub(super) engine: EngineArgs,
}

impl WorkArgs {
    /// The file or the folder; `None` for the standard output.
    pub(super) fn target(&self) -> Option<&Path> {
        self.output.as_deref().or(self.dir.as_deref())
    }
}

/// What a command crawls.
pub(super) struct Work {
    /// A crawl or a batch.
    pub(super) verb: Verb,
    /// The route of the HTTP interface with the same parameters.
    pub(super) route: Route,
    /// The parameters that were given.
    pub(super) request: Request,
    /// The body of the request.
    pub(super) body: Vec<u8>,
    /// What its state is found by, with its output.
    pub(super) key: String,
    /// Where the pages go.
    pub(super) args: WorkArgs,
}

/// The body of the request: what was given, and what holds for everything that the command line
/// crawls.
pub(super) fn body(args: &WorkArgs, request: &Request) -> Vec<u8> {
    let mut request = Request {
        object: request.object.clone(),
        ..Request::default()
    };
    let is_image = complete_format(&mut request) && args.dir.is_some();
    if is_image {
        request.set_default("binary", true.into());
    }
    request.set_default("cache", false.into());
    request.set_default("run_in_background", true.into());
    request.body()
}
