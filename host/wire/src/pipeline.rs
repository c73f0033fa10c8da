//! The request objects of the pipelines: the parameters of a crawl, and their own. Decision D70.

use std::sync::Arc;

use serde::Deserialize;
use serde_json::value::RawValue;
use serde_json::{Map, Value};
use utoipa::ToSchema;

use super::fields::{Sent, WireObject, read};
use super::ignored;
use super::into_plan::{PlanContext, RequestError};
use super::request::ScrapeRequest;
use super::values::FormatNames;
use trawl_model::Discovered;
use trawl_plan::text_urls;
use trawl_plan::{AnalystChoice, OutputPlan, PagePlan, Pipeline, PlanError, PluginKind};

/// Most bytes of `text`, decoded from JSON. Spec S22.
const TEXT_BYTES_MAX: usize = 10_000_000;
/// Most bytes of `prompt`: it stands in every question to a model.
const PROMPT_BYTES_MAX: usize = 16_384;

const MODEL: &str = "model";
const TEXT: &str = "text";
/// Ahead of a `text` that lists addresses, a line each: U+001E, "record separator", which no prose has.
const LISTED: char = '\u{1e}';
/// The names of all parameters of [`PipelineRequest`].
const OWN: [&str; 9] = [
    "prompt",
    "custom_prompt",
    MODEL,
    TEXT,
    "labels",
    "count",
    "content_type",
    "threshold",
    "country",
];

/// Parameters of pipelines beside those of a crawl. Each pipeline has some of them.
#[derive(Debug, Default, Deserialize, ToSchema)]
pub(crate) struct PipelineRequest {
    /// What is wanted, in words: an inquiry for `extract-qa`, labels for `label`, a query for `filter-links`.
    prompt: Option<String>,
    /// The same under another name; `prompt` wins.
    custom_prompt: Option<String>,
    /// The configured model's name; any other has no effect.
    model: Option<String>,
    /// `crawl-text`: text, markdown or HTML with addresses in it, at most 10,000,000 bytes.
    text: Option<String>,
    /// `label`: the labels to choose from.
    #[schema(value_type = Option<Vec<String>>)]
    labels: Option<Value>,
    /// `extract-qa`, `label`, `filter-links`: most results.
    #[schema(value_type = Option<u32>)]
    count: Option<Value>,
    /// `filter-links`: what kind of pages the links lead to, one or several.
    #[schema(value_type = Option<Vec<String>>)]
    content_type: Option<Value>,
    /// `filter-links`: least score of a relevant link, 0 to 1.
    #[schema(value_type = Option<f64>)]
    threshold: Option<Value>,
    /// `extract-contacts`: ISO 3166 code of the country whose telephone numbers are written without one.
    #[schema(value_type = Option<String>)]
    country: Option<Value>,
}

impl WireObject for PipelineRequest {
    const LARGE_FIELDS: &'static [&'static str] = &[TEXT];
}

/// The whole request object of a pipeline, for the interface's description.
#[derive(Deserialize, ToSchema)]
#[schema(as = PipelineObject)]
#[expect(
    dead_code,
    reason = "it is read in two passes, and written down as one"
)]
pub struct PipelineObject {
    #[serde(flatten)]
    crawl: ScrapeRequest,
    #[serde(flatten)]
    pipeline: PipelineRequest,
}

/// What a pipeline's request asks for beside its crawl.
#[derive(Debug)]
pub(crate) struct Extra {
    pipeline: Pipeline,
    analyst: Option<AnalystChoice>,
    /// The addresses of the text.
    found: Option<Arc<Discovered>>,
    /// Whether the crawl outlives the process, and must find them again.
    in_background: bool,
}

