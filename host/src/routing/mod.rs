//! Which routes may serve a page, in what order, and trying them: the first that serves wins.
//!
//! A mode of a request (`smart`, `http`, `browser`) is a list of routes, never a copy of the loop.

mod cached;
mod own_http;

use std::sync::Arc;
use std::time::Duration;

use cached::Got;
pub use cached::Keeping;
use serde_json::{Map, Value};
use url::Url;

use crate::cache::PageCache;
use crate::fetch::{CookieJar, Fetched, Fetcher};
use crate::model::failure::status;
use crate::model::{FetchedPage, Nanodollars, PageFailure};
use crate::plan::{Engine, PagePlan};
use crate::politeness::Politeness;
use crate::robots::Robots;
use own_http::OwnHttp;

pub use own_http::RETRIES_MAX;

/// One way to get a page.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Route {
    /// Plain HTTP through our own stack.
    Http,
    /// A headless browser of our own.
    Browser,
}

/// A page and how it was got.
#[derive(Clone, Debug)]
pub struct Served {
    /// The page.
    pub page: FetchedPage,
    /// What is told of the way in `metadata`, without being asked: `render_reason`, `cache`.
    pub told: Map<String, Value>,
    /// CPU time of undoing content codings.
    pub decode_time: Duration,
    /// What a gigabyte (10^9 bytes) through the pool that carried the page costs, on top of the ordinary price.
    pub pool_price: Nanodollars,
    /// How long the page waited for its turn without losing time of its own, at most the `patience` of its plan.
    pub waited: Duration,
    /// Whether a page that was kept served, so that no content was transferred.
    pub is_kept: bool,
    /// What is to be kept of the page for others, once it is paid for.
    pub keeping: Option<Keeping>,
}

/// What the routes run on.
pub struct Routing {
    fetcher: Fetcher,
    own_http: OwnHttp,
    cache: Option<Arc<PageCache>>,
}

/// Routes of a request mode, in the order they are tried. Spec: Request parameters, `request`.
fn routes(engine: Engine) -> &'static [Route] {
    match engine {
        // Until a browser room exists, `smart` has one route and says so.
        Engine::Smart | Engine::Http => &[Route::Http],
        Engine::Browser => &[Route::Browser],
    }
}

/// Why `smart` did not use a browser. Decisions: Modes.
const NO_BROWSER: &str = "no browser is installed, so the page is the plain HTTP result";

impl Routing {
    /// Routing over this fetcher, at this pace, where robots.txt allows it for those who ask.
    pub fn new(fetcher: Fetcher, politeness: Arc<Politeness>, robots: Arc<Robots>) -> Self {
        Self {
            own_http: OwnHttp::new(fetcher.clone(), politeness, robots),
            fetcher,
            cache: None,
        }
    }

    /// The same, with a page cache before its routes.
    #[must_use]
    pub fn with_cache(self, cache: Option<Arc<PageCache>>) -> Self {
        Self { cache, ..self }
    }

    /// Gets a page by the first route that serves it.
    ///
    /// # Errors
    /// The failure of the last route tried. A site's own 4xx or 5xx is a served page, not an error.
    pub async fn serve(
        &self,
        plan: &PagePlan,
        url: &Url,
        jar: &CookieJar,
    ) -> Result<Served, PageFailure> {
        let mut last = PageFailure::new(status::UNKNOWN, "no route may serve this page");
        for route in routes(plan.engine) {
            let page = match route {
                Route::Http => self
                    .kept_or_http(plan, url, jar)
                    .await
                    .map_err(|error| error.failure()),
                Route::Browser => Err(PageFailure::new(
                    status::BROWSER_FAILED,
                    "no browser is installed; ask for `request: \"http\"`, or install Chromium and restart",
                )),
            };
            match page {
                Ok(Got {
                    fetched:
                        Fetched {
                            page,
                            decode_time,
                            pool,
                            waited,
                            ..
                        },
                    told: kept,
                    keeping,
                }) => {
                    let pool_price = pool.map_or(Nanodollars::ZERO, |pool| pool.price_per_gigabyte);
                    let mut told = told(plan.engine);
                    let is_kept = kept.is_some();
                    told.extend(kept.map(|kept| ("cache".to_owned(), kept)));
                    return Ok(Served {
                        page,
                        told,
                        decode_time,
                        pool_price,
                        waited,
                        is_kept,
                        keeping,
                    });
                }
                Err(failure) => last = failure,
            }
        }
        Err(last)
    }

    /// The most that a gigabyte of this page can cost on top of the ordinary price, whichever route serves it.
    pub fn pool_price_max(&self, plan: &PagePlan) -> Nanodollars {
        self.fetcher.pool_price(&plan.fetch)
    }
}

