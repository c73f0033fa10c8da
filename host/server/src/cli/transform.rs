//! `trawl transform FILE`: transforms HTML, or a document that a decoder reads, from a file or
//! standard input, without server or network.

use std::io::Read;
use std::path::{Path, PathBuf};
use std::time::{Duration, Instant};

use anyhow::Context;
use clap::Args;
use serde_json::json;
use url::Url;

use trawl_engine::extract::{self, Input};
use trawl_engine::page;
use trawl_parameters::Route;
use trawl_plan::address;
use trawl_plugins::{Plugins, PluginsConfig};
use trawl_wire::transform_plan;

use super::environment::{cache_folder, plugins_file};
use super::output_args::{OutputArgs, complete_format};
use super::parameters::{self, CommandParameters, ParameterArgs, Request, section};
use crate::app::report_compiling;

/// The parameters of the command.
const PARAMETERS: CommandParameters = CommandParameters {
    route: Route::Transform,
    argument: "data",
    idle: &[],
};

/// Timeout of the transformation.
const TIMEOUT: Duration = Duration::from_secs(60);

/// Options of `trawl transform`.
#[derive(Debug, Args)]
#[command(after_long_help = section(&PARAMETERS))]
pub(super) struct TransformArgs {
    /// HTML file, or a document that a decoder reads; `-` for standard input.
    file: PathBuf,
    /// URL of the page: base of relative links, and key of selector maps by path.
    #[arg(long)]
    url: Option<String>,
    /// `Content-Type` of the page (default: by the file's ending, such as `.csv`, `.json` or
    /// `.xml`, else what its first bytes say).
    #[arg(long, value_name = "TYPE")]
    content_type: Option<String>,
    #[command(flatten)]
    output: OutputArgs,
    #[command(flatten)]
    parameters: ParameterArgs,
    /// Plugin manifest (default: `plugins.toml` in the working directory or next to the program,
    /// else the plugins inside the program).
    #[arg(long, env = "TRAWL_PLUGINS", value_name = "FILE")]
    plugins: Option<PathBuf>,
}

pub(super) fn run(args: TransformArgs) -> anyhow::Result<()> {
    let request = request(&args)?;
    let url = match &args.url {
        Some(url) => {
            let target = address::parse(url);
            let target = target.map_err(|failure| anyhow::anyhow!("`--url`: {failure}"))?;
            target.url
        }
        // Without a URL, relative links stay unresolved.
        None => Url::parse("about:blank").expect("about:blank is a URL"),
    };
    let config = PluginsConfig {
        manifest: plugins_file(args.plugins.clone())?,
        cache_dir: cache_folder()?,
    };
    let plugins = Plugins::start_reporting(config, report_compiling)?;
    let registry = plugins.snapshot();
    let plan = transform_plan(&request.body(), &*registry)?;
    parameters::print(parameters::ignored(&plan.ignored, Route::Transform));
    let body = page(&args.file)?;
    let input = Input {
        url,
        content_type: match &args.content_type {
            Some(given) => given.clone(),
            None => media_type(&args.file, &body).to_owned(),
        },
        body: body.into(),
        is_serialised: false,
        screenshot: None,
    };
    let started = Instant::now();
    let (outputs, _) = extract::run(&registry, &input, &plan.output, started + TIMEOUT);
    let url = input.url.to_string();
    let outcome = page::handed_in(url, outputs, started.elapsed());
    args.output.print(&outcome, &request)
}

/// The request object. Its page is a placeholder: the transformation reads the file itself.
fn request(args: &TransformArgs) -> anyhow::Result<Request> {
    let mut request = args.parameters.request(args.output.given()?, &PARAMETERS)?;
    request.put_argument(PARAMETERS.argument, Some(json!([{"html": ""}])))?;
    complete_format(&mut request);
    Ok(request)
}

