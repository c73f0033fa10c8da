//! Converts the configuration into the settings of each component.

pub(super) mod identity;
#[cfg(test)]
mod tests;

use std::collections::BTreeMap;
use std::io::{self, IsTerminal};
use std::time::Duration;

use anyhow::Context;
use serde_json::{Map, Value, json};
use url::Url;

use trawl_billing::{Prices, SeatPrices};
use trawl_crawl::CrawlLimits;
use trawl_crawl::webhooks::WebhookLimits;
use trawl_engine::ai::{AiConfig, TokenPrices};
use trawl_engine::providers::PooledKeys;
use trawl_model::{ModelSize, Nanodollars};
use trawl_net::egress::{AllowList, EgressConfig, PoolConfig, Resolve, UpstreamProxy};
use trawl_net::robots;
use trawl_plan::router::RouterDefaults;
use trawl_plan::{ConfiguredPool, Pool, RouterMode};
use trawl_render::RenderConfig;
use trawl_store::postgres::PostgresUrl;
use trawl_store::{DiskThreshold, ObjectsUrl};

use crate::config::{
    AccessLogSetting, Config, ProviderSettings, ProxySettings, ResolveSetting, RouterDefault,
};
use crate::listener::{AccessLog, LineFormat, ListenerLimits, descriptors};

/// Share of the descriptors that callers' connections may have, as a divisor. The others are for
/// connections to sites, files and the browser.
const DESCRIPTORS_SHARE: u64 = 2;
/// Most connections unless the configuration says otherwise: each holds some 20 KiB.
const CONNECTIONS_DEFAULT_MAX: u64 = 8_192;
/// Range of `providers.timeout`.
const PROVIDER_SECONDS: (u64, u64) = (5, 600);
/// Requests without a key that are answered at a time for one IP address: far more than the health
/// checks and dashboards of an office.
const KEYLESS_PER_PEER: usize = 64;

/// Proxies and the private networks that may be reached.
pub(super) fn egress(config: &Config) -> anyhow::Result<EgressConfig> {
    let mut pools: BTreeMap<String, PoolConfig> = BTreeMap::new();
    for proxy in &config.egress.proxy {
        let name = pool(proxy)?.name();
        let price_per_gigabyte = price(
            &format!("dollars_per_gigabyte of pool `{name}`"),
            &proxy.dollars_per_gigabyte,
        )?;
        let url = Url::parse(&proxy.url)
            .with_context(|| format!("a proxy of pool `{name}` has an invalid `url`"))?;
        let pool = pools.entry(name.to_owned()).or_insert_with(|| PoolConfig {
            proxies: Vec::new(),
            price_per_gigabyte,
        });
        anyhow::ensure!(
            pool.price_per_gigabyte == price_per_gigabyte,
            "the proxies of pool `{name}` have different prices; set one `dollars_per_gigabyte` for the pool"
        );
        let resolve = match proxy.resolve {
            ResolveSetting::Proxy => Resolve::Proxy,
            ResolveSetting::Local => Resolve::Local,
        };
        anyhow::ensure!(
            resolve == Resolve::Proxy || url.scheme() != "https",
            "a proxy of pool `{name}` has the scheme `https` and `resolve = \"local\"`; use `http` or `socks5`, or leave `resolve` out"
        );
        pool.proxies.push(UpstreamProxy {
            url,
            country: country(proxy),
            resolve,
        });
    }
    let grants = config
        .egress
        .proxy
        .iter()
        .filter_map(|proxy| Url::parse(&proxy.url).ok())
        .collect();
    let own_addresses = config.egress.own_addresses.iter().map(|text| {
        text.parse().map_err(|_| {
            anyhow::anyhow!(
                "egress.own_addresses has `{text}`; write an IP address such as \"203.0.113.7\", or one with a port"
            )
        })
    });
    let own_addresses = own_addresses.collect::<anyhow::Result<_>>()?;
    let allow_private = AllowList::new(config.egress.allow_private.clone());
    Ok(EgressConfig {
        allow_private,
        pools,
        grants,
        own_addresses,
        connections_max: connections_to_sites(config)?,
        ..EgressConfig::default()
    })
}

/// Connections to sites at once.
fn connections_to_sites(config: &Config) -> anyhow::Result<usize> {
    if let Some(connections) = config.egress.connections {
        anyhow::ensure!(connections > 0, "egress.connections must be at least 1");
        return Ok(connections);
    }
    let (callers, tabs) = (callers(config)? as u64, config.browser.tabs as u64);
    let sites = descriptors::for_sites(descriptors::current(), callers, tabs);
    Ok(usize::try_from(sites)?)
}

/// Connections of callers at once.
fn callers(config: &Config) -> anyhow::Result<usize> {
    let default = (descriptors::current() / DESCRIPTORS_SHARE).clamp(1, CONNECTIONS_DEFAULT_MAX);
    Ok(match config.http.connections {
        Some(connections) => connections,
        None => usize::try_from(default)?,
    })
}

