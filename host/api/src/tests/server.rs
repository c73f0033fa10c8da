//! A server with real billing and made-up pages.

use std::net::SocketAddr;
use std::sync::atomic::{AtomicBool, AtomicU64, AtomicUsize, Ordering};
use std::sync::{Arc, Mutex};
use std::time::Duration;

use axum::Router;
use axum::body::Body;
use axum::extract::ConnectInfo;
use axum::http::{HeaderMap, Request, StatusCode};
use axum::response::Response;
use futures_util::future::BoxFuture;
use futures_util::{FutureExt, StreamExt, stream};
use http_body_util::BodyExt;
use serde_json::{Value, json};
use tokio::sync::Notify;
use tokio_util::sync::CancellationToken;
use tokio_util::task::TaskTracker;
use tower::ServiceExt;

use trawl_billing::{AccountId, Billing, FundsError, Tariff};
use trawl_crawl::pipeline::Pipelines;
use trawl_crawl::webhooks::{WebhookLimits, Webhooks};
use trawl_crawl::{CrawlLimits, Crawls, CrawlsParts};
use trawl_engine::extract::Workers;
use trawl_engine::in_flight::PagesInFlight;
use trawl_engine::page::PageEngine;
use trawl_engine::routing::Routing;
use trawl_engine::search::{Hit, SearchError, SearchOutcome};
use trawl_model::clock::Clock;
use trawl_model::memory::MemoryBudget;
use trawl_model::outcome::{PageOutcome, VendorPart};
use trawl_model::{Charge, Discovered, Nanodollars, RequestTrace};
use trawl_model::{Content, Fields, Piece};
use trawl_net::egress::{Egress, EgressConfig};
use trawl_net::fetch::{FetchConfig, Fetcher, Get, PoliteGet};
use trawl_net::politeness::{Politeness, PolitenessConfig};
use trawl_net::robots::Robots;
use trawl_net::sitemap::Sitemaps;
use trawl_plan::address::Receiver;
use trawl_plan::search::SearchPlan;
use trawl_plan::testing::FakeCatalog;
use trawl_plan::{OutputPlan, PagePlan, RefusedPage, TransformPlan};
use trawl_plugins::Registry;
use trawl_store::sqlite::SqliteStore;
use trawl_store::{DataDir, Disk, DiskThreshold, PageLogs, Storage, Store};
use trawl_wire::ConfiguredDefaults;

use crate::{
    Health, KeyDirectory, NewRun, Order, Outcomes, Rooms, Service, Settings, Snapshot,
    TraceSettings, router,
};

/// The path of a page that is in the page cache. The start page of a map has a link to it.
pub(super) const CACHED_PATH: &str = "/cached";
/// A host for whose pages the page cache is broken. Egress refuses its address at once.
pub(super) const FAULTY_HOST: &str = "127.0.0.2";

/// The interface, a key of its account, and its data directory.
pub(super) struct TestServer {
    router: Router,
    pub(super) key: String,
    pub(super) service: Arc<FakeService>,
    directory: tempfile::TempDir,
}

pub(super) struct FakeService {
    rooms: Rooms,
    per_minute: u32,
    pub(super) is_draining: AtomicBool,
    /// Whether it has a key for requests to sites.
    pub(super) signs_requests: AtomicBool,
    /// Runs that were begun.
    pub(super) n_runs: AtomicUsize,
    /// How many of them are paid.
    pub(super) n_paid: AtomicUsize,
    /// The trace of the last of them.
    pub(super) last_trace: Mutex<Option<RequestTrace>>,
    /// Generation of the plugins, and how often they were described.
    pub(super) generation: AtomicU64,
    pub(super) n_described: AtomicUsize,
    /// Lets one page of the host `slow.test` finish.
    pub(super) release: Arc<Notify>,
}

/// A response with its complete body.
pub(super) struct TestResponse {
    pub(super) status: StatusCode,
    pub(super) headers: HeaderMap,
    pub(super) body: String,
}

impl TestResponse {
    pub(super) fn json(&self) -> Value {
        serde_json::from_str(&self.body).unwrap_or_else(|error| panic!("{error}: {}", self.body))
    }

