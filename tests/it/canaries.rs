//! Canaries in every place where a secret can be, in requests of every kind; then everything
//! that the server wrote is searched for them. Provider keys have a suite of their own:
//! `providers/secrets.rs`.

use std::os::unix::fs::PermissionsExt;
use std::path::Path;
use std::time::{Duration, Instant};

use reqwest::Method;
use serde_json::{Value, json};
use trawl_tests::canary::{assert_clean, assert_folder_clean, percent_encoded};
use trawl_tests::{FakeSite, ServerProcess, World};

use crate::crawl_kill::state;

/// A port on which nothing listens.
const CLOSED: &str = "127.0.0.1:1";
/// How long a crawl may take to reach a state.
const PATIENCE: Duration = Duration::from_secs(60);

/// A canary for a place. Its characters change in most encodings.
fn canary(place: &str) -> String {
    format!("cn.{place}/7f3a+{place}=9c2e")
}

/// What every page and crawl of the suite sends.
struct Canaries {
    header: String,
    custom: String,
    cookie: String,
    password: String,
    before_load: String,
    evaluate: String,
    fill: String,
    typed: String,
    token: String,
    hook: String,
    /// Is in a query, which is part of a page's URL: only logs and metrics leave it out.
    query: String,
    proxy: String,
    model: String,
    credential: String,
}

impl Canaries {
    fn new() -> Self {
        Self {
            header: canary("header"),
            custom: canary("custom"),
            cookie: canary("cookie"),
            password: canary("password"),
            before_load: canary("before"),
            evaluate: canary("evaluate"),
            fill: canary("fill"),
            typed: canary("typed"),
            token: canary("token"),
            hook: canary("hook"),
            query: canary("query"),
            proxy: canary("proxy"),
            model: canary("model"),
            credential: canary("credential"),
        }
    }

    /// Those that must be nowhere, with the pair that HTTP makes of user name and password.
    fn all(&self) -> Vec<String> {
        let pair = format!("ada:{}", self.password);
        let all = [
            &self.header,
            &self.custom,
            &self.cookie,
            &self.password,
            &pair,
            &self.before_load,
            &self.evaluate,
            &self.fill,
            &self.typed,
            &self.token,
            &self.proxy,
            &self.model,
            &self.credential,
        ];
        all.map(String::clone).to_vec()
    }

    /// `http://user:password@host/path?access_token=…`
    fn url(&self, host: &str, path: &str) -> String {
        let (password, query) = (
            percent_encoded(&self.password),
            percent_encoded(&self.query),
        );
        format!("http://ada:{password}@{host}{path}?access_token={query}")
    }

    /// A request object with all of them.
    fn request(&self, url: &str, more: Value) -> Value {
        let mut request = json!({
            "url": url, "return_format": "raw", "metadata": true, "return_headers": true,
            "return_page_links": true, "request_timeout": 10,
            "headers": {"Authorization": format!("Bearer {}", self.header), "X-Custom": self.custom},
            "cookies": format!("sid={}", self.cookie),
            "router": {"mode": "fallback", "provider": "provider_2", "token": self.token,
                "credentials": {"PROVIDER3_API_KEY": self.token}},
        });
        let fields = request.as_object_mut().expect("an object");
        fields.extend(more.as_object().expect("an object").clone());
        request
    }

    /// Parameters for a browser.
    fn scripts(&self) -> Value {
        json!({
            "request": "browser",
            "evaluate_on_new_document": format!("globalThis.a = '{}'", self.before_load),
            "execution_scripts": {"*": format!("globalThis.b = '{}'", self.evaluate)},
            "automation_scripts": {"*": [{"Evaluate": format!("void '{}'", self.evaluate)},
                {"Fill": {"selector": "#none", "value": self.fill}}, {"Type": self.typed}]},
        })
    }

    fn webhooks(&self) -> Value {
        let hook = percent_encoded(&self.hook);
        json!({"destination": format!("http://ada:{hook}@{CLOSED}/hook?token={hook}"), "on_find": true,
            "on_find_metadata": true, "on_website_status": true})
    }
}

/// A configured server at the lowest log level, and everything it has answered.
struct Stage {
    server: ServerProcess,
    answers: Vec<u8>,
}

