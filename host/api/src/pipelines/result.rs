//! Runs a pipeline's crawl to its end and joins the findings of its pages.

use std::sync::Arc;

use axum::response::Response;
use serde_json::{Map, Value};

use trawl_billing::AccountId;
use trawl_crawl::CrawlHandle;
use trawl_crawl::pipeline::{FirstFailure, Gathered, ModelUse, Pipelines};
use trawl_model::{Cause, Charge, StopReason};
use trawl_plan::{AnalystChoice, Ignored, Pipeline};
use trawl_plugins::Registry;
use trawl_wire::Verb;

use crate::crawls::start::{self, StartedCrawls};
use crate::http::error::ApiError;
use crate::http::headers;
use crate::http::request::ApiRequest;

/// A finished crawl with the joined findings of its pages.
pub(super) struct PipelineResult {
    /// The seed URL as requested.
    pub(super) url: String,
    /// The joined findings.
    pub(super) joined: Map<String, Value>,
    /// The charge of the crawl.
    pub(super) charge: Charge,
    /// Set if every page failed or the findings could not be joined.
    pub(super) failure: Option<FirstFailure>,
    /// Parameters that had no effect on a page, each once.
    pub(super) ignored_by_pages: Vec<String>,
    /// Use of the configured model.
    pub(super) model: Option<ModelUse>,
    /// Pages whose findings exceeded the limit.
    pub(super) pages_left_out: Option<u64>,
    crawl_ids: Vec<String>,
    ignored: Ignored,
}

impl PipelineResult {
    /// Runs the crawl of a request and joins its findings.
    pub(super) async fn of(request: ApiRequest, pipeline: Pipeline) -> Result<Self, ApiError> {
        let rooms = Arc::clone(&request.api.rooms);
        let account = request.account.id.clone();
        let plan = move |request: &ApiRequest| start::plan(request, Verb::Pipeline(pipeline));
        let (planned, request) = request.planned(plan).await?;
        let (url, analyst, registry) = {
            let (plan, registry) = planned.first().ok_or(ApiError::Internal)?;
            let analyst = plan.seed.output.analyst.clone();
            let analyst = analyst.ok_or(ApiError::Internal)?;
            (plan.seed.requested.clone(), analyst, registry)
        };
        let StartedCrawls { crawls, ignored } = planned.start(request, None).await?;
        let paid_as: Vec<String> = crawls.iter().map(|crawl| crawl.paid_as.clone()).collect();
        let (crawl_ids, mut gathered) = gather(crawls).await?;
        let mut result = Self {
            url,
            joined: Map::new(),
            charge: Charge::default(),
            failure: gathered.failure.take().filter(|_| gathered.n_pages == 0),
            ignored_by_pages: std::mem::take(&mut gathered.ignored).into_iter().collect(),
            model: gathered.model.take(),
            pages_left_out: Some(gathered.n_left_out).filter(|n| *n > 0),
            crawl_ids,
            ignored,
        };
        let has_no_entry = gathered.n_pages == 0 && result.failure.is_none();
        if let Some(id) = result.crawl_ids.first().filter(|_| has_no_entry) {
            // The stream of entries ends only after the end of the crawl is stored.
            let stop = rooms.crawls.show(&account, id).await?.progress.stop;
            let reason = no_pages_reason(stop.unwrap_or(StopReason::Failed));
            result.failure = Some(failed(Cause::NoPages, reason));
        }
        for name in &paid_as {
            let charge = rooms.billing.run_charge(name).await;
            result.charge = charge.map_err(|error| {
                tracing::error!(payment = name, error = %error, "cannot sum up the charge of a pipeline");
                ApiError::Internal
            })?;
        }
        result
            .join(&rooms.pipelines, &account, &analyst, registry, gathered)
            .await;
        Ok(result)
    }

    async fn join(
        &mut self,
        pipelines: &Pipelines,
        account: &AccountId,
        analyst: &AnalystChoice,
        registry: Arc<Registry>,
        mut gathered: Gathered,
    ) {
        if gathered.is_empty() {
            return;
        }
        match pipelines
            .join(account, registry, analyst, &mut gathered)
            .await
        {
            Ok(Value::Object(joined)) => self.joined = joined,
            Ok(_) => {}
            Err(failure) => self.failure = Some(failed(failure.cause, &failure.message)),
        }
    }

    /// Status of the response object.
    pub(super) fn status(&self) -> u16 {
        self.failure.as_ref().map_or(200, |failure| failure.status)
    }

    /// Sets the headers that report the crawls and the ignored parameters.
    pub(super) fn set_headers(&self, response: &mut Response) {
        headers::set_crawl_ids(response, &self.crawl_ids);
        headers::set_ignored_parameters(response, &self.ignored);
    }
}

/// A failure that no page's entry has.
fn failed(cause: Cause, error: &str) -> FirstFailure {
    FirstFailure {
        status: cause.status(),
        cause: Some(cause.name().to_owned()),
        error: error.to_owned(),
    }
}

/// Reads the entries of all crawls to their end.
async fn gather(crawls: Vec<CrawlHandle>) -> Result<(Vec<String>, Gathered), ApiError> {
    let mut ids = Vec::new();
    let mut gathered = Gathered::default();
    for crawl in crawls {
        ids.push(crawl.id);
        let mut entries = crawl.entries.ok_or(ApiError::Internal)?;
        while let Some(entry) = entries.recv().await {
            gathered.add(&entry);
        }
    }
    Ok((ids, gathered))
}

/// Why a crawl ended without a page, for its client.
fn no_pages_reason(stop: StopReason) -> &'static str {
    match stop {
        StopReason::Completed
        | StopReason::Limit
        | StopReason::Depth
        | StopReason::Budget
        | StopReason::HostLimit => {
            "the crawl may fetch no page, check `budget`, `blacklist`, `whitelist` and `limit`"
        }
        StopReason::Spend => "a page may cost more than `max_credits_allowed`, raise it",
        StopReason::Balance => "balance is zero, top up the account",
        StopReason::KeyBudget => {
            "the monthly budget of the key is used up: raise it, or use another key"
        }
        StopReason::Timeout => "the crawl timed out before its first page, raise `crawl_timeout`",
        StopReason::Cancelled | StopReason::HungUp => "the crawl was stopped before its first page",
        StopReason::ServerStopped => {
            "the server was stopped before the first page, send the request again"
        }
        StopReason::Storage => {
            "the account has stored as much as it may, see `limits` of GET /account"
        }
        StopReason::PlanEnded => "the Unlimited plan has ended, see GET /account",
        StopReason::Failed => "the crawl failed with an internal error, send the request again",
    }
}
