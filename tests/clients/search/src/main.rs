//! Searches with the published client for Rust.
//!
//! ```sh
//! SPIDER_API_URL=URL search-client API_KEY
//! ```
//!
//! Prints one line of JSON with what was answered: results alone, and results with their pages.

use std::error::Error;
use std::io::Write;
use std::sync::atomic::Ordering;

use serde_json::json;
use spider_client::shapes::country_codes::CountryCode;
use spider_client::{SearchRequestParams, Spider, TBS};

#[tokio::main]
async fn main() -> Result<(), Box<dyn Error>> {
    let client = Spider::new(std::env::args().nth(1))?;
    let some = SearchRequestParams {
        num: Some(2),
        language: Some("en".to_owned()),
        country: Some(CountryCode::DE),
        tbs: Some(TBS::PastWeek),
        fetch_page_content: Some(false),
        ..SearchRequestParams::default()
    };
    let json = "application/json";
    let results = client.search("tides & ebb", Some(some), false, json);
    let results = results.await?;
    let more = SearchRequestParams {
        search_limit: Some(1),
        fetch_page_content: Some(true),
        ..SearchRequestParams::default()
    };
    let pages = client.search("tides", Some(more), false, json).await?;
    let limit = client.rate_limit.limit.load(Ordering::Relaxed);
    let said = json!({"results": results, "pages": pages, "limit": limit});
    writeln!(std::io::stdout(), "{said}")?;
    Ok(())
}
