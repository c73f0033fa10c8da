//! A page as a route served it.

use std::time::Duration;

use bytes::Bytes;
use serde_json::{Map, Value, json};

use trawl_model::redact::without_userinfo;
use trawl_model::{Cause, FetchedPage, PageFailure, SkipReason, Usage, VendorUse};

use super::cache_write::CacheWrite;
use super::smart::{self, PageSignals};
use super::vendor::{TURNED_AWAY, Vendor, attempt};
use crate::cache::Provided;
use crate::page_budget::{Loader, PageBudget, Unfunded};
use crate::providers::Payment;

/// A page, how it was served and what that consumed.
#[derive(Clone, Debug)]
pub struct Served {
    /// The page.
    pub page: FetchedPage,
    /// Metadata about serving, added to every entry: `rendered_by`, `render_reason`, `cache`,
    /// `body_fault`, `automation_data`, `provider_attempts`, `vendor_cost_source`, `rights`.
    pub metadata: Map<String, Value>,
    /// What serving consumed. Extraction and the model add theirs.
    pub usage: Usage,
    /// What the page cache had to do with it.
    pub cache: CacheOutcome,
    /// The provider that served it, if one did.
    pub vendor: Option<Vendor>,
    /// What the provider that made it said of it, now or when it was cached; `None` of a page of
    /// our own stack.
    pub provided: Option<Provided>,
    /// What loaded it, for the expectation of what the next pages cost.
    pub(super) loader: Loader,
    /// A PNG screenshot, if the plan has one taken.
    pub screenshot: Option<Bytes>,
    /// How long the page waited for its host's rate limit outside its own timeout; at most the
    /// `patience` of its plan.
    pub waited: Duration,
    /// Why the page counts as failed although its status does not say so.
    pub error: Option<PageFailure>,
}

/// What the page cache had to do with a page.
#[derive(Clone, Debug)]
pub enum CacheOutcome {
    /// The page is for this caller only: it may not be cached, and neither may its outputs.
    Private,
    /// The page was just fetched and may be cached once it is paid for.
    Fresh(CacheWrite),
    /// The page came from the cache, so no content was transferred.
    Hit {
        /// Hash of the body, as the cache stored it.
        body_hash: Option<blake3::Hash>,
        /// Whether its outputs may be cached too; not if the site's last answer forbids it.
        is_shareable: bool,
    },
}

/// What made a page fail, as far as it says something about other pages of its run.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum FailedBy {
    /// The rules of its run: they skip the URL that the page redirects to, for this reason.
    Rule(SkipReason),
    /// A cap that does not cover its cost.
    Funds(Unfunded),
    /// Its site, the network, a provider or this server.
    Other,
}

/// Why no page was served, and the providers that were asked without success.
#[derive(Clone, Debug)]
pub struct NotServed {
    /// What the page becomes.
    pub failure: PageFailure,
    /// What made it fail.
    pub by: FailedBy,
    /// For `metadata.provider_attempts`.
    pub provider_attempts: Box<[Value]>,
}

impl Served {
    /// A page that was transferred whole and is for this caller only.
    pub(super) fn new(page: FetchedPage) -> Self {
        let page = FetchedPage {
            // A script may give its document a URL with a password.
            final_url: without_userinfo(page.final_url),
            ..page
        };
        Self {
            metadata: Map::new(),
            usage: Usage {
                content_bytes: page.body.len() as u64,
                ..Usage::default()
            },
            page,
            cache: CacheOutcome::Private,
            vendor: None,
            provided: None,
            loader: Loader::Http,
            screenshot: None,
            waited: Duration::ZERO,
            error: None,
        }
    }

    /// Sets the provider to bill, if any.
    pub(super) fn with_vendor(mut self, vendor: Option<Vendor>) -> Self {
        self.usage.vendor = vendor.as_ref().map(|vendor| VendorUse {
            cost: vendor.cost,
            byok: vendor.byok,
        });
        Self { vendor, ..self }
    }

    /// Makes the page a failed one if a bot wall answered instead of its site, whatever the status.
    /// Decision D175. A provider that served it is among the attempts then. Decision D177.
    pub(super) fn fail_if_wall(&mut self) {
        if self.error.is_some() || self.page.status >= 400 {
            return;
        }
        if let Some(rule) = smart::wall(&self.signals()) {
            metrics::counter!("trawl_walls_total", "rule" => rule).increment(1);
            let reason = format!(
                "the site blocked the page: it answered {} with a bot wall's challenge (rule `{rule}`)",
                self.page.status
            );
            self.usage.vendor = None;
            if let Some(vendor) = self.vendor.take() {
                let payment = if vendor.byok {
                    Payment::Own
                } else {
                    Payment::Pooled
                };
                let attempt = attempt(&vendor.provider, payment, TURNED_AWAY, &reason);
                let attempts = self.metadata.entry("provider_attempts");
                if let Value::Array(attempts) = attempts.or_insert_with(|| json!([])) {
                    attempts.push(attempt);
                }
            }
            self.error = Some(PageFailure::new(Cause::Blocked, reason));
        }
    }