    pub(super) fn header(&self, name: &str) -> &str {
        self.headers
            .get(name)
            .and_then(|value| value.to_str().ok())
            .unwrap_or_default()
    }
}

impl TestServer {
    pub(super) async fn new() -> Self {
        Self::with("10", 10_000).await
    }

    /// A server whose account has this balance and whose keys have this rate limit.
    pub(super) async fn with(dollars: &str, per_minute: u32) -> Self {
        Self::with_storage(dollars, per_minute, DiskThreshold::Bytes(0), 0).await
    }

    /// The same, with this floor of free space and this many bytes for each account, 0 for any.
    pub(super) async fn with_storage(
        dollars: &str,
        per_minute: u32,
        floor: DiskThreshold,
        stored_bytes: u64,
    ) -> Self {
        let memory = MemoryBudget::unlimited();
        Self::build(dollars, per_minute, floor, stored_bytes, memory).await
    }

    /// A server with this memory budget.
    pub(super) async fn with_memory(memory: Arc<MemoryBudget>) -> Self {
        Self::build("10", 10_000, DiskThreshold::Bytes(0), 0, memory).await
    }

    async fn build(
        dollars: &str,
        per_minute: u32,
        floor: DiskThreshold,
        stored_bytes: u64,
        memory: Arc<MemoryBudget>,
    ) -> Self {
        let directory = tempfile::tempdir().expect("a directory");
        let data = DataDir::open(directory.path()).expect("a free directory");
        let store: Arc<dyn Store> = Arc::new(SqliteStore::open(data).await.expect("a store"));
        let tasks = TaskTracker::new();
        let billing = Billing::start(store.clone(), Clock::wall(), &tasks)
            .await
            .expect("billing");
        let dollars = Nanodollars::parse_dollars(dollars).expect("an amount");
        let (_, key) = billing
            .create_account("test", dollars)
            .await
            .expect("an account");
        let disk = Disk::open(directory.path(), floor).expect("a disk");
        let storage = Storage::new(store.clone(), Arc::new(disk), stored_bytes);
        let (page_engine, robots, get) = page_engine(&memory);
        let pipelines = Pipelines::new(Arc::clone(&page_engine), store.clone(), Clock::wall());
        let crawls = crawls(
            (page_engine, robots, get),
            Arc::clone(&store),
            &billing,
            &tasks,
            directory.path(),
            storage.clone(),
        );
        let rooms = Rooms {
            billing,
            store,
            storage,
            crawls,
            pipelines,
            memory,
            tasks,
            in_flight: TaskTracker::new(),
        };
        let service = Arc::new(FakeService {
            rooms,
            per_minute,
            is_draining: AtomicBool::new(false),
            signs_requests: AtomicBool::new(false),
            n_runs: AtomicUsize::new(0),
            n_paid: AtomicUsize::new(usize::MAX),
            last_trace: Mutex::default(),
            generation: AtomicU64::new(1),
            n_described: AtomicUsize::new(0),
            release: Arc::default(),
        });
        Self {
            router: service.router(false),
            key: key.expose().to_owned(),
            service,
            directory,
        }
    }

    /// The same with metrics that need no key on local connections.
    pub(super) fn with_open_metrics(self) -> Self {
        Self {
            router: self.service.router(true),
            ..self
        }
    }

    /// Sends a request unchanged, and reads no more than the head of its response.
    pub(super) async fn open(&self, request: Request<Body>) -> Response {
        let served = self.router.clone().oneshot(request).await;
        served.expect("never fails")
    }

    /// The data directory.
    pub(super) fn directory(&self) -> &std::path::Path {
        self.directory.path()
    }

    /// Sends a request unchanged.
    pub(super) async fn send(&self, request: Request<Body>) -> TestResponse {
        let response = self.open(request).await;
        let (parts, body) = response.into_parts();
        let body = body.collect().await.expect("a body").to_bytes();
        TestResponse {
            status: parts.status,
            headers: parts.headers,
            body: String::from_utf8(body.to_vec()).unwrap_or_else(|_| "not UTF-8".to_owned()),
        }
    }

