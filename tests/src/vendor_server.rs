//! All fake vendors behind one port on loopback: the base URL of each is
//! `http://host:port/provider_N`.

use std::collections::HashMap;
use std::net::SocketAddr;
use std::sync::{Arc, Mutex, PoisonError};
use std::time::Duration;

use tokio::net::TcpStream;

use crate::http_server::{self, Listening};
use crate::vendors::{self, Answered, Asked, Vendor};

/// The vendors.
pub struct VendorServer {
    /// The address they listen on.
    pub address: SocketAddr,
    state: Arc<State>,
    _listening: Listening,
}

struct State {
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
        let state = Arc::new(State {
            vendors: vendors::all(),
            asked: Mutex::default(),
            fixed: Mutex::default(),
            planned: Mutex::default(),
            delay: Mutex::default(),
        });
        let listening = Listening::sharing(&state, serve).await;
        Self {
            address: listening.address,
            state,
            _listening: listening,
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

async fn serve(mut stream: TcpStream, state: Arc<State>) -> Option<()> {
    let address = stream.local_addr().ok()?;
    loop {
        let received = http_server::read(&mut stream).await?;
        let (name, asked) = Asked::of(received, address)?;
        let answer = state.answer(&name, asked)?;
        tokio::time::sleep(answer.delay).await;
        http_server::write(&mut stream, answer.status, &answer.headers, &answer.body).await?;
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
