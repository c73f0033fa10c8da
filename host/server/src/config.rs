//! Settings of the server. An unknown key is an error, so that a typo never becomes a silent
//! default.

mod bot;
mod connections;
mod store;
mod trace;

use std::ffi::OsString;
use std::net::SocketAddr;
use std::path::{Path, PathBuf};

use ipnet::IpNet;
use serde::{Deserialize, Deserializer};

use trawl_model::redact::shown_url;
use trawl_net::egress::AllowList;

pub use bot::BotSettings;
pub use connections::{AccessLogSetting, HttpSettings};
pub use store::StoreSettings;
pub use trace::TraceConfig;

/// The configuration file (`trawl.toml`). Every section is optional.
#[derive(Clone, Debug, Default, Deserialize)]
#[serde(deny_unknown_fields, default)]
pub struct Config {
    /// The database.
    pub store: StoreSettings,
    /// Networks that may be reached, and proxies.
    pub egress: EgressSettings,
    /// How the server names itself to sites.
    pub bot: BotSettings,
    /// Prices of pay-as-you-go use.
    pub prices: PriceSettings,
    /// Prices of seats of the Unlimited plan.
    pub unlimited: UnlimitedSettings,
    /// Limits.
    pub limits: LimitSettings,
    /// Connections of callers.
    pub http: HttpSettings,
    /// Where trace context is sent, and spans.
    pub trace: TraceConfig,
    /// Caches of pages and plugin outputs.
    pub cache: CacheSettings,
    /// The browser that renders pages.
    pub browser: BrowserSettings,
    /// Third-party providers.
    pub providers: ProviderSettings,
    /// Web search.
    pub search: SearchSettings,
    /// The language model that pipelines may use; none by default.
    pub ai: Option<AiSettings>,
}

/// `[ai]`: a server with the OpenAI chat completions API. See `docs/pipelines.md`.
#[derive(Clone, Debug, Deserialize)]
#[serde(deny_unknown_fields)]
pub struct AiSettings {
    /// Base URL, such as `http://127.0.0.1:8080/v1`; `/chat/completions` is appended.
    pub base: String,
    /// Name of the model on that server.
    pub model: String,
    /// Name of the variable with the API key, in the environment or in
    /// `providers.credentials_file`.
    pub key_env: Option<String>,
    /// Dollars per million prompt tokens as decimal text; empty means free.
    #[serde(default)]
    pub dollars_per_million_question_tokens: String,
    /// Dollars per million completion tokens as decimal text; empty means free.
    #[serde(default)]
    pub dollars_per_million_answer_tokens: String,
    /// Maximum number of tokens of a prompt.
    #[serde(default = "AiSettings::context_tokens")]
    pub context_tokens: u32,
    /// Maximum number of tokens of a completion.
    #[serde(default = "AiSettings::answer_tokens")]
    pub answer_tokens: u32,
    /// Timeout of a request in seconds.
    #[serde(default = "AiSettings::timeout")]
    pub timeout: u32,
    /// Maximum number of concurrent requests, over all runs.
    #[serde(default = "AiSettings::requests_in_flight")]
    pub requests_in_flight: usize,
}

impl AiSettings {
    /// The context size of small models.
    const fn context_tokens() -> u32 {
        8_192
    }

    const fn answer_tokens() -> u32 {
        1_024
    }

    const fn timeout() -> u32 {
        60
    }

    const fn requests_in_flight() -> usize {
        4
    }
}

/// `[providers]`. The providers and their prices are in `plugins.toml`.
#[derive(Clone, Debug, Default, Deserialize)]
#[serde(deny_unknown_fields, default)]
pub struct ProviderSettings {
    /// A file of `NAME=value` lines with the operator's credentials, readable by the server's user
    /// only. Environment variables of the same names take precedence.
    pub credentials_file: Option<PathBuf>,
    /// `off` (default) or `fallback`: router mode of a request without a `router` object.
    pub default_mode: RouterDefault,
    /// Seconds that providers have for a page whose request sets no `request_timeout`; 240 by
    /// default.
    pub timeout: Option<u64>,
    /// The environment of the server, which may contain credentials; not in the file.
    #[serde(skip)]
    pub environment: Environment,
}

