//! What the browser says of itself, to sites and to scripts: one story, of the user agent that the
//! caller names or of its own.

use chromiumoxide::cdp::browser_protocol::emulation::{
    SetUserAgentOverrideParams, UserAgentBrandVersion, UserAgentMetadata,
};

use trawl_plan::FetchPlan;

/// Languages where the caller names none: those that plain HTTP asks for.
const LANGUAGES: &str = "en-US,en";

/// A system that user agents name.
struct System {
    mark: &'static str,
    /// Its `navigator.platform`.
    platform: &'static str,
    /// Its name in client hints.
    hint: &'static str,
}

const SYSTEMS: [System; 6] = [
    system("iPhone", "iPhone", "iOS"),
    system("iPad", "iPad", "iOS"),
    system("Android", "Linux armv81", "Android"),
    system("Windows", "Win32", "Windows"),
    system("Macintosh", "MacIntel", "macOS"),
    system("Linux", "Linux x86_64", "Linux"),
];

const fn system(mark: &'static str, platform: &'static str, hint: &'static str) -> System {
    System {
        mark,
        platform,
        hint,
    }
}

/// User agent and language of a page and its workers. Decision D61: they apply to every origin,
/// since scripts can read them anyway.
pub(super) fn agent(fetch: &FetchPlan, own: &str) -> SetUserAgentOverrideParams {
    let header = header(fetch, "user-agent");
    let agent = header.or(fetch.user_agent.as_deref()).unwrap_or(own);
    let mut params = SetUserAgentOverrideParams::new(agent);
    let languages = locale(fetch).map(languages);
    let languages = languages.filter(|languages| !languages.is_empty());
    params.accept_language = Some(languages.unwrap_or_else(|| LANGUAGES.to_owned()));
    let system = SYSTEMS.iter().find(|system| agent.contains(system.mark));
    params.platform = system.map(|system| system.platform.to_owned());
    params.user_agent_metadata = hints(agent, system.map_or("", |system| system.hint));
    params
}

/// The caller's languages, as `Accept-Language` has them.
pub(super) fn locale(fetch: &FetchPlan) -> Option<&str> {
    header(fetch, "accept-language").or(fetch.locale.as_deref())
}

/// A header of the caller. Requests to the page's own origin carry it, so it counts before the
/// parameter of the same meaning.
fn header<'f>(fetch: &'f FetchPlan, name: &str) -> Option<&'f str> {
    let mut headers = fetch.headers.iter();
    let (_, value) = headers.find(|(known, _)| known == name)?;
    value.to_str().ok()
}

/// The languages of an `Accept-Language` in their order, without weights: the browser adds its own.
fn languages(value: &str) -> String {
    let items = value.split(',');
    let languages = items.map(|item| item.split(';').next().unwrap_or_default().trim());
    let languages = languages.filter(|language| !matches!(*language, "" | "*"));
    languages.collect::<Vec<_>>().join(",")
}

/// The client hints that belong to a user agent; `None` for one that sends none.
fn hints(agent: &str, system: &str) -> Option<UserAgentMetadata> {
    let version = version(agent, "Chrome/")?;
    let mut products = vec![("Chromium", version), ("Not.A/Brand", "99.0.0.0")];
    if let Some(version) = self::version(agent, "Edg/") {
        products.insert(1, ("Microsoft Edge", version));
    }
    let brands = |is_full: bool| {
        let brands = products.iter().map(|(name, version)| {
            let major = version.split('.').next().unwrap_or_default();
            UserAgentBrandVersion::new(*name, if is_full { *version } else { major })
        });
        Some(brands.collect())
    };
    let is_mobile = agent.contains("Mobile");
    let architecture = if system == "Android" { "" } else { "x86" };
    Some(UserAgentMetadata {
        brands: brands(false),
        full_version_list: brands(true),
        platform: system.to_owned(),
        platform_version: String::new(),
        architecture: architecture.to_owned(),
        model: String::new(),
        mobile: is_mobile,
        bitness: (!architecture.is_empty()).then(|| "64".to_owned()),
        wow64: Some(false),
        form_factors: None,
    })
}

