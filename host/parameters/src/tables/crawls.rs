//! What a crawl visits, how fast, and which events it sends.

use std::collections::BTreeMap;

use serde_json::{Map, Value};

use trawl_plan::Needs;
use trawl_plan::crawl::IN_FLIGHT_MAX;

use super::time;
use crate::define::parameters;
use crate::forms::{DomainsForm, List, Millis, Seconds};
use crate::option::{CommandOption, OptionForm};
use crate::routes::Routes;
use crate::row::{Object, Parameter, Range, Shape};
use crate::texts;

const NOTHING: Needs = Needs::NOTHING;
const CRAWLS: Routes = Routes::CRAWLS;
const SITES: Routes = Routes::SITES;
const MAP: Routes = Routes::MAP;
const RUNS: Routes = Routes::RUNS;
/// Those of which a batch shares the limits.
const LIMITED: Routes = SITES.and(Routes::BATCH);
/// These return the joined result, so they cannot run in the background.
const JOINED: Routes = Routes::QA.and(Routes::FILTER_LINKS);
/// The range of the number of pages in flight.
const AT_ONCE: Range = Range {
    least: 1,
    most: IN_FLIGHT_MAX as u64,
    is_refused: true,
    unit: "pages",
};

const fn count(unit: &'static str) -> Shape {
    Shape::Count(Range {
        least: 0,
        most: u64::MAX,
        is_refused: false,
        unit,
    })
}

const WEBHOOKS: Object = Object {
    name: "Webhooks",
    rows: &[
        Parameter::key(
            "destination",
            Shape::Text(texts::URL),
            NOTHING,
            "Where events are sent.",
        )
        .aliases(&["url"])
        .default("required")
        .example("\"https://hooks.example.com/trawl\""),
        Parameter::key_switch("on_find", NOTHING, "Each page, with its content."),
        Parameter::key_switch(
            "on_find_metadata",
            NOTHING,
            "Each page, without its content.",
        ),
        Parameter::key_switch("on_website_status", NOTHING, "The end of the crawl."),
        Parameter::key_switch(
            "on_credits_depleted",
            Needs::PAID,
            "The balance is used up.",
        ),
        Parameter::key_switch(
            "on_credits_half_depleted",
            Needs::PAID,
            "Half of the balance is used up.",
        ),
    ],
};

const MAX_COST: CommandOption = CommandOption::new("--max-cost", "USD")
    .form(OptionForm::Dollars)
    .note("Here in dollars, in steps of 0.0001, at the configured prices");

const fn patterns(option: &'static str) -> CommandOption {
    CommandOption::new(option, "PATTERN")
        .note("May be repeated")
        .default("")
}

