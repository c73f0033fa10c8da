//! The model's server played by a listener on loopback.

use std::collections::VecDeque;
use std::net::SocketAddr;
use std::sync::{Arc, Mutex, PoisonError};

use serde_json::json;
use tokio::io::{AsyncReadExt, AsyncWriteExt};
use tokio::net::TcpListener;

use trawl_net::egress::{Egress, EgressConfig};
use trawl_net::fetch::FetchConfig;

use super::*;

const KEY: &str = "canary-key-7f3a";

/// The server's next answers; the last one repeats.
#[derive(Clone, Debug)]
enum Says {
    /// A completion with this content and usage.
    Content(Value, Value),
    /// A status with headers.
    Status(u16, &'static str),
    /// Nothing for a while.
    Nothing,
    /// A body that is not a completion.
    Body(&'static str),
}

struct Server {
    address: SocketAddr,
    requests: Arc<Mutex<Vec<(String, Value)>>>,
    task: tokio::task::JoinHandle<()>,
}

impl Drop for Server {
    fn drop(&mut self) {
        self.task.abort();
    }
}

impl Server {
    async fn saying(script: &[Says]) -> Self {
        let listener = TcpListener::bind("127.0.0.1:0").await.expect("a free port");
        let address = listener.local_addr().expect("a bound listener");
        let requests = Arc::new(Mutex::new(Vec::new()));
        let known = Arc::clone(&requests);
        let mut script: VecDeque<Says> = script.iter().cloned().collect();
        let task = tokio::spawn(async move {
            while let Ok((mut stream, _)) = listener.accept().await {
                let mut bytes = Vec::new();
                let (head, body) = loop {
                    let mut piece = [0; 4096];
                    let n_bytes = stream.read(&mut piece).await.unwrap_or(0);
                    bytes.extend_from_slice(&piece[..n_bytes]);
                    let text = String::from_utf8_lossy(&bytes).into_owned();
                    let whole = text.split_once("\r\n\r\n").and_then(|(head, body)| {
                        let length = head.to_lowercase();
                        let (_, length) = length.split_once("content-length: ")?;
                        let length: usize = length.lines().next()?.trim().parse().ok()?;
                        (body.len() >= length).then(|| (head.to_owned(), body.to_owned()))
                    });
                    if let Some(whole) = whole {
                        break whole;
                    }
                    assert!(n_bytes > 0, "the request breaks off");
                };
                let body = serde_json::from_str(&body).expect("JSON");
                known
                    .lock()
                    .unwrap_or_else(PoisonError::into_inner)
                    .push((head, body));
                let says = match script.len() {
                    0 | 1 => script.front().cloned(),
                    _ => script.pop_front(),
                };
                let (status, headers, body) = match says.expect("something to say") {
                    Says::Content(content, usage) => {
                        let body =
                            json!({"choices": [{"message": {"content": content}}], "usage": usage});
                        (200, "", body.to_string())
                    }
                    Says::Status(status, headers) => (status, headers, KEY.to_owned()),
                    Says::Body(body) => (200, "", body.to_owned()),
                    Says::Nothing => {
                        // Stays open until the test ends.
                        tokio::spawn(async move {
                            let _held = stream;
                            std::future::pending::<()>().await;
                        });
                        continue;
                    }
                };
                let head = format!(
                    "HTTP/1.1 {status} X\r\ncontent-type: application/json\r\n{headers}connection: close\r\ncontent-length: {}\r\n\r\n",
                    body.len()
                );
                let _hung_up = stream.write_all((head + &body).as_bytes()).await;
            }
        });
        Self {
            address,
            requests,
            task,
        }
    }

    fn requests(&self) -> Vec<(String, Value)> {
        let requests = self.requests.lock();
        requests.unwrap_or_else(PoisonError::into_inner).clone()
    }

    fn ai(&self) -> Ai {
        ai_at(&format!("http://{}/v1", self.address))
    }
}

fn ai_at(base: &str) -> Ai {
    let egress = Egress::new(EgressConfig::default()).expect("an open door");
    let config = AiConfig {
        base: base.parse().expect("a URL"),
        model: "small".to_owned(),
        key: Some(Secret::new(KEY)),
        prices: TokenPrices {
            question: Nanodollars(1_000_000_000),
            answer: Nanodollars(2_000_000_000),
        },
        size: ModelSize {
            context_tokens: 1_000,
            answer_tokens: 100,
        },
        timeout: Duration::from_millis(300),
        in_flight: 2,
    };
    Ai::new(config, Fetcher::new(egress, FetchConfig::default()))
}

fn question() -> Question {
    let schema =
        json!({"type": "object", "properties": {"n": {"type": "integer"}}, "required": ["n"]});
    Question::sample("how many?", &schema, 50)
}

fn good() -> Says {
    Says::Content(
        json!("{\"n\": 3}"),
        json!({"prompt_tokens": 20, "completion_tokens": 5}),
    )
}

#[tokio::test]
async fn a_question_is_sent_as_a_chat_completion_and_priced() {
    let server = Server::saying(&[good()]).await;
    let ai = server.ai();
    let answered = ai.ask(&question()).await.expect("an answer");
    assert_eq!(answered.value, json!({"n": 3}));
    assert_eq!(answered.cost, Nanodollars(20 * 1_000 + 5 * 2_000));
    assert!(
        answered.cost <= ai.max_cost_of(&question())
            && ai.max_cost_of(&question()) <= ai.max_cost()
    );
    let requests = server.requests();
    let (head, body) = &requests[0];
    assert!(
        head.starts_with("POST /v1/chat/completions HTTP/1.1"),
        "{head}"
    );
    assert!(
        head.to_lowercase()
            .contains(&format!("authorization: bearer {KEY}"))
    );
    assert_eq!(body["model"], "small");
    assert_eq!(body["temperature"], 0);
    assert_eq!(body["max_tokens"], 50);
    assert_eq!(body["messages"][0]["content"], "how many?");
    let format = &body["response_format"];
    assert_eq!(format["type"], "json_schema");
    assert_eq!(format["json_schema"]["strict"], true);
    assert_eq!(format["json_schema"]["schema"]["required"], json!(["n"]));
}

#[tokio::test]
async fn a_server_that_refuses_the_format_gets_plain_requests_from_then_on() {
    let server = Server::saying(&[Says::Status(400, ""), good()]).await;
    let ai = server.ai();
    for _ in 0..2 {
        let answered = ai.ask(&question()).await.expect("an answer");
        assert_eq!(answered.value, json!({"n": 3}));
    }
    let requests = server.requests();
    assert_eq!(requests.len(), 3);
    for (_, body) in &requests[1..] {
        assert_eq!(body["response_format"], Value::Null);
        assert_eq!(body["messages"][0]["role"], "system");
        let words = body["messages"][0]["content"].as_str().expect("words");
        assert!(words.contains("\"required\""), "{words}");
    }
}

#[tokio::test]
async fn a_misfit_is_shown_to_the_model_once() {
    let misfit = Says::Content(json!("{\"n\": \"three\"}"), json!({"prompt_tokens": 900}));
    let server = Server::saying(&[misfit.clone(), good()]).await;
    let answered = server.ai().ask(&question()).await.expect("an answer");
    assert_eq!(
        answered.cost,
        Nanodollars(30_000),
        "the misfit costs nothing"
    );
    let requests = server.requests();
    let messages = requests[1].1["messages"].as_array().expect("messages");
    assert_eq!(messages.len(), 3);
    assert_eq!(messages[1]["role"], "assistant");
    assert!(
        messages[2]["content"]
            .as_str()
            .is_some_and(|text| text.contains("`/n`"))
    );

    for wrong in [
        misfit,
        Says::Content(json!("no JSON"), json!({})),
        Says::Content(
            json!(null),
            json!({"prompt_tokens": 999_999, "completion_tokens": 999_999}),
        ),
    ] {
        let server = Server::saying(&[wrong]).await;
        let refused = server.ai().ask(&question()).await.expect_err("a misfit");
        assert_eq!(refused, Unavailable::Misfit);
        assert_eq!(server.requests().len(), 2);
    }
    let server = Server::saying(&[Says::Body("<html>")]).await;
    let refused = server
        .ai()
        .ask(&question())
        .await
        .expect_err("no completion");
    assert_eq!(refused, Unavailable::Misfit);
}

#[tokio::test]
async fn a_busy_server_is_retried_within_bounds() {
    let busy = Says::Status(429, "retry-after: 0\r\n");
    let server = Server::saying(&[
        busy.clone(),
        Says::Status(503, "retry-after: 0\r\n"),
        good(),
    ])
    .await;
    assert!(server.ai().ask(&question()).await.is_ok());
    let server = Server::saying(&[busy]).await;
    let refused = server.ai().ask(&question()).await.expect_err("busy");
    assert_eq!(refused, Unavailable::Status(429));
    assert_eq!(server.requests().len(), 3);
    let server = Server::saying(&[Says::Status(429, "retry-after: 3600\r\n")]).await;
    let refused = server
        .ai()
        .ask(&question())
        .await
        .expect_err("busy for long");
    assert_eq!(
        (refused, server.requests().len()),
        (Unavailable::Status(429), 1)
    );
    let server = Server::saying(&[Says::Status(401, "")]).await;
    let refused = server.ai().ask(&question()).await.expect_err("not ours");
    assert_eq!(
        (refused, server.requests().len()),
        (Unavailable::Status(401), 1)
    );
}

#[tokio::test]
async fn a_server_that_is_down_or_silent_is_reported_and_cooled_down() {
    let server = Server::saying(&[Says::Nothing]).await;
    let refused = server.ai().ask(&question()).await.expect_err("silence");
    assert_eq!(refused, Unavailable::Late);

    let closed = TcpListener::bind("127.0.0.1:0").await.expect("a free port");
    let address = closed.local_addr().expect("a bound listener");
    drop(closed);
    let ai = ai_at(&format!("http://{address}/v1/"));
    for _ in 0..3 {
        let refused = ai.ask(&question()).await.expect_err("down");
        let text = refused.to_string();
        assert_eq!(refused, Unavailable::Unreachable);
        assert!(!text.contains("127.0.0.1") && !text.contains(KEY), "{text}");
    }
    let refused = ai.ask(&question()).await.expect_err("resting");
    assert_eq!(refused, Unavailable::CoolingDown);
}

#[tokio::test]
async fn a_missing_permit_is_not_taken_for_a_server_that_is_down() {
    let server = Server::saying(&[good()]).await;
    let ai = server.ai();
    let taken = ai.permits.acquire_many(2).await.expect("all permits");
    for _ in 0..4 {
        let refused = ai.ask(&question()).await.expect_err("no place");
        assert_eq!(refused, Unavailable::Busy);
    }
    assert!(server.requests().is_empty());
    drop(taken);
    assert!(ai.ask(&question()).await.is_ok(), "it does not rest");
}

#[tokio::test]
async fn what_a_server_says_of_its_work_is_bounded_and_its_key_is_cut_out() {
    let lies = json!({"prompt_tokens": u64::MAX, "completion_tokens": u64::MAX});
    let server = Server::saying(&[Says::Content(json!("{\"n\": 1}"), lies)]).await;
    let ai = server.ai();
    let answered = ai.ask(&question()).await.expect("an answer");
    assert_eq!(answered.cost, ai.max_cost_of(&question()));
    let uncounted = Server::saying(&[Says::Content(json!("{\"n\": 1}"), json!(null))]).await;
    let answered = uncounted.ai().ask(&question()).await.expect("an answer");
    assert!(answered.cost > Nanodollars::ZERO && answered.cost < ai.max_cost_of(&question()));
    let echo = json!(format!("{{\"n\": 1, \"key\": \"{KEY}\"}}"));
    let server = Server::saying(&[Says::Content(echo, json!(null))]).await;
    let answered = server.ai().ask(&question()).await.expect("an answer");
    assert!(
        !answered.value.to_string().contains(KEY),
        "{}",
        answered.value
    );
}
