//! Starts the crawls of a request and answers with their pages or their ids.

use std::io;
use std::sync::Arc;

use axum::body::Bytes;
use axum::response::Response;
use futures_util::{Stream, StreamExt, future, stream};
use serde_json::{Value, json};
use tokio::sync::mpsc::Receiver;

use trawl_billing::{Payment, Slot};
use trawl_crawl::{CrawlHandle, NewCrawl};
use trawl_plan::Ignored;
use trawl_plan::address::Receiver as WebhookReceiver;
use trawl_plan::crawl::CrawlPlan;
use trawl_plugins::Registry;
use trawl_wire::{CrawlRequest, PlanContext, Verb, runs};

use crate::Service;
use crate::http::error::ApiError;
use crate::http::format::ResponseFormat;
use crate::http::headers;
use crate::http::request::ApiRequest;
use crate::http::stream as responses;

/// Starts the crawls of a request and answers with their pages, or with their ids.
pub(crate) async fn pages(request: ApiRequest, verb: Verb) -> Result<Response, ApiError> {
    let (planned, request) = request.planned(move |request| plan(request, verb)).await?;
    planned.run(request, None).await
}

/// Plans the crawls of a request.
pub(crate) fn plan(request: &ApiRequest, verb: Verb) -> Result<PlannedCrawls, ApiError> {
    let snapshot = request.api.service.snapshot();
    let catalog = request.asking(&snapshot);
    let context = PlanContext {
        catalog: &catalog,
        defaults: request.defaults(),
    };
    let crawls = runs(&request.body, verb, context)?;
    Ok(PlannedCrawls {
        registry: snapshot.registry,
        crawls,
        verb,
    })
}

/// Crawls that are planned and not started yet.
pub(crate) struct PlannedCrawls {
    registry: Arc<Registry>,
    crawls: CrawlRequest,
    verb: Verb,
}

impl PlannedCrawls {
    /// Starts the crawls. Background crawls hold the request's slot until the last of them ends.
    pub(crate) async fn run(
        self,
        request: ApiRequest,
        slot: Option<Arc<Slot>>,
    ) -> Result<Response, ApiError> {
        let format = request.format;
        let n_left_out = self.urls_left_out();
        let StartedCrawls { crawls, ignored } = self.start(request, slot).await?;
        let mut response = respond(format, crawls, &ignored)?;
        headers::set_left_out(&mut response, n_left_out);
        Ok(response)
    }

    /// How many URLs of the texts are beyond the limit and not crawled.
    fn urls_left_out(&self) -> u64 {
        let crawls = self.crawls.crawls.iter();
        let texts = crawls.filter_map(|crawl| crawl.plan.named.as_ref());
        texts.map(|found| u64::from(found.n_dropped)).sum()
    }

    /// Whether all of them run in the background.
    pub(crate) fn are_in_background(&self) -> bool {
        let mut crawls = self.crawls.crawls.iter();
        crawls.all(|crawl| crawl.plan.in_background)
    }

    /// Whether an earlier try of the request has started all of them.
    pub(crate) async fn have_begun(&self, request: &ApiRequest) -> Result<bool, ApiError> {
        let Some(payment) = &request.payment else {
            return Ok(false);
        };
        let parts: Vec<Payment> = (0..self.crawls.crawls.len())
            .map(|n| payment.part(n))
            .collect();
        let crawls = &request.api.rooms.crawls;
        Ok(crawls.have_begun(&request.account.id, &parts).await?)
    }

    /// The plan of the first crawl, and the plugins that all crawls use.
    pub(crate) fn first(&self) -> Option<(&CrawlPlan, Arc<Registry>)> {
        let first = self.crawls.crawls.first()?;
        Some((&first.plan, Arc::clone(&self.registry)))
    }

    /// Starts the crawls and leaves the response to the caller.
    pub(crate) async fn start(
        self,
        request: ApiRequest,
        slot: Option<Arc<Slot>>,
    ) -> Result<StartedCrawls, ApiError> {
        let CrawlRequest { crawls, ignored } = self.crawls;
        let plans: Vec<&CrawlPlan> = crawls.iter().map(|crawl| &crawl.plan).collect();
        check_receivers(&*request.api.service, &plans).await?;
        let payment = request.payment.as_ref();
        let crawls = crawls.into_iter().enumerate().map(|(n, crawl)| NewCrawl {
            account: request.account.id.clone(),
            key: request.account.key,
            plan: crawl.plan,
            request: crawl.request,
            needs_secrets: crawl.needs_secrets,
            secrets: crawl.secrets,
            verb: self.verb.name(),
            terms: request.terms,
            slot: slot.clone(),
            registry: Arc::clone(&self.registry),
            payment: payment.map(|payment| payment.part(n)),
            trace: request.trace,
        });
        let crawls = request.api.rooms.crawls.begin(crawls.collect()).await?;
        Ok(StartedCrawls { crawls, ignored })
    }
}

/// Refuses webhooks that could never be delivered.
async fn check_receivers(service: &dyn Service, plans: &[&CrawlPlan]) -> Result<(), ApiError> {
    let webhooks = plans.iter().filter_map(|plan| plan.webhook.as_ref());
    let mut receivers: Vec<&WebhookReceiver> =
        webhooks.map(|webhook| &webhook.destination).collect();
    receivers.sort_unstable_by(|a, b| a.expose().cmp(b.expose()));
    receivers.dedup();
    let checks = receivers
        .into_iter()
        .map(|receiver| service.check_receiver(receiver));
    future::try_join_all(checks)
        .await
        .map(drop)
        .map_err(|reason| ApiError::Invalid(format!("webhooks.destination: {reason}")))
}

/// Crawls that are running.
pub(crate) struct StartedCrawls {
    /// The crawls.
    pub(crate) crawls: Vec<CrawlHandle>,
    /// Parameters without effect.
    pub(crate) ignored: Ignored,
}

fn respond(
    format: ResponseFormat,
    crawls: Vec<CrawlHandle>,
    ignored: &Ignored,
) -> Result<Response, ApiError> {
    let ids: Vec<String> = crawls.iter().map(|crawl| crawl.id.clone()).collect();
    let entries: Vec<_> = crawls
        .into_iter()
        .filter_map(|crawl| crawl.entries)
        .collect();
    let mut response = if ids.is_empty() {
        // `crawl-text` with a text that contains no URL.
        responses::entries(format, stream::empty())
    } else if entries.is_empty() {
        queued(format, &ids)?
    } else {
        let entries = entries.into_iter().map(receiver_stream);
        responses::entries(format, stream::select_all(entries))
    };
    headers::set_crawl_ids(&mut response, &ids);
    headers::set_ignored_parameters(&mut response, ignored);
    Ok(response)
}

fn receiver_stream(
    entries: Receiver<Bytes>,
) -> impl Stream<Item = io::Result<Bytes>> + Send + Unpin {
    stream::unfold(entries, |mut entries| async move {
        entries.recv().await.map(|entry| (Ok(entry), entries))
    })
    .boxed()
}

/// The response to a request for background crawls. Decision D48: a list if there are several.
fn queued(format: ResponseFormat, ids: &[String]) -> Result<Response, ApiError> {
    let one = |id: &String| json!({"id": id, "status": "queued"});
    match ids {
        [id] => format.object(&one(id)),
        ids => format.object(&ids.iter().map(one).collect::<Value>()),
    }
}
