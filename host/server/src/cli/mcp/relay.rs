//! Passes messages on: each is a request of its own.

use std::collections::HashMap;
use std::sync::{Arc, Mutex, PoisonError};

use axum::body::Bytes;
use base64::Engine;
use base64::prelude::BASE64_STANDARD;
use http::{HeaderMap, HeaderName, HeaderValue, header};
use serde_json::{Value, json};
use tokio::sync::mpsc;
use tokio::task::{AbortHandle, JoinSet};

use super::pipes::Replies;
use super::server::{Answer, Server};

/// Code of an error of this relay, of those that JSON-RPC leaves to servers.
const NOT_ANSWERED: i64 = -32_000;
/// Code of a message that is not JSON.
const NOT_JSON: i64 = -32_700;
/// The member of a message by which it has a version of its own.
const VERSION: &str = "/params/_meta/io.modelcontextprotocol~1protocolVersion";

/// Passes messages on until there are no more and all are answered.
pub(super) async fn run(
    server: Arc<dyn Server>,
    mut messages: mpsc::Receiver<Vec<u8>>,
    replies: Replies,
) {
    let door = Arc::new(Door {
        server,
        version: Mutex::default(),
        replies: replies.sender.clone(),
    });
    let mut running: HashMap<String, AbortHandle> = HashMap::new();
    let mut tasks = JoinSet::new();
    loop {
        let message = tokio::select! {
            message = messages.recv() => message,
            // The agent is gone.
            () = replies.sender.closed() => return,
        };
        let Some(message) = message else { break };
        running.retain(|_, task| !task.is_finished());
        while tasks.try_join_next().is_some() {}
        match Kind::of(&message) {
            Kind::Request(request) => {
                let id = request.id.to_string();
                let task = tasks.spawn(Arc::clone(&door).pass(request, message));
                running.insert(id, task);
            }
            Kind::Cancellation(id) => {
                // The connection closes, which cancels the work.
                if let Some(task) = running.remove(&id.to_string()) {
                    task.abort();
                }
            }
            Kind::Other => {}
            Kind::Unreadable(error) => {
                let refused = refusal(&Value::Null, NOT_JSON, &error);
                let _unread = door.replies.send(refused).await;
            }
        }
    }
    while tasks.join_next().await.is_some() {}
    drop(door);
    replies.finish().await;
}

/// What a message is.
enum Kind {
    Request(Request),
    /// That the answer to the request with this id is not wanted any more.
    Cancellation(Value),
    /// The server keeps nothing between requests, so that nothing else means anything to it.
    Other,
    Unreadable(String),
}

/// What must be known of a request to pass it on.
struct Request {
    id: Value,
    method: String,
    /// The tool or the resource.
    name: Option<String>,
    /// The version of the protocol, if the message has its own.
    version: Option<String>,
}

impl Kind {
    fn of(message: &[u8]) -> Self {
        let message: Value = match serde_json::from_slice(message) {
            Ok(message) => message,
            Err(error) => return Self::Unreadable(format!("the message is not JSON: {error}")),
        };
        let text = |pointer: &str| message.pointer(pointer)?.as_str().map(str::to_owned);
        let method = text("/method").unwrap_or_default();
        let id = message.get("id").filter(|id| !id.is_null());
        match id {
            Some(id) if !method.is_empty() => Self::Request(Request {
                id: id.clone(),
                name: text("/params/name").or_else(|| text("/params/uri")),
                version: text(VERSION),
                method,
            }),
            None if method == "notifications/cancelled" => {
                let id = message.pointer("/params/requestId");
                Self::Cancellation(id.cloned().unwrap_or_default())
            }
            _ => Self::Other,
        }
    }
}

/// Where requests go, and their replies.
struct Door {
    server: Arc<dyn Server>,
    /// The version that `initialize` has settled, for requests without one of their own.
    version: Mutex<Option<String>>,
    replies: mpsc::Sender<Vec<u8>>,
}

impl Door {
    async fn pass(self: Arc<Self>, request: Request, message: Vec<u8>) {
        if let Err(error) = self.try_pass(&request, message).await {
            let refused = refusal(&request.id, NOT_ANSWERED, &format!("{error:#}"));
            self.reply(refused).await;
        }
    }

    async fn try_pass(&self, request: &Request, message: Vec<u8>) -> anyhow::Result<()> {
        let headers = self.headers(request);
        let answer = self.server.post(headers, Bytes::from(message)).await?;
        if answer.is_stream {
            return self.pass_events(answer).await;
        }
        let status = answer.status;
        let body = answer.whole().await?;
        let read: Option<Value> = serde_json::from_slice(&body).ok();
        let is_reply = read.as_ref().is_some_and(|reply| reply["jsonrpc"] == "2.0");
        if !is_reply {
            let said = read.as_ref().and_then(|error| error["error"].as_str());
            let hint = read.as_ref().and_then(|error| error["hint"].as_str());
            let text = said.map_or_else(|| format!("status {status}"), str::to_owned);
            let text = hint.map_or(text.clone(), |hint| format!("{text}: {hint}"));
            anyhow::bail!(text);
        }
        if request.method == "initialize" {
            let version = read
                .as_ref()
                .and_then(|reply| reply.pointer("/result/protocolVersion"));
            self.settle(version.and_then(Value::as_str));
        }
        self.reply(line(body)).await;
        Ok(())
    }

