//! A client of the interface, as a caller writes one.

use std::net::SocketAddr;

use http::{HeaderMap, HeaderName, HeaderValue};
use reqwest::{Client, Method, Response};
use serde_json::Value;

/// Someone with a key.
#[derive(Clone)]
pub struct Caller {
    /// Address of the server, without a slash at the end.
    pub base: String,
    /// The key.
    pub key: String,
    http: Client,
}

/// A whole answer.
#[derive(Debug)]
pub struct Answer {
    /// HTTP status.
    pub status: u16,
    /// Headers.
    pub headers: HeaderMap,
    /// Body.
    pub body: Vec<u8>,
}

impl Caller {
    /// A caller of the server at `address`.
    #[expect(
        clippy::disallowed_methods,
        reason = "a caller stands outside the server"
    )]
    pub fn new(address: SocketAddr, key: &str) -> Self {
        // Fails when it is installed already, which is as good.
        let _installed = rustls::crypto::ring::default_provider().install_default();
        Self {
            base: format!("http://{address}"),
            key: key.to_owned(),
            http: Client::builder().no_proxy().build().expect("a client"),
        }
    }

    /// The same caller with another key; none when it is empty.
    pub fn with_key(&self, key: &str) -> Self {
        Self {
            key: key.to_owned(),
            ..self.clone()
        }
    }

    /// One request; `None` when no whole answer came.
    pub async fn send(
        &self,
        method: Method,
        path: &str,
        headers: &[(&str, &str)],
        body: String,
    ) -> Option<Answer> {
        let response = self.open(method, path, headers, body).await?;
        let (status, headers) = (response.status().as_u16(), response.headers().clone());
        let body = response.bytes().await.ok()?.to_vec();
        Some(Answer {
            status,
            headers,
            body,
        })
    }

    /// One request, its answer as far as its headers; `None` when there was none. Dropping the answer hangs up.
    pub async fn open(
        &self,
        method: Method,
        path: &str,
        headers: &[(&str, &str)],
        body: String,
    ) -> Option<Response> {
        let mut all = HeaderMap::new();
        // Without a key the header is left out.
        let authorization = (!self.key.is_empty()).then(|| format!("Bearer {}", self.key));
        let fixed = [
            ("authorization", authorization),
            ("content-type", Some("application/json".to_owned())),
        ];
        let fixed = fixed
            .into_iter()
            .filter_map(|(name, value)| Some((name, value?)));
        let given = headers
            .iter()
            .map(|(name, value)| (*name, (*value).to_owned()));
        for (name, value) in fixed.chain(given) {
            let name: HeaderName = name.parse().expect("a header name");
            all.insert(name, HeaderValue::try_from(value).expect("a header value"));
        }
        let request = self.http.request(method, format!("{}{path}", self.base));
        request.headers(all).body(body).send().await.ok()
    }

    /// A GET.
    pub async fn get(&self, path: &str) -> Answer {
        let sent = self.send(Method::GET, path, &[], String::new()).await;
        sent.expect("an answer")
    }

    /// A POST of JSON with these headers besides.
    pub async fn post(&self, path: &str, headers: &[(&str, &str)], body: &Value) -> Answer {
        let sent = self
            .send(Method::POST, path, headers, body.to_string())
            .await;
        sent.expect("an answer")
    }

    /// A `/scrape` as lines; each entry is handed on as soon as it is there. Ends with the answer, or where it breaks off.
    pub async fn stream(&self, body: &Value, mut on_entry: impl FnMut(Value)) {
        let request = self.http.post(format!("{}/scrape", self.base));
        let request = request
            .header("authorization", &self.key)
            .header("content-type", "application/jsonl")
            .body(body.to_string());
        let Ok(mut response) = request.send().await else {
            return;
        };
        assert_eq!(response.status(), 200);
        let mut rest = Vec::new();
        while let Ok(Some(piece)) = response.chunk().await {
            rest.extend_from_slice(&piece);
            while let Some(end) = rest.iter().position(|&byte| byte == b'\n') {
                let line: Vec<u8> = rest.drain(..=end).collect();
                on_entry(serde_json::from_slice(&line).expect("a whole entry a line"));
            }
        }
    }

    /// The entries of a `/scrape` in a JSON array.
    pub async fn scrape(&self, body: Value) -> Vec<Value> {
        let answer = self.post("/scrape", &[], &body).await;
        let text = String::from_utf8_lossy(&answer.body);
        assert_eq!(answer.status, 200, "{text}");
        serde_json::from_str(&text).expect("an array")
    }

    /// The one entry of a `/scrape`.
    pub async fn page(&self, body: Value) -> Value {
        let mut entries = self.scrape(body).await;
        assert_eq!(entries.len(), 1);
        entries.remove(0)
    }

    /// The one entry of a `/scrape` that must be a failure at no charge: status and reason.
    pub async fn failure(&self, body: Value) -> (u64, String) {
        let entry = self.page(body).await;
        assert_free(&entry);
        let reason = entry["error"].as_str();
        let reason = reason.unwrap_or_else(|| panic!("not a failure: {}", start(&entry)));
        (
            entry["status"].as_u64().expect("a status"),
            reason.to_owned(),
        )
    }

    /// The one entry of a `/scrape` that must have worked.
    pub async fn fine(&self, body: Value) -> Value {
        let entry = self.page(body).await;
        assert!(entry["error"].is_null(), "{}", start(&entry));
        entry
    }

    /// Status and text of a request that must be refused.
    pub async fn refused(&self, body: &Value) -> (u16, String) {
        let answer = self.post("/scrape", &[], body).await;
        assert_ne!(answer.status, 200, "{body}");
        (answer.status, answer.error())
    }

    /// Whole charge of an entry in nanodollars.
    pub fn total(entry: &Value) -> i64 {
        nanodollars(&entry["costs"]["total_cost"])
    }
}

