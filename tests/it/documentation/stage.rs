//! What a reader of the guides has: a server after its first start, a shell in its folder, and the
//! files and sites that the examples name.

use std::fs;
use std::path::PathBuf;
use std::process::{Command, Stdio};
use std::time::{Duration, Instant};

use serde_json::{Value, json};
use trawl::config::Config;
use trawl_model::PluginKind;
use trawl_parameters::{self as parameters, Route};
use trawl_tests::vendors::GOOD_KEY;
use trawl_tests::{Answer, FakeSite, ServerProcess, VendorServer, WatchedBrowser, World, program};

use super::blocks::{self, Block};
use super::{outputs, rust};

/// Long enough for a slow machine.
const PATIENCE: Duration = Duration::from_secs(120);

/// Time between two pages of the crawl that is to be resumed: the server is killed in it, and at
/// the end it waits so long for the second page.
const DELAY_MS: u64 = 5_000;

/// Files in the folder of the reader.
const FILES: [(&str, &str); 3] = [
    ("page.html", KETTLE),
    ("map.json", "{\"title\": \"h1\", \"price\": \".price\"}"),
    (
        "page.http",
        "HTTP/1.1 200 OK\r\nContent-Type: text/html\r\nX-Target-Status: 200\r\nX-Credits: 1\r\n\r\n<h1>Kettle</h1>",
    ),
];
/// Pages of the sites that the examples name.
const KETTLE: &str = "<!DOCTYPE html><html><head><title>Kettle</title></head><body><main><h1>Kettle</h1>\
<p>It boils a litre of water in three minutes, which is enough for four cups of tea.</p>\
<p class=price>$25</p><img class=product src=kettle.png alt=kettle>\
<ul><li class=\"review\">Good</li><li class=\"review\">Better</li></ul></main></body></html>";
const LOGIN: &str = "<!DOCTYPE html><html><head><title>Log in</title></head><body><h1>Log in</h1>\
<label>User <input id=user></label> <button>Log in</button><script>\
document.querySelector('button').addEventListener('click', async () => {\
  const name = document.querySelector('#user').value;\
  await fetch('/welcome/' + name);\
  document.body.insertAdjacentHTML('beforeend', '<p class=welcome>Welcome, ' + name + '</p>');\
});</script></body></html>";

const ZIP: &[u8] = include_bytes!("../../../plugins/decoder-archive/cases/ships.zip");
const PDF: &[u8] = include_bytes!("../../../plugins/decoder-pdf/src/__fuzz__/pdf/corpus/tides.pdf");

/// Before each block: the programs of this build, and a curl that fails when a request does and
/// notes the headers of every response. What an earlier block defined is still there.
const BEFORE: &str = r#"set -eo pipefail
PATH="$PROGRAMS:$PATH"
[ ! -f "$STATE" ] || . "$STATE"
curl() { command curl --fail-with-body --noproxy '*' --dump-header "$(mktemp -p "$HEADERS")" "$@"; }
"#;
/// After each block.
const AFTER: &str = r#"{ declare -f; export -p | grep -vE ' (OLD)?PWD='; } > "$STATE""#;

/// The stage of one page.
pub(super) struct Stage {
    server: ServerProcess,
    site: FakeSite,
    admin_key: String,
    /// ID of a crawl that waits for its secrets; empty where no example needs one.
    crawl: String,
    /// The JSON in the output of the last commands.
    said: Vec<Value>,
    /// The crate that the page writes or made last.
    package: Option<PathBuf>,
    /// Parts of an adapter.
    parts: Vec<Block>,
    _vendors: VendorServer,
}

