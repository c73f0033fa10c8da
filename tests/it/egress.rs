//! Egress: threats 1 to 3.

use std::collections::BTreeMap;
use std::net::{IpAddr, Ipv4Addr, SocketAddr};
use std::sync::Arc;
use std::time::{Duration, Instant};

use http::Method;
use tokio::net::TcpListener;
use tokio::task::JoinHandle;
use trawl_model::Nanodollars;
use trawl_net::egress::{
    AllowList, Egress, EgressConfig, EgressError, PoolConfig, Reply, Resolve, Route, SAMPLE_HOST,
    UpstreamProxy, on_behalf_of,
};
use trawl_plan::Pool;
use trawl_tests::{FakeNameServer, FakeSite};

use crate::fetch::{Run, loopback, plan};

fn get(url: &str) -> reqwest::Request {
    reqwest::Request::new(Method::GET, url.parse().expect("a URL"))
}

#[tokio::test]
async fn every_spelling_of_a_private_address_is_refused() {
    let site = FakeSite::start().await;
    let run = Run::new(EgressConfig::default());
    let port = site.address.port();
    for host in [
        "127.0.0.1",
        "127.1",
        "127.0.1",
        "2130706433",
        "0x7f000001",
        "0x7f.0.0.1",
        "0177.0.0.1",
        "017700000001",
        "127.0.0.1.",
        "0",
        "0.0.0.0",
        "127.127.127.127",
        "%31%32%37.0.0.1",
        "１２７.０.０.１",
        "①②⑦.⓪.⓪.①",
        "127。0。0。1",
        "user:pass@127.0.0.1",
        "8.8.8.8@127.0.0.1",
        "[::]",
        "[::1]",
        "[0:0:0:0:0:0:0:1]",
        "[::ffff:127.0.0.1]",
        "[::FFFF:7F00:1]",
        "[::127.0.0.1]",
        "[64:ff9b::127.0.0.1]",
        "[64:ff9b:1::127.0.0.1]",
        "[2002:7f00:1::]",
        "[2001::1]",
        "[fd00:ec2::254]",
        "[fe80::1]",
        "[fec0::1]",
        "[ff02::1]",
        "[::ffff:0:127.0.0.1]",
        "169.254.169.254",
        "0xa9fea9fe",
        "2852039166",
        "100.100.100.200",
        "168.63.129.16",
        "192.0.0.192",
        "10.0.0.1",
        "172.16.0.1",
        "192.168.1.1",
        "198.18.0.1",
        "224.0.0.1",
        "255.255.255.255",
        "localhost",
        "LOCALHOST",
        "localhost.",
        "a.localhost",
        "ｌｏｃａｌｈｏｓｔ",
    ] {
        let (status, message) = run
            .failure(&format!("http://{host}:{port}/page"), &plan())
            .await;
        assert_eq!(status, 526, "{host}: {message}");
    }
    assert_eq!(site.connections(), 0);
}

#[tokio::test]
async fn an_ipv6_zone_is_not_a_valid_host() {
    for text in [
        "http://[fe80::1%25eth0]/",
        "http://[fe80::1%eth0]/",
        "http://[::1%lo]/",
    ] {
        assert!(text.parse::<url::Url>().is_err(), "{text}");
    }
}

#[tokio::test]
async fn each_hop_of_a_redirect_is_checked() {
    let site = FakeSite::start().await;
    let run = Run::new(loopback());
    for target in [
        "http://127.0.0.2/",
        "http://[::1]/",
        "http://169.254.169.254/latest/",
        "http://0/",
        "//10.0.0.1/",
        "http://2130706434/",
        "file:///etc/passwd",
        "data:text/html,x",
        "ftp://127.0.0.1/",
        "gopher://a/",
        "javascript:alert(1)",
        "about:blank",
        "blob:http://a/b",
        "chrome://version",
        "view-source:http://a/",
    ] {
        let (status, message) = run
            .failure(&site.url(&format!("/to?{target}")), &plan())
            .await;
        assert_eq!(status, 526, "{target}: {message}");
        assert!(message.contains("refused"), "{target}: {message}");
    }
}

