//! `trawl search WORDS`: prints the results of a web search, or their pages, without a server.

use clap::Args;

use trawl_engine::page::RunContext;
use trawl_engine::search::{self, Hit, SearchError};
use trawl_parameters::{COMMAND_FORMAT, Route};
use trawl_wire::{SearchHit, SearchRequest, search_request, write_entry};

use super::engine_args::EngineArgs;
use super::local_engine::{self, LocalEngine};
use super::parameters::{
    self, CommandParameters, OptionList, Options, ParameterArgs, Request, section,
};
use super::standard_output::print_bytes;

/// The parameters of the command.
const PARAMETERS: CommandParameters = CommandParameters {
    route: Route::Search,
    argument: "search",
    idle: &[
        ("cache", "the command line has no cache of pages"),
        ("url", "the results say which pages are fetched"),
    ],
};
const PAGES: &str = "fetch_page_content";

/// The options for parameters.
#[derive(Debug)]
enum SearchOptions {}

impl OptionList for SearchOptions {
    const NAMES: &'static [&'static str] = &["search_limit", "country", "language", "tbs", PAGES];
}

/// Options of `trawl search`.
#[derive(Debug, Args)]
#[command(after_long_help = section(&PARAMETERS))]
pub(super) struct SearchArgs {
    /// Words to search for; quote several.
    #[arg(required_unless_present = "data")]
    words: Option<String>,
    #[command(flatten)]
    options: Options<SearchOptions>,
    #[command(flatten)]
    parameters: ParameterArgs,
    #[command(flatten)]
    engine: EngineArgs,
}

pub(super) async fn run(args: SearchArgs) -> anyhow::Result<()> {
    let request = request(&args)?;
    let engine = LocalEngine::build(&args.engine).await?;
    let planned = search_request(&request.body(), engine.plan_context())?;
    let backends = &engine.config.search.backends;
    let printed = search(&engine.run_context(), planned, backends).await;
    engine.parts.close().await;
    printed
}

/// Searches, and prints one JSON object per line: results, or the entries of their pages.
async fn search(
    context: &RunContext,
    planned: SearchRequest,
    backends: &[String],
) -> anyhow::Result<()> {
    let SearchRequest {
        plan,
        pages,
        mut ignored,
    } = planned;
    let found = search::unbilled(context, &plan, backends).await;
    let (found, without_effect) = found.map_err(with_advice)?;
    for name in without_effect {
        ignored.add(name);
    }
    parameters::print(parameters::ignored(&ignored, Route::Search));
    let hits: Vec<Hit> = found.hits.into_iter().take(plan.limit).collect();
    let numbered = hits.iter().zip(found.first_position..);
    let Some(pages) = pages else {
        for (hit, position) in numbered {
            let mut line = serde_json::to_vec(&shown(hit, position))?;
            line.push(b'\n');
            print_bytes(&line)?;
        }
        return Ok(());
    };
    let urls: Vec<String> = hits.iter().map(|hit| hit.url.clone()).collect();
    for (page, (hit, position)) in pages.plans(&urls).into_iter().zip(numbered) {
        let mut outcome = local_engine::page_of(context, page).await;
        shown(hit, position).add_to(&mut outcome);
        let mut line = Vec::new();
        write_entry(&outcome, &mut line);
        line.push(b'\n');
        print_bytes(&line)?;
    }
    Ok(())
}

fn shown(hit: &Hit, position: u64) -> SearchHit<'_> {
    SearchHit {
        position,
        url: &hit.url,
        title: &hit.title,
        description: &hit.snippet,
        date: hit.date.as_deref(),
        site_name: hit.site_name.as_deref(),
    }
}

/// The error with what to do about it.
fn with_advice(error: SearchError) -> anyhow::Error {
    match error {
        SearchError::NotConfigured => anyhow::anyhow!(
            "no search service is configured: name one under `[search]` in the configuration, \
             `backends = [\"searxng\"]`, or set the key of one, `BRAVE_API_KEY`"
        ),
        other => anyhow::Error::new(other).context("the search failed"),
    }
}

/// The request object, without what has no effect here, which is named on standard error.
fn request(args: &SearchArgs) -> anyhow::Result<Request> {
    let options = args.options.given()?;
    let mut request = args.parameters.request(options, &PARAMETERS)?;
    let words = args.words.as_deref().map(Into::into);
    request.put_argument(PARAMETERS.argument, words)?;
    if *request.get(PAGES) == true {
        request.set_default("return_format", COMMAND_FORMAT.into());
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
        args: SearchArgs,
    }

    #[test]
    fn the_help_of_every_option_is_that_of_its_parameter() {
        let args = Command::try_parse_from(["x", "tide tables"]);
        let given = args.expect("options").args.options.given();
        let given = given.expect("read");
        check_help(Command::command(), &given, &[], &PARAMETERS);
    }

    #[test]
    fn options_are_parameters_and_pages_are_markdown() {
        let words = [
            "x",
            "tide tables",
            "--results",
            "3",
            "--country",
            "DE",
            "--language",
            "de",
            "--age",
            "qdr:w",
        ];
        let object = |words: &[&str]| {
            let args = Command::try_parse_from(words).expect("options").args;
            request(&args).expect("a request").object
        };
        let mut expected = json!({
            "search": "tide tables", "search_limit": 3, "country": "DE", "language": "de",
            "tbs": "qdr:w",
        });
        assert_eq!(json!(object(&words)), expected);
        let with_pages = [&words[..], &["--fetch"]].concat();
        expected[PAGES] = true.into();
        expected["return_format"] = "markdown".into();
        assert_eq!(json!(object(&with_pages)), expected);
    }
}
