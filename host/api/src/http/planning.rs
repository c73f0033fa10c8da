//! Plans requests on threads that may block, never on one that serves connections. Decision D280.
//!
//! An account has a few of the threads at most, and a thread that becomes free goes to the account
//! that has fewest. Of its large requests one is planned at a time, so that its small ones find a
//! thread.

use std::sync::Arc;
use std::sync::atomic::{AtomicBool, Ordering};

use serde_json::Value;

use trawl_model::fair::FairSemaphore;
use trawl_plan::{Catalog, PluginKind};
use trawl_store::AccountId;

use super::error::ApiError;

/// Threads that plan at the same time. More than cores, because a plugin that checks its options
/// may take long.
const THREADS_MAX: usize = 16;
/// Threads of one account among them.
const THREADS_OF_ACCOUNT_MAX: usize = 4;
/// Bytes of a body from which on it is large: more than nearly all requests have.
const LARGE_BYTES: usize = 64 * 1024;

/// Whose requests are being planned.
#[derive(Debug)]
pub(crate) struct Planning {
    turns: Arc<FairSemaphore>,
    large: Arc<FairSemaphore>,
}

/// Whether a plan is still awaited. Clones share it.
#[derive(Clone, Debug, Default)]
pub(crate) struct Wanted {
    is_abandoned: Arc<AtomicBool>,
}

/// Plugins that are asked as long as the plan is wanted.
pub(crate) struct WhileWanted<'a> {
    wanted: &'a Wanted,
    catalog: &'a dyn Catalog,
}

/// Awaits a plan; on drop the plan is not wanted any more.
struct AbandonOnDrop(Wanted);

impl Default for Planning {
    fn default() -> Self {
        Self {
            turns: FairSemaphore::new(THREADS_MAX, THREADS_OF_ACCOUNT_MAX),
            large: FairSemaphore::new(usize::MAX, 1),
        }
    }
}

impl Planning {
    /// Plans a request of this account whose body has so many bytes. Dropping the future abandons
    /// the plan: one that has not begun never does, and one that has begun asks no further plugin.
    pub(super) async fn plan<T: Send + 'static>(
        &self,
        account: &AccountId,
        n_bytes: usize,
        plan: impl FnOnce(&Wanted) -> Result<T, ApiError> + Send + 'static,
    ) -> Result<T, ApiError> {
        let large = if n_bytes > LARGE_BYTES {
            Some(self.large.acquire(account.as_str()).await)
        } else {
            None
        };
        let turn = self.turns.acquire(account.as_str()).await;
        let waiting = AbandonOnDrop(Wanted::default());
        let wanted = waiting.0.clone();
        let planning = tokio::task::spawn_blocking(move || {
            // Held until the thread is done, even if the caller has gone.
            let _turns = (large, turn);
            if wanted.is_abandoned() {
                return Err(ApiError::Internal);
            }
            plan(&wanted)
        });
        planning.await.unwrap_or_else(|_| {
            // The log of the panic itself says where. Its message may contain the request's values.
            tracing::error!("planning a request panicked");
            Err(ApiError::Internal)
        })
    }

    /// Does work on the body of a request that is fast unless it is large: where it arrived if it
    /// is small, which takes microseconds, and otherwise where plans are made.
    pub(crate) async fn work<T: Send + 'static>(
        &self,
        account: &AccountId,
        n_bytes: usize,
        work: impl FnOnce() -> T + Send + 'static,
    ) -> Result<T, ApiError> {
        if n_bytes <= LARGE_BYTES {
            return Ok(work());
        }
        self.plan(account, n_bytes, move |_| Ok(work())).await
    }
}

impl Wanted {
    /// These plugins, as long as the plan is wanted.
    pub(crate) fn limit<'a>(&'a self, catalog: &'a dyn Catalog) -> WhileWanted<'a> {
        WhileWanted {
            wanted: self,
            catalog,
        }
    }

    fn is_abandoned(&self) -> bool {
        self.is_abandoned.load(Ordering::Relaxed)
    }
}

impl Drop for AbandonOnDrop {
    fn drop(&mut self) {
        self.0.is_abandoned.store(true, Ordering::Relaxed);
    }
}

impl Catalog for WhileWanted<'_> {
    fn has(&self, kind: PluginKind, name: &str) -> bool {
        self.catalog.has(kind, name)
    }

    fn names(&self, kind: PluginKind) -> Vec<String> {
        self.catalog.names(kind)
    }

    fn own_credentials(&self) -> Vec<(String, String)> {
        self.catalog.own_credentials()
    }

    fn check_options(&self, kind: PluginKind, name: &str, options: &Value) -> Result<(), String> {
        if self.wanted.is_abandoned() {
            return Err("the request was abandoned".to_owned());
        }
        self.catalog.check_options(kind, name, options)
    }
}

#[cfg(test)]
mod tests {
    use std::sync::mpsc;
    use std::time::{Duration, Instant};

    use trawl_plan::testing::FakeCatalog;

    use super::*;

