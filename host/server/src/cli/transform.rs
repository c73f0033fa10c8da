//! `trawl transform FILE`: transforms HTML from a file or standard input, without server or
//! network.

use std::io::Read;
use std::path::{Path, PathBuf};
use std::time::{Duration, Instant};

use anyhow::Context;
use clap::Args;
use serde_json::json;
use url::Url;

use trawl_engine::extract::{self, Input};
use trawl_engine::page;
use trawl_plan::address;
use trawl_plan::parameters::Route;
use trawl_plugins::{Plugins, PluginsConfig};
use trawl_wire::transform_plan;

use super::output_args::{OutputArgs, complete_format};
use super::parameters::{self, CommandParameters, ParameterArgs, Request, section};
use super::{cache_folder, plugins_file};
use crate::app::report_compiling;

/// The parameters of the command.
const PARAMETERS: CommandParameters = CommandParameters {
    route: Route::Transform,
    argument: "data",
    idle: &[],
};

/// Timeout of the transformation.
const TIMEOUT: Duration = Duration::from_secs(60);

/// Options of `trawl transform`.
#[derive(Debug, Args)]
#[command(after_long_help = section(&PARAMETERS))]
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
    #[command(flatten)]
    parameters: ParameterArgs,
    /// Plugin manifest (default: `plugins.toml` in the working directory or beside the program,
    /// else the plugins inside the program).
    #[arg(long, env = "TRAWL_PLUGINS", value_name = "FILE")]
    plugins: Option<PathBuf>,
}

pub(super) fn run(args: TransformArgs) -> anyhow::Result<()> {
    let request = request(&args)?;
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
    let plan = transform_plan(&request.body(), &*registry)?;
    parameters::print(parameters::ignored(&plan.ignored, Route::Transform));
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
    args.output.print(&outcome, &request)
}

/// The request object. Its page is a placeholder: the transformation reads the file itself.
fn request(args: &TransformArgs) -> anyhow::Result<Request> {
    let mut request = args.parameters.request(args.output.given()?, &PARAMETERS)?;
    request.put_argument(PARAMETERS.argument, Some(json!([{"html": ""}])))?;
    complete_format(&mut request);
    Ok(request)
}

fn page(file: &Path) -> anyhow::Result<Vec<u8>> {
    if file == Path::new("-") {
        let mut page = Vec::new();
        let read = std::io::stdin().lock().read_to_end(&mut page);
        return read.map(|_| page).context("cannot read standard input");
    }
    std::fs::read(file).with_context(|| format!("cannot read `{}`", file.display()))
}

#[cfg(test)]
mod tests {
    use clap::{CommandFactory, Parser};

    use super::super::parameters::tests::check_help;
    use super::*;

    #[derive(Debug, Parser)]
    struct Command {
        #[command(flatten)]
        args: TransformArgs,
    }

    #[test]
    fn the_help_of_every_option_is_that_of_its_parameter() {
        let args = Command::try_parse_from(["x", "-"]).expect("options").args;
        let given = args.output.given().expect("read");
        let own = ["url", "content-type", "json", "set", "data", "plugins"];
        check_help(Command::command(), &given, &own, &PARAMETERS);
    }

    #[test]
    fn the_page_is_the_file() {
        let words = ["x", "-", "--data", r#"{"data": [{"html": "<p>"}]}"#];
        let args = Command::try_parse_from(words).expect("options").args;
        let text = request(&args).expect_err("refused").to_string();
        assert!(text.contains("`data` is given twice"), "{text}");
    }
}
