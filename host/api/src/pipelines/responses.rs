//! Responses of the pipelines that join the findings of all pages.

use serde::Serialize;
use serde_json::{Value, json};
use utoipa::ToSchema;

use trawl_crawl::pipeline::ModelUse;
use trawl_wire::Costs;

use super::result::PipelineResult;

/// Response of `/pipeline/extract-qa`.
#[derive(Serialize, ToSchema)]
#[schema(as = QaAnswer, example = json!({
    "content": [{"question": "When are you open?", "answer": "Monday to Friday, 9 to 17.", "url": "https://example.com/faq", "score": 0.92}],
    "cost": {"ai_cost": 0.0, "compute_cost": 0.000000021, "file_cost": 0.0, "bytes_transferred_cost": 0.00001256,
        "transform_cost": 0.000000112, "total_cost": 0.000012693},
    "error": null, "status": 200, "url": "https://example.com",
}))]
pub(super) struct QaAnswer {
    /// Questions with their answers, best first. Each answer is quoted from its page.
    #[schema(value_type = Vec<Object>)]
    content: Value,
    /// Costs of the crawl, summed over its pages.
    cost: Costs,
    /// Why there is no result, if every page failed; otherwise null.
    error: Option<String>,
    /// What went wrong, as a name; left out if there is a result.
    #[serde(skip_serializing_if = "Option::is_none")]
    cause: Option<String>,
    /// 200, or the status of the first page if every page failed.
    status: u16,
    /// The seed URL as requested.
    url: String,
    /// Whether the configured model was used, and if not, why.
    #[serde(skip_serializing_if = "Option::is_none")]
    model: Option<ModelView>,
    /// Pages whose findings exceeded the limit and are not included.
    #[serde(skip_serializing_if = "Option::is_none")]
    pages_left_out: Option<u64>,
    /// Parameters without effect on some page; left out if there are none.
    #[serde(skip_serializing_if = "Option::is_none")]
    metadata: Option<JoinedMetadata>,
}

impl From<&PipelineResult> for QaAnswer {
    fn from(result: &PipelineResult) -> Self {
        let pairs = result.joined.get("content");
        let pairs = pairs.filter(|content| content.is_array());
        Self {
            content: pairs.cloned().unwrap_or_else(|| json!([])),
            cost: Costs::new(&result.charge, None),
            error: result.failure.as_ref().map(|failure| failure.error.clone()),
            cause: cause(result),
            status: result.status(),
            url: result.url.clone(),
            model: result.model.clone().map(ModelView::from),
            pages_left_out: result.pages_left_out,
            metadata: JoinedMetadata::of(result),
        }
    }
}

/// Response of `/pipeline/filter-links`.
#[derive(Serialize, ToSchema)]
#[schema(as = LinksAnswer, example = json!({
    "content": [{"relevant_urls": ["https://example.com/pricing"], "links": [{"url": "https://example.com/pricing", "text": "Pricing",
        "score": 0.87, "content_type": "product", "reason": "“pricing” in its text", "page": "https://example.com/"}]}],
    "cost": {"ai_cost": 0.0, "compute_cost": 0.000000021, "file_cost": 0.0, "bytes_transferred_cost": 0.00001256,
        "transform_cost": 0.000000112, "total_cost": 0.000012693},
    "error": "", "status": 200,
}))]
pub(super) struct LinksAnswer {
    /// One object: `relevant_urls`, best first, and `links` with their scores and reasons.
    #[schema(value_type = Vec<Object>)]
    content: Vec<Value>,
    /// Costs of the crawl, summed over its pages.
    cost: Costs,
    /// Why there is no result, if every page failed; otherwise empty.
    error: String,
    /// What went wrong, as a name; left out if there is a result.
    #[serde(skip_serializing_if = "Option::is_none")]
    cause: Option<String>,
    /// 200, or the status of the first page if every page failed.
    status: u16,
    /// Whether the configured model was used, and if not, why.
    #[serde(skip_serializing_if = "Option::is_none")]
    model: Option<ModelView>,
    /// Pages whose findings exceeded the limit and are not included.
    #[serde(skip_serializing_if = "Option::is_none")]
    pages_left_out: Option<u64>,
    /// Parameters without effect on some page; left out if there are none.
    #[serde(skip_serializing_if = "Option::is_none")]
    metadata: Option<JoinedMetadata>,
}

impl From<&PipelineResult> for LinksAnswer {
    fn from(result: &PipelineResult) -> Self {
        let mut links = result.joined.clone();
        if !links.get("relevant_urls").is_some_and(Value::is_array) {
            links.insert("relevant_urls".to_owned(), json!([]));
        }
        // It has a key of its own outside of `content`.
        links.remove("model");
        let error = result.failure.as_ref().map(|failure| failure.error.clone());
        Self {
            content: vec![Value::Object(links)],
            cost: Costs::new(&result.charge, None),
            error: error.unwrap_or_default(),
            cause: cause(result),
            status: result.status(),
            model: result.model.clone().map(ModelView::from),
            pages_left_out: result.pages_left_out,
            metadata: JoinedMetadata::of(result),
        }
    }
}

fn cause(result: &PipelineResult) -> Option<String> {
    result.failure.as_ref()?.cause.clone()
}

/// What the pages of a joined answer say of themselves.
#[derive(Serialize, ToSchema)]
#[schema(as = JoinedMetadata, example = json!({"ignored": ["viewport"]}))]
struct JoinedMetadata {
    /// `metadata.ignored` of all pages, each name once.
    ignored: Vec<String>,
}

impl JoinedMetadata {
    /// `None` if there is nothing to say.
    fn of(result: &PipelineResult) -> Option<Self> {
        let ignored = result.ignored_by_pages.clone();
        (!ignored.is_empty()).then_some(Self { ignored })
    }
}

/// Use of the configured model.
#[derive(Serialize, ToSchema)]
#[schema(as = ModelUse)]
struct ModelView {
    /// Whether it was used for any page.
    used: bool,
    /// Why it was not used, for the first page where it was not.
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
