//! Apify: a task is a run of one of two actors. Three kinds of requests start, poll and read it.

mod input;

use std::sync::{Mutex, MutexGuard, PoisonError};

use serde_json::{Map, Value, json};

use super::read::{grouped_headers, text_of};
use super::{
    Answered, Asked, KeyState, RETRY_AFTER, Target, TargetPage, TargetRequest, Vendor, to_base64,
};

/// The look at each run that breaks, once: the third, at a finished run.
const POLL_THAT_FAILS: u32 = 3;

/// The vendor.
#[derive(Default)]
pub struct Apify {
    state: Mutex<State>,
}

#[derive(Default)]
struct State {
    runs: Vec<Run>,
    aborted: Vec<String>,
}

struct Run {
    request: TargetRequest,
    mime_types: Vec<String>,
    /// Whether the page function and the hooks are JavaScript that the actor can run.
    evaluates: bool,
    polls: u32,
    aborted: bool,
}

impl Apify {
    /// Aborted runs, oldest first.
    pub fn aborted(&self) -> Vec<String> {
        self.state().aborted.clone()
    }

    fn state(&self) -> MutexGuard<'_, State> {
        self.state.lock().unwrap_or_else(PoisonError::into_inner)
    }

    fn start(&self, asked: &Asked, actor: &str) -> Answered {
        let javascript = match actor {
            "apify~cheerio-scraper" => false,
            "apify~playwright-scraper" => true,
            _ => return missing("Actor was not found"),
        };
        let run = match run_of(asked, javascript) {
            Ok(run) => run,
            Err(reason) => return invalid(&reason),
        };
        if Target::of(&run.request) == Target::Refused {
            return invalid("Input is not valid: Field input.startUrls[0].url is not allowed");
        }
        let mut state = self.state();
        state.runs.push(run);
        // A run never finishes within the request that starts it, whatever `waitForFinish` says.
        Answered::json(201, &shown(state.runs.len() - 1, "RUNNING"))
    }

    fn poll(&self, asked: &Asked, id: &str) -> Answered {
        if let Err(reason) = checked_query(asked, &[("waitForFinish", 0, u64::MAX)], &[]) {
            return invalid(&reason);
        }
        let mut state = self.state();
        let Some((number, run)) = found(&mut state.runs, id, "run") else {
            return missing("Actor run was not found");
        };
        run.polls = run.polls.saturating_add(1);
        if run.polls == POLL_THAT_FAILS {
            return refusal(500, "internal-server-error", "Something went wrong");
        }
        Answered::json(200, &shown(number, run.status()))
    }

    fn abort(&self, asked: &Asked, id: &str) -> Answered {
        if let Some(unknown) = asked.unknown_param(&["token", "gracefully"]) {
            return invalid(&format!("Unknown parameter {unknown}"));
        }
        let mut state = self.state();
        let Some((number, run)) = found(&mut state.runs, id, "run") else {
            return missing("Actor run was not found");
        };
        run.aborted |= run.status() == "RUNNING";
        let status = run.status();
        state.aborted.push(id.to_owned());
        Answered::json(200, &shown(number, status))
    }

    fn items(&self, asked: &Asked, id: &str) -> Answered {
        let numbers = [("limit", 0, u64::MAX), ("offset", 0, u64::MAX)];
        if let Err(reason) = checked_query(asked, &numbers, &["format", "clean", "desc"]) {
            return invalid(&reason);
        }
        if asked.param("format").is_some_and(|format| format != "json") {
            return invalid("Only the format json is known here");
        }
        let mut state = self.state();
        let Some((_, run)) = found(&mut state.runs, id, "dataset") else {
            return missing("Dataset was not found");
        };
        let Some(mut item) = run
            .item()
            .filter(|_| asked.param("offset").unwrap_or("0") == "0")
        else {
            return Answered::json(200, &json!([]));
        };
        if matches!(asked.param("clean"), Some("true" | "1")) {
            item.retain(|name, _| !name.starts_with('#'));
        }
        if item.is_empty() || asked.param("limit") == Some("0") {
            Answered::json(200, &json!([]))
        } else {
            Answered::json(200, &json!([item]))
        }
    }
}

