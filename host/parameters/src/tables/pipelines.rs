//! Parameters of the pipelines, and the pages of `/transform`.

use serde_json::Value;

use trawl_plan::Needs;

use crate::define::{object, parameters};
use crate::forms::{List, SourceForm};
use crate::option::CommandOption;
use crate::routes::Routes;
use crate::row::Shape;
use crate::texts;

const NOTHING: Needs = Needs::NOTHING;

const SOURCE: Shape = Shape::Either(&[Shape::Text("HTML"), Shape::Bytes]);

object! {
    /// A page that is sent rather than fetched.
    pub struct TransformItem;

    html | content: Option<SourceForm> = key(SOURCE, NOTHING, "The HTML of the page.")
        .default("required without `base64`")
        .example("\"<h1>Hello</h1>\"");
    base64: Option<String> = key(
        Shape::Text("base64"),
        NOTHING,
        "The bytes of a document of any type, in place of `html`.",
    )
    .example("\"YSxiCjEsMg==\"");
    content_type: Option<String> = key(
        Shape::Text("media type, with parameters such as `charset`"),
        NOTHING,
        "What the page is, as in a `Content-Type` header. Documents that a decoder reads are \
         converted like HTML; see `GET /plugins`.",
    )
    .default("`text/html`; for `base64` what its first bytes say")
    .example("\"text/csv\"");
    url: Option<String> = key(Shape::Text(texts::URL), NOTHING, "Base URL of relative URLs.")
        .example("\"https://example.com/\"");
}

parameters! {
    /// Parameters of the pipelines, and the pages of `/transform`.
    pub struct Pipelines;

    prompt | custom_prompt: String = new(
        Shape::Text("text of at most 16,384 bytes"),
        Routes::ANALYSED,
        Needs::MODEL,
        "The task in words: a question, labels or a search query. `extract-qa`, `label` and \
         `filter-links` use it without a model too.",
    )
    .mistaken(&["question", "instruction"])
    .example("\"opening hours\"");
    model: String = new(
        Shape::Text("name of the configured model"),
        Routes::ANALYSED,
        Needs::MODEL,
        "The language model; any name but the configured model's has no effect.",
    )
    .default("the configured one")
    .example("\"small\"");
    text: String = new(
        Shape::Text("text, markdown or HTML of at most 10,000,000 bytes"),
        Routes::CRAWL_TEXT,
        NOTHING,
        "The text whose URLs are crawled.",
    )
    .default("required")
    .large()
    .mistaken(&["content", "markdown", "input"])
    .example("\"see http://sample.trawl.test/tides\"");
    labels: Value = new(
        Shape::Any("a list of strings", &["array"]),
        Routes::LABEL,
        NOTHING,
        "The labels to choose from.",
    )
    .default("the analyst's own topics")
    .mistaken(&["categories", "topics"])
    .example("[\"news\", \"shop\"]");
    count: Value = new(
        Shape::Any("a whole number", &["integer"]),
        Routes::QA.and(Routes::LABEL).and(Routes::FILTER_LINKS),
        NOTHING,
        "Maximum number of results.",
    )
    .default("the analyst's own")
    .example("5");
    content_type: Value = new(
        Shape::Any("a string, or a list of strings", &["string", "array"]),
        Routes::FILTER_LINKS,
        NOTHING,
        "Content types of the linked pages: `article`, `product`, `contact`, `about`, \
         `documentation`, `listing`, `legal`, `login`, `media`, `download`, `other`.",
    )
    .default("all")
    .example("\"download\"");
    threshold: Value = new(
        Shape::Any("a number from 0 to 1", &["number"]),
        Routes::FILTER_LINKS,
        NOTHING,
        "Minimum score of a relevant link.",
    )
    .default("the analyst's own")
    .example("0.5");
    country: Value = new(
        Shape::Any("a string of two letters", &["string"]),
        Routes::CONTACTS.and(Routes::SEARCH),
        NOTHING,
        "Country (ISO 3166): of phone numbers without a country calling code and of postal \
         addresses, before the countries that the page suggests, or the one whose search results \
         come first, if the search service knows it.",
    )
    .example("\"DE\"")
    .option(CommandOption::new("--country", "CODE"));
    data: List<TransformItem> = new(
        Shape::List(&Shape::Object(&TransformItem::OBJECT)),
        Routes::TRANSFORM,
        NOTHING,
        "The pages, at most 10,000,000 bytes together.",
    )
    .default("required")
    .large()
    .mistaken(&["html", "documents"])
    .example("[{\"html\": \"<h1>Hello</h1>\"}]");
}
