//! What the proxy refuses.

use std::collections::BTreeMap;
use std::net::{IpAddr, Ipv4Addr};

use tokio::io::AsyncWriteExt;

use trawl_model::Cause;

use super::*;

/// Spellings of IP addresses that are not public, and names of loopback.
const PRIVATE_HOSTS: &[&str] = &[
    "127.0.0.1",
    "127.1",
    "2130706433",
    "0x7f000001",
    "0x7f.0.0.1",
    "0177.0.0.1",
    "017700000001",
    "127.0.0.1.",
    "0",
    "0.0.0.0",
    "[::]",
    "[::1]",
    "[::ffff:127.0.0.1]",
    "[::FFFF:7F00:1]",
    "[::127.0.0.1]",
    "[64:ff9b::127.0.0.1]",
    "[64:ff9b:1::127.0.0.1]",
    "[2002:7f00:1::]",
    "[2001::1]",
    "[fd00:ec2::254]",
    "[fe80::1]",
    "[ff02::1]",
    "169.254.169.254",
    "0xa9fea9fe",
    "100.100.100.200",
    "168.63.129.16",
    "10.0.0.1",
    "172.16.0.1",
    "192.168.1.1",
    "224.0.0.1",
    "255.255.255.255",
    "localhost",
    "LOCALHOST",
    "localhost.",
    "a.localhost",
];

#[tokio::test]
async fn every_spelling_of_a_private_ip_address_is_refused() {
    let site = Site::echo().await;
    let channel = open(EgressConfig::default(), ProxyLimits::default()).await;
    let port = site.address.port();
    for host in PRIVATE_HOSTS {
        let (_, head) = connect(&channel, &format!("{host}:{port}")).await;
        assert!(head.starts_with("HTTP/1.1 403"), "{host}: {head}");
        let line = format!("GET http://{host}:{port}/");
        let response = exchange(&channel, &line, "").await;
        assert!(response.starts_with("HTTP/1.1 403"), "{host}: {response}");
        assert!(
            response.contains("it has no public IP address"),
            "{response}"
        );
        let refused = channel.refused().pop().expect("a refusal");
        assert_eq!(refused.cause, Cause::PrivateAddress, "{host}");
        assert!(
            refused.destination.ends_with(&format!(":{port}")),
            "{refused:?}"
        );
    }
    // Spellings that are not valid in a request line, and hosts with user information.
    for host in [
        "%31%32%37.0.0.1",
        "１２７.０.０.１",
        "[fe80::1%25eth0]",
        "user:pass@127.0.0.1",
        "8.8.8.8@127.0.0.1",
    ] {
        for line in [
            format!("CONNECT {host}:{port}"),
            format!("GET http://{host}:{port}/"),
        ] {
            let response = exchange(&channel, &line, "").await;
            let is_refused = ["HTTP/1.1 400", "HTTP/1.1 403"]
                .iter()
                .any(|start| response.starts_with(start));
            assert!(is_refused, "{line}: {response}");
        }
    }
    assert_eq!(site.connections(), 0);
    assert_eq!((channel.sent_bytes(), channel.received_bytes()), (0, 0));
}

#[tokio::test]
async fn invalid_proxy_requests_are_refused() {
    let site = Site::echo().await;
    let channel = open(loopback(), ProxyLimits::default()).await;
    let at = site.address;
    for line in [
        "GET /".to_owned(),
        "OPTIONS *".to_owned(),
        format!("GET https://{at}/"),
        format!("GET ws://{at}/"),
        format!("GET ftp://{at}/"),
        "GET file:///etc/passwd".to_owned(),
        "GET chrome://version".to_owned(),
        format!("CONNECT http://{at}/"),
        "CONNECT 127.0.0.1".to_owned(),
        "CONNECT 127.0.0.1:0".to_owned(),
        "CONNECT 127.0.0.1:99999".to_owned(),
        "CONNECT :80".to_owned(),
    ] {
        let response = exchange(&channel, &line, "").await;
        let is_refused = ["HTTP/1.1 400", "HTTP/1.1 403"]
            .iter()
            .any(|start| response.starts_with(start));
        assert!(is_refused, "{line}: {response}");
    }
    assert_eq!(site.connections(), 0);
}

#[tokio::test]
async fn requests_without_the_password_are_refused() {
    let site = Site::echo().await;
    let egress = Egress::new(loopback()).expect("egress");
    let channel = open_at(&egress, ProxyLimits::default()).await;
    let other = open_at(&egress, ProxyLimits::default()).await;
    assert_ne!(channel.credentials(), other.credentials());
    let bearer = authorization(&channel).replace("Basic", "Bearer");
    for proof in [
        "",
        "Proxy-Authorization: Basic\r\n",
        "Proxy-Authorization: Basic cGFnZTo=\r\n",
        "Proxy-Authorization: Basic \u{0}\r\n",
        "Authorization: Basic cGFnZTo=\r\n",
        bearer.as_str(),
        authorization(&other).as_str(),
    ] {
        for line in [
            format!("CONNECT {}", site.address),
            format!("GET {}", site.url("/")),
            "GET http://sample.trawl.test/".to_owned(),
        ] {
            let mut stream = dial(&channel).await;
            let request = format!("{line} HTTP/1.1\r\nConnection: close\r\n{proof}\r\n");
            stream.write_all(request.as_bytes()).await.expect("sent");
            let response = read_all(&mut stream).await;
            let is_refused = ["HTTP/1.1 407", "HTTP/1.1 400"]
                .iter()
                .any(|start| response.starts_with(start));
            assert!(is_refused, "{line} {proof}: {response}");
        }
    }
    assert_eq!(site.connections(), 0);
    assert!(
        channel.refused().is_empty(),
        "unauthenticated requests are not the page's"
    );
}

