//! What is made of the pages of a request.

use serde_json::{Map, Value};

use trawl_parameters::{
    ChunkingForm, FormatNames, List, Outputs, Readability, ReadabilityForm, ScrapeRequest,
};
use trawl_plan::output::{self, FORMAT_DEFAULT, PruneOptions};
use trawl_plan::{
    Allowance, Catalog, Chunking, Format, FormatChoice, LinkRewrite, OutputPlan, PlanError,
    PluginKind, chunking, document_pages,
};

use super::rendering;
use super::values::{filled, is_on};
use super::verb::Verb;

/// The output plan of a request object. `without_effect` gets the names of parameters whose
/// plugin is not loaded.
pub(crate) fn output_plan(
    request: ScrapeRequest,
    verb: Verb,
    catalog: &dyn Catalog,
    allowance: &mut Allowance,
    without_effect: &mut Vec<&'static str>,
) -> Result<OutputPlan, PlanError> {
    let screenshot = rendering::screenshot_format(&request, verb);
    let has_purpose = filled(request.pages.purpose.as_deref()).is_some();
    let mut request = request.outputs;
    if verb == Verb::Screenshot && !rendering::names_only(request.return_format.as_ref()) {
        without_effect.push("return_format");
    }
    without_effect.extend(request.link_rewrite.as_ref().and_then(idle_key));
    let (formats, single_format) = formats(&mut request, &screenshot, catalog)?;
    let named = NamedPlugins::take(&mut request, catalog, without_effect);
    let plan = OutputPlan {
        formats,
        single_format,
        filters: output::filters(
            prune(&request),
            request.filters.unwrap_or_default(),
            catalog,
        )?,
        extractors: output::extractors(request.extractors.unwrap_or_default(), catalog)?,
        analyst: None,
        readability: main_content(named.readability, catalog)?,
        metadata: is_on(request.metadata),
        rights: is_on(request.metadata) || has_purpose,
        links: is_on(request.return_page_links),
        json_data: named.json_data,
        css_fields: named
            .selector_map
            .map(|map| output::css_fields(map, catalog))
            .transpose()?,
        hidden_text: named.hidden_text,
        link_rewrite: request
            .link_rewrite
            .map(|rule| LinkRewrite::read(&rule, allowance))
            .transpose()?,
        discover: false,
        anchors: false,
        headers: is_on(request.return_headers),
        cookies: is_on(request.return_cookies),
        timing: is_on(request.return_timing),
        chunking: chunking_plan(request.chunking_alg, catalog)?,
        pages: filled(request.pages.as_deref()).map_or(Ok(Vec::new()), document_pages::read)?,
        decoder_options: output::decoders(request.decoder_options.unwrap_or_default(), catalog)?,
        max_size: request
            .max_size
            .map(|bytes| usize::try_from(bytes).unwrap_or(usize::MAX)),
    };
    Ok(match verb {
        Verb::Scrape | Verb::Search | Verb::Batch | Verb::Unblocker | Verb::Pipeline(_) => plan,
        Verb::Links => links_only(plan),
        Verb::Map => links_for_map(has_purpose),
        Verb::Screenshot => rendering::screenshot_only(plan, screenshot),
    })
}

/// The key of `link_rewrite` that only the other type of rule has.
fn idle_key(rule: &Map<String, serde_json::Value>) -> Option<&'static str> {
    let written = rule.get("type")?.as_str()?;
    if written.eq_ignore_ascii_case("replace") {
        Some("link_rewrite.pattern")
    } else if written.eq_ignore_ascii_case("regex") {
        Some("link_rewrite.find")
    } else {
        None
    }
}

/// The formats of `content`, and whether it is one format rather than an object of them.
fn formats(
    request: &mut Outputs,
    screenshot: &Format,
    catalog: &dyn Catalog,
) -> Result<(Vec<FormatChoice>, bool), PlanError> {
    let (names, single_format) = format_names(request.return_format.take());
    let options = request.format_options.take().unwrap_or_default();
    let clean_html = is_on(request.clean_html);
    let mut formats = output::formats(&names, options, clean_html, catalog)?;
    for choice in &mut formats {
        if choice.format == Format::Screenshot {
            choice.format = screenshot.clone();
        }
    }
    Ok((formats, single_format))
}

/// Decision D25: an empty list of formats counts as not set.
fn format_names(form: Option<FormatNames>) -> (Vec<String>, bool) {
    match form {
        Some(FormatNames::One(name)) => (vec![name], true),
        Some(FormatNames::Many(names)) if !names.0.is_empty() => (names.0, false),
        Some(FormatNames::Many(_)) | None => (vec![FORMAT_DEFAULT.to_owned()], true),
    }
}

