//! The whole interface, endpoint by endpoint, as its OpenAPI document describes it: what is documented works as documented, and
//! every wrong request is refused in one form.

mod documented;
mod refusals;

use reqwest::Method;
use serde_json::{Value, json};
use trawl::model::Nanodollars;
use trawl_tests::{Answer, Caller, TestApp, World};

/// A server with all plans, and what it says of itself.
struct Surface {
    app: TestApp,
    /// A caller with the operator's own key.
    operator: Caller,
    document: Value,
    /// A crawl of the account that has ended.
    crawl: String,
    /// First characters of a second key of the account.
    key: String,
}

/// An operation of the document.
struct Operation<'a> {
    method: Method,
    /// Path with its parameters filled in.
    path: String,
    described: &'a Value,
}

impl Surface {
    async fn start() -> Self {
        let _by_another_test = trawl::telemetry::start_metrics();
        let app = TestApp::of(World::new()).await;
        let billing = app.app.billing();
        let money = Nanodollars(1_000_000_000_000);
        let paid = billing.top_up(&app.account, money, None).await;
        paid.expect("paid in");
        let bought = billing.set_seats(&app.account, 64).await;
        bought.expect("bought");
        let key = app.app.new_admin_key().expect("a first start");
        let operator = Caller::new(app.address, key.expose());
        let keys = "/admin/accounts/caller/keys";
        let made = operator.post(keys, &[], &json!({"name": "spare"})).await;
        assert_eq!(made.status, 200);
        let keys = operator.get(keys).await.json();
        let mut listed = keys["data"].as_array().expect("keys").iter();
        let spare = listed.find(|key| key["name"] == "spare");
        let key = spare.and_then(|key| key["key"].as_str()).expect("a key");
        let document = app.get("/openapi.json").await.json();
        let seed =
            json!({"url": "http://sample.trawl.test/", "limit": 2, "run_in_background": true});
        let begun = app.post("/crawl", &[], &seed).await.json();
        let crawl = begun["id"].as_str().expect("an id").to_owned();
        let state = format!("/crawl/{crawl}");
        for _ in 0..200 {
            if app.get(&state).await.json()["state"] == "ended" {
                break;
            }
            tokio::time::sleep(std::time::Duration::from_millis(50)).await;
        }
        assert_eq!(app.get(&state).await.json()["state"], "ended");
        Self {
            app,
            operator,
            document,
            crawl,
            key: key.to_owned(),
        }
    }

    /// Every documented operation, in the document's order.
    fn operations(&self) -> Vec<Operation<'_>> {
        let paths = self.document["paths"].as_object().expect("paths");
        let mut operations = Vec::new();
        for (path, methods) in paths {
            for (method, described) in methods.as_object().expect("methods") {
                operations.push(Operation {
                    method: method.to_uppercase().parse().expect("a method"),
                    path: self.filled(path, described),
                    described,
                });
            }
        }
        assert!(operations.len() > 20, "the document is whole");
        operations
    }

    /// A path with the documented examples in the places of its parameters.
    fn filled(&self, path: &str, described: &Value) -> String {
        let mut filled = path.to_owned();
        let parameters = described["parameters"].as_array();
        for parameter in parameters.into_iter().flatten() {
            let name = parameter["name"].as_str().expect("a name");
            let value = match (path.starts_with("/crawl/"), name) {
                (true, "id") => self.crawl.as_str(),
                (_, "account") => "caller",
                (_, "prefix") => self.key.as_str(),
                _ => parameter["example"].as_str().unwrap_or_default(),
            };
            filled = filled.replace(&format!("{{{name}}}"), value);
        }
        assert!(
            !filled.contains('{'),
            "{path} has no example for a part of it"
        );
        filled
    }

    /// Who may call an operation.
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
    /// `key`, `admin`, or nothing where none is needed.
    fn key(&self) -> Option<&str> {
        let security = self.described["security"].as_array()?;
        let scheme = security.first()?.as_object()?;
        scheme.keys().next().map(String::as_str)
    }

    /// The example of the request's body: its own, or that of its schema.
    fn example<'d>(&'d self, document: &'d Value) -> Option<&'d Value> {
        let content = &self.described["requestBody"]["content"]["application/json"];
        let schema = content["schema"]["$ref"].as_str();
        let of_schema = || document.pointer(schema?.strip_prefix('#')?)?.get("example");
        content.get("example").or_else(of_schema)
    }

    fn has_body(&self) -> bool {
        self.described["requestBody"].is_object()
    }

    /// `POST /scrape`, for messages.
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
            described: self.described,
        }
    }
}
