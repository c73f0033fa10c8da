//! Every tool: its words, its arguments, and the endpoint that it calls. A tool that calls another
//! endpoint for pages is a row here.

use std::sync::{Arc, LazyLock};

use rmcp::model::{Tool, ToolAnnotations};
use serde_json::{Map, Value, json};

use crate::own::OwnArgument;
use crate::schema;

/// A tool.
#[derive(Debug)]
pub(crate) struct ToolRow {
    /// Its name.
    pub(crate) name: &'static str,
    /// Its name for people.
    title: &'static str,
    /// What it does, and when another tool is better.
    description: &'static str,
    /// What it calls.
    pub(crate) work: Work,
    /// The request object whose parameters it has, by its name in the interface's document.
    request: &'static str,
    /// The parameters that it has.
    parameters: &'static [&'static str],
    /// Those of its arguments that must be there.
    pub(crate) required: &'static [&'static str],
    /// Values of parameters that are not given, as JSON. Those that are no arguments are fixed.
    defaults: &'static [(&'static str, &'static str)],
    /// Its arguments that are no parameters.
    pub(crate) own: &'static [OwnArgument],
}

/// What a tool calls.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum Work {
    /// An endpoint that answers with page entries.
    Pages(&'static str),
    /// `/screenshot`.
    Screenshot,
    /// `/map`.
    Map,
    /// `/search`, without the pages of the results.
    Search,
    /// `/transform`.
    Transform,
    /// `/crawl`, in the background.
    Begin,
    /// `GET /crawl/{id}`.
    Status,
    /// `/crawl/{id}/pages`.
    Stored,
    /// `DELETE /crawl/{id}`.
    Stop,
}

const PART: &[OwnArgument] = &[OwnArgument::MaxTokens, OwnArgument::Cursor];