impl Answer {
    /// The body as JSON.
    pub fn json(&self) -> Value {
        serde_json::from_slice(&self.body).expect("JSON")
    }

    /// The lines of a JSONL body, each a JSON object.
    pub fn lines(&self) -> Vec<Value> {
        assert!(self.body.ends_with(b"\n"), "the last line has its end");
        let text = std::str::from_utf8(&self.body).expect("UTF-8");
        let lines = text.lines().map(serde_json::from_str);
        lines
            .collect::<Result<_, _>>()
            .expect("a JSON object a line")
    }

    /// A header's text, empty when it is not there.
    pub fn header(&self, name: &str) -> &str {
        let value = self.headers.get(name);
        value.map_or("", |value| value.to_str().expect("text"))
    }

    /// The text of an error answer.
    pub fn error(&self) -> String {
        let json = self.json();
        json["error"].as_str().expect("an `error`").to_owned()
    }
}

/// An amount of `costs` in nanodollars; it must be a whole number of them.
pub fn nanodollars(dollars: &Value) -> i64 {
    let dollars = dollars.as_f64().expect("a number");
    let amount = (dollars * 1e9).round();
    assert!((dollars * 1e9 - amount).abs() < 1e-3, "{dollars}");
    amount as i64
}

/// The six costs of an entry in nanodollars, the total last, which must be the sum of the others.
pub fn costs(entry: &Value) -> [i64; 6] {
    let names = [
        "ai_cost",
        "compute_cost",
        "file_cost",
        "bytes_transferred_cost",
        "transform_cost",
        "total_cost",
    ];
    let costs = entry["costs"].as_object().expect("costs");
    assert_eq!(costs.len(), names.len(), "{costs:?}");
    let amounts = names.map(|name| nanodollars(&costs[name]));
    assert_eq!(amounts[..5].iter().sum::<i64>(), amounts[5], "{costs:?}");
    amounts
}

/// Checks that an entry costs nothing.
pub fn assert_free(entry: &Value) {
    assert_eq!(costs(entry), [0; 6], "{}", start(entry));
}

fn start(entry: &Value) -> String {
    entry.to_string().chars().take(2_000).collect()
}
