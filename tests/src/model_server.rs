//! A server on loopback with an OpenAI-compatible chat completions API. Tests set its response.

use std::net::SocketAddr;
use std::sync::{Arc, Mutex, PoisonError};

use serde_json::{Value, json};
use tokio::io::{AsyncReadExt, AsyncWriteExt};
use tokio::net::{TcpListener, TcpStream};
use tokio::task::JoinHandle;

/// Upper bound on the bytes of a request.
const REQUEST_BYTES_MAX: usize = 16 << 20;

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
    task: JoinHandle<()>,
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
        let listener = TcpListener::bind("127.0.0.1:0").await.expect("a free port");
        let address = listener.local_addr().expect("a bound listener");
        let state = Arc::new(State {
            saying: Mutex::new(saying),
            asked: Mutex::default(),
        });
        let shared = Arc::clone(&state);
        let task = tokio::spawn(async move {
            while let Ok((stream, _)) = listener.accept().await {
                tokio::spawn(serve(stream, Arc::clone(&shared)));
            }
        });
        Self {
            address,
            state,
            task,
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

impl Drop for ModelServer {
    fn drop(&mut self) {
        self.task.abort();
    }
}

async fn serve(mut stream: TcpStream, state: Arc<State>) -> Option<()> {
    loop {
        let (head, body) = read(&mut stream).await?;
        let body = serde_json::from_slice(&body).unwrap_or_default();
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
            ScriptedReply::Head => completion(Value::String(head).to_string().into(), [100, 10]),
            ScriptedReply::ChargeOnly => completion(Value::Null, [1_000_000, 1_000_000]),
            ScriptedReply::Garbage => (200, "\u{0}<html>not a completion".to_owned()),
            ScriptedReply::Status(status) => {
                (status, "{\"error\":{\"message\":\"no\"}}".to_owned())
            }
            ScriptedReply::Silence => std::future::pending().await,
        };
        let head = format!(
            "HTTP/1.1 {status} Answer\r\nContent-Type: application/json\r\nContent-Length: {}\r\n\r\n",
            answer.len()
        );
        stream.write_all(head.as_bytes()).await.ok()?;
        stream.write_all(answer.as_bytes()).await.ok()?;
    }
}

/// Head and body of the next request.
async fn read(stream: &mut TcpStream) -> Option<(String, Vec<u8>)> {
    let mut bytes = Vec::new();
    let head_end = loop {
        if let Some(end) = bytes.windows(4).position(|window| window == b"\r\n\r\n") {
            break end;
        }
        if bytes.len() > REQUEST_BYTES_MAX || stream.read_buf(&mut bytes).await.ok()? == 0 {
            return None;
        }
    };
    let mut body = bytes.split_off(head_end + 4);
    let head = String::from_utf8_lossy(&bytes).into_owned();
    let length = head
        .lines()
        .filter_map(|line| line.split_once(':'))
        .find_map(|(name, value)| {
            let is_length = name.eq_ignore_ascii_case("content-length");
            is_length
                .then(|| value.trim().parse::<usize>().ok())
                .flatten()
        });
    let length = length.unwrap_or(0);
    while body.len() < length {
        if length > REQUEST_BYTES_MAX || stream.read_buf(&mut body).await.ok()? == 0 {
            return None;
        }
    }
    Some((head, body))
}
