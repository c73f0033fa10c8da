//! `brave`: the web search of the Brave Search API.

use serde::Deserialize;
use trawl_sdk::search::{
    Class, Cost, Description, Failure, Freshness, Hit, Query, Reply, Request, Results, Search,
    marked_up_hit,
};

/// Adapter for the Brave Search API.
pub struct Brave;

const TOKEN: &str = "BRAVE_API_KEY";
const QUERY: &str = "query";
/// Most results on a page.
const COUNT_MAX: u32 = 20;
/// Most pages of results.
const PAGES_MAX: u32 = 10;
/// Languages with a script or a country in their code.
const WHOLE_TAGS: [&str; 5] = ["en-gb", "pt-br", "pt-pt", "zh-hans", "zh-hant"];
/// Places whose Chinese has the traditional script.
const TRADITIONAL: [&str; 3] = ["zh-hk", "zh-mo", "zh-tw"];
/// Languages whose code is the service's own.
const OWN_CODES: [(&str, &str); 4] = [
    ("ja", "jp"),
    ("pt", "pt-pt"),
    ("zh", "zh-hans"),
    ("no", "nb"),
];

trawl_sdk::export!(search: Brave);

impl Search for Brave {
    type Settings = ();

    fn describe() -> Description {
        Description::new(
            "brave",
            env!("CARGO_PKG_VERSION"),
            "Brave (Search API)",
            "https://api.search.brave.com",
        )
        .credentials(&[TOKEN])
        .hosts(&["api.search.brave.com"])
        .takes(&["country", "language", "freshness"])
        .count_max(COUNT_MAX)
        .units(&[QUERY])
        .seconds(20)
    }

    fn start(query: &Query, (): ()) -> Result<Request, Failure> {
        if query.page > PAGES_MAX {
            let message = format!("the service has at most {PAGES_MAX} pages of results");
            return Err(Failure::unsupported(message));
        }
        // There is no value for an hour.
        let freshness = query.freshness.map(|freshness| match freshness {
            Freshness::Hour | Freshness::Day => "pd",
            Freshness::Week => "pw",
            Freshness::Month => "pm",
            Freshness::Year => "py",
        });
        Ok(Request::get(query.at("/res/v1/web/search"))
            .header("accept", "application/json")
            .secret_header("X-Subscription-Token", TOKEN)
            .query("q", &query.text)
            .query("count", query.count)
            .query("offset", query.page.saturating_sub(1))
            .query("result_filter", "web")
            .query("text_decorations", false)
            .query_some("country", query.country.as_deref())
            .query_some("search_lang", query.language.as_deref().map(language))
            .query_some("freshness", freshness))
    }

    fn resume(_: &Query, (): (), reply: &Reply<'_>) -> Result<Results, Failure> {
        if reply.status != 200 {
            return Err(failure(reply));
        }
        let found: Found = reply.json()?;
        // Without results the response has no `web`.
        let results = found.web.map(|web| web.results).unwrap_or_default();
        let hits = results.into_iter().map(Hit::from).collect();
        Ok(Results::free(hits)
            .cost(Cost::listed(QUERY))
            .request_id(reply.header("x-request-id")))
    }
}

/// The service's code of a language.
fn language(tag: &str) -> String {
    let tag = tag.to_lowercase();
    if let Some(code) = WHOLE_TAGS.iter().find(|code| begins(&tag, code)) {
        return (*code).to_owned();
    }
    if TRADITIONAL.iter().any(|place| begins(&tag, place)) {
        return "zh-hant".to_owned();
    }
    let first = tag.split('-').next().unwrap_or_default();
    let own = OWN_CODES.iter().find(|(known, _)| *known == first);
    own.map_or(first, |(_, code)| *code).to_owned()
}

/// Whether a tag begins with these parts.
fn begins(tag: &str, parts: &str) -> bool {
    let rest = tag.strip_prefix(parts);
    rest.is_some_and(|rest| rest.is_empty() || rest.starts_with('-'))
}

/// A response; only the fields in use.
#[derive(Deserialize)]
struct Found {
    web: Option<Web>,
}

#[derive(Deserialize)]
struct Web {
    #[serde(default)]
    results: Vec<Entry>,
}

#[derive(Deserialize)]
struct Entry {
    url: String,
    title: String,
    #[serde(default)]
    description: Option<String>,
    /// When the page changed: `2026-01-31T00:00:00`.
    #[serde(default)]
    page_age: Option<String>,
    #[serde(default)]
    profile: Option<Profile>,
}

#[derive(Deserialize)]
struct Profile {
    name: Option<String>,
}

impl From<Entry> for Hit {
    fn from(entry: Entry) -> Self {
        Self {
            date: entry.page_age,
            site_name: entry.profile.and_then(|profile| profile.name),
            ..marked_up_hit(entry.url, &entry.title, entry.description.as_deref())
        }
    }
}

/// An error response; only the fields in use.
#[derive(Default, Deserialize)]
#[serde(default)]
struct Refused {
    error: Reason,
}

#[derive(Default, Deserialize)]
#[serde(default)]
struct Reason {
    code: Option<String>,
    detail: Option<String>,
}

fn failure(reply: &Reply<'_>) -> Failure {
    let Reason { code, detail } = reply.json::<Refused>().unwrap_or_default().error;
    let class = match (reply.status, code.as_deref()) {
        // A wrong key has the status of a wrong parameter.
        (_, Some("SUBSCRIPTION_TOKEN_INVALID" | "SUBSCRIPTION_NOT_FOUND")) => Class::BadKey,
        (429, _) if is_month_used_up(reply) => Class::NoCredit,
        (status, _) => Class::of_status(status),
    };
    Failure::quoting_some(class, reply, detail.as_deref()).code_some(code.as_deref())
}

/// Whether nothing is left of the requests of the month: of two numbers, the second one is that of
/// the month. A limit of 0 means that the plan has none.
fn is_month_used_up(reply: &Reply<'_>) -> bool {
    let of_month = |name: &str| {
        let value = reply.header(name)?;
        value.split(',').nth(1)?.trim().parse::<u64>().ok()
    };
    let has_limit = of_month("x-ratelimit-limit").is_some_and(|limit| limit > 0);
    has_limit && of_month("x-ratelimit-remaining") == Some(0)
}

#[cfg(test)]
mod tests {
    use super::Brave;

    #[test]
    fn all_cases_hold() {
        let folder = concat!(env!("CARGO_MANIFEST_DIR"), "/cases");
        trawl_sdk::testkit::check_searches::<Brave>(folder);
    }
}
