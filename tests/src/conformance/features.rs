//! The page features that a request can ask for, and how they reach the vendor.

use std::collections::BTreeSet;

use serde_json::Value;
use trawl_sdk::provider::{Abilities, Pool, Screenshot, Task, WaitFor};

/// A feature of a request.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Feature {
    /// Headers for the target.
    Headers(&'static [(&'static str, &'static str)]),
    /// Cookies for the target.
    Cookies(&'static [(&'static str, &'static str)]),
    /// A country code in upper case.
    Country(&'static str),
    /// Residential IP addresses.
    Residential,
    /// Milliseconds to wait after loading.
    Wait(u32),
    /// A selector to wait for.
    WaitFor(&'static str),
    /// A script to run in the page.
    Script(&'static str),
    /// A screenshot.
    Screenshot(Screenshot),
    /// Another method, with a body.
    Send(&'static str, &'static str),
}

const HEADERS: Feature = Feature::Headers(&[
    ("X-Fish", "cod & \"chips\""),
    ("Accept-Language", "de, en;q=0.5"),
    ("Referer", "http://r.example/?a=b"),
]);
const BODY_TYPE: Feature = Feature::Headers(&[("Content-Type", "application/fish; scale=1")]);
const COOKIES: Feature = Feature::Cookies(&[("boat", "1/2+3=x"), ("sea", "north")]);
const COUNTRY: Feature = Feature::Country("DE");
const WAIT: Feature = Feature::Wait(2_000);
const WAIT_FOR: Feature = Feature::WaitFor("#x > a[b=\"c\"]");
const SCRIPT: Feature = Feature::Script("go(\"a&b\", 'ü') + 1 // \\ ?>");
const BODY: Feature = Feature::Send("POST", "a=1&b=ü \"x\"\n+%");

/// Features to request together. Those that a provider does not support are left out of a set; a
/// set of which none remains is skipped.
pub const FEATURES: &[&[Feature]] = &[
    &[HEADERS],
    &[COOKIES],
    &[HEADERS, COOKIES],
    &[COUNTRY],
    &[Feature::Residential],
    &[COUNTRY, Feature::Residential],
    &[WAIT],
    &[WAIT_FOR],
    &[SCRIPT],
    &[Feature::Screenshot(Screenshot::Window)],
    &[Feature::Screenshot(Screenshot::FullPage)],
    &[BODY],
    &[BODY_TYPE, BODY],
    &[
        HEADERS,
        COOKIES,
        COUNTRY,
        Feature::Residential,
        WAIT,
        WAIT_FOR,
        SCRIPT,
        Feature::Screenshot(Screenshot::FullPage),
        BODY,
    ],
];

/// A URL that echoes what the vendor received, with characters that every encoding must preserve.
pub const ECHO: &str = "http://site.example/echo?a=1&b=%26%C3%A4+c&u=http://x.example/?y%23#d";
/// Fields of the echo that a vendor's API cannot express, with the reason.
pub const INEXPRESSIBLE: &[(&str, &str, &str)] = &[
    ("provider_7", "residential", "the zone decides"),
    (
        "provider_10",
        "residential",
        "the vendor decides for each page",
    ),
];

impl Feature {
    /// Whether a provider with these abilities supports the feature.
    pub fn is_supported(self, abilities: Abilities) -> bool {
        let any = |some: &[Abilities]| some.iter().any(|one| abilities.contains(*one));
        any(match self {
            Self::Headers(_) => &[Abilities::HEADERS],
            Self::Cookies(_) => &[Abilities::COOKIES],
            Self::Country(_) => &[Abilities::COUNTRY, Abilities::COUNTRY_RESIDENTIAL],
            Self::Residential => &[Abilities::RESIDENTIAL],
            Self::Wait(_) => &[Abilities::FIXED_WAIT],
            Self::WaitFor(_) => &[Abilities::WAIT_SELECTOR],
            Self::Script(_) => &[Abilities::SCRIPT],
            Self::Screenshot(_) => &[Abilities::SCREENSHOT],
            Self::Send(..) => &[Abilities::BODY],
        })
    }

    /// Adds the feature to the task, in the way that a provider with these abilities supports.
    pub fn add_to(self, task: &mut Task, abilities: Abilities) {
        let owned = |pairs: &[(&str, &str)]| {
            let pairs = pairs.iter();
            let pairs = pairs.map(|(name, value)| ((*name).to_owned(), (*value).to_owned()));
            pairs.collect()
        };
        match self {
            Self::Headers(headers) => task.headers = owned(headers),
            Self::Cookies(cookies) => task.cookies = owned(cookies),
            Self::Country(code) => {
                task.country = Some(code.to_owned());
                if !abilities.contains(Abilities::COUNTRY) {
                    task.pool = Pool::Residential;
                }
            }
            Self::Residential => task.pool = Pool::Residential,
            Self::Wait(ms) => task.wait_ms = Some(ms),
            Self::WaitFor(selector) => {
                let selector = selector.to_owned();
                let time_ms = 5_000;
                task.wait_for = Some(WaitFor { selector, time_ms });
            }
            Self::Script(script) => task.script = Some(script.to_owned()),
            Self::Screenshot(screenshot) => task.screenshot = Some(screenshot),
            Self::Send(method, body) => (task.method, task.body) = (method.to_owned(), body.into()),
        }
    }
}

/// Headers that HTTP clients add by themselves. A vendor that forwards the headers of the call
/// forwards these as well.
const OF_ANY_CLIENT: [&str; 2] = ["accept", "content-type"];

/// How an echo differs from the task, without the fields that this vendor cannot express.
pub fn echo_differences(provider: &str, task: &Task, echo: &Value) -> Vec<String> {
    let lower = |pairs: &[(String, String)]| -> BTreeSet<(String, String)> {
        let pairs = pairs.iter();
        pairs
            .map(|(name, value)| (name.to_lowercase(), value.clone()))
            .collect()
    };
    let received = |name: &str| -> BTreeSet<(String, String)> {
        serde_json::from_value(echo[name].clone()).unwrap_or_default()
    };
    let sent = lower(&task.headers);
    let mut arrived = received("headers");
    arrived.retain(|pair| sent.contains(pair) || !OF_ANY_CLIENT.contains(&pair.0.as_str()));
    let screenshot = task.screenshot.map(|screenshot| match screenshot {
        Screenshot::Window => "window",
        Screenshot::FullPage => "full_page",
    });
    let wait_for = task.wait_for.as_ref().map(|wait| wait.selector.as_str());
    let same = [
        ("url", echo["url"] == task.url),
        ("method", echo["method"] == task.method),
        ("body", echo["body"] == *String::from_utf8_lossy(&task.body)),
        ("headers", arrived == sent),
        ("cookies", received("cookies") == lower(&task.cookies)),
        ("javascript", echo["javascript"] == task.javascript),
        (
            "wait_ms",
            echo["wait_ms"].as_u64() == task.wait_ms.map(u64::from),
        ),
        ("wait_for", echo["wait_for"].as_str() == wait_for),
        ("script", echo["script"].as_str() == task.script.as_deref()),
        (
            "country",
            echo["country"].as_str() == task.country.as_deref(),
        ),
        ("residential", echo["residential"] == task.is_residential()),
        ("screenshot", echo["screenshot"].as_str() == screenshot),
    ];
    let is_inexpressible = |field| {
        INEXPRESSIBLE
            .iter()
            .any(|(one, inexpressible, _)| (*one, *inexpressible) == (provider, field))
    };
    let differing = same
        .iter()
        .filter(|(field, same)| !same && !is_inexpressible(field));
    differing
        .map(|(field, _)| format!("{field}: {}", echo[*field]))
        .collect()
}
