//! Web searches: the query, the results, and what a search adapter says of its service. The
//! contract is `wit/search/1`.
//!
//! Requests, replies, costs and failures are those of [`provider`](crate::provider) adapters.

use crate::provider::{self, Abilities, Cost};

/// Most results on a page.
pub const COUNT_MAX: u32 = 100;

/// Description of an adapter; the host reads it once when it loads the plugin.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Description {
    /// Default name: lower-case ASCII letters, digits and `_`.
    pub name: String,
    /// Version of the adapter.
    pub version: String,
    /// One sentence for users.
    pub summary: String,
    /// JSON Schema (draft 2020-12, as JSON text) of the operator's `settings`.
    pub settings_schema: String,
    /// Display name of the service.
    pub label: String,
    /// Names of the credentials that its requests reference; empty for a service without keys.
    pub credentials: Vec<String>,
    /// Base URL of the service, without a trailing slash; the operator can set another one.
    pub base: String,
    /// Hosts that its requests go to.
    pub hosts: Vec<String>,
    /// Which fields of a query the service respects: `country`, `language`, `location`,
    /// `freshness`.
    pub takes: Vec<String>,
    /// Most results on a page: queries have no larger `count`.
    pub count_max: u32,
    /// Units of its costs; an operator's price table converts them to dollars.
    pub units: Vec<String>,
    /// Timeout of a search, in milliseconds.
    pub time_ms: u32,
}

impl Description {
    /// Creates a description from the adapter's name and version (`env!("CARGO_PKG_VERSION")`), the
    /// display name of the service and its base URL without a trailing slash.
    pub fn new(name: &str, version: &str, label: &str, base: &str) -> Self {
        Self {
            name: name.to_owned(),
            version: version.to_owned(),
            summary: format!("Web searches by {label}"),
            settings_schema: r#"{"type":"object","additionalProperties":false}"#.to_owned(),
            label: label.to_owned(),
            credentials: Vec::new(),
            base: base.to_owned(),
            hosts: Vec::new(),
            takes: Vec::new(),
            count_max: COUNT_MAX,
            units: Vec::new(),
            time_ms: 20_000,
        }
    }

    /// Sets the names of its credentials: upper-case ASCII letters, digits and `_`.
    #[must_use]
    pub fn credentials(self, names: &[&str]) -> Self {
        let credentials = owned(names);
        Self {
            credentials,
            ..self
        }
    }

    /// Sets the hosts that its requests go to.
    #[must_use]
    pub fn hosts(self, hosts: &[&str]) -> Self {
        let hosts = owned(hosts);
        Self { hosts, ..self }
    }

    /// Sets which fields of a query the service respects.
    #[must_use]
    pub fn takes(self, fields: &[&str]) -> Self {
        let takes = owned(fields);
        Self { takes, ..self }
    }

    /// Sets the most results on a page; [`COUNT_MAX`] by default.
    #[must_use]
    pub fn count_max(self, count_max: u32) -> Self {
        Self { count_max, ..self }
    }

    /// Sets the units of its costs.
    #[must_use]
    pub fn units(self, units: &[&str]) -> Self {
        let units = owned(units);
        Self { units, ..self }
    }

    /// Sets the timeout of a search.
    #[must_use]
    pub fn seconds(self, seconds: u32) -> Self {
        let time_ms = seconds.saturating_mul(1000);
        Self { time_ms, ..self }
    }

    /// Sets the JSON Schema of the operator's settings.
    #[must_use]
    pub fn settings_schema(self, schema: &str) -> Self {
        let settings_schema = schema.to_owned();
        Self {
            settings_schema,
            ..self
        }
    }

    /// The same as the description of a provider without abilities: what an operator grants is the
    /// same for both.
    pub fn as_provider(&self) -> provider::Description {
        provider::Description {
            name: self.name.clone(),
            version: self.version.clone(),
            summary: self.summary.clone(),
            settings_schema: self.settings_schema.clone(),
            label: self.label.clone(),
            credentials: self.credentials.clone(),
            base: self.base.clone(),
            hosts: self.hosts.clone(),
            plain: Abilities::NOTHING,
            rendered: Abilities::NOTHING,
            units: self.units.clone(),
            time_ms: self.time_ms,
        }
    }
}

fn owned(names: &[&str]) -> Vec<String> {
    names.iter().map(|&name| name.to_owned()).collect()
}

/// What to search for, with the operator's settings.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Query {
    /// The words, with the operators of the service.
    pub text: String,
    /// Results on a page, 1 to [`Description::count_max`]. The service may have fewer.
    pub count: u32,
    /// The page of results, from 1.
    pub page: u32,
    /// ISO 3166-1 alpha-2 code in upper case.
    pub country: Option<String>,
    /// Language tag: `en`, `pt-BR`.
    pub language: Option<String>,
    /// A place, in words: `Paris, France`.
    pub location: Option<String>,
    /// Maximum age of the results.
    pub freshness: Option<Freshness>,
    /// Time of the search in milliseconds.
    pub time_ms: u32,
    /// Base URL of the service, without a trailing slash.
    pub base: String,
    /// The operator's settings as JSON.
    pub settings: String,
}

/// Maximum age of the results.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Freshness {
    /// An hour.
    Hour,
    /// A day.
    Day,
    /// A week.
    Week,
    /// A month.
    Month,
    /// A year.
    Year,
}

impl Freshness {
    /// All of them, the shortest first.
    pub const ALL: [Self; 5] = [Self::Hour, Self::Day, Self::Week, Self::Month, Self::Year];

    /// Its name: `hour`.
    pub const fn name(self) -> &'static str {
        match self {
            Self::Hour => "hour",
            Self::Day => "day",
            Self::Week => "week",
            Self::Month => "month",
            Self::Year => "year",
        }
    }
}

impl Query {
    /// The first ten results for these words.
    pub fn new(text: &str, base: &str) -> Self {
        Self {
            text: text.to_owned(),
            count: 10,
            page: 1,
            country: None,
            language: None,
            location: None,
            freshness: None,
            time_ms: 20_000,
            base: base.to_owned(),
            settings: "{}".to_owned(),
        }
    }

    /// Results on the pages before this one.
    pub fn n_before(&self) -> u32 {
        self.page.saturating_sub(1).saturating_mul(self.count)
    }

    /// URL of a service endpoint: the base URL with this path.
    pub fn at(&self, path: &str) -> String {
        format!("{}{path}", self.base)
    }
}

/// One result.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct Hit {
    /// Absolute URL of the page.
    pub url: String,
    /// Title, as plain text.
    pub title: String,
    /// Part of the page or its description, as plain text; empty if there is none.
    pub snippet: String,
    /// When the page was published or changed, as the service writes it.
    pub date: Option<String>,
    /// Name of the site.
    pub site_name: Option<String>,
}

/// The results of a search, the best first.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Results {
    /// The results.
    pub hits: Vec<Hit>,
    /// Request ID of the service.
    pub request_id: Option<String>,
    /// Cost of the search.
    pub cost: Cost,
}

impl Results {
    /// Results of a service that charges nothing.
    pub fn free(hits: Vec<Hit>) -> Self {
        Self {
            hits,
            request_id: None,
            cost: Cost::free(),
        }
    }

    /// Sets the cost.
    #[must_use]
    pub fn cost(self, cost: Cost) -> Self {
        Self { cost, ..self }
    }

    /// Sets the service's request ID.
    #[must_use]
    pub fn request_id(self, id: Option<&str>) -> Self {
        let request_id = id.map(str::to_owned);
        Self { request_id, ..self }
    }
}
