//! A built-in sample site: the reserved host is served here without network access, so that a first
//! request and a health check work on a machine without it. RFC 6761 section 6.2 reserves `.test`
//! outside the public DNS.

use http::header::{CACHE_CONTROL, CONTENT_TYPE};
use http::{Response, StatusCode};
use url::Url;

/// The reserved host of the sample site, under `http` and `https`.
pub const SAMPLE_HOST: &str = "sample.trawl.test";

const HOME: &str = include_str!("home.html");
const TIDES: &str = include_str!("tides.html");
const KNOTS: &str = include_str!("knots.html");
const LIGHTS: &str = include_str!("lights.html");
const MISSING: &str = include_str!("missing.html");

/// Whether a URL belongs to the sample site.
pub(super) fn is_sample(url: &Url) -> bool {
    matches!(url.scheme(), "http" | "https")
        && url
            .host_str()
            .is_some_and(|host| host.trim_end_matches('.') == SAMPLE_HOST)
}

/// The response of the sample site for a URL.
pub(super) fn respond(url: &Url) -> Response<&'static str> {
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
        .expect("the parts of the response are constants")
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn every_link_of_the_sample_site_leads_to_one_of_its_pages() {
        let home: Url = format!("https://{SAMPLE_HOST}/").parse().expect("a URL");
        for page in [HOME, TIDES, KNOTS, LIGHTS, MISSING] {
            let links: Vec<_> = page.split("href=\"").skip(1).collect();
            assert!(links.len() >= 2, "the pages are interlinked");
            for link in links {
                let link = link.split('"').next().unwrap_or_default();
                let url = home.join(link).expect("a URL");
                assert!(is_sample(&url), "{url}");
                assert_eq!(respond(&url).status(), StatusCode::OK, "{url}");
            }
        }
        assert_eq!(
            respond(&home.join("/no").expect("a URL")).status(),
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
            assert!(is_sample(&text.parse().expect("a URL")), "{text}");
        }
        for text in [
            "http://trawl.test/",
            "http://a.sample.trawl.test/",
            "ftp://sample.trawl.test/",
        ] {
            assert!(!is_sample(&text.parse().expect("a URL")), "{text}");
        }
    }
}
