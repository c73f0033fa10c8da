//! A server on loopback with an OpenAI-compatible chat completions API. Tests set its response.

use std::net::SocketAddr;
use std::sync::{Arc, Mutex, PoisonError};

use serde_json::{Value, json};
use tokio::net::TcpStream;
use trawl::config::AiSettings;

use crate::http_server::{self, Listening};

/// The response to every request.
#[derive(Clone, Debug)]
pub enum ScriptedReply {
    /// This content, and a usage of 100 and 10 tokens.
    Content(String),
    /// The headers of the request as a JSON string, like a server that leaks what it receives.
    Head,
    /// No content, and a large usage.
    ChargeOnly,
    /// A body that is not a completion.
    Garbage,
    /// This status.
    Status(u16),
    /// No response at all.
    Silence,
}

/// The server.
pub struct ModelServer {
    /// The address it listens on.
    pub address: SocketAddr,
    state: Arc<State>,
    _listening: Listening,
}

struct State {
    saying: Mutex<ScriptedReply>,
    asked: Mutex<Vec<Value>>,
}

impl ModelServer {
    /// Starts one on a free port of 127.0.0.1.
    ///
    /// # Panics
    /// When no port is free.
    pub async fn start(saying: ScriptedReply) -> Self {
        let state = Arc::new(State {
            saying: Mutex::new(saying),
            asked: Mutex::default(),
        });
        let listening = Listening::sharing(&state, serve).await;
        Self {
            address: listening.address,
            state,
            _listening: listening,
        }
    }

    /// Settings for a server that uses this model, which costs 1 and 2 dollars for a million
    /// tokens of questions and answers, without a key.
    pub fn settings(&self) -> AiSettings {
        AiSettings {
            base: format!("http://{}/v1", self.address),
            model: "small".to_owned(),
            key_env: None,
            dollars_per_million_question_tokens: "1".to_owned(),
            dollars_per_million_answer_tokens: "2".to_owned(),
            context_tokens: 8_192,
            answer_tokens: 500,
            timeout: 2,
            requests_in_flight: 4,
        }
    }

    /// Changes the response.
    pub fn say(&self, saying: ScriptedReply) {
        *self
            .state
            .saying
            .lock()
            .unwrap_or_else(PoisonError::into_inner) = saying;
    }

    /// The bodies of all requests so far.
    pub fn asked(&self) -> Vec<Value> {
        self.state
            .asked
            .lock()
            .unwrap_or_else(PoisonError::into_inner)
            .clone()
    }
}

async fn serve(mut stream: TcpStream, state: Arc<State>) -> Option<()> {
    loop {
        let received = http_server::read(&mut stream).await?;
        let body = serde_json::from_slice(&received.body).unwrap_or_default();
        state
            .asked
            .lock()
            .unwrap_or_else(PoisonError::into_inner)
            .push(body);
        let saying = state
            .saying
            .lock()
            .unwrap_or_else(PoisonError::into_inner)
            .clone();
        let completion = |content: Value, tokens: [u64; 2]| {
            let completion = json!({
                "id": "x", "object": "chat.completion",
                "choices": [{"index": 0, "message": {"role": "assistant", "content": content}, "finish_reason": "stop"}],
                "usage": {"prompt_tokens": tokens[0], "completion_tokens": tokens[1], "total_tokens": tokens[0] + tokens[1]},
            });
            (200, completion.to_string())
        };
        let (status, answer) = match saying {
            ScriptedReply::Content(content) => completion(content.into(), [100, 10]),
            ScriptedReply::Head => {
                completion(Value::String(received.head).to_string().into(), [100, 10])
            }
            ScriptedReply::ChargeOnly => completion(Value::Null, [1_000_000, 1_000_000]),
            ScriptedReply::Garbage => (200, "\u{0}<html>not a completion".to_owned()),
            ScriptedReply::Status(status) => {
                (status, "{\"error\":{\"message\":\"no\"}}".to_owned())
            }
            ScriptedReply::Silence => std::future::pending().await,
        };
        let headers = [("content-type".to_owned(), "application/json".to_owned())];
        http_server::write(&mut stream, status, &headers, answer.as_bytes()).await?;
    }
}
