//! URLs that are profiles, and URLs that are not.

use super::*;

/// URLs with network and canonical URL of the profile.
const PROFILES: &str = "\
https://facebook.com/acme/?ref=bookmarks facebook https://www.facebook.com/acme\n\
https://m.facebook.com/profile.php?id=100 facebook https://www.facebook.com/profile.php?id=100\n\
https://www.facebook.com/pages/Acme/123/ facebook https://www.facebook.com/pages/Acme/123\n\
http://instagram.com/acme.de/?hl=de instagram https://www.instagram.com/acme.de\n\
https://twitter.com/acme x https://x.com/acme\n\
https://de.linkedin.com/company/acme/about/ linkedin https://www.linkedin.com/company/acme\n\
https://www.linkedin.com/in/jo-do-1?trk=x linkedin https://www.linkedin.com/in/jo-do-1\n\
https://www.youtube.com/@acme/videos youtube https://www.youtube.com/@acme\n\
https://youtube.com/channel/UCabc youtube https://www.youtube.com/channel/UCabc\n\
https://www.tiktok.com/@acme?lang=de tiktok https://www.tiktok.com/@acme\n\
https://www.pinterest.de/acme/ pinterest https://www.pinterest.com/acme\n\
https://github.com/acme github https://github.com/acme\n\
https://www.xing.com/pages/acme xing https://www.xing.com/pages/acme\n\
https://vk.com/acme vk https://vk.com/acme\n\
https://t.me/acme_bot telegram https://t.me/acme_bot\n\
https://wa.me/4915112345678?text=hi whatsapp https://wa.me/4915112345678\n\
https://api.whatsapp.com/send?phone=%2B49151123 whatsapp https://wa.me/49151123\n\
https://discord.gg/abc discord https://discord.gg/abc\n\
https://discord.com/invite/abc discord https://discord.com/invite/abc\n\
https://www.threads.net/@acme threads https://www.threads.net/@acme\n\
https://bsky.app/profile/acme.bsky.social bluesky https://bsky.app/profile/acme.bsky.social\n\
https://medium.com/@acme medium https://medium.com/@acme\n\
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
        "https://x.com/acme/status/12",
    ] {
        let url = Url::parse(address).unwrap();
        assert_eq!(profile(&url, false), None, "{address}");
    }
}
