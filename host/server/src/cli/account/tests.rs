//! Commands and their output.

use clap::Parser;
use serde_json::json;

use trawl_control::{KeyUsageView, UsageView};

use super::*;

#[derive(Debug, Parser)]
struct Cli {
    #[command(flatten)]
    args: AccountArgs,
}

async fn run_line(data: &Path, line: &str) -> Result<Answer, String> {
    let words = std::iter::once("account").chain(line.split(' '));
    let args = Cli::try_parse_from(words).map_err(|error| error.to_string())?;
    let reached = Operator::reach(data, true).await;
    let mut operator = reached.map_err(|error| error.to_string())?;
    let answer = answer(&mut operator, args.args.command).await;
    operator.leave().await;
    answer.map_err(|error| error.to_string())
}

#[test]
fn a_wrong_url_of_a_database_is_refused_without_its_password() {
    let words = [
        "account",
        "list",
        "--store",
        "postgres://ann:s3cret@db:port/pages",
    ];
    let read = Cli::try_parse_from(words).map_err(anyhow::Error::new);
    let refusal = read
        .and_then(|cli| store_url(cli.args.store.as_deref()))
        .expect_err("refused");
    let text = format!("{refusal:#}");
    assert!(text.contains("--store"), "{text}");
    assert!(!text.contains("s3cret"), "{text}");
}

#[tokio::test]
async fn an_account_is_created_topped_up_and_read() {
    let data = tempfile::tempdir().expect("a temporary directory");
    let run = |line| run_line(data.path(), line);
    let created = run("create alice --top-up 5 --json").await;
    let created = created.expect("created").json();
    let key = created["api_key"].as_str().expect("a key");
    assert!(key.starts_with("tr_"));
    assert_eq!(created.as_object().map(|object| object.len()), Some(2));

    let top_up = run("top-up alice 500").await.expect("topped up").text();
    assert_eq!(top_up, "topped up $500, bonus $25, balance $530\n");
    let id = created["account"].as_str().expect("an id");
    let by_id = run_line(data.path(), &format!("top-up {id} 0.5 --id x")).await;
    assert!(by_id.is_ok());
    let again = run_line(data.path(), &format!("top-up {id} 0.5 --id x")).await;
    let again = again.expect("a repeat").text();
    assert!(again.starts_with("already topped up: $0.5"), "{again}");

    let statement = run("statement alice --json").await;
    let statement = statement.expect("a statement").json();
    assert_eq!(statement["balance"], 530_500_000_000_i64);
    assert_eq!(statement["total"], statement["balance"]);
    let entries = statement["entries"].as_array().expect("entries");
    let amounts = entries.iter().filter_map(|entry| entry["amount"].as_i64());
    assert_eq!(amounts.sum::<i64>(), 530_500_000_000);
    assert_eq!(statement["sums"]["bonus"]["entries"], 1);

    let audit = run("verify").await.expect("an audit").text();
    assert_eq!(
        audit,
        "1 accounts, 4 entries: every balance equals the sum of its entries\n"
    );
}

#[tokio::test]
async fn keys_are_created_and_revoked() {
    let data = tempfile::tempdir().expect("a temporary directory");
    let run = |line| run_line(data.path(), line);
    run("create alice").await.expect("created");
    let key = run("key create alice --json").await.expect("a key").json();
    let shown = &key["api_key"].as_str().expect("a key")[..11];
    let listed = run("key list alice").await.expect("a list").text();
    assert!(listed.contains(shown), "{listed}");
    assert_eq!(listed.lines().count(), 2);
    let revoke = format!("key revoke alice {shown}");
    assert!(run_line(data.path(), &revoke).await.is_ok());
    let again = run_line(data.path(), &revoke).await.err().expect("refused");
    assert!(again.contains("has no key"), "{again}");
}

#[tokio::test]
async fn keys_have_budgets() {
    let data = tempfile::tempdir().expect("a temporary directory");
    let run = |line| run_line(data.path(), line);
    run("create alice").await.expect("created");
    let key = run("key create alice --monthly-budget 5 --json").await;
    let key = key.expect("a key").json();
    let shown = &key["api_key"].as_str().expect("a key")[..11];
    let listed = run("key list alice").await.expect("a list").text();
    assert!(listed.contains("  spent $0 of $5 this month\n"), "{listed}");
    assert_eq!(listed.matches("this month").count(), 1, "{listed}");
    let set = async |words: &str| {
        let line = format!("key budget alice {shown} {words}");
        run_line(data.path(), &line).await
    };
    let lower = set("2.5").await.expect("set").json();
    assert_eq!(
        (&lower["monthly_budget"], &lower["month_spent"]),
        (&json!(2_500_000_000_i64), &json!(0))
    );
    let off = set("--off").await.expect("removed").text();
    assert!(
        off.starts_with(shown) && !off.contains("this month"),
        "{off}"
    );
    assert!(set("5 --off").await.is_err(), "both");
    let unknown = run("key budget alice tr_x 5").await.err();
    let unknown = unknown.expect("there is no such key");
    assert!(unknown.contains("has no key `tr_x`"), "{unknown}");
}