#[tokio::test]
async fn other_schemes_than_http_are_refused() {
    let run = Run::new(loopback());
    for (url, scheme) in [
        ("file:///etc/passwd", "file"),
        ("data:text/html,x", "data"),
        ("ftp://example.com/", "ftp"),
        ("javascript:1", "javascript"),
        ("ws://example.com/", "ws"),
        ("blob:http://a/b", "blob"),
    ] {
        let (status, message) = run.failure(url, &plan()).await;
        assert_eq!(
            (status, message),
            (
                526,
                format!("scheme `{scheme}` is refused: use `http` or `https`")
            )
        );
    }
}

#[tokio::test]
async fn the_checked_address_is_the_one_connected_to() {
    let site = FakeSite::start().await;
    let rebinding = vec![
        vec![Ipv4Addr::LOCALHOST],
        vec![Ipv4Addr::new(169, 254, 169, 254)],
    ];
    let names = FakeNameServer::start(rebinding).await;
    let run = Run::new(EgressConfig {
        name_servers: vec![names.address],
        ..loopback()
    });
    let url = format!("http://rebind.example:{}/page", site.address.port());
    let fetched = run.fetch(&url, &plan()).await.expect("a page");
    assert_eq!(fetched.page.status, 200);
    assert_eq!(names.questions(), 1, "one lookup per hop");
    let (status, _) = run.failure(&url, &plan()).await;
    assert_eq!(status, 526, "the next page is resolved again");
}

#[tokio::test]
async fn only_private_addresses_of_a_name_are_dropped() {
    let site = FakeSite::start().await;
    let both = vec![Ipv4Addr::new(10, 0, 0, 1), Ipv4Addr::LOCALHOST];
    let names = FakeNameServer::start(vec![both]).await;
    let run = Run::new(EgressConfig {
        name_servers: vec![names.address],
        ..loopback()
    });
    let url = format!("http://mixed.example:{}/page", site.address.port());
    assert_eq!(
        run.fetch(&url, &plan()).await.expect("a page").page.status,
        200
    );
}

#[tokio::test]
async fn name_resolution_has_a_timeout_of_its_own() {
    let names = FakeNameServer::start(vec![]).await;
    let run = Run::new(EgressConfig {
        name_servers: vec![names.address],
        lookup_time_max: Duration::from_millis(200),
        ..loopback()
    });
    let start = Instant::now();
    let (status, message) = run.failure("http://slow.example/", &plan()).await;
    assert_eq!(status, 525, "{message}");
    assert!(start.elapsed() < Duration::from_secs(5));
}

#[tokio::test]
async fn a_name_without_addresses_is_an_error() {
    let names = FakeNameServer::start(vec![vec![]]).await;
    let run = Run::new(EgressConfig {
        name_servers: vec![names.address],
        ..loopback()
    });
    let (status, message) = run.failure("http://nothing.example/", &plan()).await;
    assert_eq!(
        (status, message.as_str()),
        (
            525,
            "host `nothing.example` cannot be resolved: it has no IP address, check the spelling"
        )
    );
}

#[tokio::test]
async fn the_servers_own_listeners_are_always_refused() {
    let (own, other) = (FakeSite::start().await, FakeSite::start().await);
    let egress = Egress::new(EgressConfig {
        allow_private: AllowList::parse(["0.0.0.0/0", "::/0"]).expect("ranges"),
        grants: vec![own.url("/").parse().expect("a URL")],
        ..EgressConfig::default()
    })
    .expect("an egress");
    egress.refuse_listener(own.address);
    for host in [
        "127.0.0.1",
        "localhost",
        "0.0.0.0",
        "[::]",
        "[::ffff:127.0.0.1]",
        "0x7f.1",
    ] {
        let url = format!("http://{host}:{}/page", own.address.port());
        let sent = egress.send(get(&url), &Route::default()).await;
        // `localhost` keeps its other IP address, where nothing listens.
        let is_refused = matches!(sent, Err(EgressError::OwnListener(_)))
            || host == "localhost" && sent.is_err();
        assert!(is_refused, "{host}: {sent:?}");
    }
    assert!(matches!(
        egress.send_granted(get(&own.url("/page"))).await,
        Err(EgressError::OwnListener(_))
    ));
    assert_eq!(own.connections(), 0);
    assert!(
        egress
            .send(get(&other.url("/page")), &Route::default())
            .await
            .is_ok()
    );
}

