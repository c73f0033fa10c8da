//! Serving: background tasks, the HTTP listener, and the order in which both stop.

use std::sync::Arc;

use anyhow::Context;
use axum::Router;
use tokio::net::TcpListener;
use tokio::time::MissedTickBehavior;
use tokio_util::sync::CancellationToken;

use trawl_api::Service;

use super::{App, balance_events, nodes, settings};
use crate::listener;

/// Why a server ends that another one has replaced.
const TAKEN_OVER: &str = "another server has taken over the database, because this one was suspended or cut off from it: start this one again with `--standby`";

impl App {
    /// Serves at `listener` until [`Self::stop`]. Then refuses new requests with 503, waits for
    /// those in flight, and closes the store.
    ///
    /// # Errors
    /// The crawls of the last run cannot be read, or another server has taken the database over.
    pub async fn serve(self: Arc<Self>, listener: TcpListener) -> anyhow::Result<()> {
        self.egress.refuse_listener(listener.local_addr()?);
        self.announce(&listener).await;
        self.spawn_until_stop(Arc::clone(self.storage.disk()).watch());
        self.tasks
            .spawn(Arc::clone(&self.plugins).watch(self.stop.clone()));
        let (webhooks, egress) = (Arc::clone(&self.webhooks), Arc::clone(&self.egress));
        let memory = Arc::clone(&self.page_engine.memory);
        self.tasks
            .spawn(webhooks.run(egress, memory, self.stop.clone()));
        self.start_billing_tasks().await;
        let last = self.crawls.interrupt().await;
        let last = last.context("cannot read the crawls of the last run of the server")?;
        self.spawn_until_stop(trawl_telemetry::run_upkeep());
        self.spawn_until_stop(Arc::clone(&self).sample_metrics());
        let crawls = self.crawls.clone();
        self.tasks.spawn(async move { crawls.recover(last).await });
        let crawls = self.crawls.clone();
        self.spawn_until_stop(async move { crawls.expire_periodically().await });
        tokio::select! {
            () = self.serve_http(listener) => {}
            // What is in flight cannot be charged or stored any more, so nothing is waited for.
            () = self.store.taken_over() => anyhow::bail!(TAKEN_OVER),
        }
        self.close().await;
        Ok(())
    }

    /// Tells standbys where this server is: at the configured address, or at the one that it
    /// listens on, if that is one.
    async fn announce(&self, listener: &TcpListener) {
        let configured = self.config.store.address.as_deref();
        let Some(address) = nodes::own_address(configured, listener.local_addr().ok()) else {
            return;
        };
        if let Err(error) = self.store.announce(&address).await {
            tracing::warn!(error = %error, "standbys do not know where this server is");
        }
    }

    async fn start_billing_tasks(&self) {
        self.tasks.spawn(balance_events::forward(
            self.billing.clone(),
            Arc::clone(&self.webhooks),
            self.settled.clone(),
        ));
        let billing = self.billing.clone();
        self.spawn_until_stop(async move { billing.write_key_uses_periodically().await });
        let billing = self.billing.clone();
        self.spawn_until_stop(async move { billing.expire_answers_periodically().await });
        // Before crawls resume: those under the Unlimited plan need its slots.
        self.billing.renew_due().await;
        let billing = self.billing.clone();
        self.spawn_until_stop(async move { billing.renew_periodically().await });
    }

    /// Samples the metrics for the operator; runs until it is dropped.
    async fn sample_metrics(self: Arc<Self>) {
        let rooms = self.rooms();
        let tabs = settings::browser(&self.config).map_or(0, |browser| browser.tabs_max);
        metrics::gauge!("trawl_browser_tabs_max").set(tabs as f64);
        let mut period = tokio::time::interval(trawl_telemetry::SAMPLE_PERIOD);
        period.set_missed_tick_behavior(MissedTickBehavior::Delay);
        loop {
            period.tick().await;
            let cached = self.page_cache.as_ref().map_or(0, |cache| cache.bytes());
            metrics::gauge!("trawl_page_cache_bytes").set(cached as f64);
            let n_nodes = self.remote.as_ref().map_or(0, |remote| remote.n_nodes());
            metrics::gauge!("trawl_nodes").set(n_nodes as f64);
            trawl_api::sample_metrics(&rooms).await;
        }
    }

    /// Runs a task that is cancelled when the server stops.
    fn spawn_until_stop(&self, task: impl Future<Output = ()> + Send + 'static) {
        let stop = self.stop.clone();
        self.tasks.spawn(async move {
            stop.run_until_cancelled(task).await;
        });
    }

    /// The HTTP interface, for a caller in this process too.
    pub fn interface(self: &Arc<Self>) -> Router {
        let service = Arc::clone(self) as Arc<dyn Service>;
        trawl_api::router(service, self.rooms(), self.api_settings())
    }

    async fn serve_http(self: &Arc<Self>, listener: TcpListener) {
        let mut router = self.interface();
        if let (Some(key), Some(remote)) = (self.store.cluster_key(), &self.remote) {
            router = router.merge(nodes::routes(key, Arc::clone(remote)));
        }
        let drained = CancellationToken::new();
        let limits = self.listener_limits.clone();
        let log = settings::access_log(&self.config);
        let serving = listener::serve(listener, router, limits, log, drained.clone());
        let draining = async {
            let left = self.drain().await;
            drained.cancel();
            // `serving` ends earlier if the last connection closes before that.
            tokio::time::sleep(left).await;
        };
        tokio::select! {
            () = serving => {}
            () = draining => {}
        }
    }
}
