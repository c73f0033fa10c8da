//! The options of `trawl crawl`, and the request that they stand for.

use std::path::PathBuf;

use clap::Args;
use serde_json::{Value, json};

use trawl_model::Nanodollars;
use trawl_parameters::Route;

use super::super::engine_args::EngineArgs;
use super::super::output_args::{FORMAT_DEFAULT, complete_format};
use super::super::parameters::{
    CommandParameters, Given, ParameterArgs, Request, choices, count, help, section, switch,
};

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

/// Options of `trawl crawl`.
#[derive(Debug, Args)]
#[command(after_long_help = section(&PARAMETERS))]
pub(in crate::cli) struct CrawlArgs {
    /// Seed URL; `https://` may be omitted.
    #[arg(required_unless_present = "data")]
    url: Option<String>,
    #[arg(long, help = help("return_format").default(FORMAT_DEFAULT).named())]
    format: Option<String>,
    #[arg(long, help = help("request"), value_parser = choices("request"), ignore_case = true)]
    request: Option<String>,
    #[arg(long, value_name = "N", help = help("limit"), value_parser = count("limit"))]
    limit: Option<u64>,
    #[arg(long, value_name = "N", help = help("depth"), value_parser = count("depth"))]
    depth: Option<u64>,
    #[arg(long, value_name = "MS", help = help("delay"), value_parser = count("delay"))]
    delay: Option<u64>,
    #[arg(
        long,
        value_name = "N",
        help = help("concurrency_limit").named(),
        value_parser = count("concurrency_limit")
    )]
    concurrency: Option<u64>,
    #[arg(
        long,
        value_name = "USD",
        help = help("max_credits_allowed")
            .note("Here in dollars, in steps of 0.0001, at the configured prices")
            .named(),
        value_parser = dollars
    )]
    max_cost: Option<Nanodollars>,
    #[arg(long, help = help("sitemap"))]
    sitemap: bool,
    #[arg(long, help = help("subdomains"))]
    subdomains: bool,
    #[arg(
        long,
        value_name = "PATTERN",
        help = help("blacklist").note("May be repeated").default("").named()
    )]
    exclude: Vec<String>,
    #[arg(
        long,
        value_name = "PATTERN",
        help = help("whitelist").note("May be repeated").default("").named()
    )]
    include: Vec<String>,
    #[arg(long, help = help("respect_robots").note("Sets it to false").named())]
    ignore_robots: bool,
    #[command(flatten)]
    parameters: ParameterArgs,
    /// Write page entries to this file, one JSON object per line.
    #[arg(short, long, value_name = "FILE", conflicts_with = "dir")]
    pub(super) output: Option<PathBuf>,
    /// Write the content of each page to a file in this folder, with an index in `pages.jsonl`.
    #[arg(long, value_name = "DIR")]
    pub(super) dir: Option<PathBuf>,
    /// Continue the crawl of this URL and output that was interrupted, or that ended at a cap in
    /// the last 7 days. Its options stay, but for `--limit`, `--depth` and `--max-cost`.
    #[arg(long, conflicts_with = "overwrite")]
    pub(super) resume: bool,
    /// Replace the file, or the index of the folder and the files of pages that it lists.
    #[arg(long)]
    pub(super) overwrite: bool,
    #[command(flatten)]
    pub(super) engine: EngineArgs,
}

/// Dollars that are whole credits, at least one.
fn dollars(text: &str) -> Result<Nanodollars, String> {
    let is_whole = |amount: &Nanodollars| amount.0 % trawl_model::money::PER_CREDIT == 0;
    Nanodollars::parse_dollars(text)
        .filter(|amount| *amount > Nanodollars::ZERO && is_whole(amount))
        .ok_or_else(|| "write dollars such as 0.5, in steps of 0.0001".to_owned())
}

/// The options that stand for parameters.
fn given(args: &CrawlArgs) -> [Given; 12] {
    let list = |entries: &[String]| match entries {
        [] => Value::Null,
        entries => json!(entries),
    };
    let credits = args
        .max_cost
        .map(|cost| cost.0 / trawl_model::money::PER_CREDIT);
    [
        ("--format", "return_format", json!(args.format)),
        ("--request", "request", json!(args.request)),
        ("--limit", "limit", json!(args.limit)),
        ("--depth", "depth", json!(args.depth)),
        ("--delay", "delay", json!(args.delay)),
        (
            "--concurrency",
            "concurrency_limit",
            json!(args.concurrency),
        ),
        ("--max-cost", "max_credits_allowed", json!(credits)),
        ("--sitemap", "sitemap", switch(args.sitemap, true)),
        ("--subdomains", "subdomains", switch(args.subdomains, true)),
        ("--exclude", "blacklist", list(&args.exclude)),
        ("--include", "whitelist", list(&args.include)),
        (
            "--ignore-robots",
            "respect_robots",
            switch(args.ignore_robots, false),
        ),
    ]
}

/// The parameters that were given, without what has no effect here.
pub(super) fn request(args: &CrawlArgs) -> anyhow::Result<Request> {
    let mut request = args.parameters.request(given(args), &PARAMETERS)?;
    let url = args.url.as_deref().map(Into::into);
    request.put_argument(PARAMETERS.argument, url)?;
    Ok(request)
}

/// The body of the request: what was given, and what holds for every crawl of the command line.
pub(super) fn body(args: &CrawlArgs, request: &Request) -> Vec<u8> {
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

#[cfg(test)]
pub(super) mod tests {
    use clap::{CommandFactory, Parser};

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
        let body = serde_json::from_slice(&body(&args, &request)).expect("JSON");
        (request, body)
    }

    #[test]
    fn the_help_of_every_option_is_that_of_its_parameter() {
        let given = given(&parsed(&[]).expect("options"));
        let own = [
            "set",
            "data",
            "output",
            "dir",
            "resume",
            "overwrite",
            "plugins",
            "config",
            "allow-private",
            "browser",
        ];
        check_help(Command::command(), &given, &own, &PARAMETERS);
    }

    #[test]
    fn only_what_was_given_is_sent_beside_what_every_crawl_has() {
        let (request, body) = sent(&[]);
        assert_eq!(Value::Object(request.object), json!({"url": "a.example"}));
        let mut expected = json!({
            "url": "a.example", "return_format": FORMAT_DEFAULT, "cache": false, "run_in_background": true,
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
