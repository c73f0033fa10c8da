//! From the configuration's words to the rooms' own settings.

use std::collections::BTreeMap;
use std::time::Duration;

use anyhow::Context;
use serde_json::{Map, Value, json};
use url::Url;

use crate::billing::{Prices, SeatPrices};
use crate::config::{Config, ProxySettings, RouterDefault};
use crate::egress::{AllowList, EgressConfig, PoolConfig, UpstreamProxy};
use crate::model::Nanodollars;
use crate::plan::{ConfiguredPool, Pool, RouterMode};
use crate::providers::{PooledError, PooledKeys};
use crate::render::RenderConfig;
use crate::robots;

pub(super) fn egress(config: &Config) -> anyhow::Result<EgressConfig> {
    let mut pools: BTreeMap<String, PoolConfig> = BTreeMap::new();
    for proxy in &config.egress.proxy {
        let name = pool(proxy)?.name();
        let price_per_gigabyte = price(
            &format!("dollars_per_gigabyte of pool `{name}`"),
            &proxy.dollars_per_gigabyte,
        )?;
        let url = Url::parse(&proxy.url)
            .with_context(|| format!("a proxy of pool `{name}` has no valid `url`"))?;
        let pool = pools.entry(name.to_owned()).or_insert_with(|| PoolConfig {
            proxies: Vec::new(),
            price_per_gigabyte,
        });
        anyhow::ensure!(
            pool.price_per_gigabyte == price_per_gigabyte,
            "the proxies of pool `{name}` state different prices; a pool has one `dollars_per_gigabyte`"
        );
        pool.proxies.push(UpstreamProxy {
            url,
            country: country(proxy),
        });
    }
    let grants = config
        .egress
        .proxy
        .iter()
        .filter_map(|proxy| Url::parse(&proxy.url).ok())
        .collect();
    let allow_private = AllowList::new(config.egress.allow_private.clone());
    Ok(EgressConfig {
        allow_private,
        pools,
        grants,
        ..EgressConfig::default()
    })
}

/// The operator's credentials at providers.
pub(super) fn providers(config: &Config) -> Result<PooledKeys, PooledError> {
    let settings = &config.providers;
    let environment = settings.environment.0.iter().cloned();
    PooledKeys::read(environment, settings.credentials_file.as_deref())
}

/// What a request without a `router` object means.
pub(super) fn router_default(config: &Config) -> RouterMode {
    match config.providers.default_mode {
        RouterDefault::Off => RouterMode::Off,
        RouterDefault::Fallback => RouterMode::Fallback,
    }
}

/// The browser; `None` when the operator wants none.
pub(super) fn browser(config: &Config) -> Option<RenderConfig> {
    let browser = &config.browser;
    (browser.tabs > 0).then(|| RenderConfig {
        program: browser.program.clone(),
        search_path: browser.search_path.clone(),
        user: browser.user.clone(),
        no_sandbox: browser.no_sandbox,
        tabs_max: browser.tabs,
        pages_per_process: browser.pages_per_process.max(1),
        process_age_max: Duration::from_secs(browser.minutes_per_process.max(1) * 60),
        process_bytes_max: browser.memory_mib.max(256) << 20,
        ..RenderConfig::default()
    })
}

/// The pools that have a proxy, and their countries.
pub(super) fn pools(config: &Config) -> anyhow::Result<Vec<ConfiguredPool>> {
    let mut pools: BTreeMap<Pool, Vec<String>> = BTreeMap::new();
    for proxy in &config.egress.proxy {
        pools
            .entry(pool(proxy)?)
            .or_default()
            .extend(country(proxy));
    }
    let pools = pools.into_iter();
    Ok(pools
        .map(|(pool, countries)| ConfiguredPool { pool, countries })
        .collect())
}

/// RFC 9309 section 2.2.1 has no other characters in a product token; one with others would match no group at all.
pub(super) fn robots_token(config: &Config) -> anyhow::Result<String> {
    let token = config.egress.robots_token.as_deref();
    let token = token.unwrap_or(robots::TOKEN_DEFAULT);
    let is_part = |byte: u8| byte.is_ascii_alphabetic() || byte == b'-' || byte == b'_';
    anyhow::ensure!(
        !token.is_empty() && token.bytes().all(is_part),
        "egress.robots_token is `{token}`; write letters, `-` and `_` only, such as \"Trawl\""
    );
    Ok(token.to_owned())
}

fn country(proxy: &ProxySettings) -> Option<String> {
    proxy.country.as_ref().map(|code| code.to_ascii_uppercase())
}

pub(super) fn prices(config: &Config) -> anyhow::Result<Prices> {
    Ok(Prices {
        gigabyte: price("prices.gigabyte", &config.prices.gigabyte)?,
        cpu_minute: price("prices.cpu_minute", &config.prices.cpu_minute)?,
        stored_gigabyte: price("prices.stored_gigabyte", &config.prices.stored_gigabyte)?,
        own_key_percent: config.prices.own_key_percent,
        own_key_least: price("prices.own_key_least", &config.prices.own_key_least)?,
        pooled_percent: config.prices.pooled_percent,
    })
}

