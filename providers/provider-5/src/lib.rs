//! `provider_5`: Scrape.do. The response body is the page. The headers are the target's, plus
//! metadata in `scrape.do-*` headers. The vendor's JSON response is used for screenshots only.

use serde::Deserialize;
use serde_json::{Value, json};
use trawl_sdk::provider::Mode::{Both, Rendered};
use trawl_sdk::provider::{
    Abilities, Class, Cost, Description, Failure, Page, Provider, Reply, Request, Screenshot, Step,
    Task, mentions,
};

/// Adapter for the Scrape.do Web Scraping API.
pub struct ScrapeDo;

const TOKEN: &str = "PROVIDER5_TOKEN";
const CREDIT: &str = "credit";
/// Prefix of the vendor's own headers among the target's.
const VENDOR_PREFIX: &str = "scrape.do-";
/// Headers that describe the connection to the vendor, not the target's response.
const CONNECTION_HEADERS: [&str; 2] = ["content-encoding", "content-length"];
/// Range of the `timeout` parameter in milliseconds.
const TIMEOUT_MS: (u32, u32) = (5_000, 120_000);
/// Time for the vendor to deliver the response after `timeout` has passed.
const GRACE_MS: u32 = 5_000;

trawl_sdk::export!(provider: ScrapeDo);

impl Provider for ScrapeDo {
    type Settings = ();

    fn describe() -> Description {
        Description::new(
            "provider_5",
            env!("CARGO_PKG_VERSION"),
            "Scrape.do (Web Scraping API)",
            "https://api.scrape.do",
        )
        .credentials(&[TOKEN])
        .hosts(&["api.scrape.do"])
        .abilities(&[
            (Abilities::SERVES, Both),
            (Abilities::HEADERS, Both),
            (Abilities::COOKIES, Both),
            (Abilities::COUNTRY, Both),
            (Abilities::RESIDENTIAL, Both),
            (Abilities::BODY, Both),
            (Abilities::BINARY, Both),
            (Abilities::TARGET_HEADERS, Both),
            (Abilities::TARGET_COOKIES, Both),
            (Abilities::FINAL_URL, Both),
            (Abilities::FIXED_WAIT, Rendered),
            (Abilities::WAIT_SELECTOR, Rendered),
            (Abilities::SCRIPT, Rendered),
            (Abilities::SCREENSHOT, Rendered),
        ])
        .units(&[CREDIT])
        .seconds(90)
    }

    fn start(task: &Task, (): ()) -> Result<Step, Failure> {
        let headers = task.extra_headers();
        let has_headers = !headers.is_empty();
        // The vendor ignores `setCookies` when headers are forwarded; cookies are then sent as a
        // header.
        let (in_query, in_header) = if has_headers {
            (None, task.cookie_line())
        } else {
            (task.cookies_with(";"), None)
        };
        let script = task.script.as_ref();
        let script = script.map(|script| json!([{"Action": "Execute", "Execute": script}]));
        let window = task.screenshot == Some(Screenshot::Window);
        let full_page = task.screenshot == Some(Screenshot::FullPage);
        let request = Request::new(&task.method, task.at("/"))
            .secret_query("token", TOKEN)
            .query("url", &task.url)
            .query("render", task.javascript)
            .query("transparentResponse", true)
            .query("disableRetry", true)
            .query("timeout", task.timeout_ms(GRACE_MS, TIMEOUT_MS))
            .query_if(task.is_residential(), "super", true)
            .query_some("geoCode", task.country_lower())
            .query_some("setCookies", in_query.map(|pairs| format!("{pairs};")))
            .query_if(has_headers, "extraHeaders", true)
            .query_if(task.javascript, "blockResources", false)
            .query_some("customWait", task.wait_ms)
            .query_some("waitSelector", task.selector())
            .query_some("playWithBrowser", script)
            .query_if(task.screenshot.is_some(), "returnJSON", true)
            .query_if(window, "screenShot", true)
            .query_if(full_page, "fullScreenShot", true)
            .prefixed_headers("sd-", &headers)
            .header_some("sd-Cookie", in_header)
            .header_some("Content-Type", task.body_type())
            .body(task.body.clone());
        Ok(request.send())
    }