/// A host that accepts connections and says nothing.
async fn silent_host() -> (SocketAddr, JoinHandle<()>) {
    let listener = TcpListener::bind("127.0.0.1:0").await.expect("a port");
    let address = listener.local_addr().expect("a bound listener");
    let task = tokio::spawn(async move {
        let mut connections = Vec::new();
        while let Ok(connection) = listener.accept().await {
            connections.push(connection);
        }
    });
    (address, task)
}

/// Sends a request on behalf of an account.
async fn send_for(egress: &Egress, account: &str, url: &str) -> Result<Reply, EgressError> {
    let sending = async { egress.send(get(url), &egress.route("standard", None)).await };
    on_behalf_of(account, sending).await
}

#[tokio::test]
async fn an_account_whose_connections_hang_keeps_no_other_waiting_for_one() {
    let config = EgressConfig {
        connections_max: 16,
        ..loopback()
    };
    let egress = Egress::new(config).expect("egress");
    let (silent, accepting) = silent_host().await;
    let mut hanging = tokio::task::JoinSet::new();
    for n in 0..100 {
        let egress = Arc::clone(&egress);
        let url = format!("http://{silent}/{n}");
        hanging.spawn(async move { drop(send_for(&egress, "greedy", &url).await) });
    }
    let all_wait = || egress.connections().n_used + egress.connections().n_waiting == 100;
    poll_until(all_wait).await;
    assert_eq!(egress.connections().n_used, 14, "two are left");
    let site = FakeSite::start().await;
    for _ in 0..3 {
        let url = site.url("/page");
        let sent = send_for(&egress, "other", &url);
        let reply = tokio::time::timeout(Duration::from_secs(5), sent).await;
        assert_eq!(reply.expect("at once").expect("a page").status(), 200);
    }
    assert_eq!(egress.connections().n_permits, 16);
    hanging.shutdown().await;
    poll_until(|| egress.connections().n_used == 0).await;
    accepting.abort();
}

#[tokio::test]
async fn idle_connections_keep_nobody_waiting() {
    let config = EgressConfig {
        connections_max: 8,
        ..loopback()
    };
    let egress = Egress::new(config).expect("egress");
    let begun = Instant::now();
    for _ in 0..20 {
        let site = FakeSite::start().await;
        let reply = send_for(&egress, "one", &site.url("/page")).await;
        let mut reply = reply.expect("a page");
        while reply.chunk().await.expect("a body").is_some() {}
    }
    // Idle connections are kept for 15 seconds.
    assert!(begun.elapsed() < Duration::from_secs(10));
    assert!(egress.connections().n_used <= 8);
}

async fn poll_until(is_so: impl Fn() -> bool) {
    let deadline = Instant::now() + Duration::from_secs(20);
    while !is_so() {
        assert!(Instant::now() < deadline, "not in time");
        tokio::time::sleep(Duration::from_millis(10)).await;
    }
}

#[tokio::test]
async fn ports_of_other_protocols_are_refused_except_where_the_operator_allows_the_address() {
    let run = Run::new(EgressConfig::default());
    for url in [
        "http://8.8.8.8:25/",
        "http://8.8.8.8:6667/",
        "https://[2606:4700::1]:22/",
    ] {
        let (status, message) = run.failure(url, &plan()).await;
        assert_eq!(status, 526, "{url}: {message}");
        assert!(message.contains("another protocol"), "{message}");
    }
    // Nothing listens there, so it is refused by the machine and not by a rule.
    let run = Run::new(loopback());
    let (_, message) = run.failure("http://127.0.0.1:6667/", &plan()).await;
    assert!(message.contains("connection was refused"), "{message}");
}

