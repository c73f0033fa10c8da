//! What a page says about its own use, in headers and in its head.

use url::Url;

use trawl_model::page::header_list;
use trawl_model::rights::{LICENSE_BYTES_MAX, LICENSES_MAX};
use trawl_model::{Cause, PageFailure, Purpose, Rights, urls};

use super::statements::{self, Source};

/// A page, as far as it says something about its use.
#[derive(Clone, Copy, Debug)]
pub struct PageStatements<'a> {
    /// Its URL, which relative URLs of licences resolve against.
    pub url: &'a Url,
    /// Its headers, names in lower case.
    pub headers: &'a [(String, String)],
    /// Names and contents of its `meta` elements.
    pub meta: &'a [(String, String)],
    /// URLs of `link rel=license`, as they are written.
    pub licenses: &'a [String],
}

/// What a page says about its use, to the crawler with this product token.
pub(super) fn of_page(page: PageStatements<'_>, token: &str) -> Rights {
    let mut rights = Rights::default();
    add_headers(&mut rights, page, token);
    for (name, content) in page.meta {
        if is_one_of(name, &["robots", token]) {
            statements::directives(&mut rights, Source::MetaRobots, content, token);
        }
    }
    add_reservation(&mut rights, page);
    add_licenses(&mut rights, page.url, page.licenses);
    add_licenses(&mut rights, page.url, &linked_licenses(page.headers));
    rights
}

fn add_headers(rights: &mut Rights, page: PageStatements<'_>, token: &str) {
    for (name, source) in [
        ("content-usage", Source::ContentUsage),
        ("content-signal", Source::ContentSignal),
    ] {
        statements::uses(&header_list(page.headers, name)).say(rights, source);
    }
    // A name of a crawler holds within its own line.
    for (name, value) in page.headers {
        if name == "x-robots-tag" {
            statements::directives(rights, Source::RobotsTag, value, token);
        }
    }
}

/// Adds what the TDM Reservation Protocol says: a `meta` element is stronger than the header, and
/// the policy says how a licence is got.
fn add_reservation(rights: &mut Rights, page: PageStatements<'_>) {
    let find = |list: &[(String, String)], wanted: &str| {
        let found = list.iter().find(|(name, _)| is_one_of(name, &[wanted]));
        found.map(|(_, value)| value.clone())
    };
    let of_meta = find(page.meta, "tdm-reservation");
    let source = match of_meta {
        Some(_) => Source::MetaTdmReservation,
        None => Source::TdmReservation,
    };
    let reservation = of_meta.or_else(|| find(page.headers, "tdm-reservation"));
    if let Some(value) = reservation {
        statements::tdm_reservation(rights, source, &value);
    }
    let policy = find(page.meta, "tdm-policy").or_else(|| find(page.headers, "tdm-policy"));
    add_licenses(rights, page.url, policy.as_slice());
}

/// Adds licences by their URLs, as they are written at `base`. A long one is not read.
pub(super) fn add_licenses(rights: &mut Rights, base: &Url, written: &[String]) {
    let short = |license: &&String| license.len() <= LICENSE_BYTES_MAX;
    for license in written.iter().filter(short) {
        if let Ok(url) = urls::join(base, license.trim())
            && matches!(url.scheme(), "http" | "https")
        {
            rights.add_license(url.to_string());
        }
    }
}

/// The targets of `Link` headers with `rel=license`, as they are written: the first
/// [`LICENSES_MAX`]. RFC 8288 section 3.
fn linked_licenses(headers: &[(String, String)]) -> Vec<String> {
    let links = header_list(headers, "link");
    let mut found = Vec::new();
    let mut rest = links.as_str();
    while found.len() < LICENSES_MAX
        && let Some((_, after)) = rest.split_once('<')
        && let Some((target, parameters)) = after.split_once('>')
    {
        let end = part_end(parameters, b',');
        if is_license(&parameters[..end]) {
            found.push(target.to_owned());
        }
        rest = &parameters[end..];
    }
    found
}

/// Where a list ends its first part: at the first `separator` outside of quotes.
fn part_end(list: &str, separator: u8) -> usize {
    let (mut is_quoted, mut is_escaped) = (false, false);
    for (at, byte) in list.bytes().enumerate() {
        match byte {
            _ if is_escaped => is_escaped = false,
            b'\\' if is_quoted => is_escaped = true,
            b'"' => is_quoted = !is_quoted,
            _ if byte == separator && !is_quoted => return at,
            _ => {}
        }
    }
    list.len()
}

