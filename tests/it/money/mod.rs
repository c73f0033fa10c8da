//! Money through the API: what is charged, what is not, and that the ledger is always consistent.

mod bill;
mod ceilings;
mod charges;
mod interrupted;
mod keys;
mod kill;
mod repeats;

use std::time::Duration;

use serde_json::{Value, json};
use trawl_tests::TestApp;

/// A dollar and a cent in nanodollars.
const DOLLAR: i64 = 1_000_000_000;
const CENT: i64 = DOLLAR / 100;

/// A body of this size in a page that costs little else.
fn body_of(bytes: usize) -> Vec<u8> {
    vec![b'x'; bytes]
}

/// A request for these URLs whose content takes no CPU time, and which bypasses the cache.
fn cheap(urls: &[String]) -> Value {
    json!({"url": urls.join(","), "return_format": "empty", "request": "http", "cache": false})
}

/// Waits until nothing is reserved any more, and checks the ledger.
async fn settled(app: &TestApp) {
    for _ in 0..200 {
        let accounts = app.app.billing().accounts();
        if accounts.iter().all(|(_, funds)| funds.held.0 == 0) {
            return app.assert_settled().await;
        }
        tokio::time::sleep(Duration::from_millis(50)).await;
    }
    panic!("a hold was never ended");
}
