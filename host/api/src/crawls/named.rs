//! The crawl or the batch that a path names. `/crawl/{id}` and `/batch/{id}` are the same
//! endpoints, each for its own.

use std::sync::Arc;

use axum::extract::Request;
use axum::http::HeaderMap;
use axum::response::Response;

use trawl_billing::Account;
use trawl_crawl::{CrawlError, CrawlView};
use trawl_model::memory::Held;
use trawl_store::{CrawlKinds, CrawlState};

use super::status::CrawlStatus;
use crate::Api;
use crate::http::body::BODY_BYTES_MAX;
use crate::http::error::{ApiError, NO_BATCH};
use crate::http::format::ResponseFormat;
use crate::http::request::{ApiRequest, serve};
use crate::http::stream::holding;

/// What a path names.
#[derive(Clone)]
pub(super) struct Named {
    pub(super) api: Api,
    pub(super) account: Arc<Account>,
    /// What the endpoint is for.
    pub(super) kinds: CrawlKinds,
    pub(super) id: String,
}

impl Named {
    /// The crawl with this id.
    pub(super) fn crawl(api: Api, account: Arc<Account>, id: String) -> Self {
        Self {
            api,
            account,
            kinds: CrawlKinds::Crawls,
            id,
        }
    }

    /// The batch with this id.
    pub(super) fn batch(api: Api, account: Arc<Account>, id: String) -> Self {
        Self {
            kinds: CrawlKinds::Batches,
            ..Self::crawl(api, account, id)
        }
    }

    /// Checks that it exists, and that the endpoint is for it.
    ///
    /// # Errors
    /// It does not, or the store failed.
    pub(super) async fn check(&self) -> Result<(), ApiError> {
        let verb = self.api.rooms.crawls.verb(&self.account.id, &self.id).await;
        match verb {
            Ok(verb) if self.kinds.have(&verb) => Ok(()),
            Ok(_) | Err(CrawlError::Unknown) => Err(self.none()),
            Err(error) => Err(error.into()),
        }
    }

    /// The refusal of an id that names nothing.
    fn none(&self) -> ApiError {
        match self.kinds {
            CrawlKinds::Batches => ApiError::Unknown(NO_BATCH.to_owned()),
            CrawlKinds::All | CrawlKinds::Crawls => ApiError::NoCrawl,
        }
    }

    /// Shows its state.
    pub(super) async fn show(self, headers: &HeaderMap) -> Result<Response, ApiError> {
        self.check().await?;
        let crawls = &self.api.rooms.crawls;
        let view = crawls.show(&self.account.id, &self.id).await?;
        shown(&self.api, ResponseFormat::of(headers), view).await
    }

    /// Stops it, and shows its state.
    pub(super) async fn stop(self, headers: &HeaderMap) -> Result<Response, ApiError> {
        self.check().await?;
        let crawls = &self.api.rooms.crawls;
        let view = crawls.cancel(&self.account.id, &self.id).await?;
        shown(&self.api, ResponseFormat::of(headers), view).await
    }

    /// Resumes it with the secrets of a body, and shows its state.
    pub(super) async fn resume(self, request: Request) -> Result<Response, ApiError> {
        let (api, account) = (self.api.clone(), Arc::clone(&self.account));
        let work = |request: ApiRequest| async move {
            self.check().await?;
            let crawls = &self.api.rooms.crawls;
            let view = crawls.show(&request.account.id, &self.id).await?;
            let stored = crawls.request(&view).await?;
            let complete = move |request: &ApiRequest| with_secrets(&view, stored, &request.body);
            let (complete, request) = request.planned(complete).await?;
            let resumed = crawls.resume(&request.account.id, &self.id, complete);
            shown(&self.api, request.format, resumed.await?).await
        };
        serve(&api, account, request, BODY_BYTES_MAX, work).await
    }
}

/// The response with the state of a crawl. A long request of it is made ready where that delays no
/// other request.
async fn shown(api: &Api, format: ResponseFormat, view: CrawlView) -> Result<Response, ApiError> {
    let stored = api.rooms.crawls.request(&view).await?;
    let (account, n_bytes) = (view.record.account.clone(), stored.len());
    let show = move || {
        let (stored, lease) = stored.into_parts();
        let response = format.object(&CrawlStatus::new(view, &stored));
        response.map(|response| holding(response, lease))
    };
    api.planning.work(&account, n_bytes, show).await?
}

/// The stored request of a crawl with the secrets of a body.
fn with_secrets(
    view: &CrawlView,
    stored: Held<String>,
    body: &[u8],
) -> Result<Held<String>, ApiError> {
    // Decision D261.
    let sent: &[u8] = match body.trim_ascii() {
        b"" => b"{}",
        sent => sent,
    };
    match trawl_wire::with_secrets(&stored, view.record.needs_secrets, sent) {
        // A crawl that does not wait cannot be resumed, whatever secrets were sent.
        Err(_) if view.progress.state != CrawlState::Parked && is_object(sent) => Ok(stored),
        complete => {
            let complete = complete?;
            let (_, lease) = stored.into_parts();
            Ok(lease.hold(complete))
        }
    }
}

fn is_object(body: &[u8]) -> bool {
    serde_json::from_slice::<serde_json::Map<String, serde_json::Value>>(body).is_ok()
}
