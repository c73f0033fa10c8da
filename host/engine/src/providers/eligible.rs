//! Which services may serve a page, in which order, and who pays. A pure function. Spec S17,
//! Spec S20.

use std::sync::Arc;

use trawl_sdk::provider::Abilities;
use url::Url;

use super::Keys;
use super::breaker::{BreakerKey, Breakers};
use super::pooled::PooledKeys;
use super::task::{is_beyond, needs};
use trawl_model::VendorUse;
use trawl_plan::{Funding, PagePlan};
use trawl_plugins::ProviderPlugin;

/// Whose credentials pay a service.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord)]
pub enum Payment {
    /// The caller's.
    Own,
    /// The operator's.
    Pooled,
}

/// A page that is wanted of a service.
#[derive(Clone, Copy)]
pub struct ProviderQuery<'a> {
    /// What is asked for.
    pub plan: &'a PagePlan,
    /// Its address.
    pub url: &'a Url,
    /// Whether its scripts have to run.
    pub javascript: bool,
    /// Whether the operator's credentials may pay. Decision D102.
    pub may_pool: bool,
    /// Whether the page may cost what a service with this charge costs.
    pub affords: &'a (dyn Fn(VendorUse) -> bool + Sync),
}

/// One way to have a page served.
#[derive(Clone)]
pub struct Candidate {
    pub(super) plugin: Arc<ProviderPlugin>,
    pub(super) keys: Arc<Keys>,
    pub(super) breaker: BreakerKey,
    /// Who pays.
    pub payment: Payment,
}

impl Candidate {
    /// The provider's name in requests.
    pub fn name(&self) -> &str {
        &self.plugin.info().name
    }
}

/// The ways to have a page served: the preferred service first, then in the order of the manifest; each on the caller's own
/// key where there is one, otherwise on the operator's. Left out is what cannot do the page, cannot be paid, or whose key or service failed a short while ago.
pub(super) fn candidates<'a>(
    plugins: impl Iterator<Item = &'a Arc<ProviderPlugin>>,
    wish: &ProviderQuery<'_>,
    pooled: &PooledKeys,
    breakers: &Breakers,
    is_open: &dyn Fn(&BreakerKey) -> bool,
) -> Vec<Candidate> {
    if is_beyond(wish.plan) {
        return Vec::new();
    }
    let router = &wish.plan.router;
    let needs = needs(wish.plan, wish.url, wish.javascript);
    let mut able: Vec<_> = plugins.filter(|plugin| can(plugin, needs, wish)).collect();
    if router.is_pinned {
        able.retain(|plugin| Some(plugin.info().name.as_str()) == router.provider.as_deref());
    }
    // Stable: those that are not preferred keep their order.
    able.sort_by_key(|plugin| Some(plugin.info().name.as_str()) != router.provider.as_deref());
    let may_pool = wish.may_pool && router.funding == Funding::Any;
    let mut candidates = Vec::new();
    for plugin in able {
        let own = own_keys(plugin, wish.plan).map(|keys| (keys, Payment::Own));
        // Spec S20: pooled credentials are for routes that the caller's keys do not cover.
        let ours = pooled.keys(plugin).filter(|_| may_pool && own.is_none());
        let ours = ours.map(|keys| (keys, Payment::Pooled));
        for (keys, payment) in own.into_iter().chain(ours) {
            let cost = plugin.grant().prices.most;
            let byok = payment == Payment::Own;
            if !(wish.affords)(VendorUse { cost, byok }) {
                continue;
            }
            let breaker = breakers.key(&plugin.info().name, &keys, byok);
            if is_open(&breaker) {
                candidates.push(Candidate {
                    plugin: Arc::clone(plugin),
                    keys: Arc::new(keys),
                    breaker,
                    payment,
                });
            }
        }
    }
    candidates
}

/// The caller's key for a service. One with several credentials takes none. Spec S18.
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

fn can(plugin: &ProviderPlugin, needs: Abilities, wish: &ProviderQuery<'_>) -> bool {
    let said = plugin.description();
    let able = match wish.javascript {
        true => said.rendered,
        false => said.plain,
    };
    let country = Abilities::COUNTRY | Abilities::COUNTRY_RESIDENTIAL;
    let asks_country = wish.plan.fetch.country_code.is_some();
    // Residential addresses: either ability for countries will do, and `needs` has left them out.
    let has_country = able.without(country) != able;
    able.contains(needs) && (!asks_country || has_country)
}
