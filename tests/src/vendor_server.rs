//! All fake vendors behind one port on loopback: the base URL of each is
//! `http://host:port/provider_N`.

use std::collections::HashMap;
use std::net::SocketAddr;
use std::sync::{Arc, Mutex, PoisonError};
use std::time::Duration;

use tokio::io::{AsyncReadExt, AsyncWriteExt};
use tokio::net::{TcpListener, TcpStream};
use tokio::task::JoinHandle;

use crate::vendors::{self, Answered, Asked, Vendor};

/// Upper bound on the bytes of a request.
const REQUEST_BYTES_MAX: usize = 16 << 20;

/// The vendors.
pub struct VendorServer {
    /// The address they listen on.
    pub address: SocketAddr,
    state: Arc<State>,
    task: JoinHandle<()>,
}

struct State {
    address: SocketAddr,
    vendors: Vec<Vendor>,
    /// All requests, with the vendor's name.
    asked: Mutex<Vec<(String, Asked)>>,
    /// Fixed responses by vendor.
    fixed: Mutex<HashMap<String, Answered>>,
    /// Responses to single requests.
    planned: Mutex<Vec<Planned>>,
    delay: Mutex<Duration>,
}

/// A response to one request of a vendor.
struct Planned {
    vendor: String,
    /// Requests to this vendor before it.
    n_before: usize,
    /// `None` closes the connection instead.
    answer: Option<Answered>,
}

