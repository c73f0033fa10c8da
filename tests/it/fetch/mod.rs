//! Pages over plain HTTP: results, failures and their statuses.

mod faults;
mod pages;

use std::sync::Arc;
use std::time::Duration;

use trawl_model::memory::MemoryBudget;
use trawl_net::egress::{AllowList, Egress, EgressConfig};
use trawl_net::fetch::{Caller, CookieJar, FetchConfig, FetchError, Fetched, Fetcher};
use trawl_net::politeness::{Politeness, PolitenessConfig};
use trawl_plan::FetchPlan;
use url::Url;

/// The plan of a request without parameters.
pub(crate) fn plan() -> FetchPlan {
    FetchPlan::bare(Duration::from_secs(20))
}

/// A configuration that allows 127.0.0.1 and no other private address.
pub(crate) fn loopback() -> EgressConfig {
    EgressConfig {
        allow_private: AllowList::parse(["127.0.0.1/32"]).expect("a range"),
        ..EgressConfig::default()
    }
}

/// The fetcher and cookies of one run.
pub(crate) struct Run {
    pub(crate) fetcher: Fetcher,
    pub(crate) jar: CookieJar,
    pub(crate) memory: Arc<MemoryBudget>,
}

impl Run {
    pub(crate) fn new(egress: EgressConfig) -> Self {
        Self::with_caps(egress, FetchConfig::default())
    }

    pub(crate) fn with_caps(egress: EgressConfig, config: FetchConfig) -> Self {
        let egress = Egress::new(egress).expect("an egress");
        Self {
            fetcher: Fetcher::new(egress, config),
            jar: CookieJar::new(),
            memory: MemoryBudget::unlimited(),
        }
    }

    pub(crate) async fn fetch(&self, url: &str, plan: &FetchPlan) -> Result<Fetched, FetchError> {
        let url: Url = url.parse().expect("a URL");
        let politeness = Politeness::new(&PolitenessConfig::default());
        let permit = politeness.permit(url.host_str().unwrap_or_default()).await;
        let caller = Caller {
            cookies: &self.jar,
            memory: &self.memory.share("caller").page(),
        };
        self.fetcher.fetch(&permit, &url, plan, caller).await
    }

    /// Status and message of a page that must fail.
    pub(crate) async fn failure(&self, url: &str, plan: &FetchPlan) -> (u16, String) {
        match self.fetch(url, plan).await {
            Ok(fetched) => panic!("{url} was fetched with status {}", fetched.page.status),
            Err(error) => {
                let failure = error.failure();
                (failure.status(), failure.message)
            }
        }
    }
}
