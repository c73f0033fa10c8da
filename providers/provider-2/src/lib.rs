//! `provider_2`: ScrapingBee HTML API. The response body is the page, with metadata in `Spb-*`
//! headers. The vendor's JSON response is used for screenshots only.

use serde::Deserialize;
use serde_json::Value;
use trawl_sdk::provider::{
    Abilities, Class, Cost, Description, Failure, Page, Provider, Reply, Request, Screenshot, Step,
    Task, base64,
};

/// Adapter for the ScrapingBee HTML API.
pub struct ScrapingBee;

const KEY: &str = "PROVIDER2_API_KEY";
const CREDIT: &str = "credit";
/// `Spb-*` headers that the vendor sets itself; the others are the target's.
const VENDOR_HEADERS: [&str; 4] = ["cost", "initial-status-code", "resolved-url", "request-id"];
/// Range of the `timeout` parameter in milliseconds.
const TIMEOUT_MS: (u32, u32) = (1_000, 140_000);
/// Time for the vendor to deliver the response after `timeout` has passed.
const GRACE_MS: u32 = 15_000;
/// Maximum of the `wait` parameter in milliseconds.
const WAIT_MS_MAX: u32 = 35_000;

trawl_sdk::export!(provider: ScrapingBee);

impl Provider for ScrapingBee {
    type Settings = ();

    fn describe() -> Description {
        let always = Abilities::SERVES
            | Abilities::HEADERS
            | Abilities::COOKIES
            | Abilities::COUNTRY_RESIDENTIAL
            | Abilities::RESIDENTIAL
            | Abilities::BODY
            | Abilities::TARGET_HEADERS
            | Abilities::TARGET_COOKIES
            | Abilities::FINAL_URL;
        let in_browser = Abilities::FIXED_WAIT
            | Abilities::WAIT_SELECTOR
            | Abilities::SCRIPT
            | Abilities::SCREENSHOT;
        Description::new(
            "provider_2",
            env!("CARGO_PKG_VERSION"),
            "ScrapingBee (HTML API)",
            "https://app.scrapingbee.com",
        )
        .credentials(&[KEY])
        .hosts(&["app.scrapingbee.com"])
        .plain(always | Abilities::BINARY)
        .rendered(always | in_browser)
        .units(&[CREDIT])
        .seconds(155)
    }

    fn start(task: &Task, (): ()) -> Result<Step, Failure> {
        let timeout = task.time_ms.saturating_sub(GRACE_MS);
        let headers = task.extra_headers();
        let request = Request::new(&task.method, task.at("/api/v1/"))
            .bearer(KEY)
            .query("url", &task.url)
            .query("render_js", if task.javascript { "true" } else { "false" })
            .query("transparent_status_code", "true")
            .query(
                "timeout",
                &timeout.clamp(TIMEOUT_MS.0, TIMEOUT_MS.1).to_string(),
            )
            .query_if(task.is_residential(), "premium_proxy", "true")
            .query_some("country_code", task.country_lower())
            .query_some("cookies", task.cookies_with(";"))
            .query_if(!headers.is_empty(), "forward_headers", "true")
            .prefixed_headers("Spb-", &headers)
            .header_some("Content-Type", task.body_type())
            .body(task.body.clone());
        let wait = task.wait_ms.map(|ms| ms.min(WAIT_MS_MAX).to_string());
        let request = request
            .query_if(task.javascript, "block_resources", "false")
            .query_some("wait", wait)
            .query_some(
                "wait_for",
                task.wait_for.as_ref().map(|wait| &wait.selector),
            )
            .query_some("js_snippet", task.script.as_ref().map(base64))
            .query_if(task.screenshot.is_some(), "json_response", "true")
            .query_if(
                task.screenshot == Some(Screenshot::Window),
                "screenshot",
                "true",
            )
            .query_if(
                task.screenshot == Some(Screenshot::FullPage),
                "screenshot_full_page",
                "true",
            );
        Ok(request.send())
    }

    fn resume(task: &Task, (): (), _memo: &[u8], reply: &Reply<'_>) -> Result<Step, Failure> {
        let Some(status) = reply.number("spb-initial-status-code") else {
            return Err(failure(reply));
        };
        let cost = Cost::reported_or_unknown(CREDIT, reply.header("spb-cost"));
        let id = reply.header("spb-request-id");
        if status == 503
            && cost
                .quantities
                .iter()
                .all(|credits| credits.billionths == 0)
            && reply.text().contains("Proxy connection error")
        {
            return Err(Failure::of_reply(Class::TargetUnreachable, reply).request_id(id));
        }
        let mut headers = reply.headers_after("spb-");
        headers.retain(|(name, _)| !VENDOR_HEADERS.contains(&name.as_str()));
        let page = match task.screenshot {
            Some(_) => from_json(task, reply)?,
            None => Page::of_reply(task),
        };
        Ok(page
            .status(status)
            .url(reply.header("spb-resolved-url"))
            .headers(headers)
            .request_id(id)
            .cost(cost)
            .done())
    }
}