/// `[search]`. The search services and their prices are in `plugins.toml`.
#[derive(Clone, Debug, Default, Deserialize)]
#[serde(deny_unknown_fields, default)]
pub struct SearchSettings {
    /// Names of `[[search]]` entries, in the order in which they are asked until one answers. If
    /// empty, those are asked that need credentials and have them.
    pub backends: Vec<String>,
}

/// Router mode of a request without a `router` object.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, Deserialize)]
#[serde(rename_all = "lowercase")]
pub enum RouterDefault {
    /// No provider is used.
    #[default]
    Off,
    /// The same as an empty `router` object.
    Fallback,
}

/// Environment variables. `Debug` does not show them.
#[derive(Clone, Default)]
pub struct Environment(pub Vec<(String, String)>);

impl std::fmt::Debug for Environment {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        f.write_str("Environment")
    }
}

/// `[egress]`
#[derive(Clone, Debug, Default, Deserialize)]
#[serde(deny_unknown_fields, default)]
pub struct EgressSettings {
    /// Private IP addresses and ranges that may be reached, such as `127.0.0.1` or `10.0.0.0/8`.
    /// None by default.
    #[serde(deserialize_with = "ip_ranges")]
    pub allow_private: Vec<IpNet>,
    /// The `User-Agent` of requests that set none.
    pub user_agent: Option<String>,
    /// The product token that selects the group of a robots.txt, whatever `User-Agent` is sent:
    /// letters, `-` and `_`. `Trawl` by default.
    pub robots_token: Option<String>,
    /// Public addresses by which this server is reached, where it does not have them itself: `IP`
    /// or `IP:PORT`.
    pub own_addresses: Vec<String>,
    /// Connections to sites and services at once. Default: the file descriptors that the process
    /// may have, without those for callers, files and the browser.
    pub connections: Option<usize>,
    /// Upstream proxies by pool: `[[egress.proxy]]`.
    pub proxy: Vec<ProxySettings>,
}

/// `[[egress.proxy]]`: one upstream proxy.
#[derive(Clone, Deserialize)]
#[serde(deny_unknown_fields)]
pub struct ProxySettings {
    /// `standard`, `isp`, `residential` or `unlimited`.
    pub pool: String,
    /// URL: `http://user:password@host:port` or `socks5://host:port`.
    pub url: String,
    /// ISO 3166 code of the country of its IP addresses.
    pub country: Option<String>,
    /// Dollars per gigabyte as decimal text, on top of the bandwidth price; empty means free.
    #[serde(default)]
    pub dollars_per_gigabyte: String,
    /// Who resolves host names of pages.
    #[serde(default)]
    pub resolve: ResolveSetting,
}

/// Who resolves the host names of pages behind a proxy. The server checks them in both cases.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, Deserialize)]
#[serde(rename_all = "lowercase")]
pub enum ResolveSetting {
    /// The proxy receives the name and resolves it.
    #[default]
    Proxy,
    /// The proxy receives the IP address that was checked.
    Local,
}

impl std::fmt::Debug for ProxySettings {
    /// Without the password in its URL.
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        f.debug_struct("ProxySettings")
            .field("pool", &self.pool)
            .field("url", &shown_url(&self.url))
            .field("country", &self.country)
            .finish_non_exhaustive()
    }
}

/// `[prices]`, in dollars as exact decimal text.
#[derive(Clone, Debug, Deserialize)]
#[serde(deny_unknown_fields, default)]
pub struct PriceSettings {
    /// Price of a gigabyte (10^9 bytes) of content before transformation. Spec S14.
    pub gigabyte: String,
    /// Price of a minute of CPU time. Spec S14.
    pub cpu_minute: String,
    /// Percentage of the provider's list price that is charged for a page on the client's own key.
    pub own_key_percent: u32,
    /// Minimum charge for such a page.
    pub own_key_least: String,
    /// Percentage that is added to the provider's charge for a page on the operator's credentials.
    pub pooled_percent: u32,
}

impl Default for PriceSettings {
    fn default() -> Self {
        Self {
            gigabyte: "1".into(),
            cpu_minute: "0.0001".into(),
            own_key_percent: 10,
            own_key_least: "0.0001".into(),
            pooled_percent: 20,
        }
    }
}

/// `[unlimited]`
#[derive(Clone, Debug, Deserialize)]
#[serde(deny_unknown_fields, default)]
pub struct UnlimitedSettings {
    /// Monthly price of a seat by the size of the purchase, smallest first. A price applies to all
    /// seats of the purchase.
    pub seat_prices: Vec<SeatPriceSettings>,
}