    /// A request with the key and the JSON content type.
    pub(super) fn request(&self, method: &str, path: &str) -> axum::http::request::Builder {
        Request::builder()
            .method(method)
            .uri(path)
            .header("authorization", format!("Bearer {}", self.key))
            .header("content-type", "application/json")
    }

    pub(super) async fn post(&self, path: &str, body: impl Into<Body>) -> TestResponse {
        self.send(
            self.request("POST", path)
                .body(body.into())
                .expect("a request"),
        )
        .await
    }

    pub(super) async fn get(&self, path: &str) -> TestResponse {
        self.send(
            self.request("GET", path)
                .body(Body::empty())
                .expect("a request"),
        )
        .await
    }

    /// Serves the interface on loopback until the runtime of the test ends.
    pub(super) async fn listen(&self) -> SocketAddr {
        let listener = tokio::net::TcpListener::bind("127.0.0.1:0")
            .await
            .expect("a port");
        let address = listener.local_addr().expect("an address");
        let service = self
            .router
            .clone()
            .into_make_service_with_connect_info::<SocketAddr>();
        tokio::spawn(async move { axum::serve(listener, service).await });
        address
    }

    /// A GET without a key from this peer.
    pub(super) async fn get_from(
        &self,
        path: &str,
        peer: &str,
        headers: &[(&str, &str)],
    ) -> TestResponse {
        let peer: SocketAddr = peer.parse().expect("an address");
        let mut request = Request::builder().uri(path).extension(ConnectInfo(peer));
        for (name, value) in headers {
            request = request.header(*name, *value);
        }
        self.send(request.body(Body::empty()).expect("a request"))
            .await
    }
}

/// A page engine without network access, with its robots.txt client.
fn page_engine(memory: &Arc<MemoryBudget>) -> (Arc<PageEngine>, Arc<Robots>, Arc<dyn Get>) {
    let egress = Egress::new(EgressConfig::default()).expect("egress");
    let fetcher = Fetcher::new(egress, FetchConfig::default());
    let politeness = Politeness::new(&PolitenessConfig::default());
    let get: Arc<dyn Get> = Arc::new(PoliteGet::new(fetcher.clone(), Arc::clone(&politeness)));
    let robots = Arc::new(Robots::new(Arc::clone(&get), "Trawl"));
    let page_engine = PageEngine {
        costs: Arc::default(),
        routing: Routing::new(fetcher, politeness, Arc::clone(&robots)),
        workers: Workers::new(),
        ai: None,
        memory: Arc::clone(memory),
        in_flight: PagesInFlight::default(),
    };
    (Arc::new(page_engine), robots, get)
}

/// A crawl service without network access: all pages fail.
fn crawls(
    (page_engine, robots, get): (Arc<PageEngine>, Arc<Robots>, Arc<dyn Get>),
    store: Arc<dyn Store>,
    billing: &Billing,
    tasks: &TaskTracker,
    data: &std::path::Path,
    storage: Storage,
) -> Crawls {
    Crawls::new(CrawlsParts {
        pipelines: Pipelines::new(Arc::clone(&page_engine), store.clone(), Clock::wall()),
        engine: page_engine,
        sitemaps: Arc::new(Sitemaps::new(get, Arc::clone(&robots))),
        robots,
        webhooks: Webhooks::new(store.clone(), Clock::wall(), WebhookLimits::default()),
        storage,
        limits: CrawlLimits {
            streaming: 20,
            ..CrawlLimits::default()
        },
        store,
        billing: billing.clone(),
        tariff: Tariff::default(),
        clock: Clock::wall(),
        logs: PageLogs::in_files(data),
        snapshot: Arc::new(Registry::empty),
        defaults: ConfiguredDefaults::default(),
        tasks: tasks.clone(),
        stop: CancellationToken::new(),
        drain_deadline: CancellationToken::new(),
    })
}

