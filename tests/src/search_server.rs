//! Fake web search services behind one port on loopback: the base URL of each is
//! `http://host:port/NAME`, for `searxng`, `brave`, and those that search Google (`search_google`).
//! Each refuses what its documentation does not have.

use std::net::SocketAddr;
use std::sync::{Arc, Mutex, MutexGuard, PoisonError};

use serde_json::{Value, json};
use tokio::net::TcpStream;
use tokio::sync::watch;

use crate::http_server::{self, Listening};
use crate::search_google;
use crate::vendors::{Answered, Asked, GOOD_KEY};

/// Parameters of SearXNG's search API that the adapter may send.
const SEARXNG: [&str; 8] = [
    "q",
    "format",
    "pageno",
    "language",
    "time_range",
    "engines",
    "categories",
    "safesearch",
];
/// The same for Brave's.
const BRAVE: [&str; 8] = [
    "q",
    "count",
    "offset",
    "country",
    "search_lang",
    "freshness",
    "result_filter",
    "text_decorations",
];

/// The services.
pub struct SearchServer {
    /// The address they listen on.
    pub address: SocketAddr,
    state: Arc<State>,
    _listening: Listening,
}

#[derive(Default)]
struct State {
    /// URL and title of each result.
    results: Mutex<Vec<(String, String)>>,
    /// All requests, with the service's name.
    asked: Mutex<Vec<(String, Asked)>>,
    /// A service that fails with this status.
    failing: Mutex<Option<(String, u16)>>,
    /// Whether answers are held back.
    is_held: watch::Sender<bool>,
}

fn lock<T>(of: &Mutex<T>) -> MutexGuard<'_, T> {
    of.lock().unwrap_or_else(PoisonError::into_inner)
}

impl SearchServer {
    /// Starts them on a free port of 127.0.0.1.
    ///
    /// # Panics
    /// When no port is free.
    pub async fn start() -> Self {
        let state = Arc::<State>::default();
        let listening = Listening::sharing(&state, serve).await;
        Self {
            address: listening.address,
            state,
            _listening: listening,
        }
    }

    /// Sets what they find: URL and title of each result.
    pub fn find(&self, results: &[(&str, &str)]) {
        let results = results.iter();
        *lock(&self.state.results) = results
            .map(|(url, title)| ((*url).to_owned(), (*title).to_owned()))
            .collect();
    }

    /// Makes a service answer with this status only.
    pub fn fail(&self, name: &str, status: u16) {
        *lock(&self.state.failing) = Some((name.to_owned(), status));
    }

    /// Holds answers back until this is called with `false`.
    pub fn hold(&self, is_held: bool) {
        self.state.is_held.send_replace(is_held);
    }

    /// The requests in order, with the service's name.
    pub fn asked(&self) -> Vec<(String, Asked)> {
        lock(&self.state.asked).clone()
    }
}

async fn serve(mut stream: TcpStream, state: Arc<State>) -> Option<()> {
    let address = stream.local_addr().ok()?;
    loop {
        let received = http_server::read(&mut stream).await?;
        let (name, asked) = Asked::of(received, address)?;
        let answer = state.answer(&name, asked);
        let mut is_held = state.is_held.subscribe();
        is_held.wait_for(|is_held| !is_held).await.ok()?;
        http_server::write(&mut stream, answer.status, &answer.headers, &answer.body).await?;
    }
}

impl State {
    fn answer(&self, name: &str, asked: Asked) -> Answered {
        lock(&self.asked).push((name.to_owned(), asked.clone()));
        if let Some((_, status)) = lock(&self.failing).as_ref().filter(|(of, _)| of == name) {
            return Answered::new(*status, "text/plain", "it fails");
        }
        let results = lock(&self.results).clone();
        match (name, asked.path.as_str()) {
            ("searxng", "/search") => searxng(&asked, &results),
            ("brave", "/res/v1/web/search") => brave(&asked, &results),
            _ => search_google::answer(name, &asked, &results)
                .unwrap_or_else(|| Answered::new(404, "text/plain", "no such service")),
        }
    }
}

