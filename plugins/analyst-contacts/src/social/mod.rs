//! Profiles on social networks: links to somebody's page there, not links that share this page.

mod networks;

use std::collections::HashSet;

use trawl_sdk::embedded::string;
use url::Url;

use crate::found::Social;
use crate::page::Page;
use networks::{NETWORKS, Network};

/// Most profiles of one page.
const PROFILES_MAX: usize = 200;

/// The profiles that a page links to or names in its structured data.
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

/// The profile that an address is of, in one form.
pub(crate) fn profile(url: &Url, is_me: bool) -> Option<Social> {
    let host = url.host_str()?.to_ascii_lowercase();
    let parts: Vec<&str> = url
        .path_segments()?
        .filter(|part| !part.is_empty())
        .collect();
    if let Some(found) = special(url, &host, &parts) {
        return found;
    }
    let network = NETWORKS.iter().find(|network| is_of(network, &host));
    let Some(network) = network else {
        return mastodon(&host, &parts, is_me);
    };
    let first = *parts.first()?;
    if network
        .not
        .iter()
        .any(|not| not.eq_ignore_ascii_case(first))
    {
        return None;
    }
    let folder = network.under.iter().find(|under| **under == first);
    let (path, handle) = match folder {
        // A page of Facebook has its number behind its name.
        Some(&"pages" | &"people") if network.name == "facebook" => {
            (parts.get(..parts.len().min(3))?.join("/"), *parts.get(1)?)
        }
        Some(folder) => (format!("{folder}/{}", parts.get(1)?), *parts.get(1)?),
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

/// Whether a host is one of a network's, with countries' own hosts: `uk.linkedin.com`.
fn is_of(network: &Network, host: &str) -> bool {
    let by_country = |domain: &str| {
        let country = host
            .strip_suffix(domain)
            .and_then(|rest| rest.strip_suffix('.'));
        country.is_some_and(|country| (2..=5).contains(&country.len()))
    };
    host == network.host
        || network.also.contains(&host)
        || (matches!(network.name, "linkedin" | "facebook" | "pinterest")
            && by_country(network.also[0]))
}

/// Addresses that are profiles by their query: an outer `None` when the address is none of these.
fn special(url: &Url, host: &str, parts: &[&str]) -> Option<Option<Social>> {
    let query = |name: &str| {
        url.query_pairs()
            .find(|(own, _)| own == name)
            .map(|(_, value)| value.into_owned())
    };
    let made = |network: &str, url: String, handle: String| Social {
        network: network.to_owned(),
        url,
        handle: handle_of(&handle),
    };
    if host.ends_with("facebook.com") && parts == ["profile.php"] {
        return Some(query("id").map(|id| {
            made(
                "facebook",
                format!("https://www.facebook.com/profile.php?id={id}"),
                id,
            )
        }));
    }
    let is_chat = host == "api.whatsapp.com" || host == "web.whatsapp.com" || host == "wa.me";
    if is_chat {
        let number = query("phone").or_else(|| parts.first().map(|&first| first.to_owned()))?;
        let number: String = number.chars().filter(char::is_ascii_digit).collect();
        return Some(
            (number.len() > 6).then(|| made("whatsapp", format!("https://wa.me/{number}"), number)),
        );
    }
    if host == "chat.whatsapp.com" {
        let group = (*parts.first()?).to_owned();
        return Some(Some(made(
            "whatsapp",
            format!("https://chat.whatsapp.com/{group}"),
            group,
        )));
    }
    None
}

/// Profiles of Mastodon and its kin stand on thousands of hosts: `/@name` with `rel=me`, or a host that says what it is.
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

/// Whether the first part of a path is a profile's name.
fn is_handle(network: &str, first: &str, n_parts: usize) -> bool {
    let needs_sign =
        matches!(network, "tiktok" | "threads" | "medium") || network == "youtube" && n_parts > 1;
    if needs_sign && !first.starts_with('@') {
        return false;
    }
    // A repository is not its owner's page, but names the owner; a post of others is no profile.
    let is_page = n_parts == 1
        || matches!(
            network,
            "facebook" | "instagram" | "youtube" | "tiktok" | "linktree"
        );
    is_page && !first.ends_with(".php") && !first.ends_with(".html") && first.len() <= 100
}

fn handle_of(name: &str) -> Option<String> {
    let name = crate::page::percent_decoded(name);
    (!name.is_empty()).then_some(name)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn profiles_have_one_form() {
        for (address, expected) in [
            (
                "https://facebook.com/acme/?ref=bookmarks",
                "facebook https://www.facebook.com/acme",
            ),
            (
                "https://m.facebook.com/profile.php?id=100",
                "facebook https://www.facebook.com/profile.php?id=100",
            ),
            (
                "https://www.facebook.com/pages/Acme/123/",
                "facebook https://www.facebook.com/pages/Acme/123",
            ),
            (
                "http://instagram.com/acme.de/?hl=de",
                "instagram https://www.instagram.com/acme.de",
            ),
            ("https://twitter.com/acme", "x https://x.com/acme"),
            (
                "https://de.linkedin.com/company/acme/about/",
                "linkedin https://www.linkedin.com/company/acme",
            ),
            (
                "https://www.linkedin.com/in/jo-do-1?trk=x",
                "linkedin https://www.linkedin.com/in/jo-do-1",
            ),
            (
                "https://www.youtube.com/@acme/videos",
                "youtube https://www.youtube.com/@acme",
            ),
            (
                "https://youtube.com/channel/UCabc",
                "youtube https://www.youtube.com/channel/UCabc",
            ),
            (
                "https://www.tiktok.com/@acme?lang=de",
                "tiktok https://www.tiktok.com/@acme",
            ),
            (
                "https://www.pinterest.de/acme/",
                "pinterest https://www.pinterest.com/acme",
            ),
            ("https://github.com/acme", "github https://github.com/acme"),
            (
                "https://www.xing.com/pages/acme",
                "xing https://www.xing.com/pages/acme",
            ),
            ("https://vk.com/acme", "vk https://vk.com/acme"),
            ("https://t.me/acme_bot", "telegram https://t.me/acme_bot"),
            (
                "https://wa.me/4915112345678?text=hi",
                "whatsapp https://wa.me/4915112345678",
            ),
            (
                "https://api.whatsapp.com/send?phone=%2B49151123",
                "whatsapp https://wa.me/49151123",
            ),
            ("https://discord.gg/abc", "discord https://discord.gg/abc"),
            (
                "https://discord.com/invite/abc",
                "discord https://discord.com/invite/abc",
            ),
            (
                "https://www.threads.net/@acme",
                "threads https://www.threads.net/@acme",
            ),
            (
                "https://bsky.app/profile/acme.bsky.social",
                "bluesky https://bsky.app/profile/acme.bsky.social",
            ),
            (
                "https://medium.com/@acme",
                "medium https://medium.com/@acme",
            ),
            (
                "https://mastodon.social/@acme",
                "mastodon https://mastodon.social/@acme",
            ),
        ] {
            let social = profile(&Url::parse(address).unwrap(), false).unwrap();
            assert_eq!(
                format!("{} {}", social.network, social.url),
                expected,
                "{address}"
            );
        }
    }

    #[test]
    fn links_that_share_or_lead_elsewhere_are_no_profiles() {
        for address in [
            "https://www.facebook.com/sharer/sharer.php?u=x",
            "https://twitter.com/intent/tweet?text=x",
            "https://x.com/share?url=x",
            "https://www.linkedin.com/shareArticle?url=x",
            "https://www.linkedin.com/",
            "https://www.youtube.com/watch?v=abc",
            "https://pinterest.com/pin/create/button/?url=x",
            "https://t.me/share/url?url=x",
            "https://wa.me/?text=x",
            "https://api.whatsapp.com/send?text=x",
            "https://github.com/features",
            "https://github.com/acme/toolkit",
            "https://medium.com/acme/some-post",
            "https://vk.com/share.php?url=x",
            "https://example.com/@acme",
            "https://bsky.app/intent/compose",
            "https://x.com/acme/status/12",
        ] {
            assert_eq!(
                profile(&Url::parse(address).unwrap(), false),
                None,
                "{address}"
            );
        }
    }
}