fn told(engine: Engine) -> Map<String, Value> {
    let mut told = Map::new();
    if engine == Engine::Smart {
        told.insert("rendered_by".into(), "http".into());
        told.insert("render_reason".into(), NO_BROWSER.into());
    }
    told
}

#[cfg(test)]
mod tests {
    use std::collections::BTreeMap;
    use std::net::{IpAddr, Ipv4Addr};

    use tokio::io::{AsyncReadExt, AsyncWriteExt};
    use tokio::net::TcpListener;

    use super::*;
    use crate::billing::{Tariff, price};
    use crate::egress::{Egress, EgressConfig, PoolConfig, UpstreamProxy};
    use crate::fetch::{FetchConfig, PoliteGet};
    use crate::model::Usage;
    use crate::plan::{
        CachePlan, FetchPlan, Format, FormatChoice, OutputPlan, Pace, Pool, RouterPlan,
    };
    use crate::politeness::PolitenessConfig;

    const BODY: &str = "a page of 20 bytes..";

    /// A proxy on loopback that answers every request itself.
    async fn proxy() -> Url {
        let listener = TcpListener::bind("127.0.0.1:0").await.expect("a port");
        let address = listener.local_addr().expect("an address");
        tokio::spawn(async move {
            while let Ok((mut socket, _)) = listener.accept().await {
                let mut request = [0; 4096];
                let _ = socket.read(&mut request).await;
                let answer = format!(
                    "HTTP/1.1 200 OK\r\ncontent-length: {}\r\n\r\n{BODY}",
                    BODY.len()
                );
                let _ = socket.write_all(answer.as_bytes()).await;
            }
        });
        Url::parse(&format!("http://{address}")).expect("an address")
    }

    pub(super) fn plan(pool: Pool, url: &Url) -> PagePlan {
        PagePlan {
            url: Ok(url.clone()),
            requested: url.to_string(),
            engine: Engine::Http,
            fetch: Arc::new(FetchPlan {
                timeout: Duration::from_secs(10),
                headers: Vec::new(),
                cookies: Vec::new(),
                user_agent: None,
                locale: None,
                country_code: None,
                pool,
                respect_robots: false,
                cache: CachePlan {
                    enabled: false,
                    max_age: Duration::ZERO,
                    allow_stale: false,
                },
                pace: Pace::default(),
                gate: None,
            }),
            output: Arc::new(OutputPlan {
                formats: vec![FormatChoice {
                    name: "empty".to_owned(),
                    format: Format::Empty,
                    options: Value::Null,
                }],
                single_format: true,
                filters: Vec::new(),
                extractors: BTreeMap::new(),
                metadata: false,
                links: false,
                discover: false,
                headers: false,
                cookies: false,
                chunking: None,
                max_size: None,
            }),
            ceiling: Nanodollars::MAX,
            router: RouterPlan::default(),
        }
    }

    #[tokio::test]
    async fn a_page_through_a_pool_carries_its_price_to_the_bill() {
        let (proxy, dearest) = (proxy().await, Nanodollars(8_000_000_000));
        let upstream = UpstreamProxy {
            url: proxy.clone(),
            country: None,
        };
        let pool = PoolConfig {
            proxies: vec![upstream],
            price_per_gigabyte: dearest,
        };
        let egress = Egress::new(EgressConfig {
            pools: BTreeMap::from([("residential".to_owned(), pool)]),
            grants: vec![proxy],
            hosts: BTreeMap::from([(
                "site.example".to_owned(),
                vec![IpAddr::V4(Ipv4Addr::new(93, 184, 216, 34))],
            )]),
            ..EgressConfig::default()
        });
        let fetcher = Fetcher::new(egress.expect("an open door"), FetchConfig::default());
        let politeness = PolitenessConfig {
            in_flight_per_host: 4,
        };
        let politeness = Politeness::new(&politeness);
        let get = Arc::new(PoliteGet::new(fetcher.clone(), Arc::clone(&politeness)));
        let robots = Arc::new(Robots::new(get, "Trawl"));
        let routing = Routing::new(fetcher, politeness, robots);
        let url = Url::parse("http://site.example/").expect("an address");

        let plan_through = plan(Pool::Residential, &url);
        assert_eq!(routing.pool_price_max(&plan_through), dearest);
        assert_eq!(
            routing.pool_price_max(&plan(Pool::Standard, &url)),
            Nanodollars::ZERO
        );
        let served = routing
            .serve(&plan_through, &url, &CookieJar::new())
            .await
            .expect("served");
        assert_eq!(served.page.body, BODY.as_bytes());
        let usage = Usage {
            content_bytes: served.page.body.len() as u64,
            pool_price: served.pool_price,
            ..Usage::default()
        };
        let charge = price(&usage, &Tariff::default());
        assert_eq!(charge.bytes_transferred, Nanodollars(20 * 9));
    }
}
