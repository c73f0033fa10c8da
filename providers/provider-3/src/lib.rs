//! `provider_3`: ScraperAPI. The response body is the page, with metadata in `sa-*` headers. The
//! vendor treats every body as text and does not return the target's headers.

use serde::Deserialize;
use trawl_sdk::provider::{
    Abilities, Class, Cost, Description, Failure, Page, Provider, Reply, Request, Step, Task,
};

/// Adapter for the ScraperAPI scraping API.
pub struct ScraperApi;

/// Operator settings.
#[derive(Debug, Default, Deserialize)]
#[serde(default, deny_unknown_fields)]
pub struct Settings {
    /// Sends the key as a query parameter instead of a header.
    pub key_in_query: bool,
}

const KEY: &str = "PROVIDER3_API_KEY";
const CREDIT: &str = "credit";
/// Headers with this prefix are vendor options, which can raise the price.
const OPTION_PREFIX: &str = "x-sapi-";

/// JSON Schema of [`Settings`].
const SETTINGS: &str = r#"{
    "type": "object",
    "properties": {
        "key_in_query": {
            "type": "boolean",
            "default": false,
            "description": "Sends the key as a query parameter instead of a header"
        }
    },
    "additionalProperties": false
}"#;

trawl_sdk::export!(provider: ScraperApi);

impl Provider for ScraperApi {
    type Settings = Settings;

    fn describe() -> Description {
        let always = Abilities::SERVES
            | Abilities::HEADERS
            | Abilities::COOKIES
            | Abilities::COUNTRY
            | Abilities::RESIDENTIAL
            | Abilities::BODY
            | Abilities::FINAL_URL;
        Description::new(
            "provider_3",
            env!("CARGO_PKG_VERSION"),
            "ScraperAPI (Scraping API)",
            "https://api.scraperapi.com",
        )
        .credentials(&[KEY])
        .hosts(&["api.scraperapi.com"])
        .plain(always)
        .rendered(always | Abilities::WAIT_SELECTOR)
        .units(&[CREDIT])
        .seconds(80)
        .settings_schema(SETTINGS)
    }

    fn start(task: &Task, settings: Settings) -> Result<Step, Failure> {
        let mut names = task.headers.iter().map(|(name, _)| name);
        if let Some(name) = names.find(|name| is_consumed(name)) {
            let message = format!("the header `{name}` does not reach the target");
            return Err(Failure::new(Class::Unsupported, message));
        }
        let (headers, cookies) = (task.extra_headers(), task.cookie_line());
        // The vendor advises against it: its own headers are blocked less often.
        let keep_headers = !headers.is_empty() || cookies.is_some();
        let request = Request::new(&task.method, task.at("/"))
            .query("url", &task.url)
            .query("render", if task.javascript { "true" } else { "false" })
            .query_if(task.is_residential(), "premium", "true")
            .query_some("country_code", task.country_lower())
            .query_some(
                "wait_for_selector",
                task.wait_for.as_ref().map(|wait| &wait.selector),
            )
            .query_if(keep_headers, "keep_headers", "true")
            .prefixed_headers("", &headers)
            .header_some("Cookie", cookies)
            .header_some("Content-Type", task.body_type())
            .body(task.body.clone());
        let request = if settings.key_in_query {
            request.secret_query("api_key", KEY)
        } else {
            request.secret_header("x-sapi-api_key", KEY)
        };
        Ok(request.send())
    }

    fn resume(task: &Task, _: Settings, _memo: &[u8], reply: &Reply<'_>) -> Result<Step, Failure> {
        let cost = match reply.header("sa-credit-cost") {
            credits @ Some(_) => Cost::reported_or_unknown(CREDIT, credits),
            // The vendor reports every charge.
            None => Cost::free(),
        };
        match (reply.status, reply.number("sa-statuscode")) {
            (200..=299 | 404, Some(status)) => Ok(Page::of_reply(task)
                .status(status)
                .url(reply.header("sa-final-url"))
                .content_type(reply.header("content-type"))
                .cost(cost)
                .done()),
            (_, Some(status)) => Err(target_failure(status, reply).cost(cost)),
            (_, None) => Err(vendor_failure(reply).cost(cost)),
        }
    }
}

