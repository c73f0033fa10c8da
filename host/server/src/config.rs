//! Typed settings of the server. An unknown key stops the start-up, so that a typing error is never a silent default.

use std::ffi::OsString;
use std::net::SocketAddr;
use std::path::{Path, PathBuf};

use ipnet::IpNet;
use serde::Deserialize;

/// The configuration file (`trawl.toml`), every part optional.
#[derive(Clone, Debug, Default, Deserialize)]
#[serde(deny_unknown_fields, default)]
pub struct Config {
    /// Who may be reached, and through which proxies.
    pub egress: EgressSettings,
    /// Prices of pay-as-you-go use.
    pub prices: PriceSettings,
    /// What seats of the Unlimited plan cost.
    pub unlimited: UnlimitedSettings,
    /// Bounds the operator may move.
    pub limits: LimitSettings,
    /// Pages kept for the next time they are asked for.
    pub cache: CacheSettings,
    /// The browser that renders pages.
    pub browser: BrowserSettings,
    /// Third-party services that serve pages.
    pub providers: ProviderSettings,
    /// The language model that pipelines may ask; none by default.
    pub ai: Option<AiSettings>,
}

/// `[ai]`: a server that speaks the OpenAI form of chat completions. See `docs/pipelines.md`.
#[derive(Clone, Debug, Deserialize)]
#[serde(deny_unknown_fields)]
pub struct AiSettings {
    /// Base address, such as `http://127.0.0.1:8080/v1`; `/chat/completions` is put behind it.
    pub base: String,
    /// Name of the model as that server knows it.
    pub model: String,
    /// Name of the variable in the environment, or in `providers.credentials_file`, that holds the key.
    pub key_env: Option<String>,
    /// Dollars for a million tokens of questions as decimal text; empty is nothing.
    #[serde(default)]
    pub dollars_per_million_question_tokens: String,
    /// Dollars for a million tokens of answers, likewise.
    #[serde(default)]
    pub dollars_per_million_answer_tokens: String,
    /// Tokens that a question may have.
    #[serde(default = "AiSettings::context_tokens")]
    pub context_tokens: u32,
    /// Most tokens of an answer.
    #[serde(default = "AiSettings::answer_tokens")]
    pub answer_tokens: u32,
    /// Seconds for one request.
    #[serde(default = "AiSettings::timeout")]
    pub timeout: u32,
    /// Requests at once, over all runs.
    #[serde(default = "AiSettings::requests_in_flight")]
    pub requests_in_flight: usize,
}

impl AiSettings {
    /// What small models have.
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

/// `[providers]`. Which there are, and what they cost, is in `plugins.toml`.
#[derive(Clone, Debug, Default, Deserialize)]
#[serde(deny_unknown_fields, default)]
pub struct ProviderSettings {
    /// A file of `NAME=value` lines with the operator's own credentials, which only the server may read. Variables of these
    /// names in the environment win.
    pub credentials_file: Option<PathBuf>,
    /// `off` (default) or `fallback`: what a request without a `router` object means.
    pub default_mode: RouterDefault,
    /// The server's environment, where credentials are looked for; not in the file.
    #[serde(skip)]
    pub environment: Environment,
}

/// What a request without a `router` object means.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, Deserialize)]
#[serde(rename_all = "lowercase")]
pub enum RouterDefault {
    /// No provider is asked.
    #[default]
    Off,
    /// As an empty `router` object.
    Fallback,
}

/// Variables with their values, which no debug text shows.
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
    /// Address ranges that are opened although they are not globally routable, such as `127.0.0.1/32`. None by default.
    pub allow_private: Vec<IpNet>,
    /// The `User-Agent` sent when the caller names none.
    pub user_agent: Option<String>,
    /// The product token by which robots.txt knows this server: letters, `-` and `_`. `Trawl` by default; a group of a
    /// robots.txt is chosen by it, whatever `User-Agent` is sent.
    pub robots_token: Option<String>,
    /// Upstream proxies by pool: `[[egress.proxy]]`.
    pub proxy: Vec<ProxySettings>,
}

/// `[[egress.proxy]]`: one upstream proxy.
#[derive(Clone, Debug, Deserialize)]
#[serde(deny_unknown_fields)]
pub struct ProxySettings {
    /// `standard`, `isp`, `residential` or `unlimited`.
    pub pool: String,
    /// Address: `http://user:password@host:port` or `socks5://host:port`.
    pub url: String,
    /// ISO 3166 code of the country its addresses are in.
    pub country: Option<String>,
    /// Dollars a gigabyte through this proxy as decimal text, on top of the bandwidth price; empty is nothing.
    #[serde(default)]
    pub dollars_per_gigabyte: String,
}

