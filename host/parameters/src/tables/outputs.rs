//! What is returned of a page.

use serde::Deserialize;
use serde_json::{Map, Value};

use trawl_plan::Needs;

use crate::define::{object, parameters};
use crate::forms::{ChunkingForm, FormatNames, List};
use crate::option::{COMMAND_FORMAT, CommandOption, OptionForm};
use crate::routes::Routes;
use crate::row::{Choice, Object, Parameter, Range, Shape};
use crate::texts;

const NOTHING: Needs = Needs::NOTHING;
/// `/map` returns URLs, not what is on pages.
const ALL: Routes = Routes::ALL.without(Routes::MAP);
const PAGES: Routes = Routes::PAGES.without(Routes::MAP);
const CONTENT: Routes = Routes::CONTENT;

const PLUGINS: Shape = Shape::Map(
    "plugin names",
    &Shape::Any(
        "an object with the options of the plugin, or a boolean",
        &["object", "boolean"],
    ),
);

const LINK_REWRITE: Object = Object {
    name: "LinkRewrite",
    rows: &[
        Parameter::key(
            "type",
            Shape::Text("`replace` or `regex`"),
            NOTHING,
            "Whether a string (`replace`) or a regular expression (`regex`) is replaced.",
        )
        .default("required")
        .example("\"replace\""),
        Parameter::key(
            "find",
            Shape::Text("text"),
            NOTHING,
            "The string to replace, for `replace`.",
        )
        .example("\"http://\""),
        Parameter::key(
            "pattern",
            Shape::Text(texts::EXPRESSION),
            NOTHING,
            "The regular expression to replace, for `regex`.",
        )
        .example("\"^http:\""),
        Parameter::key(
            "replace",
            Shape::Text("text of at most 2,000 bytes"),
            NOTHING,
            "The replacement; `$1` is what the first group matched.",
        )
        .default("empty")
        .example("\"https://\""),
        Parameter::key(
            "host",
            Shape::Text("host"),
            NOTHING,
            "The only host whose links are changed.",
        )
        .default("every host")
        .example("\"example.com\""),
    ],
};

/// These names, without others that mean the same.
const fn plain<const N: usize>(names: [&'static str; N]) -> [Choice; N] {
    let mut all = [Choice {
        name: "",
        aliases: &[],
    }; N];
    let mut at = 0;
    while at < N {
        all[at].name = names[at];
        at += 1;
    }
    all
}

/// Roles of what stands around the text of a page.
const ROLES: [Choice; 17] = plain([
    "headline",
    "standfirst",
    "byline",
    "date",
    "lead_image",
    "caption",
    "credit",
    "tags",
    "biography",
    "share",
    "newsletter",
    "related",
    "comments",
    "consent",
    "player",
    "transcript",
    "disclaimer",
]);

const BODY: [Choice; 1] = plain(["body"]);

object! {
    /// `readability` with its choice of roles.
    pub struct Readability;

    include: Option<List<String>> = key(
        Shape::List(&Shape::Name(&ROLES)),
        NOTHING,
        "Roles that are kept wherever the page has them.",
    )
    .default("none")
    .example("[\"byline\", \"date\", \"comments\"]");
    exclude: Option<List<String>> = key(
        Shape::List(&Shape::Name(&ROLES)),
        NOTHING,
        "Roles that are left out. `include` wins.",
    )
    .default("none")
    .example("[\"headline\", \"caption\"]");
    only: Option<String> = key(
        Shape::Name(&BODY),
        NOTHING,
        "`body` leaves out every role but `standfirst` that `include` does not name: the text of an article alone.",
    )
    .example("\"body\"");
}

/// `readability`: on or off, or on with a choice of roles.
#[derive(Deserialize)]
#[serde(
    untagged,
    expecting = "expected a boolean or an object with `include`, `exclude`, `only`"
)]
pub enum ReadabilityForm {
    /// On or off.
    Switch(bool),
    /// On, with this choice.
    Roles(Readability),
}

/// What options that add fields to the page entry do on the command line.
const PRINTS_JSON: &str = "Prints the page entry as JSON";

