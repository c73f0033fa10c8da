//! What other people's tools make of the OpenAPI document and of the server behind it: two
//! validators, clients that are generated for Python and TypeScript, and Schemathesis; and what the
//! official clients of the Model Context Protocol make of `/mcp`. `cargo xtask clients` installs
//! them into `target/clients`.

use std::fs;
use std::path::{Path, PathBuf};
use std::process::{Command, Stdio};
use std::time::{Duration, Instant};

use serde_json::Value;
use tempfile::TempDir;
use trawl_tests::{World, program};

use super::Api;

/// Where the tools are, and where they work: Node.js looks for packages in the folders above.
pub(super) const TOOLS: &str = concat!(env!("CARGO_MANIFEST_DIR"), "/../target/clients");
/// What uses the generated clients, and the settings of the tools.
const SOURCES: &str = concat!(env!("CARGO_MANIFEST_DIR"), "/clients");
/// How long one tool may take. Each needs a few seconds of a free processor.
pub(super) const TOOL_LIMIT: Duration = Duration::from_secs(240);
/// How long Schemathesis may test, and how much longer it may take to end.
const TEST_SECONDS: u64 = 60;
const TEST_GRACE: Duration = Duration::from_secs(240);
/// How often it makes up as many requests in a longer run.
const ROUNDS_MAX: u64 = 100;

/// A folder with the document, in which tools are run.
pub(super) struct Bench {
    folder: TempDir,
}

impl Bench {
    pub(super) fn new(document: &Value) -> Self {
        let folder = TempDir::new_in(TOOLS).expect("a folder next to the packages");
        let entries = fs::read_dir(SOURCES).expect("the sources").flatten();
        for entry in entries.filter(|entry| entry.path().is_file()) {
            let to = folder.path().join(entry.file_name());
            fs::copy(entry.path(), to).expect("a copy");
        }
        fs::write(folder.path().join("openapi.json"), document.to_string()).expect("the document");
        Self { folder }
    }

    pub(super) fn path(&self) -> &Path {
        self.folder.path()
    }

    /// A program of the Python environment.
    pub(super) fn python(&self, program: &str) -> Command {
        self.command(&PathBuf::from(TOOLS).join("venv/bin").join(program))
    }

    /// A program of a package for Node.js.
    fn node(&self, program: &str) -> Command {
        self.command(&PathBuf::from(TOOLS).join("node_modules/.bin").join(program))
    }

    /// A program that reaches this machine directly, and nothing else needs.
    pub(super) fn command(&self, program: &Path) -> Command {
        let mut command = Command::new(program);
        command
            .current_dir(self.path())
            .env("PYTHONPATH", self.path())
            .env("PYTHONDONTWRITEBYTECODE", "1")
            .env("NO_PROXY", "*")
            .env("CI", "true")
            .env("REDOCLY_TELEMETRY", "off")
            .env("REDOCLY_SUPPRESS_UPDATE_NOTICE", "true");
        command
    }

    /// Runs a tool to its end and returns what it printed.
    ///
    /// # Panics
    /// It fails, or takes longer than `limit`.
    pub(super) fn run(&self, command: &mut Command, limit: Duration) -> String {
        let name = Path::new(command.get_program()).file_name();
        let name = name.unwrap_or_default().to_string_lossy().into_owned();
        let [out, err] = ["out", "err"].map(|end| self.path().join(format!("{name}.{end}")));
        let file = |path: &Path| fs::File::create(path).expect("a file");
        let mut child = command
            .stdin(Stdio::null())
            .stdout(file(&out))
            .stderr(file(&err))
            .spawn()
            .expect("an installed tool");
        let deadline = Instant::now() + limit;
        let status = loop {
            if let Some(status) = child.try_wait().expect("a child") {
                break status;
            }
            if Instant::now() > deadline {
                // It may have ended just now.
                let _killed = child.kill();
                let _ended = child.wait();
                panic!("{name} did not end in {} s", limit.as_secs());
            }
            std::thread::sleep(Duration::from_millis(20));
        };
        let said = |path: &Path| fs::read_to_string(path).unwrap_or_default();
        let (out, err) = (said(&out), said(&err));
        assert!(status.success(), "{name}: {status}\n{out}\n{err}");
        out
    }
}