/// Response with `json_response=true`; only the fields in use.
#[derive(Deserialize)]
struct JsonResponse {
    body: Value,
    #[serde(rename = "type")]
    kind: String,
    screenshot: Option<String>,
}

fn from_json(task: &Task, reply: &Reply<'_>) -> Result<Page, Failure> {
    let response: JsonResponse = reply.json()?;
    let page = match (response.kind.as_str(), response.body) {
        ("b64_bytes", Value::String(text)) => Page::of_base64(task, &text)?,
        (_, Value::String(text)) => Page::of_text(task, text),
        (_, other) => Page::of_text(task, other.to_string()),
    };
    page.screenshot_base64(response.screenshot.as_deref())
}

/// Classifies a response without the target's status: the target has not answered.
fn failure(reply: &Reply<'_>) -> Failure {
    let mentions = |word: &str| reply.text().to_lowercase().contains(word);
    let class = match reply.status {
        // 401 means a wrong key as well as an exhausted quota; only the message tells them apart.
        401 | 403 if mentions("credit") || mentions("limit") || mentions("quota") => {
            Class::NoCredit
        }
        status => Class::of_status(status),
    };
    Failure::of_reply(class, reply).request_id(reply.header("spb-request-id"))
}

#[cfg(test)]
mod tests {
    use trawl_sdk::provider::{Charged, Content};
    use trawl_sdk::testkit::{converse, reply};

    use super::*;

    fn task() -> Task {
        Task::new(
            "https://shop.example/a?b=1&c=2#d",
            "https://app.scrapingbee.com",
        )
    }

    #[test]
    fn the_javascript_switch_is_always_stated() {
        let talk = converse::<ScrapingBee>(&task(), &[]);
        let request = talk.first();
        assert_eq!(request.query_value("render_js").as_deref(), Some("false"));
        assert_eq!(
            request.query_value("url").as_deref(),
            Some(task().url.as_str())
        );
        assert!(
            request
                .url
                .starts_with("https://app.scrapingbee.com/api/v1/?url=https%3A%2F%2F")
        );
    }

    #[test]
    fn the_type_of_a_body_is_that_of_the_call() {
        let pair = |name: &str, value: &str| (name.to_owned(), value.to_owned());
        let check = |headers: Vec<(String, String)>, expected: &[(String, String)]| {
            let task = Task {
                method: "POST".to_owned(),
                body: b"x=1".to_vec(),
                headers,
                ..task()
            };
            let talk = converse::<ScrapingBee>(&task, &[]);
            assert_eq!(talk.first().headers, expected);
            let forwards = talk.first().query_value("forward_headers");
            assert_eq!(forwards.is_some(), expected.len() > 1);
        };
        let form = pair("Content-Type", "application/x-www-form-urlencoded");
        check(Vec::new(), &[form]);
        let json = pair("Content-Type", "application/json");
        check(vec![json.clone()], std::slice::from_ref(&json));
        let mixed = vec![json.clone(), pair("Accept", "a/b")];
        check(mixed, &[pair("Spb-Accept", "a/b"), json]);
    }

    #[test]
    fn the_body_is_the_page_and_headers_are_metadata() {
        let answered = reply(
            404,
            &[
                ("Spb-initial-status-code", "404"),
                ("Spb-resolved-url", "https://shop.example/gone"),
                ("Spb-cost", "1"),
                ("Spb-Content-Type", "text/html"),
                ("Spb-Set-Cookie", "a=b; Path=/"),
            ],
            b"gone".as_slice(),
        );
        let talk = converse::<ScrapingBee>(&task(), &[answered]);
        let page = talk.page();
        assert_eq!((page.status, &page.content), (Some(404), &Content::Reply));
        assert_eq!(page.cookies, [("a".to_owned(), "b".to_owned())]);
        assert_eq!(page.headers.as_ref().map(Vec::len), Some(2));
        assert_eq!(page.cost, Cost::reported(CREDIT, "1").expect("a number"));
    }

    #[test]
    fn failures_have_their_classes() {
        let check = |status: u16, body: &'static str, expected: Class| {
            let talk = converse::<ScrapingBee>(&task(), &[reply(status, &[], body.as_bytes())]);
            assert_eq!(talk.class(), expected, "{status} {body}");
            assert_eq!(talk.failure().cost.charged, Charged::No);
        };
        check(400, r#"{"errors":[]}"#, Class::BadRequest);
        check(401, r#"{"message":"Invalid api key"}"#, Class::BadKey);
        check(
            401,
            r#"{"message":"Monthly API calls limit reached"}"#,
            Class::NoCredit,
        );
        check(
            401,
            r#"{"message":"Your quota is used up"}"#,
            Class::NoCredit,
        );
        check(402, "", Class::NoCredit);
        check(405, "", Class::BadRequest);
        check(408, "", Class::ProviderTimeout);
        check(504, "", Class::ProviderTimeout);
        check(429, "", Class::RateLimited);
        check(500, "oops", Class::ProviderError);
        check(200, "", Class::Drift);
    }
}
