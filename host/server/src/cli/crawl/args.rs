//! The options of `trawl crawl`, and the request that they stand for.

use clap::Args;

use trawl_parameters::Route;
use trawl_wire::Verb;

use super::super::parameters::{
    CommandParameters, OptionList, Options, ParameterArgs, Request, section,
};
use super::work::{Work, WorkArgs, body};

/// The parameters of the command.
pub(super) const PARAMETERS: CommandParameters = CommandParameters {
    route: Route::Crawl,
    argument: "url",
    idle: &[
        (
            "cache",
            "a crawl of the command line fetches every page once",
        ),
        ("run_in_background", "the command runs until the crawl ends"),
        ("webhooks", "the command line sends no events"),
    ],
};

/// The options for parameters.
#[derive(Debug)]
enum CrawlOptions {}

impl OptionList for CrawlOptions {
    const NAMES: &'static [&'static str] = &[
        "return_format",
        "request",
        "limit",
        "depth",
        "delay",
        "concurrency_limit",
        "max_credits_allowed",
        "sitemap",
        "subdomains",
        "blacklist",
        "whitelist",
        "prefer",
        "respect_robots",
    ];
}

/// Options of `trawl crawl`.
#[derive(Debug, Args)]
#[command(after_long_help = section(&PARAMETERS))]
pub(in crate::cli) struct CrawlArgs {
    /// Seed URL; `https://` may be omitted.
    #[arg(required_unless_present = "data")]
    url: Option<String>,
    #[command(flatten)]
    options: Options<CrawlOptions>,
    #[command(flatten)]
    parameters: ParameterArgs,
    #[command(flatten)]
    work: WorkArgs,
}

impl CrawlArgs {
    /// The crawl of the URL.
    ///
    /// # Errors
    /// Options contradict each other.
    pub(super) fn work(self) -> anyhow::Result<Work> {
        let request = request(&self)?;
        let url = request.get("url").as_str().unwrap_or_default();
        Ok(Work {
            verb: Verb::Scrape,
            route: PARAMETERS.route,
            body: body(&self.work, &request),
            key: url.to_owned(),
            request,
            args: self.work,
        })
    }
}

/// The parameters that were given, without what has no effect here.
pub(super) fn request(args: &CrawlArgs) -> anyhow::Result<Request> {
    let mut request = args
        .parameters
        .request(args.options.given()?, &PARAMETERS)?;
    let url = args.url.as_deref().map(Into::into);
    request.put_argument(PARAMETERS.argument, url)?;
    Ok(request)
}

#[cfg(test)]
pub(super) mod tests {
    use clap::{CommandFactory, Parser};
    use serde_json::{Value, json};
    use trawl_parameters::COMMAND_FORMAT;

    use super::super::super::parameters::tests::check_help;
    use super::*;

    #[derive(Debug, Parser)]
    pub(in crate::cli::crawl) struct Command {
        #[command(flatten)]
        pub(in crate::cli::crawl) args: CrawlArgs,
    }

    /// The options of `trawl crawl a.example` with these words.
    fn parsed(words: &[&str]) -> Result<CrawlArgs, String> {
        let words = ["crawl", "a.example"].iter().chain(words);
        let command = Command::try_parse_from(words).map_err(|error| error.to_string())?;
        Ok(command.args)
    }

    /// The request of these options, and its body.
    pub(in crate::cli::crawl) fn sent(words: &[&str]) -> (Request, Value) {
        let args = parsed(words).expect("options");
        let request = request(&args).expect("a request");
        let body = serde_json::from_slice(&body(&args.work, &request)).expect("JSON");
        (request, body)
    }

    #[test]
    fn the_help_of_every_option_is_that_of_its_parameter() {
        let args = parsed(&[]).expect("options");
        let given = args.options.given().expect("read");
        let own = ["output", "dir", "resume", "overwrite"];
        check_help(Command::command(), &given, &own, &PARAMETERS);
    }

    #[test]
    fn only_what_was_given_is_sent_beside_what_every_crawl_has() {
        let (request, body) = sent(&[]);
        assert_eq!(Value::Object(request.object), json!({"url": "a.example"}));
        let mut expected = json!({
            "url": "a.example", "return_format": COMMAND_FORMAT, "cache": false, "run_in_background": true,
        });
        assert_eq!(body, expected);
        let words = ["--max-cost", "0.5", "--exclude", "/x", "--exclude", "/y"];
        let (_, body) = sent(&[&words[..], &["--ignore-robots", "--set", "tld"]].concat());
        expected["max_credits_allowed"] = 5_000.into();
        expected["blacklist"] = json!(["/x", "/y"]);
        expected["respect_robots"] = false.into();
        expected["tld"] = true.into();
        assert_eq!(body, expected);
        let (request, body) = sent(&["--set", "run_in_background=false", "--set", "cache"]);
        assert_eq!(
            (&body["cache"], &body["run_in_background"]),
            (&json!(false), &json!(true))
        );
        assert_eq!(request.idle.len(), 2, "{:?}", request.idle);
    }

    #[test]
    fn screenshots_in_a_folder_are_images() {
        let (_, body) = sent(&["--format", "screenshot", "--dir", "x"]);
        assert_eq!(body["binary"], true);
        let (_, body) = sent(&["--format", "screenshot"]);
        assert_eq!(body["binary"], Value::Null);
    }

    #[test]
    fn a_cost_is_at_least_a_credit_and_not_rounded() {
        for wrong in ["0", "0.00005", "0.00015", "x"] {
            let text = parsed(&["--max-cost", wrong]).expect_err(wrong);
            assert!(text.contains("in steps of 0.0001"), "{text}");
        }
        assert!(parsed(&["--max-cost", "0.0001"]).is_ok());
    }
}