/// What a script that uses a generated client reports.
fn check_report(report: &str) {
    let line = report.lines().last().unwrap_or_default();
    let said: Value =
        serde_json::from_str(line).unwrap_or_else(|error| panic!("{error}: {report}"));
    let scraped = &said["scrape"];
    assert_eq!(scraped["status"], 200);
    let content = scraped["content"].as_str().unwrap_or_default();
    assert!(content.contains("# Tides"), "{scraped}");
    assert_eq!(scraped["title"], "Tides - Harbour Notes");
    assert!(
        scraped["cost"].as_f64().is_some_and(|cost| cost > 0.0),
        "{scraped}"
    );
    assert_ne!(scraped["request_id"], "");
    let batch = [
        "http://sample.trawl.test/tides",
        "http://sample.trawl.test/knots",
    ];
    assert_eq!(said["batch"], serde_json::json!(batch));
    let crawl = &said["crawl"];
    assert_eq!(
        (&crawl["reason"], &crawl["pages"]),
        (&"limit".into(), &3.into())
    );
    assert_eq!(crawl["status"], 200);
    let fetched = &said["fetch"];
    assert_eq!(fetched["url"], "http://sample.trawl.test/tides?x=1");
    let text = |name: &str| fetched[name].as_str().unwrap_or_default();
    assert!(text("content").contains("# Tides"), "{fetched}");
    assert!(
        text("text").contains("Tides") && !text("text").contains("# Tides"),
        "{fetched}"
    );
    let error = &said["error"];
    assert_eq!(
        (&error["status"], &error["denied"]),
        (&400.into(), &401.into())
    );
    let reason = error["error"].as_str().unwrap_or_default();
    assert!(
        reason.starts_with("return_format: unknown format `pdf`"),
        "{reason}"
    );
    assert_eq!(said["account"], "caller");
}

#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
#[cfg_attr(
    no_clients,
    ignore = "no tools in target/clients: install Node.js and Python, run cargo xtask clients"
)]
async fn the_document_is_valid_under_two_validators() {
    let api = Api::start().await;
    let bench = Bench::new(&api.document);
    let mut validator = bench.python("openapi-spec-validator");
    let said = bench.run(validator.arg("openapi.json"), TOOL_LIMIT);
    assert!(said.contains("OK"), "{said}");
    // Warnings are for endpoints that have no good answer, since they are not built.
    let mut linter = bench.node("redocly");
    bench.run(linter.args(["lint", "openapi.json"]), TOOL_LIMIT);
}

#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
#[cfg_attr(
    no_clients,
    ignore = "no tools in target/clients: install Node.js and Python, run cargo xtask clients"
)]
async fn a_client_generated_for_python_works() {
    let api = Api::start().await;
    let bench = Bench::new(&api.document);
    let mut generator = bench.python("openapi-python-client");
    generator.args(["generate", "--path", "openapi.json", "--meta", "none"]);
    generator.args([
        "--output-path",
        "trawl_client",
        "--config",
        "generator.yaml",
    ]);
    let said = bench.run(&mut generator, TOOL_LIMIT);
    // What it does not understand it leaves out, with a warning.
    assert!(!said.to_lowercase().contains("warning"), "{said}");
    let mut user = bench.python("python");
    user.args(["use_client.py", &api.app.base, &api.app.key]);
    check_report(&bench.run(&mut user, TOOL_LIMIT));
}

#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
#[cfg_attr(
    no_clients,
    ignore = "no tools in target/clients: install Node.js and Python, run cargo xtask clients"
)]
async fn a_client_generated_for_typescript_works() {
    let api = Api::start().await;
    let bench = Bench::new(&api.document);
    let mut generator = bench.node("openapi-typescript");
    generator.args(["openapi.json", "--output", "schema.d.ts"]);
    bench.run(&mut generator, TOOL_LIMIT);
    bench.run(&mut bench.node("tsc"), TOOL_LIMIT);
    let mut user = bench.command(Path::new("node"));
    user.args(["out/use_client.js", &api.app.base, &api.app.key]);
    check_report(&bench.run(&mut user, TOOL_LIMIT));
}

/// What a script that uses the tools of `/mcp` reports.
fn check_tools(report: &str) -> Value {
    let line = report.lines().last().unwrap_or_default();
    let said: Value =
        serde_json::from_str(line).unwrap_or_else(|error| panic!("{error}: {report}"));
    let tools = said["tools"].as_array().expect("tools");
    for name in ["scrape", "map", "crawl", "crawl_pages"] {
        assert!(tools.contains(&name.into()), "{tools:?}");
    }
    let text = said["text"].as_str().unwrap_or_default();
    let begin = "URL: http://sample.trawl.test/tides\nStatus: 200";
    assert!(
        text.starts_with(begin) && text.contains("# Tides"),
        "{text}"
    );
    assert!(
        said["cost"].as_f64().is_some_and(|cost| cost > 0.0),
        "{said}"
    );
    assert_eq!(said["refused"][0], true);
    let reason = said["refused"][1].as_str().unwrap_or_default();
    assert!(
        reason.starts_with("return_format: unknown format `pdf`"),
        "{reason}"
    );
    let template = "trawl://crawl/{id}/page/{n}";
    assert_eq!(said["templates"], serde_json::json!([template]));
    let crawl = &said["crawl"];
    assert_eq!(
        (&crawl["state"], &crawl["pages"]),
        (&"ended".into(), &3.into())
    );
    assert_eq!(crawl["same"], true, "a resource is the content of its page");
    said
}

