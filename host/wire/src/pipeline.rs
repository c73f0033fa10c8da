//! The request objects of the pipelines: the parameters of a crawl and a few of their own. Decision
//! D70.

use std::sync::Arc;

use serde_json::value::RawValue;
use serde_json::{Map, Value};

use trawl_model::Discovered;
use trawl_parameters::{
    self as parameters, FormatNames, Parameter, PipelineRequest, Pipelines, Route, ScrapeRequest,
};
use trawl_plan::text_urls;
use trawl_plan::{
    AnalystChoice, OutputPlan, PagePlan, Pipeline, PlanError, PluginKind, path_of_pointer,
};

use super::defaults::PlanContext;
use super::error::RequestError;
use super::fields::{Parsed, read};
use super::left_out::Omitted;
use super::secrets::{hide_webhooks, missing, without_credentials, without_marks};
use super::values::filled;

/// Most bytes of `text`, decoded from JSON. Spec S22.
const TEXT_BYTES_MAX: usize = 10_000_000;
/// Most bytes of `prompt`: it is part of every model request.
const PROMPT_BYTES_MAX: usize = 16_384;

const MODEL: &str = "model";
const TEXT: &str = "text";
/// First character of a stored `text` that is a list of URLs, one on each line: U+001E, "record
/// separator", which no prose contains.
const LISTED: char = '\u{1e}';

/// What a pipeline adds to its crawl.
#[derive(Debug)]
pub(crate) struct Extra {
    analyst: Option<AnalystChoice>,
    /// The URLs of the text.
    found: Option<Arc<Discovered>>,
    /// Whether the crawl outlives the process, so that the URLs must be stored.
    in_background: bool,
}

impl Extra {
    /// Reads the pipeline's own parameters from a request object and changes the crawl's where the
    /// pipeline decides them.
    pub(crate) fn take(
        object: &RawValue,
        pipeline: Pipeline,
        parsed: &mut Parsed<ScrapeRequest>,
        context: PlanContext<'_>,
    ) -> Result<Self, RequestError> {
        let own: Parsed<PipelineRequest> = read(object)?;
        let mut sent = own.value.pipelines;
        let is_own = |name: &str| parameters::find(name).is_some_and(Parameter::is_of_pipelines);
        parsed
            .fields
            .unknown
            .retain(|unknown| !is_own(&unknown.path));
        let model = context.defaults.model;
        let named = filled(sent.model.as_deref()).map(str::trim);
        let is_ours = named.is_none_or(|name| model.is_some_and(|model| model.name == name));
        if !is_ours {
            parsed.fields.without_effect.push(MODEL);
        }
        let (mut own_present, fields) = (own.fields.present, &mut parsed.fields.present);
        own_present.retain(|present| is_own(&present.path));
        own_present.sort_by_key(|present| present.path == MODEL);
        fields.splice(0..0, own_present);
        if pipeline.is_joined() {
            // The joined result is the response, so there is no background crawl.
            parsed.value.crawls.run_in_background = None;
        }
        let mut extra = Self {
            analyst: None,
            found: None,
            in_background: parsed.value.crawls.run_in_background == Some(true),
        };
        if let Some(name) = pipeline.analyst() {
            if !context.catalog.has(PluginKind::Analyst, name) {
                return Err(RequestError::NotLoaded(name));
            }
            let options = options(pipeline, &mut sent)?;
            let size = model.map(|model| model.size);
            let choice = AnalystChoice::new("prompt", name, options, size, context.catalog);
            extra.analyst = Some(choice.map_err(by_parameter)?);
        }
        if pipeline.is_joined() {
            only_findings(parsed);
        }
        if pipeline == Pipeline::CrawlText {
            extra.read_text(sent.text.take(), parsed)?;
        }
        Ok(extra)
    }

    /// Makes the URLs of the text the seeds.
    fn read_text(
        &mut self,
        text: Option<String>,
        parsed: &mut Parsed<ScrapeRequest>,
    ) -> Result<(), RequestError> {
        let text = text
            .ok_or_else(|| PlanError::new(TEXT, "is missing, send the text with the URLs in it"))?;
        if text.len() > TEXT_BYTES_MAX {
            return Err(RequestError::TooLarge(TEXT_BYTES_MAX));
        }
        let found = match text.strip_prefix(LISTED) {
            Some(list) => text_urls::listed(list),
            None => text_urls::find(&text),
        };
        let request = &mut parsed.value;
        // Decision D70: only the pages that the text names, unless the caller sets a depth.
        request.crawls.depth.get_or_insert(0);
        // A text written by a third party must not decide which origins get the caller's secrets.
        request.pages.headers = None;
        request.pages.cookies = None;
        let first = found.iter().next().map(|(url, _)| url.to_owned());
        request.pages.url = first;
        self.found = Some(Arc::new(found));
        Ok(())
    }

    /// Whether there is anything to crawl.
    pub(crate) fn is_empty(&self) -> bool {
        self.found.as_ref().is_some_and(|found| found.is_empty())
    }