    /// Passes the messages of a stream on as they come.
    async fn pass_events(&self, mut answer: Answer) -> anyhow::Result<()> {
        let mut events = Events::default();
        while let Some(chunk) = answer.chunk().await? {
            for message in events.add(&chunk) {
                self.reply(message).await;
            }
        }
        Ok(())
    }

    async fn reply(&self, reply: Vec<u8>) {
        // If nothing reads it, the agent is gone.
        let _unread = self.replies.send(reply).await;
    }

    fn settle(&self, version: Option<&str>) {
        let mut settled = self.version.lock().unwrap_or_else(PoisonError::into_inner);
        *settled = version.map(str::to_owned);
    }

    fn headers(&self, request: &Request) -> HeaderMap {
        let mut headers = HeaderMap::new();
        let json = HeaderValue::from_static("application/json");
        headers.insert(header::CONTENT_TYPE, json);
        let both = HeaderValue::from_static("application/json, text/event-stream");
        headers.insert(header::ACCEPT, both);
        let version = request.version.clone().or_else(|| {
            let settled = self.version.lock().unwrap_or_else(PoisonError::into_inner);
            settled.clone().filter(|_| request.method != "initialize")
        });
        // Clients that speak HTTP send them, too.
        let said = [
            ("mcp-method", Some(request.method.as_str())),
            ("mcp-name", request.name.as_deref()),
            ("mcp-protocol-version", version.as_deref()),
        ];
        for (name, text) in said {
            let value = text.and_then(|text| HeaderValue::try_from(header_text(text)).ok());
            headers.extend(value.map(|value| (HeaderName::from_static(name), value)));
        }
        headers
    }
}

/// A text as the value of a header: in base64 if it is not plain.
fn header_text(text: &str) -> String {
    let is_plain = text.bytes().all(|c| (b' '..=b'~').contains(&c)) && text.trim() == text;
    match is_plain && !text.starts_with("=?base64?") {
        true => text.to_owned(),
        false => format!("=?base64?{}?=", BASE64_STANDARD.encode(text)),
    }
}

/// An error that answers a message.
fn refusal(id: &Value, code: i64, text: &str) -> Vec<u8> {
    let error = json!({"code": code, "message": text});
    json!({"jsonrpc": "2.0", "id": id, "error": error})
        .to_string()
        .into()
}

/// JSON as one line.
fn line(mut json: Vec<u8>) -> Vec<u8> {
    // In the strings of JSON they are escaped.
    json.retain(|byte| !b"\r\n".contains(byte));
    json
}

/// The messages of an event stream.
#[derive(Default)]
struct Events {
    /// The line that has begun.
    line: Vec<u8>,
    /// The data of the event that has begun.
    data: Vec<u8>,
}

impl Events {
    /// Adds a part of the stream; returns the messages that it ends.
    fn add(&mut self, chunk: &[u8]) -> Vec<Vec<u8>> {
        let mut messages = Vec::new();
        for byte in chunk {
            if *byte != b'\n' {
                self.line.push(*byte);
                continue;
            }
            let ended = std::mem::take(&mut self.line);
            let ended = ended.strip_suffix(b"\r").unwrap_or(&ended);
            if let Some(data) = ended.strip_prefix(b"data:") {
                self.data.extend_from_slice(data);
            } else if ended.is_empty() {
                let data = std::mem::take(&mut self.data);
                let is_empty = data.trim_ascii().is_empty();
                messages.extend((!is_empty).then(|| data.trim_ascii().to_vec()));
            }
        }
        messages
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn messages_are_told_apart() {
        let kind = |message: Value| Kind::of(message.to_string().as_bytes());
        let call = json!({"id": "a", "method": "tools/call", "params": {"name": "map", "_meta": {
            "io.modelcontextprotocol/protocolVersion": "2026-07-28",
        }}});
        let Kind::Request(request) = kind(call) else {
            panic!("a request")
        };
        assert_eq!(request.id, "a");
        assert_eq!(request.name.as_deref(), Some("map"));
        assert_eq!(request.version.as_deref(), Some("2026-07-28"));
        let cancelled = json!({"method": "notifications/cancelled", "params": {"requestId": 7}});
        assert!(matches!(kind(cancelled), Kind::Cancellation(id) if id == 7));
        assert!(matches!(
            kind(json!({"method": "notifications/initialized"})),
            Kind::Other
        ));
        assert!(matches!(kind(json!({"id": 1, "result": {}})), Kind::Other));
        assert!(matches!(Kind::of(b"{"), Kind::Unreadable(_)));
    }

    #[test]
    fn events_are_messages_however_they_are_cut() {
        let stream =
            b": keep alive\n\nid: 1\ndata: {\"a\":1}\n\ndata:\r\n\r\ndata: {\"b\":2}\r\n\r\n";
        for length in 1..stream.len() {
            let mut events = Events::default();
            let parts = stream.chunks(length).flat_map(|part| events.add(part));
            let messages: Vec<_> = parts.collect();
            assert_eq!(messages, [br#"{"a":1}"#.to_vec(), br#"{"b":2}"#.to_vec()]);
        }
    }

    #[test]
    fn a_header_repeats_what_is_said() {
        assert_eq!(header_text("tools/call"), "tools/call");
        assert_eq!(header_text("caf\u{e9}"), "=?base64?Y2Fmw6k=?=");
        assert_eq!(header_text(" a"), "=?base64?IGE=?=");
    }

    #[test]
    fn json_becomes_a_line() {
        assert_eq!(
            line(b"{\n \"a\": \"b\\n\"\r\n}".to_vec()),
            b"{ \"a\": \"b\\n\"}"
        );
    }
}
