//! The five `/pipeline/…` endpoints: a crawl with an analyst at each page, or of the addresses in a text. Deprecated.

use std::sync::Arc;

use axum::Extension;
use axum::extract::{Request, State};
use axum::http::{HeaderMap, HeaderValue, header};
use axum::response::Response;
use serde::Serialize;
use serde_json::{Map, Value, json};
use utoipa::ToSchema;

use super::Api;
use super::begin::{self, Begun};
use super::error::ApiError;
use super::post::{self, ApiRequest};
use super::scrape::{BODY_BYTES_MAX, tell_ignored};
use trawl_billing::Account;
use trawl_crawl::pipeline::{Gathered, ModelUse};
use trawl_model::StopReason;
use trawl_plan::{AnalystChoice, Pipeline};
use trawl_plugins::Registry;
use trawl_wire::Entry;
use trawl_wire::{Costs, PipelineObject, Verb};

/// Most bytes of the body of `crawl-text`: escapes of JSON make 10 MB of text several times as much.
const TEXT_BODY_BYTES_MAX: usize = 64_000_000;
/// When the endpoints became deprecated, 2025-01-01T00:00:00Z, in the form of RFC 9745 section 2.1.
/// Spec S29.
const DEPRECATED: HeaderValue = HeaderValue::from_static("@1735689600");
/// What to use instead. RFC 9745 section 3; RFC 5829 section 3.3.
const SUCCESSOR: HeaderValue = HeaderValue::from_static("</scrape>; rel=\"successor-version\"");

/// Whether a path, with or without its version, is below `/pipeline/`.
pub(super) fn is_deprecated(path: &str) -> bool {
    let path = path.strip_prefix("/v1").unwrap_or(path);
    path.starts_with("/pipeline/")
}

/// Tells of an answer, errors too, that its endpoint is deprecated.
pub(super) fn tell_deprecation(headers: &mut HeaderMap) {
    headers.insert("deprecation", DEPRECATED);
    headers.insert(header::LINK, SUCCESSOR);
}

/// Answer of `/pipeline/extract-qa`.
#[derive(Serialize, ToSchema)]
#[schema(as = QaAnswer, example = json!({
    "content": [{"question": "When are you open?", "answer": "Monday to Friday, 9 to 17.", "url": "https://example.com/faq", "score": 0.92}],
    "cost": {"ai_cost": 0.0, "compute_cost": 0.000000021, "file_cost": 0.0, "bytes_transferred_cost": 0.00001256,
        "transform_cost": 0.000000112, "total_cost": 0.000012693},
    "error": null, "status": 200, "url": "https://example.com",
}))]
pub(super) struct QaAnswer {
    /// Questions with their answers, the best first; each answer stands so on its page.
    #[schema(value_type = Vec<Object>)]
    content: Value,
    /// What the crawl costs: the sums over its pages.
    cost: Costs,
    /// Why there is nothing, when no page was good; else null.
    error: Option<String>,
    /// 200, or that of the first page when no page was good.
    status: u16,
    /// The seed as it was asked for.
    url: String,
    /// Whether the configured model was used, and why not.
    #[serde(skip_serializing_if = "Option::is_none")]
    model: Option<ModelView>,
    /// Good pages whose findings were too many to be taken in.
    #[serde(skip_serializing_if = "Option::is_none")]
    pages_left_out: Option<u64>,
}

/// Answer of `/pipeline/filter-links`.
#[derive(Serialize, ToSchema)]
#[schema(as = LinksAnswer, example = json!({
    "content": [{"relevant_urls": ["https://example.com/pricing"], "links": [{"url": "https://example.com/pricing", "text": "Pricing",
        "score": 0.87, "content_type": "product", "reason": "`pricing` stands in its text", "page": "https://example.com/"}]}],
    "cost": {"ai_cost": 0.0, "compute_cost": 0.000000021, "file_cost": 0.0, "bytes_transferred_cost": 0.00001256,
        "transform_cost": 0.000000112, "total_cost": 0.000012693},
    "error": "", "status": 200,
}))]
pub(super) struct LinksAnswer {
    /// One object: `relevant_urls`, the best first, and `links` with their scores and reasons.
    #[schema(value_type = Vec<Object>)]
    content: Vec<Value>,
    /// What the crawl costs: the sums over its pages.
    cost: Costs,
    /// Why there is nothing, when no page was good; else empty.
    error: String,
    /// 200, or that of the first page when no page was good.
    status: u16,
    /// Whether the configured model was used, and why not.
    #[serde(skip_serializing_if = "Option::is_none")]
    model: Option<ModelView>,
    /// Good pages whose findings were too many to be taken in.
    #[serde(skip_serializing_if = "Option::is_none")]
    pages_left_out: Option<u64>,
}

