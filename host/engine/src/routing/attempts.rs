//! The providers that were asked for a page in vain, and what the page becomes without them.

use serde_json::{Value, json};

use trawl_model::{Cause, Nanodollars, PageFailure};

use super::vendor::attempt;
use super::{FailedBy, NotServed, Served};
use crate::providers::{Candidate, Ineligible, VendorFailure};

/// The error of a page that every route was blocked from, whatever its status is: such pages cost
/// nothing. Spec S3.
const BLOCKED: &str = "the site blocked every route";

/// Key of a page's metadata: where its vendor cost comes from, unless the provider reported it.
/// Decision D213.
pub(super) const COST_SOURCE: &str = "vendor_cost_source";

/// The providers tried so far, none of which served the page.
#[derive(Default)]
pub(super) struct Attempts {
    /// The provider that the request names, and why it was not asked.
    pub(super) left_out: Option<(String, Ineligible)>,
    /// One entry each for `metadata.provider_attempts`.
    log: Vec<Value>,
    /// The last page of a provider that the site blocked.
    pub(super) blocked: Option<Box<Served>>,
    /// The last one that failed.
    pub(super) last: Option<(String, VendorFailure)>,
}

impl Attempts {
    pub(super) fn note(&mut self, candidate: &Candidate, outcome: &str, reason: &str) {
        let payment = candidate.payment;
        self.log
            .push(attempt(candidate.name(), payment, outcome, reason));
    }

    /// Notes a failure of the provider, with whether it charged for it and whether a retry helps.
    pub(super) fn note_failure(&mut self, candidate: &Candidate, failure: &VendorFailure) {
        self.note(candidate, failure.name(), &failure.message);
        let Some(attempt) = self.log.last_mut().filter(|_| !failure.is_unsent()) else {
            return;
        };
        attempt["charged"] = (failure.cost > Nanodollars::ZERO).into();
        attempt["retry_helps"] = failure.retry_helps().into();
    }

    /// Adds the providers that failed before the page was served to its metadata. Decision D16:
    /// like the other keys that are always added, since a caller with a wrong key would never learn
    /// of it otherwise.
    pub(super) fn add_metadata(&self, served: &mut Served) {
        let attempts = self.listed();
        if !attempts.is_empty() {
            let metadata = &mut served.metadata;
            metadata.insert("provider_attempts".to_owned(), Value::Array(attempts));
        }
    }

    /// The provider that was left out although the request names it, and those that were asked.
    fn listed(&self) -> Vec<Value> {
        let left_out = self.left_out.iter().map(|(provider, reason)| {
            json!({"provider": provider, "outcome": "left_out", "reason": reason.to_string()})
        });
        left_out.chain(self.log.iter().cloned()).collect()
    }

    /// What the page becomes if its pinned provider did not serve it: the blocked page of the
    /// provider, else the reason.
    pub(super) fn give_up_pinned(self) -> Result<Served, NotServed> {
        let message = match (&self.last, &self.left_out) {
            (Some((provider, failure)), _) => format!("{provider}: {}", failure.message),
            (None, Some((_, reason))) => reason.to_string(),
            (None, None) => match self.log.last().map(|attempt| &attempt["reason"]) {
                Some(Value::String(reason)) => reason.clone(),
                _ => "it cannot be asked".to_owned(),
            },
        };
        let attempts = Self { last: None, ..self };
        attempts.give_up(Err(PageFailure::new(Cause::Provider, message)))
    }

    /// What the page becomes if no provider served it: what our own stack has of it, else the
    /// blocked page of a provider, else the reason.
    pub(super) fn give_up(self, own: Result<Served, PageFailure>) -> Result<Served, NotServed> {
        let as_blocked = |served: Served| {
            // Attempts without success are in the metadata: `costs.vendor` is of a page that a
            // provider served.
            let mut served = served.with_vendor(None);
            served.metadata.remove(COST_SOURCE);
            // A status of 400 or more already makes the page a failed one.
            let blocked = || PageFailure::new(Cause::Blocked, BLOCKED);
            served.error = (served.page.status < 400).then(blocked);
            self.add_metadata(&mut served);
            served
        };
        match (own, &self.blocked) {
            // No provider was tried: the page is what it would be without a router.
            (Ok(mut served), _) if self.log.is_empty() => {
                self.add_metadata(&mut served);
                Ok(served)
            }
            (Ok(served), _) => Ok(as_blocked(served)),
            (Err(_), Some(blocked)) => Ok(as_blocked((**blocked).clone())),
            (Err(own), None) => Err(NotServed {
                failure: match &self.last {
                    None => own,
                    Some((provider, failure)) => PageFailure {
                        message: format!("{}; {provider}: {}", own.message, failure.message),
                        ..own
                    },
                },
                by: FailedBy::Other,
                provider_attempts: self.listed().into(),
            }),
        }
    }
}
