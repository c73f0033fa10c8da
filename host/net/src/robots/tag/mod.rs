//! `X-Robots-Tag` headers, which say of any file what `meta name=robots` says of a page. Google's
//! specification of both is followed.

/// Directives with a value behind a colon. Any other name before a colon is a crawler's.
const WITH_VALUE: [&str; 4] = [
    "max-image-preview",
    "max-snippet",
    "max-video-preview",
    "unavailable_after",
];

/// Whether one of these headers forbids the crawler with this product token to follow the links of
/// its page: `nofollow` or `none`, for all crawlers or for this one.
pub(super) fn forbids_following(headers: &[String], token: &str) -> bool {
    let is_no = |directive: &str| is_one_of(directive, &["nofollow", "none"]);
    headers
        .iter()
        .any(|header| directives(header, token).any(is_no))
}

/// The directives of one header that are for the crawler with this product token, as they are
/// written.
pub(super) fn directives<'a>(header: &'a str, token: &'a str) -> impl Iterator<Item = &'a str> {
    // A name holds for all directives up to the next one.
    let mut is_meant = true;
    header.split(',').filter_map(move |part| {
        let directive = match part.split_once(':') {
            Some((name, rest)) if !is_one_of(name, &WITH_VALUE) => {
                is_meant = is_one_of(name, &[token, "*"]);
                rest
            }
            _ => part,
        };
        is_meant.then_some(directive)
    })
}

fn is_one_of(text: &str, names: &[&str]) -> bool {
    let text = text.trim();
    names.iter().any(|name| name.eq_ignore_ascii_case(text))
}

#[cfg(test)]
mod fuzz;
#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn nofollow_holds_for_the_crawler_that_it_names() {
        for (header, expected) in [
            ("nofollow", true),
            ("noindex, NoFollow", true),
            ("none", true),
            ("trawl: nofollow", true),
            ("Trawl : noindex , none", true),
            ("*: nofollow", true),
            ("otherbot: noindex, trawl: nofollow", true),
            ("max-snippet: 20, nofollow", true),
            (
                "unavailable_after: 25 Jun 2010 15:00:00 PST, nofollow",
                true,
            ),
            ("otherbot: nofollow", false),
            ("otherbot: noindex, nofollow", false),
            ("trawl: noindex, otherbot: nofollow", false),
            ("trawler: nofollow", false),
            ("noindex, follow", false),
            ("nofollows", false),
            ("max-snippet: none", false),
            (":", false),
            ("", false),
        ] {
            let headers = [header.to_owned()];
            assert_eq!(forbids_following(&headers, "Trawl"), expected, "{header}");
        }
        let lines = ["noindex", "nofollow"].map(str::to_owned);
        assert!(forbids_following(&lines, "Trawl"));
        assert!(!forbids_following(&[], "Trawl"));
    }
}