/// Whether the vendor or the host consumes this request header, so that it never reaches the
/// target.
fn is_consumed(name: &str) -> bool {
    let name = name.to_lowercase();
    name == "authorization" || name.starts_with(OPTION_PREFIX)
}

/// Classifies a failed response of the target: its page is not delivered.
fn target_failure(status: u16, reply: &Reply<'_>) -> Failure {
    let class = match status {
        403 | 429 => Class::TargetBlocked,
        504 => Class::TargetUnreachable,
        _ => Class::TargetFailed,
    };
    Failure::of_reply(class, reply).target_status(status)
}

/// Classifies a failure without a response of the target.
fn vendor_failure(reply: &Reply<'_>) -> Failure {
    let mentions = |word: &str| reply.text().to_lowercase().contains(word);
    let class = match reply.status {
        // 403 means an exhausted account, a feature outside the plan, a page that costs more than
        // the request allows, or a site that blocks the vendor; only the message tells them apart.
        // A wrong key is a 401.
        403 if mentions("max_cost") => Class::BadRequest,
        403 if mentions("credit") || mentions("exhausted") || mentions("limit") => Class::NoCredit,
        403 if mentions("plan") => Class::BadRequest,
        403 => Class::TargetBlocked,
        status => Class::of_status(status),
    };
    Failure::of_reply(class, reply)
}

#[cfg(test)]
mod tests {
    use trawl_sdk::provider::{Charged, Content, Credential, Pool, WaitFor};
    use trawl_sdk::testkit::{converse, pair, reply};

    use super::*;

    fn task() -> Task {
        Task::new(
            "https://shop.example/a?b=1&c=2#d",
            "https://api.scraperapi.com",
        )
    }

    #[test]
    fn a_minimal_request() {
        let talk = converse::<ScraperApi>(&task(), &[]);
        let request = talk.first();
        assert_eq!(
            request.url,
            "https://api.scraperapi.com/?url=https%3A%2F%2Fshop.example%2Fa%3Fb%3D1%26c%3D2%23d&render=false"
        );
        assert_eq!((request.method.as_str(), request.headers.len()), ("GET", 0));
        let header = Credential::Header("x-sapi-api_key".to_owned(), KEY.to_owned());
        assert_eq!(request.credentials, [header]);
    }

    #[test]
    fn a_request_has_every_option() {
        let task = Task {
            method: "POST".to_owned(),
            body: b"x=1".to_vec(),
            headers: vec![pair("Accept", "a/b")],
            cookies: vec![pair("n", "v"), pair("m", "w")],
            javascript: true,
            wait_for: Some(WaitFor {
                selector: "#x".to_owned(),
                time_ms: 5_000,
            }),
            country: Some("US".to_owned()),
            pool: Pool::Residential,
            settings: r#"{"key_in_query":true}"#.to_owned(),
            ..task()
        };
        let talk = converse::<ScraperApi>(&task, &[]);
        let request = talk.first();
        let check = |name: &str, value: &str| {
            assert_eq!(request.query_value(name).as_deref(), Some(value), "{name}");
        };
        check("url", &task.url);
        check("render", "true");
        check("premium", "true");
        check("country_code", "us");
        check("wait_for_selector", "#x");
        check("keep_headers", "true");
        assert_eq!(
            request.headers,
            [
                pair("Accept", "a/b"),
                pair("Cookie", "n=v; m=w"),
                pair("Content-Type", "application/x-www-form-urlencoded")
            ]
        );
        assert_eq!(
            (request.method.as_str(), request.body.as_slice()),
            ("POST", b"x=1".as_slice())
        );
        let query = Credential::Query("api_key".to_owned(), KEY.to_owned());
        assert_eq!(request.credentials, [query]);
    }

