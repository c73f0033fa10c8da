//! The cache in front of a loopback site that counts its requests.

mod redirects;
mod refreshes;
mod revalidated;
mod stored;

use std::sync::{Arc, Mutex};

use futures_util::FutureExt;
use futures_util::future::BoxFuture;
use http::{HeaderName, HeaderValue};
use tempfile::TempDir;
use tokio::io::{AsyncReadExt, AsyncWriteExt};
use tokio::net::TcpListener;

use trawl_model::clock::Clock;
use trawl_model::failure::status;
use trawl_model::{PageFailure, SkipReason};
use trawl_net::egress::{AllowList, Egress, EgressConfig};
use trawl_net::fetch::{CookieJar, FetchConfig, Fetcher, PoliteGet};
use trawl_net::politeness::{Politeness, PolitenessConfig};
use trawl_net::robots::Robots;
use trawl_plan::{CachePlan, Pool};

use super::super::{FailedBy, NotServed, PageRules, Routing, Served};
use super::*;
use crate::cache::CacheConfig;

const TWO_DAYS: Duration = Duration::from_secs(2 * 24 * 60 * 60);
const HOUR: Duration = Duration::from_secs(60 * 60);

/// A site's answer to a request: status line, headers and body as they are sent; empty closes the
/// connection.
type Site = dyn Fn(&str) -> String + Send + Sync;

struct World {
    routing: Routing,
    clock: Clock,
    folder: TempDir,
    base: String,
    seen: Arc<Mutex<Vec<String>>>,
    site: Arc<Mutex<Arc<Site>>>,
}

fn ok(headers: &str, body: &str) -> String {
    let bytes = body.len();
    format!("200 OK\r\n{headers}Content-Length: {bytes}\r\n\r\n{body}")
}

fn answer(status: &str, headers: &str) -> String {
    format!("{status}\r\n{headers}Content-Length: 0\r\n\r\n")
}

impl World {
    async fn start(site: impl Fn(&str) -> String + Send + Sync + 'static) -> Self {
        let listener = TcpListener::bind("127.0.0.1:0").await.expect("a port");
        let base = format!("http://{}", listener.local_addr().expect("a URL"));
        let site: Arc<Site> = Arc::new(site);
        let (seen, site) = (Arc::new(Mutex::default()), Arc::new(Mutex::new(site)));
        tokio::spawn(serve(listener, Arc::clone(&seen), Arc::clone(&site)));

        let ranges = vec!["127.0.0.1/32".parse().expect("a range")];
        let egress = Egress::new(EgressConfig {
            allow_private: AllowList::new(ranges),
            ..EgressConfig::default()
        });
        let fetcher = Fetcher::new(egress.expect("egress"), FetchConfig::default());
        let (folder, clock) = (
            TempDir::new().expect("a folder"),
            Clock::fake(Timestamp(1_800_000_000_000)),
        );
        let cache = PageCache::open(CacheConfig {
            folder: folder.path().to_owned(),
            bytes_max: 1 << 24,
            memory_bytes_max: 1 << 20,
            is_disk_low: Arc::default(),
            clock: clock.clone(),
        });
        let politeness = Politeness::new(&PolitenessConfig::default());
        let get = PoliteGet::new(fetcher.clone(), Arc::clone(&politeness));
        let robots = Arc::new(Robots::new(Arc::new(get), "Trawl"));
        let routing =
            Routing::new(fetcher, politeness, robots).with_cache(Some(cache.expect("a cache")));
        Self {
            routing,
            clock,
            folder,
            base,
            seen,
            site,
        }
    }

    /// From now on the site answers like this.
    fn becomes(&self, site: impl Fn(&str) -> String + Send + Sync + 'static) {
        *self.site.lock().expect("a site") = Arc::new(site);
    }

    fn url(&self, path: &str) -> Url {
        Url::parse(&format!("{}{path}", self.base)).expect("a URL")
    }

    async fn get(&self, path: &str) -> Result<Served, PageFailure> {
        self.get_with(path, |_| {}).await
    }

    async fn get_with(
        &self,
        path: &str,
        change: impl FnOnce(&mut FetchPlan),
    ) -> Result<Served, PageFailure> {
        let plan = self.plan(path, change);
        self.serve(&plan, &CookieJar::new()).await
    }

