//! Runs the fake vendors alone, to try providers by hand: `cargo run --release --workspace --bin
//! fake_vendors`. It prints the `base` of each provider for `plugins.toml`, and the keys that work.

#![expect(clippy::print_stdout, reason = "it is for people on a terminal")]

use trawl_tests::VendorServer;
use trawl_tests::vendors::{BAD_KEY, BUSY_KEY, GOOD_KEY, POOR_KEY, all};

#[tokio::main]
async fn main() {
    let server = VendorServer::start().await;
    for vendor in all() {
        let name = vendor.name();
        println!("{name}: base = \"http://{}/{name}\"", server.address);
    }
    println!("keys: good {GOOD_KEY}, used up {POOR_KEY}, too busy {BUSY_KEY}, wrong {BAD_KEY}");
    println!("users of provider_10 and provider_11: user-KEY, with the key as password");
    std::future::pending::<()>().await;
}
