//! From the configuration's words to the rooms' own settings.

use std::collections::BTreeMap;
use std::time::Duration;

use anyhow::Context;
use serde_json::{Map, Value, json};
use url::Url;

use crate::config::{Config, ProxySettings, RouterDefault};
use trawl_billing::{Prices, SeatPrices};
use trawl_engine::ai::{AiConfig, TokenPrices};
use trawl_engine::providers::{PooledError, PooledKeys};
use trawl_model::{ModelSize, Nanodollars};
use trawl_net::egress::{AllowList, EgressConfig, PoolConfig, UpstreamProxy};
use trawl_net::robots;
use trawl_plan::{ConfiguredPool, Pool, RouterMode};
use trawl_render::RenderConfig;

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

/// The language model; `None` when there is none.
pub(super) fn ai(config: &Config) -> anyhow::Result<Option<AiConfig>> {
    let Some(ai) = &config.ai else {
        return Ok(None);
    };
    let base = Url::parse(&ai.base)
        .ok()
        .filter(|url| matches!(url.scheme(), "http" | "https") && url.has_host())
        .with_context(|| {
            format!(
                "ai.base is `{}`; write an address such as \"http://127.0.0.1:8080/v1\"",
                ai.base
            )
        })?;
    anyhow::ensure!(
        base.username().is_empty() && base.password().is_none() && base.query().is_none(),
        "ai.base has a user name, a password or a query; a key belongs into the variable that ai.key_env names"
    );
    anyhow::ensure!(
        !ai.model.trim().is_empty(),
        "ai.model is empty; write the model's name"
    );
    let is_whole = ai.context_tokens > 0
        && ai.answer_tokens > 0
        && ai.timeout > 0
        && ai.requests_in_flight > 0;
    anyhow::ensure!(
        is_whole,
        "ai.context_tokens, ai.answer_tokens, ai.timeout and ai.requests_in_flight must be 1 at least"
    );
    let key = match &ai.key_env {
        None => None,
        Some(name) => Some(providers(config)?.one(name).with_context(|| {
            format!("ai.key_env names `{name}`, which is neither in the environment nor in providers.credentials_file")
        })?),
    };
    Ok(Some(AiConfig {
        base,
        model: ai.model.trim().to_owned(),
        key,
        prices: TokenPrices {
            question: price(
                "ai.dollars_per_million_question_tokens",
                &ai.dollars_per_million_question_tokens,
            )?,
            answer: price(
                "ai.dollars_per_million_answer_tokens",
                &ai.dollars_per_million_answer_tokens,
            )?,
        },
        size: ModelSize {
            context_tokens: ai.context_tokens,
            answer_tokens: ai.answer_tokens,
        },
        timeout: Duration::from_secs(ai.timeout.into()),
        in_flight: ai.requests_in_flight,
    }))
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
    let model = ai(config)?.map(|model| {
        json!({
            "dollars_per_million_question_tokens": model.prices.question.dollars_text(),
            "dollars_per_million_answer_tokens": model.prices.answer.dollars_text(),
        })
    });
    Ok(json!({
        "ai": model,
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
        assert_eq!(usual["ai"], Value::Null);
        let model = "[ai]\nbase = \"http://127.0.0.1:1/v1\"\nmodel = \"m\"\ndollars_per_million_answer_tokens = \"0.60\"";
        let with_model = price_list(&read(model)).expect("prices");
        assert_eq!(with_model["ai"]["dollars_per_million_answer_tokens"], "0.6");
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
    fn a_model_is_whole_or_the_start_up_stops() {
        assert!(ai(&Config::default()).expect("none").is_none());
        const WHOLE: &str = "[ai]\nbase = \"http://127.0.0.1:8080/v1\"\nmodel = \"m\"\n";
        let found = ai(&read(WHOLE)).expect("a model").expect("a model");
        assert_eq!((found.model.as_str(), found.in_flight), ("m", 4));
        assert_eq!(found.prices, TokenPrices::default());
        let priced = "dollars_per_million_question_tokens = \"0.15\"\nkey_env = \"AI_KEY\"";
        let mut config = read(&format!("{WHOLE}{priced}"));
        let refusal = ai(&config).expect_err("no key").to_string();
        assert!(refusal.contains("ai.key_env names `AI_KEY`"), "{refusal}");
        let variable = ("AI_KEY".to_owned(), "canary".to_owned());
        config.providers.environment = crate::config::Environment(vec![variable]);
        let found = ai(&config).expect("a model").expect("a model");
        assert_eq!(found.prices.question, Nanodollars(150_000_000));
        assert!(!format!("{found:?}").contains("canary"));
        for (wrong, reason) in [
            (WHOLE.replace("http:", "ftp:"), "ai.base is"),
            (WHOLE.replace("127", "user:secret@127"), "a user name"),
            (WHOLE.replace("\"m\"", "\" \""), "ai.model is empty"),
            (format!("{WHOLE}timeout = 0"), "must be 1 at least"),
            (
                format!("{WHOLE}dollars_per_million_answer_tokens = \"x\""),
                "write dollars such as",
            ),
        ] {
            let refusal = ai(&read(&wrong)).expect_err("refused").to_string();
            assert!(
                refusal.contains(reason) && !refusal.contains("secret"),
                "{refusal}"
            );
        }
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
