//! What an adapter says of itself.

use std::ops::BitOr;

/// What an adapter says of itself; the host reads it once when it loads the plugin.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Description {
    /// Name it was written under: lower-case ASCII letters, digits and `_`.
    pub name: String,
    /// Its own version.
    pub version: String,
    /// One sentence for people.
    pub summary: String,
    /// JSON Schema (draft 2020-12, as JSON text) of the operator's `settings`.
    pub settings_schema: String,
    /// The service's name for people.
    pub label: String,
    /// Names of the credentials it marks in its requests.
    pub credentials: Vec<String>,
    /// Address of the service unless the operator sets another one, without a trailing slash.
    pub base: String,
    /// Hosts its requests go to.
    pub hosts: Vec<String>,
    /// What it can do without JavaScript.
    pub plain: Abilities,
    /// What it can do with JavaScript.
    pub rendered: Abilities,
    /// Units it counts costs in; an operator's price table prices them in dollars.
    pub units: Vec<String>,
    /// Milliseconds of a whole conversation.
    pub time_ms: u32,
}

impl Description {
    /// An adapter's name and version (`env!("CARGO_PKG_VERSION")`), the service's name for people, and its address without a
    /// trailing slash. It can do nothing until the methods below say so.
    pub fn new(name: &str, version: &str, label: &str, base: &str) -> Self {
        Self {
            name: name.to_owned(),
            version: version.to_owned(),
            summary: format!("Pages by {label}"),
            settings_schema: r#"{"type":"object","additionalProperties":false}"#.to_owned(),
            label: label.to_owned(),
            credentials: Vec::new(),
            base: base.to_owned(),
            hosts: Vec::new(),
            plain: Abilities::NOTHING,
            rendered: Abilities::NOTHING,
            units: Vec::new(),
            time_ms: 90_000,
        }
    }

    /// Sets the names of its credentials: upper-case ASCII letters, digits and `_`. Callers can send a key of their own only to
    /// a service with one.
    #[must_use]
    pub fn credentials(self, names: &[&str]) -> Self {
        let credentials = owned(names);
        Self {
            credentials,
            ..self
        }
    }

    /// Sets the hosts it sends requests to.
    #[must_use]
    pub fn hosts(self, hosts: &[&str]) -> Self {
        let hosts = owned(hosts);
        Self { hosts, ..self }
    }

    /// Sets what it can do without JavaScript.
    #[must_use]
    pub fn plain(self, plain: Abilities) -> Self {
        Self { plain, ..self }
    }

    /// Sets what it can do with JavaScript.
    #[must_use]
    pub fn rendered(self, rendered: Abilities) -> Self {
        Self { rendered, ..self }
    }

    /// Sets the units that its costs are counted in.
    #[must_use]
    pub fn units(self, units: &[&str]) -> Self {
        let units = owned(units);
        Self { units, ..self }
    }

    /// Sets the time of a whole conversation.
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
}

fn owned(texts: &[&str]) -> Vec<String> {
    texts.iter().map(|&text| text.to_owned()).collect()
}

/// What a service can do with a page. Join them with `|`.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub struct Abilities(u32);

impl Abilities {
    /// None.
    pub const NOTHING: Self = Self(0);
    /// Serves pages in this mode at all.
    pub const SERVES: Self = Self(1);
    /// Waits for a fixed time.
    pub const FIXED_WAIT: Self = Self(1 << 1);
    /// Waits for a CSS selector.
    pub const WAIT_SELECTOR: Self = Self(1 << 2);
    /// Runs the caller's script after load.
    pub const SCRIPT: Self = Self(1 << 3);
    /// Sends the caller's headers to the target.
    pub const HEADERS: Self = Self(1 << 4);
    /// Sends the caller's cookies to the target.
    pub const COOKIES: Self = Self(1 << 5);
    /// Asks from a country through its ordinary addresses.
    pub const COUNTRY: Self = Self(1 << 6);
    /// Asks from a country, but only through residential addresses.
    pub const COUNTRY_RESIDENTIAL: Self = Self(1 << 7);
    /// Has residential addresses.
    pub const RESIDENTIAL: Self = Self(1 << 8);
    /// Sends another method than GET, with a body.
    pub const BODY: Self = Self(1 << 9);
    /// Returns bytes of any media type intact.
    pub const BINARY: Self = Self(1 << 10);
    /// Makes a picture of the page.
    pub const SCREENSHOT: Self = Self(1 << 11);
    /// Tells the target's headers.
    pub const TARGET_HEADERS: Self = Self(1 << 12);
    /// Tells the cookies that the target set.
    pub const TARGET_COOKIES: Self = Self(1 << 13);
    /// Tells the address after redirects.
    pub const FINAL_URL: Self = Self(1 << 14);

    /// Each one with its name in the contract.
    pub const NAMED: [(&'static str, Self); 15] = [
        ("serves", Self::SERVES),
        ("fixed_wait", Self::FIXED_WAIT),
        ("wait_selector", Self::WAIT_SELECTOR),
        ("script", Self::SCRIPT),
        ("headers", Self::HEADERS),
        ("cookies", Self::COOKIES),
        ("country", Self::COUNTRY),
        ("country_residential", Self::COUNTRY_RESIDENTIAL),
        ("residential", Self::RESIDENTIAL),
        ("body", Self::BODY),
        ("binary", Self::BINARY),
        ("screenshot", Self::SCREENSHOT),
        ("target_headers", Self::TARGET_HEADERS),
        ("target_cookies", Self::TARGET_COOKIES),
        ("final_url", Self::FINAL_URL),
    ];

    /// Whether all of `other` are among these.
    pub const fn contains(self, other: Self) -> bool {
        self.0 & other.0 == other.0
    }

    /// Those of these that are not among `other`.
    #[must_use]
    pub const fn without(self, other: Self) -> Self {
        Self(self.0 & !other.0)
    }

    /// Names of these.
    pub fn names(self) -> impl Iterator<Item = &'static str> {
        let named = Self::NAMED.into_iter();
        named
            .filter(move |(_, ability)| self.contains(*ability))
            .map(|(name, _)| name)
    }
}

impl BitOr for Abilities {
    type Output = Self;

    fn bitor(self, other: Self) -> Self {
        Self(self.0 | other.0)
    }
}
