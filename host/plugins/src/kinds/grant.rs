//! What `plugins.toml` grants an adapter of a provider or a search service: hosts, credentials by
//! name, a base URL, prices, settings.

use std::collections::BTreeMap;
use std::time::Duration;

use serde::{Deserialize, Serialize};
use serde_json::Value;
use url::Url;

use trawl_contract::provider::{Charged, Cost, Description, USD};
use trawl_model::Nanodollars;

/// Longest conversation with a service, in seconds: the time limit of a page.
const TIME_S_MAX: u32 = 255;
/// Billionths in one unit.
const BILLION: u128 = 1_000_000_000;

/// The keys of a `[[provider]]` or `[[search]]` entry that other entries do not have.
#[derive(Clone, Debug, Default, PartialEq, Deserialize)]
#[serde(default, deny_unknown_fields)]
pub(crate) struct GrantToml {
    hosts: Vec<String>,
    credentials: Vec<String>,
    base: Option<String>,
    pooled: bool,
    time_s: Option<u32>,
    settings: Option<toml::Table>,
    prices: PricesToml,
}

/// `prices`: dollars per unit as decimal text, and their source.
#[derive(Clone, Debug, Default, PartialEq, Eq, Deserialize)]
#[serde(default)]
struct PricesToml {
    date: String,
    source: String,
    most: String,
    #[serde(flatten)]
    units: BTreeMap<String, String>,
}

/// What an adapter may do and what its service costs, checked against the adapter's description.
#[derive(Clone, Debug, PartialEq, Eq, Serialize)]
pub struct Grant {
    /// Hosts its requests may go to, with port where it is not 443; always `https`.
    pub hosts: Vec<String>,
    /// Names of the credentials that the host inserts into its requests.
    pub credentials: Vec<String>,
    /// Base URL of the service, without a trailing slash. Its origin is granted, even with `http`.
    pub base: String,
    /// Whether it may run on the operator's credentials.
    pub pooled: bool,
    /// Time limit of a conversation.
    #[serde(skip)]
    pub time_max: Duration,
    /// The operator's settings, as JSON text.
    pub settings: Value,
    /// Prices of its units.
    pub prices: PriceTable,
}

/// Dollars by unit.
#[derive(Clone, Debug, Default, PartialEq, Eq, Serialize)]
pub struct PriceTable {
    /// Date of the prices, `2026-09-28`.
    pub date: String,
    /// Source of the prices.
    pub source: String,
    /// The highest cost of a page: the amount reserved for it.
    #[serde(serialize_with = "dollars")]
    pub most: Nanodollars,
    /// Assumed cost of a page when the service reports none: the cheapest unit, else `most`.
    #[serde(serialize_with = "dollars")]
    pub least: Nanodollars,
    /// Price of each unit.
    #[serde(serialize_with = "dollars_each")]
    pub units: BTreeMap<String, Nanodollars>,
}

impl GrantToml {
    /// Takes the keys that only adapters have out of an entry.
    pub(crate) fn take(table: &mut toml::Table) -> Result<Self, String> {
        const KEYS: [&str; 7] = [
            "hosts",
            "credentials",
            "base",
            "pooled",
            "time_s",
            "settings",
            "prices",
        ];
        let mut own = toml::Table::new();
        for key in KEYS {
            if let Some(value) = table.remove(key) {
                own.insert(key.to_owned(), value);
            }
        }
        own.try_into()
            .map_err(|error: toml::de::Error| error.message().replace('\n', " "))
    }

    /// The same for a search adapter, which always runs on the operator's credentials.
    pub(crate) fn take_of_search(table: &mut toml::Table) -> Result<Self, String> {
        if table.contains_key("pooled") {
            return Err(
                "`pooled` is for providers, searches always use the operator's credentials, remove it"
                    .to_owned(),
            );
        }
        let own = Self::take(table)?;
        Ok(Self {
            pooled: true,
            ..own
        })
    }

