//! What a crawl visits, how fast, and which events it sends.

use trawl_plan::Needs;
use trawl_plan::crawl::IN_FLIGHT_MAX;

use super::time;
use crate::routes::Routes;
use crate::row::{Object, Parameter, Range, Shape};

const NOTHING: Needs = Needs::NOTHING;
const CRAWLS: Routes = Routes::CRAWLS;
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

const fn switch(name: &'static str, doc: &'static str) -> Parameter {
    Parameter::switch(name, CRAWLS, NOTHING, doc)
}

const WEBHOOKS: Object = Object {
    name: "Webhooks",
    rows: &[
        Parameter::key(
            "destination",
            Shape::Text("URL"),
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

pub(super) const ROWS: &[Parameter] = &[
    Parameter::new(
        "limit",
        count("pages"),
        CRAWLS,
        NOTHING,
        "Maximum number of pages, failed ones included; 0 means no limit.",
    )
    .default("0")
    .mistaken(&["max_pages", "page_limit", "max_results"])
    .example("100"),
    Parameter::new(
        "depth",
        Shape::Count(Range {
            least: 0,
            most: 65_535,
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
    .example("3"),
    Parameter::new(
        "budget",
        Shape::Map("path prefixes, or `*` (at most 1,000)", &count("pages")),
        CRAWLS,
        NOTHING,
        "Maximum number of pages by path prefix. A page counts against every key that matches its \
         path; at most 32 keys may match one path.",
    )
    .example("{\"/blog\": 20, \"*\": 100}"),
    Parameter::new(
        "host_limit",
        count("pages"),
        CRAWLS,
        NOTHING,
        "Maximum number of pages of one host, failed ones included; 0 means no limit.",
    )
    .default("0")
    .mistaken(&["limit_per_host", "max_pages_per_host"])
    .example("50"),
    Parameter::new(
        "max_credits_allowed",
        count("credits"),
        CRAWLS,
        Needs::PAID,
        "Maximum cost of the whole crawl; 10,000 credits are one dollar.",
    )
    .default("no ceiling")
    .mistaken(&["max_credits", "max_cost"])
    .example("5000"),
    Parameter::new(
        "delay",
        time::AT_MOST_A_MINUTE,
        CRAWLS,
        NOTHING,
        "Minimum time between two requests to a host, at most 60 seconds; above 0 they are serial.",
    )
    .default("0")
    .mistaken(&["crawl_delay"])
    .example("250"),
    Parameter::new(
        "concurrency_limit",
        Shape::Count(AT_ONCE),
        CRAWLS,
        NOTHING,
        "Maximum number of pages in flight.",
    )
    .default("10")
    .mistaken(&["concurrency", "max_concurrency"])
    .example("4"),
    Parameter::new(
        "crawl_timeout",
        time::SECONDS,
        CRAWLS,
        NOTHING,
        "Maximum duration of the whole crawl; 0 means no limit.",
    )
    .default("no limit")
    .example("{\"secs\": 600, \"nanos\": 0}"),
    switch("subdomains", "Follows links to subdomains."),
    switch(
        "tld",
        "Follows links to the same name under other public suffixes.",
    ),
    // Decision D241.
    switch(
        "below_seed",
        "On the hosts of the seeds, follows only links in the directory of a seed or below it: of \
         `/docs/intro` those that begin with `/docs/`.",
    )
    .mistaken(&["no_parent", "stay_below"]),
    switch(
        "anchors",
        "Adds `anchor` to entries: the text of the link by which the page was found.",
    )
    .mistaken(&["anchor", "anchor_text", "return_anchors"]),
    switch(
        "follow_traps",
        "Fetches URLs that look like those of a crawler trap, too.",
    ),
    switch(
        "fold_canonical",
        "Leaves out pages that state the canonical URL of another page of the crawl.",
    ),
    switch(
        "fold_equal",
        "Leaves out pages whose `content` is equal to the `content` of another page of the crawl.",
    ),
    Parameter::new(
        "external_domains",
        Shape::Either(&[
            Shape::List(&Shape::Text("host or regular expression")),
            Shape::Switch,
        ]),
        CRAWLS,
        NOTHING,
        "Other hosts that belong to the crawl, at most 10,000; `true` or `\"*\"` means all hosts.",
    )
    .default("[]")
    .example("[\"docs.example.org\"]"),
    Parameter::new(
        "blacklist",
        Shape::List(&Shape::Text("path prefix or regular expression")),
        CRAWLS,
        NOTHING,
        "Paths to exclude, at most 10,000; takes precedence over `whitelist`.",
    )
    .default("[]")
    .mistaken(&["exclude", "exclude_paths", "disallow"])
    .example("[\"/private\"]"),
    Parameter::new(
        "whitelist",
        Shape::List(&Shape::Text("path prefix or regular expression")),
        CRAWLS,
        NOTHING,
        "Paths to crawl, at most 10,000; all others are excluded.",
    )
    .default("[]")
    .mistaken(&["include", "include_paths", "allow"])
    .example("[\"/docs\"]"),
    switch("sitemap", "Seeds the queue from the sitemap."),
    switch("sitemap_only", "Fetches only the pages of the sitemap."),
    Parameter::new(
        "sitemap_path",
        Shape::Text("path or URL"),
        CRAWLS,
        NOTHING,
        "Location of the sitemap.",
    )
    .default("as robots.txt says, else `/sitemap.xml`")
    .mistaken(&["sitemap_url"])
    .example("\"/sitemap.xml\""),
    Parameter::new(
        "sitemaps",
        Shape::List(&Shape::Text("path or URL")),
        CRAWLS,
        NOTHING,
        "Locations of several sitemaps.",
    )
    .default("[]")
    .example("[\"/sitemap.xml\"]"),
    Parameter::switch(
        "run_in_background",
        CRAWLS.without(JOINED),
        NOTHING,
        "Returns the id of the crawl at once; the crawl runs in the background.",
    )
    .mistaken(&["background", "async"]),
    Parameter::switch(
        "final_entry",
        CRAWLS.without(JOINED),
        NOTHING,
        "Ends the stream of pages with an object that says why the crawl ended.",
    ),
    Parameter::new(
        "webhooks",
        Shape::Object(&WEBHOOKS),
        CRAWLS,
        NOTHING,
        "Which events are sent, and where.",
    )
    .aliases(&["webhook"])
    .example("{\"destination\": \"https://hooks.example.com/trawl\", \"on_find\": true}"),
];