    /// The URLs of the text: the seeds of `crawl-text`.
    pub(crate) fn found(&self) -> Option<Arc<Discovered>> {
        self.found.clone()
    }

    /// The same page with the pipeline's analyst.
    pub(crate) fn with_analyst(&self, page: PagePlan) -> PagePlan {
        let output = OutputPlan {
            analyst: self.analyst.clone(),
            ..OutputPlan::clone(&page.output)
        };
        PagePlan {
            output: Arc::new(output),
            ..page
        }
    }

    /// Replaces the text in the request object that is stored: with the list of its URLs, from
    /// which a background crawl is planned again after a restart, or else with their number.
    pub(crate) fn shorten(&self, stored: &mut Map<String, Value>) {
        if let Some(found) = &self.found {
            // They are ignored, see `read_text`, so the crawl does not wait for them.
            without_credentials(stored);
            let text = if self.in_background {
                let urls = text_urls::written(found, TEXT_BYTES_MAX - LISTED.len_utf8());
                format!("{LISTED}{urls}")
            } else {
                url_count(found.len(), found.n_dropped.into())
            };
            stored.insert(TEXT.to_owned(), text.into());
        }
    }
}

/// A stored request object for display.
#[derive(Debug)]
pub struct ShownRequest {
    /// Its JSON: without the secrets of its webhook and the marks of those that were left out; a
    /// list of URLs is replaced by their number.
    pub json: String,
    /// The secrets that it waits for; empty if it waits for none.
    pub missing_secrets: Vec<String>,
}

/// A stored request object for display, with what its crawl left out.
pub fn shown_request(stored: &str, pipeline: Option<Pipeline>, left_out: &Omitted) -> ShownRequest {
    let object = serde_json::from_str::<Map<String, Value>>(stored);
    let mut object = object.unwrap_or_default();
    let missing_secrets = missing(&object);
    hide_webhooks(&mut object);
    without_marks(&mut object);
    // Only a batch is stored without a URL of its own.
    if !object.contains_key("url")
        && let Some(Value::Array(urls)) = object.get("urls")
    {
        let count = url_count(urls.len(), 0);
        object.insert("urls".to_owned(), count.into());
    }
    if pipeline == Some(Pipeline::CrawlText)
        && let Some(Value::String(text)) = object.get_mut(TEXT)
        && text.starts_with(LISTED)
    {
        *text = url_count(text.lines().count(), left_out.urls.unwrap_or_default());
    }
    ShownRequest {
        json: Value::Object(object).to_string(),
        missing_secrets,
    }
}

/// The number of URLs in place of a text, and of all that it has if some are left out.
fn url_count(n_urls: usize, n_left_out: u64) -> String {
    match (n_urls, n_left_out) {
        (1, 0) => "1 URL".to_owned(),
        (n, 0) => format!("{n} URLs"),
        (n, n_more) => format!("{n} of {} URLs", n as u64 + n_more),
    }
}

/// Whether a pipeline uses a parameter.
fn uses(pipeline: Pipeline, name: &str) -> bool {
    let row = parameters::find(name);
    row.is_some_and(|row| row.routes.has(Route::Pipeline(pipeline)))
}

/// A refused options object under the name of the parameter: the schema's message has it as a path,
/// `/count`, and the analyst's own begins with it in backticks.
fn by_parameter(refusal: PlanError) -> PlanError {
    let reason = refusal.reason.as_str();
    for row in parameters::all().filter(|row| row.is_of_pipelines()) {
        if let Some(own) = reason.strip_prefix(&format!("`{}`: ", row.name)) {
            return PlanError::new(row.name, own);
        }
        // A whole name: `/count` is not `/country`.
        if let Some(below) = reason.strip_prefix(&format!("`/{}", row.name)) {
            if let Some(own) = below.strip_prefix("`: ") {
                return PlanError::new(row.name, own);
            }
            if let Some((below, own)) = below.split_once("`: ").filter(|_| below.starts_with('/')) {
                return PlanError::new(row.name, own).below(path_of_pointer(below));
            }
        }
    }
    refusal
}

/// The options object of a pipeline's analyst.
fn options(pipeline: Pipeline, request: &mut Pipelines) -> Result<Map<String, Value>, PlanError> {
    let mut options = Map::new();
    let prompt = filled(request.prompt.as_deref()).or(filled(request.custom_prompt.as_deref()));
    if let Some(prompt) = prompt {
        if prompt.len() > PROMPT_BYTES_MAX {
            let reason = format!("is longer than {PROMPT_BYTES_MAX} bytes, shorten it");
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

/// The pages of a joined pipeline have no content: only their findings are used.
fn only_findings(parsed: &mut Parsed<ScrapeRequest>) {
    parsed.value.outputs.return_format = Some(FormatNames::One("empty".to_owned()));
    parsed.value.outputs.format_options = None;
    parsed.value.outputs.chunking_alg = None;
}