impl Extra {
    /// Reads what is a pipeline's own out of a request object, and sets what it decides about the crawl.
    pub(crate) fn take(
        object: &RawValue,
        pipeline: Pipeline,
        sent: &mut Sent<ScrapeRequest>,
        ground: PlanContext<'_>,
        ignored: &mut Vec<String>,
    ) -> Result<Self, RequestError> {
        let own: Sent<PipelineRequest> = read(object)?;
        sent.unknown.retain(|name| !OWN.contains(&name.as_str()));
        let mut request = own.value;
        let mut without = |name: &'static str, is_used: bool| {
            if own.present.contains(&name) && !is_used {
                ignored::add(ignored, name.to_owned());
            }
        };
        let uses = |name| uses(pipeline, name);
        for name in OWN.into_iter().filter(|name| *name != MODEL) {
            without(name, uses(name));
        }
        let model = ground.ways.model;
        let named = request
            .model
            .as_deref()
            .map(str::trim)
            .filter(|name| !name.is_empty());
        let is_ours = named.is_none_or(|name| model.is_some_and(|model| model.name == name));
        without(MODEL, is_ours && pipeline.analyst().is_some());
        // What is joined is the answer itself.
        if pipeline.is_joined() && sent.value.run_in_background.take() == Some(true) {
            ignored::add(ignored, "run_in_background".to_owned());
        }
        let mut extra = Self {
            pipeline,
            analyst: None,
            found: None,
            in_background: sent.value.run_in_background == Some(true),
        };
        if let Some(name) = pipeline.analyst() {
            if !ground.catalog.has(PluginKind::Analyst, name) {
                return Err(RequestError::NotLoaded(name));
            }
            let options = options(pipeline, &mut request)?;
            let size = model.map(|model| model.size);
            let choice = AnalystChoice::new("prompt", name, options, size, ground.catalog);
            extra.analyst = Some(choice.map_err(meant)?);
        }
        if pipeline.is_joined() {
            only_findings(sent, ignored);
        }
        if pipeline == Pipeline::CrawlText {
            extra.read_text(request.text.take(), sent, ignored)?;
        }
        Ok(extra)
    }

    /// The addresses of the text become the seeds.
    fn read_text(
        &mut self,
        text: Option<String>,
        sent: &mut Sent<ScrapeRequest>,
        ignored: &mut Vec<String>,
    ) -> Result<(), RequestError> {
        let text = text.ok_or_else(|| {
            PlanError::new(TEXT, "is missing, send the text with the addresses in it")
        })?;
        if text.len() > TEXT_BYTES_MAX {
            return Err(RequestError::TooLarge(TEXT_BYTES_MAX));
        }
        let found = match text.strip_prefix(LISTED) {
            Some(list) => text_urls::listed(list),
            None => text_urls::find(&text),
        };
        let request = &mut sent.value;
        // Decision D70: the pages that the text names, unless the caller asks for those they lead
        // to.
        request.depth.get_or_insert(0);
        if request.url.take().is_some_and(|url| !url.trim().is_empty()) {
            ignored::add(ignored, "url".to_owned());
        }
        // The caller named none of the origins: a text of somebody else's must not get the caller's secrets.
        if request.headers.take().is_some() {
            ignored::add(ignored, "headers".to_owned());
        }
        if request.cookies.take().is_some() {
            ignored::add(ignored, "cookies".to_owned());
        }
        let first = found.iter().next().map(|(url, _)| url.to_owned());
        request.url = first;
        self.found = Some(Arc::new(found));
        Ok(())
    }

    /// Whether there is anything to crawl.
    pub(crate) fn is_empty(&self) -> bool {
        self.found.as_ref().is_some_and(|found| found.is_empty())
    }

    /// The pages where its crawls begin: one a crawl, or one with all others beside it.
    pub(crate) fn seeds(&self, pages: Vec<PagePlan>) -> Vec<(PagePlan, Option<Arc<Discovered>>)> {
        let pages = pages.into_iter().map(|page| self.analysed(page));
        if let Some(found) = &self.found {
            return pages
                .take(1)
                .map(|page| (page, Some(Arc::clone(found))))
                .collect();
        }
        if !self.pipeline.is_joined() {
            return pages.map(|page| (page, None)).collect();
        }
        let mut pages = pages;
        let Some(first) = pages.next() else {
            return Vec::new();
        };
        let mut named = Discovered::default();
        for url in pages.filter_map(|page| page.url.ok()) {
            named.push(&text_urls::without_fragment(url), false);
        }
        let named = (!named.is_empty()).then(|| Arc::new(named));
        vec![(first, named)]
    }

    fn analysed(&self, page: PagePlan) -> PagePlan {
        let output = OutputPlan {
            analyst: self.analyst.clone(),
            ..OutputPlan::clone(&page.output)
        };
        PagePlan {
            output: Arc::new(output),
            ..page
        }
    }

    /// The request object as it is stored: in place of the text its addresses, from which the plan is made again after a restart,
    /// or their number when nobody will ask again.
    pub(crate) fn shorten(&self, stored: &mut Map<String, Value>) {
        if let Some(found) = &self.found {
            let text = match self.in_background {
                true => format!(
                    "{LISTED}{}",
                    text_urls::written(found, TEXT_BYTES_MAX - LISTED.len_utf8())
                ),
                false => number_of(found.len()),
            };
            stored.insert(TEXT.to_owned(), text.into());
        }
    }
}

