//! The `router` object: when a provider may serve a page. Spec: Router object.

use super::{PlanError, RouterMode, RouterPlan};

/// Provider names a request may use. Spec: Router object, provider names.
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

/// What a `router` object said, without its secrets: only whether there was one.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct RouterWish {
    /// `mode` as sent.
    pub mode: Option<String>,
    /// `provider` as sent.
    pub provider: Option<String>,
    /// Whether `token` holds more than blanks.
    pub has_token: bool,
}

/// The plan of a `router` object; an absent one is the operator's default, which is off.
///
/// Values are trimmed and compared without case; values that are not known count as absent.
///
/// # Errors
/// `first` without a known provider or without a token.
pub fn plan(wish: Option<&RouterWish>) -> Result<RouterPlan, PlanError> {
    let Some(wish) = wish else {
        return Ok(RouterPlan::default());
    };
    let provider = wish
        .provider
        .as_deref()
        .map(normal)
        .filter(|name| PROVIDERS.contains(&name.as_str()));
    match wish.mode.as_deref().map(normal).as_deref() {
        Some("off") => Ok(RouterPlan::default()),
        Some("first") => first(provider, wish.has_token),
        _ => Ok(RouterPlan {
            mode: RouterMode::Fallback,
            provider,
        }),
    }
}

fn first(provider: Option<String>, has_token: bool) -> Result<RouterPlan, PlanError> {
    if provider.is_none() {
        let reason = format!(
            "`mode` `first` needs a `provider`, one of {}",
            PROVIDERS.join(", ")
        );
        return Err(PlanError::new("router", reason));
    }
    if !has_token {
        let reason = "`mode` `first` needs the provider's key as `token`; a key under `credentials` does not count";
        return Err(PlanError::new("router", reason));
    }
    Ok(RouterPlan {
        mode: RouterMode::First,
        provider,
    })
}

fn normal(text: &str) -> String {
    text.trim().to_lowercase()
}

#[cfg(test)]
mod tests {
    use super::*;

    fn wish(mode: Option<&str>, provider: Option<&str>, has_token: bool) -> RouterWish {
        RouterWish {
            mode: mode.map(str::to_owned),
            provider: provider.map(str::to_owned),
            has_token,
        }
    }

    #[test]
    fn absent_is_off_and_empty_is_fallback() {
        assert_eq!(plan(None), Ok(RouterPlan::default()));
        let check = |mode, provider, has_token, expected: RouterMode, name: Option<&str>| {
            let plan = plan(Some(&wish(mode, provider, has_token))).expect("accepted");
            assert_eq!((plan.mode, plan.provider.as_deref()), (expected, name));
        };
        check(None, None, false, RouterMode::Fallback, None);
        check(
            Some("whatever"),
            Some("unknown"),
            true,
            RouterMode::Fallback,
            None,
        );
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
            RouterMode::First,
            Some("provider_9"),
        );
        check(
            Some("fallback"),
            Some("provider_11"),
            false,
            RouterMode::Fallback,
            Some("provider_11"),
        );
    }

    #[test]
    fn first_needs_a_provider_and_a_token() {
        for (provider, has_token) in [
            (None, true),
            (Some("provider_1"), false),
            (Some("nobody"), true),
        ] {
            let error = plan(Some(&wish(Some("first"), provider, has_token))).expect_err("refused");
            assert_eq!(error.field, "router");
        }
    }
}
