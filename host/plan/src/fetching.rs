//! How a page is fetched: engine, time, pool, cache.

use std::time::Duration;

use trawl_model::Purpose;

use super::named::named;
use super::{CachePlan, ConfiguredPool, Engine, Named, PlanError, Pool};

/// Default of `max_age`: two days.
const CACHE_AGE_DEFAULT: Duration = Duration::from_secs(2 * 24 * 60 * 60);
/// Default of `request_timeout`.
const TIMEOUT_DEFAULT: Duration = Duration::from_secs(30);
/// The values of `request`.
pub const ENGINES: [Named<Engine>; 3] = [
    (Engine::Smart, &["smart", "smart_mode", "smartmode"]),
    (Engine::Http, &["http"]),
    (Engine::Browser, &["browser", "chrome", "headless"]),
];
/// The values of `proxy`.
pub const POOLS: [Named<Pool>; 3] = [
    (Pool::Standard, &["standard", "datacenter"]),
    (Pool::Isp, &["isp"]),
    (Pool::Residential, &["residential", "mobile"]),
];
/// The values of `purpose`.
pub const PURPOSES: [Named<Purpose>; 3] = [
    (Purpose::Search, &["search"]),
    (Purpose::AiInput, &["ai-input", "ai_input"]),
    (Purpose::AiTrain, &["ai-train", "ai_train"]),
];
/// Least and most seconds of `request_timeout`; larger numbers are milliseconds.
pub const TIMEOUT_SECONDS: (u64, u64) = (5, 255);

/// `request`, compared without case.
///
/// # Errors
/// The mode is not known.
pub fn engine(name: Option<&str>) -> Result<Engine, PlanError> {
    let Some(name) = name else {
        return Ok(Engine::Smart);
    };
    named(&ENGINES, name).ok_or_else(|| {
        let name = name.trim().to_lowercase();
        let shown: String = name.chars().take(40).collect();
        let reason = format!("unknown mode `{shown}`; use `smart`, `http` or `browser`");
        PlanError::new("request", reason)
    })
}

/// `purpose`, compared without case.
///
/// # Errors
/// The purpose is not known.
pub fn purpose(name: &str) -> Result<Purpose, PlanError> {
    named(&PURPOSES, name).ok_or_else(|| {
        let shown: String = name.trim().chars().take(40).collect();
        let reason = format!("unknown purpose `{shown}`; use `search`, `ai-input` or `ai-train`");
        PlanError::new("purpose", reason)
    })
}

/// `request_timeout`: seconds up to 255, milliseconds above.
///
/// Decision D28: seconds below 5 are raised to 5, milliseconds are clamped to 1 to 255 seconds;
/// neither is refused.
pub fn page_timeout(value: Option<u64>) -> Duration {
    match value {
        None => TIMEOUT_DEFAULT,
        Some(seconds) if seconds <= TIMEOUT_SECONDS.1 => {
            Duration::from_secs(seconds.max(TIMEOUT_SECONDS.0))
        }
        Some(millis) => exact_timeout(Duration::from_millis(millis)),
    }
}

/// `request_timeout` as an exact time, clamped like its milliseconds.
pub fn exact_timeout(time: Duration) -> Duration {
    time.clamp(
        Duration::from_secs(1),
        Duration::from_secs(TIMEOUT_SECONDS.1),
    )
}

/// `proxy`: the requested pool, or the nearest configured one. The flag is `true` if it is the
/// requested one.
pub fn pool(name: Option<&str>, configured: &[ConfiguredPool]) -> (Pool, bool) {
    let Some(name) = name else {
        return (Pool::Standard, true);
    };
    // Nearest means the next one down in trust and price, so that a caller never pays for more than
    // was requested.
    let nearest: &[Pool] = match named(&POOLS, name) {
        Some(Pool::Standard) => return (Pool::Standard, true),
        Some(Pool::Isp) => &[Pool::Isp],
        Some(Pool::Residential) => &[Pool::Residential, Pool::Isp],
        Some(Pool::Unlimited) | None => &[],
    };
    let is_configured = |wanted: &Pool| configured.iter().any(|known| known.pool == *wanted);
    let found = nearest.iter().position(is_configured);
    match found {
        Some(place) => (nearest[place], place == 0),
        None => (Pool::Standard, false),
    }
}

/// `country_code`: two letters, converted to upper case.
///
/// # Errors
/// It is not two letters.
pub fn country_code(code: &str) -> Result<String, PlanError> {
    let code = code.trim();
    if code.len() == 2 && code.bytes().all(|byte| byte.is_ascii_alphabetic()) {
        return Ok(code.to_ascii_uppercase());
    }
    Err(PlanError::new(
        "country_code",
        "must be two letters, such as `de`",
    ))
}

