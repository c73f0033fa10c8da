//! Description of an adapter.

use std::ops::BitOr;

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
    /// Names of the credentials that its requests reference.
    pub credentials: Vec<String>,
    /// Base URL of the service, without a trailing slash; the operator can set another one.
    pub base: String,
    /// Hosts that its requests go to.
    pub hosts: Vec<String>,
    /// What it supports without JavaScript.
    pub plain: Abilities,
    /// What it supports with JavaScript.
    pub rendered: Abilities,
    /// Units of its costs; an operator's price table converts them to dollars.
    pub units: Vec<String>,
    /// Timeout of a whole conversation, in milliseconds.
    pub time_ms: u32,
}

impl Description {
    /// Creates a description from the adapter's name and version (`env!("CARGO_PKG_VERSION")`), the
    /// display name of the service and its base URL without a trailing slash. Without further calls
    /// it has no abilities.
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

    /// Sets the names of its credentials: upper-case ASCII letters, digits and `_`. Callers can use
    /// their own key only with a service that has exactly one credential.
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

    /// Sets what it supports, as a table: an ability and the mode that has it.
    #[must_use]
    pub fn abilities(mut self, table: &[(Abilities, Mode)]) -> Self {
        for &(ability, mode) in table {
            if mode != Mode::Rendered {
                self.plain = self.plain | ability;
            }
            if mode != Mode::Plain {
                self.rendered = self.rendered | ability;
            }
        }
        self
    }

    /// Sets what it supports without JavaScript.
    #[must_use]
    pub fn plain(self, plain: Abilities) -> Self {
        Self { plain, ..self }
    }

    /// Sets what it supports with JavaScript.
    #[must_use]
    pub fn rendered(self, rendered: Abilities) -> Self {
        Self { rendered, ..self }
    }

    /// Sets the units of its costs.
    #[must_use]
    pub fn units(self, units: &[&str]) -> Self {
        let units = owned(units);
        Self { units, ..self }
    }

    /// Sets the timeout of a whole conversation.
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

/// Where a service has an ability.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Mode {
    /// Without and with JavaScript.
    Both,
    /// Without JavaScript only.
    Plain,
    /// With JavaScript only.
    Rendered,
}

/// What a service can do with a page. Combine with `|`.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub struct Abilities(u32);

impl Abilities {
    /// No abilities.
    pub const NOTHING: Self = Self(0);
    /// Fetches pages in this mode at all.
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
    /// Fetches from a chosen country with its standard IP addresses.
    pub const COUNTRY: Self = Self(1 << 6);
    /// Fetches from a chosen country, but only with residential IP addresses.
    pub const COUNTRY_RESIDENTIAL: Self = Self(1 << 7);
    /// Offers residential IP addresses.
    pub const RESIDENTIAL: Self = Self(1 << 8);
    /// Sends methods other than GET, with a body.
    pub const BODY: Self = Self(1 << 9);
    /// Returns bodies of any media type unmodified.
    pub const BINARY: Self = Self(1 << 10);
    /// Takes screenshots.
    pub const SCREENSHOT: Self = Self(1 << 11);
    /// Returns the target's headers.
    pub const TARGET_HEADERS: Self = Self(1 << 12);
    /// Returns the cookies set by the target.
    pub const TARGET_COOKIES: Self = Self(1 << 13);
    /// Returns the URL after redirects.
    pub const FINAL_URL: Self = Self(1 << 14);

    /// All abilities with their names in the contract.
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

    /// [`NOTHING`](Self::NOTHING), under the name that flags have in bindings.
    #[doc(hidden)]
    pub const fn empty() -> Self {
        Self::NOTHING
    }

    /// Whether these include all of `other`.
    pub const fn contains(self, other: Self) -> bool {
        self.0 & other.0 == other.0
    }

    /// These abilities except those in `other`.
    #[must_use]
    pub const fn without(self, other: Self) -> Self {
        Self(self.0 & !other.0)
    }

    /// Names of these abilities.
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

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_table_has_the_abilities_of_both_modes() {
        let described = Description::new("acme", "1.0.0", "Acme", "https://api.acme.example");
        let described = described.abilities(&[
            (Abilities::SERVES, Mode::Both),
            (Abilities::BODY, Mode::Plain),
            (Abilities::BINARY, Mode::Plain),
            (Abilities::SCRIPT, Mode::Rendered),
        ]);
        let plain = Abilities::SERVES | Abilities::BODY | Abilities::BINARY;
        assert_eq!(described.plain, plain);
        assert_eq!(described.rendered, Abilities::SERVES | Abilities::SCRIPT);
    }
}
