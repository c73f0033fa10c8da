//! The whole server in the test's own process.

use std::net::SocketAddr;
use std::ops::Deref;
use std::sync::Arc;

use tokio::net::TcpListener;
use tokio::task::JoinHandle;
use trawl::app::{App, Paths};
use trawl::config::{Config, Environment};
use trawl_billing::{AccountId, LedgerEntry, LedgerEntryKind, Window};
use trawl_model::Nanodollars;
use trawl_model::clock::Timestamp;

use crate::{Caller, World};

/// A server on loopback, and a client with an account on it.
pub struct TestApp {
    /// The folder it runs in.
    pub world: World,
    /// The address it listens on.
    pub address: SocketAddr,
    /// The client's account.
    pub account: AccountId,
    /// The server's parts.
    pub app: Arc<App>,
    caller: Caller,
    task: JoinHandle<()>,
}

impl Deref for TestApp {
    type Target = Caller;

    fn deref(&self) -> &Caller {
        &self.caller
    }
}

impl TestApp {
    /// Starts the server of the default world.
    pub async fn start() -> Self {
        Self::of(World::new()).await
    }

    /// Starts the server of this world.
    ///
    /// # Panics
    /// When it does not start.
    pub async fn of(world: World) -> Self {
        let mut config = Config {
            limits: world.limits.clone(),
            ai: world.ai.clone(),
            bot: world.bot.clone(),
            browser: world.browser.clone(),
            http: world.http.clone(),
            trace: world.trace.clone(),
            ..Config::default()
        };
        if !world.keeps_pages {
            config.cache.size_mib = 0;
        }
        config.egress.proxy = world.proxies.clone();
        config.providers.environment = Environment(world.environment.clone());
        config.search.backends.clone_from(&world.searches);
        let ranges = world.allow_private.iter();
        config.egress.allow_private = ranges
            .map(|range| range.parse().expect("a range"))
            .collect();
        let places = Paths {
            data: world.data(),
            plugins: world.plugins(),
        };
        let app = App::build(config, &places).await.expect("a server");
        let dollars = Nanodollars::parse_dollars(world.dollars).expect("an amount");
        let created = app.billing().create_account("caller", dollars).await;
        let (account, key) = created.expect("an account");
        let listener = TcpListener::bind("127.0.0.1:0").await.expect("a free port");
        let address = listener.local_addr().expect("a bound listener");
        let serving = Arc::clone(&app).serve(listener);
        let task =
            tokio::spawn(async move { serving.await.expect("it serves until it is stopped") });
        Self {
            world,
            address,
            account: account.id.clone(),
            app,
            caller: Caller::new(address, key.expose()),
            task,
        }
    }

    /// A client of the same server with another account that has this much money.
    pub async fn another(&self, name: &str, money: Nanodollars) -> (AccountId, Caller) {
        let created = self.app.billing().create_account(name, money).await;
        let (account, key) = created.expect("an account");
        (account.id.clone(), Caller::new(self.address, key.expose()))
    }

    /// The account's available balance in nanodollars.
    pub fn balance(&self) -> i64 {
        self.app.billing().balance(&self.account).0
    }

    /// All ledger entries of the account.
    pub async fn entries(&self) -> Vec<LedgerEntry> {
        self.entries_of(&self.account).await
    }

    /// All ledger entries of an account.
    pub async fn entries_of(&self, account: &AccountId) -> Vec<LedgerEntry> {
        let window = Window {
            from: Timestamp::MIN,
            to: Timestamp::MAX,
            after: 0,
            limit: 100_000,
        };
        let page = self.app.billing().statement(account, window).await;
        let page = page.expect("a statement");
        page.entries
            .into_iter()
            .map(|posted| posted.entry)
            .collect()
    }

    /// Checks the ledger: every balance is the sum of its entries, nothing is reserved any more,
    /// and every reservation was posted or voided exactly once.
    pub async fn assert_settled(&self) {
        let audit = self.app.billing().verify().await.expect("an audit");
        assert!(audit.disagreements.is_empty(), "{audit:?}");
        assert!(audit.key_disagreements.is_empty(), "{audit:?}");
        for (account, funds) in self.app.billing().accounts() {
            assert_eq!(funds.held, Nanodollars::ZERO, "{account:?}");
            let entries = self.entries_of(&account.id).await;
            let sum: Nanodollars = entries.iter().map(|entry| entry.amount).sum();
            assert_eq!(sum, funds.balance);
            for reserve in entries
                .iter()
                .filter(|entry| entry.kind == LedgerEntryKind::Reserve)
            {
                let of_reservation = entries
                    .iter()
                    .filter(|entry| entry.reservation == reserve.reservation);
                if reserve.reservation.starts_with("p:") {
                    // A crawl reserves in parts: its entries must add up to nothing reserved.
                    let held: Nanodollars = of_reservation.map(|entry| entry.held).sum();
                    assert_eq!(held, Nanodollars::ZERO, "{reserve:?}");
                } else {
                    // A reservation that grew has several reserves.
                    let ends =
                        of_reservation.filter(|entry| entry.kind != LedgerEntryKind::Reserve);
                    assert_eq!(ends.count(), 1, "{reserve:?}");
                }
            }
        }
    }
}

impl Drop for TestApp {
    fn drop(&mut self) {
        self.app.stop();
        self.task.abort();
    }
}