/// The configured pool that sites turn away least. Decision D65.
pub fn strongest_pool(configured: &[ConfiguredPool]) -> Pool {
    let by_strength = [Pool::Residential, Pool::Isp];
    let is_configured = |wanted: &Pool| configured.iter().any(|known| known.pool == *wanted);
    by_strength
        .into_iter()
        .find(is_configured)
        .unwrap_or_default()
}

/// The pool of the flat-rate routes, or the nearest one. Spec S27.
pub fn unlimited_pool(configured: &[ConfiguredPool]) -> Pool {
    let is_configured = configured.iter().any(|known| known.pool == Pool::Unlimited);
    if is_configured {
        Pool::Unlimited
    } else {
        Pool::Standard
    }
}

/// Whether pages that go out through this pool can come from this country.
pub fn has_country(pool: Pool, country: &str, configured: &[ConfiguredPool]) -> bool {
    let countries = configured.iter().filter(|known| known.pool == pool);
    countries
        .flat_map(|known| &known.countries)
        .any(|known| known == country)
}

/// `cache` with its parts; parts left out have their defaults.
///
/// Decision D53: `cache: false` neither reads the cache nor writes it, so that a caller's page is
/// not stored; `max_age: 0` revalidates with the site every time, but stores the answer.
pub fn cache(enabled: bool, max_age: Option<Duration>) -> CachePlan {
    CachePlan {
        enabled,
        max_age: max_age.unwrap_or(CACHE_AGE_DEFAULT),
        allow_stale: false,
        skip_browser: false,
        only: false,
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn listed(pool: Pool, countries: &[&str]) -> ConfiguredPool {
        let countries = countries.iter().map(|&code| code.to_owned()).collect();
        ConfiguredPool { pool, countries }
    }

    #[test]
    fn a_country_is_that_of_the_pool_that_is_used() {
        let configured = [
            listed(Pool::Standard, &["FR"]),
            listed(Pool::Isp, &["DE", "US"]),
        ];
        assert!(has_country(Pool::Isp, "US", &configured));
        assert!(!has_country(Pool::Isp, "FR", &configured));
        assert!(!has_country(Pool::Residential, "DE", &configured));
        assert!(!has_country(Pool::Standard, "DE", &[]));
    }

    #[test]
    fn modes_have_aliases() {
        let check = |name: &str, expected| assert_eq!(engine(Some(name)), Ok(expected), "{name}");
        check("smart", Engine::Smart);
        check("Smart_Mode", Engine::Smart);
        check("smartMode", Engine::Smart);
        check(" HTTP", Engine::Http);
        check("Chrome", Engine::Browser);
        check("headless", Engine::Browser);
        assert_eq!(engine(None), Ok(Engine::Smart));
        assert_eq!(
            engine(Some("curl")).map_err(|error| error.field),
            Err("request")
        );
    }

    #[test]
    fn timeouts_are_seconds_or_milliseconds() {
        let check = |value: Option<u64>, millis: u64| {
            assert_eq!(
                page_timeout(value),
                Duration::from_millis(millis),
                "{value:?}"
            );
        };
        check(None, 30_000);
        check(Some(0), 5_000);
        check(Some(5), 5_000);
        check(Some(255), 255_000);
        check(Some(256), 1_000);
        check(Some(1_500), 1_500);
        check(Some(u64::MAX), 255_000);
    }

    #[test]
    fn a_pool_that_is_not_there_falls_to_the_nearest() {
        let all = [Pool::Standard, Pool::Isp, Pool::Residential];
        let check = |name: Option<&str>, configured: &[Pool], expected| {
            let configured: Vec<_> = configured.iter().map(|&pool| listed(pool, &[])).collect();
            assert_eq!(pool(name, &configured), expected, "{name:?}");
        };
        check(None, &[], (Pool::Standard, true));
        check(Some("datacenter"), &[], (Pool::Standard, true));
        check(Some("Mobile"), &all, (Pool::Residential, true));
        check(Some("residential"), &[Pool::Isp], (Pool::Isp, false));
        check(Some("residential"), &[], (Pool::Standard, false));
        check(Some("isp"), &all, (Pool::Isp, true));
        check(Some("isp"), &[Pool::Residential], (Pool::Standard, false));
        check(Some("moon"), &all, (Pool::Standard, false));
        let unlimited = [listed(Pool::Isp, &[]), listed(Pool::Unlimited, &[])];
        assert_eq!(unlimited_pool(&unlimited), Pool::Unlimited);
        assert_eq!(unlimited_pool(&unlimited[..1]), Pool::Standard);
    }

    #[test]
    fn countries_are_two_letters() {
        assert_eq!(country_code(" de"), Ok("DE".to_owned()));
        for bad in ["", "deu", "d1", "ü"] {
            assert_eq!(
                country_code(bad).map_err(|error| error.field),
                Err("country_code"),
                "{bad}"
            );
        }
    }
}
