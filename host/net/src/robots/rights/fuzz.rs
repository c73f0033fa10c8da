//! Fuzzing of what pages say about their use.

use trawl_model::rights::LICENSES_MAX;

use super::*;

/// Any lines, each as every header and element: licences are absolute URLs of the web and few, and
/// a use is refused exactly where something refuses it.
#[test]
fn page_rights() {
    trawl_fuzz::fuzz!("page_rights", |input| {
        let text = String::from_utf8_lossy(input).into_owned();
        let url = Url::parse("https://a.example/b/c?d").expect("a URL");
        let named = |names: &[&str]| {
            let mut pairs = Vec::new();
            for line in text.lines() {
                pairs.extend(
                    names
                        .iter()
                        .map(|name| ((*name).to_owned(), line.to_owned())),
                );
            }
            pairs
        };
        let headers = ["content-usage", "content-signal", "x-robots-tag", "link"];
        let reservations = ["tdm-reservation", "tdm-policy"];
        let page = PageStatements {
            url: &url,
            headers: &named(&[&headers[..], &reservations[..]].concat()),
            meta: &named(&["robots", "trawl", "tdm-reservation"]),
            licenses: std::slice::from_ref(&text),
        };
        let rights = of_page(page, "Trawl");
        for purpose in Purpose::ALL {
            let is_refused = refusal(&rights, Some(purpose)).is_some();
            assert_eq!(is_refused, rights.allowed(purpose) == Some(false));
        }
        let json = rights.to_json();
        let licenses = json["licenses"].as_array().cloned().unwrap_or_default();
        assert!(licenses.len() <= LICENSES_MAX, "{json}");
        for license in licenses {
            let license = license.as_str().expect("text");
            let parsed = Url::parse(license).expect("a URL");
            assert!(matches!(parsed.scheme(), "http" | "https"), "{license}");
        }
    });
}
