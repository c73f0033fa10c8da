//! The operator's way through the interface: accounts, keys, money, prices, and balances that run low.

mod balances;
mod operator;
mod receiver;

use http::Method;
use serde_json::Value;
use trawl_tests::{Answer, Caller};

/// Asks as someone with the admin key does.
async fn asked(admin: &Caller, method: Method, path: &str, body: &Value) -> Answer {
    let body = match body {
        Value::Null => String::new(),
        body => body.to_string(),
    };
    let answer = admin.send(method, path, &[], body).await;
    answer.expect("an answer")
}

/// As [`asked`], and it must be done.
async fn done(admin: &Caller, method: Method, path: &str, body: &Value) -> Value {
    let answer = asked(admin, method, path, body).await;
    let text = String::from_utf8_lossy(&answer.body);
    assert_eq!(answer.status, 200, "{path}: {text}");
    answer.json()
}

/// What a path shows.
async fn shown(admin: &Caller, path: &str) -> Value {
    done(admin, Method::GET, path, &Value::Null).await
}

/// The same server for someone with this key.
fn with_key(caller: &Caller, key: &str) -> Caller {
    let mut other = caller.clone();
    other.key = key.to_owned();
    other
}
