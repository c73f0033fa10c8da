//! `trawl batch FILE`: fetches the pages that a file lists, without a server.

use std::io::Read;
use std::path::{Path, PathBuf};

use anyhow::Context;
use clap::Args;
use serde_json::{Map, Value};

use trawl_parameters::Route;
use trawl_wire::Verb;

use super::super::parameters::{CommandParameters, OptionList, Options, ParameterArgs, section};
use super::work::{Work, WorkArgs, body};

/// The parameters of the command.
const PARAMETERS: CommandParameters = CommandParameters {
    route: Route::Batch,
    argument: "urls",
    idle: &[
        (
            "cache",
            "a batch of the command line fetches every page once",
        ),
        ("run_in_background", "the command runs until the batch ends"),
        ("webhooks", "the command line sends no events"),
    ],
};
/// The file that stands for the standard input.
const STANDARD_INPUT: &str = "-";

/// The options for parameters.
#[derive(Debug)]
enum BatchOptions {}

impl OptionList for BatchOptions {
    const NAMES: &'static [&'static str] = &[
        "return_format",
        "request",
        "limit",
        "delay",
        "concurrency_limit",
        "max_credits_allowed",
    ];
}

/// Options of `trawl batch`.
#[derive(Debug, Args)]
#[command(after_long_help = section(&PARAMETERS))]
pub(in crate::cli) struct BatchArgs {
    /// File with a page on each line: a URL, or a JSON object with a `url` and parameters of its
    /// own; `-` is the standard input.
    file: PathBuf,
    #[command(flatten)]
    options: Options<BatchOptions>,
    #[command(flatten)]
    parameters: ParameterArgs,
    #[command(flatten)]
    work: WorkArgs,
}

impl BatchArgs {
    /// The batch of the file.
    ///
    /// # Errors
    /// The file cannot be read, or a line is neither a URL nor an object; or options contradict
    /// each other.
    pub(super) fn work(self) -> anyhow::Result<Work> {
        let mut request = self
            .parameters
            .request(self.options.given()?, &PARAMETERS)?;
        let listed = pages(&text(&self.file)?)?;
        request.put_argument(PARAMETERS.argument, Some(Value::Array(listed)))?;
        let file = std::path::absolute(&self.file).context("the file has no absolute path")?;
        Ok(Work {
            verb: Verb::Batch,
            route: PARAMETERS.route,
            body: body(&self.work, &request),
            // No URL begins so.
            key: format!("batch {}", file.display()),
            request,
            args: self.work,
        })
    }
}

fn text(file: &Path) -> anyhow::Result<String> {
    if file.as_os_str() == STANDARD_INPUT {
        let mut text = String::new();
        let read = std::io::stdin().read_to_string(&mut text);
        read.context("cannot read the standard input")?;
        return Ok(text);
    }
    let text = std::fs::read_to_string(file);
    text.with_context(|| format!("cannot read `{}`", file.display()))
}

/// The pages of a text. Blank lines are left out.
///
/// # Errors
/// A line begins like an object and is none.
fn pages(text: &str) -> anyhow::Result<Vec<Value>> {
    let lines = text.trim_start_matches('\u{feff}').lines().enumerate();
    let lines = lines.map(|(number, line)| (number, line.trim()));
    let pages = lines
        .filter(|(_, line)| !line.is_empty())
        .map(|(number, line)| {
            if !line.starts_with('{') {
                return Ok(Value::from(line));
            }
            let object = serde_json::from_str::<Map<String, Value>>(line);
            let object = object.with_context(|| format!("line {} is not JSON", number + 1))?;
            Ok(Value::Object(object))
        });
    pages.collect()
}

#[cfg(test)]
mod tests {
    use clap::{CommandFactory, Parser};
    use serde_json::json;
    use trawl_parameters::COMMAND_FORMAT;

    use super::super::super::parameters::tests::check_help;
    use super::*;

    #[derive(Debug, Parser)]
    struct Command {
        #[command(flatten)]
        args: BatchArgs,
    }

    #[test]
    fn the_help_of_every_option_is_that_of_its_parameter() {
        let command = Command::try_parse_from(["batch", "-"]).expect("options");
        let given = command.args.options.given().expect("read");
        let own = ["output", "dir", "resume", "overwrite"];
        check_help(Command::command(), &given, &own, &PARAMETERS);
    }

    #[test]
    fn each_line_is_a_url_or_an_object() {
        let text = "\u{feff}a.example\n\n  https://b.example/x \r\n{\"url\": \"c.example\", \"metadata\": true}\n";
        let expected = [
            json!("a.example"),
            json!("https://b.example/x"),
            json!({"url": "c.example", "metadata": true}),
        ];
        assert_eq!(pages(text).expect("pages"), expected);
        let error = pages("a.example\n{\"url\": }").expect_err("no JSON");
        assert_eq!(error.to_string(), "line 2 is not JSON");
    }

    #[test]
    fn the_pages_are_sent_with_what_was_given() {
        let folder = tempfile::tempdir().expect("a folder");
        let file = folder.path().join("pages.txt");
        std::fs::write(&file, "a.example\nb.example\n").expect("a file");
        let name = file.to_str().expect("text");
        let words = ["batch", name, "--limit", "3", "--set", "metadata"];
        let command = Command::try_parse_from(words).expect("options");
        let work = command.args.work().expect("a batch");
        let body: Value = serde_json::from_slice(&work.body).expect("JSON");
        let expected = json!({
            "urls": ["a.example", "b.example"], "limit": 3, "metadata": true, "return_format": COMMAND_FORMAT,
            "cache": false, "run_in_background": true,
        });
        assert_eq!(body, expected);
        assert_eq!((work.verb, work.route), (Verb::Batch, Route::Batch));
        let command = Command::try_parse_from(["batch", "no/such/file"]).expect("options");
        let error = command.args.work().err().expect("no file");
        assert_eq!(error.to_string(), "cannot read `no/such/file`");
    }
}
