//! A server that waits for the database: it sends requests to the one that has it, and extracts
//! pages for that one.

use std::sync::Arc;

use axum::body::to_bytes;
use axum::extract::{Request, State};
use axum::response::{IntoResponse, Response};
use axum::{Router, routing};
use http::StatusCode;
use tokio::sync::watch;
use tokio_util::sync::CancellationToken;

use trawl_engine::extract::Workers;
use trawl_engine::extract::for_node::{self, Refusal};
use trawl_engine::extract::remote::REQUEST_BYTES_MAX;
use trawl_plugins::Plugins;
use trawl_store::Serving;

use super::announcement::announce;
use super::transport::client;
use super::{PAGES_PATH, forward, is_of_a_node, refusal};

/// What a server learns while it waits.
#[derive(Default)]
pub(crate) struct Waiting {
    /// Who has the database.
    pub(crate) serving: watch::Sender<Option<Serving>>,
    /// Its own plugins, once they are loaded.
    pub(crate) plugins: watch::Sender<Option<Arc<Plugins>>>,
}

/// The server that waits.
pub(in super::super) struct Standby {
    serving: watch::Receiver<Option<Serving>>,
    plugins: watch::Receiver<Option<Arc<Plugins>>>,
    workers: Workers,
}

impl Standby {
    pub(in super::super) fn new(waiting: &Waiting) -> Arc<Self> {
        Arc::new(Self {
            serving: waiting.serving.subscribe(),
            plugins: waiting.plugins.subscribe(),
            workers: Workers::new(),
        })
    }

    /// Pages to extract, and everything else for the server that has the database.
    pub(in super::super) fn router(self: &Arc<Self>) -> Router {
        Router::new()
            .route(PAGES_PATH, routing::post(extract))
            .with_state(Arc::clone(self))
            .merge(forward::router(self.serving.clone()))
    }

    /// Announces the server at this address from the time when its plugins are loaded, and reloads
    /// them when they change, until it has `ended` to wait.
    pub(in super::super) async fn work(
        self: Arc<Self>,
        address: Option<String>,
        ended: CancellationToken,
    ) {
        let Some(plugins) = self.loaded(&ended).await else {
            return;
        };
        let Some(address) = address else {
            tracing::warn!(
                "others do not know where this server is, so it extracts no pages for them: set \
                 `[store] address`"
            );
            return;
        };
        let watching = plugins.watch(ended.clone());
        let node = (address, self.workers.n_threads());
        let announcing = announce(client(), self.serving.clone(), node);
        let _ended = ended
            .run_until_cancelled(async { tokio::join!(watching, announcing) })
            .await;
    }

    /// The plugins once they are loaded; `None` if the wait has ended before.
    async fn loaded(&self, ended: &CancellationToken) -> Option<Arc<Plugins>> {
        let mut plugins = self.plugins.clone();
        let loaded = plugins.wait_for(Option::is_some);
        let loaded = ended.run_until_cancelled(loaded).await?;
        loaded.ok()?.clone()
    }
}

/// Extracts a page for the server that has the database.
async fn extract(State(standby): State<Arc<Standby>>, request: Request) -> Response {
    let key = standby.serving.borrow().as_ref().map(|it| it.key.clone());
    if !is_of_a_node(request.headers(), key.as_ref()) {
        return refusal(
            StatusCode::UNAUTHORIZED,
            "this is for servers of the same database",
        );
    }
    let registry = standby.plugins.borrow().as_ref().map(|it| it.snapshot());
    let Some(registry) = registry else {
        return refusal(StatusCode::CONFLICT, "the plugins are not loaded yet");
    };
    let body = to_bytes(request.into_body(), REQUEST_BYTES_MAX).await;
    let Ok(body) = body else {
        return refusal(StatusCode::PAYLOAD_TOO_LARGE, "the page is too large");
    };
    match for_node::answer(&standby.workers, registry, &body).await {
        Ok(made) => made.into_response(),
        Err(Refusal::OtherPlugins) => {
            refusal(StatusCode::CONFLICT, "other plugins are loaded here")
        }
        Err(Refusal::Malformed) => refusal(StatusCode::BAD_REQUEST, "not a page to extract"),
    }
}
