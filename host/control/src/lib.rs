//! The operator's door: a socket in the data directory, through which the command line talks to a running server.
//!
//! One JSON request a line, one JSON reply a line. Without a server the command line opens the store itself and asks the
//! same questions of its own [`Billing`]: [`Operator`] is either. Who may open the socket's file is the operator. What each question
//! does is in [`perform`], which the HTTP interface asks as well.

mod client;
mod perform;
mod request;
mod server;
mod socket;

use std::path::PathBuf;

use trawl_billing::BillingError;
use trawl_store::StoreError;

pub use client::Operator;
pub use perform::perform;
pub use request::{
    AccountView, AuditView, DisagreementView, EntryView, KeyView, NoticesView, PricesView, Reply,
    Request, SubscriptionView, SumView, UsageView,
};
pub use server::{ControlHandler, listen};

/// Entries of a statement in one reply.
pub const STATEMENT_ENTRIES_MAX: u32 = 1_000;

/// Why the operator's door did not open, or what was asked was not done.
#[derive(Debug, thiserror::Error)]
pub enum ControlError {
    /// What was asked cannot be done. The text is for the operator.
    #[error("{0}")]
    Refused(String),
    /// A value that makes no sense.
    #[error("{field}: {reason}")]
    Field {
        /// Which one.
        field: &'static str,
        /// What is wrong with it.
        reason: String,
    },
    /// A process uses the data directory, but does not answer.
    #[error("{in_use}; it does not answer at `{socket}`")]
    NoAnswer {
        /// Which process.
        in_use: StoreError,
        /// Where it should answer.
        socket: PathBuf,
    },
    /// The socket could not be made.
    #[error("the control socket `{path}` cannot be opened")]
    Socket {
        /// The socket.
        path: PathBuf,
        /// Why.
        #[source]
        source: std::io::Error,
    },
    /// The connection to the server broke.
    #[error("the connection to the running server broke; `trawl account list` shows what was done")]
    Broken(#[source] std::io::Error),
    /// The server said something that this program does not understand.
    #[error("the running server is of another version than this program: use the same one")]
    Version(#[source] serde_json::Error),
    /// The store could not be opened.
    #[error(transparent)]
    Store(#[from] StoreError),
    /// Billing could not be started.
    #[error(transparent)]
    Billing(#[from] BillingError),
}

#[cfg(test)]
mod tests {
    use std::os::unix::fs::PermissionsExt;
    use std::path::Path;
    use std::sync::Arc;

    use serde_json::json;
    use tokio_util::sync::CancellationToken;
    use tokio_util::task::TaskTracker;

    use super::*;
    use trawl_billing::Billing;
    use trawl_model::clock::Clock;
    use trawl_store::sqlite::SqliteStore;
    use trawl_store::{DataDir, Store};

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
            let billing = Billing::start(Arc::clone(&store), Clock::wall(), &tasks);
            let billing = billing.await.expect("billing starts");
            let desk = ControlHandler {
                billing: billing.clone(),
                plugins: Arc::new(|| json!({"generation": 7})),
            };
            listen(data, desk, stop.clone(), &tasks).expect("a socket");
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

    async fn asked(data: &Path, request: Request) -> Result<Reply, ControlError> {
        let mut operator = Operator::reach(data, true).await?;
        let reply = operator.ask(request).await;
        operator.leave().await;
        reply
    }

    #[tokio::test]
    async fn the_server_and_the_store_alone_answer_alike() {
        let parent = tempfile::tempdir().expect("a temporary directory");
        // Longer than the address of a socket may be.
        let data = parent.path().join("long".repeat(30));
        let alone = asked(&data, create("alice")).await.expect("created");
        let Reply::Created { api_key, .. } = alone else {
            panic!("an account was asked for: {alone:?}");
        };

        let server = Server::on(&data).await;
        let socket = std::fs::metadata(DataDir::socket_path(&data)).expect("a socket");
        assert_eq!(socket.permissions().mode() & 0o777, 0o600);
        let account = server.billing.authenticate(&api_key).expect("alice");
        let beside = asked(&data, create("bob")).await.expect("created");
        let Reply::Created { api_key, .. } = beside else {
            panic!("an account was asked for: {beside:?}");
        };
        assert!(server.billing.authenticate(&api_key).is_some(), "at once");

        let top_up = Request::TopUp {
            account: "alice".to_owned(),
            amount: 2_000_000_000_000,
            id: None,
        };
        asked(&data, top_up).await.expect("paid in");
        let balance = server.billing.balance(&account.id);
        assert_eq!(balance.to_string(), "$2765");
        let before = asked(&data, Request::Accounts {}).await.expect("a list");
        server.stop().await;
        assert!(!DataDir::socket_path(&data).exists());
        let after = asked(&data, Request::Accounts {}).await.expect("a list");
        assert_eq!(before, after);
    }

    #[tokio::test]
    async fn plugins_are_asked_of_a_running_server_only() {
        let data = tempfile::tempdir().expect("a temporary directory");
        assert!(Operator::beside(data.path()).await.is_none());
        let server = Server::on(data.path()).await;
        let beside = Operator::beside(data.path()).await;
        let asked_beside = beside.expect("a server").ask(Request::Plugins {}).await;
        let told = asked_beside.expect("told");
        assert_eq!(told, Reply::Plugins(json!({"generation": 7})));
        server.stop().await;
        let refusal = asked(data.path(), Request::Plugins {}).await;
        let text = refusal.expect_err("nobody knows").to_string();
        assert!(text.starts_with("no server is running"), "{text}");
    }

    #[tokio::test]
    async fn refusals_come_through_the_socket() {
        let data = tempfile::tempdir().expect("a temporary directory");
        let server = Server::on(data.path()).await;
        let refusal = |request| async {
            let refusal = asked(data.path(), request).await;
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
    async fn a_silent_owner_of_the_directory_is_named() {
        let data = tempfile::tempdir().expect("a temporary directory");
        let taken = DataDir::create(data.path()).expect("a data directory");
        let refusal = Operator::reach(data.path(), false).await;
        let text = refusal.expect_err("nobody answers").to_string();
        assert!(text.contains("is in use by process"), "{text}");
        assert!(text.contains("it does not answer at"), "{text}");
        drop(taken);
    }

    #[tokio::test]
    async fn a_missing_directory_is_made_only_when_asked() {
        let parent = tempfile::tempdir().expect("a temporary directory");
        let data = parent.path().join("data");
        let refusal = Operator::reach(&data, false).await;
        let text = refusal.expect_err("nothing there").to_string();
        assert!(text.starts_with("there is no data directory"), "{text}");
        assert!(!data.exists());
    }
}
