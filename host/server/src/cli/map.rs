//! `trawl map URL`: prints the URLs of a site, without a server.

use std::sync::Arc;

use clap::Args;

use trawl_crawl::SiteMap;
use trawl_net::sitemap::Sitemaps;
use trawl_parameters::Route;
use trawl_plan::map::MapPlan;
use trawl_wire::{MapRequest, map_request};

use super::engine_args::EngineArgs;
use super::local_engine::{self, LocalEngine};
use super::parameters::{
    self, CommandParameters, OptionList, Options, ParameterArgs, Request, section,
};
use super::standard_output::print_bytes;

/// The parameters of the command.
const PARAMETERS: CommandParameters = CommandParameters {
    route: Route::Map,
    argument: "url",
    idle: &[("cache", "the command line has no cache of pages")],
};

/// The options for parameters.
#[derive(Debug)]
enum MapOptions {}

impl OptionList for MapOptions {
    const NAMES: &'static [&'static str] = &[
        "query",
        "words",
        "limit",
        "request",
        "delay",
        "subdomains",
        "blacklist",
        "whitelist",
        "respect_robots",
    ];
}

/// Options of `trawl map`.
#[derive(Debug, Args)]
#[command(after_long_help = section(&PARAMETERS))]
pub(super) struct MapArgs {
    /// URL of the start page; `https://` may be omitted.
    #[arg(required_unless_present = "data")]
    url: Option<String>,
    #[command(flatten)]
    options: Options<MapOptions>,
    #[command(flatten)]
    parameters: ParameterArgs,
    #[command(flatten)]
    engine: EngineArgs,
}

pub(super) async fn run(args: MapArgs) -> anyhow::Result<()> {
    let request = request(&args)?;
    let engine = LocalEngine::build(&args.engine).await?;
    let MapRequest { plan, ignored } = map_request(&request.body(), engine.plan_context())?;
    parameters::print(parameters::ignored(&ignored, Route::Map));
    let lines = map(&engine, plan).await;
    engine.parts.close().await;
    Ok(print_bytes(&lines)?)
}

/// A map, one JSON object per line.
async fn map(engine: &LocalEngine, plan: MapPlan) -> Vec<u8> {
    let context = engine.run_context();
    let sitemaps = Sitemaps::clone(&engine.parts.sitemaps);
    let (robots, memory) = (Arc::clone(&engine.parts.robots), context.memory.clone());
    let mut map = SiteMap::new(Arc::new(plan), sitemaps, robots, memory);
    if let Some(plan) = map.start_page() {
        map.add_start_page(&local_engine::page(&context, &plan).await);
    }
    let (lines, _lease) = map.read_sitemaps().await.into_lines().into_parts();
    let mut text = Vec::new();
    for line in lines {
        text.extend_from_slice(&line);
        text.push(b'\n');
    }
    text
}

/// The request object, without what has no effect here, which is named on standard error.
fn request(args: &MapArgs) -> anyhow::Result<Request> {
    let options = args.options.given()?;
    let mut request = args.parameters.request(options, &PARAMETERS)?;
    let url = args.url.as_deref().map(Into::into);
    request.put_argument(PARAMETERS.argument, url)?;
    parameters::print(std::mem::take(&mut request.idle));
    Ok(request)
}

#[cfg(test)]
mod tests {
    use clap::{CommandFactory, Parser};
    use serde_json::json;

    use super::super::parameters::tests::check_help;
    use super::*;

    #[derive(Debug, Parser)]
    struct Command {
        #[command(flatten)]
        args: MapArgs,
    }

    #[test]
    fn the_help_of_every_option_is_that_of_its_parameter() {
        let args = Command::try_parse_from(["x", "a.example"]);
        let given = args.expect("options").args.options.given();
        let given = given.expect("read");
        check_help(Command::command(), &given, &[], &PARAMETERS);
    }

    #[test]
    fn options_are_parameters() {
        let words = [
            "x",
            "a.example",
            "--query",
            "install linux",
            "--word",
            "guide",
            "--word",
            "manual",
            "--limit",
            "7",
            "--include",
            "/docs",
        ];
        let command = Command::try_parse_from(words).expect("options");
        let request = request(&command.args).expect("a request");
        assert_eq!(request.get("url"), "a.example");
        assert_eq!(request.get("query"), "install linux");
        assert_eq!(*request.get("words"), json!(["guide", "manual"]));
        assert_eq!(*request.get("limit"), json!(7));
        assert_eq!(*request.get("whitelist"), json!(["/docs"]));
    }
}
