//! What is searched for on the web. The country is a parameter of the pipelines, too.

use trawl_plan::Needs;
use trawl_plan::search::{FRESHNESS, SEARCH_COUNT_MAX, SEARCH_PAGES_MAX};

use crate::define::parameters;
use crate::option::CommandOption;
use crate::routes::Routes;
use crate::row::{Choice, Range, Shape, choices};
use crate::texts;

const NOTHING: Needs = Needs::NOTHING;
const SEARCH: Routes = Routes::SEARCH;
const AGES: [Choice; 5] = choices(&FRESHNESS);

parameters! {
    /// What is searched for on the web.
    pub struct Searches;

    search: String = new(
        Shape::Text(texts::WORDS),
        SEARCH,
        NOTHING,
        "The words to search for, with the operators that the search service has: `site:`, quotes.",
    )
    .default("required")
    .mistaken(&["search_query", "query_text"])
    .example("\"tide tables\"");
    search_limit: u64 = new(
        Shape::Count(Range {
            least: 0,
            most: SEARCH_COUNT_MAX,
            is_refused: false,
            unit: "results",
        }),
        SEARCH,
        NOTHING,
        "Maximum number of results that are returned, and fetched; 0 means all of the page.",
    )
    .default("0")
    .example("5")
    .option(CommandOption::new("--results", "N"));
    num: u64 = new(
        Shape::Count(Range {
            least: 1,
            most: SEARCH_COUNT_MAX,
            is_refused: false,
            unit: "results",
        }),
        SEARCH,
        NOTHING,
        "Results on a page of results. A search service may have fewer.",
    )
    .default("`search_limit` if it is set, otherwise 10")
    .mistaken(&["num_results", "n_results"])
    .example("20");
    page: u64 = new(
        Shape::Count(Range {
            least: 1,
            most: SEARCH_PAGES_MAX,
            is_refused: false,
            unit: "pages",
        }),
        SEARCH,
        NOTHING,
        "The page of results.",
    )
    .default("1")
    .example("2");
    language: String = new(
        Shape::Text(texts::LANGUAGE_TAG),
        SEARCH,
        NOTHING,
        "Language of the results, if the search service can choose it.",
    )
    .example("\"en\"")
    .option(CommandOption::new("--language", "TAG"));
    location: String = new(
        Shape::Text("place in words, at most 200 bytes"),
        SEARCH,
        NOTHING,
        "The place that is searched from, if the search service can choose it.",
    )
    .example("\"Paris, France\"");
    tbs: String = new(
        Shape::Name(&AGES),
        SEARCH,
        NOTHING,
        "Maximum age of the results.",
    )
    .example("\"qdr:w\"")
    .option(CommandOption::new("--age", "AGE"));
    fetch_page_content: bool = switch(
        SEARCH,
        NOTHING,
        "Fetches the page of each result and returns its entry in place of the result. The \
         parameters of `/scrape` say how.",
    )
    .option(CommandOption::switch("--fetch"));
}
