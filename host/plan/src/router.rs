//! The `router` object: when a provider may serve a page. Spec S17.

use std::collections::BTreeMap;

use trawl_model::secret::Secret;

use super::{Catalog, Funding, PlanError, PluginKind, RouterMode, RouterPlan};

/// Provider names a request may use. Spec S18.
const PROVIDERS: [&str; 11] = [
    "provider_1",
    "provider_2",
    "provider_3",
    "provider_4",
    "provider_5",
    "provider_6",
    "provider_7",
    "provider_8",
    "provider_9",
    "provider_10",
    "provider_11",
];

/// Most credentials of one request: each is looked for in what providers answer.
const CREDENTIALS_MAX: usize = 32;

/// The fields of a `router` object.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct RouterWish {
    /// `mode` as sent.
    pub mode: Option<String>,
    /// `provider` as sent.
    pub provider: Option<String>,
    /// `funding` as sent.
    pub funding: Option<String>,
    /// `token`, trimmed; `None` if nothing is left.
    pub token: Option<Secret>,
    /// `credentials`, likewise.
    pub credentials: BTreeMap<String, Secret>,
}

/// The plan of a `router` object; an absent one means `default`, which is off unless the operator
/// sets another.
///
/// Values are trimmed and compared without case; values that are not known count as absent.
///
/// # Errors
/// `first` without a known provider or without a token; too many credentials.
pub fn plan(
    fields: Option<RouterWish>,
    default: RouterMode,
    catalog: &dyn Catalog,
) -> Result<RouterPlan, PlanError> {
    let Some(fields) = fields else {
        return Ok(RouterPlan {
            mode: default,
            ..RouterPlan::default()
        });
    };
    let is_known = |name: &String| is_provider(name, catalog);
    let provider = fields.provider.as_deref().map(normal).filter(is_known);
    let mode = match fields.mode.as_deref().map(normal).as_deref() {
        Some("off") => return Ok(RouterPlan::default()),
        Some("first") => RouterMode::First,
        _ => RouterMode::Fallback,
    };
    if mode == RouterMode::First {
        check_first(provider.as_deref(), fields.token.as_ref())?;
    }
    if fields.credentials.len() > CREDENTIALS_MAX {
        let reason = format!(
            "{} `credentials` are too many, the limit is {CREDENTIALS_MAX}",
            fields.credentials.len()
        );
        return Err(PlanError::new("router", reason));
    }
    let funding = match fields.funding.as_deref().map(normal).as_deref() {
        Some("own") => Funding::Own,
        _ => Funding::Any,
    };
    Ok(RouterPlan {
        mode,
        provider,
        funding,
        token: fields.token,
        credentials: fields.credentials,
        is_pinned: false,
    })
}

/// The keys of a `router` object that have no effect, as paths: unknown values, a token without the
/// provider that it is for, and what stands beside `off`. `is_own_only` is for terms under which
/// only the caller's keys are used.
pub fn without_effect(
    fields: &RouterWish,
    is_own_only: bool,
    catalog: &dyn Catalog,
) -> Vec<&'static str> {
    let said = |text: &Option<String>| text.as_deref().map(normal).filter(|text| !text.is_empty());
    let (mode, provider, funding) = (
        said(&fields.mode),
        said(&fields.provider),
        said(&fields.funding),
    );
    if mode.as_deref() == Some("off") {
        let beside = [
            ("router.provider", provider.is_some()),
            ("router.token", fields.token.is_some()),
            ("router.credentials", !fields.credentials.is_empty()),
            ("router.funding", funding.is_some()),
        ];
        let beside = beside.into_iter().filter(|(_, is_set)| *is_set);
        return beside.map(|(path, _)| path).collect();
    }
    let is_known = |name: &String| is_provider(name, catalog);
    let mut idle = Vec::new();
    if mode.is_some_and(|mode| !matches!(mode.as_str(), "first" | "fallback")) {
        idle.push("router.mode");
    }
    if provider.as_ref().is_some_and(|name| !is_known(name)) {
        idle.push("router.provider");
    }
    if fields.token.is_some() && !provider.as_ref().is_some_and(is_known) {
        idle.push("router.token");
    }
    let has_no_effect = |funding: String| match funding.as_str() {
        "own" => false,
        "any" => is_own_only,
        _ => true,
    };
    if funding.is_some_and(has_no_effect) {
        idle.push("router.funding");
    }
    idle
}

/// Whether a provider may be named so.
fn is_provider(name: &str, catalog: &dyn Catalog) -> bool {
    PROVIDERS.contains(&name) || catalog.has(PluginKind::Provider, name)
}

fn check_first(provider: Option<&str>, token: Option<&Secret>) -> Result<(), PlanError> {
    if provider.is_none() {
        let reason = format!(
            "`mode` `first` needs a `provider`, one of {}",
            PROVIDERS.join(", ")
        );
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

    fn fields(mode: Option<&str>, provider: Option<&str>, has_token: bool) -> RouterWish {
        RouterWish {
            mode: mode.map(str::to_owned),
            provider: provider.map(str::to_owned),
            token: has_token.then(|| Secret::new("canary-token")),
            ..RouterWish::default()
        }
    }

    fn planned(fields: RouterWish) -> Result<RouterPlan, PlanError> {
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
