//! Options for the output of commands that print one page.

use std::path::PathBuf;

use anyhow::{Context, bail};
use clap::Args;
use serde_json::{Value, json};

use trawl_model::outcome::PageOutcome;
use trawl_model::{Content, Piece};

use super::parameters::{Given, Request, help, switch};
use super::standard_output::print_bytes;

/// Format of the content unless another one is given.
pub(super) const FORMAT_DEFAULT: &str = "markdown";
/// Parameters that add something to the page entry in addition to its content.
const ENTRY_PARAMETERS: [&str; 8] = [
    "css_extraction_map",
    "extractors",
    "metadata",
    "return_cookies",
    "return_headers",
    "return_hidden_text",
    "return_json_data",
    "return_page_links",
];
const PRINTS_JSON: &str = "Prints the page entry as JSON";

/// Format and fields of the output.
#[derive(Debug, Args)]
pub(super) struct OutputArgs {
    #[arg(long, help = help("return_format").default(FORMAT_DEFAULT).named())]
    format: Option<String>,
    #[arg(long, help = help("readability"))]
    readability: bool,
    #[arg(long, value_name = "CSS", help = help("root_selector"))]
    root_selector: Option<String>,
    #[arg(long, value_name = "CSS", help = help("exclude_selector"))]
    exclude_selector: Option<String>,
    #[arg(long, value_name = "FILE", help = help("css_extraction_map")
        .note("Read from this JSON file. Prints the page entry as JSON")
        .named())]
    selectors: Option<PathBuf>,
    #[arg(long, help = help("return_json_data").note(PRINTS_JSON).named())]
    json_data: bool,
    #[arg(long, help = help("metadata").note(PRINTS_JSON))]
    metadata: bool,
    #[arg(long, help = help("return_page_links").note(PRINTS_JSON).named())]
    links: bool,
    #[arg(long, help = help("return_hidden_text").note(PRINTS_JSON).named())]
    hidden_text: bool,
    /// Print the complete page entry as JSON instead of its content.
    #[arg(long)]
    json: bool,
}

impl OutputArgs {
    /// The options that stand for parameters.
    ///
    /// # Errors
    /// The file of the selector map cannot be read or is not JSON.
    pub(super) fn given(&self) -> anyhow::Result<[Given; 9]> {
        let selectors = self.selectors.as_ref().map(selector_map).transpose()?;
        Ok([
            ("--format", "return_format", json!(self.format)),
            (
                "--readability",
                "readability",
                switch(self.readability, true),
            ),
            (
                "--root-selector",
                "root_selector",
                json!(self.root_selector),
            ),
            (
                "--exclude-selector",
                "exclude_selector",
                json!(self.exclude_selector),
            ),
            ("--selectors", "css_extraction_map", json!(selectors)),
            (
                "--json-data",
                "return_json_data",
                switch(self.json_data, true),
            ),
            ("--metadata", "metadata", switch(self.metadata, true)),
            ("--links", "return_page_links", switch(self.links, true)),
            (
                "--hidden-text",
                "return_hidden_text",
                switch(self.hidden_text, true),
            ),
        ])
    }

    /// Whether the page entry is printed, as fields need.
    pub(super) fn prints_entry(&self, request: &Request) -> bool {
        let is_set = |name: &&str| !matches!(request.get(name), Value::Null | Value::Bool(false));
        self.json || ENTRY_PARAMETERS.iter().any(is_set)
    }

    /// Prints a page.
    ///
    /// # Errors
    /// The page failed, or its content consists of several parts.
    pub(super) fn print(&self, outcome: &PageOutcome, request: &Request) -> anyhow::Result<()> {
        if self.prints_entry(request) {
            let mut entry = Vec::new();
            trawl_wire::write_entry(outcome, &mut entry);
            entry.push(b'\n');
            return Ok(print_bytes(&entry)?);
        }
        if let Some(error) = &outcome.error {
            // A file without a URL is not named, and no site answered.
            if outcome.url.starts_with("about:") {
                bail!("{error}");
            }
            bail!("{}: {error} (status {})", outcome.url, outcome.status);
        }
        let text = match &outcome.content {
            Content::One(piece) => piece.text(),
            Content::ByFormat(_) => None,
        };
        match (&outcome.content, text) {
            (Content::One(Piece::Bytes(bytes)), _) => print_bytes(bytes),
            (_, Some(text)) => print_bytes(text.as_bytes()),
            _ => bail!("the content has several parts; print it with `--json`"),
        }
        .context("cannot write the content")
    }
}

/// Sets the format of the command line, unless one was given. Returns whether it is the screenshot
/// alone.
pub(super) fn complete_format(request: &mut Request) -> bool {
    request.set_default("return_format", FORMAT_DEFAULT.into());
    let format = request.get("return_format").as_str().unwrap_or_default();
    format.trim().eq_ignore_ascii_case("screenshot")
}

fn selector_map(file: &PathBuf) -> anyhow::Result<Value> {
    let context = || format!("cannot read the selectors in `{}`", file.display());
    let text = std::fs::read_to_string(file).with_context(context)?;
    serde_json::from_str(&text).with_context(context)
}

#[cfg(test)]
mod tests {
    use clap::Parser;

    use trawl_plan::parameters::Route;

    use super::super::parameters::{CommandParameters, ParameterArgs};
    use super::*;

    #[derive(Parser)]
    struct Command {
        #[command(flatten)]
        output: OutputArgs,
        #[command(flatten)]
        parameters: ParameterArgs,
    }

    /// The options and the request of a command line.
    fn parsed(words: &[&str]) -> (OutputArgs, Request) {
        let words = std::iter::once("x").chain(words.iter().copied());
        let Command { output, parameters } = Command::try_parse_from(words).expect("options");
        let command = CommandParameters {
            route: Route::Scrape,
            argument: "url",
            idle: &[],
        };
        let request = parameters.request(output.given().expect("read"), &command);
        let mut request = request.expect("a request");
        complete_format(&mut request);
        (output, request)
    }

    #[test]
    fn only_what_was_given_is_sent_beside_the_format() {
        let check = |words: &[&str], expected: Value| {
            assert_eq!(Value::Object(parsed(words).1.object), expected, "{words:?}");
        };
        check(&[], json!({"return_format": FORMAT_DEFAULT}));
        check(
            &["--format", "text", "--readability"],
            json!({"return_format": "text", "readability": true}),
        );
        check(
            &["--data", r#"{"return_format": "xml"}"#],
            json!({"return_format": "xml"}),
        );
    }

    #[test]
    fn fields_are_printed_with_their_entry() {
        let prints_entry = |words: &[&str]| {
            let (output, request) = parsed(words);
            output.prints_entry(&request)
        };
        assert!(!prints_entry(&["--readability", "--set", "metadata=false"]));
        assert!(prints_entry(&["--json"]));
        assert!(prints_entry(&["--links"]));
        assert!(prints_entry(&["--set", "return_headers"]));
        assert!(prints_entry(&[
            "--data",
            r#"{"css_extraction_map": {"a": "h1"}}"#
        ]));
    }
}
