//! Options for the output of commands that print one page.

use anyhow::{Context, bail};
use clap::Args;
use serde_json::Value;

use trawl_model::outcome::PageOutcome;
use trawl_model::{Content, Piece};
use trawl_parameters::COMMAND_FORMAT;

use super::parameters::{Given, OptionList, Options, Request};
use super::standard_output::print_bytes;

/// Parameters that add something to the page entry in addition to its content.
const ENTRY_PARAMETERS: [&str; 9] = [
    "css_extraction_map",
    "extractors",
    "metadata",
    "return_cookies",
    "return_headers",
    "return_hidden_text",
    "return_json_data",
    "return_page_links",
    "return_timing",
];

/// The options for parameters.
#[derive(Debug)]
enum OutputOptions {}

impl OptionList for OutputOptions {
    const NAMES: &'static [&'static str] = &[
        "return_format",
        "readability",
        "root_selector",
        "exclude_selector",
        "css_extraction_map",
        "return_json_data",
        "metadata",
        "return_page_links",
        "return_hidden_text",
        "pages",
    ];
}

/// Format and fields of the output.
#[derive(Debug, Args)]
pub(super) struct OutputArgs {
    #[command(flatten)]
    options: Options<OutputOptions>,
    /// Print the complete page entry as JSON instead of its content.
    #[arg(long)]
    json: bool,
}

impl OutputArgs {
    /// The options that stand for parameters.
    ///
    /// # Errors
    /// The file of the selector map cannot be read or is not JSON.
    pub(super) fn given(&self) -> anyhow::Result<Vec<Given>> {
        self.options.given()
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
    request.set_default("return_format", COMMAND_FORMAT.into());
    let format = request.get("return_format").as_str().unwrap_or_default();
    format.trim().eq_ignore_ascii_case("screenshot")
}

#[cfg(test)]
mod tests {
    use clap::Parser;
    use serde_json::json;

    use trawl_parameters::Route;

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
        check(&[], json!({"return_format": COMMAND_FORMAT}));
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