/// Parameters that name one plugin each. They have no effect while that is not loaded.
struct NamedPlugins {
    /// The options of its filter, if it is on.
    readability: Option<Map<String, Value>>,
    json_data: bool,
    hidden_text: bool,
    selector_map: Option<Map<String, serde_json::Value>>,
}

impl NamedPlugins {
    fn take(
        request: &mut Outputs,
        catalog: &dyn Catalog,
        without_effect: &mut Vec<&'static str>,
    ) -> Self {
        let mut has = |kind, plugin: &str, parameter: &'static str| {
            let is_loaded = catalog.has(kind, plugin);
            if !is_loaded {
                without_effect.push(parameter);
            }
            is_loaded
        };
        let (filter, extractor) = (PluginKind::Filter, PluginKind::Extractor);
        Self {
            readability: request
                .readability
                .take()
                .and_then(roles)
                .filter(|_| has(filter, output::READABILITY, "readability")),
            json_data: is_on(request.return_json_data)
                && has(extractor, output::JSON_DATA, "return_json_data"),
            hidden_text: is_on(request.return_hidden_text)
                && has(extractor, output::HIDDEN_TEXT, "return_hidden_text"),
            selector_map: request
                .css_extraction_map
                .take()
                .filter(|_| has(extractor, output::SELECTORS, "css_extraction_map")),
        }
    }
}

/// The roles that are chosen, as the options of the filter; `None` if it is off. Names are compared
/// without case.
fn roles(form: ReadabilityForm) -> Option<Map<String, Value>> {
    let Readability {
        include,
        exclude,
        only,
    } = match form {
        ReadabilityForm::Switch(false) => return None,
        ReadabilityForm::Switch(true) => return Some(Map::new()),
        ReadabilityForm::Roles(roles) => roles,
    };
    let name = |name: &str| Value::from(name.trim().to_lowercase());
    let names = |List(names): List<String>| names.iter().map(|one| name(one)).collect::<Value>();
    let chosen = [
        ("include", include.map(names)),
        ("exclude", exclude.map(names)),
        ("only", only.map(|only| name(&only))),
    ];
    let chosen = chosen.into_iter();
    let set = chosen.filter_map(|(key, value)| Some((key.to_owned(), value?)));
    Some(set.collect())
}

/// The chosen roles, once their filter has accepted them.
fn main_content(
    chosen: Option<Map<String, Value>>,
    catalog: &dyn Catalog,
) -> Result<Option<Value>, PlanError> {
    let checked = chosen.map(|options| output::main_content(options, catalog));
    checked.transpose()
}

fn prune(request: &Outputs) -> PruneOptions {
    PruneOptions {
        root_selector: filled(request.root_selector.as_deref()).map(str::to_owned),
        exclude_selector: filled(request.exclude_selector.as_deref()).map(str::to_owned),
        images: is_on(request.filter_images) || is_on(request.filter_output_images),
        svg: is_on(request.filter_svg) || is_on(request.filter_output_svg),
        main_only: is_on(request.filter_main_only) || is_on(request.filter_output_main_only),
    }
}

fn chunking_plan(
    form: Option<ChunkingForm>,
    catalog: &dyn Catalog,
) -> Result<Option<Chunking>, PlanError> {
    let (name, options) = match form {
        None => return Ok(None),
        Some(ChunkingForm::Name(name)) => (name, Map::new()),
        Some(ChunkingForm::Options(mut options)) => {
            let name = options.remove("type");
            let name = name.as_ref().and_then(|name| name.as_str());
            let name = name.ok_or_else(|| {
                PlanError::new("chunking_alg", "`type` is missing or not a string")
            })?;
            (name.to_owned(), options)
        }
    };
    chunking::choose(&name, options, catalog)
}

/// The links of the start page with their texts, and nothing else.
fn links_for_map(rights: bool) -> OutputPlan {
    OutputPlan {
        rights,
        discover: true,
        anchors: true,
        ..OutputPlan::of(no_content())
    }
}

fn no_content() -> FormatChoice {
    FormatChoice {
        name: "empty".to_owned(),
        format: Format::Empty,
        options: Map::new().into(),
    }
}

/// `/links`: `links` always, `content` always empty.
fn links_only(plan: OutputPlan) -> OutputPlan {
    OutputPlan {
        formats: vec![no_content()],
        single_format: true,
        links: true,
        chunking: None,
        ..plan
    }
}