/// A stored request object as it is shown: with the number of addresses in place of a hundred thousand.
pub fn shown_request(stored: String, pipeline: Option<Pipeline>) -> String {
    if pipeline != Some(Pipeline::CrawlText) {
        return stored;
    }
    let Ok(mut object) = serde_json::from_str::<Map<String, Value>>(&stored) else {
        return stored;
    };
    if let Some(Value::String(text)) = object.get_mut(TEXT)
        && text.starts_with(LISTED)
    {
        *text = number_of(text.lines().count());
    }
    Value::Object(object).to_string()
}

fn number_of(n_addresses: usize) -> String {
    match n_addresses {
        1 => "1 address".to_owned(),
        n => format!("{n} addresses"),
    }
}

/// Which of their own parameters the pipelines obey.
fn uses(pipeline: Pipeline, name: &str) -> bool {
    match name {
        "prompt" | "custom_prompt" => pipeline.analyst().is_some(),
        TEXT => pipeline == Pipeline::CrawlText,
        "labels" => pipeline == Pipeline::Label,
        "count" => matches!(
            pipeline,
            Pipeline::ExtractQa | Pipeline::Label | Pipeline::FilterLinks
        ),
        "content_type" | "threshold" => pipeline == Pipeline::FilterLinks,
        "country" => pipeline == Pipeline::ExtractContacts,
        _ => false,
    }
}

/// The refusal of an options object by the parameter that is meant, which the schema's sentence has as a place: `/count`.
fn meant(refusal: PlanError) -> PlanError {
    let is_meant = |name: &&'static str| refusal.reason.contains(&format!("/{name}"));
    match OWN.into_iter().find(is_meant) {
        Some(name) => PlanError::new(name, refusal.reason),
        None => refusal,
    }
}

/// The options object of a pipeline's analyst.
fn options(
    pipeline: Pipeline,
    request: &mut PipelineRequest,
) -> Result<Map<String, Value>, PlanError> {
    let mut options = Map::new();
    let filled = |text: Option<String>| text.filter(|text| !text.trim().is_empty());
    let prompt = filled(request.prompt.take()).or(filled(request.custom_prompt.take()));
    if let Some(prompt) = prompt {
        if prompt.len() > PROMPT_BYTES_MAX {
            let reason = format!("longer than {PROMPT_BYTES_MAX} bytes");
            return Err(PlanError::new("prompt", reason));
        }
        options.insert("prompt".to_owned(), prompt.into());
    }
    let own = [
        ("labels", request.labels.take()),
        ("count", request.count.take()),
        ("content_type", request.content_type.take()),
        ("threshold", request.threshold.take()),
        ("country", request.country.take()),
    ];
    for (name, value) in own {
        if let Some(value) = value.filter(|value| !value.is_null() && uses(pipeline, name)) {
            options.insert(name.to_owned(), value);
        }
    }
    Ok(options)
}

/// Pages of which only the findings are wanted have no content.
fn only_findings(sent: &mut Sent<ScrapeRequest>, ignored: &mut Vec<String>) {
    if sent.value.return_format.take().is_some() {
        ignored::add(ignored, "return_format".to_owned());
    }
    sent.value.return_format = Some(FormatNames::One("empty".to_owned()));
    if sent.value.chunking_alg.take().is_some() {
        ignored::add(ignored, "chunking_alg".to_owned());
    }
}