/// Bounds of callers' connections.
///
/// # Errors
/// One of them is 0.
pub(super) fn listener(config: &Config) -> anyhow::Result<ListenerLimits> {
    let http = &config.http;
    let connections = callers(config)?;
    let per_peer = http.connections_per_peer.unwrap_or(connections.div_ceil(2));
    for (name, number) in [
        ("connections", connections as u64),
        ("connections_per_peer", per_peer as u64),
        ("header_seconds", http.header_seconds),
        ("idle_seconds", http.idle_seconds),
        ("body_seconds", http.body_seconds),
        ("write_seconds", http.write_seconds),
        ("requests_per_connection", http.requests_per_connection),
        ("streams_per_connection", http.streams_per_connection.into()),
    ] {
        anyhow::ensure!(number > 0, "http.{name} must be at least 1");
    }
    Ok(ListenerLimits {
        connections,
        connections_per_peer: per_peer,
        keyless_per_peer: KEYLESS_PER_PEER,
        trusted_proxies: http.trusted_proxies.clone(),
        head_time: Duration::from_secs(http.header_seconds),
        idle_time: Duration::from_secs(http.idle_seconds),
        body_time: Duration::from_secs(http.body_seconds),
        write_time: Duration::from_secs(http.write_seconds),
        requests_per_connection: http.requests_per_connection,
        streams_per_connection: http.streams_per_connection,
    })
}

/// The access log, on standard output.
pub(super) fn access_log(config: &Config) -> AccessLog {
    let format = match config.http.access_log {
        AccessLogSetting::Off => return AccessLog::default(),
        AccessLogSetting::Common => LineFormat::Common,
        AccessLogSetting::Json => LineFormat::Json,
        AccessLogSetting::Auto if io::stdout().is_terminal() => LineFormat::Common,
        AccessLogSetting::Auto => LineFormat::Json,
    };
    AccessLog::to(io::stdout(), format, config.http.trusted_proxies.clone())
}

/// The operator's provider credentials, from the environment and the configured file.
///
/// # Errors
/// The credentials file cannot be read, or other users may read it.
pub fn pooled_keys(config: &Config) -> anyhow::Result<PooledKeys> {
    let settings = &config.providers;
    let environment = settings.environment.0.iter().cloned();
    PooledKeys::read(environment, settings.credentials_file.as_deref())
        .context("cannot read the credentials of providers")
}