#[tokio::test]
async fn keys_have_names_and_a_history() {
    let data = tempfile::tempdir().expect("a temporary directory");
    let run = |line| run_line(data.path(), line);
    run("create alice").await.expect("created");
    let key = run("key create alice --name ci --json").await;
    let key = key.expect("a key").json();
    let shown = &key["api_key"].as_str().expect("a key")[..11];
    let listed = run("key list alice --json").await.expect("a list").json();
    let ci = listed.as_array().expect("keys").iter();
    let ci = ci.clone().find(|key| key["name"] == "ci").expect("a name");
    assert_eq!(
        (&ci["key"], &ci["last_used"]),
        (&json!(shown), &json!(null))
    );
    let listed = run("key list alice").await.expect("a list").text();
    assert!(listed.contains("never used  ci\n"), "{listed}");
    let revoke = format!("key revoke alice {shown}");
    assert!(run_line(data.path(), &revoke).await.is_ok());
    let listed = run("key list alice").await.expect("a list").text();
    assert_eq!(listed.lines().count(), 1);
    let all = run("key list alice --all").await.expect("a list").text();
    assert!(all.contains("  revoked 2"), "{all}");
    let long = format!("key create alice --name {}", "x".repeat(101));
    let refusal = run_line(data.path(), &long).await.err().expect("refused");
    assert!(refusal.contains("longer than 100 bytes"), "{refusal}");
}

#[tokio::test]
async fn an_account_is_shown_with_its_balance_alerts() {
    let data = tempfile::tempdir().expect("a temporary directory");
    let run = |line| run_line(data.path(), line);
    run("create alice --top-up 5").await.expect("created");
    let shown = run("show alice").await.expect("shown").text();
    assert!(shown.contains("no alert for a low balance"), "{shown}");
    let set = "notices alice --destination a.example/hook --below 1.5";
    let set = run(set).await.expect("set").text();
    assert_eq!(
        set,
        "alerts below $1.5 and at zero to https://a.example/hook\n"
    );
    let shown = run("show alice --json").await.expect("shown").json();
    assert_eq!(shown["notices"]["low_balance"], 1_500_000_000_i64);
    assert_eq!(shown["keys"].as_array().map(Vec::len), Some(1));
    let off = run("notices alice --off").await.expect("set").text();
    assert!(off.starts_with("no alert"), "{off}");
    for (line, expected) in [
        (
            "notices alice --destination file:///etc/passwd",
            "destination: ",
        ),
        ("notices alice", "required"),
        (
            "notices alice --destination a.example --below lots",
            "write dollars like",
        ),
        ("notices nobody --off", "there is no account `nobody`"),
        ("show nobody", "there is no account `nobody`"),
    ] {
        let refusal = run_line(data.path(), line).await.err().expect("refused");
        assert!(refusal.contains(expected), "{line}: {refusal}");
    }
}

#[tokio::test]
async fn a_webhook_secret_is_rotated() {
    let data = tempfile::tempdir().expect("a temporary directory");
    let run = |line| run_line(data.path(), line);
    run("create alice").await.expect("created");
    let first = run("webhook-secret alice").await.expect("shown").text();
    let again = run("webhook-secret alice").await.expect("shown").text();
    assert_eq!(first, again);
    let renewed = run("webhook-secret alice --rotate").await;
    let renewed = renewed.expect("renewed").text();
    assert_ne!(first, renewed);
    assert_eq!(
        run("webhook-secret alice").await.expect("shown").text(),
        renewed
    );
}

#[tokio::test]
async fn usage_and_prices_are_shown() {
    let data = tempfile::tempdir().expect("a temporary directory");
    run_line(data.path(), "create alice --top-up 500")
        .await
        .expect("created");
    run_line(data.path(), "seats alice 1")
        .await
        .expect("bought");
    let statement = run_line(data.path(), "statement alice").await;
    let statement = statement.expect("a statement").text();
    assert!(statement.contains("  1 seat from 2"), "{statement}");
    let mut operator = Operator::reach(data.path(), false)
        .await
        .expect("the store");
    let usage = Request::Usage {
        from: Timestamp::MIN.0,
        to: Timestamp::MAX.0,
        by_key: true,
    };
    let usage = Answer::Reply(operator.ask(usage).await.expect("sums"));
    let json = usage.json();
    assert_eq!(json["accounts"][0]["name"], "alice");
    assert_eq!(json["total"]["seats"], 20_000_000_000_i64);
    assert_eq!(json["accounts"][0]["keys"], json!([]), "no page");
    let text = usage.text();
    let line = "  topped up $500, bonus $25, seats $20\n";
    assert_eq!(text.matches(line).count(), 2, "{text}");
    let prices = operator.ask(Request::Prices {}).await.expect("none yet");
    assert_eq!(prices, Reply::Prices(None));
    operator.leave().await;
}