/// How many bytes show whether a file is text.
const FIRST_BYTES: usize = 1024;
/// Media types of files by their endings; a file has no `Content-Type`. Decision D256.
const ENDINGS: &[(&str, &str)] = &[
    ("atom", "application/atom+xml"),
    ("avif", "image/avif"),
    ("bmp", "image/bmp"),
    ("c", "text/x-c"),
    ("cpp", "text/x-c++"),
    ("css", "text/css"),
    ("csv", "text/csv"),
    (
        "docx",
        "application/vnd.openxmlformats-officedocument.wordprocessingml.document",
    ),
    ("eml", "message/rfc822"),
    ("epub", "application/epub+zip"),
    ("geojson", "application/geo+json"),
    ("gif", "image/gif"),
    ("go", "text/x-go"),
    ("gz", "application/gzip"),
    ("h", "text/x-c"),
    ("heic", "image/heic"),
    ("ico", "image/x-icon"),
    ("ics", "text/calendar"),
    ("java", "text/x-java"),
    ("jpeg", "image/jpeg"),
    ("jpg", "image/jpeg"),
    ("js", "text/javascript"),
    ("json", "application/json"),
    ("jsonl", "application/jsonl"),
    ("mbox", "application/mbox"),
    ("ndjson", "application/x-ndjson"),
    ("odp", "application/vnd.oasis.opendocument.presentation"),
    ("ods", "application/vnd.oasis.opendocument.spreadsheet"),
    ("odt", "application/vnd.oasis.opendocument.text"),
    ("pdf", "application/pdf"),
    ("png", "image/png"),
    (
        "pptx",
        "application/vnd.openxmlformats-officedocument.presentationml.presentation",
    ),
    ("py", "text/x-python"),
    ("rb", "text/x-ruby"),
    ("rdf", "application/rdf+xml"),
    ("rs", "text/x-rust"),
    ("rss", "application/rss+xml"),
    ("rtf", "application/rtf"),
    ("sh", "application/x-sh"),
    ("sql", "application/sql"),
    ("tar", "application/x-tar"),
    ("tgz", "application/gzip"),
    ("tif", "image/tiff"),
    ("tiff", "image/tiff"),
    ("toml", "application/toml"),
    ("ts", "application/typescript"),
    ("tsv", "text/tab-separated-values"),
    ("vcf", "text/vcard"),
    ("webp", "image/webp"),
    (
        "xlsx",
        "application/vnd.openxmlformats-officedocument.spreadsheetml.sheet",
    ),
    ("xml", "application/xml"),
    ("yaml", "application/yaml"),
    ("yml", "application/yaml"),
    ("zip", "application/zip"),
];

/// The media type of a file: by its ending, else a generic one if its first bytes are not text,
/// which decoders know by more of them; else HTML.
fn media_type(file: &Path, body: &[u8]) -> &'static str {
    let ending = file.extension().and_then(|ending| ending.to_str());
    let ending = ending.map(str::to_ascii_lowercase);
    let known = ENDINGS
        .iter()
        .find(|(known, _)| ending.as_deref() == Some(*known));
    match known {
        Some(&(_, media_type)) => media_type,
        None if is_binary(body) => "application/octet-stream",
        None => "text/html",
    }
}

/// Whether a file is not text. UTF-16 is, if it says so.
fn is_binary(body: &[u8]) -> bool {
    let head = &body[..body.len().min(FIRST_BYTES)];
    let is_utf_16 = head.starts_with(b"\xFE\xFF") || head.starts_with(b"\xFF\xFE");
    head.starts_with(b"%PDF-") || !is_utf_16 && head.contains(&0)
}

fn page(file: &Path) -> anyhow::Result<Vec<u8>> {
    if file == Path::new("-") {
        let mut page = Vec::new();
        let read = std::io::stdin().lock().read_to_end(&mut page);
        return read.map(|_| page).context("cannot read standard input");
    }
    std::fs::read(file).with_context(|| format!("cannot read `{}`", file.display()))
}

#[cfg(test)]
mod tests {
    use clap::{CommandFactory, Parser};

    use super::super::parameters::tests::check_help;
    use super::*;

    #[derive(Debug, Parser)]
    struct Command {
        #[command(flatten)]
        args: TransformArgs,
    }

    #[test]
    fn the_help_of_every_option_is_that_of_its_parameter() {
        let args = Command::try_parse_from(["x", "-"]).expect("options").args;
        let given = args.output.given().expect("read");
        let own = ["url", "content-type", "json", "set", "data", "plugins"];
        check_help(Command::command(), &given, &own, &PARAMETERS);
    }

    #[test]
    fn a_file_is_what_its_ending_or_its_first_bytes_say() {
        let of = |file: &str| media_type(Path::new(file), b"<p>text");
        assert_eq!(of("a/feed.RSS"), "application/rss+xml");
        assert_eq!(of("a.tar.json"), "application/json");
        assert_eq!(of("page.html"), "text/html");
        assert_eq!(of("-"), "text/html");
        assert_eq!(of("json"), "text/html");
        let of = |body: &[u8]| media_type(Path::new("-"), body);
        assert_eq!(of(b"%PDF-1.7\n1 0 obj"), "application/octet-stream");
        assert_eq!(of(b"\x89PNG\r\n\x1a\n\0\0"), "application/octet-stream");
        assert_eq!(of(b"\xFF\xFE<\0p\0>\0"), "text/html");
        assert_eq!(of(b""), "text/html");
    }

    #[test]
    fn the_page_is_the_file() {
        let words = ["x", "-", "--data", r#"{"data": [{"html": "<p>"}]}"#];
        let args = Command::try_parse_from(words).expect("options").args;
        let text = request(&args).expect_err("refused").to_string();
        assert!(text.contains("`data` is given twice"), "{text}");
    }
}