    /// Checks the grant against the adapter's description.
    ///
    /// # Errors
    /// A message: what is missing or unused, and what to do.
    pub(crate) fn check(&self, description: &Description) -> Result<Grant, String> {
        let base = self.base.as_deref().unwrap_or(&description.base);
        let base = base.trim_end_matches('/').to_owned();
        let origin = Url::parse(&base)
            .ok()
            .filter(|url| matches!(url.scheme(), "http" | "https") && url.has_host())
            .ok_or_else(|| {
                format!(
                    "its base URL `{base}` is invalid, set `base` to one that begins with https://"
                )
            })?;
        let host = host_of(&origin);
        let own_hosts: &[String] = match self.base {
            Some(_) => &[],
            None => &description.hosts,
        };
        let needed = std::iter::once(&host).filter(|_| self.base.is_none());
        let missing = needed
            .chain(own_hosts)
            .find(|host| !self.hosts.contains(host));
        if let Some(host) = missing {
            return Err(format!(
                "it sends to `{host}`, which `hosts` does not grant, add it or set another `base`"
            ));
        }
        self.check_credentials(description)?;
        Ok(Grant {
            hosts: self.hosts.clone(),
            credentials: self.credentials.clone(),
            base,
            pooled: self.pooled,
            time_max: self.time_max(description)?,
            settings: serde_json::to_value(self.settings.clone().unwrap_or_default())
                .map_err(|error| format!("`settings` is not usable: {error}"))?,
            prices: self.prices.check(description)?,
        })
    }

    fn check_credentials(&self, description: &Description) -> Result<(), String> {
        if let Some(odd) = description
            .credentials
            .iter()
            .find(|name| !is_credential_name(name))
        {
            return Err(format!(
                "its `describe` names the credential `{odd}`, use upper-case letters, digits and `_`"
            ));
        }
        let missing = description
            .credentials
            .iter()
            .find(|name| !self.credentials.contains(name));
        if let Some(name) = missing {
            return Err(format!(
                "it uses the credential `{name}`, which `credentials` does not grant, add it if it may have it"
            ));
        }
        match self
            .credentials
            .iter()
            .find(|name| !description.credentials.contains(name))
        {
            Some(name) => Err(format!(
                "`credentials` grants `{name}`, which it does not use, remove it"
            )),
            None => Ok(()),
        }
    }

    fn time_max(&self, description: &Description) -> Result<Duration, String> {
        match self.time_s {
            None => Ok(Duration::from_millis(
                description.time_ms.clamp(1_000, TIME_S_MAX * 1000).into(),
            )),
            Some(seconds @ 1..=TIME_S_MAX) => Ok(Duration::from_secs(seconds.into())),
            Some(seconds) => Err(format!(
                "`time_s` is {seconds}, give a number from 1 to {TIME_S_MAX}"
            )),
        }
    }
}

impl PricesToml {
    fn check(&self, description: &Description) -> Result<PriceTable, String> {
        const TAKEN: [&str; 4] = ["date", "source", "most", USD];
        if let Some(unit) = description
            .units
            .iter()
            .find(|unit| TAKEN.contains(&unit.as_str()))
        {
            return Err(format!(
                "its `describe` names a unit `{unit}`, which means something else, choose another name"
            ));
        }
        let price = |name: &str, text: &str| {
            Nanodollars::parse_dollars(text)
                .filter(|price| price.0 >= 0)
                .ok_or_else(|| {
                    format!("`prices.{name}` is `{text}`, give dollars as text such as \"0.0002\"")
                })
        };
        if let Some(unit) = description
            .units
            .iter()
            .find(|unit| !self.units.contains_key(*unit))
        {
            return Err(format!(
                "it counts in `{unit}`, which has no price, add `{unit}` to `prices`"
            ));
        }
        if let Some(unit) = self
            .units
            .keys()
            .find(|unit| !description.units.contains(unit))
        {
            return Err(format!(
                "`prices.{unit}` is a unit it does not count in, it knows {}",
                description.units.join(", ")
            ));
        }
        let units = self.units.iter();
        let units: BTreeMap<_, _> = units
            .map(|(unit, text)| Ok((unit.clone(), price(unit, text)?)))
            .collect::<Result<_, String>>()?;
        if units.is_empty() && self.most.is_empty() {
            return Err(
                "it has no units, give the highest cost of a page as `prices.most`".to_owned(),
            );
        }
        let highest = units.values().copied().max().unwrap_or_default();
        let most = match self.most.as_str() {
            "" => highest,
            text => price("most", text)?,
        };
        Ok(PriceTable {
            date: self.date.clone(),
            source: self.source.clone(),
            least: units.values().copied().min().unwrap_or(most).min(most),
            most,
            units,
        })
    }
}

