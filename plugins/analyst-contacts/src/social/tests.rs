//! URLs that are profiles, and URLs that are not.

use super::*;

/// URLs with network and canonical URL of the profile.
const PROFILES: &str = "\
https://facebook.com/acme/?ref=bookmarks facebook https://www.facebook.com/acme
https://www.facebook.com/pages/Acme/123/ facebook https://www.facebook.com/pages/Acme/123
http://instagram.com/acme.de/?hl=de instagram https://www.instagram.com/acme.de
https://twitter.com/acme x https://x.com/acme
https://de.linkedin.com/company/acme/about/ linkedin https://www.linkedin.com/company/acme
https://www.linkedin.com/in/jo-do-1?trk=x linkedin https://www.linkedin.com/in/jo-do-1
https://www.youtube.com/@acme/videos youtube https://www.youtube.com/@acme
https://youtube.com/channel/UCabc youtube https://www.youtube.com/channel/UCabc
https://www.tiktok.com/@acme?lang=de tiktok https://www.tiktok.com/@acme
https://www.pinterest.de/acme/ pinterest https://www.pinterest.com/acme
https://github.com/acme github https://github.com/acme
https://www.xing.com/pages/acme xing https://www.xing.com/pages/acme
https://vk.com/acme vk https://vk.com/acme
https://t.me/acme_bot telegram https://t.me/acme_bot
https://wa.me/4915112345678?text=hi whatsapp https://wa.me/4915112345678
https://discord.gg/abc discord https://discord.gg/abc
https://discord.com/invite/abc discord https://discord.com/invite/abc
https://www.threads.net/@acme threads https://www.threads.net/@acme
https://bsky.app/profile/acme.bsky.social bluesky https://bsky.app/profile/acme.bsky.social
https://medium.com/@acme medium https://medium.com/@acme
https://line.me/R/ti/p/@acme line https://line.me/R/ti/p/@acme
https://line.me/ti/p/~acme line https://line.me/ti/p/~acme
https://page.line.me/acme?openQrModal=true line https://page.line.me/acme
https://lin.ee/AbC12 line https://lin.ee/AbC12
https://mastodon.social/@acme mastodon https://mastodon.social/@acme";

#[test]
fn profiles_have_a_canonical_url() {
    for case in PROFILES.lines() {
        let (address, expected) = case.split_once(' ').unwrap();
        let social = profile(&Url::parse(address).unwrap(), false).unwrap();
        let found = format!("{} {}", social.network, social.url);
        assert_eq!(found, expected, "{address}");
    }
}

#[test]
fn the_handle_follows_all_segments_of_its_folder() {
    for (address, expected) in [
        ("https://line.me/R/ti/p/%40acme", "@acme"),
        ("https://line.me/R/ti/p/@acme/", "@acme"),
        ("https://www.linkedin.com/company/acme/about", "acme"),
        ("https://www.facebook.com/pages/Acme/123", "Acme"),
    ] {
        let social = profile(&Url::parse(address).unwrap(), false).unwrap();
        assert_eq!(social.handle.as_deref(), Some(expected), "{address}");
    }
}

#[test]
fn share_links_and_other_pages_are_no_profiles() {
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
        "https://line.me/R/ti/p/",
        "https://line.me/R/msg/text/?x",
        "https://line.me/en/",
        "https://x.com/acme/status/12",
    ] {
        let url = Url::parse(address).unwrap();
        assert_eq!(profile(&url, false), None, "{address}");
    }
}
