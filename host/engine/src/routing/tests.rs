use std::collections::BTreeMap;
use std::net::{IpAddr, Ipv4Addr};
use std::sync::{Arc, LazyLock};

use tokio::io::{AsyncReadExt, AsyncWriteExt};
use tokio::net::TcpListener;
use url::Url;

use trawl_billing::{Tariff, price};
use trawl_model::Nanodollars;
use trawl_model::memory::{MemoryBudget, PageMemory};
use trawl_net::egress::{Egress, EgressConfig, PoolConfig, Resolve, UpstreamProxy};
use trawl_net::fetch::{CookieJar, FetchConfig, PoliteGet};
use trawl_net::politeness::PolitenessConfig;
use trawl_plan::testing::page_plan;
use trawl_plan::{FetchPlan, Pool, RouterPlan};
use trawl_plugins::Registry;

use super::*;
use crate::page_budget::PageBudget;

static NO_BOUNDS: LazyLock<PageMemory> =
    LazyLock::new(|| MemoryBudget::unlimited().share("test").page());
static NO_PLUGINS: LazyLock<Arc<Registry>> = LazyLock::new(Registry::empty);
static BUDGET: LazyLock<PageBudget<'static>> =
    LazyLock::new(|| PageBudget::unbilled(Nanodollars::MAX));

/// A client without bounds and without plugins.
pub(super) fn unlimited_client(jar: &CookieJar) -> VisitContext<'_> {
    VisitContext {
        owner: "test",
        jar,
        memory: &NO_BOUNDS,
        page_budget: &BUDGET,
        registry: &NO_PLUGINS,
        may_pool: true,
    }
}

const BODY: &str = "a page of 20 bytes..";

/// A proxy on loopback that answers every request itself.
async fn proxy() -> Url {
    let listener = TcpListener::bind("127.0.0.1:0").await.expect("a port");
    let address = listener.local_addr().expect("a URL");
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
    Url::parse(&format!("http://{address}")).expect("a URL")
}

pub(super) fn plan(pool: Pool, url: &Url) -> PagePlan {
    let plan = page_plan(url.as_str());
    PagePlan {
        fetch: Arc::new(FetchPlan {
            pool,
            ..(*plan.fetch).clone()
        }),
        ..plan
    }
}

#[tokio::test]
async fn a_page_through_a_pool_carries_its_price_to_the_bill() {
    let (proxy, max_cost) = (proxy().await, Nanodollars(8_000_000_000));
    let upstream = UpstreamProxy {
        url: proxy.clone(),
        country: None,
        resolve: Resolve::default(),
    };
    let pool = PoolConfig {
        proxies: vec![upstream],
        price_per_gigabyte: max_cost,
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
    let fetcher = Fetcher::new(egress.expect("egress"), FetchConfig::default());
    let politeness = PolitenessConfig {
        in_flight_per_host: 4,
    };
    let politeness = Politeness::new(&politeness);
    let get = Arc::new(PoliteGet::new(fetcher.clone(), Arc::clone(&politeness)));
    let robots = Arc::new(Robots::new(get, "Trawl"));
    let routing = Routing::new(fetcher, politeness, robots);
    let url = Url::parse("http://site.example/").expect("a URL");

    let plan_through = plan(Pool::Residential, &url);
    let admission = Arc::new(routing.admission(&plan_through.fetch));
    let served = routing
        .serve(
            &plan_through,
            &admission,
            unlimited_client(&CookieJar::new()),
        )
        .await
        .expect("served");
    assert_eq!(served.page.body, BODY.as_bytes());
    let charge = price(&served.usage, &Tariff::default());
    assert_eq!(charge.bytes_transferred, Nanodollars(20 * 9));
}

#[test]
fn providers_have_time_of_their_own_unless_the_page_is_bounded() {
    let seconds = Duration::from_secs;
    let of = |time: Duration| {
        let plan = page_plan("http://site.example/");
        let router = RouterPlan {
            mode: RouterMode::Fallback,
            time,
            ..RouterPlan::default()
        };
        let fetch = FetchPlan {
            timeout: seconds(30),
            ..(*plan.fetch).clone()
        };
        let plan = PagePlan {
            router: Arc::new(router),
            fetch: Arc::new(fetch),
            ..plan
        };
        let PageTimes { own, provider, .. } = PageTimes::of(&plan);
        (own, provider, plan.time_max())
    };
    assert_eq!(of(seconds(240)), (seconds(30), seconds(240), seconds(270)));
    assert_eq!(of(Duration::ZERO), (seconds(15), seconds(15), seconds(30)));
}