/// Whether the parameters of a link have `rel=license`, among other relations too. A link with an
/// `anchor` is about something else than the page.
fn is_license(parameters: &str) -> bool {
    let mut relation = None;
    let mut rest = Some(parameters);
    while let Some(text) = rest {
        let end = part_end(text, b';');
        let (name, value) = text[..end].split_once('=').unwrap_or_default();
        if is_one_of(name, &["anchor"]) {
            return false;
        }
        if is_one_of(name, &["rel"]) {
            // Only the first one counts.
            relation = relation.or(Some(value.trim().trim_matches('"')));
        }
        rest = text.get(end + 1..);
    }
    let mut relations = relation.unwrap_or_default().split_ascii_whitespace();
    relations.any(|one| one.eq_ignore_ascii_case("license"))
}

/// The failure of a page whose site refuses this use; `None` if it does not, or no use is stated.
pub fn refusal(rights: &Rights, purpose: Option<Purpose>) -> Option<PageFailure> {
    let purpose = purpose?;
    let source = rights.refused_by(purpose)?;
    let name = purpose.name();
    let message = format!("the site refuses the purpose `{name}` in `{source}`");
    Some(PageFailure::new(Cause::Rights, message))
}

fn is_one_of(name: &str, names: &[&str]) -> bool {
    let name = name.trim();
    names.iter().any(|one| one.eq_ignore_ascii_case(name))
}

#[cfg(test)]
mod fuzz;
#[cfg(test)]
mod tests {
    use serde_json::json;

    use super::*;

    fn pairs(pairs: &[(&str, &str)]) -> Vec<(String, String)> {
        let pairs = pairs.iter();
        pairs
            .map(|(name, value)| ((*name).to_owned(), (*value).to_owned()))
            .collect()
    }

    fn rights(headers: &[(&str, &str)], meta: &[(&str, &str)]) -> serde_json::Value {
        let url = Url::parse("https://a.example/b/c").expect("a URL");
        let page = PageStatements {
            url: &url,
            headers: &pairs(headers),
            meta: &pairs(meta),
            licenses: &[],
        };
        of_page(page, "Trawl").to_json()
    }

    #[test]
    fn headers_and_meta_elements_are_read() {
        assert_eq!(rights(&[("server", "x")], &[("robots", "all")]), json!({}));
        let no = |source: &str| json!({"allowed": false, "sources": [source]});
        assert_eq!(
            rights(
                &[("content-usage", "train-ai=n"), ("x-robots-tag", "noindex")],
                &[("ROBOTS", "noai"), ("googlebot", "noindex")],
            ),
            json!({
                "search": no("x-robots-tag"),
                "ai-input": no("meta robots"),
                "ai-train": {"allowed": false, "sources": ["content-usage", "meta robots"]},
                "noindex": true,
            })
        );
        assert_eq!(
            rights(&[("content-signal", "search=yes, ai-train=no")], &[]),
            json!({
                "search": {"allowed": true, "sources": ["content-signal"]},
                "ai-train": no("content-signal"),
            })
        );
        assert_eq!(
            rights(&[], &[("trawl", "noindex")]),
            json!({"search": no("meta robots"), "noindex": true})
        );
    }

    #[test]
    fn a_meta_element_is_stronger_than_the_header_of_a_reservation() {
        let headers = [("tdm-reservation", "1"), ("tdm-policy", "/policy.json")];
        let read = rights(&headers, &[]);
        assert_eq!(read["ai-train"]["sources"], json!(["tdm-reservation"]));
        assert_eq!(read["ai-input"]["allowed"], json!(false));
        assert_eq!(read["licenses"], json!(["https://a.example/policy.json"]));
        let read = rights(&headers, &[("tdm-reservation", "0")]);
        assert_eq!(
            read["ai-train"],
            json!({"allowed": true, "sources": ["meta tdm-reservation"]})
        );
    }

    #[test]
    fn licenses_are_linked() {
        let link = "</a,b>; rel=\"next\"; title=\"x, <y>\", <l.xml>; rel=\"License x\"; \
            type=\"application/rsl+xml\", <javascript:x>; rel=license";
        let read = rights(
            &[("link", link), ("link", "<https://b.example/>;rel=license")],
            &[],
        );
        assert_eq!(
            read,
            json!({"licenses": ["https://a.example/b/l.xml", "https://b.example/"]})
        );
        let many: String = (0..30).map(|n| format!("</{n}>;rel=license,")).collect();
        let read = rights(&[("link", many.as_str())], &[]);
        let n_licenses = read["licenses"].as_array().map(Vec::len);
        assert_eq!(n_licenses, Some(LICENSES_MAX));
        let long = format!("/{}", "x".repeat(LICENSE_BYTES_MAX));
        assert_eq!(rights(&[("tdm-policy", long.as_str())], &[]), json!({}));
        for none in [
            "<",
            "<a",
            "<a>;rel=licenses",
            "a;rel=license",
            "<a>; title=\"rel=license",
            "<a>; title=\"x; rel=license\"; rel=next",
            "<a>; rel=next; rel=license",
            "<a>; rel=license; anchor=\"/other\"",
        ] {
            assert_eq!(rights(&[("link", none)], &[]), json!({}), "{none}");
        }
    }
}
