//! An HTTP client of the API.

use std::net::SocketAddr;
use std::time::{Duration, Instant};

use http::{HeaderMap, HeaderName, HeaderValue};
use reqwest::{Client, Method, Response};
use serde_json::Value;

/// A client with an API key.
#[derive(Clone)]
pub struct Caller {
    /// Base URL of the server, without a trailing slash.
    pub base: String,
    /// The API key.
    pub key: String,
    http: Client,
}

/// A response that was received completely.
#[derive(Debug)]
pub struct Answer {
    /// The HTTP status.
    pub status: u16,
    /// The headers.
    pub headers: HeaderMap,
    /// The body.
    pub body: Vec<u8>,
}

impl Caller {
    /// A client of the server at `address`.
    #[expect(clippy::disallowed_methods, reason = "a caller is not the server")]
    pub fn new(address: SocketAddr, key: &str) -> Self {
        // This fails when a provider is installed already, which is just as good.
        let _installed = rustls::crypto::ring::default_provider().install_default();
        Self {
            base: format!("http://{address}"),
            key: key.to_owned(),
            http: Client::builder().no_proxy().build().expect("a client"),
        }
    }

    /// The same client with another key; with an empty one it sends none.
    pub fn with_key(&self, key: &str) -> Self {
        Self {
            key: key.to_owned(),
            ..self.clone()
        }
    }

    /// Sends a request; `None` when no complete response arrived.
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

    /// Sends a request and waits for the headers of the response; `None` when none arrived.
    /// Dropping the response closes the connection.
    pub async fn open(
        &self,
        method: Method,
        path: &str,
        headers: &[(&str, &str)],
        body: String,
    ) -> Option<Response> {
        let mut all = HeaderMap::new();
        // Without a key there is no `Authorization` header.
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

    /// Sends a GET request.
    pub async fn get(&self, path: &str) -> Answer {
        let sent = self.send(Method::GET, path, &[], String::new()).await;
        sent.expect("an answer")
    }

    /// Sends a POST request with a JSON body and these additional headers.
    pub async fn post(&self, path: &str, headers: &[(&str, &str)], body: &Value) -> Answer {
        let sent = self
            .send(Method::POST, path, headers, body.to_string())
            .await;
        sent.expect("an answer")
    }

    /// Sends a `/scrape` request for JSONL and passes on each entry as it arrives, until the
    /// response ends or the connection breaks.
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

    /// The entries of a `/scrape` response.
    pub async fn scrape(&self, body: Value) -> Vec<Value> {
        let answer = self.post("/scrape", &[], &body).await;
        let text = String::from_utf8_lossy(&answer.body);
        assert_eq!(answer.status, 200, "{text}");
        serde_json::from_str(&text).expect("an array")
    }

    /// The only entry of a `/scrape` response.
    pub async fn page(&self, body: Value) -> Value {
        let mut entries = self.scrape(body).await;
        assert_eq!(entries.len(), 1);
        entries.remove(0)
    }

    /// Status and message of the only entry of a `/scrape` response, which must be a failure and
    /// free.
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

    /// The only entry of a `/scrape` response, which must have succeeded.
    pub async fn fine(&self, body: Value) -> Value {
        let entry = self.page(body).await;
        assert!(entry["error"].is_null(), "{}", start(&entry));
        entry
    }

    /// Status and message of a `/scrape` request that must be refused.
    pub async fn refused(&self, body: &Value) -> (u16, String) {
        let answer = self.post("/scrape", &[], body).await;
        assert_ne!(answer.status, 200, "{body}");
        (answer.status, answer.error())
    }

    /// The status of a crawl, once it has ended.
    ///
    /// # Panics
    /// When it does not end within this time.
    pub async fn crawl_ended(&self, id: &str, time_max: Duration) -> Value {
        self.ended(&format!("/crawl/{id}"), time_max).await
    }

    /// The status of a batch, once it has ended.
    ///
    /// # Panics
    /// When it does not end within this time.
    pub async fn batch_ended(&self, id: &str, time_max: Duration) -> Value {
        self.ended(&format!("/batch/{id}"), time_max).await
    }

    async fn ended(&self, path: &str, time_max: Duration) -> Value {
        let until = Instant::now() + time_max;
        loop {
            let status = self.get(path).await.json();
            if status["state"] == "ended" {
                return status;
            }
            assert!(Instant::now() < until, "it does not end: {status}");
            tokio::time::sleep(Duration::from_millis(50)).await;
        }
    }

    /// Total cost of an entry in nanodollars.
    pub fn total(entry: &Value) -> i64 {
        nanodollars(&entry["costs"]["total_cost"])
    }
}

impl Answer {
    /// The body as JSON.
    pub fn json(&self) -> Value {
        serde_json::from_slice(&self.body).expect("JSON")
    }

    /// The objects of a JSONL body.
    pub fn lines(&self) -> Vec<Value> {
        assert!(self.body.ends_with(b"\n"), "the last line has its end");
        let text = std::str::from_utf8(&self.body).expect("UTF-8");
        let lines = text.lines().map(serde_json::from_str);
        lines
            .collect::<Result<_, _>>()
            .expect("a JSON object a line")
    }

    /// The value of a header, empty when it is absent.
    pub fn header(&self, name: &str) -> &str {
        let value = self.headers.get(name);
        value.map_or("", |value| value.to_str().expect("text"))
    }

    /// The message of an error response.
    pub fn error(&self) -> String {
        let json = self.json();
        json["error"].as_str().expect("an `error`").to_owned()
    }
}

/// An amount in dollars as nanodollars; it must be a whole number of them.
pub fn nanodollars(dollars: &Value) -> i64 {
    let dollars = dollars.as_f64().expect("a number");
    let amount = (dollars * 1e9).round();
    assert!((dollars * 1e9 - amount).abs() < 1e-3, "{dollars}");
    amount as i64
}

/// The six costs of an entry in nanodollars. The last is the total, which must be the sum of the
/// others.
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