/// One step of `seat_prices`.
#[derive(Clone, Debug, Deserialize)]
#[serde(deny_unknown_fields)]
pub struct SeatPriceSettings {
    /// Minimum number of seats.
    pub from: u32,
    /// Dollars per seat and month as exact decimal text.
    pub dollars: String,
}

impl Default for UnlimitedSettings {
    fn default() -> Self {
        let steps = [
            (1, "20"),
            (10, "18"),
            (25, "16"),
            (50, "14.50"),
            (100, "13"),
        ];
        let steps = steps.map(|(from, dollars)| SeatPriceSettings {
            from,
            dollars: dollars.to_owned(),
        });
        Self {
            seat_prices: steps.to_vec(),
        }
    }
}

/// `[limits]`
#[derive(Clone, Debug, Deserialize)]
#[serde(deny_unknown_fields, default)]
pub struct LimitSettings {
    /// Requests of an account in any minute. Spec S28.
    pub requests_per_minute: u32,
    /// Streaming crawls of an account at once.
    pub streaming_crawls_per_account: usize,
    /// Background crawls of an account, queued or running.
    pub background_crawls_per_account: usize,
    /// Browser tabs of an account at once. Default: all but one of `browser.tabs`.
    pub tabs_per_account: Option<usize>,
    /// Lists and statements that an account reads at once.
    pub queries_per_account: usize,
    /// Storage of an account in MiB: crawls, stored answers, contacts, webhook events; 0 for no
    /// limit.
    pub stored_mib_per_account: u64,
    /// Undelivered webhook events of an account.
    pub webhook_events_per_account: u64,
    /// Their size in MiB.
    pub webhook_mib_per_account: u64,
    /// Free space of the disk in MiB below which new crawls and stored answers are refused; 0 for
    /// none. Default: 2 % of the disk, at least 1 GiB and at most 16 GiB.
    pub free_disk_mib: Option<u64>,
    /// Concurrent requests to one host, over all runs.
    pub connections_per_host: usize,
    /// Concurrent pages of one request. Spec S11.
    pub pages_in_flight: usize,
    /// Memory in MiB that bodies, documents, outputs and answers in flight may hold together,
    /// shared fairly among accounts; 0 is a quarter of what the machine or its cgroup has.
    pub memory_mib: u64,
    /// Seconds without a byte after which a body is given up; at least 1.
    pub body_idle_seconds: u64,
}

impl Default for LimitSettings {
    fn default() -> Self {
        Self {
            requests_per_minute: 10_000,
            // The seeds of one request.
            streaming_crawls_per_account: 100,
            background_crawls_per_account: 1_000,
            tabs_per_account: None,
            // A client reads page after page; two connections serve everybody.
            queries_per_account: 1,
            // About 700,000 average pages, which stay for a week.
            stored_mib_per_account: 10 * 1024,
            // A crawl of as many pages whose receiver is down.
            webhook_events_per_account: 100_000,
            webhook_mib_per_account: 1024,
            free_disk_mib: None,
            connections_per_host: 64,
            pages_in_flight: 10,
            memory_mib: 0,
            body_idle_seconds: 10,
        }
    }
}

/// `[cache]`
#[derive(Clone, Debug, Deserialize)]
#[serde(deny_unknown_fields, default)]
pub struct CacheSettings {
    /// Size of the page cache on disk in MiB; 0 disables it.
    pub size_mib: u64,
    /// Size of the in-memory part of the page cache in MiB; 0 disables it.
    pub memory_mib: u64,
    /// Size of the in-memory cache of plugin outputs in MiB; 0 disables it.
    pub outputs_mib: u64,
}

impl Default for CacheSettings {
    fn default() -> Self {
        Self {
            // About 70,000 average pages, compressed.
            size_mib: 1024,
            // About 1,200 of them, uncompressed.
            memory_mib: 32,
            // About 5,000 of them as markdown.
            outputs_mib: 128,
        }
    }
}

