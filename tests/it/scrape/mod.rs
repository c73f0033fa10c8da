//! `POST /scrape` and related endpoints with the first-party plugins.

mod entries;
mod failures;
mod media;
mod other_endpoints;
mod requests;

use serde_json::Value;
use trawl_tests::{FakeSite, TestApp};

/// A server and a site.
async fn world() -> (TestApp, FakeSite) {
    (TestApp::start().await, FakeSite::start().await)
}

fn texts(list: &Value) -> Vec<&str> {
    let items = list.as_array().expect("a list").iter();
    items.map(|item| item.as_str().expect("a text")).collect()
}

fn keys(entry: &Value) -> Vec<&str> {
    entry
        .as_object()
        .expect("an object")
        .keys()
        .map(String::as_str)
        .collect()
}