/// Why a request is not one of the documentation.
fn fault(asked: &Asked, known: &[&str]) -> Option<String> {
    if asked.method != "GET" || !asked.body.is_empty() {
        return Some("not a GET request without a body".to_owned());
    }
    let mut names: Vec<&str> = asked.query.iter().map(|(name, _)| name.as_str()).collect();
    let unknown = names.iter().find(|name| !known.contains(*name)).copied();
    names.sort_unstable();
    let is_double = names.windows(2).any(|pair| pair[0] == pair[1]);
    let is_empty = asked.param("q").is_none_or(str::is_empty);
    match unknown {
        Some(name) => Some(format!("unknown parameter {name}")),
        None if is_double => Some("a parameter is sent twice".to_owned()),
        None if is_empty => Some("q is missing".to_owned()),
        None => None,
    }
}

/// Whether the parameter is not sent, or a number of this range.
fn is_within(asked: &Asked, name: &str, least: u32, most: u32) -> bool {
    let value = asked.param(name).map(str::parse::<u32>);
    value.is_none_or(|value| value.is_ok_and(|value| (least..=most).contains(&value)))
}

/// Whether the parameter is not sent, or one of these values.
fn is_among(asked: &Asked, name: &str, values: &[&str]) -> bool {
    let value = asked.param(name);
    value.is_none_or(|value| values.contains(&value))
}

fn searxng(asked: &Asked, results: &[(String, String)]) -> Answered {
    if asked.param("format") != Some("json") {
        return Answered::new(403, "text/html", "<title>403 Forbidden</title>");
    }
    let is_good = is_within(asked, "pageno", 1, u32::MAX)
        && is_within(asked, "safesearch", 0, 2)
        && is_among(asked, "time_range", &["day", "week", "month", "year"]);
    if let Some(reason) = fault(asked, &SEARXNG) {
        return Answered::json(400, &json!({"error": reason}));
    }
    if !is_good {
        return Answered::json(400, &json!({"error": "a parameter is out of range"}));
    }
    let result = |(url, title): &(String, String)| {
        json!({
            "url": url, "title": title, "content": "High &amp; low water.", "engine": "fake",
            "engines": ["fake"], "score": 1.0, "category": "general", "publishedDate": null,
        })
    };
    Answered::json(
        200,
        &json!({
            "query": asked.param("q"),
            "number_of_results": 0,
            "results": results.iter().map(result).collect::<Value>(),
            "answers": [], "corrections": [], "infoboxes": [], "suggestions": [],
            "unresponsive_engines": [],
        }),
    )
}

fn brave(asked: &Asked, results: &[(String, String)]) -> Answered {
    let refuse = |status: u16, code: &str, detail: &str| {
        let error = json!({"id": "e1", "status": status, "code": code, "detail": detail});
        Answered::json(status, &json!({"type": "ErrorResponse", "error": error}))
    };
    if asked.header("x-subscription-token") != Some(GOOD_KEY) {
        let detail = "The provided subscription token is invalid.";
        return refuse(422, "SUBSCRIPTION_TOKEN_INVALID", detail);
    }
    if let Some(reason) = fault(asked, &BRAVE) {
        return refuse(422, "VALIDATION", &reason);
    }
    let is_upper =
        |code: &str| code.len() == 2 && code.bytes().all(|byte| byte.is_ascii_uppercase());
    let is_good = is_within(asked, "count", 1, 20)
        && is_within(asked, "offset", 0, 9)
        && is_among(asked, "freshness", &["pd", "pw", "pm", "py"])
        && is_among(asked, "text_decorations", &["true", "false"])
        && asked.param("country").is_none_or(is_upper);
    if !is_good {
        return refuse(422, "VALIDATION", "Unable to validate request parameter(s)");
    }
    let count = asked.param("count").and_then(|count| count.parse().ok());
    let result = |(url, title): &(String, String)| {
        json!({
            "type": "search_result", "title": title, "url": url,
            "description": "<strong>High</strong> &amp; low water.", "page_age": "2026-01-31T00:00:00",
            "profile": {"name": "A Harbour"}, "language": "en",
        })
    };
    let results = results.iter().take(count.unwrap_or(20));
    let web = json!({"type": "search", "results": results.map(result).collect::<Value>()});
    Answered::json(
        200,
        &json!({"type": "search", "query": {"original": asked.param("q")}, "web": web}),
    )
}