impl Stage {
    fn start(canaries: &Canaries) -> Self {
        let mut world = World::new();
        world.use_vendors(
            CLOSED.parse().expect("an address"),
            &[
                ("PROVIDER2_API_KEY", &canaries.credential),
                ("AI_KEY", &canaries.model),
            ],
        );
        world.log = "trace";
        world.config = format!(
            "[[egress.proxy]]\npool = \"isp\"\nurl = \"http://ada:{}@{CLOSED}\"\n\
             [ai]\nbase = \"http://{CLOSED}/v1\"\nmodel = \"m\"\nkey_env = \"AI_KEY\"\n[http]\nmetrics_without_key = true\n[browser]\ntabs = 1\n",
            percent_encoded(&canaries.proxy)
        );
        Self {
            server: ServerProcess::start(world),
            answers: Vec::new(),
        }
    }

    fn note(&mut self, answer: &trawl_tests::Answer) {
        self.answers.extend_from_slice(&answer.body);
        for (name, value) in &answer.headers {
            self.answers.extend_from_slice(name.as_str().as_bytes());
            self.answers.extend_from_slice(value.as_bytes());
        }
    }

    async fn post(&mut self, path: &str, body: &Value) -> Value {
        let answer = self.server.post(path, &[], body).await;
        self.note(&answer);
        serde_json::from_slice(&answer.body).unwrap_or_default()
    }

    async fn get(&mut self, path: &str) {
        let answer = self.server.get(path).await;
        assert_eq!(answer.status, 200, "{path}");
        self.note(&answer);
    }

    /// Waits until a crawl has ended.
    async fn end_of(&self, id: &str) {
        self.server.crawl_ended(id, PATIENCE).await;
    }

    fn log(&self) -> Vec<u8> {
        std::fs::read(self.server.world.path("log")).expect("a log")
    }
}

/// Requests that fail in every way that shows a URL or a value.
fn failures(canaries: &Canaries, site: &FakeSite) -> Vec<Value> {
    let host = site.address.to_string();
    let password = percent_encoded(&canaries.password);
    let urls = [
        canaries.url(CLOSED, "/"),
        canaries.url("169.254.169.254", "/"),
        canaries.url("none.invalid", "/"),
        canaries.url(&host, "/status/403 Forbidden"),
        canaries.url(&host, "/reset"),
        canaries.url(&host, "/loop"),
        format!("ftp://ada:{password}@{host}/"),
        format!("https://ada:{password}@a b/"),
        format!("ada:{password}@{CLOSED}/"),
    ];
    let mut requests: Vec<Value> = urls
        .iter()
        .map(|url| canaries.request(url, json!({"request": "http"})))
        .collect();
    let page = canaries.url(&host, "/page");
    requests.extend([
        canaries.request(&page, json!({"proxy": "isp", "request": "http"})),
        canaries.request(&page, json!({"url": 3})),
        canaries.request(&page, json!({"headers": canaries.header})),
        canaries.request(&page, json!({"headers": {"Host": canaries.header}})),
        canaries.request(&page, json!({"cookies": [canaries.cookie]})),
        canaries.request(&page, json!({"automation_scripts": canaries.fill})),
        canaries.request(
            &page,
            json!({"router": {"mode": "first", "token": canaries.token}}),
        ),
    ]);
    requests
}