/// All tools.
pub(crate) const TOOLS: &[ToolRow] = &[
    ToolRow {
        name: "scrape",
        title: "Read a web page",
        description: "Fetches a page and returns its content as markdown, or in another format. Renders JavaScript if the page needs \
            it. Reads PDF and Office files, too. Use it for a page whose URL you know. Do not use it to find pages (use `map`), to \
            read many pages of a site (use `crawl`), or for a few fields of a page (`extract` is shorter). Set `readability` for an \
            article without its navigation.",
        work: Work::Pages("/scrape"),
        request: "ScrapeRequest",
        parameters: &[
            "url",
            "return_format",
            "readability",
            "root_selector",
            "exclude_selector",
            "request",
            "wait_for",
            "scroll",
            "metadata",
            "return_page_links",
            "return_json_data",
            "respect_robots",
            "country_code",
            "proxy",
            "cache",
            "request_timeout",
            "max_credits_per_page",
        ],
        required: &["url"],
        defaults: &[("return_format", "\"markdown\"")],
        own: PART,
    },
    ToolRow {
        name: "extract",
        title: "Extract fields of a web page",
        description: "Fetches a page and returns named fields, by CSS selectors or XPath: `{\"title\": \"h1\", \"next\": \
            \"a.next@href\"}`. Use it when you know where on the page the values are. Do not use it before you have seen the page \
            or its kind: without fitting selectors the fields are empty, and `scrape` shows the text.",
        work: Work::Pages("/scrape"),
        request: "ScrapeRequest",
        parameters: &[
            "url",
            "css_extraction_map",
            "request",
            "wait_for",
            "scroll",
            "respect_robots",
            "country_code",
            "proxy",
            "cache",
            "request_timeout",
            "max_credits_per_page",
        ],
        required: &["url", "css_extraction_map"],
        defaults: &[("return_format", "\"empty\"")],
        own: PART,
    },
    ToolRow {
        name: "screenshot",
        title: "Take a screenshot",
        description: "Renders a page in a browser and returns a picture of it. Use it for layout, charts and what has no text. Do not \
            use it to read a page: `scrape` is faster, cheaper and needs fewer tokens.",
        work: Work::Screenshot,
        request: "ScreenshotRequest",
        parameters: &[
            "url",
            "full_page",
            "viewport",
            "wait_for",
            "scroll",
            "respect_robots",
            "country_code",
            "proxy",
            "request_timeout",
            "max_credits_per_page",
        ],
        required: &["url"],
        defaults: &[("full_page", "false")],
        own: &[],
    },
    ToolRow {
        name: "links",
        title: "List the links of a web page",
        description: "Returns the links of a page, or with a larger `limit` those of several pages of its site. Use it to see where a \
            page leads. Do not use it to find a page of a site by its topic: `map` searches the whole site.",
        work: Work::Pages("/links"),
        request: "LinksRequest",
        parameters: &[
            "url",
            "limit",
            "request",
            "wait_for",
            "scroll",
            "respect_robots",
            "country_code",
            "proxy",
            "cache",
            "request_timeout",
            "max_credits_allowed",
        ],
        required: &["url"],
        defaults: &[("limit", "1")],
        own: PART,
    },
    ToolRow {
        name: "search",
        title: "Search the web",
        description: "Searches the web and returns titles, URLs and descriptions, the best first. Use it to find pages whose site you do \
            not know, then `scrape` those that fit. Do not use it to find a page of one site (`map` is cheaper), or for what a known \
            page says. It works if the operator of the server has configured a search service, and says so otherwise.",
        work: Work::Search,
        request: "SearchRequest",
        parameters: &["search", "num", "page", "country", "language", "tbs"],
        required: &["search"],
        defaults: &[],
        own: PART,
    },
    ToolRow {
        name: "map",
        title: "List the URLs of a site",
        description: "Lists the URLs of a site from its sitemaps and its start page, without fetching its pages; with `query` the best \
            matches come first. Use it to find the page to `scrape`. Do not use it for the content of pages (use `crawl`), or to \
            search the web: it knows one site.",
        work: Work::Map,
        request: "MapRequest",
        parameters: &[
            "url",
            "query",
            "limit",
            "words",
            "whitelist",
            "blacklist",
            "subdomains",
            "respect_robots",
            "proxy",
        ],
        required: &["url"],
        defaults: &[("limit", "100")],
        own: PART,
    },
    ToolRow {
        name: "transform",
        title: "Convert HTML",
        description: "Converts HTML that you already have into markdown or another format, or extracts fields from it. Nothing is \
            fetched. Do not use it for a page that has a URL: `scrape` fetches and converts it in one call.",
        work: Work::Transform,
        request: "TransformRequest",
        parameters: &[
            "return_format",
            "readability",
            "root_selector",
            "exclude_selector",
            "css_extraction_map",
            "metadata",
            "return_page_links",
            "return_json_data",
        ],
        required: &["html"],
        defaults: &[("return_format", "\"markdown\"")],
        own: &[
            OwnArgument::Html,
            OwnArgument::BaseUrl,
            OwnArgument::MaxTokens,
            OwnArgument::Cursor,
        ],
    },
    ToolRow {
        name: "crawl",
        title: "Crawl a site",
        description: "Begins a crawl of a site in the background, from a page along its links, and returns the id at once; follow it \
            with `crawl_status` and read it with `crawl_pages`. Use it when you need the content of many pages. Do not use it for one \
            page (use `scrape`) or to find a page (use `map`). Every page costs money: set `limit`, and `whitelist` or `below_seed` \
            if you need a part of the site.",
        work: Work::Begin,
        request: "CrawlRequest",
        parameters: &[
            "url",
            "limit",
            "depth",
            "whitelist",
            "blacklist",
            "below_seed",
            "prefer",
            "subdomains",
            "sitemap",
            "return_format",
            "readability",
            "root_selector",
            "exclude_selector",
            "css_extraction_map",
            "metadata",
            "request",
            "wait_for",
            "respect_robots",
            "delay",
            "country_code",
            "proxy",
            "cache",
            "crawl_timeout",
            "max_credits_allowed",
            "max_credits_per_page",
        ],
        required: &["url"],
        defaults: &[
            ("limit", "50"),
            ("return_format", "\"markdown\""),
            ("run_in_background", "true"),
        ],
        own: &[],
    },
    ToolRow {
        name: "crawl_status",
        title: "Follow a crawl",
        description: "Says how far a crawl is, what it has cost and why it ended. With `wait_seconds` it answers when the crawl ends, or \
            after so long. Do not call it in a loop without waiting, and not to read pages (use `crawl_pages`).",
        work: Work::Status,
        request: "",
        parameters: &[],
        required: &["id"],
        defaults: &[],
        own: &[OwnArgument::Id, OwnArgument::WaitSeconds],
    },
    ToolRow {
        name: "crawl_pages",
        title: "Read the pages of a crawl",
        description: "Returns the pages of a crawl in the order in which they finished, as many as fit; `cursor` goes on. It costs \
            nothing and works while the crawl runs. Do not begin a second crawl to read pages again: they are stored for 7 days.",
        work: Work::Stored,
        request: "",
        parameters: &[],
        required: &["id"],
        defaults: &[],
        own: &[OwnArgument::Id, OwnArgument::MaxTokens, OwnArgument::Cursor],
    },
    ToolRow {
        name: "crawl_stop",
        title: "Stop a crawl",
        description: "Ends a crawl: no further page is fetched, and its pages can still be read. Use it when you have found what you \
            need. Do not use it for a crawl that has ended: nothing happens.",
        work: Work::Stop,
        request: "",
        parameters: &[],
        required: &["id"],
        defaults: &[],
        own: &[OwnArgument::Id],
    },
];

