//! The whole API as its OpenAPI document describes it: every operation works as documented, and
//! every invalid request gets the same form of error.

mod clients;
mod documented;
mod published;
mod refusals;
mod signatures;

use reqwest::Method;
use serde_json::{Value, json};
use trawl_model::Nanodollars;
use trawl_tests::{Answer, Caller, TestApp, World};

/// A server with all plans, and its OpenAPI document.
struct Api {
    app: TestApp,
    /// A client with the admin key.
    operator: Caller,
    document: Value,
    /// A finished crawl of the account.
    crawl: String,
    /// A finished batch of the account.
    batch: String,
    /// Prefixes of two more keys of the account: one for its owner and one for the operator to
    /// revoke.
    keys: [String; 2],
}

/// An operation of the document.
struct Operation<'a> {
    method: Method,
    /// Path with its parameters filled in.
    path: String,
    description: &'a Value,
}

impl Api {
    async fn start() -> Self {
        Self::start_in(World::new()).await
    }

    async fn start_in(world: World) -> Self {
        let _by_another_test = trawl_telemetry::start_metrics();
        let app = TestApp::of(world).await;
        let billing = app.app.billing();
        let money = Nanodollars(1_000_000_000_000);
        let paid = billing.top_up(&app.account, money, None).await;
        paid.expect("paid in");
        let bought = billing.set_seats(&app.account, 64).await;
        bought.expect("bought");
        let key = app.app.unused_admin_key().expect("a first start");
        let operator = Caller::new(app.address, key.expose());
        let keys = "/admin/accounts/caller/keys";
        for name in ["own", "spare"] {
            let made = operator.post(keys, &[], &json!({"name": name})).await;
            assert_eq!(made.status, 200);
        }
        let listed = operator.get(keys).await.json();
        let keys = ["own", "spare"].map(|name| {
            let mut listed = listed["data"].as_array().expect("keys").iter();
            let key = listed.find(|key| key["name"] == name);
            let key = key.and_then(|key| key["key"].as_str());
            key.expect("a key").to_owned()
        });
        let document = app.get("/openapi.json").await.json();
        let seed =
            json!({"url": "http://sample.trawl.test/", "limit": 2, "run_in_background": true});
        let started = app.post("/crawl", &[], &seed).await.json();
        let crawl = started["id"].as_str().expect("an id").to_owned();
        let time_max = std::time::Duration::from_secs(60);
        app.crawl_ended(&crawl, time_max).await;
        let pages = json!({"urls": ["http://sample.trawl.test/"], "run_in_background": true});
        let started = app.post("/batch", &[], &pages).await.json();
        let batch = started["id"].as_str().expect("an id").to_owned();
        app.batch_ended(&batch, time_max).await;
        Self {
            app,
            operator,
            document,
            crawl,
            batch,
            keys,
        }
    }

    /// All documented operations, in the order of the document.
    fn operations(&self) -> Vec<Operation<'_>> {
        let paths = self.document["paths"].as_object().expect("paths");
        let mut operations = Vec::new();
        for (path, methods) in paths {
            for (method, description) in methods.as_object().expect("methods") {
                operations.push(Operation {
                    method: method.to_uppercase().parse().expect("a method"),
                    path: self.filled(path, description),
                    description,
                });
            }
        }
        assert!(operations.len() > 20, "the document is complete");
        operations
    }

    /// A path whose parameters are replaced by their documented examples.
    fn filled(&self, path: &str, description: &Value) -> String {
        let mut filled = path.to_owned();
        let parameters = description["parameters"].as_array();
        for parameter in parameters.into_iter().flatten() {
            let parameter = self.resolved(parameter);
            let name = parameter["name"].as_str().expect("a name");
            let value = match name {
                "id" if path.starts_with("/crawl/") => self.crawl.as_str(),
                "id" if path.starts_with("/batch/") => self.batch.as_str(),
                "account" => "caller",
                "prefix" if path.starts_with("/account/") => self.keys[0].as_str(),
                "prefix" => self.keys[1].as_str(),
                _ => parameter["example"].as_str().unwrap_or_default(),
            };
            filled = filled.replace(&format!("{{{name}}}"), value);
        }
        assert!(
            !filled.contains('{'),
            "{path} has a parameter without an example"
        );
        filled
    }

    /// What a reference within the document points to; anything else is itself.
    fn resolved<'v>(&'v self, value: &'v Value) -> &'v Value {
        let pointer = value["$ref"].as_str().and_then(|to| to.strip_prefix('#'));
        match pointer {
            Some(pointer) => self.document.pointer(pointer).expect("what it refers to"),
            None => value,
        }
    }

    /// The client that may call an operation.
    fn caller(&self, operation: &Operation<'_>) -> &Caller {
        match operation.key() {
            Some("admin") => &self.operator,
            _ => &self.app,
        }
    }

    /// Sends a request to an operation.
    async fn send(
        &self,
        operation: &Operation<'_>,
        headers: &[(&str, &str)],
        body: String,
    ) -> Answer {
        let caller = self.caller(operation);
        let sent = caller.send(operation.method.clone(), &operation.path, headers, body);
        sent.await.expect("an answer")
    }
}

impl Operation<'_> {
    /// The security scheme, `key` or `admin`; none where no key is needed.
    fn key(&self) -> Option<&str> {
        let security = self.description["security"].as_array()?;
        let scheme = security.first()?.as_object()?;
        scheme.keys().next().map(String::as_str)
    }

    /// The example of the request body: its own, or its schema's.
    fn example<'d>(&'d self, document: &'d Value) -> Option<&'d Value> {
        let content = &self.description["requestBody"]["content"]["application/json"];
        let schema = content["schema"]["$ref"].as_str();
        let of_schema = || document.pointer(schema?.strip_prefix('#')?)?.get("example");
        content.get("example").or_else(of_schema)
    }

    fn has_body(&self) -> bool {
        self.description["requestBody"].is_object()
    }

    /// Whether its path names a crawl or a batch.
    fn names_run(&self) -> bool {
        self.path.contains("/crawl/") || self.path.contains("/batch/")
    }

    /// The name for messages, such as `POST /scrape`.
    fn name(&self) -> String {
        format!("{} {}", self.method, self.path)
    }

    /// The same operation at its path.
    fn plain(&self) -> Self {
        self.at(self.path.clone())
    }

    /// The same operation below `/v1`.
    fn versioned(&self) -> Self {
        self.at(format!("/v1{}", self.path))
    }

    fn at(&self, path: String) -> Self {
        Self {
            method: self.method.clone(),
            path,
            description: self.description,
        }
    }
}
