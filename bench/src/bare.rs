//! A handler of axum that sends one answer to every request: what HTTP alone takes on this machine.

use std::future::ready;

use axum::Router;
use axum::body::Bytes;
use axum::http::header::CONTENT_TYPE;
use axum::routing::post;
use tokio::net::TcpListener;
use tokio::runtime::Runtime;

use crate::servers::{ONE_HOST, runtime};

/// A server in this process; it ends when this value is dropped.
pub(crate) struct Bare {
    pub(crate) base: String,
    _runtime: Runtime,
}

impl Bare {
    /// Answers `POST /scrape` with these bytes of JSON, whatever is asked.
    pub(crate) fn start(answer: Vec<u8>) -> anyhow::Result<Self> {
        let answer = Bytes::from(answer);
        let send = move |_: Bytes| ready(([(CONTENT_TYPE, "application/json")], answer.clone()));
        let router = Router::new().route("/scrape", post(send));
        let runtime = runtime()?;
        let listener = runtime.block_on(TcpListener::bind((ONE_HOST, 0)))?;
        let address = listener.local_addr()?;
        runtime.spawn(async move { axum::serve(listener, router).await });
        Ok(Self {
            base: format!("http://{address}"),
            _runtime: runtime,
        })
    }
}