/// What the configured model did.
#[derive(Serialize, ToSchema)]
#[schema(as = ModelUse)]
struct ModelView {
    /// Whether it was used for any page.
    used: bool,
    /// Why it was not, for the first page where it was not.
    #[serde(skip_serializing_if = "Option::is_none")]
    reason: Option<String>,
}

impl From<ModelUse> for ModelView {
    fn from(model: ModelUse) -> Self {
        Self {
            used: model.used,
            reason: model.reason,
        }
    }
}

#[utoipa::path(
    post,
    path = "/pipeline/extract-contacts",
    description = "Crawls and finds contacts: each page's entry has them in `contacts`. All that a crawl found is kept, see \
        `GET /data/contacts`. Deprecated.",
    request_body(content = PipelineObject, description = "The parameters of `/crawl` and those of the pipeline",
        example = json!({"url": "http://sample.trawl.test/", "limit": 3, "country": "DE", "return_format": "empty"})),
    responses(
        (status = 200, description = "One entry a page, with `contacts`", body = Vec<Entry>, example = json!([{
            "url": "https://example.com/contact", "status": 200, "content": "", "error": null, "duration_elasped_ms": 84,
            "contacts": {"emails": [{"value": "info@example.com", "sources": ["mailto"]}], "phones": [], "social": [], "people": [],
                "addresses": [], "business": {}},
            "costs": {"ai_cost": 0.0, "compute_cost": 0.000000012, "file_cost": 0.0, "bytes_transferred_cost": 0.000001256,
                "transform_cost": 0.000000002, "total_cost": 0.00000127},
        }])),
    ),
    security(("key" = []))
)]
#[deprecated]
pub(super) async fn extract_contacts(
    State(api): State<Api>,
    Extension(account): Extension<Arc<Account>>,
    request: Request,
) -> Result<Response, ApiError> {
    post::serve(&api, account, request, BODY_BYTES_MAX, |posted| {
        pages(posted, Pipeline::ExtractContacts)
    })
    .await
}

#[utoipa::path(
    post,
    path = "/pipeline/label",
    description = "Crawls and says what each page is about: its entry has it in `labels`. Deprecated.",
    request_body(content = PipelineObject, description = "The parameters of `/crawl` and those of the pipeline",
        example = json!({"url": "http://sample.trawl.test/", "limit": 2, "labels": ["shop", "sailing", "documentation"]})),
    responses(
        (status = 200, description = "One entry a page, with `labels`", body = Vec<Entry>, example = json!([{
            "url": "https://example.com/", "status": 200, "content": "<!doctype html>", "error": null, "duration_elasped_ms": 84,
            "labels": {"labels": [{"label": "documentation", "confidence": 0.81, "reason": "`guide`, `reference`"}]},
            "costs": {"ai_cost": 0.0, "compute_cost": 0.000000012, "file_cost": 0.0, "bytes_transferred_cost": 0.000001256,
                "transform_cost": 0.000000002, "total_cost": 0.00000127},
        }])),
    ),
    security(("key" = []))
)]
#[deprecated]
pub(super) async fn label(
    State(api): State<Api>,
    Extension(account): Extension<Arc<Account>>,
    request: Request,
) -> Result<Response, ApiError> {
    post::serve(&api, account, request, BODY_BYTES_MAX, |posted| {
        pages(posted, Pipeline::Label)
    })
    .await
}

