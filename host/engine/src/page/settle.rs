//! Settling a page: its charge is posted or voided, and only a page that was paid for is cached.

use trawl_billing::{BillingError, Consumed, Tariff};
use trawl_model::outcome::{PageOutcome, VendorPart};
use trawl_model::{Cause, Charge, Nanodollars, PageFailure, Usage};

use crate::extract::OutputCacheWrite;
use crate::providers::RouteCounters;
use crate::purse::Purse;
use crate::routing::{CacheWrite, Vendor};

/// A page that was served and extracted, but not paid for yet.
#[derive(Debug)]
pub struct Produced {
    /// The page as the caller will see it, but for its charge.
    pub outcome: PageOutcome,
    /// What it consumed.
    pub usage: Usage,
    on_paid: OnPaid,
}

/// What happens once the page is paid for. Dropping it does nothing.
#[derive(Debug, Default)]
pub(super) struct OnPaid {
    /// Stores the page in the page cache.
    pub(super) page: Option<CacheWrite>,
    /// Stores its outputs in the output cache.
    pub(super) outputs: Option<OutputCacheWrite>,
    /// Where to count what is billed for a provider's work.
    pub(super) provider: Option<RouteCounters>,
}

impl Produced {
    pub(super) fn new(outcome: PageOutcome, usage: Usage, on_paid: OnPaid) -> Self {
        Self {
            outcome,
            usage,
            on_paid,
        }
    }

    /// The same with the provider that served the page. Its charge is known once the page is
    /// settled.
    pub(super) fn with_vendor(mut self, vendor: Option<Vendor>) -> Self {
        if let Some(vendor) = vendor {
            self.outcome.vendor = Some(VendorPart {
                provider: vendor.provider,
                route: vendor.route,
                vendor_cost: vendor.cost,
                billed_cost: Nanodollars::ZERO,
                byok: vendor.byok,
                attempts: vendor.attempts,
            });
            self.on_paid.provider = Some(vendor.counters);
        }
        self
    }
}

impl OnPaid {
    fn run(self, charge: &Charge) {
        if let Some(write) = self.page {
            write.commit();
        }
        if let Some(write) = self.outputs {
            write.commit();
        }
        if let Some(provider) = self.provider {
            provider.billed(charge.vendor_billed);
        }
    }
}

/// Posts the charge of a good page, voids that of a failed one. Content leaves here only once its
/// charge is durable: to the caller, to the page cache and to the output cache.
pub async fn settle(purse: Purse<'_>, tariff: &Tariff, produced: Produced) -> PageOutcome {
    let Produced {
        outcome,
        usage,
        on_paid,
    } = produced;
    // Kept until the charge is durable: until then the page has a reservation.
    let _in_flight = purse.in_flight();
    if let Some(charge) = purse.charged_before() {
        count(
            if outcome.error.is_none() {
                "ok"
            } else {
                "failed"
            },
            &usage,
        );
        return charged(outcome, charge);
    }
    let reservation = purse.into_reservation().map(|reservation| {
        reservation.with_consumed(Consumed {
            n_bytes: usage.content_bytes,
            cpu: usage.compute + usage.transform,
        })
    });
    if let Some(error) = &outcome.error {
        if let Some(reservation) = reservation {
            reservation.void(&error.message);
        }
        count("failed", &usage);
        return outcome;
    }
    let charge = trawl_billing::price(&usage, tariff);
    let posted = match reservation {
        Some(reservation) => reservation.post(&charge).await,
        None => Err(BillingError::Unavailable),
    };
    count(if posted.is_ok() { "ok" } else { "failed" }, &usage);
    match posted {
        Ok(charge) => {
            on_paid.run(&charge);
            charged(outcome, charge)
        }
        Err(error) => PageOutcome {
            url: outcome.url,
            status: outcome.status,
            elapsed: outcome.elapsed,
            error: Some(PageFailure::new(Cause::Internal, error.to_string())),
            ..PageOutcome::default()
        },
    }
}

/// The outcome with this charge.
fn charged(outcome: PageOutcome, charge: Charge) -> PageOutcome {
    let vendor = outcome.vendor.map(|part| VendorPart {
        billed_cost: charge.vendor_billed,
        ..part
    });
    PageOutcome {
        charge,
        vendor,
        ..outcome
    }
}

/// Counts a page and the bytes of its decoded body.
pub(super) fn count(outcome: &'static str, usage: &Usage) {
    metrics::counter!("trawl_pages_total", "outcome" => outcome).increment(1);
    metrics::counter!("trawl_page_bytes_total").increment(usage.content_bytes);
}

#[cfg(test)]
mod tests {
    use std::time::Instant;

    use super::*;
    use crate::purse::PaidBy;

    #[tokio::test]
    async fn a_repeated_request_shows_what_its_provider_was_billed() {
        let charge = Charge {
            vendor_billed: Nanodollars(7),
            ..Charge::default()
        };
        let part = VendorPart {
            provider: "provider_2".to_owned(),
            route: "provider_2.js".to_owned(),
            vendor_cost: Nanodollars(5),
            billed_cost: Nanodollars::ZERO,
            byok: false,
            attempts: 1,
        };
        let outcome = PageOutcome {
            vendor: Some(part.clone()),
            ..PageOutcome::default()
        };
        let tariff = Tariff::default();
        let purse = Purse::without_page(PaidBy::Before(charge), tariff, "", Instant::now());
        let produced = Produced::new(outcome, Usage::default(), OnPaid::default());
        let settled = settle(purse, &tariff, produced).await;
        assert_eq!(settled.charge, charge);
        let expected = VendorPart {
            billed_cost: charge.vendor_billed,
            ..part
        };
        assert_eq!(settled.vendor, Some(expected));
    }
}
