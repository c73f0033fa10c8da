//! Requests to a running server and to a store without one.

use std::os::unix::fs::PermissionsExt;
use std::path::Path;
use std::sync::Arc;

use serde_json::json;
use tokio_util::sync::CancellationToken;
use tokio_util::task::TaskTracker;

use trawl_billing::Billing;
use trawl_model::clock::Clock;
use trawl_store::sqlite::SqliteStore;
use trawl_store::{DataDir, Store};

use super::{ControlError, ControlHandler, Operator, Reply, Request, listen};

struct Server {
    billing: Billing,
    store: Arc<dyn Store>,
    stop: CancellationToken,
    tasks: TaskTracker,
}

impl Server {
    async fn on(data: &Path) -> Self {
        let directory = DataDir::create(data).expect("a data directory");
        let store = SqliteStore::open(directory).await.expect("a store");
        let store: Arc<dyn Store> = Arc::new(store);
        let (tasks, stop) = (TaskTracker::new(), CancellationToken::new());
        let billing = Billing::start(store.clone(), Clock::wall(), &tasks);
        let billing = billing.await.expect("billing starts");
        let handler = ControlHandler {
            billing: billing.clone(),
            plugins: Arc::new(|| Some(json!({"generation": 7}))),
        };
        listen(data, handler, stop.clone(), &tasks).expect("a socket");
        Self {
            billing,
            store,
            stop,
            tasks,
        }
    }

    async fn stop(self) {
        self.stop.cancel();
        self.billing.close().await;
        self.tasks.close();
        self.tasks.wait().await;
        self.store.close().await;
    }
}

fn create(name: &str) -> Request {
    Request::CreateAccount {
        name: name.to_owned(),
        top_up: 500_000_000_000,
    }
}

async fn send(data: &Path, request: Request) -> Result<Reply, ControlError> {
    let mut operator = Operator::reach(data, true).await?;
    let reply = operator.ask(request).await;
    operator.leave().await;
    reply
}

#[tokio::test]
async fn a_server_and_a_store_without_server_answer_alike() {
    let parent = tempfile::tempdir().expect("a temporary directory");
    // Longer than a socket address allows.
    let data = parent.path().join("long".repeat(30));
    let created = send(&data, create("alice")).await.expect("created");
    let Reply::Created { api_key, .. } = created else {
        panic!("not a new account: {created:?}");
    };

    let server = Server::on(&data).await;
    let socket = std::fs::metadata(DataDir::socket_path(&data)).expect("a socket");
    assert_eq!(socket.permissions().mode() & 0o777, 0o600);
    let account = server.billing.authenticate(&api_key).expect("alice");
    let created = send(&data, create("bob")).await.expect("created");
    let Reply::Created { api_key, .. } = created else {
        panic!("not a new account: {created:?}");
    };
    assert!(
        server.billing.authenticate(&api_key).is_some(),
        "immediately"
    );

    let top_up = Request::TopUp {
        account: "alice".to_owned(),
        amount: 2_000_000_000_000,
        id: None,
    };
    send(&data, top_up).await.expect("paid in");
    let balance = server.billing.balance(&account.id);
    assert_eq!(balance.to_string(), "$2765");
    let before = send(&data, Request::Accounts {}).await.expect("a list");
    server.stop().await;
    assert!(!DataDir::socket_path(&data).exists());
    let after = send(&data, Request::Accounts {}).await.expect("a list");
    assert_eq!(before, after);
}

#[tokio::test]
async fn plugins_need_a_running_server() {
    let data = tempfile::tempdir().expect("a temporary directory");
    assert!(Operator::connect(data.path()).await.is_none());
    let server = Server::on(data.path()).await;
    let operator = Operator::connect(data.path()).await;
    let reply = operator.expect("a server").ask(Request::Plugins {}).await;
    let reply = reply.expect("the plugins");
    assert_eq!(reply, Reply::Plugins(json!({"generation": 7})));
    server.stop().await;
    let refusal = send(data.path(), Request::Plugins {}).await;
    let text = refusal.expect_err("refused").to_string();
    assert!(text.starts_with("no server is running"), "{text}");
}

#[tokio::test]
async fn errors_are_sent_through_the_socket() {
    let data = tempfile::tempdir().expect("a temporary directory");
    let server = Server::on(data.path()).await;
    let refusal = |request| async {
        let refusal = send(data.path(), request).await;
        refusal.expect_err("refused").to_string()
    };
    let account = "nobody".to_owned();
    let keys = Request::Keys {
        account,
        all: false,
    };
    let text = refusal(keys).await;
    assert!(text.starts_with("there is no account `nobody`"), "{text}");
    let text = refusal(create("")).await;
    assert!(text.contains("it is empty"), "{text}");
    server.stop().await;
}

#[tokio::test]
async fn a_process_that_does_not_answer_is_named() {
    let data = tempfile::tempdir().expect("a temporary directory");
    let locked = DataDir::create(data.path()).expect("a data directory");
    let refusal = Operator::reach(data.path(), false).await;
    let text = refusal.expect_err("no answer").to_string();
    assert!(text.contains("is in use by process"), "{text}");
    assert!(text.contains("it does not answer at"), "{text}");
    drop(locked);
}

#[tokio::test]
async fn a_missing_directory_is_created_only_on_request() {
    let parent = tempfile::tempdir().expect("a temporary directory");
    let data = parent.path().join("data");
    let refusal = Operator::reach(&data, false).await;
    let text = refusal.expect_err("missing").to_string();
    assert!(text.starts_with("there is no data directory"), "{text}");
    assert!(!data.exists());
}