#[tokio::test]
async fn a_browser_authenticates_on_the_same_connection() {
    let (echo, _task) = plain_echo().await;
    let channel = open(loopback(), ProxyLimits::default()).await;
    let mut stream = dial(&channel).await;
    let ask = format!("CONNECT {echo} HTTP/1.1\r\nHost: {echo}\r\n");
    stream
        .write_all(format!("{ask}\r\n").as_bytes())
        .await
        .expect("sent");
    let head = read_head(&mut stream).await.to_lowercase();
    assert!(head.starts_with("http/1.1 407"), "{head}");
    assert!(
        head.contains("proxy-authenticate: basic realm=\"trawl\"\r\n"),
        "{head}"
    );
    let length = head.split_once("content-length: ").expect("a length").1;
    let length = length
        .lines()
        .next()
        .expect("a line")
        .parse()
        .expect("a number");
    let mut body = vec![0; length];
    stream.read_exact(&mut body).await.expect("a body");
    let request = format!("{ask}{}\r\n", authorization(&channel));
    stream.write_all(request.as_bytes()).await.expect("sent");
    let head = read_head(&mut stream).await;
    assert!(head.starts_with("HTTP/1.1 200"), "{head}");
}

#[tokio::test]
async fn own_listeners_are_refused_and_so_is_the_channel() {
    let site = Site::echo().await;
    let egress = Egress::new(EgressConfig {
        allow_private: AllowList::parse(["0.0.0.0/0", "::/0"]).expect("ranges"),
        ..EgressConfig::default()
    })
    .expect("egress");
    egress.refuse_listener(site.address);
    let channel = open_at(&egress, ProxyLimits::default()).await;
    let other = open_at(&egress, ProxyLimits::default()).await;
    for target in [site.address, channel.address(), other.address()] {
        for host in ["127.0.0.1", "0.0.0.0", "[::ffff:127.0.0.1]", "0x7f.1"] {
            let (_, head) = connect(&channel, &format!("{host}:{}", target.port())).await;
            assert!(head.starts_with("HTTP/1.1 403"), "{host}: {head}");
        }
    }
    let refused = channel.refused().pop().expect("a refusal");
    assert!(
        refused.reason.contains("this service itself"),
        "{refused:?}"
    );
    assert_eq!(site.connections(), 0);
    channel.close().await;
    drop(other);
    tokio::time::timeout(PATIENCE, async {
        while egress.own_listeners.load().len() > 1 {
            tokio::time::sleep(Duration::from_millis(5)).await;
        }
    })
    .await
    .expect("the listeners of closed channels are removed");
}

#[tokio::test]
async fn only_the_private_ip_address_of_a_name_is_dropped() {
    let (echo, _task) = plain_echo().await;
    let v4 = |a, b, c, d| IpAddr::from(Ipv4Addr::new(a, b, c, d));
    let hosts = [
        ("mixed.example", vec![v4(10, 0, 0, 1), v4(127, 0, 0, 1)]),
        ("bad.example", vec![v4(10, 0, 0, 1), v4(169, 254, 169, 254)]),
    ];
    let hosts = hosts.map(|(name, addresses)| (name.to_owned(), addresses));
    let config = EgressConfig {
        hosts: BTreeMap::from(hosts),
        ..loopback()
    };
    let channel = open(config, ProxyLimits::default()).await;
    let (_, head) = connect(&channel, &format!("mixed.example:{}", echo.port())).await;
    assert!(head.starts_with("HTTP/1.1 200"), "{head}");
    let (_, head) = connect(&channel, "BAD.example:443").await;
    assert!(head.starts_with("HTTP/1.1 403"), "{head}");
    let refused = channel.refused();
    assert_eq!(refused.len(), 1);
    assert_eq!(refused[0].destination, "bad.example:443");
    assert_eq!(
        refused[0].reason,
        "host `bad.example` is refused: it has no public IP address; the operator of the server can allow it with `--allow-private RANGE`"
    );
}

#[tokio::test]
async fn unreached_destinations_are_reported_with_their_reason() {
    let closed = TcpListener::bind("127.0.0.1:0").await.expect("a port");
    let closed_port = closed.local_addr().expect("a bound listener");
    drop(closed);
    let channel = open(loopback(), ProxyLimits::default()).await;
    let (_, head) = connect(&channel, &closed_port.to_string()).await;
    assert!(head.starts_with("HTTP/1.1 502"), "{head}");
    let response = exchange(&channel, &format!("GET http://{closed_port}/"), "").await;
    assert!(response.starts_with("HTTP/1.1 502"), "{response}");
    let refused = channel.refused();
    assert_eq!(
        refused.len(),
        1,
        "a repeated destination is reported once: {refused:?}"
    );
    assert_eq!(
        (refused[0].cause, refused[0].reason.as_str()),
        (Cause::ConnectionRefused, "the connection was refused")
    );
}

#[tokio::test]
async fn the_number_of_refusals_is_bounded() {
    let channel = open(EgressConfig::default(), ProxyLimits::default()).await;
    for port in 1..=70 {
        let (_, head) = connect(&channel, &format!("127.0.0.1:{port}")).await;
        assert!(head.starts_with("HTTP/1.1 403"), "{head}");
    }
    let refused = channel.refused();
    assert_eq!(refused.len(), 64);
    assert_eq!(
        refused[63].destination, "127.0.0.1:70",
        "the newest is reported"
    );
}