#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn no_secret_is_in_answers_logs_metrics_or_files() {
    let (canaries, site) = (Canaries::new(), FakeSite::start().await);
    // Links and redirects of a site have passwords, too.
    let link = format!(
        "<a href=\"{}\">x</a><title>y</title>",
        canaries.url(&site.address.to_string(), "/page")
    );
    site.put("/links", "text/html", link);
    let host = site.address.to_string();
    let mut stage = Stage::start(&canaries);
    let hidden = json!({"return_format": "empty", "request": "http"});

    let good = canaries.request(&canaries.url(&host, "/page"), json!({"request": "http"}));
    let page = stage.post("/scrape", &good).await;
    assert_eq!(page[0]["error"], Value::Null, "{page}");
    let sent = site.requests().pop().expect("a request");
    assert!(
        sent.contains(&canaries.header) && sent.contains(&canaries.cookie),
        "{sent}"
    );
    let mut by_password = good.clone();
    by_password["headers"] = Value::Null;
    stage.post("/scrape", &by_password).await;
    let sent = site.requests().pop().expect("a request");
    assert!(
        sent.contains("authorization: Basic "),
        "the password is sent: {sent}"
    );
    for request in failures(&canaries, &site) {
        for path in ["/scrape", "/crawl"] {
            stage.post(path, &request).await;
        }
    }
    stage
        .post(
            "/scrape",
            &canaries.request(&canaries.url(&host, "/page"), canaries.scripts()),
        )
        .await;
    let encoded = percent_encoded(&canaries.password);
    for scheme in ["http://", ""] {
        let path = format!("/fetch/{scheme}ada:{encoded}@{host}/page");
        let answer = stage.server.post(&path, &[], &json!({})).await;
        stage.note(&answer);
    }
    stage
        .post(
            "/transform",
            &json!({"data": [{"html": "<p>x", "url": canaries.url(&host, "/")}]}),
        )
        .await;
    stage
        .post(
            "/pipeline/label",
            &canaries.request(
                &canaries.url(&host, "/page"),
                json!({"request": "http", "labels": ["a"]}),
            ),
        )
        .await;

    let mut crawl = canaries.request(&canaries.url(&host, "/links"), hidden);
    crawl["webhooks"] = canaries.webhooks();
    crawl["limit"] = 3.into();
    crawl["respect_robots"] = false.into();
    crawl["sitemaps"] = json!([canaries.url(&host, "/sitemap.xml")]);
    stage.post("/crawl", &crawl).await;
    crawl["run_in_background"] = true.into();
    let mut ids = Vec::new();
    for more in [json!({}), canaries.scripts()] {
        let mut crawl = crawl.clone();
        let fields = crawl.as_object_mut().expect("an object");
        fields.extend(more.as_object().expect("an object").clone());
        let queued = stage.post("/crawl", &crawl).await;
        ids.push(queued["id"].as_str().expect("an id").to_owned());
    }
    for id in &ids {
        stage.end_of(id).await;
        for path in ["", "/pages", "/log", "/skipped"] {
            stage.get(&format!("/crawl/{id}{path}")).await;
        }
    }
    let notices =
        json!({"destination": canaries.webhooks()["destination"], "low_balance_dollars": "1"});
    let set = stage
        .server
        .send(Method::PUT, "/account/notices", &[], notices.to_string())
        .await;
    let set = set.expect("an answer");
    assert_eq!(set.status, 200, "{}", String::from_utf8_lossy(&set.body));
    stage.note(&set);

    let tables = [
        "crawl_logs",
        "crawl_state",
        "pages",
        "webhooks",
        "api_keys",
        "credits",
    ];
    let tables = tables.map(|table| format!("/data/{table}"));
    let others = [
        "/metrics",
        "/account",
        "/account/statement",
        "/account/statement?format=csv",
        "/account/keys",
        "/account/usage?by=key",
        "/account/hosts",
        "/account/deliveries",
        "/crawl",
        "/plugins",
        "/health",
    ];
    for path in tables.iter().map(String::as_str).chain(others) {
        stage.get(path).await;
    }
    let greeting = stage.server.greeting.clone();
    let admin = greeting
        .split_whitespace()
        .find(|word| word.starts_with("tra_"));
    let admin = admin.expect("the admin key").to_owned();
    let operator = stage.server.with_key(&admin);
    for path in [
        "/admin/accounts",
        "/admin/accounts/caller",
        "/admin/usage?by=key",
        "/providers",
        "/admin/accounts/caller/statement",
        "/admin/accounts/caller/hosts",
        "/admin/history",
        "/admin/plugins",
        "/admin/logs?text=request_id&limit=10000",
    ] {
        let answer = operator.get(path).await;
        assert_eq!(answer.status, 200, "{path}");
        stage.note(&answer);
    }
    let printed = stage.server.account(&["show", "caller"]).to_string();
    stage.answers.extend_from_slice(printed.as_bytes());

    let mut secrets = canaries.all();
    secrets.extend([stage.server.key.clone(), admin]);
    // The database keeps the URLs of receivers as long as events wait for them.
    assert_folder_clean(&stage.server.world.data(), &secrets);
    secrets.push(canaries.hook.clone());
    assert_clean("an answer", &stage.answers, &secrets);
    secrets.push(canaries.query.clone());
    let log = stage.log();
    assert!(
        log.len() > 100_000,
        "a log at the lowest level, not {} bytes",
        log.len()
    );
    assert_clean("the log", &log, &secrets);
    let metrics = stage.server.get("/metrics").await;
    assert_clean("the metrics", &metrics.body, &secrets);
}

