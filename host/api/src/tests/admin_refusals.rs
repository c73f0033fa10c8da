//! `/admin`: every invalid request gets an error that names the invalid field.

use axum::body::Body;
use axum::http::Request;
use serde_json::json;

use super::admin::{admin_get, admin_ok, admin_request};
use super::server::TestServer;

#[tokio::test]
async fn errors_name_what_is_invalid() {
    let server = TestServer::new().await;
    let accounts = "/admin/accounts";
    let top_ups = "/admin/accounts/test/top-ups";
    let seats = "/admin/accounts/test/seats";
    let keys = "/admin/accounts/test/keys";
    let notices = "/admin/accounts/test/notices";
    let long = "x".repeat(101);
    let long_name = format!("{{\"name\": \"{long}\"}}");
    let long_id = format!("{{\"dollars\": 1, \"id\": \"{long}\"}}");
    let huge = format!("{{\"name\": \"{}\"}}", "x".repeat(70_000));
    let cases = [
        ("POST", accounts, "", 400, "name: is missing"),
        ("POST", accounts, "[]", 400, "send a JSON object"),
        ("POST", accounts, "{", 400, "send a JSON object"),
        (
            "POST",
            accounts,
            "{\"name\": 7}",
            400,
            "name: must be a string",
        ),
        ("POST", accounts, "{\"name\": \"\"}", 400, "name: "),
        ("POST", accounts, "{\"name\": \"acc_x\"}", 400, "name: "),
        ("POST", accounts, long_name.as_str(), 400, "name: "),
        (
            "POST",
            accounts,
            huge.as_str(),
            413,
            "the request is too large",
        ),
        (
            "POST",
            accounts,
            "{\"name\": \"b\", \"dollar\": 1}",
            400,
            "dollar: unknown field",
        ),
        (
            "POST",
            accounts,
            "{\"name\": \"b\", \"dollars\": -1}",
            400,
            "dollars: ",
        ),
        (
            "POST",
            accounts,
            "{\"name\": \"b\", \"dollars\": 1e400}",
            400,
            "dollars: ",
        ),
        (
            "POST",
            accounts,
            "{\"name\": \"test\"}",
            409,
            "`test` is taken",
        ),
        ("POST", top_ups, "{}", 400, "dollars: is missing"),
        ("POST", top_ups, "{\"dollars\": 0}", 400, "dollars: "),
        ("POST", top_ups, "{\"dollars\": -5}", 400, "dollars: "),
        (
            "POST",
            top_ups,
            "{\"dollars\": NaN}",
            400,
            "send a JSON object",
        ),
        ("POST", top_ups, "{\"dollars\": \"NaN\"}", 400, "dollars: "),
        ("POST", top_ups, "{\"dollars\": \"inf\"}", 400, "dollars: "),
        ("POST", top_ups, "{\"dollars\": 1e400}", 400, "dollars: "),
        ("POST", top_ups, "{\"dollars\": -1e400}", 400, "dollars: "),
        ("POST", top_ups, "{\"dollars\": 1e15}", 400, "dollars: "),
        ("POST", top_ups, "{\"dollars\": 1000001}", 400, "dollars: "),
        (
            "POST",
            top_ups,
            "{\"dollars\": 99999999999999999999}",
            400,
            "dollars: ",
        ),
        (
            "POST",
            top_ups,
            "{\"dollars\": 0.0000000001}",
            400,
            "dollars: ",
        ),
        (
            "POST",
            top_ups,
            "{\"dollars\": \"1.0000000001\"}",
            400,
            "dollars: ",
        ),
        (
            "POST",
            top_ups,
            "{\"dollars\": 1, \"id\": \"\"}",
            400,
            "id: ",
        ),
        (
            "POST",
            top_ups,
            "{\"dollars\": 1, \"id\": 5}",
            400,
            "id: must be a string",
        ),
        ("POST", top_ups, long_id.as_str(), 400, "id: "),
        ("PUT", seats, "{}", 400, "seats: is missing"),
        ("PUT", seats, "{\"seats\": -1}", 400, "seats: "),
        ("PUT", seats, "{\"seats\": 1.5}", 400, "seats: "),
        ("PUT", seats, "{\"seats\": 10001}", 400, "seats: "),
        (
            "PUT",
            seats,
            "{\"seats\": 100}",
            402,
            "the seats cost $1300",
        ),
        ("PUT", seats, "{\"seats\": 0}", 409, "`test` has no seats"),
        (
            "POST",
            "/admin/accounts/test/seats/suspend",
            "",
            409,
            "`test` has no seats",
        ),
        ("POST", keys, long_name.as_str(), 400, "name: "),
        ("POST", keys, "{\"name\": \"a\\nb\"}", 400, "name: "),
        (
            "PUT",
            notices,
            "{\"destination\": \"file:///x\", \"low_balance_dollars\": null}",
            400,
            "destination: ",
        ),
        ("PUT", notices, "{\"destination\": 7}", 400, "destination: "),
        (
            "PUT",
            notices,
            "{\"destination\": \"a.example\"}",
            400,
            "low_balance_dollars: is missing: send dollars, or null",
        ),
        (
            "PUT",
            notices,
            "{\"low_balance_dollars\": 5}",
            400,
            "destination: is missing: send a URL, or null",
        ),
        ("PUT", notices, "{}", 400, "destination: is missing"),
        (
            "PUT",
            notices,
            "{\"destination\": \"a.example\", \"low_balance_dollars\": -1}",
            400,
            "low_balance_dollars: ",
        ),
        (
            "PUT",
            notices,
            "{\"destination\": \"a.example\", \"low_balance_dollars\": \"x\"}",
            400,
            "low_balance_dollars: ",
        ),
        ("GET", "/admin/accounts?limit=0", "", 400, "limit: "),
        ("GET", "/admin/accounts?page=x", "", 400, "page: "),
        (
            "GET",
            "/admin/accounts/test/keys?all=maybe",
            "",
            400,
            "all: ",
        ),
        (
            "GET",
            "/admin/accounts/test/statement?from=x",
            "",
            400,
            "from: ",
        ),
        ("GET", "/admin/usage?to=x", "", 400, "to: write a time like"),
        (
            "GET",
            "/admin/usage?by=day",
            "",
            400,
            "by: write `account` or `key`",
        ),
        (
            "GET",
            "/admin/usage?form=2026-01-01",
            "",
            400,
            "form: unknown field `form`",
        ),
        (
            "GET",
            "/admin/accounts/nobody",
            "",
            404,
            "there is no account `nobody`",
        ),
        (
            "GET",
            "/admin/accounts/nobody/keys",
            "",
            404,
            "there is no account `nobody`",
        ),
        (
            "GET",
            "/admin/accounts/nobody/statement",
            "",
            404,
            "there is no account `nobody`",
        ),
        (
            "GET",
            "/admin/accounts/nobody/webhook-secret",
            "",
            404,
            "there is no account `nobody`",
        ),
        (
            "POST",
            "/admin/accounts/nobody/top-ups",
            "{\"dollars\": 1}",
            404,
            "there is no account `nobody`",
        ),
        (
            "PUT",
            "/admin/accounts/nobody/seats",
            "{\"seats\": 1}",
            404,
            "there is no account `nobody`",
        ),
        (
            "PUT",
            "/admin/accounts/nobody/notices",
            "{\"destination\": null}",
            404,
            "there is no account `nobody`",
        ),
        (
            "DELETE",
            "/admin/accounts/nobody/keys/tr_x",
            "",
            404,
            "there is no account `nobody`",
        ),
        (
            "DELETE",
            "/admin/accounts/test/keys/tr_x",
            "",
            404,
            "`test` has no key `tr_x`",
        ),
        (
            "PUT",
            "/admin/accounts/test/keys/tr_x/budget",
            "{\"monthly_budget\": \"5\"}",
            404,
            "`test` has no key `tr_x`",
        ),
        (
            "PUT",
            "/admin/accounts/test/keys/tr_x/budget",
            "{}",
            400,
            "monthly_budget: is missing: send dollars, or null",
        ),
        (
            "PUT",
            "/admin/accounts/test/keys/tr_x/budget",
            "{\"monthly_budget\": -5}",
            400,
            "monthly_budget: the budget $-5 is negative",
        ),
        (
            "POST",
            "/admin/accounts/test/keys",
            "{\"monthly_budget\": true}",
            400,
            "monthly_budget: write dollars",
        ),
    ];
    for (method, path, body, status, expected) in cases {
        let response = admin_request(&server, method, path, body).await;
        assert_eq!(
            response.status.as_u16(),
            status,
            "{method} {path} {body}: {}",
            response.body
        );
        let error = response.json()["error"]
            .as_str()
            .unwrap_or_default()
            .to_owned();
        assert!(
            error.starts_with(expected),
            "{method} {path} {body}: {error}"
        );
    }
    let paid = json!({"dollars": 1, "id": "x"});
    admin_ok(&server, "POST", top_ups, paid).await;
    let other = admin_request(&server, "POST", top_ups, r#"{"dollars": 2, "id": "x"}"#).await;
    assert_eq!(other.status, 409);
    let accounts = admin_get(&server, accounts).await;
    assert_eq!(
        (&accounts["count"], &accounts["data"][0]["balance"]),
        (&json!(1), &json!(11.0))
    );
    let form = Request::builder()
        .method("POST")
        .uri(top_ups)
        .header("authorization", "tra_admin");
    let form = form
        .header("content-type", "text/plain")
        .body(Body::from("{}"));
    assert_eq!(server.send(form.expect("a request")).await.status, 415);
}
