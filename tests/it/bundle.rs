//! The program that carries its plugins: one file in an empty folder is a server.

use std::fs;
use std::io::{BufRead, BufReader};
use std::path::{Path, PathBuf};
use std::process::{Child, Command, Stdio};

use serde_json::{Value, json};
use tempfile::TempDir;
use trawl_net::egress::SAMPLE_HOST;
use trawl_tests::Caller;

/// A folder with a copy of the program and nothing else.
struct Folder(TempDir);

/// A server started in a folder; killed when dropped.
struct Server {
    child: Child,
    caller: Caller,
}

impl Drop for Server {
    fn drop(&mut self) {
        // It may have ended already.
        let _killed = self.child.kill();
        let _ended = self.child.wait();
    }
}

impl Folder {
    fn new() -> Self {
        let built = Path::new(env!("CARGO_MANIFEST_DIR")).join("../target/bundle/trawl");
        assert!(
            built.is_file(),
            "there is no `{}`: run `cargo xtask test`",
            built.display()
        );
        let folder = Self(TempDir::new().unwrap());
        // Copied by another process: a file that this one has open for writing cannot be executed
        // by the children that other tests start meanwhile.
        let copied = Command::new("cp")
            .arg(built)
            .arg(folder.path("trawl"))
            .status();
        assert!(copied.unwrap().success());
        folder
    }

    fn path(&self, name: &str) -> PathBuf {
        self.0.path().join(name)
    }

    /// The program in this folder, with nothing of the tests' own settings.
    fn program(&self) -> Command {
        let mut command = Command::new(self.path("trawl"));
        command
            .current_dir(self.0.path())
            .env_clear()
            .env("HOME", self.0.path())
            .stdin(Stdio::null());
        command
    }

    /// Runs a command to its end; gives its standard output.
    fn run(&self, arguments: &[&str]) -> String {
        let output = self.program().args(arguments).output().unwrap();
        let errors = String::from_utf8_lossy(&output.stderr);
        assert!(output.status.success(), "{arguments:?}: {errors}");
        String::from_utf8(output.stdout).unwrap()
    }

    /// Starts a server with the data directory `data`, which must be new.
    fn serve(&self, data: &str, arguments: &[&str]) -> Server {
        let log = fs::File::create(self.path("log")).unwrap();
        let mut child = self
            .program()
            .args(["serve", "--listen", "127.0.0.1:0", "--data", data])
            .args(arguments)
            .stdout(Stdio::piped())
            .stderr(log)
            .spawn()
            .unwrap();
        let mut lines = BufReader::new(child.stdout.take().unwrap()).lines();
        let (mut address, mut key) = (None, None);
        while let Some(Ok(line)) = lines.next() {
            if let Some((_, shown)) = line.split_once(" listening on http://") {
                address = shown.parse().ok();
            }
            let shown = line.split_whitespace().find(|it| it.starts_with("tr_"));
            key = key.or_else(|| shown.map(str::to_owned));
            // The last line is one to try.
            if line.trim_start().starts_with("curl ") {
                break;
            }
        }
        let (Some(address), Some(key)) = (address, key) else {
            // It may have ended already.
            let _killed = child.kill();
            let _ended = child.wait();
            panic!("the server did not start: {}", self.log());
        };
        let caller = Caller::new(address, &key);
        Server { child, caller }
    }

    fn log(&self) -> String {
        fs::read_to_string(self.path("log")).unwrap_or_default()
    }

    /// Panics when a server compiled a plugin.
    fn check_nothing_compiled(&self) {
        let log = self.log();
        assert!(!log.contains("compiled"), "{log}");
    }
}

impl Server {
    /// The sources of all plugins, which must be the same.
    async fn source(&self) -> String {
        let status = self.caller.get("/plugins").await.json();
        let source = source(&status["plugins"]);
        assert_eq!(status["last_error"], Value::Null);
        source
    }

    async fn check_sample_page(&self) {
        let page = self
            .caller
            .fine(json!({
                "url": format!("http://{SAMPLE_HOST}/"), "request": "http",
                "return_format": "markdown", "readability": true,
            }))
            .await;
        let content = page["content"].as_str().unwrap_or_default();
        assert!(content.len() > 40, "{page}");
    }
}

fn source(plugins: &Value) -> String {
    let plugins = plugins.as_array().unwrap();
    assert!(plugins.len() > 20, "{}", plugins.len());
    let first = plugins[0]["source"].as_str().unwrap();
    for plugin in plugins {
        assert_eq!(plugin["source"], first, "{plugin}");
    }
    first.to_owned()
}

#[tokio::test]
async fn a_copied_program_serves_without_compiling() {
    let folder = Folder::new();
    let server = folder.serve("data", &[]);
    server.check_sample_page().await;
    assert_eq!(server.source().await, "bundled");
    folder.check_nothing_compiled();
    let listed = folder.run(&["plugins", "list", "--json"]);
    assert_eq!(source(&serde_json::from_str(&listed).unwrap()), "bundled");
}

#[tokio::test]
async fn ejected_plugins_decide_from_then_on() {
    let folder = Folder::new();
    let said = folder.run(&["plugins", "eject"]);
    for file in ["./plugins.toml", "./components/format_markdown.wasm"] {
        assert!(said.contains(&format!("wrote {file}\n")), "{said}");
        assert!(folder.path(file).is_file(), "{file}");
    }
    let server = folder.serve("data", &[]);
    server.check_sample_page().await;
    assert_eq!(server.source().await, "file");
    folder.check_nothing_compiled();
    drop(server);

    let again = folder.program().args(["plugins", "eject"]).output();
    let again = again.unwrap();
    let error = String::from_utf8_lossy(&again.stderr);
    assert!(!again.status.success());
    assert!(error.contains("exists already"), "{error}");

    folder.run(&["plugins", "eject", "--dir", "mine"]);
    let server = folder.serve("other", &["--plugins", "mine/plugins.toml"]);
    server.check_sample_page().await;
    assert_eq!(server.source().await, "file");
}

#[test]
fn a_manifest_that_is_not_there_is_named() {
    let folder = Folder::new();
    let output = folder
        .program()
        .args(["serve", "--listen", "127.0.0.1:0", "--plugins", "mine.toml"])
        .output()
        .unwrap();
    let error = String::from_utf8_lossy(&output.stderr);
    assert!(!output.status.success());
    assert!(error.contains("no plugin manifest `mine.toml`"), "{error}");
    assert!(error.contains("`trawl plugins eject`"), "{error}");
}