    /// Serves a page that is paid for.
    async fn serve(&self, plan: &PagePlan, jar: &CookieJar) -> Result<Served, PageFailure> {
        let admission = self.routing.admission(&plan.fetch);
        let served = self.serve_admitted(plan, admission, jar).await;
        served.map_err(|error| error.failure)
    }

    /// Serves a page that is paid for, under these rules of its run.
    async fn serve_under(
        &self,
        plan: &PagePlan,
        rules: Arc<dyn PageRules>,
    ) -> Result<Served, NotServed> {
        let admission = self.routing.admission(&plan.fetch).under(rules);
        self.serve_admitted(plan, admission, &CookieJar::new())
            .await
    }

    async fn serve_admitted(
        &self,
        plan: &PagePlan,
        admission: Admission,
        jar: &CookieJar,
    ) -> Result<Served, NotServed> {
        let client = crate::routing::tests::unlimited_client(jar);
        let served = self
            .routing
            .serve(plan, &Arc::new(admission), client)
            .await?;
        if let CacheOutcome::Fresh(write) = &served.cache {
            write.clone().commit();
        }
        Ok(served)
    }

    fn plan(&self, path: &str, change: impl FnOnce(&mut FetchPlan)) -> PagePlan {
        let mut plan = crate::routing::tests::plan(Pool::Standard, &self.url(path));
        let mut fetch = FetchPlan::clone(&plan.fetch);
        fetch.cache = CachePlan {
            enabled: true,
            max_age: TWO_DAYS,
            allow_stale: false,
            skip_browser: false,
            only: false,
        };
        change(&mut fetch);
        plan.fetch = Arc::new(fetch);
        plan
    }

    /// Heads of the requests since the last call.
    fn seen(&self) -> Vec<String> {
        std::mem::take(&mut *self.seen.lock().expect("requests"))
    }

    /// Everything the cache has on disk, as it would be read.
    async fn on_disk(&self) -> Vec<u8> {
        let cache = self.routing.own.cache.as_ref().expect("a cache");
        cache.flush().await;
        let mut bytes = Vec::new();
        let mut folders = vec![self.folder.path().to_owned()];
        while let Some(folder) = folders.pop() {
            for entry in std::fs::read_dir(folder).expect("a folder") {
                let path = entry.expect("an entry").path();
                if path.is_dir() {
                    folders.push(path);
                    continue;
                }
                let file = std::fs::read(&path).expect("a file");
                bytes.extend(zstd::bulk::decompress(&file, 1 << 20).unwrap_or_default());
                bytes.extend(file);
            }
        }
        bytes
    }
}

async fn serve(listener: TcpListener, seen: Arc<Mutex<Vec<String>>>, site: Arc<Mutex<Arc<Site>>>) {
    while let Ok((mut socket, _)) = listener.accept().await {
        let (seen, site) = (Arc::clone(&seen), Arc::clone(&site));
        tokio::spawn(async move {
            let mut head = Vec::new();
            while !head.ends_with(b"\r\n\r\n") {
                let Ok(byte) = socket.read_u8().await else {
                    return;
                };
                head.push(byte);
            }
            let head = String::from_utf8(head).expect("text").to_lowercase();
            seen.lock().expect("requests").push(head.clone());
            let site = Arc::clone(&*site.lock().expect("a site"));
            let answer = site(&head);
            if answer == SILENCE {
                tokio::time::sleep(HOUR).await;
            }
            let (status, rest) = answer.split_once("\r\n").unwrap_or_default();
            if !status.is_empty() {
                let answer = format!("HTTP/1.1 {status}\r\nConnection: close\r\n{rest}");
                let _ = socket.write_all(answer.as_bytes()).await;
            }
        });
    }
}

type Failing = fn(&str) -> String;

/// An answer that does not come.
const SILENCE: &str = "silence";

fn status_of(served: &Served) -> Option<&str> {
    served.metadata.get("cache")?["status"].as_str()
}

fn header(name: &'static str, value: &'static str) -> (HeaderName, HeaderValue) {
    (
        HeaderName::from_static(name),
        HeaderValue::from_static(value),
    )
}