/// The language model; `None` if none is configured.
pub(super) fn ai(config: &Config) -> anyhow::Result<Option<AiConfig>> {
    let Some(ai) = &config.ai else {
        return Ok(None);
    };
    let base = Url::parse(&ai.base)
        .ok()
        .filter(|url| matches!(url.scheme(), "http" | "https") && url.has_host())
        .with_context(|| {
            format!(
                "ai.base is `{}`; write a URL such as \"http://127.0.0.1:8080/v1\"",
                ai.base
            )
        })?;
    anyhow::ensure!(
        base.username().is_empty() && base.password().is_none() && base.query().is_none(),
        "ai.base has a user name, a password or a query; put the key in the variable that ai.key_env names"
    );
    anyhow::ensure!(
        !ai.model.trim().is_empty(),
        "ai.model is empty; write the model's name"
    );
    let is_valid = ai.context_tokens > 0
        && ai.answer_tokens > 0
        && ai.timeout > 0
        && ai.requests_in_flight > 0;
    anyhow::ensure!(
        is_valid,
        "ai.context_tokens, ai.answer_tokens, ai.timeout and ai.requests_in_flight must be at least 1"
    );
    let key = match &ai.key_env {
        None => None,
        Some(name) => Some(pooled_keys(config)?.one(name).with_context(|| {
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

/// Router mode of a request without a `router` object, and the time of providers.
///
/// # Errors
/// The time is out of range.
pub fn router_defaults(config: &Config) -> anyhow::Result<RouterDefaults> {
    let ProviderSettings {
        default_mode,
        timeout,
        ..
    } = &config.providers;
    let mode = match default_mode {
        RouterDefault::Off => RouterMode::Off,
        RouterDefault::Fallback => RouterMode::Fallback,
    };
    let defaults = RouterDefaults {
        mode,
        ..RouterDefaults::default()
    };
    let Some(seconds) = *timeout else {
        return Ok(defaults);
    };
    let (least, most) = PROVIDER_SECONDS;
    anyhow::ensure!(
        (least..=most).contains(&seconds),
        "providers.timeout is {seconds}, give seconds from {least} to {most}"
    );
    let time = Duration::from_secs(seconds);
    Ok(RouterDefaults { time, ..defaults })
}

/// The browser; `None` if it is disabled.
pub(super) fn browser(config: &Config) -> Option<RenderConfig> {
    let browser = &config.browser;
    (browser.tabs > 0).then(|| RenderConfig {
        program: browser.program.clone(),
        search_path: browser.search_path.clone(),
        user: browser.user.clone(),
        no_sandbox: browser.no_sandbox,
        tabs_max: browser.tabs,
        tabs_per_owner: tabs_per_account(config),
        pages_per_process: browser.pages_per_process.max(1),
        process_age_max: Duration::from_secs(browser.minutes_per_process.max(1) * 60),
        process_bytes_max: browser.memory_mib.max(256) << 20,
        page_bytes_max: browser.page_memory_mib.max(64) << 20,
        ..RenderConfig::default()
    })
}

/// Browser tabs that one account may have at once: all but one when it is not set, so that another
/// account never waits for all of them.
pub(super) fn tabs_per_account(config: &Config) -> usize {
    let tabs = config.browser.tabs;
    let per_account = config.limits.tabs_per_account;
    per_account
        .unwrap_or(tabs.saturating_sub(1))
        .clamp(1, tabs.max(1))
}

/// Crawls that one account may have at once.
pub(super) fn crawl_limits(config: &Config) -> CrawlLimits {
    CrawlLimits {
        streaming: config.limits.streaming_crawls_per_account,
        background: config.limits.background_crawls_per_account,
        ..CrawlLimits::default()
    }
}

/// Webhook events of one account that may wait.
pub(super) fn webhook_limits(config: &Config) -> WebhookLimits {
    WebhookLimits {
        events: config.limits.webhook_events_per_account,
        bytes: mebibytes(config.limits.webhook_mib_per_account),
        ..WebhookLimits::default()
    }
}

/// The PostgreSQL database, if there is one.
pub(super) fn store_url(config: &Config) -> anyhow::Result<Option<PostgresUrl>> {
    let url = config.store.url.as_deref();
    anyhow::ensure!(
        url.is_some() || !config.store.standby,
        "`[store] standby` and `--standby` need a PostgreSQL database: name it by `[store] url`"
    );
    let parsed = url.map(str::parse::<PostgresUrl>).transpose();
    parsed.context("`[store] url`, `--store` or TRAWL_STORE cannot be used")
}

/// Where page logs are stored, unless that is the data directory.
///
/// # Errors
/// The URL is none.
pub(super) fn objects_url(config: &Config) -> anyhow::Result<Option<ObjectsUrl>> {
    let url = config.store.objects.as_deref();
    let parsed = url.map(str::parse::<ObjectsUrl>).transpose();
    parsed.context("`[store] objects` or TRAWL_OBJECTS cannot be used")
}

/// Bytes that one account may store; 0 for no limit.
pub(super) fn stored_bytes_max(config: &Config) -> u64 {
    mebibytes(config.limits.stored_mib_per_account)
}

/// Free space of the disk below which nothing new is stored.
pub(super) fn floor(config: &Config) -> DiskThreshold {
    let floor = config.limits.free_disk_mib;
    floor.map_or(DiskThreshold::Default, |mib| {
        DiskThreshold::Bytes(mebibytes(mib))
    })
}

pub(super) const fn mebibytes(mib: u64) -> u64 {
    mib.saturating_mul(1 << 20)
}

/// The pools with at least one proxy, and their countries.
///
/// # Errors
/// A proxy names no pool.
pub fn pools(config: &Config) -> anyhow::Result<Vec<ConfiguredPool>> {
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

/// The product token. RFC 9309 section 2.2.1 allows no other characters: a token with others would
/// match no group of a robots.txt.
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

/// The prices of pay-as-you-go use.
///
/// # Errors
/// One of them is not a price.
pub fn prices(config: &Config) -> anyhow::Result<Prices> {
    Ok(Prices {
        gigabyte: price("prices.gigabyte", &config.prices.gigabyte)?,
        cpu_minute: price("prices.cpu_minute", &config.prices.cpu_minute)?,
        own_key_percent: config.prices.own_key_percent,
        own_key_least: price("prices.own_key_least", &config.prices.own_key_least)?,
        pooled_percent: config.prices.pooled_percent,
    })
}

/// The prices of seats.
///
/// # Errors
/// One of them is not a price, or their steps are inconsistent.
pub fn seat_prices(config: &Config) -> anyhow::Result<SeatPrices> {
    let steps = config.unlimited.seat_prices.iter().map(|step| {
        let dollars = price("a price of unlimited.seat_prices", &step.dollars)?;
        Ok((step.from, dollars))
    });
    let steps = steps.collect::<anyhow::Result<_>>()?;
    SeatPrices::new(steps)
        .map_err(|reason| anyhow::anyhow!("unlimited.seat_prices is invalid: {reason}"))
}

/// All prices as one object with exact decimal amounts, as the price history stores them.
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
            "unknown pool `{}`, expected standard, isp, residential or unlimited",
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
