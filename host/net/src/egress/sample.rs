//! A small site that is always there: the reserved host is answered here, without a network, so that a first request and a
//! health check work on a machine with everything closed. RFC 6761 section 6.2 keeps `.test` out of the public DNS.

use http::header::{CACHE_CONTROL, CONTENT_TYPE};
use http::{Response, StatusCode};
use url::Url;

/// The reserved host of the sample site, under `http` and `https`.
pub const SAMPLE_HOST: &str = "sample.trawl.test";

const HOME: &str = include_str!("sample/home.html");
const TIDES: &str = include_str!("sample/tides.html");
const KNOTS: &str = include_str!("sample/knots.html");
const LIGHTS: &str = include_str!("sample/lights.html");
const MISSING: &str = include_str!("sample/missing.html");

/// Whether an address belongs to the sample site.
pub(super) fn is_sample(url: &Url) -> bool {
    matches!(url.scheme(), "http" | "https")
        && url
            .host_str()
            .is_some_and(|host| host.trim_end_matches('.') == SAMPLE_HOST)
}

/// The page of the sample site at an address.
pub(super) fn answer(url: &Url) -> Response<&'static str> {
    let (status, page) = match url.path() {
        "/" => (StatusCode::OK, HOME),
        "/tides" => (StatusCode::OK, TIDES),
        "/knots" => (StatusCode::OK, KNOTS),
        "/lights" => (StatusCode::OK, LIGHTS),
        _ => (StatusCode::NOT_FOUND, MISSING),
    };
    Response::builder()
        .status(status)
        .header(CONTENT_TYPE, "text/html; charset=utf-8")
        .header(CACHE_CONTROL, "no-store")
        .body(page)
        .expect("the parts of the answer are constants")
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn every_link_of_the_sample_site_leads_to_a_page_of_it() {
        let home: Url = format!("https://{SAMPLE_HOST}/")
            .parse()
            .expect("an address");
        for page in [HOME, TIDES, KNOTS, LIGHTS, MISSING] {
            let links: Vec<_> = page.split("href=\"").skip(1).collect();
            assert!(links.len() >= 2, "the pages are interlinked");
            for link in links {
                let link = link.split('"').next().unwrap_or_default();
                let url = home.join(link).expect("an address");
                assert!(is_sample(&url), "{url}");
                assert_eq!(answer(&url).status(), StatusCode::OK, "{url}");
            }
        }
        assert_eq!(
            answer(&home.join("/no").expect("an address")).status(),
            StatusCode::NOT_FOUND
        );
    }

    #[test]
    fn only_the_reserved_host_is_the_sample_site() {
        for text in [
            "http://sample.trawl.test/",
            "https://SAMPLE.trawl.TEST./tides",
            "http://sample.trawl.test:81/",
        ] {
            assert!(is_sample(&text.parse().expect("an address")), "{text}");
        }
        for text in [
            "http://trawl.test/",
            "http://a.sample.trawl.test/",
            "ftp://sample.trawl.test/",
        ] {
            assert!(!is_sample(&text.parse().expect("an address")), "{text}");
        }
    }
}
