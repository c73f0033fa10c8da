//! Why a provider is not used for a page. One comparison of abilities for the router and for the
//! command line, so that nothing a page needs is dropped silently. Decision D210.

use std::fmt::{self, Display};

use trawl_contract::provider::{Abilities, Class, Description, Pool, Task};

use super::breaker::Pause;

/// What a page needs of a provider.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Needs {
    /// All of these.
    pub(super) abilities: Abilities,
    /// A chosen country, through any IP addresses.
    pub(super) any_country: bool,
    /// Whether scripts run.
    pub(super) javascript: bool,
}

/// Why a provider that a request names is not asked.
#[derive(Clone, Debug, PartialEq, Eq)]
pub enum Ineligible {
    /// It cannot do what the page needs, in words.
    Unfit(String),
    /// The request needs what no provider can do: these parameters.
    Beyond(Vec<&'static str>),
    /// There are no values for these credentials.
    NoKey(Vec<String>),
    /// This server does not have it.
    NotLoaded,
    /// It can cost more than the page may.
    TooDear,
    /// It is paused after a failure.
    Paused(Pause),
}

impl Needs {
    /// With JavaScript or without, nothing else yet.
    pub(super) const fn new(javascript: bool) -> Self {
        Self {
            abilities: Abilities::SERVES,
            any_country: false,
            javascript,
        }
    }

    /// Adds abilities if the condition holds.
    #[must_use]
    pub(super) fn and(self, condition: bool, abilities: Abilities) -> Self {
        let abilities = match condition {
            true => self.abilities | abilities,
            false => self.abilities,
        };
        Self { abilities, ..self }
    }

    /// Adds a country. With residential IP addresses either ability for countries will do.
    #[must_use]
    pub(super) fn and_country(self, condition: bool, is_residential: bool) -> Self {
        let any_country = condition && is_residential;
        let needs = self.and(condition && !is_residential, Abilities::COUNTRY);
        Self {
            any_country,
            ..needs
        }
    }

    /// What this task needs.
    pub fn of_task(task: &Task) -> Self {
        let is_residential = task.pool == Pool::Residential;
        let has_body = task.method != "GET" || !task.body.is_empty();
        Self::new(task.javascript)
            .and(!task.headers.is_empty(), Abilities::HEADERS)
            .and(!task.cookies.is_empty(), Abilities::COOKIES)
            .and(has_body, Abilities::BODY)
            .and(task.wait_ms.is_some(), Abilities::FIXED_WAIT)
            .and(task.wait_for.is_some(), Abilities::WAIT_SELECTOR)
            .and(task.script.is_some(), Abilities::SCRIPT)
            .and(task.screenshot.is_some(), Abilities::SCREENSHOT)
            .and(is_residential, Abilities::RESIDENTIAL)
            .and_country(task.country.is_some(), is_residential)
    }

    /// The names of those that these abilities lack.
    fn missing(self, able: Abilities) -> Vec<&'static str> {
        let mut missing: Vec<_> = self.abilities.without(able).names().collect();
        let countries = Abilities::COUNTRY | Abilities::COUNTRY_RESIDENTIAL;
        if self.any_country && able.without(countries) == able {
            missing.push("country");
        }
        missing
    }
}

/// Why a provider with this description cannot serve a page with these needs; `None` if it can.
pub fn unfit(description: &Description, needs: Needs) -> Option<String> {
    let modes = [
        (description.plain, "without JavaScript"),
        (description.rendered, "with JavaScript"),
    ];
    let (this, other) = match (needs.javascript, modes) {
        (false, [plain, rendered]) => (plain, rendered),
        (true, [plain, rendered]) => (rendered, plain),
    };
    let (able, mode) = this;
    if !able.contains(Abilities::SERVES) {
        return Some(format!("it serves no pages {mode}"));
    }
    let missing = needs.missing(able);
    if missing.is_empty() {
        return None;
    }
    let is_residential_country =
        |name: &str| name == "country" && able.contains(Abilities::COUNTRY_RESIDENTIAL);
    let named = missing.iter().map(|name| match *name {
        name if is_residential_country(name) => {
            format!("`{name}` (except with residential IP addresses)")
        }
        name => format!("`{name}`"),
    });
    let named = named.collect::<Vec<_>>().join(", ");
    let (able_there, mode_there) = other;
    let hint = if needs.missing(able_there).is_empty() {
        format!("; {mode_there} it does")
    } else {
        String::new()
    };
    Some(format!("it does not support {named} {mode}{hint}"))
}