#[utoipa::path(
    post,
    path = "/pipeline/crawl-text",
    description = "Takes text, markdown or HTML and crawls every address in it as one crawl: one `limit`, one bill. `depth` is 0 when not \
        set: the named pages themselves. Deprecated.",
    request_body(content = PipelineObject, description = "The parameters of `/crawl` but for `url`, and `text`",
        example = json!({"text": "See http://sample.trawl.test/tides and [the knots](http://sample.trawl.test/knots).", "limit": 10,
            "return_format": "markdown"})),
    responses(
        (status = 200, description = "One entry a page; an empty list when the text has no address", body = Vec<Entry>),
        (status = 400, description = "A parameter is wrong; the text begins with its name",
            example = json!({"error": "text: is missing, send the text with the addresses in it"})),
        (status = 413, description = "The text has more than 10,000,000 bytes"),
    ),
    security(("key" = []))
)]
#[deprecated]
pub(super) async fn crawl_text(
    State(api): State<Api>,
    Extension(account): Extension<Arc<Account>>,
    request: Request,
) -> Result<Response, ApiError> {
    post::serve(&api, account, request, TEXT_BODY_BYTES_MAX, |posted| {
        pages(posted, Pipeline::CrawlText)
    })
    .await
}

#[utoipa::path(
    post,
    path = "/pipeline/extract-qa",
    description = "Crawls and answers an inquiry with questions and answers that stand on the pages. Deprecated.",
    request_body(content = PipelineObject, description = "One object: the parameters of `/crawl` and those of the pipeline",
        example = json!({"url": "http://sample.trawl.test/", "limit": 4, "prompt": "What is the rule of twelfths?", "count": 5})),
    responses(
        (status = 200, description = "The best pairs of all pages", body = QaAnswer),
    ),
    security(("key" = []))
)]
#[deprecated]
pub(super) async fn extract_qa(
    State(api): State<Api>,
    Extension(account): Extension<Arc<Account>>,
    request: Request,
) -> Result<Response, ApiError> {
    post::serve(&api, account, request, BODY_BYTES_MAX, |posted| async {
        let form = posted.form;
        let whole = PipelineResult::of(posted, Pipeline::ExtractQa).await?;
        let content = whole
            .joined
            .get("content")
            .filter(|content| content.is_array());
        let answer = QaAnswer {
            content: content.cloned().unwrap_or_else(|| json!([])),
            cost: Costs::new(&whole.charge, None),
            error: whole.failure.clone().map(|(_, error)| error),
            status: whole.status(),
            url: whole.url.clone(),
            model: whole.model.clone().map(ModelView::from),
            pages_left_out: whole.pages_left_out,
        };
        let mut response = form.one(&answer)?;
        whole.tell(&mut response);
        Ok(response)
    })
    .await
}

#[utoipa::path(
    post,
    path = "/pipeline/filter-links",
    description = "Crawls and sorts out the links that matter. Deprecated.",
    request_body(content = PipelineObject, description = "One object: the parameters of `/crawl` and those of the pipeline",
        example = json!({"url": "http://sample.trawl.test/", "limit": 2, "prompt": "knots"})),
    responses(
        (status = 200, description = "The relevant links of all pages", body = LinksAnswer),
    ),
    security(("key" = []))
)]
#[deprecated]
pub(super) async fn filter_links(
    State(api): State<Api>,
    Extension(account): Extension<Arc<Account>>,
    request: Request,
) -> Result<Response, ApiError> {
    post::serve(&api, account, request, BODY_BYTES_MAX, |posted| async {
        let form = posted.form;
        let mut whole = PipelineResult::of(posted, Pipeline::FilterLinks).await?;
        let mut found = std::mem::take(&mut whole.joined);
        if !found.get("relevant_urls").is_some_and(Value::is_array) {
            found.insert("relevant_urls".to_owned(), json!([]));
        }
        let answer = LinksAnswer {
            content: vec![Value::Object(found)],
            cost: Costs::new(&whole.charge, None),
            error: whole
                .failure
                .clone()
                .map(|(_, error)| error)
                .unwrap_or_default(),
            status: whole.status(),
            model: whole.model.clone().map(ModelView::from),
            pages_left_out: whole.pages_left_out,
        };
        let mut response = form.one(&answer)?;
        whole.tell(&mut response);
        Ok(response)
    })
    .await
}

/// The crawls of a pipeline whose answer is their pages.
async fn pages(posted: ApiRequest, pipeline: Pipeline) -> Result<Response, ApiError> {
    let (planned, posted) = begin::planned_aside(posted, Verb::Pipeline(pipeline)).await?;
    planned.run(posted, None).await
}