parameters! {
    /// What a crawl visits, how fast, and which events it sends.
    pub struct Crawls;

    limit: u64 = new(
        count("pages"),
        LIMITED,
        NOTHING,
        "Maximum number of pages, failed ones included; 0 means no limit. On `/map` of URLs, at \
         most 100,000.",
    )
    .default("0")
    .mistaken(&["max_pages", "page_limit", "max_results"])
    .example("100")
    .option(CommandOption::new("--limit", "N"));
    depth: u64 = new(
        Shape::Count(Range {
            least: 0,
            most: u16::MAX as u64,
            is_refused: false,
            unit: "hops",
        }),
        CRAWLS,
        NOTHING,
        "Maximum number of hops from a seed; 0 fetches only the seeds. Larger values count as \
         65,535.",
    )
    .default("25; 0 on `/pipeline/crawl-text`")
    .mistaken(&["max_depth", "max_discovery_depth"])
    .example("3")
    .option(CommandOption::new("--depth", "N"));
    budget: BTreeMap<String, Option<u64>> = new(
        Shape::Map("path prefixes, or `*` (at most 1,000)", &count("pages")),
        RUNS,
        NOTHING,
        "Maximum number of pages by path prefix. A page counts against every key that matches its \
         path; at most 32 keys may match one path.",
    )
    .example("{\"/blog\": 20, \"*\": 100}");
    host_limit: u64 = new(
        count("pages"),
        RUNS,
        NOTHING,
        "Maximum number of pages of one host, failed ones included; 0 means no limit.",
    )
    .default("0")
    .mistaken(&["limit_per_host", "max_pages_per_host"])
    .example("50");
    max_credits_allowed: u64 = new(
        count("credits"),
        RUNS,
        Needs::PAID,
        "Maximum cost of the whole crawl or batch; 10,000 credits are one dollar.",
    )
    .default("no ceiling")
    .mistaken(&["max_credits", "max_cost"])
    .example("5000")
    .option(MAX_COST);
    delay: Millis = new(
        time::AT_MOST_A_MINUTE,
        LIMITED,
        NOTHING,
        "Minimum time between two requests to a host, at most 60 seconds; above 0 they are serial.",
    )
    .default("0")
    .mistaken(&["crawl_delay"])
    .example("250")
    .option(CommandOption::new("--delay", "MS"));
    concurrency_limit: u64 = new(
        Shape::Count(AT_ONCE),
        RUNS,
        NOTHING,
        "Maximum number of pages in flight.",
    )
    .default("10")
    .mistaken(&["concurrency", "max_concurrency"])
    .example("4")
    .option(CommandOption::new("--concurrency", "N"));
    crawl_timeout: Seconds = new(
        time::SECONDS,
        LIMITED,
        NOTHING,
        "Maximum duration of the whole crawl or batch; 0 means no limit.",
    )
    .default("no limit; 60 s on `/map`, where it is at most 600 s")
    .example("{\"secs\": 600, \"nanos\": 0}");
    subdomains: bool = switch(SITES, NOTHING, "Follows links to subdomains.")
        .option(CommandOption::switch("--subdomains"));
    tld: bool = switch(
        SITES,
        NOTHING,
        "Follows links to the same name under other public suffixes.",
    );
    // Decision D241.
    below_seed: bool = switch(
        SITES,
        NOTHING,
        "On the hosts of the seeds, follows only links in the directory of a seed or below it: of \
         `/docs/intro` those that begin with `/docs/`.",
    )
    .mistaken(&["no_parent", "stay_below"]);
    anchors: bool = switch(
        CRAWLS,
        NOTHING,
        "Adds `anchor` to entries: the text of the link by which the page was found.",
    )
    .mistaken(&["anchor", "anchor_text", "return_anchors"]);
    follow_traps: bool = switch(
        CRAWLS,
        NOTHING,
        "Fetches URLs that look like those of a crawler trap, too.",
    );
    fold_canonical: bool = switch(
        CRAWLS,
        NOTHING,
        "Leaves out pages that state the canonical URL of another page of the crawl.",
    );
    fold_equal: bool = switch(
        CRAWLS,
        NOTHING,
        "Leaves out pages whose `content` is equal to the `content` of another page of the crawl.",
    );
    external_domains: DomainsForm = new(
        Shape::Either(&[
            Shape::List(&Shape::Text(texts::HOST_OR_EXPRESSION)),
            Shape::Switch,
        ]),
        SITES,
        NOTHING,
        "Other hosts that belong to the crawl, at most 10,000; `true` or `\"*\"` means all hosts.",
    )
    .default("[]")
    .example("[\"docs.example.org\"]");
    blacklist: List<String> = new(
        Shape::List(&Shape::Text(texts::PATH_OR_EXPRESSION)),
        SITES,
        NOTHING,
        "Paths to exclude, at most 10,000; takes precedence over `whitelist`.",
    )
    .default("[]")
    .mistaken(&["exclude", "exclude_paths", "disallow"])
    .example("[\"/private\"]")
    .option(patterns("--exclude"));
    whitelist: List<String> = new(
        Shape::List(&Shape::Text(texts::PATH_OR_EXPRESSION)),
        SITES,
        NOTHING,
        "Paths to crawl, at most 10,000; all others are excluded.",
    )
    .default("[]")
    .mistaken(&["include", "include_paths", "allow"])
    .example("[\"/docs\"]")
    .option(patterns("--include"));
    prefer: List<String> = new(
        Shape::List(&Shape::Text(texts::PATH_OR_WORD)),
        CRAWLS,
        NOTHING,
        "What is fetched first: URLs whose path begins with one of these, or the text of a link to \
         them has one of these words; those with most of them before others, then those with \
         fewer hops. At most 32.",
    )
    .default("[]; fewer hops first")
    .mistaken(&["priority", "prioritize"])
    .example("[\"/docs\", \"install\"]")
    .option(
        CommandOption::new("--prefer", "PATTERN")
            .note("May be repeated")
            .default(""),
    );
    sitemap: bool = switch(CRAWLS, NOTHING, "Seeds the queue from the sitemap.")
        .option(CommandOption::switch("--sitemap"));
    sitemap_only: bool = switch(SITES, NOTHING, "Fetches only the pages of the sitemap.");
    sitemap_path: String = new(
        Shape::Text(texts::PATH_OR_URL),
        SITES,
        NOTHING,
        "Location of the sitemap.",
    )
    .default("as robots.txt says, else `/sitemap.xml`")
    .mistaken(&["sitemap_url"])
    .example("\"/sitemap.xml\"");
    sitemaps: List<String> = new(
        Shape::List(&Shape::Text(texts::PATH_OR_URL)),
        SITES,
        NOTHING,
        "Locations of several sitemaps.",
    )
    .default("[]")
    .example("[\"/sitemap.xml\"]");
    query: String = new(
        Shape::Text("words"),
        MAP,
        NOTHING,
        "What the URLs are ordered by: how well the words of their paths and of the links to them \
         match these. At most 1,000 bytes.",
    )
    .default("the order in which they are found")
    .mistaken(&["search"])
    .example("\"install linux\"")
    .option(CommandOption::new("--query", "WORDS"));
    words: List<String> = new(
        Shape::List(&Shape::Text("word")),
        MAP,
        NOTHING,
        "Keeps only URLs whose path, or the text of a link to them, has one of these words; at \
         most 100.",
    )
    .default("[]")
    .example("[\"guide\", \"manual\"]")
    .option(
        CommandOption::new("--word", "WORD")
            .note("May be repeated")
            .default(""),
    );
    run_in_background: bool = switch(
        RUNS.without(JOINED),
        NOTHING,
        "Returns the id of the crawl or batch at once; it runs in the background.",
    )
    .mistaken(&["background", "async"]);
    final_entry: bool = switch(
        RUNS.without(JOINED),
        NOTHING,
        "Ends the stream of pages with an object that says why the crawl or batch ended.",
    );
    webhooks | webhook: Map<String, Value> = new(
        Shape::Object(&WEBHOOKS),
        RUNS,
        NOTHING,
        "Which events are sent, and where.",
    )
    .example("{\"destination\": \"https://hooks.example.com/trawl\", \"on_find\": true}");
}
