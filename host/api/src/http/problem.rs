//! Errors as problem details (RFC 9457), for clients that ask for them. Decision D462.

use axum::body::{Body, HttpBody, to_bytes};
use axum::extract::Request;
use axum::http::{HeaderMap, HeaderValue, StatusCode, header};
use axum::middleware::Next;
use axum::response::Response;
use serde_json::{Map, Value};

use super::media_type::essence;

/// The media type of problem details.
pub(crate) const PROBLEM: &str = "application/problem+json";
const JSON: &str = "application/json";
/// The parts of an `Accept` header that matter: those after the first are for JSON, the one that
/// says most first.
const RANGES: [&str; 4] = [PROBLEM, JSON, "application/*", "*/*"];
/// Longest body that may be an error's.
const ERROR_BYTES_MAX: usize = 1 << 20;

/// Gives errors the form of problem details if `Accept` names that, with the weight of JSON at
/// least. Other responses stay as they are.
pub(crate) async fn as_asked(request: Request, next: Next) -> Response {
    let is_asked = prefers_problem(request.headers());
    let response = next.run(request).await;
    if is_asked && may_be_error(&response) {
        as_problem(response).await
    } else {
        response
    }
}

/// Whether problem details are named, and no less welcome than JSON.
fn prefers_problem(headers: &HeaderMap) -> bool {
    let mut weights = [None; RANGES.len()];
    let values = headers.get_all(header::ACCEPT).iter();
    let texts = values.filter_map(|value| value.to_str().ok());
    for part in texts.flat_map(|text| text.split(',')) {
        let range = essence(part);
        if let Some(place) = RANGES.iter().position(|known| *known == range) {
            weights[place] = Some(weight(part));
        }
    }
    let [problem, json @ ..] = weights;
    let json = json.into_iter().flatten().next().unwrap_or(0.0);
    problem.is_some_and(|weight| weight > 0.0 && weight >= json)
}

/// The weight of a part of an `Accept` header; 0 if it cannot be read.
fn weight(part: &str) -> f32 {
    let mut weights = part.split(';').skip(1).filter_map(|parameter| {
        let (name, value) = parameter.split_once('=')?;
        let is_weight = name.trim().eq_ignore_ascii_case("q");
        is_weight.then(|| value.trim().parse::<f32>().unwrap_or(0.0))
    });
    weights.next().unwrap_or(1.0)
}

fn may_be_error(response: &Response) -> bool {
    let status = response.status();
    let media_type = response.headers().get(header::CONTENT_TYPE);
    let media_type = media_type.and_then(|value| value.to_str().ok());
    let length = response.body().size_hint().exact();
    (status.is_client_error() || status.is_server_error())
        && media_type.is_some_and(|text| essence(text) == JSON)
        && length.is_some_and(|bytes| bytes <= ERROR_BYTES_MAX as u64)
}

/// The same error as problem details. A report, such as the one of `/health`, is not an error.
async fn as_problem(response: Response) -> Response {
    let (mut parts, body) = response.into_parts();
    let Ok(body) = to_bytes(body, ERROR_BYTES_MAX).await else {
        // It is in memory, so that reading it does not fail.
        return Response::from_parts(parts, Body::empty());
    };
    let Some(details) = details(parts.status, &body) else {
        return Response::from_parts(parts, Body::from(body));
    };
    let media_type = HeaderValue::from_static(PROBLEM);
    parts.headers.insert(header::CONTENT_TYPE, media_type);
    parts.headers.remove(header::CONTENT_LENGTH);
    Response::from_parts(parts, Body::from(details))
}

/// The members of an error and, from its text and status, those of RFC 9457. `None` if the body is
/// no error.
fn details(status: StatusCode, body: &[u8]) -> Option<String> {
    let mut members: Map<String, Value> = serde_json::from_slice(body).ok()?;
    let text = members.get("error")?.as_str()?.to_owned();
    let title = status.canonical_reason().unwrap_or("Error");
    for (name, value) in [
        // The type has no more to say than the status: then the title is the status's.
        ("type", Value::from("about:blank")),
        ("title", title.into()),
        ("status", status.as_u16().into()),
        ("detail", text.into()),
    ] {
        members.insert(name.to_owned(), value);
    }
    Some(Value::from(members).to_string())
}

#[cfg(test)]
mod tests {
    use serde_json::json;

    use super::*;

    #[test]
    fn problem_details_are_for_those_who_name_them() {
        let check = |accept: &[&'static str], expected: bool| {
            let values = accept.iter().copied().map(HeaderValue::from_static);
            let headers = values.map(|value| (header::ACCEPT, value)).collect();
            assert_eq!(prefers_problem(&headers), expected, "{accept:?}");
        };
        check(&["application/problem+json"], true);
        check(&["Application/Problem+JSON; q=0.5"], true);
        check(&["application/json, application/problem+json"], true);
        check(&["application/json", "application/problem+json"], true);
        check(&["application/problem+json, */*;q=0.1"], true);
        check(
            &["application/json;q=0.4, application/problem+json;q=0.5, */*"],
            true,
        );
        check(&["application/json, application/problem+json;q=0.9"], false);
        check(&["application/problem+json;q=0.5, application/*"], false);
        check(&["application/problem+json;q=0"], false);
        check(&["application/problem+json;q=x"], false);
        check(&["application/json"], false);
        check(&["*/*"], false);
        check(&["application/*"], false);
        check(&[], false);
    }

    #[test]
    fn an_error_keeps_its_members() {
        let made = |body: &str| {
            let details = details(StatusCode::TOO_MANY_REQUESTS, body.as_bytes());
            details.map(|text| serde_json::from_str::<Value>(&text).expect("JSON"))
        };
        let expected = json!({
            "type": "about:blank",
            "title": "Too Many Requests",
            "status": 429,
            "detail": "concurrency_limit_reached",
            "error": "concurrency_limit_reached",
            "seats": 2,
            "active": 2,
        });
        let error = r#"{"error":"concurrency_limit_reached","seats":2,"active":2}"#;
        assert_eq!(made(error), Some(expected));
        for other in ["", "[]", "null", "{}", r#"{"error":null}"#, r#"{"error":""#] {
            assert_eq!(made(other), None, "{other}");
        }
    }
}
