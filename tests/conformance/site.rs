//! A site whose answers are octets that a judge wrote, head and body.

use std::collections::HashMap;
use std::net::SocketAddr;
use std::sync::atomic::{AtomicU64, Ordering};
use std::sync::{Arc, Mutex, MutexGuard, PoisonError};

use tokio::io::{AsyncBufReadExt, AsyncWriteExt, BufReader};
use tokio::net::TcpStream;
use trawl_tests::http_server::Listening;

/// What a path answers: made from the head of the request and the number of the answer.
type Answer = Arc<dyn Fn(&str, u64) -> Vec<u8> + Send + Sync>;

/// The page at all other paths.
const ELSEWHERE: &str = "<!DOCTYPE html><title>Elsewhere</title><p>elsewhere</p>";

/// The site.
pub(crate) struct Site {
    pub(crate) address: SocketAddr,
    state: Arc<State>,
    _listening: Listening,
}

#[derive(Default)]
struct State {
    answers: Mutex<HashMap<String, Answer>>,
    heads: Mutex<Vec<String>>,
    n_answers: AtomicU64,
}

impl Site {
    /// Starts one on a free port of 127.0.0.1.
    pub(crate) async fn start() -> Self {
        let state = Arc::new(State::default());
        // A client may leave at any time.
        let serve = |stream, state: Arc<State>| async move { state.serve(stream).await };
        let listening = Listening::sharing(&state, serve).await;
        Self {
            address: listening.address,
            state,
            _listening: listening,
        }
    }

    /// The URL of a target.
    pub(crate) fn url(&self, target: &str) -> String {
        format!("http://{}{target}", self.address)
    }

    /// Answers a target with these lines (status, headers) and this body from now on. Returns the
    /// URL.
    pub(crate) fn put(&self, target: &str, lines: &[u8], body: impl AsRef<[u8]>) -> String {
        let whole = response(lines, body.as_ref());
        self.put_made(target, move |_, _| whole.clone())
    }

    /// The same with a page of HTML in UTF-8.
    pub(crate) fn page(&self, target: &str, html: &str) -> String {
        let lines = b"HTTP/1.1 200 OK\r\nContent-Type: text/html; charset=utf-8\r\n";
        self.put(target, lines, html)
    }

    /// Answers a target with what is made for each request.
    pub(crate) fn put_made(
        &self,
        target: &str,
        answer: impl Fn(&str, u64) -> Vec<u8> + Send + Sync + 'static,
    ) -> String {
        locked(&self.state.answers).insert(target.to_owned(), Arc::new(answer));
        self.url(target)
    }

    /// Forgets all answers and requests.
    pub(crate) fn clear(&self) {
        locked(&self.state.answers).clear();
        locked(&self.state.heads).clear();
    }

    /// Heads of the requests so far, an octet a character.
    pub(crate) fn heads(&self) -> Vec<String> {
        locked(&self.state.heads).clone()
    }
}

impl State {
    /// Serves one connection to its end.
    async fn serve(&self, stream: TcpStream) -> Option<()> {
        let mut stream = BufReader::new(stream);
        loop {
            let mut head = Vec::new();
            while !head.ends_with(b"\r\n\r\n") {
                if stream.read_until(b'\n', &mut head).await.ok()? == 0 {
                    return None;
                }
            }
            let head: String = head.iter().map(|octet| char::from(*octet)).collect();
            let target = target(&head).to_owned();
            locked(&self.heads).push(head.clone());
            let answer = locked(&self.answers).get(&target).cloned();
            let number = self.n_answers.fetch_add(1, Ordering::SeqCst);
            let whole = match answer {
                Some(answer) => answer(&head, number),
                None => elsewhere(&target),
            };
            stream.write_all(&whole).await.ok()?;
            stream.flush().await.ok()?;
        }
    }
}

/// The target of a request.
pub(crate) fn target(head: &str) -> &str {
    head.split(' ').nth(1).unwrap_or_default()
}

/// The value of a header of a request, if it is there.
pub(crate) fn header<'a>(head: &'a str, name: &str) -> Option<&'a str> {
    head.lines().find_map(|line| {
        let (own, value) = line.split_once(':')?;
        own.eq_ignore_ascii_case(name).then(|| value.trim())
    })
}

/// Status and headers, each line with its end, and a body.
pub(crate) fn response(lines: &[u8], body: &[u8]) -> Vec<u8> {
    let length = format!("Content-Length: {}\r\n\r\n", body.len());
    [lines, length.as_bytes(), body].concat()
}

fn elsewhere(target: &str) -> Vec<u8> {
    if ["/favicon.ico", "/robots.txt"].contains(&target) {
        return response(b"HTTP/1.1 404 Not Found\r\n", b"");
    }
    let lines = b"HTTP/1.1 200 OK\r\nContent-Type: text/html; charset=utf-8\r\n";
    response(lines, ELSEWHERE.as_bytes())
}

fn locked<T>(mutex: &Mutex<T>) -> MutexGuard<'_, T> {
    mutex.lock().unwrap_or_else(PoisonError::into_inner)
}
