//! The request object of `/transform`.

use base64::Engine as _;
use bytes::Bytes;
use serde::Deserialize;
use serde_json::{Map, Value};

use trawl_parameters::{ChunkingForm, FormatNames, List, Route, SourceForm, TransformItem};
use trawl_plan::{Allowance, Catalog, Ignored, PlanError, TransformPlan, TransformSource, address};

use super::body::{WireError, objects};
use super::checked_catalog::CheckedCatalog;
use super::error::RequestError;
use super::fields::read;
use super::ignored;
use super::output::output_plan;
use super::request::ScrapeRequest;
use super::verb::Verb;

/// Most bytes of all sources together, decoded from JSON. Decision D63.
const SOURCE_BYTES_MAX: usize = 10_000_000;

/// Longest `content_type` of a page.
const CONTENT_TYPE_BYTES_MAX: usize = 1_000;

/// Uploaded pages, and what to make of them.
#[derive(Deserialize)]
pub(crate) struct TransformRequest {
    /// The pages.
    data: Option<List<TransformItem>>,
    /// A format or a list of them, as for `/scrape`.
    return_format: Option<FormatNames>,
    /// Options objects by format name.
    format_options: Option<Map<String, Value>>,
    /// Loaded filters by name, each with its options object.
    filters: Option<Map<String, Value>>,
    /// Loaded extractors by name, each with its options object; results appear under `extracted`.
    extractors: Option<Map<String, Value>>,
    /// Main body only.
    readability: Option<bool>,
    /// Cleaned HTML in the format `html`.
    clean_html: Option<bool>,
    /// Keep only elements that match this CSS selector.
    root_selector: Option<String>,
    /// Drop elements that match this CSS selector.
    exclude_selector: Option<String>,
    /// Drop images.
    filter_images: Option<bool>,
    /// Drop images.
    filter_output_images: Option<bool>,
    /// Drop inline SVG.
    filter_svg: Option<bool>,
    /// Drop inline SVG.
    filter_output_svg: Option<bool>,
    /// Drop navigation, headers, footers and asides.
    filter_main_only: Option<bool>,
    /// Drop navigation, headers, footers and asides.
    filter_output_main_only: Option<bool>,
    /// How to split the content.
    chunking_alg: Option<ChunkingForm>,
    /// Most bytes of one content, cut at a character boundary.
    max_size: Option<u64>,
    /// Add `metadata`.
    metadata: Option<bool>,
    /// Add `links`.
    return_page_links: Option<bool>,
    /// Add `json_data`.
    return_json_data: Option<bool>,
    /// Add `css_extracted`: named fields by selector; both shapes of the selector map.
    css_extraction_map: Option<Map<String, Value>>,
    /// Report in `metadata.hidden_text` the text that a page hides from its readers.
    return_hidden_text: Option<bool>,
    /// A rule that rewrites the URLs in `links`, as for `/scrape`.
    link_rewrite: Option<Map<String, Value>>,
}

impl TransformRequest {
    /// The request object of a fetched page with the same parameters.
    fn into_scrape_request(self) -> ScrapeRequest {
        ScrapeRequest {
            return_format: self.return_format,
            format_options: self.format_options,
            filters: self.filters,
            extractors: self.extractors,
            readability: self.readability,
            clean_html: self.clean_html,
            root_selector: self.root_selector,
            exclude_selector: self.exclude_selector,
            filter_images: self.filter_images,
            filter_output_images: self.filter_output_images,
            filter_svg: self.filter_svg,
            filter_output_svg: self.filter_output_svg,
            filter_main_only: self.filter_main_only,
            filter_output_main_only: self.filter_output_main_only,
            chunking_alg: self.chunking_alg,
            max_size: self.max_size,
            metadata: self.metadata,
            return_page_links: self.return_page_links,
            return_json_data: self.return_json_data,
            css_extraction_map: self.css_extraction_map,
            return_hidden_text: self.return_hidden_text,
            link_rewrite: self.link_rewrite,
            ..ScrapeRequest::default()
        }
    }
}