impl Grant {
    /// A grant of everything in the adapter's description, for inspection only: nothing is sent
    /// with it.
    pub(crate) fn of_itself(description: &Description) -> Self {
        Self {
            hosts: description.hosts.clone(),
            credentials: description.credentials.clone(),
            base: description.base.clone(),
            pooled: false,
            time_max: Duration::from_millis(description.time_ms.into()),
            settings: Value::Object(serde_json::Map::new()),
            prices: PriceTable::default(),
        }
    }

    /// Whether a request may be sent to this URL.
    pub fn allows(&self, url: &Url) -> bool {
        let is_base = Url::parse(&self.base).is_ok_and(|base| base.origin() == url.origin());
        is_base || url.scheme() == "https" && self.hosts.contains(&host_of(url))
    }
}

impl PriceTable {
    /// The first unit of a cost that has no price.
    pub fn unpriced<'a>(&self, cost: &'a Cost) -> Option<&'a str> {
        let mut units = cost
            .quantities
            .iter()
            .map(|quantity| quantity.unit.as_str());
        units.find(|unit| *unit != USD && !self.units.contains_key(*unit))
    }

    /// A cost in dollars; zero unless it is known to be charged. Amounts beyond the type's range
    /// saturate.
    pub fn dollars(&self, cost: &Cost) -> Nanodollars {
        if cost.charged != Charged::Yes {
            return Nanodollars::ZERO;
        }
        let one = |unit: &str| match unit {
            USD => Nanodollars(trawl_model::money::PER_DOLLAR),
            unit => self.units.get(unit).copied().unwrap_or_default(),
        };
        let quantities = cost.quantities.iter();
        let total: u128 = quantities
            .map(|quantity| {
                u128::from(quantity.billionths) * u128::from(one(&quantity.unit).0.unsigned_abs())
            })
            .fold(0, u128::saturating_add);
        Nanodollars(i64::try_from(total.saturating_add(BILLION / 2) / BILLION).unwrap_or(i64::MAX))
    }
}

/// The host, with its port unless that is the scheme's default.
fn host_of(url: &Url) -> String {
    let host = url.host_str().unwrap_or_default();
    match url.port() {
        Some(port) => format!("{host}:{port}"),
        None => host.to_owned(),
    }
}

fn is_credential_name(name: &str) -> bool {
    name.len() <= 64
        && name.starts_with(|first: char| first.is_ascii_uppercase())
        && name
            .bytes()
            .all(|byte| matches!(byte, b'A'..=b'Z' | b'0'..=b'9' | b'_'))
}

fn dollars<S: serde::Serializer>(amount: &Nanodollars, to: S) -> Result<S::Ok, S::Error> {
    to.serialize_str(&amount.dollars_text())
}

fn dollars_each<S: serde::Serializer>(
    units: &BTreeMap<String, Nanodollars>,
    to: S,
) -> Result<S::Ok, S::Error> {
    to.collect_map(
        units
            .iter()
            .map(|(unit, price)| (unit, price.dollars_text())),
    )
}

#[cfg(test)]
mod tests {
    use trawl_contract::provider::Abilities;

    use super::*;

    fn description() -> Description {
        Description::new("acme", "1.0.0", "Acme", "https://api.acme.example")
            .credentials(&["ACME_KEY"])
            .hosts(&["api.acme.example"])
            .plain(Abilities::SERVES)
            .units(&["credit"])
    }