    const LARGE: usize = LARGE_BYTES + 1;

    #[tokio::test]
    async fn a_large_request_waits_for_those_of_its_account_only() {
        let planning = Planning::default();
        let [one, other] = ["acc_1", "acc_2"].map(AccountId::new);
        let held = planning.large.acquire(one.as_str()).await;
        let mut waiting = std::pin::pin!(planning.plan(&one, LARGE, |_| Ok(())));
        let early = tokio::time::timeout(Duration::from_millis(50), waiting.as_mut()).await;
        assert!(early.is_err(), "another one is being planned");
        let small = planning.plan(&one, 1, |_| Ok(())).await;
        small.expect("a small request does not wait for a large one");
        let another = planning.plan(&other, LARGE, |_| Ok(())).await;
        another.expect("another account");
        drop(held);
        waiting.await.expect("its turn");
        assert_eq!(planning.large.in_use(one.as_str()), 0);
        assert_eq!(planning.turns.in_use(one.as_str()), 0);
    }

    #[tokio::test]
    async fn nothing_is_planned_on_the_thread_that_asks() {
        let planning = Planning::default();
        let here = std::thread::current().id();
        for n_bytes in [0, 1, LARGE] {
            let account = AccountId::new("acc_1");
            let plan = |_: &Wanted| Ok(std::thread::current().id());
            let there = planning.plan(&account, n_bytes, plan).await;
            assert_ne!(there.expect("a plan"), here, "{n_bytes} bytes");
        }
    }

    #[tokio::test]
    async fn work_on_a_large_body_is_not_done_on_the_thread_that_asks() {
        let planning = Planning::default();
        let account = AccountId::new("acc_1");
        let here = std::thread::current().id();
        for (n_bytes, is_here) in [(LARGE_BYTES, true), (LARGE, false)] {
            let there = planning.work(&account, n_bytes, || std::thread::current().id());
            let there = there.await.expect("done");
            assert_eq!(there == here, is_here, "{n_bytes} bytes");
        }
    }

    #[tokio::test]
    async fn an_account_has_a_part_of_the_threads() {
        let planning = Planning::default();
        let [one, other] = ["acc_1", "acc_2"].map(AccountId::new);
        let (go, gone) = mpsc::channel::<()>();
        let gone = Arc::new(std::sync::Mutex::new(gone));
        let blocked = || {
            let gone = Arc::clone(&gone);
            planning.plan(&one, 1, move |_| {
                let _end = gone.lock().map(|gone| gone.recv());
                Ok(())
            })
        };
        let many = futures_util::future::join_all((0..20).map(|_| blocked()));
        let mut many = std::pin::pin!(many);
        let early = tokio::time::timeout(Duration::from_millis(50), many.as_mut()).await;
        assert!(early.is_err());
        assert_eq!(planning.turns.in_use(one.as_str()), THREADS_OF_ACCOUNT_MAX);
        let free = planning.plan(&other, 1, |_| Ok(())).await;
        free.expect("a thread for another account");
        drop(go);
        for planned in many.await {
            planned.expect("its turn");
        }
    }

    /// Asks plugins until the plan is abandoned.
    #[tokio::test]
    async fn a_plan_that_nobody_waits_for_ends() {
        let planning = Planning::default();
        let account = AccountId::new("acc_1");
        let (begun, has_begun) = mpsc::channel();
        let plan = planning.plan(&account, 1, move |wanted: &Wanted| {
            let catalog = wanted.limit(&FakeCatalog);
            begun.send(()).expect("the test waits");
            let deadline = Instant::now() + Duration::from_secs(30);
            let ask = || catalog.check_options(PluginKind::Filter, "mine", &Value::Null);
            while !ask().is_err_and(|reason| reason.contains("abandoned")) {
                assert!(Instant::now() < deadline, "it is never abandoned");
                std::thread::yield_now();
            }
            Ok(())
        });
        let mut plan = Box::pin(plan);
        while has_begun.try_recv().is_err() {
            let early = tokio::time::timeout(Duration::from_millis(1), plan.as_mut()).await;
            assert!(early.is_err(), "it continues while it is awaited");
        }
        drop(plan);
        while planning.turns.in_use(account.as_str()) > 0 {
            tokio::task::yield_now().await;
        }
    }

    /// By hand: what a thread costs a small request.
    #[tokio::test(flavor = "multi_thread", worker_threads = 2)]
    #[ignore = "measures the machine"]
    async fn cost_of_a_thread() {
        let planning = Planning::default();
        let account = AccountId::new("acc_1");
        let n = 20_000;
        let started = Instant::now();
        for _ in 0..n {
            planning
                .plan(&account, 1, |_| Ok(()))
                .await
                .expect("a plan");
        }
        let alone = started.elapsed() / n;
        let started = Instant::now();
        let many = (0..n).map(|_| planning.plan(&account, 1, |_| Ok(())));
        futures_util::future::join_all(many).await;
        let together = started.elapsed() / n;
        eprintln!("a plan alone {alone:?}, of {n} together {together:?} each");
    }
}