impl Vendor for Apify {
    fn name(&self) -> &'static str {
        "provider_8"
    }

    fn answer(&self, asked: &Asked) -> Answered {
        let key = asked.bearer().or(asked.param("token"));
        let account = KeyState::of(key);
        if account == KeyState::Bad {
            return match key {
                None => refusal(
                    401,
                    "token-not-provided",
                    "Authentication token was not provided",
                ),
                Some(_) => refusal(
                    401,
                    "user-or-token-not-found",
                    "User was not found or the token is not valid",
                ),
            };
        }
        if account == KeyState::RateLimited {
            return refusal(
                429,
                "rate-limit-exceeded",
                "You have exceeded the rate limit",
            )
            .header("retry-after", RETRY_AFTER);
        }
        let path: Vec<&str> = asked.path.split('/').skip(1).collect();
        match (asked.method.as_str(), path.as_slice()) {
            // An account without credit can still read.
            ("POST", ["v2", "actors" | "acts", _, "runs"]) if account == KeyState::NoCredit => {
                refusal(
                    403,
                    "platform-feature-disabled",
                    "Monthly usage hard limit exceeded",
                )
            }
            ("POST", ["v2", "actors" | "acts", actor, "runs"]) => self.start(asked, actor),
            ("GET", ["v2", "actor-runs", id]) => self.poll(asked, id),
            ("POST", ["v2", "actor-runs", id, "abort"]) => self.abort(asked, id),
            ("GET", ["v2", "datasets", id, "items"]) => self.items(asked, id),
            _ => missing("We could not find such an address"),
        }
    }
}

fn run_of(asked: &Asked, javascript: bool) -> Result<Run, String> {
    let numbers = [
        ("timeout", 0, u64::MAX),
        ("memory", 128, 32_768),
        ("waitForFinish", 0, u64::MAX),
        ("maxItems", 1, u64::MAX),
    ];
    checked_query(
        asked,
        &numbers,
        &["maxTotalChargeUsd", "build", "restartOnError"],
    )?;
    let memory = asked
        .param("memory")
        .and_then(|memory| memory.parse::<u64>().ok());
    if memory.is_some_and(|memory| !memory.is_power_of_two()) {
        return Err("memory must be a power of two".to_owned());
    }
    let charge = asked.param("maxTotalChargeUsd").map(str::parse::<f64>);
    if charge.is_some_and(|charge| !charge.is_ok_and(|charge| charge > 0.0)) {
        return Err("maxTotalChargeUsd must be a positive number".to_owned());
    }
    let (input, request) = input::read(asked, javascript)?;
    let text = |name: &str| text_of(&input, name).map(str::trim);
    let function = text("pageFunction").unwrap_or_default();
    let hooks = [text("preNavigationHooks"), text("postNavigationHooks")];
    let mime_types = input
        .get("additionalMimeTypes")
        .and_then(Value::as_array)
        .into_iter()
        .flatten();
    let mime_types = mime_types.map(|name| name.as_str().map(str::to_owned));
    Ok(Run {
        request,
        mime_types: mime_types
            .collect::<Option<_>>()
            .ok_or("additionalMimeTypes: not texts")?,
        evaluates: (function.contains("function") || function.contains("=>"))
            && hooks
                .into_iter()
                .flatten()
                .all(|hooks| hooks.contains('[') && hooks.ends_with(']')),
        polls: 0,
        aborted: false,
    })
}

/// Refuses unknown query parameters and numbers out of range.
fn checked_query(
    asked: &Asked,
    numbers: &[(&str, u64, u64)],
    texts: &[&str],
) -> Result<(), String> {
    for (name, value) in &asked.query {
        if let Some((_, least, most)) = numbers.iter().find(|(known, _, _)| known == name) {
            if !value
                .parse::<u64>()
                .is_ok_and(|value| (*least..=*most).contains(&value))
            {
                return Err(format!("{name} is out of range"));
            }
        } else if name != "token" && !texts.contains(&name.as_str()) {
            return Err(format!("Unknown parameter {name}"));
        }
    }
    Ok(())
}

/// The run that a run ID or dataset ID belongs to, and its number.
fn found<'a>(runs: &'a mut [Run], id: &str, kind: &str) -> Option<(usize, &'a mut Run)> {
    let number: usize = id.strip_prefix(kind)?.parse().ok()?;
    Some((number, runs.get_mut(number)?))
}

