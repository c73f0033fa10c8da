use super::*;

fn ip(text: &str) -> IpAddr {
    text.parse().expect("an IP address")
}

const SPECIAL_V4_EXAMPLES: &[&str] = &[
    "0.0.0.0",
    "0.1.2.3",
    "10.0.0.1",
    "10.255.255.255",
    "100.64.0.1",
    "100.100.100.200",
    "100.127.255.255",
    "127.0.0.1",
    "127.255.255.254",
    "168.63.129.16",
    "169.254.169.254",
    "172.16.0.1",
    "172.31.255.255",
    "192.0.0.1",
    "192.0.0.8",
    "192.0.0.170",
    "192.0.2.1",
    "192.88.99.1",
    "192.168.0.1",
    "198.18.0.1",
    "198.19.255.255",
    "198.51.100.7",
    "203.0.113.9",
    "224.0.0.1",
    "239.255.255.255",
    "240.0.0.1",
    "255.255.255.255",
];

const SPECIAL_V6_EXAMPLES: &[&str] = &[
    "::",
    "::1",
    "::127.0.0.1",
    "::8.8.8.8",
    "::ffff:127.0.0.1",
    "::ffff:10.0.0.1",
    "::ffff:0:127.0.0.1",
    "64:ff9b::7f00:1",
    "64:ff9b::a9fe:a9fe",
    "64:ff9b::10.0.0.1",
    "64:ff9b:1::1",
    "64:ff9b:1::8.8.8.8",
    "100::1",
    "100:0:0:1::1",
    "2001::1",
    "2001:0:4136:e378:8000:63bf:3fff:fdd2",
    "2001:2::1",
    "2001:10::1",
    "2001:db8::1",
    "2002:7f00:1::1",
    "2002:a00:1::",
    "2002:a9fe:a9fe::1",
    "3fff::1",
    "3fff:fff::1",
    "4000::1",
    "5f00::1",
    "fc00::1",
    "fd00:ec2::254",
    "fd12:3456::1",
    "fe80::1",
    "febf::1",
    "fec0::1",
    "ff02::1",
    "ff0e::1",
];

#[test]
fn special_ranges_are_refused() {
    for text in SPECIAL_V4_EXAMPLES {
        assert!(!is_global(ip(text)), "{text}");
    }
    for text in SPECIAL_V6_EXAMPLES {
        assert!(!is_global(ip(text)), "{text}");
    }
}

const PUBLIC_V4_EXAMPLES: &[&str] = &[
    "1.1.1.1",
    "8.8.8.8",
    "9.255.255.255",
    "11.0.0.0",
    "93.184.216.34",
    "100.63.255.255",
    "100.128.0.0",
    "126.255.255.255",
    "128.0.0.1",
    "168.63.129.15",
    "169.253.255.255",
    "172.15.255.255",
    "172.32.0.0",
    "192.0.0.9",
    "192.0.0.10",
    "192.0.1.0",
    "192.0.3.0",
    "192.31.196.1",
    "192.52.193.1",
    "192.167.255.255",
    "192.169.0.0",
    "192.175.48.1",
    "198.17.255.255",
    "198.20.0.0",
    "203.0.112.255",
    "223.255.255.255",
];

const PUBLIC_V6_EXAMPLES: &[&str] = &[
    "::ffff:8.8.8.8",
    "64:ff9b::8.8.8.8",
    "2001:1::1",
    "2001:3::1",
    "2001:4:112::1",
    "2001:20::1",
    "2001:30::1",
    "2001:200::1",
    "2001:4860:4860::8888",
    "2002:808:808::1",
    "2606:4700:4700::1111",
    "2620:4f:8000::1",
    "2a00:1450::1",
    "3ffe::1",
];

#[test]
fn public_ranges_are_allowed() {
    for text in PUBLIC_V4_EXAMPLES {
        assert!(is_global(ip(text)), "{text}");
    }
    for text in PUBLIC_V6_EXAMPLES {
        assert!(is_global(ip(text)), "{text}");
    }
}

#[test]
fn an_allow_list_allows_only_its_ranges() {
    let allow = AllowList::parse(["127.0.0.1/32", " fd00::/8", "10.1.2.3"]).expect("ranges");
    for text in ["127.0.0.1", "::ffff:127.0.0.1", "fd12::1", "10.1.2.3"] {
        assert!(allow.contains(ip(text)), "{text}");
    }
    for text in ["127.0.0.2", "::1", "fe80::1", "10.1.2.4", "0.0.0.0"] {
        assert!(!allow.contains(ip(text)), "{text}");
    }
    assert!(AllowList::parse(["127.0.0.1/33"]).is_err());
}

#[test]
fn own_listeners_are_recognised_under_every_ip_address() {
    let reaches = |listener: &str, target: &str| {
        reaches(
            listener.parse().expect("a socket address"),
            target.parse().expect("a socket address"),
        )
    };
    for target in [
        "127.0.0.1:3000",
        "0.0.0.0:3000",
        "[::]:3000",
        "[::ffff:127.0.0.1]:3000",
    ] {
        assert!(reaches("127.0.0.1:3000", target), "{target}");
    }
    for target in [
        "127.0.0.1:3000",
        "127.9.9.9:3000",
        "[::1]:3000",
        "0.0.0.0:3000",
    ] {
        assert!(reaches("0.0.0.0:3000", target), "{target}");
        assert!(reaches("[::]:3000", target), "{target}");
    }
    assert!(!reaches("127.0.0.1:3000", "127.0.0.1:3001"));
    assert!(!reaches("127.0.0.1:3000", "127.0.0.2:3000"));
    assert!(!reaches("0.0.0.0:3000", "8.8.8.8:3000"));
}