    #[test]
    fn the_type_of_a_body_keeps_no_headers() {
        let json = pair("Content-Type", "application/json");
        let task = Task {
            method: "POST".to_owned(),
            body: b"{}".to_vec(),
            headers: vec![json.clone()],
            ..task()
        };
        let talk = converse::<ScraperApi>(&task, &[]);
        assert_eq!(talk.first().query_value("keep_headers"), None);
        assert_eq!(talk.first().headers, [json]);
    }

    #[test]
    fn headers_that_would_not_reach_the_target_are_refused() {
        for name in ["Authorization", "X-Sapi-Ultra_Premium"] {
            let headers = vec![pair(name, "1")];
            let talk = converse::<ScraperApi>(&Task { headers, ..task() }, &[]);
            assert_eq!(talk.class(), Class::Unsupported, "{name}");
        }
    }

    #[test]
    fn the_body_is_the_page_and_headers_are_metadata() {
        let headers = [
            ("sa-statuscode", "404"),
            ("sa-final-url", "https://shop.example/gone"),
            ("sa-credit-cost", "10"),
            ("content-type", "text/html"),
        ];
        let talk = converse::<ScraperApi>(&task(), &[reply(404, &headers, b"gone".as_slice())]);
        let page = talk.page();
        assert_eq!((page.status, &page.content), (Some(404), &Content::Reply));
        assert_eq!(page.url.as_deref(), Some("https://shop.example/gone"));
        assert_eq!((&page.headers, page.cookies.len()), (&None, 0));
        assert_eq!(page.content_type.as_deref(), Some("text/html"));
        assert_eq!(page.cost, Cost::reported(CREDIT, "10").expect("a number"));
    }

    #[test]
    fn without_a_reported_cost_the_page_is_free() {
        let answered = reply(200, &[("sa-statuscode", "200")], b"".as_slice());
        let talk = converse::<ScraperApi>(&task(), &[answered]);
        assert_eq!(talk.page().cost, Cost::free());
    }

    #[test]
    fn failures_of_the_target_have_their_classes() {
        let check = |target: &str, expected: Class| {
            let headers = [("sa-statuscode", target)];
            let answered = reply(500, &headers, b"Request failed".as_slice());
            let talk = converse::<ScraperApi>(&task(), &[answered]);
            assert_eq!(talk.class(), expected, "{target}");
            assert_eq!(talk.failure().target_status, target.parse().ok());
            assert_eq!(talk.failure().cost.charged, Charged::No);
        };
        check("403", Class::TargetBlocked);
        check("429", Class::TargetBlocked);
        check("503", Class::TargetFailed);
        check("500", Class::TargetFailed);
        check("504", Class::TargetUnreachable);
    }

    #[test]
    fn vendor_failures_have_their_classes() {
        let check = |status: u16, body: &'static str, expected: Class| {
            let answered = reply(status, &[("retry-after", "2")], body.as_bytes());
            let talk = converse::<ScraperApi>(&task(), &[answered]);
            assert_eq!(talk.class(), expected, "{status} {body}");
            assert_eq!(talk.failure().retry_after, Some(2));
            assert_eq!(talk.failure().target_status, None);
            assert_eq!(talk.failure().cost.charged, Charged::No);
        };
        check(400, "url is missing", Class::BadRequest);
        check(401, "Unauthorized", Class::BadKey);
        check(
            403,
            "You have exhausted the credits of your plan",
            Class::NoCredit,
        );
        check(403, "Your plan does not have premium", Class::BadRequest);
        check(
            403,
            "This request exceeds your max_cost. You can set it to a higher limit",
            Class::BadRequest,
        );
        check(403, "Forbidden", Class::TargetBlocked);
        check(402, "", Class::NoCredit);
        check(429, "", Class::RateLimited);
        check(500, "", Class::ProviderError);
        check(502, "", Class::ProviderError);
        check(404, "", Class::BadRequest);
        check(408, "", Class::ProviderTimeout);
        check(504, "", Class::ProviderTimeout);
        check(200, "", Class::Drift);
    }
}
