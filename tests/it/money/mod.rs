//! Money through the joined server: what is charged, what is not, and that nothing makes it wrong.

mod bill;
mod charges;
mod kill;
mod repeats;

use std::time::Duration;

use serde_json::{Value, json};
use trawl_tests::TestApp;

/// A dollar and a cent in nanodollars.
const DOLLAR: i64 = 1_000_000_000;
const CENT: i64 = DOLLAR / 100;

/// A page with this many bytes of body that costs little else.
fn body_of(bytes: usize) -> Vec<u8> {
    vec![b'x'; bytes]
}

/// A request for these addresses whose content costs no time, and whose bytes are paid for every time.
fn cheap(urls: &[String]) -> Value {
    json!({"url": urls.join(","), "return_format": "empty", "request": "http", "cache": false})
}

/// Waits until nothing is set aside any more, and checks the books.
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