#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
#[cfg_attr(
    no_clients,
    ignore = "no tools in target/clients: install Node.js and Python, run cargo xtask clients"
)]
async fn the_official_client_of_mcp_for_python_uses_the_tools() {
    let api = Api::start().await;
    let bench = Bench::new(&api.document);
    let program = program();
    for (mode, version) in [("legacy", "2025-11-25"), ("auto", "2026-07-28")] {
        for relay in [None, Some(&program)] {
            let mut user = bench.python("python");
            user.args(["use_tools.py", &api.app.base, &api.app.key, mode]);
            user.args(relay);
            let said = check_tools(&bench.run(&mut user, TOOL_LIMIT));
            assert_eq!(said["version"], version, "{mode} {relay:?}");
        }
    }
    api.app.assert_settled().await;
}

#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
#[cfg_attr(
    no_clients,
    ignore = "no tools in target/clients: install Node.js and Python, run cargo xtask clients"
)]
async fn the_official_client_of_mcp_for_typescript_uses_the_tools() {
    let api = Api::start().await;
    let bench = Bench::new(&api.document);
    let program = program();
    for relay in [None, Some(&program)] {
        let mut user = bench.command(Path::new("node"));
        user.args(["use_tools.mjs", &api.app.base, &api.app.key]);
        user.args(relay);
        check_tools(&bench.run(&mut user, TOOL_LIMIT));
    }
    api.app.assert_settled().await;
}

/// How long it may test: by hand for longer than in the checks.
#[expect(
    clippy::disallowed_methods,
    reason = "a longer run is asked for this way"
)]
fn test_seconds() -> u64 {
    let given = std::env::var("TRAWL_SCHEMATHESIS_SECONDS");
    given.map_or(TEST_SECONDS, |seconds| seconds.parse().unwrap())
}

/// Runs phases of Schemathesis on the operations that `only` selects.
async fn schemathesis(phases: &str, examples: u64, only: &[&str]) {
    let seconds = test_seconds();
    let examples = examples * (seconds / TEST_SECONDS).clamp(1, ROUNDS_MAX);
    let mut world = World::new();
    // Whatever key a request brings for a provider, its vendor is not there.
    world.use_vendors(([127, 0, 0, 1], 9).into(), &[]);
    let api = Api::start_in(world).await;
    let bench = Bench::new(&api.document);
    let mut tester = bench.python("st");
    tester.args(["--config-file", "schemathesis.toml", "--no-color"]);
    tester.args(["run", "openapi.json", "--url", &api.app.base]);
    tester.args(["--phases", phases, "--max-examples", &examples.to_string()]);
    tester.args(["--max-time", &seconds.to_string()]).args(only);
    tester.env("TRAWL_KEY", &api.app.key);
    tester.env("TRAWL_ADMIN_KEY", &api.operator.key);
    let said = bench.run(&mut tester, Duration::from_secs(seconds) + TEST_GRACE);
    // A failure is its exit status. Warnings are about ids that no other answer has, and about
    // endpoints that are not built.
    assert!(
        said.contains(" generated, ") && !said.contains('❌'),
        "{said}"
    );
    api.app.assert_settled().await;
}

#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
#[cfg_attr(
    no_clients,
    ignore = "no tools in target/clients: install Node.js and Python, run cargo xtask clients"
)]
async fn schemathesis_finds_nothing_with_made_up_requests() {
    schemathesis("examples,fuzzing,stateful", 4, &[]).await;
}

#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
#[cfg_attr(
    no_clients,
    ignore = "no tools in target/clients: install Node.js and Python, run cargo xtask clients"
)]
async fn schemathesis_finds_nothing_at_the_bounds_of_values() {
    // The other request objects have the same parameters; each value at its bounds is a request.
    let shared =
        "^/(unlimited|pipeline|links|screenshot|unblocker|(crawl|batch|search)$|fetch/.url)";
    schemathesis("coverage", 1, &["--exclude-path-regex", shared]).await;
}