#[tokio::test]
async fn addresses_that_the_operator_names_as_the_servers_own_are_refused() {
    let site = FakeSite::start().await;
    let own = |text: &str| EgressConfig {
        own_addresses: vec![text.parse().expect("an address")],
        ..loopback()
    };
    let url = site.url("/page");
    for text in ["127.0.0.1", "::ffff:127.0.0.1", &site.address.to_string()] {
        let (status, message) = Run::new(own(text)).failure(&url, &plan()).await;
        assert_eq!(status, 526, "{text}: {message}");
        assert!(message.contains("this service itself"), "{message}");
    }
    assert_eq!(site.connections(), 0);
    let other_port = Run::new(own("127.0.0.1:1"));
    let fetched = other_port.fetch(&url, &plan()).await.expect("a page");
    assert_eq!(fetched.page.status, 200);
}

#[tokio::test]
async fn a_granted_address_is_reachable_for_the_operator_only() {
    let site = FakeSite::start().await;
    let egress = Egress::new(EgressConfig {
        grants: vec![site.url("/").parse().expect("a URL")],
        ..EgressConfig::default()
    })
    .expect("an egress");
    assert!(egress.send_granted(get(&site.url("/page"))).await.is_ok());
    let by_caller = egress
        .send(get(&site.url("/page")), &Route::default())
        .await;
    assert!(matches!(by_caller, Err(EgressError::NotPublic(_))));
    let elsewhere = egress.send_granted(get("http://127.0.0.1:1/")).await;
    assert!(matches!(elsewhere, Err(EgressError::NotGranted(_))));
}

#[tokio::test]
async fn the_sample_site_needs_no_network_and_no_permission() {
    let run = Run::new(EgressConfig::default());
    for (url, status) in [
        ("https://sample.trawl.test/", 200),
        ("http://sample.trawl.test/none", 404),
    ] {
        let fetched = run.fetch(url, &plan()).await.expect("a page");
        assert_eq!(fetched.page.status, status);
        assert_eq!(fetched.page.final_url.host_str(), Some(SAMPLE_HOST));
        assert!(fetched.page.body.starts_with(b"<!DOCTYPE html>"));
    }
}

fn proxied(proxy: &FakeSite) -> EgressConfig {
    let upstream = UpstreamProxy {
        url: format!("http://u:p@{}", proxy.address)
            .parse()
            .expect("an address"),
        country: Some("DE".to_owned()),
        resolve: Resolve::default(),
    };
    let pool = PoolConfig {
        proxies: vec![upstream],
        price_per_gigabyte: Nanodollars(4_000_000_000),
    };
    let public = IpAddr::from([93, 184, 216, 34]);
    EgressConfig {
        pools: BTreeMap::from([("isp".to_owned(), pool)]),
        hosts: BTreeMap::from([("shop.example".to_owned(), vec![public])]),
        ..EgressConfig::default()
    }
}

#[tokio::test]
async fn a_proxy_pool_fetches_the_page_and_reports_its_price() {
    let proxy = FakeSite::start().await;
    let run = Run::new(proxied(&proxy));
    let mut plan = plan();
    plan.pool = Pool::Residential;
    plan.country_code = Some("DE".to_owned());
    let fetched = run
        .fetch("http://shop.example/echo", &plan)
        .await
        .expect("a page");
    let head = &proxy.requests()[0];
    assert!(
        head.starts_with("GET http://shop.example/echo HTTP/1.1"),
        "{head}"
    );
    assert!(head.contains("proxy-authorization: Basic dTpw"), "{head}");
    let pool = fetched.pool.expect("a pool");
    assert_eq!(
        (pool.name.as_str(), pool.price_per_gigabyte),
        ("isp", Nanodollars(4_000_000_000))
    );
    assert_eq!(
        fetched.ignored,
        ["proxy (residential is not configured; isp was used)"]
    );
}

#[tokio::test]
async fn a_private_target_is_refused_before_the_proxy_is_contacted() {
    let proxy = FakeSite::start().await;
    let run = Run::new(proxied(&proxy));
    let mut plan = plan();
    plan.pool = Pool::Isp;
    for url in [
        "http://169.254.169.254/",
        "http://localhost/",
        "http://[::1]/",
    ] {
        assert_eq!(run.failure(url, &plan).await.0, 526, "{url}");
    }
    assert_eq!(proxy.connections(), 0);
    let (status, message) = run.failure("https://shop.example/", &plan).await;
    assert_eq!(status, 526, "{message}");
    assert!(!message.contains(&proxy.address.to_string()), "{message}");
}