impl ToolRow {
    /// The tool with this name.
    pub(crate) fn named(name: &str) -> Option<&'static Self> {
        TOOLS.iter().find(|row| row.name == name)
    }

    /// Whether a parameter is one of its arguments.
    pub(crate) fn has_parameter(&self, name: &str) -> bool {
        self.parameters.contains(&name)
    }

    /// The names of its arguments.
    pub(crate) fn arguments(&self) -> impl Iterator<Item = &'static str> {
        let own = self.own.iter().map(|argument| argument.name());
        self.parameters.iter().copied().chain(own)
    }

    /// The values of parameters that are not given.
    pub(crate) fn defaults(&self) -> impl Iterator<Item = (&'static str, Value)> {
        let defaults = self.defaults.iter();
        defaults.map(|(name, json)| (*name, serde_json::from_str(json).unwrap_or_default()))
    }

    fn input_schema(&self) -> Map<String, Value> {
        let mut properties = Map::new();
        for name in self.parameters {
            let default = self.defaults().find(|(known, _)| known == name);
            let default = default.map(|(_, value)| value);
            let schema = schema::parameter(self.request, name, default.as_ref());
            properties.extend(schema.map(|schema| ((*name).to_owned(), schema)));
        }
        for argument in self.own {
            properties.insert(argument.name().to_owned(), argument.schema());
        }
        schema::object(json!({
            "type": "object",
            "properties": properties,
            "required": self.required,
            "additionalProperties": false,
        }))
    }

    fn tool(&self) -> Tool {
        let stops = self.work == Work::Stop;
        let annotations = ToolAnnotations::with_title(self.title)
            .read_only(!stops && self.work != Work::Begin)
            .destructive(stops)
            .idempotent(stops)
            .open_world(!matches!(
                self.work,
                Work::Transform | Work::Status | Work::Stored
            ));
        Tool::new(self.name, self.description, Arc::new(self.input_schema()))
            .with_title(self.title)
            .with_raw_output_schema(Arc::new(schema::answer()))
            .with_annotations(annotations)
    }
}

/// All tools as clients see them. They are made once.
pub(crate) fn listed() -> Vec<Tool> {
    static LISTED: LazyLock<Vec<Tool>> =
        LazyLock::new(|| TOOLS.iter().map(ToolRow::tool).collect());
    LISTED.clone()
}

#[cfg(test)]
mod tests {
    use std::collections::BTreeSet;

    use super::*;

    #[test]
    fn every_tool_says_what_it_does_and_when_not_to_use_it() {
        let mut names = BTreeSet::new();
        for row in TOOLS {
            assert!(names.insert(row.name), "{}", row.name);
            assert!(row.description.contains("Do not "), "{}", row.name);
            assert!(row.description.len() < 600, "{}", row.name);
            assert!(!row.description.contains("  "), "{}", row.name);
        }
        assert!(ToolRow::named("scrape").is_some());
        assert!(ToolRow::named("Scrape").is_none());
    }

    #[test]
    fn every_argument_is_a_parameter_of_the_interface_or_an_own_one() {
        for row in TOOLS {
            let schema = Value::Object(row.input_schema());
            for name in row.arguments() {
                assert!(
                    schema["properties"][name].is_object(),
                    "{}.{name}",
                    row.name
                );
            }
            for name in row.required {
                assert!(row.arguments().any(|known| known == *name), "{name}");
            }
            assert!(jsonschema::validator_for(&schema).is_ok(), "{schema}");
            for (name, json) in row.defaults {
                let value: Value = serde_json::from_str(json).expect("JSON");
                let property = &schema["properties"][*name];
                if row.has_parameter(name) {
                    assert_eq!(property["default"], value, "{}.{name}", row.name);
                }
            }
        }
    }

    #[test]
    fn the_list_of_tools_is_short_enough_to_be_read_at_every_start() {
        let bytes = serde_json::to_vec(&listed()).expect("JSON").len();
        assert!(bytes < 50_000, "{bytes}");
    }

    #[test]
    fn what_changes_something_is_marked() {
        for tool in listed() {
            let annotations = tool.annotations.expect("annotations");
            let acts = ["crawl", "crawl_stop"].contains(&&*tool.name);
            assert_eq!(annotations.read_only_hint, Some(!acts), "{}", tool.name);
            assert_eq!(
                annotations.destructive_hint,
                Some(tool.name == "crawl_stop")
            );
            assert!(tool.output_schema.is_some());
        }
    }
}