/// `[browser]`
#[derive(Clone, Debug, Deserialize)]
#[serde(deny_unknown_fields, default)]
pub struct BrowserSettings {
    /// Path of the browser. Default: the first of `chromium-headless-shell`, `chromium`,
    /// `google-chrome` on the `PATH`.
    pub program: Option<PathBuf>,
    /// The user that runs the browser when the server is root, with and without the sandbox.
    pub user: String,
    /// Disables the browser's sandbox, for containers that do not support it. A page that breaks
    /// out of the browser then has the rights of `user`, or of the server when that is not root.
    pub no_sandbox: bool,
    /// Concurrent tabs, over all runs; 0 disables the browser.
    pub tabs: usize,
    /// Number of pages after which a browser process is replaced.
    pub pages_per_process: u32,
    /// Age in minutes after which a browser process is replaced.
    pub minutes_per_process: u64,
    /// Memory of a browser process and its children in MiB above which it is replaced.
    pub memory_mib: u64,
    /// Memory of one page in MiB above which it is stopped.
    pub page_memory_mib: u64,
    /// Directories in which a browser is searched, in the format of `PATH`; not in the file.
    #[serde(skip)]
    pub search_path: OsString,
}

impl Default for BrowserSettings {
    fn default() -> Self {
        Self {
            program: None,
            user: "nobody".to_owned(),
            no_sandbox: false,
            tabs: 8,
            pages_per_process: 200,
            minutes_per_process: 30,
            memory_mib: 2048,
            page_memory_mib: 1024,
            search_path: "/usr/local/bin:/usr/bin:/bin".into(),
        }
    }
}

/// Ranges, and single IP addresses as ranges of one.
fn ip_ranges<'de, D: Deserializer<'de>>(deserializer: D) -> Result<Vec<IpNet>, D::Error> {
    let texts = Vec::<String>::deserialize(deserializer)?;
    let ranges = texts.iter().map(|text| AllowList::parse_range(text));
    ranges
        .collect::<Result<_, _>>()
        .map_err(serde::de::Error::custom)
}

/// Default listen address.
pub const LISTEN_DEFAULT: SocketAddr =
    SocketAddr::new(std::net::IpAddr::V4(std::net::Ipv4Addr::LOCALHOST), 8700);

/// Why the configuration cannot be used.
#[derive(Debug, thiserror::Error)]
pub enum ConfigError {
    /// The file does not exist or cannot be read.
    #[error("cannot read the configuration `{path}`", path = path.display())]
    Unreadable {
        /// The file.
        path: PathBuf,
        /// The cause.
        #[source]
        source: std::io::Error,
    },
    /// The file is not TOML, or does not match the schema.
    #[error("the configuration `{path}` is not valid: {reason}", path = path.display())]
    Invalid {
        /// The file.
        path: PathBuf,
        /// The error, with the line.
        reason: String,
    },
}

impl Config {
    /// Reads the file, or returns the defaults without one.
    ///
    /// # Errors
    /// [`ConfigError`] if the file cannot be read or is invalid.
    pub fn load(path: Option<&Path>) -> Result<Self, ConfigError> {
        let Some(path) = path else {
            return Ok(Self::default());
        };
        let text = std::fs::read_to_string(path).map_err(|source| ConfigError::Unreadable {
            path: path.to_owned(),
            source,
        })?;
        toml::from_str(&text).map_err(|error| ConfigError::Invalid {
            path: path.to_owned(),
            reason: error.to_string(),
        })
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn an_unknown_key_is_named() {
        let error =
            toml::from_str::<Config>("[limits]\nrequests_per_minut = 3").expect_err("a typo");
        assert!(error.to_string().contains("requests_per_minut"), "{error}");
    }

    #[test]
    fn a_single_ip_address_is_a_range_of_one() {
        let config: Config =
            toml::from_str("[egress]\nallow_private = [\"127.0.0.1\", \"10.0.0.0/8\"]\n")
                .expect("an address and a range");
        let ranges = config.egress.allow_private.iter().map(ToString::to_string);
        assert_eq!(ranges.collect::<Vec<_>>(), ["127.0.0.1/32", "10.0.0.0/8"]);
        let error = toml::from_str::<Config>("[http]\ntrusted_proxies = [\"proxy\"]\n");
        let error = error.expect_err("a name").to_string();
        assert!(error.contains("`proxy` is not an IP address"), "{error}");
    }

    #[test]
    fn defaults_match_the_specification() {
        let config: Config = toml::from_str("").expect("an empty file");
        assert_eq!(config.limits.requests_per_minute, 10_000);
        assert_eq!(config.prices.gigabyte, "1");
        assert!(config.cache.size_mib > 0, "the cache is on by default");
    }
}