/// The version of a product that a user agent names.
fn version<'a>(agent: &'a str, product: &str) -> Option<&'a str> {
    let (_, rest) = agent.split_once(product)?;
    let is_version = |c: char| c.is_ascii_digit() || c == '.';
    let end = rest.find(|c| !is_version(c)).unwrap_or(rest.len());
    Some(&rest[..end]).filter(|version| version.starts_with(|c: char| c.is_ascii_digit()))
}

#[cfg(test)]
mod tests {
    use std::time::Duration;

    use super::*;

    const WINDOWS: &str = "Mozilla/5.0 (Windows NT 10.0; Win64; x64) AppleWebKit/537.36 (KHTML, like Gecko) Chrome/140.0.7.1 Safari/537.36 Edg/141.0.0.0";
    const PHONE: &str = "Mozilla/5.0 (Linux; Android 10; K) AppleWebKit/537.36 (KHTML, like Gecko) Chrome/140.0.0.0 Mobile Safari/537.36";

    #[test]
    fn hints_say_what_the_user_agent_says() {
        let found = hints(WINDOWS, "Windows").expect("hints");
        let brands = |list: Option<Vec<UserAgentBrandVersion>>| {
            let list = list.unwrap_or_default();
            list.into_iter()
                .map(|brand| format!("{} {}", brand.brand, brand.version))
                .collect::<Vec<_>>()
        };
        let short = ["Chromium 140", "Microsoft Edge 141", "Not.A/Brand 99"];
        assert_eq!(brands(found.brands), short);
        assert_eq!(brands(found.full_version_list)[0], "Chromium 140.0.7.1");
        assert!(!found.mobile);
        let phone = hints(PHONE, "Android").expect("hints");
        assert!(phone.mobile && phone.platform == "Android" && phone.bitness.is_none());
        for other in [
            "Mozilla/5.0 Firefox/140.0",
            "Own/1.0",
            "Chrome/",
            "Chrome/x",
        ] {
            assert!(hints(other, "").is_none(), "{other}");
        }
    }

    #[test]
    fn headers_of_the_caller_are_what_the_page_sees() {
        let mut fetch = FetchPlan {
            user_agent: Some("Parameter/1".to_owned()),
            locale: Some("de-DE".to_owned()),
            ..FetchPlan::bare(Duration::from_secs(1))
        };
        let reported = |fetch: &FetchPlan| {
            let params = agent(fetch, "Own/1.0");
            let language = params.accept_language.unwrap_or_default();
            (params.user_agent, language)
        };
        let both = |agent: &str, language: &str| (agent.to_owned(), language.to_owned());
        assert_eq!(reported(&fetch), both("Parameter/1", "de-DE"));
        for (name, value) in [
            ("user-agent", "Header/2"),
            ("accept-language", "fr;q=0.9, en;q=0.5, *;q=0.1"),
        ] {
            let name = name.parse().expect("a name");
            let value = value.parse().expect("a value");
            fetch.headers.push((name, value));
        }
        assert_eq!(reported(&fetch), both("Header/2", "fr,en"));
        let bare = FetchPlan::bare(Duration::from_secs(1));
        assert_eq!(reported(&bare), both("Own/1.0", LANGUAGES));
    }

    #[test]
    fn the_first_system_that_is_named_counts() {
        let fetch = FetchPlan::bare(Duration::from_secs(1));
        let of = |own: &str| {
            let params = agent(&fetch, own);
            let hints = params.user_agent_metadata;
            (params.platform, hints.map(|hints| hints.platform))
        };
        let both = |platform: &str, hint: &str| (Some(platform.to_owned()), Some(hint.to_owned()));
        assert_eq!(of(WINDOWS), both("Win32", "Windows"));
        assert_eq!(of(PHONE), both("Linux armv81", "Android"));
        assert_eq!(of("Own/1.0"), (None, None));
    }
}