/// The plan of a request body.
///
/// # Errors
/// See [`RequestError`].
pub fn transform_plan(body: &[u8], catalog: &dyn Catalog) -> Result<TransformPlan, RequestError> {
    let objects = objects(body, 1)?;
    let [object] = objects.as_slice() else {
        return Err(WireError::body("the array must have exactly one request object").into());
    };
    let parsed = read::<TransformRequest>(object)?;
    let mut fields = parsed.fields;
    let mut request = parsed.value;
    let sources = sources(request.data.take().map(|data| data.0).unwrap_or_default())?;
    let output = output_plan(
        request.into_scrape_request(),
        Verb::Scrape,
        &CheckedCatalog::new(catalog),
        &mut Allowance::default(),
        &mut fields.without_effect,
    )?;
    let facts = ignored::outputs(&output, Route::Transform, false);
    let mut without_effect = Ignored::default();
    ignored::collect(fields, Route::Transform, facts, &mut without_effect);
    Ok(TransformPlan {
        sources,
        output,
        ignored: without_effect,
    })
}

fn sources(items: Vec<TransformItem>) -> Result<Vec<TransformSource>, RequestError> {
    if items.is_empty() {
        return Err(PlanError::new("data", "is missing or empty, send at least one page").into());
    }
    let sources = items
        .into_iter()
        .enumerate()
        .map(|(number, item)| source(number, item))
        .collect::<Result<Vec<_>, _>>()?;
    let bytes: usize = sources.iter().map(|source| source.html.len()).sum();
    if bytes > SOURCE_BYTES_MAX {
        return Err(RequestError::TooLarge(SOURCE_BYTES_MAX));
    }
    Ok(sources)
}

/// The bytes of a document. Line breaks and a missing end are accepted, as in mails and URLs.
fn from_base64(text: &str) -> Result<Vec<u8>, String> {
    let mut text = text.to_owned();
    text.retain(|c| !c.is_ascii_whitespace());
    let text = text.trim_end_matches('=');
    let decoded = base64::engine::general_purpose::STANDARD_NO_PAD.decode(text);
    decoded.map_err(|error| format!("`base64` is not base64: {error}"))
}

fn source(number: usize, item: TransformItem) -> Result<TransformSource, PlanError> {
    let refused = |reason: &str| PlanError::new("data", reason).below(format!("[{number}]"));
    let type_default = match item.base64 {
        Some(_) => "",
        None => "text/html",
    };
    let form = match (item.html, item.content, item.base64) {
        (Some(html), None, None) | (None, Some(html), None) => html,
        (None, None, Some(text)) => {
            SourceForm::Bytes(from_base64(&text).map_err(|reason| refused(&reason))?)
        }
        (None, None, None) => {
            return Err(refused(
                "has neither `html` nor `content` nor `base64`, send one of them",
            ));
        }
        (Some(_), Some(_), None) => {
            return Err(refused(
                "has both `html` and `content`, send one of them: both are the page's source",
            ));
        }
        (_, _, Some(_)) => {
            return Err(refused(
                "has `base64` and `html` or `content`, send one of them: all are the page's source",
            ));
        }
    };
    let content_type = item.content_type.as_deref().map(str::trim);
    let content_type = content_type.filter(|text| !text.is_empty());
    let content_type = content_type.unwrap_or(type_default);
    if content_type.len() > CONTENT_TYPE_BYTES_MAX {
        return Err(refused(&format!(
            "`content_type` is longer than {CONTENT_TYPE_BYTES_MAX} bytes"
        )));
    }
    let url = item
        .url
        .as_deref()
        .map(str::trim)
        .filter(|url| !url.is_empty());
    let target = url.map(address::parse).transpose();
    let target = target.map_err(|failure| {
        PlanError::new("data", failure.to_string()).below(format!("[{number}].url"))
    })?;
    let (html, is_text) = match form {
        SourceForm::Text(text) => (Bytes::from(text), true),
        SourceForm::Bytes(bytes) => (Bytes::from(bytes), false),
    };
    Ok(TransformSource {
        html,
        is_text,
        content_type: content_type.to_owned(),
        url: target.map(|target| target.url),
    })
}

