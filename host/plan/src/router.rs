//! The `router` object: when a provider may serve a page. Spec S17.

use std::collections::BTreeMap;
use std::time::Duration;

use trawl_model::nearest::nearest_name;
use trawl_model::secret::Secret;

use super::named::named;
use super::{Catalog, Funding, Named, PlanError, PluginKind, RouterMode, RouterPlan};

/// Provider names a request may use, each with its vendor's name, which means the same. Spec S18.
const PROVIDERS: [(&str, &str); 11] = [
    ("provider_1", "zyte"),
    ("provider_2", "scrapingbee"),
    ("provider_3", "scraperapi"),
    ("provider_4", "scrapfly"),
    ("provider_5", "scrapedo"),
    ("provider_6", "zenrows"),
    ("provider_7", "brightdata"),
    ("provider_8", "apify"),
    ("provider_9", "browserless"),
    ("provider_10", "oxylabs"),
    ("provider_11", "decodo"),
];

/// The values of `mode`.
pub const MODES: [Named<RouterMode>; 3] = [
    (RouterMode::Fallback, &["fallback"]),
    (RouterMode::First, &["first"]),
    (RouterMode::Off, &["off"]),
];
/// The values of `funding`.
pub const FUNDINGS: [Named<Funding>; 2] = [(Funding::Any, &["any"]), (Funding::Own, &["own"])];

/// Time of the providers for one page unless the operator sets another: of several, the first has
/// two thirds of it, which is what most services recommend at least.
const TIME_DEFAULT: Duration = Duration::from_secs(240);

/// Most credentials of one request: each is looked for in what providers answer.
const CREDENTIALS_MAX: usize = 32;
/// Bytes of the shortest text that counts as a secret.
const SECRET_BYTES_MIN: usize = 8;
/// Longest name of a credential that is repeated to the caller.
const CREDENTIAL_BYTES_MAX: usize = 40;

/// The request to a page other than a GET.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct TargetRequest {
    /// Method, in upper case.
    pub method: String,
    /// Body.
    pub body: Vec<u8>,
}

impl Default for TargetRequest {
    fn default() -> Self {
        Self {
            method: "GET".to_owned(),
            body: Vec::new(),
        }
    }
}

/// The fields of a `router` object.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct RouterOptions {
    /// `mode` as sent.
    pub mode: Option<String>,
    /// `provider` as sent.
    pub provider: Option<String>,
    /// `funding` as sent.
    pub funding: Option<String>,
    /// `token`, trimmed; `None` if nothing is left.
    pub token: Option<Secret>,
    /// `credentials`, each trimmed and not empty.
    pub credentials: BTreeMap<String, Secret>,
}

/// What the operator sets for requests that leave it open.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct RouterDefaults {
    /// Mode of a request without a `router` object.
    pub mode: RouterMode,
    /// Time of the providers for one page of a request without `request_timeout`.
    pub time: Duration,
}

impl Default for RouterDefaults {
    fn default() -> Self {
        Self {
            mode: RouterMode::Off,
            time: TIME_DEFAULT,
        }
    }
}

impl RouterPlan {
    /// The same with this time of their own for providers, if there may be any.
    #[must_use]
    pub fn with_time(self, time: Duration) -> Self {
        match self.mode {
            RouterMode::Off => self,
            RouterMode::Fallback | RouterMode::First => Self { time, ..self },
        }
    }
}

/// The plan of a `router` object; an absent one means `default`, which is off unless the operator
/// sets another.
///
/// Values are trimmed and compared without case; values that are not known count as absent.
///
/// # Errors
/// `first` without a known provider or without a token; too many credentials.
pub fn plan(
    fields: Option<RouterOptions>,
    default: RouterMode,
    catalog: &dyn Catalog,
) -> Result<RouterPlan, PlanError> {
    let Some(fields) = fields else {
        return Ok(RouterPlan {
            mode: default,
            ..RouterPlan::default()
        });
    };
    let sent = fields.provider.as_deref().map(normal);
    let provider = sent
        .as_deref()
        .and_then(|name| known_provider(name, catalog));
    let mode = fields.mode.as_deref();
    let mode = mode.and_then(|mode| named(&MODES, mode));
    let mode = mode.unwrap_or(RouterMode::Fallback);
    if mode == RouterMode::Off {
        return Ok(RouterPlan::default());
    }
    if mode == RouterMode::First {
        check_first(sent.as_deref(), provider.is_some(), fields.token.as_ref())?;
    }
    if fields.credentials.len() > CREDENTIALS_MAX {
        let reason = format!(
            "{} `credentials` are too many, the limit is {CREDENTIALS_MAX}",
            fields.credentials.len()
        );
        return Err(PlanError::new("router", reason));
    }
    let funding = fields.funding.as_deref();
    let funding = funding.and_then(|funding| named(&FUNDINGS, funding));
    Ok(RouterPlan {
        mode,
        provider,
        funding: funding.unwrap_or_default(),
        token: fields.token,
        credentials: fields.credentials,
        is_pinned: false,
        request: None,
        time: Duration::ZERO,
    })
}