/// In words, about the provider as `it`.
impl Display for Ineligible {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        let quoted = |names: &[&str]| {
            let names = names.iter().map(|name| format!("`{name}`"));
            names.collect::<Vec<_>>().join(", ")
        };
        match self {
            Self::Unfit(reason) => f.write_str(reason),
            Self::Beyond(names) => write!(f, "no provider supports {}", quoted(names)),
            Self::NoKey(names) => {
                let names: Vec<&str> = names.iter().map(String::as_str).collect();
                write!(f, "there is no value for {}", quoted(&names))
            }
            Self::NotLoaded => f.write_str("this server does not have it"),
            Self::TooDear => f.write_str("it can cost more than the page may"),
            Self::Paused(pause) => {
                let seconds = pause.left.as_secs().saturating_add(1);
                let cause = paused_by(pause.class);
                write!(f, "{cause}: it is paused for {seconds} s at most")
            }
        }
    }
}

/// The failure after which a provider is paused, and what helps against it.
fn paused_by(class: Option<Class>) -> &'static str {
    match class {
        Some(Class::BadKey) => "it refused this key just now (`bad_key`), check the key",
        Some(Class::NoCredit) => {
            "this key had no credit left just now (`no_credit`), top up at the provider"
        }
        Some(Class::RateLimited) => {
            "it refused this key just now for its rate limit (`rate_limited`), send fewer requests"
        }
        Some(Class::ProviderTimeout) => "it timed out several times (`provider_timeout`)",
        Some(Class::Drift) => "its replies did not follow its documentation (`drift`)",
        None => "its adapter failed several times (`adapter`)",
        Some(_) => "it failed several times (`provider_error`)",
    }
}

#[cfg(test)]
mod tests {
    use std::time::Duration;

    use super::*;

    #[test]
    fn a_pause_comes_with_its_failure() {
        let check = |class: Option<Class>, begin: &str| {
            let left = Duration::from_secs(29);
            let reason = Ineligible::Paused(Pause { left, class }).to_string();
            assert!(reason.starts_with(begin), "{reason}");
            assert!(reason.ends_with(": it is paused for 30 s at most"));
            let name = class.map_or("adapter", Class::name);
            assert!(reason.contains(&format!("(`{name}`)")), "{reason}");
        };
        check(Some(Class::BadKey), "it refused this key just now");
        check(Some(Class::NoCredit), "this key had no credit left");
        check(
            Some(Class::RateLimited),
            "it refused this key just now for its rate limit",
        );
        check(Some(Class::ProviderTimeout), "it timed out");
        check(Some(Class::ProviderError), "it failed");
        check(Some(Class::Drift), "its replies");
        check(None, "its adapter failed");
    }

    fn described() -> Description {
        Description::new("acme", "1.0.0", "Acme", "https://api.acme.example")
            .plain(Abilities::SERVES | Abilities::HEADERS | Abilities::COUNTRY_RESIDENTIAL)
            .rendered(Abilities::SERVES | Abilities::SCRIPT)
    }

    fn task() -> Task {
        Task::new("https://shop.example/", "https://api.acme.example")
    }

    fn check(task: &Task, expected: Option<&str>) {
        let found = unfit(&described(), Needs::of_task(task));
        assert_eq!(found.as_deref(), expected, "{task:?}");
    }

    #[test]
    fn every_missing_ability_is_named() {
        check(&task(), None);
        let scripted = Task {
            script: Some("go()".to_owned()),
            ..task()
        };
        check(
            &scripted,
            Some("it does not support `script` without JavaScript; with JavaScript it does"),
        );
        let headers = vec![("X-One".to_owned(), "1".to_owned())];
        let all = Task {
            headers,
            javascript: true,
            method: "POST".to_owned(),
            wait_ms: Some(1),
            ..scripted
        };
        check(
            &all,
            Some("it does not support `fixed_wait`, `headers`, `body` with JavaScript"),
        );
    }

    #[test]
    fn a_country_may_need_residential_addresses() {
        let abroad = Task {
            country: Some("DE".to_owned()),
            ..task()
        };
        check(
            &abroad,
            Some(
                "it does not support `country` (except with residential IP addresses) without JavaScript",
            ),
        );
        let residential = Task {
            pool: Pool::Residential,
            ..abroad
        };
        check(
            &residential,
            Some("it does not support `residential` without JavaScript"),
        );
        let rendered = Task {
            javascript: true,
            ..residential
        };
        check(
            &rendered,
            Some("it does not support `residential`, `country` with JavaScript"),
        );
    }

    #[test]
    fn a_mode_that_is_not_served_is_named() {
        let plain_only = described().rendered(Abilities::NOTHING);
        let found = unfit(&plain_only, Needs::new(true));
        assert_eq!(found.as_deref(), Some("it serves no pages with JavaScript"));
    }
}