fn shown(number: usize, status: &str) -> Value {
    let running = status == "RUNNING";
    json!({"data": {
        "id": format!("run{number}"),
        "status": status,
        "startedAt": "2026-11-21T10:00:00.000Z",
        "finishedAt": (!running).then_some("2026-11-21T10:00:04.000Z"),
        "defaultDatasetId": format!("dataset{number}"),
        "defaultKeyValueStoreId": format!("store{number}"),
        "usageTotalUsd": (!running).then_some(0.00125),
    }})
}

impl Run {
    fn status(&self) -> &'static str {
        match Target::of(&self.request) {
            _ if self.aborted => "ABORTED",
            _ if self.polls < 2 => "RUNNING",
            _ if !self.evaluates => "FAILED",
            Target::Slow => "TIMED-OUT",
            Target::VendorDown => "FAILED",
            _ => "SUCCEEDED",
        }
    }

    /// The only item of the dataset.
    fn item(&self) -> Option<Map<String, Value>> {
        if self.status() != "SUCCEEDED" {
            return None;
        }
        let request = &self.request;
        let item = match Target::of(request) {
            Target::Page(page) => match self.failure(&page) {
                Some(reason) => self.failed(&reason),
                None => self.returned(&page),
            },
            Target::Blocked => self.failed("Request blocked - received 403 status code."),
            Target::Unreachable => {
                let rest = request.url.split_once("://").map_or("", |(_, rest)| rest);
                let host = rest.split(['/', ':']).next().unwrap_or_default();
                self.failed(&format!("getaddrinfo ENOTFOUND {host}"))
            }
            Target::Slow | Target::VendorDown | Target::Garbage | Target::Refused => return None,
        };
        item.as_object().cloned()
    }

    /// Why the page function does not complete.
    fn failure(&self, page: &TargetPage) -> Option<String> {
        let content_type = media_type(page);
        let listed = self
            .mime_types
            .iter()
            .any(|known| known == content_type || known == "*/*");
        let request = &self.request;
        let browser_only =
            request.wait_ms.is_some() || request.wait_for.is_some() || request.script.is_some();
        match page.status {
            status @ (401 | 403 | 429) => {
                Some(format!("Request blocked - received {status} status code."))
            }
            status @ 500.. => Some(format!("{status} - Internal Server Error: {}", page.text())),
            _ if request.javascript => None,
            _ if !listed && !is_html(content_type) => Some(format!(
                "Resource {} served Content-Type {content_type}, but only text/html, application/xhtml+xml are \
                 allowed. Skipping resource.",
                request.url
            )),
            _ if browser_only => {
                Some("Cannot read properties of undefined (reading 'evaluate')".to_owned())
            }
            _ => None,
        }
    }

    fn failed(&self, reason: &str) -> Value {
        json!({"#error": true, "#debug": {
            "requestId": "request1",
            "url": self.request.url,
            "method": self.request.method,
            "retryCount": 0,
            "errorMessages": [format!("Error: {reason}\n    at run (file:///home/myuser/main.js:1:1)")],
        }})
    }

    /// The return value of the page function. Without a browser it gets bytes for anything but
    /// HTML.
    fn returned(&self, page: &TargetPage) -> Value {
        let utf8 = std::str::from_utf8(&page.body).is_ok();
        let is_text = utf8 && (self.request.javascript || is_html(media_type(page)));
        json!({
            "url": page.url,
            "status": page.status,
            "headers": grouped_headers(page),
            "body": if is_text { page.text() } else { to_base64(&page.body) },
            "encoding": if is_text { "text" } else { "base64" },
            "#error": false,
            "#debug": {
                "requestId": "request1", "url": self.request.url, "loadedUrl": page.url,
                "method": self.request.method, "retryCount": 0, "errorMessages": [], "statusCode": page.status,
            },
        })
    }
}

fn media_type(page: &TargetPage) -> &str {
    page.header("content-type")
        .split(';')
        .next()
        .unwrap_or_default()
        .trim()
}

fn is_html(media_type: &str) -> bool {
    matches!(media_type, "text/html" | "application/xhtml+xml")
}

fn invalid(reason: &str) -> Answered {
    refusal(400, "invalid-input", reason)
}

fn missing(reason: &str) -> Answered {
    refusal(404, "record-not-found", reason)
}

fn refusal(status: u16, kind: &str, message: &str) -> Answered {
    Answered::json(
        status,
        &json!({"error": {"type": kind, "message": message}}),
    )
}

#[cfg(test)]
mod tests;
