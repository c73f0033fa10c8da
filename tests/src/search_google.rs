//! Fake scraping services that search, nearly all of them with Google. Each refuses what its
//! documentation does not have: another form of request, unknown parameters, and values out of
//! their range.

use serde_json::{Value, json};

use crate::vendors::{Answered, Asked, KeyState};

/// Whether a parameter can have this value. Parameters of a query are texts.
type Check = fn(&Value) -> bool;
/// URL and title of each result.
type Found = [(String, String)];

/// A service.
struct Service {
    name: &'static str,
    path: &'static str,
    key: Key,
    /// The parameters that it has: in the query of a GET request with [`Key::Query`], otherwise in
    /// the JSON object of a POST request. One of the query of a POST request begins with `?`.
    parameters: &'static [(&'static str, Check)],
    /// Those among them that it needs.
    needs: &'static [&'static str],
    reply: fn(&Found) -> Value,
    /// Headers of the reply.
    headers: &'static [(&'static str, &'static str)],
}

/// Where the key is.
#[derive(Clone, Copy)]
enum Key {
    /// In this parameter.
    Query(&'static str),
    Bearer,
    /// The user of `Authorization: Basic`, without a password.
    BasicUser,
    /// User and password.
    BasicPair,
}

static SERVICES: [Service; 10] = [
    Service {
        name: "zyte",
        path: "/v1/search",
        key: Key::BasicUser,
        parameters: &[
            ("domain", is_google),
            ("query", is_text),
            ("include", |value| *value == json!(["organic"])),
            ("maxResults", is_number_of_results),
            ("queryParameters", is_engine_specific),
        ],
        needs: &["domain", "query", "include"],
        reply: zyte,
        headers: &[],
    },
    Service {
        name: "scrapingbee",
        path: "/api/v1/store/google",
        key: Key::Query("api_key"),
        parameters: &[
            ("search", is_text),
            ("page", |value| number(value).is_some_and(|n| n > 0)),
            ("light_request", |value| value == "true" || value == "false"),
            ("country_code", is_country),
            ("language", is_language),
            ("date_range", |value| {
                let range = value.as_str().and_then(|text| text.strip_prefix("past_"));
                matches!(range, Some("hour" | "day" | "week" | "month" | "year"))
            }),
        ],
        needs: &["search"],
        reply: scrapingbee,
        headers: &[],
    },
    Service {
        name: "scraperapi",
        path: "/structured/google/search",
        key: Key::Query("api_key"),
        parameters: &[
            ("query", is_text),
            ("num", |value| number(value).is_some_and(|n| n > 0)),
            ("start", |value| number(value).is_some()),
            ("gl", is_country),
            ("hl", is_language),
            ("time_period", is_period),
        ],
        needs: &["query"],
        reply: scraperapi,
        headers: &[("sa-credit-cost", "25")],
    },
    Service {
        name: "scrapedo",
        path: "/plugin/google/search",
        key: Key::Query("token"),
        parameters: &[
            ("q", is_text),
            ("start", |value| number(value).is_some_and(|n| n % 10 == 0)),
            ("gl", is_country),
            ("hl", is_language),
            ("location", is_place),
            ("time_period", |value| {
                let range = value.as_str().and_then(|text| text.strip_prefix("last_"));
                matches!(range, Some("hour" | "day" | "week" | "month" | "year"))
            }),
        ],
        needs: &["q"],
        reply: scraperapi,
        headers: &[("scrape.do-request-cost", "10")],
    },
    Service {
        name: "zenrows",
        path: "/v1/targets/google/search",
        key: Key::Query("apikey"),
        parameters: &[("url", is_page_url), ("country", is_country)],
        needs: &["url"],
        reply: scraperapi,
        headers: &[("x-request-credits", "25")],
    },
    Service {
        name: "brightdata",
        path: "/request",
        key: Key::Bearer,
        parameters: &[
            ("zone", |value| value == "serp_api1"),
            ("url", is_json_url),
            ("format", |value| value == "raw"),
        ],
        needs: &["zone", "url", "format"],
        reply: brightdata,
        headers: &[("x-brd-status-code", "200")],
    },
    Service {
        name: "apify",
        path: "/v2/actors/apify~google-search-scraper/run-sync-get-dataset-items",
        key: Key::Bearer,
        parameters: &[
            ("?timeout", |value| {
                number(value).is_some_and(|n| (1..=300).contains(&n))
            }),
            ("queries", is_line),
            ("maxPagesPerQuery", |value| {
                value.as_u64().is_some_and(|n| n > 0)
            }),
            ("countryCode", is_country),
            ("languageCode", is_language),
            ("quickDateRange", |value| {
                matches!(value.as_str(), Some("h1" | "d1" | "w1" | "m1" | "y1"))
            }),
        ],
        needs: &["queries"],
        reply: apify,
        headers: &[],
    },
    Service {
        name: "browserless",
        path: "/search",
        key: Key::Bearer,
        parameters: &[
            ("?timeout", |value| number(value).is_some_and(|n| n > 0)),
            ("query", is_text),
            ("limit", |value| {
                value.as_u64().is_some_and(|n| (1..=100).contains(&n))
            }),
            ("sources", |value| *value == json!(["web"])),
            ("country", is_country),
            ("lang", is_language),
            ("location", is_text),
            ("tbs", |value| {
                matches!(value.as_str(), Some("day" | "week" | "month" | "year"))
            }),
        ],
        needs: &["query"],
        reply: browserless,
        headers: &[],
    },
    Service {
        name: "oxylabs",
        path: "/v1/queries",
        key: Key::BasicPair,
        parameters: &[
            ("source", |value| value == "google_search"),
            ("query", is_text),
            ("parse", |value| value.as_bool() == Some(true)),
            ("start_page", |value| value.as_u64().is_some_and(|n| n > 0)),
            ("geo_location", is_place),
            ("locale", is_language),
            ("context", |value| {
                value[0]["key"] == "tbs" && is_tbs(&value[0]["value"])
            }),
        ],
        needs: &["source", "query", "parse"],
        reply: oxylabs,
        headers: &[],
    },
    Service {
        name: "decodo",
        path: "/v2/scrape",
        key: Key::BasicPair,
        parameters: &[
            ("target", |value| value == "google_search"),
            ("query", is_text),
            ("parse", |value| value.as_bool() == Some(true)),
            ("page_from", |value| value.as_u64().is_some_and(|n| n > 0)),
            ("geo", is_place),
            ("google_results_language", is_language),
            ("google_tbs", is_tbs),
        ],
        needs: &["target", "query", "parse"],
        reply: decodo,
        headers: &[],
    },
];

/// The answer of the service of this name, if there is one at the path.
pub(crate) fn answer(name: &str, asked: &Asked, found: &Found) -> Option<Answered> {
    let mut services = SERVICES.iter();
    let service = services.find(|one| one.name == name && one.path == asked.path)?;
    let message = |reason: &str| json!({"message": reason, "detail": reason});
    if service.key.state(asked) != KeyState::Good {
        return Some(Answered::json(401, &message("the key is wrong")));
    }
    if let Some(reason) = service.fault(asked) {
        return Some(Answered::json(400, &message(&reason)));
    }
    // A run of an actor is created by the request.
    let status = if name == "apify" { 201 } else { 200 };
    let mut answered = Answered::json(status, &(service.reply)(found));
    for (name, value) in service.headers {
        answered = answered.header(name, value);
    }
    Some(answered)
}

impl Key {
    fn state(self, asked: &Asked) -> KeyState {
        let pair = asked.basic().unwrap_or_default();
        match self {
            Self::Query(name) => KeyState::of(asked.param(name)),
            Self::Bearer => KeyState::of(asked.bearer()),
            Self::BasicUser => KeyState::of(pair.strip_suffix(':')),
            Self::BasicPair => KeyState::of_basic(&pair),
        }
    }
}

impl Service {
    /// Why a request is not one of the documentation.
    fn fault(&self, asked: &Asked) -> Option<String> {
        let key_parameter = match self.key {
            Key::Query(name) => Some(name),
            _ => None,
        };
        let is_query = key_parameter.is_some();
        let method = if is_query { "GET" } else { "POST" };
        if asked.method != method {
            return Some(format!("the method is not {method}"));
        }
        if is_query != asked.body.is_empty() {
            return Some("the parameters are not where they belong".to_owned());
        }
        let mark = if is_query { "" } else { "?" };
        let is_key = |name: &str| Some(name) == key_parameter;
        let in_query = asked.query.iter().filter(|(name, _)| !is_key(name));
        let mut sent: Vec<(String, Value)> = in_query
            .map(|(name, value)| (format!("{mark}{name}"), value.as_str().into()))
            .collect();
        if !is_query {
            let body = asked.json();
            let members = body.as_object().into_iter().flatten();
            sent.extend(members.map(|(name, value)| (name.clone(), value.clone())));
        }
        for (name, value) in &sent {
            let mut known = self.parameters.iter();
            let Some((_, fits)) = known.find(|(known, _)| known == name) else {
                return Some(format!("unknown parameter {name}"));
            };
            if !fits(value) {
                return Some(format!("{name} cannot be {value}"));
            }
            if sent.iter().filter(|(other, _)| other == name).count() > 1 {
                return Some(format!("{name} is sent twice"));
            }
        }
        let mut needs = self.needs.iter();
        let missing = needs.find(|need| sent.iter().all(|(name, _)| name != **need))?;
        Some(format!("{missing} is missing"))
    }
}

fn number(value: &Value) -> Option<u64> {
    value.as_u64().or_else(|| value.as_str()?.parse().ok())
}

/// Tens up to a hundred.
fn is_number_of_results(value: &Value) -> bool {
    number(value).is_some_and(|n| n % 10 == 0 && (10..=100).contains(&n))
}

fn is_period(value: &Value) -> bool {
    let unit = value.as_str().and_then(|text| text.strip_prefix('1'));
    matches!(unit, Some("H" | "D" | "W" | "M" | "Y"))
}

fn is_text(value: &Value) -> bool {
    value.as_str().is_some_and(|text| !text.is_empty())
}

/// One line of text: each line would be a search of its own.
fn is_line(value: &Value) -> bool {
    is_text(value) && value.as_str().is_some_and(|text| !text.contains('\n'))
}

fn is_google(value: &Value) -> bool {
    value
        .as_str()
        .is_some_and(|text| text.starts_with("google."))
}

/// Two lower-case letters.
fn is_country(value: &Value) -> bool {
    let is_lower = |text: &str| text.bytes().all(|byte| byte.is_ascii_lowercase());
    value
        .as_str()
        .is_some_and(|text| text.len() == 2 && is_lower(text))
}

/// A code of Google: two or three letters, with a country for Chinese alone.
fn is_language(value: &Value) -> bool {
    let is_lower = |text: &str| text.bytes().all(|byte| byte.is_ascii_lowercase());
    value.as_str().is_some_and(|text| {
        matches!(text, "zh-CN" | "zh-TW") || matches!(text.len(), 2 | 3) && is_lower(text)
    })
}

/// A name, not a code.
fn is_place(value: &Value) -> bool {
    value.as_str().is_some_and(|text| text.len() > 2)
}

fn is_tbs(value: &Value) -> bool {
    let range = value.as_str().and_then(|text| text.strip_prefix("qdr:"));
    matches!(range, Some("h" | "d" | "w" | "m" | "y"))
}

fn is_engine_specific(value: &Value) -> bool {
    value["style"] == "engineSpecific"
        && value.as_object().is_some_and(|members| {
            members.iter().all(|(name, value)| match name.as_str() {
                "style" => true,
                "gl" => is_country(value),
                "hl" => is_language(value),
                _ => false,
            })
        })
}

/// A URL of Google's results, which are to be JSON.
fn is_json_url(value: &Value) -> bool {
    is_results_url(value, true)
}

/// A URL of Google's results.
fn is_page_url(value: &Value) -> bool {
    is_results_url(value, false)
}

fn is_results_url(value: &Value, is_json: bool) -> bool {
    let is_known = |name: &str, value: &Value| match name {
        "q" => is_text(value),
        "start" => number(value).is_some(),
        "gl" => is_country(value),
        "hl" => is_language(value),
        "tbs" => is_tbs(value),
        "brd_json" => value == "1",
        _ => false,
    };
    let text = value.as_str().unwrap_or_default();
    let Ok(url) = reqwest::Url::parse(text) else {
        return false;
    };
    let pairs: Vec<(String, Value)> = url
        .query_pairs()
        .map(|(name, value)| (name.into_owned(), value.into()))
        .collect();
    text.starts_with("https://www.google.com/search?")
        && pairs.iter().any(|(name, _)| name == "q")
        && pairs.iter().any(|(name, _)| name == "brd_json") == is_json
        && pairs.iter().all(|(name, value)| is_known(name, value))
}

/// The results, each as this object.
fn each(found: &Found, entry: impl Fn(usize, &str, &str) -> Value) -> Value {
    let numbered = found.iter().enumerate();
    numbered
        .map(|(index, (url, title))| entry(index + 1, url, title))
        .collect()
}

fn zyte(found: &Found) -> Value {
    let entry = |rank, url: &str, title: &str| {
        json!({
            "rank": rank, "title": title, "url": url, "snippet": "High &amp; low water.",
            "displayedUrl": url,
        })
    };
    json!({
        "status": "success", "url": "https://www.google.com/search?q=tides",
        "fetchedAt": "2026-05-11T09:36:57Z", "meta": {"requestedAt": "2026-05-11T09:36:39Z"},
        "organicResults": each(found, entry),
    })
}

fn scrapingbee(found: &Found) -> Value {
    let entry = |position, url: &str, title: &str| {
        json!({
            "position": position, "title": title, "url": url, "displayed_url": url,
            "description": "High &amp; low water.", "domain": "a.example", "date": null,
            "rich_snippet": {}, "sitelinks": [],
        })
    };
    json!({"organic_results": each(found, entry), "local_results": [], "meta_data": {}})
}

fn scraperapi(found: &Found) -> Value {
    let entry = |position, url: &str, title: &str| {
        json!({
            "position": position, "title": title, "link": url, "displayed_link": url,
            "snippet": "High &amp; low water.",
        })
    };
    json!({"search_information": {}, "organic_results": each(found, entry), "pagination": {}})
}

fn brightdata(found: &Found) -> Value {
    let entry = |rank, url: &str, title: &str| {
        json!({
            "rank": rank, "global_rank": rank, "title": title, "link": url, "display_link": url,
            "description": "High &amp; low water.",
        })
    };
    json!({"general": {"search_engine": "google"}, "organic": each(found, entry)})
}

/// The pages of a run, of which there is one.
fn apify(found: &Found) -> Value {
    let entry = |position, url: &str, title: &str| {
        json!({
            "position": position, "type": "organic", "title": title, "url": url,
            "displayedUrl": url, "description": "High &amp; low water.", "emphasizedKeywords": [],
            "siteLinks": [], "productInfo": {},
        })
    };
    let query = json!({"page": 1, "type": "SEARCH", "device": "DESKTOP", "resultsPerPage": "10"});
    json!([{
        "#error": false, "#debug": {"errorMessages": []}, "searchQuery": query,
        "organicResults": each(found, entry), "paidResults": [], "peopleAlsoAsk": [],
    }])
}

fn browserless(found: &Found) -> Value {
    let entry = |position, url: &str, title: &str| {
        json!({
            "position": position, "title": title, "url": url,
            "description": "High &amp; low water.",
        })
    };
    let total = found.len();
    json!({"success": true, "data": {"web": each(found, entry)}, "totalResults": total})
}

/// Results as the parser of Oxylabs and Decodo writes them.
fn parsed(found: &Found) -> Value {
    let entry = |position, url: &str, title: &str| {
        json!({
            "pos": position, "pos_overall": position, "title": title, "url": url,
            "desc": "High &amp; low water.", "url_shown": url,
        })
    };
    json!({
        "page": 1, "last_visible_page": 1, "parse_status_code": 12000,
        "results": {"organic": each(found, entry), "search_information": {}},
    })
}

fn oxylabs(found: &Found) -> Value {
    json!({"results": [{"content": parsed(found), "status_code": 200, "job_id": "1"}]})
}

fn decodo(found: &Found) -> Value {
    let content = json!({"results": parsed(found), "errors": [], "status_code": 12000});
    json!({"results": [{"content": content, "status_code": 200, "task_id": "1"}]})
}