/// The provider that a name means: its own, or its vendor's, written in any way (`Bright Data`,
/// `scrape.do`). `None` for a name that is not known.
pub fn provider_of(name: &str) -> Option<&'static str> {
    let letters = |text: &str| -> String {
        let letters = text.chars().filter(char::is_ascii_alphanumeric);
        letters.map(|letter| letter.to_ascii_lowercase()).collect()
    };
    let mut known = PROVIDERS.iter();
    let found = known.find(|(own, vendor)| *own == name || *vendor == letters(name));
    found.map(|(own, _)| *own)
}

/// The vendor's name of a provider.
pub fn vendor_of(provider: &str) -> Option<&'static str> {
    let mut known = PROVIDERS.iter();
    let found = known.find(|(own, _)| *own == provider);
    found.map(|(_, vendor)| *vendor)
}

/// The keys of a `router` object that have no effect, as paths: unknown values, a token that no
/// provider takes, and all other keys with `off`. `is_own_only` is for terms under which
/// only the caller's keys are used.
pub fn without_effect(
    fields: &RouterOptions,
    is_own_only: bool,
    catalog: &dyn Catalog,
) -> Vec<&'static str> {
    let said = |text: &Option<String>| text.as_deref().map(normal).filter(|text| !text.is_empty());
    let (mode, provider, funding) = (
        said(&fields.mode),
        said(&fields.provider),
        said(&fields.funding),
    );
    let named_mode = mode.as_deref().and_then(|mode| named(&MODES, mode));
    if named_mode == Some(RouterMode::Off) {
        let others = [
            ("router.provider", provider.is_some()),
            ("router.token", fields.token.is_some()),
            ("router.credentials", !fields.credentials.is_empty()),
            ("router.funding", funding.is_some()),
        ];
        let others = others.into_iter().filter(|(_, is_set)| *is_set);
        return others.map(|(path, _)| path).collect();
    }
    let is_known = |name: &String| known_provider(name, catalog).is_some();
    let mut idle = Vec::new();
    if mode.is_some() && named_mode.is_none() {
        idle.push("router.mode");
    }
    if provider.as_ref().is_some_and(|name| !is_known(name)) {
        idle.push("router.provider");
    }
    let takes_token = |name: &String| {
        let provider = known_provider(name, catalog);
        let mut takers = catalog.own_credentials().into_iter();
        takers.any(|(taker, _)| Some(taker) == provider)
    };
    if fields.token.is_some() && !provider.as_ref().is_some_and(takes_token) {
        idle.push("router.token");
    }
    let has_no_effect = |funding: String| match named(&FUNDINGS, &funding) {
        Some(Funding::Own) => false,
        Some(Funding::Any) => is_own_only,
        None => true,
    };
    if funding.is_some_and(has_no_effect) {
        idle.push("router.funding");
    }
    idle
}

/// The names under `credentials` that no loaded provider takes, each with the closest one that is
/// taken. What does not look like a name is `*`: it may be a key in the place of its name.
pub fn unused_credentials(
    fields: &RouterOptions,
    catalog: &dyn Catalog,
) -> Vec<(String, Option<String>)> {
    if fields.credentials.is_empty() {
        return Vec::new();
    }
    let taken = catalog.own_credentials();
    let is_taken = |name: &str| taken.iter().any(|(_, credential)| credential == name);
    // More than so many are refused.
    let sent = fields.credentials.keys().take(CREDENTIALS_MAX);
    let unused = sent.filter(|name| !is_taken(name)).map(|name| {
        let nearest = nearest_name(
            name,
            taken.iter().map(|(_, credential)| credential.as_str()),
        );
        let shown = match nearest {
            None if !is_credential_name(name) => "*",
            _ => name.as_str(),
        };
        (shown.to_owned(), nearest.map(str::to_owned))
    });
    unused.collect()
}

/// Whether a text is written like the name of a credential: `PROVIDER2_API_KEY`. One that is
/// shorter than any secret is not a key in its place. Decision D87.
fn is_credential_name(text: &str) -> bool {
    let is_plain = |byte: u8| byte.is_ascii_alphanumeric() || b"_-".contains(&byte);
    if (1..SECRET_BYTES_MIN).contains(&text.len()) && text.bytes().all(is_plain) {
        return true;
    }
    let is_part = |byte: u8| byte.is_ascii_uppercase() || byte.is_ascii_digit() || byte == b'_';
    text.len() <= CREDENTIAL_BYTES_MAX && text.contains('_') && text.bytes().all(is_part)
}

/// The provider that a name means: one that is loaded, or else one of Trawl's own.
fn known_provider(name: &str, catalog: &dyn Catalog) -> Option<String> {
    if catalog.has(PluginKind::Provider, name) {
        return Some(name.to_owned());
    }
    provider_of(name).map(str::to_owned)
}