impl Service for FakeService {
    fn check_receiver<'a>(&'a self, receiver: &'a Receiver) -> BoxFuture<'a, Result<(), String>> {
        let is_private = receiver.expose().contains("private.test");
        let checked = if is_private {
            Err("host `private.test` is refused".to_owned())
        } else {
            Ok(())
        };
        Box::pin(std::future::ready(checked))
    }

    fn tabs(&self, _account: &AccountId) -> (usize, usize) {
        (7, 0)
    }

    fn is_cached(&self, plan: &PagePlan) -> bool {
        assert_ne!(plan.url.host_str(), Some(FAULTY_HOST), "a fault");
        plan.url.path() == CACHED_PATH
    }

    fn is_draining(&self) -> bool {
        self.is_draining.load(Ordering::SeqCst)
    }

    fn snapshot(&self) -> Snapshot {
        Snapshot {
            catalog: Arc::new(FakeCatalog),
            registry: Registry::empty(),
        }
    }

    /// Pages whose content is their URL. The host `panic.test` simulates a bug in the run,
    /// `slow.test` a page that waits.
    fn scrape(
        &self,
        run: NewRun,
        pages: Vec<Result<PagePlan, RefusedPage>>,
        order: Order,
    ) -> Result<Outcomes, FundsError> {
        self.begin(&run)?;
        let is_bug = |page: &Result<PagePlan, _>| {
            page.as_ref().is_ok_and(|page| page.requested == "bug.test")
        };
        assert!(!is_bug(&pages[0]), "canary of a panic");
        let mut outcomes: Vec<PageOutcome> = pages.iter().map(outcome).collect();
        if order == Order::Finish {
            outcomes.reverse();
        }
        let release = Arc::clone(&self.release);
        let finished = move |outcome: PageOutcome| {
            let release = Arc::clone(&release);
            async move {
                assert!(!outcome.url.contains("panic.test"), "canary of a panic");
                if outcome.url.contains("slow.test") {
                    release.notified().await;
                }
                outcome
            }
        };
        Ok(stream::iter(outcomes).then(finished).boxed())
    }

    fn transform(
        &self,
        run: NewRun,
        plan: TransformPlan,
    ) -> BoxFuture<'static, Result<Vec<PageOutcome>, FundsError>> {
        let text =
            |html: &[u8]| Content::One(Piece::Text(String::from_utf8_lossy(html).into_owned()));
        let outcome = |html: &[u8]| PageOutcome {
            content: text(html),
            charge: charge(),
            ..PageOutcome::default()
        };
        let outcomes = plan
            .sources
            .iter()
            .map(|source| outcome(&source.html))
            .collect();
        std::future::ready(self.begin(&run).map(|()| outcomes)).boxed()
    }

    /// Two results for words with `tides`, a failure for `broken`; otherwise no service is there.
    fn search(
        &self,
        run: NewRun,
        plan: SearchPlan,
    ) -> BoxFuture<'static, Result<SearchOutcome, SearchError>> {
        let hit = |n: u32| Hit {
            url: format!("{n}.test"),
            title: format!("Tides {n}"),
            snippet: "High and low water.".to_owned(),
            date: (n == 1).then(|| "2026-01-31".to_owned()),
            ..Hit::default()
        };
        let page = self.memory().share(run.account.id.as_str()).page();
        let mut lease = page.lease();
        lease.record(1);
        let found = if plan.text.contains("tides") {
            self.begin(&run)
                .map_err(SearchError::Funds)
                .map(|()| SearchOutcome {
                    vendor: VendorPart {
                        provider: "searxng".to_owned(),
                        route: "searxng.search".to_owned(),
                        vendor_cost: Nanodollars(5_000_000),
                        billed_cost: Nanodollars(6_000_000),
                        byok: false,
                        attempts: 1,
                    },
                    first_position: plan.first_position(plan.count),
                    hits: vec![hit(1), hit(2)],
                    charge: Charge {
                        vendor_billed: Nanodollars(6_000_000),
                        ..Charge::default()
                    },
                    without_effect: vec!["location"],
                    memory: Some(Arc::new(lease)),
                })
        } else if plan.text.contains("broken") {
            Err(SearchError::Failed(
                "searxng: it cannot be reached".to_owned(),
            ))
        } else {
            Err(SearchError::NotConfigured)
        };
        std::future::ready(found).boxed()
    }

    fn plugins_generation(&self) -> u64 {
        self.generation.load(Ordering::SeqCst)
    }

    fn plugins(&self) -> Value {
        self.n_described.fetch_add(1, Ordering::SeqCst);
        json!({"generation": self.plugins_generation(), "plugins": []})
    }

    fn is_admin(&self, key: &str) -> bool {
        key == "tra_admin"
    }

    fn key_directory(&self) -> Option<KeyDirectory> {
        let signs = self.signs_requests.load(Ordering::SeqCst);
        signs.then(|| KeyDirectory {
            document: "{\"keys\":[]}".to_owned(),
            signature_input: "sig1=()".to_owned(),
            signature: "sig1=:AA==:".to_owned(),
            age: Duration::from_secs(60),
        })
    }

    fn providers(&self) -> Value {
        json!({"providers": []})
    }

    fn offered_providers(&self) -> Value {
        json!({"providers": [{"name": "provider_1"}]})
    }

    fn health(&self) -> BoxFuture<'_, Health> {
        let health = Health {
            is_healthy: true,
            report: json!({"status": "ok"}),
        };
        std::future::ready(health).boxed()
    }
}

