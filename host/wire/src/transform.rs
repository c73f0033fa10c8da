//! The request object of `/transform`.

use base64::Engine as _;
use bytes::Bytes;

use trawl_parameters::{Route, ScrapeRequest, SourceForm, TransformItem, TransformRequest};
use trawl_plan::{Allowance, Catalog, Ignored, PlanError, TransformPlan, TransformSource, address};

use super::body::{WireError, objects};
use super::checked_catalog::CheckedCatalog;
use super::error::RequestError;
use super::fields::read;
use super::ignored;
use super::output::output_plan;
use super::verb::Verb;

/// Most bytes of all sources together, decoded from JSON. Decision D63.
const SOURCE_BYTES_MAX: usize = 10_000_000;

/// Longest `content_type` of a page.
const CONTENT_TYPE_BYTES_MAX: usize = 1_000;

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
    let request = parsed.value;
    let data = request.source.data.map(|data| data.0);
    let sources = sources(data.unwrap_or_default())?;
    let output = output_plan(
        ScrapeRequest {
            outputs: request.outputs,
            ..ScrapeRequest::default()
        },
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
    use serde_json::{Value, json};

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