fn check_first(
    sent: Option<&str>,
    is_known: bool,
    token: Option<&Secret>,
) -> Result<(), PlanError> {
    if !is_known {
        let known = PROVIDERS.map(|(own, vendor)| format!("{own} ({vendor})"));
        let known = known.join(", ");
        let reason = match sent {
            Some(name) if !name.is_empty() => {
                let name: String = name.chars().take(40).collect();
                format!("there is no `provider` `{name}`, use one of {known}")
            }
            _ => format!("`mode` `first` needs a `provider`, one of {known}"),
        };
        return Err(PlanError::new("router", reason));
    }
    if token.is_none() {
        let reason = "`mode` `first` needs the provider's key as `token`; a key under `credentials` does not count";
        return Err(PlanError::new("router", reason));
    }
    Ok(())
}

fn normal(text: &str) -> String {
    text.trim().to_lowercase()
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::testing::FakeCatalog;

    fn fields(mode: Option<&str>, provider: Option<&str>, has_token: bool) -> RouterOptions {
        RouterOptions {
            mode: mode.map(str::to_owned),
            provider: provider.map(str::to_owned),
            token: has_token.then(|| Secret::new("canary-token")),
            ..RouterOptions::default()
        }
    }

    fn planned(fields: RouterOptions) -> Result<RouterPlan, PlanError> {
        plan(Some(fields), RouterMode::Off, &FakeCatalog)
    }

    #[test]
    fn absent_is_off_and_empty_is_fallback() {
        let absent = |default| plan(None, default, &FakeCatalog).map(|plan| plan.mode);
        assert_eq!(absent(RouterMode::Off), Ok(RouterMode::Off));
        assert_eq!(absent(RouterMode::Fallback), Ok(RouterMode::Fallback));
        let check = |mode, provider, has_token, expected: RouterMode, name: Option<&str>| {
            let plan = planned(fields(mode, provider, has_token)).expect("accepted");
            assert_eq!((plan.mode, plan.provider.as_deref()), (expected, name));
        };
        let (fallback, first) = (RouterMode::Fallback, RouterMode::First);
        check(None, None, false, fallback, None);
        check(Some("whatever"), Some("unknown"), true, fallback, None);
        check(
            Some(" OFF "),
            Some("provider_1"),
            true,
            RouterMode::Off,
            None,
        );
        check(
            Some("First"),
            Some(" Provider_9 "),
            true,
            first,
            Some("provider_9"),
        );
        check(Some("first"), Some("acme"), true, first, Some("acme"));
        check(
            Some("fallback"),
            Some("provider_11"),
            false,
            fallback,
            Some("provider_11"),
        );
    }

    #[test]
    fn a_vendors_name_means_its_provider() {
        let check = |name: &str, expected: Option<&str>| {
            let plan = planned(fields(None, Some(name), false)).expect("accepted");
            assert_eq!(plan.provider.as_deref(), expected, "{name}");
        };
        check("scrapingbee", Some("provider_2"));
        check(" ScrapingBee ", Some("provider_2"));
        check("Bright Data", Some("provider_7"));
        check("scrape.do", Some("provider_5"));
        check("provider_10", Some("provider_10"));
        // The operator's own provider, and an unknown name.
        check("acme", Some("acme"));
        check("provider_12", None);
        check("", None);
        for (own, vendor) in PROVIDERS {
            assert_eq!(
                (provider_of(vendor), vendor_of(own)),
                (Some(own), Some(vendor))
            );
        }
        let error = planned(fields(Some("first"), Some("nobody"), true)).expect_err("refused");
        let text = error.to_string();
        assert!(
            text.contains("`nobody`") && text.contains("provider_1 (zyte)"),
            "{text}"
        );
    }

    #[test]
    fn only_a_router_that_is_on_has_time() {
        let time = RouterDefaults::default().time;
        let check = |mode: &str, expected: Duration| {
            let plan = planned(fields(Some(mode), Some("provider_1"), true)).expect("accepted");
            assert_eq!(plan.time, Duration::ZERO);
            assert_eq!(plan.with_time(time).time, expected, "{mode}");
        };
        check("off", Duration::ZERO);
        check("fallback", time);
        check("first", time);
    }

    #[test]
    fn off_drops_the_keys() {
        let off = planned(fields(Some("off"), Some("provider_1"), true)).expect("accepted");
        assert_eq!(off, RouterPlan::default());
    }

    #[test]
    fn first_needs_a_provider_and_a_token() {
        for (provider, has_token) in [
            (None, true),
            (Some("provider_1"), false),
            (Some("nobody"), true),
        ] {
            let error = planned(fields(Some("first"), provider, has_token)).expect_err("refused");
            assert_eq!(error.field, "router");
        }
        let mut only_credentials = fields(Some("first"), Some("provider_1"), false);
        let key = ("PROVIDER1_API_KEY".to_owned(), Secret::new("canary-key"));
        only_credentials.credentials = BTreeMap::from([key]);
        let error = planned(only_credentials).expect_err("refused");
        assert!(!format!("{error:?}").contains("canary"));
    }

    #[test]
    fn funding_is_any_unless_it_is_own() {
        let check = |funding: Option<&str>, expected| {
            let mut fields = fields(None, None, false);
            fields.funding = funding.map(str::to_owned);
            assert_eq!(planned(fields).map(|plan| plan.funding), Ok(expected));
        };
        check(None, Funding::Any);
        check(Some(" OWN "), Funding::Own);
        check(Some("mine"), Funding::Any);
    }
}