impl Stage {
    /// The stage of this page.
    pub(super) async fn start(page: &str) -> Self {
        let (site, vendors) = (FakeSite::start().await, VendorServer::start().await);
        for (path, html) in [
            ("/", KETTLE),
            ("/kettle", KETTLE),
            ("/login", LOGIN),
            ("/welcome/ada", "ok"),
            ("/hook", "ok"),
        ] {
            site.put(path, "text/html", html);
        }
        site.put("/tides.pdf", "application/pdf", PDF);
        site.put("/ships.zip", "application/zip", ZIP);
        let mut world = World::new();
        world.use_vendors(vendors.address, &[]);
        use_browser(&mut world);
        for (name, text) in FILES {
            fs::write(world.path(name), text).unwrap();
        }
        fs::create_dir(world.path("headers")).unwrap();
        // The guide of the SDK has it next to the new crate.
        std::os::unix::fs::symlink(blocks::root(), world.path("trawl")).unwrap();
        let mut server = ServerProcess::first_start(world);
        let mut words = server.greeting.split_whitespace();
        let admin_key = words.find(|word| word.starts_with("tra_"));
        let admin_key = admin_key.expect("the admin key").to_owned();
        let crawl = match page {
            "docs/crawling.md" => parked(&mut server, &site).await,
            _ => String::new(),
        };
        Self {
            server,
            site,
            admin_key,
            crawl,
            said: Vec::new(),
            package: None,
            parts: Vec::new(),
            _vendors: vendors,
        }
    }

    /// The one table of what examples have for what differs between readers, with what the test has
    /// there. Nothing else in an example is changed.
    fn stand_ins(&self) -> Vec<(&'static str, String)> {
        let site = self.site.url("");
        let listed =
            "$(admin $TRAWL/admin/accounts/alice/keys | grep -o 'tr_[0-9A-Za-z]*' | tail -1)";
        let text = |path: PathBuf| path.to_string_lossy().into_owned();
        let world = &self.server.world;
        vec![
            // The server, its keys and its folder.
            ("http://127.0.0.1:8700", self.server.base.clone()),
            ("tr_…", self.server.key.clone()),
            ("tra_…", self.admin_key.clone()),
            ("tr_9aK2bX7q", listed.to_owned()),
            ("/var/lib/trawl", text(world.data())),
            // It is started like this already; the options are checked all the same.
            (
                "--config trawl.toml",
                "--config trawl.toml --help".to_owned(),
            ),
            // Sites and receivers of the reader's own.
            ("https://shop.example", site.clone()),
            ("https://app.example", site.clone()),
            ("https://you.example", site),
            // Secrets of the reader's own.
            ("your key there", GOOD_KEY.to_owned()),
            ("session=…", "session=1".to_owned()),
            // The crate that the guide of the SDK begins with.
            ("/path/to/target", text(world.path("outline/target"))),
        ]
    }

    fn filled(&self, text: &str) -> String {
        let mut filled = text.to_owned();
        for (shown, own) in self.stand_ins() {
            filled = filled.replace(shown, &own);
        }
        filled
    }

    /// Runs or checks a block.
    ///
    /// # Panics
    /// When it does not work, or blocks of its language are not known.
    pub(super) async fn check(&mut self, block: Block) {
        let (place, text) = (&block.place, self.filled(&block.text));
        match block.language.as_str() {
            "sh" => self.run(place, &text),
            "json" => self.json(place, &text).await,
            "toml" => self.toml(place, &text).await,
            "rust" => self.rust(&block),
            "rust,ignore" => self.parts.push(block),
            other => panic!("{place}: `{other}` is neither run nor has a reason why not"),
        }
    }

    /// Ends the page. Returns the heads of the requests to the site.
    pub(super) async fn close(mut self) -> Vec<String> {
        if !self.parts.is_empty() {
            let source = self.server.world.path("acme/src/lib.rs");
            let skeleton = fs::read_to_string(&source).expect("the crate of the page");
            fs::write(&source, rust::adapter(&skeleton, &self.parts)).unwrap();
            self.run("the parts of the adapter", "trawl plugin test acme");
        }
        self.server.terminate();
        assert!(self.server.ended(PATIENCE).await);
        self.site.requests()
    }

