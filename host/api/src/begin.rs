//! Crawls of a request: planned, begun, and answered by their pages or their ids.

use std::sync::Arc;

use axum::body::Bytes;
use axum::http::HeaderValue;
use axum::response::Response;
use futures_util::{Stream, StreamExt, stream};
use serde_json::{Value, json};

use super::error::ApiError;
use super::post::{ApiRequest, Form};
use super::scrape::tell_ignored;
use super::service::Run;
use super::stream as answers;
use trawl_billing::Slot;
use trawl_crawl::{CrawlHandle, NewCrawl};
use trawl_plan::crawl::CrawlPlan;
use trawl_plugins::Registry;
use trawl_wire::{CrawlRequest, PlanContext, Verb, crawl_request};

/// Plans the crawls of a request whose body may be large where planning harms nobody.
pub(super) async fn planned_aside(
    posted: ApiRequest,
    verb: Verb,
) -> Result<(Planned, ApiRequest), ApiError> {
    let planning = tokio::task::spawn_blocking(move || {
        let planned = planned(&posted, verb)?;
        Ok((planned, posted))
    });
    planning.await.unwrap_or_else(|panic| {
        tracing::error!(error = %panic, "the planning of a request panicked");
        Err(ApiError::Internal)
    })
}

/// Crawls that are planned and not begun.
pub(super) struct Planned {
    run: Arc<dyn Run>,
    request: CrawlRequest,
    verb: Verb,
}

/// Plans the crawls of a request.
pub(super) fn planned(posted: &ApiRequest, verb: Verb) -> Result<Planned, ApiError> {
    let run = posted.begin_run();
    let ground = PlanContext {
        catalog: run.catalog(),
        ways: posted.ways(),
    };
    let request = crawl_request(&posted.body, verb, ground)?;
    Ok(Planned { run, request, verb })
}

impl Planned {
    /// Begins the crawls. Those in the background keep the request's slot until the last of them has ended.
    pub(super) async fn run(
        self,
        posted: ApiRequest,
        slot: Option<Arc<Slot>>,
    ) -> Result<Response, ApiError> {
        let form = posted.form;
        let Begun { crawls, ignored } = self.begin(posted, slot).await?;
        answered(form, crawls, &ignored)
    }

    /// The first crawl's plan, and the plugins that all are made on.
    pub(super) fn first(&self) -> Option<(&CrawlPlan, Arc<Registry>)> {
        let first = self.request.crawls.first()?;
        Some((&first.plan, self.run.registry()))
    }

    /// Begins the crawls likewise, and leaves the answer to the caller.
    pub(super) async fn begin(
        self,
        posted: ApiRequest,
        slot: Option<Arc<Slot>>,
    ) -> Result<Begun, ApiError> {
        let CrawlRequest { crawls, ignored } = self.request;
        let mut begun = Vec::with_capacity(crawls.len());
        for crawl in crawls {
            let begin = NewCrawl {
                account: posted.account.id.clone(),
                plan: crawl.plan,
                request: crawl.request,
                needs_secrets: crawl.needs_secrets,
                verb: self.verb.name(),
                terms: posted.terms,
                slot: slot.clone(),
                registry: self.run.registry(),
            };
            begun.push(posted.service.crawls().begin(begin).await?);
        }
        Ok(Begun {
            crawls: begun,
            ignored,
        })
    }
}

/// Crawls that were begun.
pub(super) struct Begun {
    /// The crawls.
    pub(super) crawls: Vec<CrawlHandle>,
    /// Parameters without effect.
    pub(super) ignored: Vec<String>,
}

fn answered(form: Form, begun: Vec<CrawlHandle>, ignored: &[String]) -> Result<Response, ApiError> {
    let ids: Vec<String> = begun.iter().map(|crawl| crawl.id.clone()).collect();
    let entries: Vec<_> = begun
        .into_iter()
        .filter_map(|crawl| crawl.entries)
        .collect();
    let mut response = if ids.is_empty() {
        // A text without addresses.
        answers::entries(form, stream::empty())
    } else if entries.is_empty() {
        queued(form, &ids)?
    } else {
        let entries = entries.into_iter().map(receiving);
        answers::entries(form, stream::select_all(entries))
    };
    name_crawls(&ids, &mut response);
    tell_ignored(ignored, &mut response);
    Ok(response)
}

/// Names the crawls of a request in the answer's header.
pub(super) fn name_crawls(ids: &[String], response: &mut Response) {
    if !ids.is_empty()
        && let Ok(ids) = HeaderValue::from_str(&ids.join(", "))
    {
        response.headers_mut().insert("x-crawl-id", ids);
    }
}

fn receiving(
    entries: tokio::sync::mpsc::Receiver<Bytes>,
) -> impl Stream<Item = Bytes> + Send + Unpin {
    stream::unfold(entries, |mut entries| async move {
        entries.recv().await.map(|entry| (entry, entries))
    })
    .boxed()
}

/// Decision D48: several seeds are answered by a list.
fn queued(form: Form, ids: &[String]) -> Result<Response, ApiError> {
    let one = |id: &String| json!({"id": id, "status": "queued"});
    match ids {
        [id] => form.one(&one(id)),
        ids => form.one(&ids.iter().map(one).collect::<Value>()),
    }
}
