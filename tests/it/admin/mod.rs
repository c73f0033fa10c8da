//! The admin API: accounts, keys, money, prices, and low balances.

mod balances;
mod operator;

use http::Method;
use serde_json::Value;
use trawl_tests::{Answer, Caller};

/// Sends a request with the admin key.
async fn asked(admin: &Caller, method: Method, path: &str, body: &Value) -> Answer {
    let body = match body {
        Value::Null => String::new(),
        body => body.to_string(),
    };
    let answer = admin.send(method, path, &[], body).await;
    answer.expect("an answer")
}

/// Sends a request that must succeed, and returns the response body.
async fn done(admin: &Caller, method: Method, path: &str, body: &Value) -> Value {
    let answer = asked(admin, method, path, body).await;
    let text = String::from_utf8_lossy(&answer.body);
    assert_eq!(answer.status, 200, "{path}: {text}");
    answer.json()
}

/// The response to a GET request.
async fn shown(admin: &Caller, path: &str) -> Value {
    done(admin, Method::GET, path, &Value::Null).await
}

/// A client of the same server with this key.
fn with_key(caller: &Caller, key: &str) -> Caller {
    caller.with_key(key)
}