#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn a_crawl_goes_on_only_with_all_of_its_secrets() {
    let (canaries, site) = (Canaries::new(), FakeSite::start().await);
    for n in 0..200 {
        let next = format!("<a href=\"/chain/{}\">next</a>", n + 1);
        site.put(&format!("/chain/{n}"), "text/html", next);
    }
    let host = site.address.to_string();
    let mut stage = Stage::start(&canaries);
    let url = format!(
        "http://ada:{}@{host}/chain/0",
        percent_encoded(&canaries.password)
    );
    let request = json!({
        "url": url, "return_format": "empty", "request": "http", "run_in_background": true, "delay": 50,
        "cookies": format!("sid={}", canaries.cookie), "headers": {"X-Custom": canaries.custom, "Accept": "text/html"},
    });
    let queued = stage.post("/crawl", &request).await;
    let id = queued["id"].as_str().expect("an id").to_owned();
    let until = Instant::now() + PATIENCE;
    while site.requests().is_empty() {
        assert!(Instant::now() < until, "the crawl does not start");
        tokio::time::sleep(Duration::from_millis(50)).await;
    }
    stage.server.kill();
    assert_folder_clean(&stage.server.world.data(), &canaries.all());
    stage.server.start_again();
    let parked = state(&stage.server, &id).await;
    assert_eq!(parked["state"], "parked", "{parked}");
    assert_eq!(
        parked["missing_secrets"],
        json!(["headers.X-Custom", "headers.authorization", "cookies"])
    );
    let n_requests = site.requests().len();

    let resume = format!("/crawl/{id}/resume");
    let cookie = json!({"cookies": format!("sid={}", canaries.cookie)});
    for (sent, missing) in [
        (json!({}), "`cookies`"),
        (cookie.clone(), "`headers.authorization`"),
    ] {
        let answer = stage.server.post(&resume, &[], &sent).await;
        let text = String::from_utf8_lossy(&answer.body).into_owned();
        assert_eq!(answer.status, 400, "{text}");
        assert!(text.contains(missing), "{text}");
    }
    assert_eq!(state(&stage.server, &id).await["state"], "parked");
    assert_eq!(
        site.requests().len(),
        n_requests,
        "nothing was fetched without the secrets"
    );

    let mut all = cookie;
    all["headers"] = json!({"X-Custom": canaries.custom, "Authorization": "Basic YWRhOnh5eg=="});
    let resumed = stage.server.post(&resume, &[], &all).await;
    assert_eq!(resumed.status, 200, "{}", resumed.json());
    let until = Instant::now() + PATIENCE;
    while site.requests().len() <= n_requests {
        assert!(Instant::now() < until, "the crawl does not continue");
        tokio::time::sleep(Duration::from_millis(50)).await;
    }
    let later = site.requests().split_off(n_requests);
    for head in later.iter().filter(|head| head.contains("/chain/")) {
        assert!(
            head.contains(&canaries.cookie) && head.contains("YWRhOnh5eg=="),
            "{head}"
        );
    }
    let stopped = stage
        .server
        .send(Method::DELETE, &format!("/crawl/{id}"), &[], String::new())
        .await;
    assert_eq!(stopped.expect("an answer").status, 200);
}

#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn others_can_read_nothing_in_the_data_directory() {
    let site = FakeSite::start().await;
    let world = World::new();
    // The other tests share one cache of compiled plugins through this link.
    std::fs::remove_file(world.data().join("compiled")).expect("the link");
    let manifest = std::fs::read_to_string(world.plugins()).expect("a manifest");
    let one = manifest
        .split("\n\n")
        .find(|entry| entry.contains("name = \"text\""));
    world.write("plugins.toml", one.expect("a format").as_bytes());
    std::fs::set_permissions(world.data(), PermissionsExt::from_mode(0o755)).expect("its mode");
    let server = ServerProcess::start(world);
    let request =
        json!({"url": site.url("/page"), "return_format": "text", "request": "http", "limit": 1});
    let answer = server.post("/crawl", &[], &request).await;
    assert_eq!(
        answer.status,
        200,
        "{}",
        String::from_utf8_lossy(&answer.body)
    );
    let mut names = Vec::new();
    check_private(&server.world.data(), &mut names);
    // A limit of one byte stops core dumps through pipes, too.
    let (soft, hard) = server.limits("Max core file size");
    assert_eq!(soft, if hard == "0" { "0" } else { "1" });
    for name in [
        "trawl.db",
        "trawl.lock",
        "control.sock",
        "admin.key",
        "compiled",
        "crawls",
    ] {
        assert!(
            names.iter().any(|found| found == name),
            "{name} is not among {names:?}"
        );
    }
}

/// Checks the mode of a path and of all that is below it, and collects the names.
fn check_private(path: &Path, names: &mut Vec<String>) {
    let metadata = std::fs::symlink_metadata(path).expect("a file");
    let mode = metadata.permissions().mode() & 0o777;
    assert_eq!(mode & 0o077, 0, "{} has the mode {mode:o}", path.display());
    names.extend(
        path.file_name()
            .map(|name| name.to_string_lossy().into_owned()),
    );
    if metadata.is_dir() {
        for entry in std::fs::read_dir(path).expect("a folder") {
            check_private(&entry.expect("an entry").path(), names);
        }
    }
}