#[cfg(test)]
mod tests {
    use serde_json::json;

    use trawl_plan::testing::FakeCatalog;

    use super::*;

    fn plan(body: Value) -> Result<TransformPlan, String> {
        transform_plan(body.to_string().as_bytes(), &FakeCatalog).map_err(|error| error.to_string())
    }

    #[test]
    fn sources_are_text_or_bytes() {
        let body = json!({
            "data": [{"html": "<p>ü", "url": "a.com/x"}, {"content": [60, 112, 62]}, {"html": "", "content": null}, {"html": []}],
            "return_format": "markdown", "model": "x",
        });
        let plan = plan(body).expect("a good request");
        let sources: Vec<&[u8]> = plan
            .sources
            .iter()
            .map(|source| source.html.as_ref())
            .collect();
        assert_eq!(sources, ["<p>ü".as_bytes(), b"<p>", b"", b""]);
        let are_text = plan.sources.iter().map(|source| source.is_text);
        assert_eq!(are_text.collect::<Vec<_>>(), [true, false, true, false]);
        assert_eq!(
            plan.sources[0].url.as_ref().map(|url| url.as_str()),
            Some("https://a.com/x")
        );
        assert_eq!(plan.output.formats[0].name, "markdown");
        assert_eq!(plan.ignored.names(), ["model"]);
    }

    #[test]
    fn documents_have_a_type_and_may_be_base64() {
        let body = json!({"data": [
            {"base64": "YSxi\nCg==", "content_type": " text/csv "},
            {"base64": "YSxiCg"},
            {"html": "{}", "content_type": "application/json"},
            {"html": "<p>", "content_type": ""},
        ]});
        let sources = plan(body).expect("a good request").sources;
        let found: Vec<_> = sources
            .iter()
            .map(|source| (source.html.as_ref(), source.content_type.as_str()))
            .collect();
        let expected: [(&[u8], &str); 4] = [
            (b"a,b\n", "text/csv"),
            (b"a,b\n", ""),
            (b"{}", "application/json"),
            (b"<p>", "text/html"),
        ];
        assert_eq!(found, expected);
    }

    #[test]
    fn bad_requests_are_refused() {
        let check = |body: Value, expected: &str| {
            let error = plan(body.clone()).expect_err("a bad request");
            assert!(error.contains(expected), "{body}: {error}");
        };
        check(json!({}), "data: is missing");
        check(json!({"data": []}), "data: is missing");
        check(
            json!({"data": [{"html": ""}, {}]}),
            "data[1]: has neither `html` nor `content`",
        );
        check(
            json!({"data": [{"html": "<p>", "content": "<p>"}]}),
            "data[0]: has both `html` and `content`, send one",
        );
        check(
            json!({"data": [{"base64": "YQ", "html": "a"}]}),
            "data[0]: has `base64` and",
        );
        check(json!({"data": [{"base64": "!"}]}), "data[0]: `base64`");
        let long = json!({"data": [{"html": "", "content_type": "x".repeat(1_001)}]});
        check(long, "data[0]: `content_type`");
        check(
            json!({"data": [{"html": 3}]}),
            "Deserialization error: data[0].html: ",
        );
        check(
            json!({"data": [{"html": ""}, {"html": [0, 255, 256]}]}),
            "Deserialization error: data[1].html[2]: is not a whole number from 0 to 255",
        );
        check(
            json!({"data": [{"html": ["<"]}]}),
            "Deserialization error: data[0].html[0]: ",
        );
        check(
            json!({"data": [{"html": "", "url": "file:///x"}]}),
            "data[0].url: ",
        );
        check(
            json!({"data": [{"html": ""}], "return_format": "pdf"}),
            "return_format: ",
        );
        check(json!([{"data": []}, {}]), "more than 1 request objects");
        check(
            json!({"data": vec![json!({}); 10_001]}),
            "more than 10000 items",
        );
        check(
            json!({"data": [{"html": "x".repeat(10_000_001)}]}),
            "10000000 bytes",
        );
    }
}
