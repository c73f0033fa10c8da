//! Provider statistics since the start: for `GET /providers` and for metrics.

use std::collections::BTreeMap;
use std::sync::{Arc, Mutex, MutexGuard, PoisonError};
use std::time::Duration;

use serde::Serialize;

use trawl_model::Nanodollars;
use trawl_plugins::{Grant, ProviderPlugin, Registry};

use super::{Candidate, Payment, PooledKeys, VendorFailure, VendorPage};

/// Counters by provider and payment.
#[derive(Default)]
pub(super) struct ProviderStats(Mutex<BTreeMap<(String, Payment), Arc<Counts>>>);

/// The counters of one route. Decision D84.
#[derive(Debug, Default)]
struct Counts(Mutex<Sums>);

#[derive(Clone, Debug, Default)]
struct Sums {
    calls: u64,
    served: u64,
    failures: BTreeMap<&'static str, u64>,
    busy: Duration,
    slowest: Duration,
    vendor_cost: Nanodollars,
    billed: Nanodollars,
}

/// A handle for counting what is billed once a page is paid.
#[derive(Clone, Debug)]
pub struct RouteCounters {
    counts: Arc<Counts>,
    provider: String,
    payment: Payment,
}

#[cfg(test)]
impl RouteCounters {
    /// Counters that are not read.
    pub(crate) fn unread() -> Self {
        Self {
            counts: Arc::default(),
            provider: String::new(),
            payment: Payment::Own,
        }
    }
}

/// One provider for `GET /providers`.
#[derive(Clone, Debug, Serialize)]
pub struct ProviderStatus {
    /// Name in requests.
    pub name: String,
    /// The provider's product name.
    pub label: String,
    /// Version of the adapter.
    pub version: String,
    /// What the operator grants.
    pub grant: Grant,
    /// Whether the operator has credentials for it.
    pub has_pooled_credentials: bool,
    /// Routes (provider and credential) that are paused.
    pub paused_credentials: usize,
    /// Seconds until the last of them is tried again.
    pub paused_seconds: u64,
    /// Abilities without JavaScript.
    pub plain: Vec<&'static str>,
    /// Abilities with JavaScript.
    pub rendered: Vec<&'static str>,
    /// Conversations on keys of callers.
    pub own_keys: RouteStatus,
    /// Conversations on the operator's credentials.
    pub pooled: RouteStatus,
}

/// One provider as callers may know it: what is the operator's alone is left out.
#[derive(Clone, Debug, Serialize)]
pub struct OfferedProvider {
    /// Name in requests.
    pub name: String,
    /// The vendor's name, which requests may use as well.
    pub vendor: Option<&'static str>,
    /// The provider's product name.
    pub label: String,
    /// Abilities without JavaScript.
    pub plain: Vec<&'static str>,
    /// Abilities with JavaScript.
    pub rendered: Vec<&'static str>,
    /// Names of its credentials.
    pub credentials: Vec<String>,
    /// Whether a request may bring a key for it. Spec S18.
    pub takes_own_key: bool,
    /// Whether it can run without a key of the caller's.
    pub is_pooled: bool,
    /// Prices of its units in dollars, before what is added to them.
    pub prices: BTreeMap<String, String>,
    /// The most that the provider can charge for a page, in dollars.
    pub most: String,
}

impl OfferedProvider {
    pub(super) fn of(plugin: &ProviderPlugin, is_pooled: bool) -> Self {
        let (info, said, grant) = (plugin.info(), plugin.description(), plugin.grant());
        let prices = grant.prices.units.iter();
        Self {
            name: info.name.clone(),
            vendor: trawl_plan::router::vendor_of(&info.name),
            label: said.label.clone(),
            plain: said.plain.names().collect(),
            rendered: said.rendered.names().collect(),
            credentials: grant.credentials.clone(),
            takes_own_key: grant.credentials.len() == 1,
            is_pooled,
            prices: prices
                .map(|(unit, price)| (unit.clone(), price.dollars_text()))
                .collect(),
            most: grant.prices.most.dollars_text(),
        }
    }
}

/// Conversations of one kind.
#[derive(Clone, Debug, Serialize)]
pub struct RouteStatus {
    /// Conversations, whatever came of them.
    pub calls: u64,
    /// Those that served a page.
    pub served: u64,
    /// The others by class.
    pub failures: BTreeMap<&'static str, u64>,
    /// Mean time in milliseconds.
    pub mean_ms: u64,
    /// Longest time in milliseconds.
    pub slowest_ms: u64,
    /// What the provider charged, in dollars.
    pub vendor_cost: String,
    /// What was billed for its pages, in dollars.
    pub billed: String,
    /// What was billed above the provider's charge, in dollars; with callers' keys the provider
    /// charges the caller.
    pub margin: String,
}