pub(super) fn seat_prices(config: &Config) -> anyhow::Result<SeatPrices> {
    let steps = config.unlimited.seat_prices.iter().map(|step| {
        let dollars = price("a price of unlimited.seat_prices", &step.dollars)?;
        Ok((step.from, dollars))
    });
    let steps = steps.collect::<anyhow::Result<_>>()?;
    SeatPrices::new(steps)
        .map_err(|reason| anyhow::anyhow!("unlimited.seat_prices make no sense: {reason}"))
}

/// All prices in one object, amounts as exact decimal text: what the history of prices keeps.
pub(super) fn price_list(config: &Config) -> anyhow::Result<Value> {
    let prices = prices(config)?;
    let pools = egress(config)?.pools.into_iter();
    let pools: Map<String, Value> = pools
        .map(|(name, pool)| (name, pool.price_per_gigabyte.dollars_text().into()))
        .collect();
    let seats = config.unlimited.seat_prices.iter().map(|step| {
        let dollars = price("a price of unlimited.seat_prices", &step.dollars)?;
        Ok(json!({"from": step.from, "dollars": dollars.dollars_text()}))
    });
    Ok(json!({
        "gigabyte": prices.gigabyte.dollars_text(),
        "cpu_minute": prices.cpu_minute.dollars_text(),
        "stored_gigabyte": prices.stored_gigabyte.dollars_text(),
        "own_key_percent": prices.own_key_percent,
        "own_key_least": prices.own_key_least.dollars_text(),
        "pooled_percent": prices.pooled_percent,
        "pools": pools,
        "seats": seats.collect::<anyhow::Result<Vec<_>>>()?,
    }))
}

fn pool(proxy: &ProxySettings) -> anyhow::Result<Pool> {
    [
        Pool::Standard,
        Pool::Isp,
        Pool::Residential,
        Pool::Unlimited,
    ]
    .into_iter()
    .find(|pool| pool.name() == proxy.pool)
    .with_context(|| {
        format!(
            "there is no pool `{}`; there are standard, isp, residential, unlimited",
            proxy.pool
        )
    })
}

fn price(name: &str, text: &str) -> anyhow::Result<Nanodollars> {
    if text.is_empty() {
        return Ok(Nanodollars::ZERO);
    }
    Nanodollars::parse_dollars(text)
        .filter(|price| *price >= Nanodollars::ZERO)
        .with_context(|| {
            format!("{name} is `{text}`; write dollars such as \"0.5\", with at most nine decimals")
        })
}

#[cfg(test)]
mod tests {
    use super::*;

    fn read(text: &str) -> Config {
        toml::from_str(text).expect("a configuration")
    }

    #[test]
    fn every_price_is_in_the_list() {
        let usual = price_list(&Config::default()).expect("prices");
        assert_eq!(
            (&usual["gigabyte"], &usual["cpu_minute"]),
            (&json!("1"), &json!("0.0001"))
        );
        assert_eq!(usual["seats"][3], json!({"from": 50, "dollars": "14.5"}));
        assert_eq!(usual["pools"], json!({}));
        let own = read(
            "[prices]\ngigabyte = \"2.50\"\npooled_percent = 5\n[[egress.proxy]]\npool = \"isp\"\nurl = \"http://p.example:1\"\ndollars_per_gigabyte = \"4\"",
        );
        let own = price_list(&own).expect("prices");
        assert_eq!(
            (&own["gigabyte"], &own["pooled_percent"], &own["pools"]),
            (&json!("2.5"), &json!(5), &json!({"isp": "4"}))
        );
        assert_ne!(own, usual);
    }

    #[test]
    fn seats_have_the_usual_prices_or_the_operators() {
        let usual = seat_prices(&Config::default()).expect("prices");
        assert_eq!(usual, SeatPrices::default());
        let own = read(
            "[unlimited]\nseat_prices = [{ from = 1, dollars = \"9.99\" }, { from = 5, dollars = \"8\" }]",
        );
        let own = seat_prices(&own).expect("prices");
        assert_eq!(own.month(4), Nanodollars(39_960_000_000));
        assert_eq!(own.month(5), Nanodollars(40_000_000_000));
        for (wrong, reason) in [
            ("[]", "no step"),
            ("[{ from = 2, dollars = \"1\" }]", "begin at 1"),
            (
                "[{ from = 1, dollars = \"lots\" }]",
                "write dollars such as",
            ),
        ] {
            let config = read(&format!("[unlimited]\nseat_prices = {wrong}"));
            let refusal = seat_prices(&config).expect_err("refused").to_string();
            assert!(refusal.contains(reason), "{refusal}");
        }
    }
}