    fn resume(task: &Task, (): (), _memo: &[u8], reply: &Reply<'_>) -> Result<Step, Failure> {
        let Some(status) = reply.number("scrape.do-initial-status-code") else {
            return Err(failure(reply));
        };
        let cost = Cost::reported_or_unknown(CREDIT, reply.header("scrape.do-request-cost"));
        let mut headers = reply.passed_headers(VENDOR_PREFIX);
        headers.retain(|(name, _)| !CONNECTION_HEADERS.contains(&name.as_str()));
        let page = match task.screenshot {
            Some(_) => {
                // This is the type of the JSON envelope, not of the page.
                headers.retain(|(name, _)| name != "content-type");
                from_json(task, reply)?
            }
            None => Page::of_reply(task),
        };
        Ok(page
            .status(status)
            .cookie_line(reply.header("scrape.do-cookies"))
            .url(reply.header("scrape.do-resolved-url"))
            .headers(headers)
            .request_id(request_id(reply))
            .cost(cost)
            .done())
    }
}

fn request_id<'a>(reply: &'a Reply<'_>) -> Option<&'a str> {
    let id = reply.header("scrape.do-request-id");
    id.or_else(|| reply.header("scrape.do-rid"))
}

/// Response with `returnJSON=true`; only the fields in use.
#[derive(Deserialize)]
#[serde(rename_all = "camelCase")]
struct JsonResponse {
    content: String,
    #[serde(default)]
    screen_shots: Option<Vec<Shot>>,
}

#[derive(Deserialize)]
struct Shot {
    image: Option<String>,
}

fn from_json(task: &Task, reply: &Reply<'_>) -> Result<Page, Failure> {
    let response: JsonResponse = reply.json()?;
    let page = Page::of_text(task, response.content);
    let mut shots = response.screen_shots.into_iter().flatten();
    let image = shots.find_map(|shot| shot.image.filter(|image| !image.is_empty()));
    page.screenshot_base64(image.as_deref())
}

/// Classifies a response without the target's status: the target has not answered.
fn failure(reply: &Reply<'_>) -> Failure {
    let problem: Value = reply.json().unwrap_or_default();
    let words = match &problem["Message"] {
        Value::String(text) => text.clone(),
        Value::Array(lines) => {
            let lines = lines.iter().filter_map(Value::as_str);
            lines.collect::<Vec<_>>().join(" ")
        }
        _ => String::new(),
    };
    let class = match reply.status {
        // 401 means a wrong token as well as an exhausted or suspended account; only the message
        // tells them apart. The causes next to it may name both.
        401 if mentions(&words, &["credit", "suspend", "limit"]) => Class::NoCredit,
        // The vendor reports an unreachable target in the same way.
        502 => Class::TargetBlocked,
        510 => Class::ProviderTimeout,
        status => Class::of_status(status),
    };
    let words = Some(words.as_str()).filter(|words| !words.is_empty());
    let code = match (&problem["ErrorCode"], &problem["ErrorType"]) {
        (Value::String(code), _) => Some(code.clone()),
        (Value::Number(code), _) => Some(code.to_string()),
        (_, Value::String(kind)) => Some(kind.clone()),
        _ => None,
    };
    Failure::quoting_some(class, reply, words)
        .code_some(code.as_deref())
        .request_id(request_id(reply))
}

#[cfg(test)]
mod tests {
    use super::ScrapeDo;

    #[test]
    fn all_cases_hold() {
        let folder = concat!(env!("CARGO_MANIFEST_DIR"), "/cases");
        trawl_sdk::testkit::check_cases::<ScrapeDo>(folder);
    }
}
