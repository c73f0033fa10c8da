//! Which providers may serve a page, in which order, and who pays. A pure function. Spec S17, Spec
//! S20.

use std::sync::Arc;

use trawl_contract::provider::Abilities;
use trawl_model::VendorUse;
use trawl_plan::{Funding, PagePlan};
use trawl_plugins::ProviderPlugin;

use super::Keys;
use super::breaker::{BreakerKey, Breakers, Pause};
use super::pooled::PooledKeys;
use super::task::{beyond, needs};
use super::unfit::{Ineligible, unfit};

/// Whose credentials pay a provider.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord)]
pub enum Payment {
    /// The caller's.
    Own,
    /// The operator's.
    Pooled,
}

/// A page that a provider may serve.
#[derive(Clone, Copy)]
pub struct ProviderQuery<'a> {
    /// The account that asks, or another name for the client.
    pub account: &'a str,
    /// The page's plan.
    pub plan: &'a PagePlan,
    /// Whether its scripts must run.
    pub javascript: bool,
    /// Whether a redirect of the page may be refused: then its final URL must be known.
    pub is_bound: bool,
    /// Whether the operator's credentials may pay. Decision D102.
    pub may_pool: bool,
    /// Whether the page's reservation covers a provider with this charge.
    pub affords: &'a (dyn Fn(VendorUse) -> bool + Sync),
}

/// One provider route.
#[derive(Clone)]
pub struct Candidate {
    pub(super) plugin: Arc<ProviderPlugin>,
    pub(super) keys: Arc<Keys>,
    pub(super) breaker: BreakerKey,
    /// Who pays.
    pub payment: Payment,
    /// Its place among the choices of the page, from 1: the provider that the request names, and
    /// those with a key, whether or not they can serve the page.
    pub place: u32,
}

impl Candidate {
    /// The provider's name in requests.
    pub fn name(&self) -> &str {
        &self.plugin.info().name
    }

    /// The most that it can charge for a page.
    pub fn most(&self) -> VendorUse {
        VendorUse {
            cost: self.plugin.grant().prices.most,
            byok: self.payment == Payment::Own,
        }
    }
}

/// The provider routes of a page.
#[derive(Clone, Default)]
pub struct Choice {
    /// In the order they are tried.
    pub candidates: Vec<Candidate>,
    /// Why the provider that the request names is not among them; `None` if it is, or if the
    /// request names none.
    pub left_out: Option<Ineligible>,
}

/// The provider routes of a page: the preferred provider first, then in the order of the manifest;
/// each on the caller's own key if there is one, otherwise on the operator's. Left out are
/// providers that cannot serve the page, that the reservation does not cover, or whose breaker is
/// open.
pub(super) fn candidates<'a>(
    plugins: impl Iterator<Item = &'a Arc<ProviderPlugin>>,
    query: &ProviderQuery<'_>,
    pooled: &PooledKeys,
    breakers: &Breakers,
    pause: &dyn Fn(&BreakerKey) -> Option<Pause>,
) -> Choice {
    let router = &query.plan.router;
    let beyond = beyond(query.plan, query.javascript);
    if !beyond.is_empty() {
        let is_named = router.provider.is_some();
        return Choice {
            candidates: Vec::new(),
            left_out: is_named.then_some(Ineligible::Beyond(beyond)),
        };
    }
    let needs = needs(query.plan, query.javascript).and(query.is_bound, Abilities::FINAL_URL);
    let is_named =
        |plugin: &ProviderPlugin| Some(plugin.info().name.as_str()) == router.provider.as_deref();
    let mut choices: Vec<_> = plugins.collect();
    if router.is_pinned {
        choices.retain(|plugin| is_named(plugin));
    }
    // A stable sort: the others remain in order.
    choices.sort_by_key(|plugin| !is_named(plugin));
    let may_pool = query.may_pool && router.funding == Funding::Any;
    let is_missing = router.provider.is_some() && !choices.iter().any(|plugin| is_named(plugin));
    let mut choice = Choice {
        candidates: Vec::new(),
        left_out: is_missing.then_some(Ineligible::NotLoaded),
    };
    let mut place = 0;
    for plugin in choices {
        let own = own_keys(plugin, query.plan).map(|keys| (keys, Payment::Own));
        // Spec S20: pooled credentials are for routes that the caller's keys do not cover.
        let ours = pooled.keys(plugin).filter(|_| may_pool && own.is_none());
        let ours = ours.map(|keys| (keys, Payment::Pooled));
        let keys = own.or(ours);
        place += u32::from(keys.is_some() || is_named(plugin));
        let found = match unfit(plugin.description(), needs) {
            Some(reason) => Err(Ineligible::Unfit(reason)),
            None => candidate(plugin, keys, query, breakers, pause),
        };
        match found {
            Ok(candidate) => choice.candidates.push(Candidate { place, ..candidate }),
            Err(reason) if is_named(plugin) => choice.left_out = Some(reason),
            Err(_) => {}
        }
    }
    choice
}

/// The route of one provider that can serve the page, with these keys.
fn candidate(
    plugin: &Arc<ProviderPlugin>,
    keys: Option<(Keys, Payment)>,
    query: &ProviderQuery<'_>,
    breakers: &Breakers,
    pause: &dyn Fn(&BreakerKey) -> Option<Pause>,
) -> Result<Candidate, Ineligible> {
    let Some((keys, payment)) = keys else {
        return Err(Ineligible::NoKey(plugin.grant().credentials.clone()));
    };
    let cost = plugin.grant().prices.most;
    let byok = payment == Payment::Own;
    if !(query.affords)(VendorUse { cost, byok }) {
        return Err(Ineligible::TooDear);
    }
    let breaker = breakers.key(query.account, &plugin.info().name, &keys, byok);
    if let Some(pause) = pause(&breaker) {
        return Err(Ineligible::Paused(pause));
    }
    Ok(Candidate {
        plugin: Arc::clone(plugin),
        keys: Arc::new(keys),
        breaker,
        payment,
        place: 0,
    })
}

/// The caller's key for a provider. One with several credentials takes none. Spec S18.
fn own_keys(plugin: &ProviderPlugin, plan: &PagePlan) -> Option<Keys> {
    let [name] = plugin.grant().credentials.as_slice() else {
        return None;
    };
    let router = &plan.router;
    let is_named = router.provider.as_deref() == Some(plugin.info().name.as_str());
    let token = router.token.as_ref().filter(|_| is_named);
    let secret = token.or_else(|| router.credentials.get(name))?;
    Some(Keys::from_iter([(name.clone(), secret.clone())]))
}