const SELECTORS: CommandOption = CommandOption::new("--selectors", "FILE")
    .form(OptionForm::File)
    .note("Read from this JSON file. Prints the page entry as JSON");

parameters! {
    /// What is returned of a page.
    pub struct Outputs;

    return_format: FormatNames = new(
        Shape::Either(&[
            Shape::Text("name of a format"),
            Shape::List(&Shape::Text("name of a format")),
        ]),
        CONTENT.and(Routes::SCREENSHOT),
        NOTHING,
        "The format of `content`: `raw` (or `html`), `markdown` (or `commonmark`), `text` (or \
         `html2text`), `bytes`, `xml`, `empty`, `screenshot`, or any loaded format; a list of at \
         most 16 makes `content` an object. On `/screenshot` only `bytes` has an effect.",
    )
    .default("raw")
    .mistaken(&["format", "formats", "output", "output_format"])
    .example("\"markdown\"")
    .option(CommandOption::new("--format", "FORMAT").default(COMMAND_FORMAT));
    format_options: Map<String, Value> = new(
        Shape::Map("format names", &Shape::Any("the options of the format", &["object"])),
        CONTENT,
        NOTHING,
        "Options of the requested formats, by name.",
    )
    .default("none")
    .example("{\"markdown\": {\"links\": \"none\"}}");
    filters: Map<String, Value> = new(
        PLUGINS,
        ALL,
        Needs::DOCUMENT,
        "Loaded filters by name, with their options.",
    )
    .default("none")
    .example("{\"prune\": {\"images\": true}}");
    extractors: Map<String, Value> = new(
        PLUGINS,
        ALL,
        NOTHING,
        "Loaded extractors by name, with their options; results are under `extracted`.",
    )
    .default("none")
    .example("{\"links\": true}");
    pages: String = new(
        Shape::Text("pages and ranges of pages, such as `1-5,9` or `3-`"),
        ALL,
        Needs::DOCUMENT,
        "The pages of a document to decode, counted from 1: of a PDF, the slides of a presentation, \
         the chapters of a book, the messages of a mailbox. Only these are decoded, and \
         their decoding billed; the document is received, and paid, whole. Documents without pages \
         are decoded whole.",
    )
    .default("all pages")
    .mistaken(&["page_range", "page_ranges"])
    .example("\"1-5,9\"")
    .option(CommandOption::new("--pages", "RANGES"));
    decoder_options: Map<String, Value> = new(
        Shape::Map("decoder names", &Shape::Any("the options of the decoder", &["object"])),
        ALL,
        Needs::DOCUMENT,
        "Options of the decoders of documents, by name: they are used if the decoder reads the page.",
    )
    .default("none")
    .example("{\"archive\": {\"inner\": \"notes.txt\"}}");
    chunking_alg: ChunkingForm = new(
        Shape::Either(&[
            Shape::Text("name of a chunker"),
            Shape::Options("`type`, the name, and the options of the chunker, such as `value`"),
        ]),
        CONTENT,
        Needs::TEXT,
        "Splits `content` into a list: `words`, `sentences`, `lines`, `characters`, `tokens` (by an \
         estimate, or those of `encoding`: `o200k_base` or `cl100k_base`), a loaded chunker, or \
         `none`. Without `value` a chunk has 200 words, 10 sentences, 40 lines, 1,000 characters or \
         500 tokens. `overlap` has each chunk begin with about so much of the one before, at most \
         half of `value`.",
    )
    .default("none")
    .mistaken(&["chunking", "chunk"])
    .example("{\"type\": \"words\", \"value\": 100}")
    .schema(
        "ChunkingForm",
        "The name of a chunker, or an object with it as `type` and the chunker's options.",
    );
    max_size: u64 = new(
        Shape::Count(Range {
            least: 0,
            most: u64::MAX,
            is_refused: false,
            unit: "bytes",
        }),
        CONTENT,
        Needs::BODY,
        "Maximum size of `content`, which is cut at a character boundary.",
    )
    .default("no limit")
    .example("10000");
    metadata: bool = switch(ALL, NOTHING, "Adds `metadata`.").mistaken(&["return_metadata"])
        .option(CommandOption::switch("--metadata").note(PRINTS_JSON));
    return_page_links: bool = switch(
        ALL.without(Routes::LINKS),
        NOTHING,
        "Adds `links`: the URLs of `<a>` (of SVG, too) and `<area>`. Images, style sheets and \
         scripts are none; `css_extraction_map` lists them (`img@src`).",
    )
    .mistaken(&["links", "return_links"])
    .option(CommandOption::switch("--links").note(PRINTS_JSON));
    return_headers: bool = switch(PAGES, NOTHING, "Adds the response `headers`.");
    return_cookies: bool = switch(PAGES, NOTHING, "Adds the `cookies` that the response set.");
    return_timing: bool = switch(
        PAGES,
        NOTHING,
        "Adds `metadata.timing`: the steps of the page, each with its beginning and its duration in milliseconds.",
    );
    return_json_data: bool = switch(
        ALL,
        Needs::PLUGIN,
        "Adds `json_data`: structured data and framework state of the page.",
    )
    .mistaken(&["json_data", "return_json"])
    .option(CommandOption::switch("--json-data").note(PRINTS_JSON));
    return_hidden_text: bool = switch(
        ALL,
        Needs::PLUGIN,
        "Reports text that is hidden from human readers in `metadata.hidden_text`.",
    )
    .option(CommandOption::switch("--hidden-text").note(PRINTS_JSON));
    css_extraction_map: Map<String, Value> = new(
        Shape::Options(
            "from field names to a selector, or from paths to a list of `{\"name\", \"selectors\"}`",
        ),
        ALL,
        Needs::PLUGIN,
        "Adds `css_extracted`: named fields by CSS selector or XPath; `@name` at the end gives an \
         attribute.",
    )
    .mistaken(&["selectors", "css_selectors", "extraction_map", "extract_rules", "css_extractor"])
    .example("{\"title\": \"h1\"}")
    .option(SELECTORS);
    link_rewrite: Map<String, Value> = new(
        Shape::Object(&LINK_REWRITE),
        ALL,
        Needs::LINKS,
        "A rule that changes the URLs of links before a crawl follows them and `links` lists them.",
    )
    .example("{\"type\": \"replace\", \"find\": \"http://\", \"replace\": \"https://\"}");
    readability: ReadabilityForm = new(
        Shape::Either(&[Shape::Switch, Shape::Object(&Readability::OBJECT)]),
        CONTENT,
        Needs::TEXT.and(Needs::PLUGIN),
        "Reduces `content` to the main content of the page. An object decides about its headline, \
         byline, comments and so on.",
    )
    .default("false")
    .example("true")
    .mistaken(&["readable", "main_content", "only_main_content"])
    .option(CommandOption::switch("--readability"));
    clean_html: bool = switch(
        CONTENT,
        Needs::HTML,
        "Removes scripts, styles and attributes in the format `html`.",
    );
    root_selector: String = new(
        Shape::Text(texts::SELECTOR),
        ALL,
        Needs::DOCUMENT,
        "Keeps only the elements that match.",
    )
    .mistaken(&["target_selector", "selector", "css_selector", "include_tags"])
    .example("\"main\"")
    .option(CommandOption::new("--root-selector", "CSS"));
    exclude_selector: String = new(
        Shape::Text(texts::SELECTOR),
        ALL,
        Needs::DOCUMENT,
        "Drops the elements that match.",
    )
    .mistaken(&["remove_selector", "exclude_tags", "excluded_tags"])
    .example("\"nav\"")
    .option(CommandOption::new("--exclude-selector", "CSS"));
    filter_images: bool = switch(ALL, Needs::DOCUMENT, "Drops images.");
    filter_output_images: bool = switch(ALL, Needs::DOCUMENT, "The same as `filter_images`.");
    filter_svg: bool = switch(ALL, Needs::DOCUMENT, "Drops inline SVG.");
    filter_output_svg: bool = switch(ALL, Needs::DOCUMENT, "The same as `filter_svg`.");
    filter_main_only: bool = switch(
        ALL,
        Needs::DOCUMENT,
        "Drops navigation, headers, footers and asides.",
    );
    filter_output_main_only: bool = switch(
        ALL,
        Needs::DOCUMENT,
        "The same as `filter_main_only`.",
    );
}