    /// Runs commands as a reader does.
    fn run(&mut self, place: &str, commands: &str) {
        let world = &self.server.world;
        let root = blocks::root();
        let target = root.join("target");
        let programs = program();
        let output = Command::new("nice")
            .args(["-n", "10", "bash", "-c"])
            .arg(format!("{BEFORE}{commands}\n{AFTER}"))
            .current_dir(world.path(""))
            .env("PROGRAMS", programs.parent().expect("a folder"))
            .env("STATE", world.path("state.sh"))
            .env("HEADERS", world.path("headers"))
            .env("KEY", &self.server.key)
            .env("ID", &self.crawl)
            .env("TRAWL_CONFIG", world.path("trawl.toml"))
            .env("TRAWL_ALLOW_PRIVATE", "127.0.0.1")
            .env("TRAWL_CACHE_DIR", target.join("tmp/trawl"))
            .env("XDG_CACHE_HOME", target.join("tmp"))
            .env("XDG_STATE_HOME", world.path("state"))
            // Dependencies of plugins are compiled once.
            .env("CARGO_TARGET_DIR", &target)
            .env("TRAWL_PLUGIN_TARGET_DIR", &target)
            // The linter of this repository.
            .env_remove("RUSTC_WORKSPACE_WRAPPER")
            .env_remove("CLIPPY_ARGS")
            .stdin(Stdio::null())
            .output()
            .expect("a shell");
        let text = String::from_utf8_lossy(&output.stdout);
        let errors = String::from_utf8_lossy(&output.stderr);
        assert!(output.status.success(), "{place}: {errors}\n{text}");
        for file in fs::read_dir(world.path("headers")).unwrap() {
            let file = file.unwrap().path();
            let headers = fs::read_to_string(&file).unwrap().to_ascii_lowercase();
            assert!(
                !headers.contains("x-ignored-parameters"),
                "{place}: {headers}"
            );
            fs::remove_file(file).unwrap();
        }
        if let Some((_, made)) = commands.split_once("trawl plugin new ") {
            let name = made.split_whitespace().nth(1).expect("a kind and a name");
            self.package = Some(world.path(name));
        }
        self.said = outputs::values(&text);
        let n_entries = outputs::check_entries(place, &self.said);
        let fetches = ["/scrape -H", "/crawl -H", "/pipeline/"];
        let is_fetching = fetches.iter().any(|path| commands.contains(path));
        assert!(!is_fetching || n_entries > 0, "{place}: {text}");
    }

    /// Sends the JSON if it is a request; otherwise the last commands printed such JSON.
    async fn json(&self, place: &str, text: &str) {
        let Some(mut request) = request(text) else {
            let shown = outputs::pattern(place, text);
            let is_said = self
                .said
                .iter()
                .any(|value| outputs::is_like(&shown, value));
            assert!(is_said, "{place}: not like {:?}", self.said);
            return;
        };
        let is_of = |route: Route| {
            let mut names = request.as_object().into_iter().flatten();
            names.all(|(name, _)| parameters::find(name).is_some_and(|row| row.routes.has(route)))
        };
        let path = if is_of(Route::Scrape) {
            "/scrape"
        } else {
            "/crawl"
        };
        if request.get("url").is_none() {
            request["url"] = self.site.url("/login").into();
        }
        let answer = self.server.post(path, &[], &request).await;
        let body = String::from_utf8_lossy(&answer.body);
        assert_eq!(answer.status, 200, "{place}: {body}");
        assert_eq!(answer.header("x-ignored-parameters"), "", "{place}");
        let said = answer.json();
        assert!(
            outputs::check_entries(place, std::slice::from_ref(&said)) > 0
                || said["id"].is_string(),
            "{place}: {body}"
        );
    }

    /// Loads a manifest into the server, writes the manifest of a crate, or reads a configuration.
    async fn toml(&mut self, place: &str, text: &str) {
        let has = |line: &str| text.lines().any(|own| own.starts_with(line));
        let name = || {
            let mut lines = text.lines();
            let name = lines.find_map(|line| line.strip_prefix("name = \"")?.split('"').next());
            name.expect("a name").to_owned()
        };
        let world = &self.server.world;
        if has("[package]") {
            let package = world.path(&name());
            fs::create_dir_all(package.join("src")).unwrap();
            fs::write(package.join("Cargo.toml"), text).unwrap();
            self.package = Some(package);
        } else if PluginKind::ALL
            .iter()
            .any(|kind| has(&format!("[[{kind}]]")))
        {
            let manifest = fs::read_to_string(world.plugins()).unwrap();
            world.write("plugins.toml", format!("{manifest}\n{text}").as_bytes());
            self.loads(place, &name()).await;
        } else {
            let file = world.path("page.toml");
            for text in [text.to_owned(), with_comments(text)] {
                fs::write(&file, &text).unwrap();
                let read = Config::load(Some(&file));
                assert!(read.is_ok(), "{place}: {:?} in {text}", read.err());
            }
        }
    }

