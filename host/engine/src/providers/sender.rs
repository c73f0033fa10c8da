//! Sends the requests of adapters: credentials filled in, to granted hosts only, within a time and
//! a size; and calls adapters.

use std::sync::Arc;
use std::time::{Duration, Instant};

use trawl_contract::provider::{Charged, Class, Cost, Request, Task};
use trawl_model::Nanodollars;
use trawl_model::fair::FairSemaphore;
use trawl_model::memory::PageMemory;
use trawl_net::fetch::{BODY_BYTES_MAX, Exchanged, FetchError, Fetcher};
use trawl_plugins::{Grant, PluginError, PluginInfo};

use super::{CostSource, Keys, Refused, VendorFailure, prepare};

/// What the requests of one conversation are sent with.
#[derive(Clone, Copy)]
pub(super) struct Sender<'a> {
    /// The adapter.
    pub(super) info: &'a PluginInfo,
    pub(super) grant: &'a Grant,
    pub(super) keys: &'a Keys,
    /// What the caller asks for.
    pub(super) task: &'a Task,
    pub(super) fetcher: &'a Fetcher,
    /// Replies take from it.
    pub(super) memory: &'a PageMemory,
    pub(super) deadline: Instant,
}

impl Sender<'_> {
    /// Sends a request.
    ///
    /// # Errors
    /// [`VendorFailure`]: the request is refused, or was not answered in time.
    pub(super) async fn send(&self, request: &Request) -> Result<Exchanged, VendorFailure> {
        let prepared = self.prepared(request)?;
        let left = self.deadline.saturating_duration_since(Instant::now());
        let time = match request.time_ms {
            0 => left,
            ms => left.min(Duration::from_millis(ms.into())),
        };
        let size = usize::try_from(self.info.limits.input_bytes()).unwrap_or(usize::MAX);
        let bytes_max = size.min(BODY_BYTES_MAX);
        let grant = self.grant;
        let exchange = self
            .fetcher
            .exchange(prepared, bytes_max, self.memory, |url| grant.allows(url));
        match tokio::time::timeout(time, exchange).await {
            Ok(Ok(reply)) => Ok(reply),
            Ok(Err(FetchError::TooLarge(bytes_max))) => {
                // Caused by the page: a retry would only cost again.
                let message = format!("its reply is larger than {bytes_max} bytes");
                let failure = VendorFailure::of(Class::TargetFailed, message);
                Err(VendorFailure {
                    retryable: Some(false),
                    ..failure
                })
            }
            Ok(Err(error)) => {
                let message = format!("it cannot be reached: {error}");
                Err(VendorFailure {
                    // RFC 9110 section 9.2.2: what is not idempotent is not repeated if it may have
                    // arrived. It may have started a job, or be paid for already.
                    began_job: request.method != "GET" && error.may_have_arrived(),
                    ..VendorFailure::of(Class::ProviderError, message)
                })
            }
            Err(_) => {
                let message = format!("it did not answer within {} s", time.as_secs_f32());
                Err(VendorFailure::of(Class::ProviderTimeout, message))
            }
        }
    }

    /// The request as it is sent.
    ///
    /// # Errors
    /// [`VendorFailure`]: the adapter, or the caller through it, requests something it may not
    /// have.
    pub(super) fn prepared(&self, request: &Request) -> Result<reqwest::Request, VendorFailure> {
        prepare(request, self.task, self.grant, self.keys).map_err(|refused| match refused {
            Refused::Adapter(reason) => {
                let provider = &self.info.name;
                tracing::error!(provider = %provider, "a request of the adapter is refused: {reason}");
                VendorFailure::adapter(format!("a request of its adapter is refused: {reason}"))
            }
            Refused::Task(reason) => VendorFailure::of(Class::BadRequest, reason),
        })
    }
}

/// Calls an adapter for an account on a blocking thread, at most as many at once as `calls` has
/// permits.
///
/// # Errors
/// [`VendorFailure`] of the adapter.
pub(super) async fn call_adapter<P: Send + Sync + 'static, R: Send + 'static>(
    (calls, account): (&Arc<FairSemaphore>, &str),
    plugin: &Arc<P>,
    call: impl FnOnce(&P) -> Result<R, PluginError> + Send + 'static,
) -> Result<R, VendorFailure> {
    let permit = calls.acquire(account).await;
    let plugin = Arc::clone(plugin);
    let called = tokio::task::spawn_blocking(move || {
        let result = call(&plugin);
        drop(permit);
        result
    });
    match called.await {
        Ok(Ok(result)) => Ok(result),
        Ok(Err(error)) => Err(VendorFailure::adapter(format!(
            "its adapter {}",
            error.fault
        ))),
        Err(_panic) => {
            tracing::error!("the call of an adapter panicked");
            Err(VendorFailure::adapter("its adapter crashed"))
        }
    }
}

/// The cost of what was served in dollars, and where it comes from.
pub(super) fn cost(info: &PluginInfo, grant: &Grant, cost: &Cost) -> (Nanodollars, CostSource) {
    let dollars = || dollars(info, grant, cost);
    match cost.charged {
        // It was hardly free.
        Charged::Unknown => (grant.prices.least, CostSource::Assumed),
        Charged::Yes if !cost.reported => (dollars(), CostSource::Listed),
        Charged::Yes | Charged::No => (dollars(), CostSource::Reported),
    }
}

/// The cost in dollars. A unit without a price in the manifest costs nothing, and is logged.
pub(super) fn dollars(info: &PluginInfo, grant: &Grant, cost: &Cost) -> Nanodollars {
    if let Some(unit) = grant.prices.unpriced(cost) {
        let provider = &info.name;
        tracing::error!(provider = %provider, unit, "the adapter counts in a unit without a price");
    }
    grant.prices.dollars(cost)
}

#[cfg(test)]
mod tests {
    use std::sync::{Mutex, mpsc};

    use futures_util::FutureExt;
    use futures_util::future::join_all;

    use super::*;

    #[tokio::test]
    async fn an_account_with_many_calls_leaves_turns_to_others() {
        let calls = FairSemaphore::new(2, 2);
        let plugin = Arc::new(());
        let order: Arc<Mutex<Vec<&str>>> = Arc::default();
        let (go, gone) = mpsc::channel::<()>();
        let gone = Arc::new(Mutex::new(gone));
        let called = |account: &'static str, waits: bool| {
            let (calls, plugin) = (Arc::clone(&calls), Arc::clone(&plugin));
            let (order, gone) = (Arc::clone(&order), Arc::clone(&gone));
            let call = move |(): &()| {
                if waits {
                    let _go = gone.lock().expect("a lock").recv();
                }
                order.lock().expect("a lock").push(account);
                Ok(())
            };
            async move { call_adapter((&calls, account), &plugin, call).await }
        };
        // Two of the account are under way, and others of it came before that of another one.
        let mut of_one: Vec<_> = (0..6).map(|_| called("one", true)).map(Box::pin).collect();
        for call in &mut of_one {
            assert!(call.now_or_never().is_none());
        }
        assert_eq!(calls.in_use("one"), 2);
        let mut of_other = Box::pin(called("other", false));
        assert!(of_other.as_mut().now_or_never().is_none());
        go.send(()).expect("a call waits");
        let waiting = join_all(of_one);
        let mut waiting = std::pin::pin!(waiting);
        tokio::select! {
            done = &mut of_other => done.expect("a turn"),
            _ = &mut waiting => panic!("all others came first"),
        }
        assert_eq!(*order.lock().expect("a lock"), ["one", "other"]);
        drop(go);
        assert!(waiting.await.iter().all(Result::is_ok));
    }
}
