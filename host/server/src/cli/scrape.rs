//! `trawl scrape URL`: prints one page, without a server.

use anyhow::bail;
use clap::Args;

use trawl_parameters::Route;
use trawl_wire::{Verb, scrape_plan};

use super::engine_args::EngineArgs;
use super::local_engine::{self, LocalEngine};
use super::output_args::{OutputArgs, complete_format};
use super::parameters::{
    self, CommandParameters, OptionList, Options, PageNotices, ParameterArgs, Request, section,
};

/// The parameters of the command.
const PARAMETERS: CommandParameters = CommandParameters {
    route: Route::Scrape,
    argument: "url",
    idle: &[("cache", "the command line has no cache of pages")],
};

/// The options for parameters other than those of the output.
#[derive(Debug)]
enum ScrapeOptions {}

impl OptionList for ScrapeOptions {
    const NAMES: &'static [&'static str] = &["request"];
}

/// Options of `trawl scrape`.
#[derive(Debug, Args)]
#[command(after_long_help = section(&PARAMETERS))]
pub(super) struct ScrapeArgs {
    /// URL of the page; `https://` may be omitted.
    #[arg(required_unless_present = "data")]
    url: Option<String>,
    #[command(flatten)]
    options: Options<ScrapeOptions>,
    #[command(flatten)]
    output: OutputArgs,
    #[command(flatten)]
    parameters: ParameterArgs,
    #[command(flatten)]
    engine: EngineArgs,
}

pub(super) async fn run(args: ScrapeArgs) -> anyhow::Result<()> {
    let request = request(&args)?;
    let engine = LocalEngine::build(&args.engine).await?;
    let mut scrape = scrape_plan(&request.body(), Verb::Scrape, engine.plan_context())?;
    let (Some(plan), true) = (scrape.pages.pop(), scrape.pages.is_empty()) else {
        bail!("give one URL")
    };
    parameters::print(parameters::ignored(&scrape.ignored, Route::Scrape));
    let outcome = local_engine::page_of(&engine.run_context(), plan).await;
    engine.parts.close().await;
    let metadata = outcome.fields.metadata.as_ref();
    let mut notices = PageNotices::default();
    notices.add(metadata.and_then(|metadata| metadata.get("ignored")));
    parameters::print(notices.sentences());
    args.output.print(&outcome, &request)
}

/// The request object, without what has no effect here, which is named on standard error.
fn request(args: &ScrapeArgs) -> anyhow::Result<Request> {
    let options = args.output.given()?.into_iter();
    let options = options.chain(args.options.given()?);
    let mut request = args.parameters.request(options, &PARAMETERS)?;
    let url = args.url.as_deref().map(Into::into);
    request.put_argument(PARAMETERS.argument, url)?;
    if complete_format(&mut request) && !args.output.prints_entry(&request) {
        request.set_default("binary", true.into());
    }
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
        args: ScrapeArgs,
    }

    #[test]
    fn the_help_of_every_option_is_that_of_its_parameter() {
        let args = Command::try_parse_from(["x", "a.example"])
            .expect("options")
            .args;
        let mut given = args.output.given().expect("read");
        given.extend(args.options.given().expect("read"));
        check_help(Command::command(), &given, &["json"], &PARAMETERS);
    }

    #[test]
    fn the_url_is_an_argument_or_a_parameter() {
        let request = |words: &[&str]| {
            let words = std::iter::once("x").chain(words.iter().copied());
            let command = Command::try_parse_from(words).map_err(|error| error.to_string())?;
            request(&command.args).map_err(|error| error.to_string())
        };
        let url = |words: &[&str]| request(words).map(|request| request.get("url").clone());
        assert_eq!(url(&["a.example"]), Ok(json!("a.example")));
        let data = r#"{"url": "b.example"}"#;
        assert_eq!(url(&["--data", data]), Ok(json!("b.example")));
        let text = url(&["a.example", "--data", data]).expect_err("refused");
        assert!(text.contains("given twice"), "{text}");
        assert!(url(&[]).expect_err("refused").contains("URL"));
        assert!(url(&["a.example", "--request", "Headless"]).is_ok());
    }

    #[test]
    fn a_screenshot_is_printed_as_an_image_and_in_an_entry_as_text() {
        let binary = |words: &[&str]| {
            let words = ["x", "a.example", "--format", "screenshot"]
                .iter()
                .chain(words);
            let command = Command::try_parse_from(words).expect("options");
            request(&command.args)
                .expect("a request")
                .get("binary")
                .clone()
        };
        assert_eq!(binary(&[]), true);
        assert_eq!(binary(&["--json"]), json!(null));
        assert_eq!(binary(&["--set", "binary=false"]), false);
    }
}
