//! Providers end to end: the server, the real components, and fake vendors.

mod billing;
mod command;
mod conformance;
mod fuzz;
mod operator;
mod router;
mod secrets;
mod served;

use serde_json::{Value, json};
use trawl_tests::caller::nanodollars;
use trawl_tests::conformance::{Adapter, Native};
use trawl_tests::vendors::GOOD_KEY;
use trawl_tests::{FakeSite, TestApp, VendorServer, World};

/// A server, the vendors it can use, and a site.
struct Stage {
    app: TestApp,
    vendors: VendorServer,
    site: FakeSite,
}

/// Credential names of the vendors with one secret, by number. Spec S18.
const NAMES: [(u32, &str); 9] = [
    (1, "PROVIDER1_API_KEY"),
    (2, "PROVIDER2_API_KEY"),
    (3, "PROVIDER3_API_KEY"),
    (4, "PROVIDER4_KEY"),
    (5, "PROVIDER5_TOKEN"),
    (6, "PROVIDER6_API_KEY"),
    (7, "PROVIDER7_API_TOKEN"),
    (8, "PROVIDER8_TOKEN"),
    (9, "PROVIDER9_TOKEN"),
];

/// All adapters, linked into this program.
const ADAPTERS: [&dyn Adapter; 11] = [
    &Native::<provider_1::Zyte>::ADAPTER,
    &Native::<provider_2::ScrapingBee>::ADAPTER,
    &Native::<provider_3::ScraperApi>::ADAPTER,
    &Native::<provider_4::Scrapfly>::ADAPTER,
    &Native::<provider_5::ScrapeDo>::ADAPTER,
    &Native::<provider_6::ZenRows>::ADAPTER,
    &Native::<provider_7::BrightData>::ADAPTER,
    &Native::<provider_8::Apify>::ADAPTER,
    &Native::<provider_9::Browserless>::ADAPTER,
    &Native::<provider_10::Oxylabs>::ADAPTER,
    &Native::<provider_11::Decodo>::ADAPTER,
];

impl Stage {
    /// A stage with these credentials of the operator.
    async fn with(credentials: &[(&str, &str)]) -> Self {
        // Most tests ask providers anew for a page.
        Self::keeping_pages(false, credentials).await
    }

    /// The same, with or without a page cache.
    async fn keeping_pages(keeps_pages: bool, credentials: &[(&str, &str)]) -> Self {
        let vendors = VendorServer::start().await;
        let mut world = World::new();
        world.keeps_pages = keeps_pages;
        world.use_vendors(vendors.address, credentials);
        Self {
            app: TestApp::of(world).await,
            vendors,
            site: FakeSite::start().await,
        }
    }

    /// A stage without credentials of the operator.
    async fn without_credentials() -> Self {
        Self::with(&[]).await
    }

    /// The entry of a page of the shop that exists only behind the vendors.
    async fn shop(&self, path: &str, router: Value) -> Value {
        self.page(&format!("http://shop.example{path}"), router)
            .await
    }

    async fn page(&self, url: &str, router: Value) -> Value {
        let body = json!({"url": url, "request": "http", "return_format": "raw", "router": router});
        self.app.page(body).await
    }

    /// Checks that every reservation has ended, and that only these vendors were used, in this
    /// order.
    async fn assert_used(self, asked: &[&str]) {
        self.app.assert_settled().await;
        assert_eq!(self.vendors.order(), asked);
    }
}

/// `first` with the caller's own key.
fn first(provider: &str, key: &str) -> Value {
    json!({"mode": "first", "provider": provider, "token": key})
}

/// The provider that served an entry, and the number of attempts.
fn served_by(entry: &Value) -> (String, u64) {
    let vendor = &entry["costs"]["vendor"];
    assert!(entry["error"].is_null(), "{entry}");
    (
        vendor["provider"].as_str().unwrap_or_default().to_owned(),
        vendor["attempts"].as_u64().unwrap_or_default(),
    )
}

/// An amount of `costs.vendor` in nanodollars.
fn vendor(entry: &Value, amount: &str) -> i64 {
    nanodollars(&entry["costs"]["vendor"][amount])
}

/// The operator's credential of a vendor with one secret.
fn pooled(number: usize) -> (&'static str, &'static str) {
    (NAMES[number - 1].1, GOOD_KEY)
}

/// The operator's credentials of the vendors with two secrets.
fn pooled_pairs() -> Vec<(&'static str, String)> {
    [10, 11]
        .into_iter()
        .flat_map(|number| {
            let (user, password) = match number {
                10 => ("PROVIDER10_USERNAME", "PROVIDER10_PASSWORD"),
                _ => ("PROVIDER11_USERNAME", "PROVIDER11_PASSWORD"),
            };
            [
                (user, format!("user-{GOOD_KEY}")),
                (password, GOOD_KEY.to_owned()),
            ]
        })
        .collect()
}