impl ProviderStats {
    pub(super) fn count(
        &self,
        candidate: &Candidate,
        outcome: &Result<VendorPage, VendorFailure>,
        elapsed: Duration,
    ) {
        let (name, cost) = match outcome {
            Ok(page) => ("ok", page.cost),
            Err(failure) => (failure.name(), failure.cost),
        };
        let counts = self.counts(candidate.name(), candidate.payment);
        let mut sums = counts.lock();
        sums.calls += 1;
        sums.busy += elapsed;
        sums.slowest = sums.slowest.max(elapsed);
        sums.vendor_cost = sums.vendor_cost.saturating_add(cost);
        match outcome {
            Ok(_) => sums.served += 1,
            Err(_) => *sums.failures.entry(name).or_default() += 1,
        }
        drop(sums);
        let labels = labels(candidate.name(), candidate.payment);
        metrics::counter!("trawl_provider_calls_total", &outcome_labels(&labels, name))
            .increment(1);
        metrics::histogram!("trawl_provider_call_duration_seconds", &labels).record(elapsed);
        metrics::counter!("trawl_provider_cost_nanodollars_total", &labels)
            .increment(cost.0.unsigned_abs());
    }

    pub(super) fn counters(&self, provider: &str, payment: Payment) -> RouteCounters {
        RouteCounters {
            counts: self.counts(provider, payment),
            provider: provider.to_owned(),
            payment,
        }
    }

    pub(super) fn status(
        &self,
        plugin: &ProviderPlugin,
        has_pooled_credentials: bool,
        (paused_credentials, longest): (usize, Duration),
    ) -> ProviderStatus {
        let (info, said) = (plugin.info(), plugin.description());
        let of = |payment| {
            let counts = self.lock().get(&(info.name.clone(), payment)).cloned();
            counts.unwrap_or_default().status(payment)
        };
        ProviderStatus {
            name: info.name.clone(),
            label: said.label.clone(),
            version: info.version.clone(),
            grant: plugin.grant().clone(),
            has_pooled_credentials,
            paused_credentials,
            paused_seconds: longest.as_secs(),
            plain: said.plain.names().collect(),
            rendered: said.rendered.names().collect(),
            own_keys: of(Payment::Own),
            pooled: of(Payment::Pooled),
        }
    }

    fn counts(&self, provider: &str, payment: Payment) -> Arc<Counts> {
        let mut all = self.lock();
        Arc::clone(all.entry((provider.to_owned(), payment)).or_default())
    }

    fn lock(&self) -> MutexGuard<'_, BTreeMap<(String, Payment), Arc<Counts>>> {
        self.0.lock().unwrap_or_else(PoisonError::into_inner)
    }
}

/// The providers of a registry before any was used.
pub fn listed(registry: &Registry, pooled: &PooledKeys) -> Vec<ProviderStatus> {
    let stats = ProviderStats::default();
    let status = |plugin: &Arc<ProviderPlugin>| {
        let has_pooled = pooled.keys(plugin).is_some();
        stats.status(plugin, has_pooled, (0, Duration::ZERO))
    };
    registry.providers().map(status).collect()
}

impl Counts {
    fn lock(&self) -> MutexGuard<'_, Sums> {
        self.0.lock().unwrap_or_else(PoisonError::into_inner)
    }

    fn status(&self, payment: Payment) -> RouteStatus {
        let sums = self.lock().clone();
        let ours = match payment {
            Payment::Own => Nanodollars::ZERO,
            Payment::Pooled => sums.vendor_cost,
        };
        let millis = |time: Duration| u64::try_from(time.as_millis()).unwrap_or(u64::MAX);
        RouteStatus {
            calls: sums.calls,
            served: sums.served,
            mean_ms: millis(sums.busy) / sums.calls.max(1),
            slowest_ms: millis(sums.slowest),
            vendor_cost: sums.vendor_cost.dollars_text(),
            billed: sums.billed.dollars_text(),
            margin: Nanodollars(sums.billed.0.saturating_sub(ours.0)).dollars_text(),
            failures: sums.failures,
        }
    }
}

impl RouteCounters {
    /// Counts what was billed for a page.
    pub fn billed(&self, amount: Nanodollars) {
        let mut sums = self.counts.lock();
        sums.billed = sums.billed.saturating_add(amount);
        drop(sums);
        let labels = labels(&self.provider, self.payment);
        metrics::counter!("trawl_provider_billed_nanodollars_total", &labels)
            .increment(amount.0.unsigned_abs());
    }
}

fn labels(provider: &str, payment: Payment) -> [(&'static str, String); 2] {
    let payment = match payment {
        Payment::Own => "own",
        Payment::Pooled => "pooled",
    };
    [
        ("provider", provider.to_owned()),
        ("key", payment.to_owned()),
    ]
}

fn outcome_labels(
    labels: &[(&'static str, String); 2],
    outcome: &'static str,
) -> [(&'static str, String); 3] {
    let [provider, key] = labels.clone();
    [provider, key, ("outcome", outcome.to_owned())]
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_route_that_was_never_used_has_cost_nothing() {
        let status = Counts::default().status(Payment::Pooled);
        let amounts = [status.vendor_cost, status.billed, status.margin];
        assert_eq!(amounts, ["0", "0", "0"]);
    }
}