/// Why a crawl ended without a page, in words for its caller.
fn without_pages(stop: StopReason) -> &'static str {
    match stop {
        StopReason::Completed | StopReason::Limit | StopReason::Depth | StopReason::Budget => {
            "there was no page that the crawl may fetch, check `budget`, `blacklist`, `whitelist` and `limit`"
        }
        StopReason::Spend => "a page may cost more than `max_credits_allowed` lets it, raise it",
        StopReason::Balance => "balance is zero",
        StopReason::Timeout => {
            "the crawl's time was over before its first page, raise `crawl_timeout`"
        }
        StopReason::Cancelled | StopReason::HungUp => "the crawl was stopped before its first page",
        StopReason::ServerStopped => {
            "the server was stopped before the first page, send the request again"
        }
        StopReason::Failed => "the crawl failed by the server's doing, send the request again",
    }
}

/// A crawl to its end, with its findings joined.
struct PipelineResult {
    url: String,
    ids: Vec<String>,
    ignored: Vec<String>,
    joined: Map<String, Value>,
    charge: trawl_model::Charge,
    /// Status and text, when no page was good or the findings could not be joined.
    failure: Option<(u16, String)>,
    model: Option<ModelUse>,
    pages_left_out: Option<u64>,
}

impl PipelineResult {
    async fn of(posted: ApiRequest, pipeline: Pipeline) -> Result<Self, ApiError> {
        let service = Arc::clone(&posted.service);
        let account = posted.account.id.clone();
        let (planned, posted) = begin::planned_aside(posted, Verb::Pipeline(pipeline)).await?;
        let (url, choice, registry) = {
            let (plan, registry) = planned.first().ok_or(ApiError::Internal)?;
            let choice = plan.seed.output.analyst.clone();
            let choice = choice.ok_or(ApiError::Internal)?;
            (plan.seed.requested.clone(), choice, registry)
        };
        let Begun { crawls, ignored } = planned.begin(posted, None).await?;
        let mut ids = Vec::new();
        let mut gathered = Gathered::default();
        for crawl in crawls {
            ids.push(crawl.id);
            let mut entries = crawl.entries.ok_or(ApiError::Internal)?;
            while let Some(entry) = entries.recv().await {
                gathered.add(&entry);
            }
        }
        let mut whole = Self {
            url,
            ignored,
            joined: Map::new(),
            charge: trawl_model::Charge::default(),
            failure: gathered.failure.take().filter(|_| gathered.n_pages == 0),
            model: gathered.model.take(),
            pages_left_out: Some(gathered.n_left_out).filter(|n| *n > 0),
            ids,
        };
        let is_without_pages = gathered.n_pages == 0 && whole.failure.is_none();
        if let Some(id) = whole.ids.first().filter(|_| is_without_pages) {
            // The entries end only when the crawl's end is written down.
            let stop = service.crawls().show(&account, id).await?.tally.stop;
            let why = without_pages(stop.unwrap_or(StopReason::Failed));
            whole.failure = Some((trawl_model::failure::status::UNKNOWN, why.to_owned()));
        }
        for id in &whole.ids {
            let charge = service.pipelines().charge(id).await;
            whole.charge = charge.map_err(|error| {
                tracing::error!(crawl = id, error = %error, "a pipeline's bill could not be added up");
                ApiError::Internal
            })?;
        }
        whole
            .join(service.as_ref(), &choice, registry, gathered)
            .await;
        Ok(whole)
    }

    async fn join(
        &mut self,
        service: &dyn super::Service,
        choice: &AnalystChoice,
        registry: Arc<Registry>,
        mut gathered: Gathered,
    ) {
        if gathered.is_empty() {
            return;
        }
        match service
            .pipelines()
            .join(registry, choice, &mut gathered)
            .await
        {
            Ok(Value::Object(joined)) => self.joined = joined,
            Ok(_) => {}
            Err(reason) => self.failure = Some((trawl_model::failure::status::UNKNOWN, reason)),
        }
    }

    fn status(&self) -> u16 {
        self.failure.as_ref().map_or(200, |(status, _)| *status)
    }

    fn tell(&self, response: &mut Response) {
        begin::name_crawls(&self.ids, response);
        tell_ignored(&self.ignored, response);
    }
}