    /// What loaded the page; `None` if it is from the cache, or of a provider.
    pub(crate) fn fetched_by(&self) -> Option<Loader> {
        let is_fetched = self.vendor.is_none() && !self.cache.is_hit();
        is_fetched.then_some(self.loader)
    }

    /// The page as smart mode judges it.
    pub(super) fn signals(&self) -> PageSignals<'_> {
        let page = &self.page;
        PageSignals {
            status: page.status,
            headers: &page.headers,
            content_type: &page.content_type,
            body: &page.body,
        }
    }
}

impl CacheOutcome {
    /// Whether the page came from the cache.
    pub const fn is_hit(&self) -> bool {
        matches!(self, Self::Hit { .. })
    }

    /// Whether every caller with the same request gets this page, so that its outputs may be
    /// cached.
    pub const fn is_shareable(&self) -> bool {
        match self {
            Self::Private => false,
            Self::Fresh(_) => true,
            Self::Hit { is_shareable, .. } => *is_shareable,
        }
    }

    /// Hash of the body, if the cache knows it.
    pub const fn body_hash(&self) -> Option<blake3::Hash> {
        match self {
            Self::Hit { body_hash, .. } => *body_hash,
            Self::Private | Self::Fresh(_) => None,
        }
    }

    /// The write that stores the page in the cache, once it is paid for.
    pub fn into_write(self) -> Option<CacheWrite> {
        match self {
            Self::Fresh(write) => Some(write),
            Self::Private | Self::Hit { .. } => None,
        }
    }
}

impl FailedBy {
    /// What made a page fail that has this budget and no rule against it.
    pub(crate) async fn of(page_budget: &PageBudget<'_>) -> Self {
        let unfunded = page_budget.unfunded().await;
        unfunded.map_or(Self::Other, Self::Funds)
    }
}

impl NotServed {
    /// A page that redirects to a URL which its run skips.
    pub(super) fn skipped(reason: SkipReason) -> Self {
        let cause = match reason {
            SkipReason::Robots => Cause::Robots,
            SkipReason::Rights => Cause::Rights,
            _ => Cause::RedirectRefused,
        };
        let message = match reason {
            SkipReason::Rights => {
                "the page redirects to a URL whose site refuses the purpose".to_owned()
            }
            _ => {
                let name = reason.name();
                format!("the page redirects to a URL that this crawl skips: {name}")
            }
        };
        Self {
            by: FailedBy::Rule(reason),
            ..Self::from(PageFailure::new(cause, message))
        }
    }

    /// A page whose site refuses its purpose, in this failure's words.
    pub(crate) fn refused(failure: PageFailure) -> Self {
        Self {
            by: FailedBy::Rule(SkipReason::Rights),
            ..Self::from(failure)
        }
    }
}

impl From<PageFailure> for NotServed {
    fn from(failure: PageFailure) -> Self {
        Self {
            failure,
            by: FailedBy::Other,
            provider_attempts: Box::default(),
        }
    }
}

#[cfg(test)]
mod tests {
    use url::Url;

    use trawl_model::Nanodollars;

    use super::*;
    use crate::providers::RouteCounters;

    #[test]
    fn a_wall_that_a_provider_returned_is_no_work_of_the_provider() {
        let url = Url::parse("http://site.example/").expect("a URL");
        let page = FetchedPage {
            requested_url: url.clone(),
            final_url: url,
            redirects: Vec::new(),
            status: 200,
            headers: vec![("cf-mitigated".to_owned(), "challenge".to_owned())],
            cookies: Vec::new(),
            body: Bytes::from_static(b"<html></html>"),
            content_type: "text/html".to_owned(),
        };
        let vendor = Vendor {
            provider: "provider_2".to_owned(),
            route: "provider_2.plain".to_owned(),
            cost: Nanodollars(1_000_000),
            byok: false,
            attempts: 1,
            counters: RouteCounters::unread(),
        };
        let mut served = Served::new(page).with_vendor(Some(vendor));
        served.fail_if_wall();
        let error = served.error.expect("a failed page");
        assert!(error.message.contains("bot wall"), "{error}");
        assert_eq!(error.cause, Cause::Blocked);
        assert!(served.vendor.is_none() && served.usage.vendor.is_none());
        let expected = json!([
            {"provider": "provider_2", "key": "pooled", "outcome": "turned_away", "class": "blocked", "reason": error.message}
        ]);
        assert_eq!(served.metadata["provider_attempts"], expected);
    }
}