    fn grant(toml: &str) -> Result<Grant, String> {
        let mut table: toml::Table = toml::from_str(toml).expect("TOML");
        GrantToml::take(&mut table)?.check(&description())
    }

    const WHOLE: &str = r#"
        hosts = ["api.acme.example"]
        credentials = ["ACME_KEY"]
        prices = { date = "2026-01-01", credit = "0.0002", most = "0.01" }
    "#;

    #[test]
    fn a_grant_is_checked_against_the_description() {
        let grant = grant(WHOLE).expect("fits");
        assert_eq!(grant.base, "https://api.acme.example");
        assert_eq!(grant.prices.most, Nanodollars(10_000_000));
        assert!(!grant.pooled);
    }

    #[test]
    fn what_is_missing_or_unused_is_named() {
        let check = |toml: &str, expected: &str| {
            let reason = grant(toml).expect_err(expected);
            assert!(reason.contains(expected), "{reason}");
        };
        check(
            &WHOLE.replace("hosts = [\"api.acme.example\"]", ""),
            "it sends to `api.acme.example`",
        );
        check(
            &WHOLE.replace("[\"ACME_KEY\"]", "[]"),
            "uses the credential `ACME_KEY`",
        );
        check(
            &WHOLE.replace("[\"ACME_KEY\"]", "[\"ACME_KEY\", \"HOME\"]"),
            "grants `HOME`",
        );
        check(&WHOLE.replace("credit = \"0.0002\",", ""), "has no price");
        check(
            &WHOLE.replace("credit =", "coin = \"1\", credit ="),
            "`prices.coin`",
        );
        check(&WHOLE.replace("0.0002", "cheap"), "give dollars as text");
        check(&format!("{WHOLE}\nbase = \"file:///etc\""), "its base URL");
        check(&format!("{WHOLE}\ntime_s = 0"), "`time_s` is 0");
        check(&format!("{WHOLE}\npooled = \"yes\""), "invalid type");
    }

    #[test]
    fn searches_run_on_the_operators_credentials() {
        let grant = |toml: &str| {
            let mut table: toml::Table = toml::from_str(toml).expect("TOML");
            GrantToml::take_of_search(&mut table)?.check(&description())
        };
        assert!(grant(WHOLE).expect("fits").pooled);
        let refused = grant(&format!("{WHOLE}\npooled = true")).expect_err("refused");
        assert!(refused.contains("`pooled` is for providers"), "{refused}");
    }

    #[test]
    fn requests_go_to_granted_hosts_only() {
        let check = |grant: &Grant, url: &str, expected| {
            assert_eq!(
                grant.allows(&url.parse().expect("a URL")),
                expected,
                "{url}"
            );
        };
        let public = grant(WHOLE).expect("fits");
        check(&public, "https://api.acme.example/a?b", true);
        check(&public, "http://api.acme.example/", false);
        check(&public, "https://api.acme.example:8443/", false);
        check(&public, "https://evil.example/", false);
        check(&public, "https://api.acme.example.evil.example/", false);
        check(&public, "https://user@api.acme.example/", true);
        let local = grant(&format!("{WHOLE}\nbase = \"http://127.0.0.1:9000/\"")).expect("fits");
        check(&local, "http://127.0.0.1:9000/a", true);
        check(&local, "http://127.0.0.1:9001/a", false);
    }

    #[test]
    fn costs_become_nanodollars() {
        let prices = grant(WHOLE).expect("fits").prices;
        let check = |cost: Cost, nanodollars| {
            assert_eq!(prices.dollars(&cost), Nanodollars(nanodollars), "{cost:?}")
        };
        check(Cost::listed("credit").and_units("credit", 4), 1_000_000);
        check(Cost::reported(USD, "0.00125").expect("a number"), 1_250_000);
        check(Cost::reported("credit", "0.5").expect("a number"), 100_000);
        check(Cost::free(), 0);
        check(Cost::unknown(), 0);
        check(
            Cost::listed("credit").and("credit", u64::MAX),
            3_689_348_814_941_910,
        );
    }
}