impl FakeService {
    /// The interface of this server.
    fn router(self: &Arc<Self>, metrics_without_key: bool) -> Router {
        let settings = Settings {
            defaults: ConfiguredDefaults::default(),
            requests_per_minute: self.per_minute,
            queries_per_account: 1,
            metrics_without_key,
            trace: TraceSettings {
                in_responses: true,
                ..TraceSettings::default()
            },
        };
        let service = Arc::clone(self) as Arc<dyn Service>;
        router(service, self.rooms.clone(), settings)
    }

    pub(super) fn rooms(&self) -> &Rooms {
        &self.rooms
    }

    pub(super) fn billing(&self) -> &Billing {
        &self.rooms.billing
    }

    pub(super) fn store(&self) -> &dyn Store {
        &*self.rooms.store
    }

    pub(super) fn crawls(&self) -> &Crawls {
        &self.rooms.crawls
    }

    pub(super) fn memory(&self) -> &Arc<MemoryBudget> {
        &self.rooms.memory
    }

    fn begin(&self, run: &NewRun) -> Result<(), FundsError> {
        assert!(!run.request_id.is_empty(), "every request has an id");
        let n_before = self.n_runs.fetch_add(1, Ordering::SeqCst);
        if n_before >= self.n_paid.load(Ordering::SeqCst) {
            return Err(FundsError::Empty);
        }
        *self.last_trace.lock().expect("a lock") = run.trace;
        self.rooms.billing.admit(&run.account.id, run.terms)
    }
}

fn charge() -> Charge {
    Charge {
        bytes_transferred: Nanodollars(1_000),
        transform: Nanodollars(1),
        ..Charge::default()
    }
}

fn outcome(plan: &Result<PagePlan, RefusedPage>) -> PageOutcome {
    match plan {
        Ok(plan) => PageOutcome {
            url: plan.url.to_string(),
            status: 200,
            content: content(&plan.output, plan.url.as_str()),
            fields: Fields {
                links: plan.output.links.then(|| json!(["https://a.com/next"])),
                ..Fields::default()
            },
            charge: charge(),
            discovered: plan.output.discover.then(|| link_to_cached(plan)),
            ..PageOutcome::default()
        },
        Err(refused) => PageOutcome::failed(&*refused.requested, refused.failure.clone()),
    }
}

fn link_to_cached(plan: &PagePlan) -> Box<Discovered> {
    let mut links = Discovered::default();
    let url = plan.url.join(CACHED_PATH).expect("a URL");
    links.push(url.as_str(), false);
    Box::new(links)
}

fn content(output: &OutputPlan, text: &str) -> Content {
    match output.formats[0].format {
        trawl_plan::Format::Empty => Content::default(),
        _ => Content::One(Piece::Text(text.to_owned())),
    }
}
