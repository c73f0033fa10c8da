//! Profiles on social networks, as opposed to links that share the page.

mod networks;
#[cfg(test)]
mod tests;

use std::collections::HashSet;

use analyst_base::{lists, percent_decoded};
use trawl_embedded::string;
use url::Url;

use crate::found::Social;
use crate::page::Page;
use networks::{Network, networks};

/// Maximum number of profiles on one page.
const PROFILES_MAX: usize = 200;

/// Finds the profiles that a page links to or lists in its structured data.
pub(crate) fn find(page: &Page<'_>) -> Vec<Social> {
    let mut seen = HashSet::new();
    let mut found = Vec::new();
    let mut take = |social: Option<Social>| {
        if let Some(social) = social
            && found.len() < PROFILES_MAX
            && seen.insert(social.url.to_lowercase())
        {
            found.push(social);
        }
    };
    for (element, href) in &page.links {
        let is_me = element
            .attr("rel")
            .is_some_and(|rel| rel.split_ascii_whitespace().any(|word| word == "me"));
        take(
            page.document
                .resolve_url(href)
                .and_then(|url| profile(&url, is_me)),
        );
    }
    for object in page.objects() {
        let values = object
            .get("sameAs")
            .map(std::slice::from_ref)
            .unwrap_or_default();
        let several = values
            .iter()
            .flat_map(|value| value.as_array().map_or(values, Vec::as_slice));
        for text in several.filter_map(string) {
            take(Url::parse(text).ok().and_then(|url| profile(&url, false)));
        }
    }
    found
}

/// The profile behind a URL, with its canonical URL.
pub(crate) fn profile(url: &Url, is_me: bool) -> Option<Social> {
    let host = url.host_str()?.to_ascii_lowercase();
    let parts: Vec<&str> = url
        .path_segments()?
        .filter(|part| !part.is_empty())
        .collect();
    let Some(network) = networks().find(|network| is_of(network, &host)) else {
        return mastodon(&host, &parts, is_me);
    };
    let first = *parts.first()?;
    let mut not = network.not.split(' ');
    if not.any(|not| not.eq_ignore_ascii_case(first)) {
        return None;
    }
    let folder = network.under.split(' ').find(|under| {
        let mut own = under.split('/').enumerate();
        own.all(|(at, segment)| parts.get(at) == Some(&segment))
    });
    let (path, handle) = match folder {
        // The URL of a Facebook page has an ID after the name.
        Some("pages" | "people") if network.name == "facebook" => {
            (parts.get(..parts.len().min(3))?.join("/"), *parts.get(1)?)
        }
        Some(folder) => {
            let handle = *parts.get(folder.split('/').count())?;
            (format!("{folder}/{handle}"), handle)
        }
        None if network.is_flat => (first.to_owned(), first),
        None => match network.name {
            "discord" if host == "discord.gg" => (first.to_owned(), first),
            _ => return None,
        },
    };
    if network.is_flat && folder.is_none() && !is_handle(network.name, first, parts.len()) {
        return None;
    }
    let host = if network.name == "discord" && folder.is_some() {
        "discord.com"
    } else {
        network.host
    };
    Some(Social {
        network: network.name.to_owned(),
        url: format!("https://{host}/{path}"),
        handle: handle_of(handle),
    })
}

/// Whether a host belongs to a network, including country subdomains such as `uk.linkedin.com`.
fn is_of(network: &Network, host: &str) -> bool {
    let by_country = |domain: &str| {
        let country = host
            .strip_suffix(domain)
            .and_then(|rest| rest.strip_suffix('.'));
        country.is_some_and(|country| (2..=5).contains(&country.len()))
    };
    let mut also = network.also.split(' ');
    host == network.host
        || lists(network.also, host)
        || (matches!(network.name, "linkedin" | "facebook" | "pinterest")
            && also.next().is_some_and(by_country))
}

/// Mastodon and compatible servers have thousands of hosts: a profile is `/@name` with `rel=me`, or
/// on a host named after the software.
fn mastodon(host: &str, parts: &[&str], is_me: bool) -> Option<Social> {
    let [handle] = parts else {
        return None;
    };
    let name = handle.strip_prefix('@').filter(|name| !name.is_empty())?;
    let is_known = [
        "mastodon",
        "fosstodon",
        "mstdn",
        "social",
        "toot",
        "hachyderm",
        "pixelfed",
    ]
    .iter()
    .any(|word| host.contains(word));
    (is_me || is_known).then(|| Social {
        network: "mastodon".to_owned(),
        url: format!("https://{host}/@{name}"),
        handle: Some(format!("@{name}@{host}")),
    })
}

/// Whether the first path segment is a handle.
fn is_handle(network: &str, first: &str, n_parts: usize) -> bool {
    let needs_sign =
        matches!(network, "tiktok" | "threads" | "medium") || network == "youtube" && n_parts > 1;
    if needs_sign && !first.starts_with('@') {
        return false;
    }
    // The URL of a repository or a post is not a profile.
    let is_page = n_parts == 1
        || matches!(
            network,
            "facebook" | "instagram" | "youtube" | "tiktok" | "linktree"
        );
    is_page && !first.ends_with(".php") && !first.ends_with(".html") && first.len() <= 100
}

fn handle_of(name: &str) -> Option<String> {
    let name = percent_decoded(name);
    (!name.is_empty()).then_some(name)
}