/// `[prices]`, in dollars as decimal text so that they are exact.
#[derive(Clone, Debug, Deserialize)]
#[serde(deny_unknown_fields, default)]
pub struct PriceSettings {
    /// A gigabyte (10^9 bytes) of content before transformation. Spec S14.
    pub gigabyte: String,
    /// A minute of CPU. Spec S14.
    pub cpu_minute: String,
    /// A gigabyte kept in storage.
    pub stored_gigabyte: String,
    /// A page that a provider served on the caller's own key: percent of the provider's list price.
    pub own_key_percent: u32,
    /// The least for such a page.
    pub own_key_least: String,
    /// A page that a provider served on the operator's credentials: percent on top of what the provider charged.
    pub pooled_percent: u32,
}

impl Default for PriceSettings {
    fn default() -> Self {
        Self {
            gigabyte: "1".into(),
            cpu_minute: "0.0001".into(),
            stored_gigabyte: "0".into(),
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
    /// Prices of a seat a month by the size of the purchase, smallest first; each applies to the whole purchase.
    pub seat_prices: Vec<SeatPriceSettings>,
}

/// One step of `seat_prices`.
#[derive(Clone, Debug, Deserialize)]
#[serde(deny_unknown_fields)]
pub struct SeatPriceSettings {
    /// Seats from which on it applies.
    pub from: u32,
    /// Dollars a seat and month as decimal text, so that they are exact.
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
    /// Requests a minute for each key. Spec S28.
    pub requests_per_minute: u32,
    /// Requests to one host at the same time, over all runs.
    pub connections_per_host: usize,
    /// Pages of one request in flight at the same time. Spec S11.
    pub pages_in_flight: usize,
}

impl Default for LimitSettings {
    fn default() -> Self {
        Self {
            requests_per_minute: 10_000,
            connections_per_host: 64,
            pages_in_flight: 10,
        }
    }
}

/// `[cache]`
#[derive(Clone, Debug, Deserialize)]
#[serde(deny_unknown_fields, default)]
pub struct CacheSettings {
    /// Mebibytes that the page cache may take on disk; 0 turns it off.
    pub size_mib: u64,
    /// Mebibytes of kept pages that are in memory as well, those used last; 0 is none.
    pub memory_mib: u64,
    /// Mebibytes of memory for what plugins made of pages, for the next time the same is asked of the same page; 0 turns it off.
    pub outputs_mib: u64,
}

impl Default for CacheSettings {
    fn default() -> Self {
        Self {
            // About 70,000 pages of the usual size, compressed.
            size_mib: 1024,
            // About 1,200 of them as they are.
            memory_mib: 64,
            // About 5,000 of them as markdown.
            outputs_mib: 128,
        }
    }
}

/// `[browser]`
#[derive(Clone, Debug, Deserialize)]
#[serde(deny_unknown_fields, default)]
pub struct BrowserSettings {
    /// The browser's file; without it the first of `chromium`, `chromium-browser`, `google-chrome` on the `PATH`.
    pub program: Option<PathBuf>,
    /// The account that it runs as when the server is root, since its sandbox refuses to run as root.
    pub user: String,
    /// Run it without its own sandbox, for containers that do not let it have one. A page that breaks out of the browser then
    /// has the server's rights.
    pub no_sandbox: bool,
    /// Pages open at the same time, over all runs; 0 is no browser at all.
    pub tabs: usize,
    /// Pages after which a process is replaced.
    pub pages_per_process: u32,
    /// Minutes after which a process is replaced.
    pub minutes_per_process: u64,
    /// Mebibytes of a process and its children after which it is replaced.
    pub memory_mib: u64,
    /// Folders that a browser is looked for in, as `PATH` has them; not in the file.
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
            search_path: "/usr/local/bin:/usr/bin:/bin".into(),
        }
    }
}

/// Where the server listens when nobody says otherwise.
pub const LISTEN_DEFAULT: SocketAddr =
    SocketAddr::new(std::net::IpAddr::V4(std::net::Ipv4Addr::LOCALHOST), 8700);

/// Why the configuration cannot be used.
#[derive(Debug, thiserror::Error)]
pub enum ConfigError {
    /// The file is not there or cannot be read.
    #[error("cannot read the configuration `{path}`", path = path.display())]
    Unreadable {
        /// The file.
        path: PathBuf,
        /// The cause.
        #[source]
        source: std::io::Error,
    },
    /// The file is not TOML of the known shape.
    #[error("the configuration `{path}` is not valid: {reason}", path = path.display())]
    Invalid {
        /// The file.
        path: PathBuf,
        /// What is wrong, with the line.
        reason: String,
    },
}

impl Config {
    /// Reads the file, or gives the defaults when there is none.
    ///
    /// # Errors
    /// [`ConfigError`] when the file cannot be read or says something unknown.
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
        let error = toml::from_str::<Config>("[limits]\nrequests_per_minut = 3")
            .expect_err("a typing error");
        assert!(error.to_string().contains("requests_per_minut"), "{error}");
    }

    #[test]
    fn defaults_are_the_specifications() {
        let config: Config = toml::from_str("").expect("an empty file");
        assert_eq!(config.limits.requests_per_minute, 10_000);
        assert_eq!(config.prices.gigabyte, "1");
        assert!(config.cache.size_mib > 0, "the cache is on by default");
    }
}
