//! How the pages of a request are fetched.

use std::time::Duration;

use trawl_model::Terms;
use trawl_parameters::{Cache, CacheForm, Cookie, CookieForm, CookiesForm, Pages, Seconds};
use trawl_plan::{CachePlan, FetchPlan, Pace, PlanError, credentials, fetching};

use super::defaults::RequestDefaults;
use super::values::{filled, time};
use super::verb::Verb;

/// The fetch plan of a request object. Takes its headers, cookies and cache settings.
/// `without_effect` gets the names of parameters whose pool is not configured.
pub(crate) fn fetch_plan(
    request: &mut Pages,
    verb: Verb,
    defaults: RequestDefaults<'_>,
    without_effect: &mut Vec<&'static str>,
) -> Result<FetchPlan, PlanError> {
    let pools = defaults.pools;
    let (pool, is_honoured) = match (request.proxy.as_deref(), verb, defaults.terms) {
        (None, Verb::Unblocker, Terms::PayAsYouGo) => (fetching::strongest_pool(pools), true),
        // Spec S27. The plan's pages are free, so they must not use a pool that costs the operator
        // more.
        (requested, _, Terms::Unlimited) => (fetching::unlimited_pool(pools), requested.is_none()),
        (requested, _, _) => fetching::pool(requested, pools),
    };
    if !is_honoured {
        without_effect.push("proxy");
    }
    let country_code = filled(request.country_code.as_deref())
        .map(fetching::country_code)
        .transpose()?;
    if let Some(country) = &country_code
        && !fetching::has_country(pool, country, pools)
    {
        without_effect.push("country_code");
    }
    let headers = request
        .headers
        .take()
        .map(|headers| headers.0)
        .unwrap_or_default();
    Ok(FetchPlan {
        timeout: page_timeout(request.request_timeout.as_ref())?,
        headers: credentials::headers(&headers)?,
        cookies: cookies(request.cookies.take())?,
        user_agent: header_text("user_agent", "user-agent", request.user_agent.as_deref())?,
        locale: header_text("locale", "accept-language", request.locale.as_deref())?,
        country_code,
        pool,
        respect_robots: request.respect_robots.unwrap_or(false),
        purpose: filled(request.purpose.as_deref())
            .map(fetching::purpose)
            .transpose()?,
        cache: cache(request.cache.take())?,
        pace: Pace::default(),
    })
}

/// A bare number is seconds or milliseconds, by its size; another form is exact.
fn page_timeout(sent: Option<&Seconds>) -> Result<Duration, PlanError> {
    let number = sent.and_then(Seconds::number);
    let exact = time("request_timeout", sent)?;
    Ok(match (number, exact) {
        (None, Some(exact)) => fetching::exact_timeout(exact),
        (number, _) => fetching::page_timeout(number),
    })
}

fn header_text(
    field: &'static str,
    name: &str,
    value: Option<&str>,
) -> Result<Option<String>, PlanError> {
    filled(value)
        .map(|value| credentials::header_value(field, name, value))
        .transpose()
}

fn cookies(form: Option<CookiesForm>) -> Result<Vec<(String, String)>, PlanError> {
    match form {
        None => Ok(Vec::new()),
        Some(CookiesForm::Line(line)) => credentials::cookie_line(&line),
        Some(CookiesForm::List(list)) => {
            let mut cookies = Vec::new();
            for (number, item) in list.0.into_iter().enumerate() {
                let item = cookie(item).map_err(|error| error.below(format!("[{number}]")))?;
                cookies.extend(item);
            }
            // Of each other they need only be few.
            credentials::cookies(cookies)
        }
    }
}

/// The cookies of one item of a list.
fn cookie(form: CookieForm) -> Result<Vec<(String, String)>, PlanError> {
    match form {
        CookieForm::Line(line) => credentials::cookie_line(&line),
        CookieForm::Pair(Cookie { name, value }) => {
            let pair = name.zip(value).ok_or_else(|| {
                let reason = "has no `name` or no `value`, send both";
                PlanError::new("cookies", reason)
            })?;
            credentials::cookies(vec![pair])
        }
    }
}

fn cache(form: Option<CacheForm>) -> Result<CachePlan, PlanError> {
    Ok(match form {
        None => fetching::cache(true, None),
        Some(CacheForm::Switch(is_on)) => fetching::cache(is_on, None),
        Some(CacheForm::Parts(Cache {
            max_age,
            allow_stale,
            skip_browser,
        })) => CachePlan {
            allow_stale: allow_stale.unwrap_or(false),
            skip_browser: skip_browser.unwrap_or(false),
            ..fetching::cache(true, time("cache.max_age", max_age.as_ref())?)
        },
    })
}