#[test]
fn usage_of_keys_is_shown_below_their_account() {
    let key = |key: &str, name: &str, pages: u64| KeyUsageView {
        key: key.to_owned(),
        name: name.to_owned(),
        pages,
        costs: [("total_cost".to_owned(), 1_500_000_000)].into(),
        ..KeyUsageView::default()
    };
    let account = UsageView {
        account: "acc_1".to_owned(),
        name: "alice".to_owned(),
        keys: Some(vec![key("", "", 3), key("tr_9aK2bX7q", "ci", 2)]),
        ..UsageView::default()
    };
    let answer = Answer::Reply(Reply::Usage {
        accounts: vec![account],
        total: UsageView::default(),
    });
    let text = answer.text();
    for part in [
        "\n  key not known: 3 pages, 0 failed, ",
        "\n  tr_9aK2bX7q…  ci: 2 pages, 0 failed, ",
    ] {
        assert!(text.contains(part), "{text}");
    }
    assert_eq!(text.matches("  total_cost $1.5").count(), 2, "{text}");
    let json = answer.json();
    assert_eq!(json["accounts"][0]["keys"][1]["name"], "ci");
    assert_eq!(json["total"].get("keys"), None);
}

#[tokio::test]
async fn seats_are_bought_suspended_and_resumed() {
    let data = tempfile::tempdir().expect("a temporary directory");
    let run = |line| run_line(data.path(), line);
    run("create alice --top-up 200").await.expect("created");
    let bought = run("seats alice 9").await.expect("bought").text();
    assert!(bought.starts_with("9 seats, active to 2"), "{bought}");
    assert!(bought.ends_with("charged $180, balance $20\n"), "{bought}");
    let again = run("seats alice 9 --json").await.expect("the same").json();
    assert_eq!(
        (&again["charged"], &again["balance"]),
        (&json!(0), &json!(20_000_000_000_i64))
    );
    assert_eq!(again["subscription"]["seats"], 9);
    let stopped = run("seats alice --suspend").await.expect("stopped").text();
    assert!(stopped.starts_with("9 seats, suspended"), "{stopped}");
    let resumed = run("seats alice --resume").await.expect("resumed").text();
    assert!(resumed.starts_with("9 seats, active"), "{resumed}");
    let fewer = run("seats alice 2").await.expect("later").text();
    assert!(fewer.contains(", then 2\n"), "{fewer}");
    let listed = run("list").await.expect("a list").text();
    assert!(listed.contains("alice  (9 seats, active to "), "{listed}");
    let statement = run("statement alice").await.expect("a statement").text();
    assert!(statement.contains("seats  "), "{statement}");
    for (line, expected) in [
        ("seats alice 200", "the seats cost $"),
        ("seats alice 10001", "at most 10000"),
        ("seats alice", "required"),
        ("seats alice 3 --suspend", "cannot be used with"),
        ("seats nobody 3", "there is no account `nobody`"),
    ] {
        let refusal = run_line(data.path(), line).await.err().expect("refused");
        assert!(refusal.contains(expected), "{line}: {refusal}");
    }
}

#[tokio::test]
async fn bad_input_is_explained() {
    let data = tempfile::tempdir().expect("a temporary directory");
    let check = |line: &'static str, expected: &'static str| {
        let data = data.path();
        async move {
            let refusal = run_line(data, line).await.err().expect("refused");
            assert!(refusal.contains(expected), "{line}: {refusal}");
        }
    };
    check("top-up nobody 5", "there is no account `nobody`").await;
    check("create a --top-up lots", "write dollars like `25`").await;
    check("create a --top-up 2000000", "more than a million dollars").await;
    run_line(data.path(), "create a").await.expect("created");
    check("create a", "an account of this name exists already").await;
    check("top-up a -5", "it is not positive").await;
    check("top-up a 0", "it is not positive").await;
    check("statement a --from yesterday", "write a time like").await;
}

#[tokio::test]
async fn a_long_statement_is_read_page_by_page() {
    let data = tempfile::tempdir().expect("a temporary directory");
    run_line(data.path(), "create alice")
        .await
        .expect("created");
    let mut operator = Operator::reach(data.path(), false)
        .await
        .expect("the store");
    let payments = i64::from(STATEMENT_ENTRIES_MAX) + 5;
    for _ in 0..payments {
        let request = Request::TopUp {
            account: "alice".to_owned(),
            amount: 3,
            id: None,
        };
        operator.ask(request).await.expect("topped up");
    }
    let statement = full_statement(&mut operator, "alice", None, None).await;
    let statement = statement.expect("a statement");
    assert_eq!(statement.entries.len() as i64, payments);
    assert_eq!(statement.total(), payments * 3);
    operator.leave().await;
}
