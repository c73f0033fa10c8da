//! What a caller may want of a page, and how it reaches the vendor.

use std::collections::BTreeSet;

use serde_json::Value;
use trawl_sdk::provider::{Abilities, Pool, Screenshot, Task, WaitFor};

/// One thing that a caller may want of a page.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Wish {
    /// Headers for the target.
    Headers(&'static [(&'static str, &'static str)]),
    /// Cookies for the target.
    Cookies(&'static [(&'static str, &'static str)]),
    /// A country, in upper case.
    Country(&'static str),
    /// Addresses of homes.
    Residential,
    /// Milliseconds to wait.
    Wait(u32),
    /// A selector to wait for.
    WaitFor(&'static str),
    /// A script to run.
    Script(&'static str),
    /// A picture.
    Screenshot(Screenshot),
    /// Another method, with a body.
    Send(&'static str, &'static str),
}

const HEADERS: Wish = Wish::Headers(&[
    ("X-Fish", "cod & \"chips\""),
    ("Accept-Language", "de, en;q=0.5"),
    ("Referer", "http://r.example/?a=b"),
]);
const COOKIES: Wish = Wish::Cookies(&[("boat", "1/2+3=x"), ("sea", "north")]);
const COUNTRY: Wish = Wish::Country("DE");
const WAIT: Wish = Wish::Wait(2_000);
const WAIT_FOR: Wish = Wish::WaitFor("#x > a[b=\"c\"]");
const SCRIPT: Wish = Wish::Script("go(\"a&b\", 'ü') + 1 // \\ ?>");
const BODY: Wish = Wish::Send("POST", "a=1&b=ü \"x\"\n+%");

/// Wishes to be made together. Those that a provider cannot fulfil are left out, and the whole set when none is left.
pub const WISHES: &[&[Wish]] = &[
    &[HEADERS],
    &[COOKIES],
    &[HEADERS, COOKIES],
    &[COUNTRY],
    &[Wish::Residential],
    &[COUNTRY, Wish::Residential],
    &[WAIT],
    &[WAIT_FOR],
    &[SCRIPT],
    &[Wish::Screenshot(Screenshot::Window)],
    &[Wish::Screenshot(Screenshot::FullPage)],
    &[BODY],
    &[
        HEADERS,
        COOKIES,
        COUNTRY,
        Wish::Residential,
        WAIT,
        WAIT_FOR,
        SCRIPT,
        Wish::Screenshot(Screenshot::FullPage),
        BODY,
    ],
];

/// The address that shows what reached the vendor, with letters that every coding has to keep.
pub const ECHO: &str = "http://site.example/echo?a=1&b=%26%C3%A4+c&u=http://x.example/?y%23#d";
/// Fields of the echo that a vendor has no word for, and why.
pub const UNTOLD: &[(&str, &str, &str)] = &[
    ("provider_7", "residential", "the zone decides"),
    (
        "provider_10",
        "residential",
        "the vendor decides for each page",
    ),
];

impl Wish {
    /// Whether a provider with these abilities can fulfil it.
    pub fn is_within(self, abilities: Abilities) -> bool {
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

    /// Puts it into the task, in the way that a provider with these abilities can fulfil it.
    pub fn make(self, task: &mut Task, abilities: Abilities) {
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

/// What clients of HTTP add by themselves; vendors that pass headers of the call on pass these on too.
const OF_ANY_CLIENT: [&str; 2] = ["accept", "content-type"];

/// Where an echo differs from the task, without the fields that this provider has no word for.
pub fn echo_differences(provider: &str, task: &Task, echo: &Value) -> Vec<String> {
    let lower = |pairs: &[(String, String)]| -> BTreeSet<(String, String)> {
        let pairs = pairs.iter();
        pairs
            .map(|(name, value)| (name.to_lowercase(), value.clone()))
            .collect()
    };
    let told = |name: &str| -> BTreeSet<(String, String)> {
        serde_json::from_value(echo[name].clone()).unwrap_or_default()
    };
    let sent = lower(&task.headers);
    let mut arrived = told("headers");
    arrived.retain(|pair| sent.contains(pair) || !OF_ANY_CLIENT.contains(&pair.0.as_str()));
    let picture = task.screenshot.map(|screenshot| match screenshot {
        Screenshot::Window => "window",
        Screenshot::FullPage => "full_page",
    });
    let wait_for = task.wait_for.as_ref().map(|wait| wait.selector.as_str());
    let same = [
        ("url", echo["url"] == task.url),
        ("method", echo["method"] == task.method),
        ("body", echo["body"] == *String::from_utf8_lossy(&task.body)),
        ("headers", arrived == sent),
        ("cookies", told("cookies") == lower(&task.cookies)),
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
        ("screenshot", echo["screenshot"].as_str() == picture),
    ];
    let is_untold = |field| {
        UNTOLD
            .iter()
            .any(|(one, untold, _)| (*one, *untold) == (provider, field))
    };
    let differing = same
        .iter()
        .filter(|(field, same)| !same && !is_untold(field));
    differing
        .map(|(field, _)| format!("{field}: {}", echo[*field]))
        .collect()
}