impl VendorServer {
    /// Starts them on a free port of 127.0.0.1.
    ///
    /// # Panics
    /// When no port is free.
    pub async fn start() -> Self {
        let listener = TcpListener::bind("127.0.0.1:0").await.expect("a free port");
        let address = listener.local_addr().expect("a bound listener");
        let state = Arc::new(State {
            address,
            vendors: vendors::all(),
            asked: Mutex::default(),
            fixed: Mutex::default(),
            planned: Mutex::default(),
            delay: Mutex::default(),
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

    /// The requests to a vendor, in order.
    pub fn asked(&self, name: &str) -> Vec<Asked> {
        let asked = self.state.asked.lock();
        let asked = asked.unwrap_or_else(PoisonError::into_inner);
        let of = asked.iter().filter(|(known, _)| known == name);
        of.map(|(_, asked)| asked.clone()).collect()
    }

    /// The names of the vendors that got requests, in order.
    pub fn order(&self) -> Vec<String> {
        let asked = self.state.asked.lock();
        let asked = asked.unwrap_or_else(PoisonError::into_inner);
        asked.iter().map(|(name, _)| name.clone()).collect()
    }

    /// Makes a vendor send this response to every request.
    pub fn always(&self, name: &str, answer: Answered) {
        let mut fixed = self
            .state
            .fixed
            .lock()
            .unwrap_or_else(PoisonError::into_inner);
        fixed.insert(name.to_owned(), answer);
    }

    /// Makes a vendor send this response to one request, after `n_before` others from now on;
    /// `None` closes the connection without a response.
    pub fn once(&self, name: &str, n_before: usize, answer: Option<Answered>) {
        let mut planned = self
            .state
            .planned
            .lock()
            .unwrap_or_else(PoisonError::into_inner);
        planned.push(Planned {
            vendor: name.to_owned(),
            n_before,
            answer,
        });
    }

    /// Removes all fixed responses.
    pub fn behave(&self) {
        let mut fixed = self
            .state
            .fixed
            .lock()
            .unwrap_or_else(PoisonError::into_inner);
        fixed.clear();
    }

    /// Delays every response by this long.
    pub fn slow_down(&self, delay: Duration) {
        *self
            .state
            .delay
            .lock()
            .unwrap_or_else(PoisonError::into_inner) = delay;
    }
}

impl Drop for VendorServer {
    fn drop(&mut self) {
        self.task.abort();
    }
}

async fn serve(mut stream: TcpStream, state: Arc<State>) {
    while let Some((name, asked)) = read(&mut stream, &state).await {
        let Some(answer) = state.answer(&name, asked) else {
            return;
        };
        tokio::time::sleep(answer.delay).await;
        if write(&mut stream, answer).await.is_none() {
            return;
        }
    }
}

impl State {
    /// The response; `None` if the connection is closed instead.
    fn answer(&self, name: &str, asked: Asked) -> Option<Answered> {
        let mut all = self.asked.lock().unwrap_or_else(PoisonError::into_inner);
        all.push((name.to_owned(), asked.clone()));
        drop(all);
        if let Some(planned) = self.planned(name) {
            return planned;
        }
        let fixed = self.fixed.lock().unwrap_or_else(PoisonError::into_inner);
        let fixed = fixed.get(name).cloned();
        let vendor = self.vendors.iter().find(|vendor| vendor.name() == name);
        let mut answer = match (fixed, vendor) {
            (Some(fixed), _) => fixed,
            (None, Some(vendor)) => vendor.answer(&asked),
            (None, None) => Answered::new(404, "text/plain", "no such service"),
        };
        answer.delay += *self.delay.lock().unwrap_or_else(PoisonError::into_inner);
        Some(answer)
    }

    /// The response planned for this request of a vendor.
    fn planned(&self, name: &str) -> Option<Option<Answered>> {
        let mut planned = self.planned.lock().unwrap_or_else(PoisonError::into_inner);
        let mut found = None;
        planned.retain_mut(|one| {
            if one.vendor != name {
                return true;
            }
            if one.n_before > 0 || found.is_some() {
                one.n_before = one.n_before.saturating_sub(1);
                return true;
            }
            found = Some(one.answer.take());
            false
        });
        found
    }
}

/// The next request of a connection, with the vendor it is for.
async fn read(stream: &mut TcpStream, state: &State) -> Option<(String, Asked)> {
    let mut bytes = Vec::new();
    let head_end = loop {
        if let Some(end) = bytes.windows(4).position(|window| window == b"\r\n\r\n") {
            break end;
        }
        if bytes.len() > REQUEST_BYTES_MAX || stream.read_buf(&mut bytes).await.ok()? == 0 {
            return None;
        }
    };
    let head = String::from_utf8_lossy(&bytes[..head_end]).into_owned();
    let mut lines = head.lines();
    let mut first = lines.next()?.split(' ');
    let (method, target) = (first.next()?.to_owned(), first.next()?.to_owned());
    let headers: Vec<(String, String)> = lines
        .filter_map(|line| line.split_once(':'))
        .map(|(name, value)| (name.to_lowercase(), value.trim().to_owned()))
        .collect();
    let length = headers.iter().find(|(name, _)| name == "content-length");
    let length: usize = length.map_or(Ok(0), |(_, value)| value.parse()).ok()?;
    let mut body = bytes.split_off(head_end + 4);
    while body.len() < length {
        if length > REQUEST_BYTES_MAX || stream.read_buf(&mut body).await.ok()? == 0 {
            return None;
        }
    }
    let url = reqwest::Url::parse(&format!("http://{}{target}", state.address)).ok()?;
    let (name, path) = url.path().strip_prefix('/')?.split_once('/')?;
    let asked = Asked {
        method,
        path: format!("/{path}"),
        query: url.query_pairs().into_owned().collect(),
        headers,
        body,
        origin: format!("http://{}/{name}", state.address),
    };
    Some((name.to_owned(), asked))
}

async fn write(stream: &mut TcpStream, answer: Answered) -> Option<()> {
    let mut head = format!("HTTP/1.1 {} Answer\r\n", answer.status);
    for (name, value) in &answer.headers {
        head += &format!("{name}: {value}\r\n");
    }
    head += &format!("content-length: {}\r\n\r\n", answer.body.len());
    stream.write_all(head.as_bytes()).await.ok()?;
    stream.write_all(&answer.body).await.ok()
}