    /// Waits until the server has loaded a plugin.
    async fn loads(&self, place: &str, name: &str) {
        let deadline = Instant::now() + PATIENCE;
        loop {
            let status = self.server.get("/plugins").await.json();
            let mut plugins = status["plugins"].as_array().into_iter().flatten();
            if plugins.any(|plugin| plugin["name"] == name) {
                return;
            }
            let error = &status["last_error"];
            assert!(error.is_null(), "{place}: {error}");
            assert!(Instant::now() < deadline, "{place}: `{name}` is not loaded");
            tokio::time::sleep(Duration::from_millis(50)).await;
        }
    }

    /// Writes a file of the crate of the page. What the SDK's tests compile is run there.
    fn rust(&self, block: &Block) {
        rust::check_doctested(block);
        let first = block.text.lines().next().unwrap_or_default();
        if let Some(file) = first.strip_prefix("// src/") {
            let package = self.package.as_ref().expect("a manifest before it");
            fs::write(package.join("src").join(file), &block.text).unwrap();
        }
    }
}

/// The JSON, if it is an object of parameters.
fn request(text: &str) -> Option<Value> {
    let value: Value = serde_json::from_str(text).ok()?;
    let mut names = value.as_object()?.keys();
    let is_request = names.all(|name| parameters::find(name).is_some());
    is_request.then_some(value)
}

/// The configuration with the settings and sections that are in comments.
pub(super) fn with_comments(text: &str) -> String {
    let is_setting = |rest: &&str| {
        let name = rest.split(" = ").next().unwrap_or_default();
        let is_name = |name: &str| {
            name.bytes()
                .all(|byte| byte.is_ascii_lowercase() || byte == b'_')
        };
        rest.starts_with('[') || (rest.contains(" = ") && is_name(name))
    };
    let lines = text.lines().map(|line| {
        let setting = line.strip_prefix("# ").filter(is_setting);
        format!("{}\n", setting.unwrap_or(line))
    });
    lines.collect()
}

/// Configures the browser of this machine, or none.
fn use_browser(world: &mut World) {
    if cfg!(no_browser) {
        world.config = "[browser]\ntabs = 0\n".to_owned();
        return;
    }
    WatchedBrowser::put(world);
    let program = world.browser.program.as_ref().expect("a browser");
    let no_sandbox = world.browser.no_sandbox;
    world.config = format!("[browser]\nprogram = {program:?}\nno_sandbox = {no_sandbox}\n");
}

/// Starts a crawl with a cookie, kills the server and starts it again: the crawl waits for its
/// secrets. Returns its id.
async fn parked(server: &mut ServerProcess, site: &FakeSite) -> String {
    let seed = site.put("/root", "text/html", "<a href=\"/kettle\">kettle</a>");
    let body = json!({
        "url": seed, "request": "http", "run_in_background": true, "delay": DELAY_MS,
        "cookies": "session=1",
    });
    let queued: Answer = server.post("/crawl", &[], &body).await;
    let id = queued.json()["id"].as_str().expect("an id").to_owned();
    let deadline = Instant::now() + PATIENCE;
    while !site
        .requests()
        .iter()
        .any(|head| head.starts_with("GET /root "))
    {
        assert!(Instant::now() < deadline, "the crawl does not start");
        tokio::time::sleep(Duration::from_millis(20)).await;
    }
    server.kill();
    server.start_again();
    let state = server.get(&format!("/crawl/{id}")).await.json();
    assert_eq!(state["state"], "parked", "{state}");
    id
}
