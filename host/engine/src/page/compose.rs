//! Composes the outcome of a page from what its site sent and what was made of it.

use std::time::Duration;

use serde_json::{Map, Value};

use trawl_model::outcome::PageOutcome;
use trawl_model::{Cause, ContentHash, FetchedPage, PageFailure};
use trawl_plan::OutputPlan;

use crate::extract::Outputs;

/// Composes an outcome. A site's own 4xx or 5xx is a failure that still has its content and fields.
pub(super) fn compose(
    plan: &OutputPlan,
    page: FetchedPage,
    outputs: Outputs,
    added_metadata: Map<String, Value>,
) -> PageOutcome {
    let error = site_error(page.status).or(outputs.failure);
    let discovered = outputs.discovered.map(|mut found| {
        let tags = page
            .headers
            .iter()
            .filter(|(name, _)| name == "x-robots-tag");
        found
            .robots_tags
            .extend(tags.map(|(_, value)| value.clone()));
        Box::new(found)
    });
    let mut fields = outputs.fields;
    if plan.metadata
        && let Some(metadata) = &mut fields.metadata
    {
        add_host_metadata(metadata, &page);
        let hash = outputs.content.hash();
        let hash = hash.unwrap_or_else(|| ContentHash::of_body(&page.body));
        metadata.insert("content_hash".into(), hash.to_string().into());
    }
    if !added_metadata.is_empty() {
        let metadata = fields.metadata.get_or_insert_default();
        metadata.extend(added_metadata);
    }
    PageOutcome {
        url: page.final_url.to_string(),
        status: page.status,
        content: outputs.content,
        error,
        fields,
        discovered,
        redirects: page.redirects,
        cookies: plan.cookies.then_some(page.cookies),
        headers: plan.headers.then(|| joined(page.headers)),
        ..PageOutcome::default()
    }
}

/// The outcome of a page that the caller handed in instead of having it fetched.
pub fn handed_in(url: String, outputs: Outputs, elapsed: Duration) -> PageOutcome {
    PageOutcome {
        url,
        status: 200,
        content: outputs.content,
        fields: outputs.fields,
        error: outputs.failure,
        elapsed: Some(elapsed),
        ..PageOutcome::default()
    }
}

/// The failure of a page that its site answered with a 4xx or 5xx; `None` for any other.
pub(super) fn site_error(answered: u16) -> Option<PageFailure> {
    (answered >= 400).then(|| {
        let code = http::StatusCode::from_u16(answered).ok();
        let message = match code.and_then(|code| code.canonical_reason()) {
            Some(reason) => format!("the site answered {answered} {reason}"),
            None => format!("the site answered {answered}"),
        };
        PageFailure::new(Cause::HttpStatus, message)
    })
}

/// Adds the metadata that only the host knows. Decision D15.
fn add_host_metadata(metadata: &mut Map<String, Value>, page: &FetchedPage) {
    let redirected = page.final_url != page.requested_url;
    metadata.insert("file_size".into(), page.body.len().into());
    metadata.insert("original_url".into(), page.requested_url.as_str().into());
    metadata.insert(
        "final_url".into(),
        if redirected {
            page.final_url.as_str().into()
        } else {
            Value::Null
        },
    );
}

/// Headers by name in the order received, repeats joined with `, ` (RFC 9110, section 5.2).
fn joined(headers: Vec<(String, String)>) -> Vec<(String, String)> {
    let mut joined: Vec<(String, String)> = Vec::with_capacity(headers.len());
    for (name, value) in headers {
        match joined.iter_mut().find(|(seen, _)| *seen == name) {
            Some((_, values)) => {
                values.push_str(", ");
                values.push_str(&value);
            }
            None => joined.push((name, value)),
        }
    }
    joined
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn repeated_headers_are_joined_in_order() {
        let pair = |name: &str, value: &str| (name.to_owned(), value.to_owned());
        let headers = vec![pair("vary", "a"), pair("via", "x"), pair("vary", "b")];
        assert_eq!(joined(headers), [pair("vary", "a, b"), pair("via", "x")]);
    }

    #[test]
    fn only_errors_of_the_site_are_failures() {
        assert_eq!(site_error(200), None);
        assert_eq!(site_error(304), None);
        let check = |answered: u16, expected: &str| {
            let failure = PageFailure::new(Cause::HttpStatus, expected);
            assert_eq!(site_error(answered), Some(failure));
        };
        check(404, "the site answered 404 Not Found");
        check(999, "the site answered 999");
    }
}
