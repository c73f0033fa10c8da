//! What every provider adapter makes of its vendor: one list of cases for all of them, and a driver that runs an adapter against a
//! fake vendor without a socket. The lists say nothing of how a case is run, so that the server can be asked the same over HTTP.

use std::collections::BTreeSet;

use serde_json::Value;
use trawl_sdk::provider::{
    Abilities, Charged, Class, Content, Cost, Credential, Description, Failure, Page, Pool,
    Provider, Reply, Request, Screenshot, Step, Task, USD, WaitFor,
};
use url::{Url, form_urlencoded};

use crate::vendors::{
    Asked, BAD_KEY, BUSY_KEY, GOOD_KEY, IMAGE, LARGE_BYTES, PAGE, PAGE_RENDERED, POOR_KEY,
    RETRY_AFTER, TURNED_AWAY, Vendor, to_base64,
};

/// One page, asked of every provider.
#[derive(Debug)]
pub struct Case {
    /// What it is about.
    pub name: &'static str,
    /// The key it is asked with.
    pub key: &'static str,
    /// The page.
    pub url: &'static str,
    /// Whether scripts run: once for each of these.
    pub javascript: &'static [bool],
    /// What a provider must be able to do to be asked at all.
    pub needs: Abilities,
    /// What is expected of most providers.
    pub expected: Expected,
    /// Who has another way, and why.
    pub except: &'static [Except],
}

/// A documented difference.
#[derive(Debug)]
pub struct Except {
    /// Whose.
    pub providers: &'static [&'static str],
    /// In which of the case's modes.
    pub javascript: &'static [bool],
    /// What is expected instead.
    pub expected: Expected,
    /// Where it comes from.
    pub why: &'static str,
}

/// What comes of a case.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Expected {
    /// A page.
    Page {
        /// The target's status.
        status: u16,
        /// Its body.
        body: Body,
        /// Its address, where it is not the one that was asked for. Only who tells final addresses knows it.
        moved_to: Option<&'static str>,
        /// What it costs.
        bill: Bill,
    },
    /// A failure.
    Failure {
        /// Its class.
        class: Class,
        /// What it costs nevertheless.
        bill: Bill,
        /// Seconds to wait.
        retry_after: Option<u32>,
    },
}

/// The body of a page.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Body {
    /// This text.
    Text(&'static str),
    /// [`IMAGE`].
    Image,
    /// The body of `/large`.
    Large,
}

/// What a vendor's rules say that a case costs.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Bill {
    /// Nothing.
    Free,
    /// As much as any page of its kind: [`usual_cost`].
    Usual,
    /// So many credits.
    Credits(&'static str),
}

impl Body {
    /// Its bytes.
    pub fn bytes(self) -> Vec<u8> {
        match self {
            Self::Text(text) => text.into(),
            Self::Image => IMAGE.into(),
            Self::Large => format!("<p>{}</p>", "x".repeat(LARGE_BYTES)).into(),
        }
    }
}

impl Case {
    /// What is expected of this provider.
    pub fn expected_of(&self, provider: &str, javascript: bool) -> Expected {
        let mut except = self.except.iter();
        let other = except.find(|except| {
            except.providers.contains(&provider) && except.javascript.contains(&javascript)
        });
        other.map_or(self.expected, |except| except.expected)
    }
}

const PLAIN: &[bool] = &[false];
const RENDERED: &[bool] = &[true];
const BOTH: &[bool] = &[false, true];

const fn page(status: u16, text: &'static str, bill: Bill) -> Expected {
    with_body(status, Body::Text(text), bill)
}

const fn with_body(status: u16, body: Body, bill: Bill) -> Expected {
    let moved_to = None;
    Expected::Page {
        status,
        body,
        moved_to,
        bill,
    }
}

const fn failure(class: Class, bill: Bill) -> Expected {
    let retry_after = None;
    Expected::Failure {
        class,
        bill,
        retry_after,
    }
}

const fn case(
    name: &'static str,
    url: &'static str,
    javascript: &'static [bool],
    expected: Expected,
    except: &'static [Except],
) -> Case {
    let (key, needs) = (GOOD_KEY, Abilities::SERVES);
    Case {
        name,
        key,
        url,
        javascript,
        needs,
        expected,
        except,
    }
}

const fn but(
    providers: &'static [&'static str],
    javascript: &'static [bool],
    expected: Expected,
    why: &'static str,
) -> Except {
    Except {
        providers,
        javascript,
        expected,
        why,
    }
}

const TIME: &str = "it charges for time and computing, whatever comes of it";
const ONE_STATUS: &str = "it has one status for targets that block and that cannot be reached";

/// Every case.
pub const CASES: &[Case] = &[
    case("page", "http://site.example/page", PLAIN, page(200, PAGE, Bill::Usual), &[]),
    case("page with scripts", "http://site.example/page", RENDERED, page(200, PAGE_RENDERED, Bill::Usual), &[]),
    Case { key: BAD_KEY, ..case("wrong key", "http://site.example/page", BOTH, failure(Class::BadKey, Bill::Free), &[]) },
    Case { key: POOR_KEY, ..case("no credit", "http://site.example/page", BOTH, failure(Class::NoCredit, Bill::Free), &[]) },
    Case {
        key: BUSY_KEY,
        ..case(
            "too often", "http://site.example/page", BOTH,
            Expected::Failure { class: Class::RateLimited, bill: Bill::Free, retry_after: Some(RETRY_AFTER) },
            &[but(
                &["provider_3", "provider_5", "provider_6", "provider_10"], BOTH, failure(Class::RateLimited, Bill::Free),
                "it has no Retry-After",
            )],
        )
    },
    case("missing page", "http://site.example/missing", BOTH, page(404, "<h1>Not here</h1>", Bill::Usual), &[]),
    case(
        "target's 503", "http://site.example/busy", BOTH, page(503, "<h1>Busy</h1>", Bill::Usual),
        &[
            but(
                &["provider_2", "provider_4", "provider_5", "provider_6", "provider_10"], BOTH,
                page(503, "<h1>Busy</h1>", Bill::Free), "it does not charge for a target that failed",
            ),
            but(&["provider_3"], BOTH, failure(Class::TargetFailed, Bill::Free), "it delivers 200 and 404 only"),
            but(&["provider_8"], BOTH, failure(Class::TargetFailed, Bill::Usual), "its actors throw on 5xx"),
        ],
    ),
    case(
        "target's 403", "http://site.example/forbidden", BOTH, page(403, "<h1>Forbidden</h1>", Bill::Usual),
        &[
            but(&["provider_5", "provider_6"], BOTH, page(403, "<h1>Forbidden</h1>", Bill::Free), "it does not charge for a 403"),
            but(&["provider_3"], BOTH, failure(Class::TargetBlocked, Bill::Free), "it delivers 200 and 404 only"),
            but(&["provider_7"], BOTH, failure(Class::TargetBlocked, Bill::Free), "it keeps the page of a 403"),
            but(&["provider_8"], BOTH, failure(Class::TargetBlocked, Bill::Usual), "its actors throw on 403"),
        ],
    ),
    case(
        "redirect", "http://site.example/moved", BOTH,
        Expected::Page { status: 200, body: Body::Text(PAGE), moved_to: Some("http://site.example/page"), bill: Bill::Usual },
        &[],
    ),
    case(
        "blocked", "http://site.example/blocked", BOTH, failure(Class::TargetBlocked, Bill::Free),
        &[
            but(&["provider_2"], BOTH, page(403, TURNED_AWAY, Bill::Usual), "it delivers what the target shows"),
            but(&["provider_9"], RENDERED, page(403, TURNED_AWAY, Bill::Usual), "it delivers what the target shows"),
            but(&["provider_8", "provider_9"], BOTH, failure(Class::TargetBlocked, Bill::Usual), TIME),
        ],
    ),
    case(
        "unreachable", "http://a.nowhere.example/", BOTH, failure(Class::TargetUnreachable, Bill::Free),
        &[
            but(&["provider_5", "provider_10", "provider_11"], BOTH, failure(Class::TargetBlocked, Bill::Free), ONE_STATUS),
            but(&["provider_8", "provider_9"], BOTH, failure(Class::TargetUnreachable, Bill::Usual), TIME),
        ],
    ),
    case(
        "slow", "http://site.example/slow", BOTH, failure(Class::ProviderTimeout, Bill::Free),
        &[
            but(&["provider_2", "provider_7"], BOTH, failure(Class::ProviderError, Bill::Free), "a 5xx of its own is all it says"),
            but(&["provider_3"], BOTH, failure(Class::TargetUnreachable, Bill::Free), "it takes a slow target for a dead one"),
            but(&["provider_5"], BOTH, failure(Class::TargetBlocked, Bill::Free), ONE_STATUS),
            but(&["provider_8", "provider_9"], BOTH, failure(Class::ProviderTimeout, Bill::Usual), TIME),
        ],
    ),
    case(
        "vendor down", "http://site.example/breaks", BOTH, failure(Class::ProviderError, Bill::Free),
        &[
            but(&["provider_8"], BOTH, failure(Class::ProviderError, Bill::Usual), TIME),
            but(&["provider_9"], PLAIN, failure(Class::ProviderError, Bill::Usual), TIME),
        ],
    ),
    case(
        "garbage", "http://site.example/garbage", BOTH, failure(Class::Drift, Bill::Free),
        &[but(&["provider_8", "provider_9"], BOTH, failure(Class::Drift, Bill::Usual), TIME)],
    ),
    case("refused", "http://site.example/refused", BOTH, failure(Class::BadRequest, Bill::Free), &[]),
    Case {
        needs: Abilities::BINARY,
        ..case("picture", "http://site.example/image", BOTH, with_body(200, Body::Image, Bill::Usual), &[])
    },
    case(
        "large page", "http://site.example/large", PLAIN, with_body(200, Body::Large, Bill::Usual),
        &[but(&["provider_4"], PLAIN, with_body(200, Body::Large, Bill::Credits("52")), "it charges by size beyond 1 MB")],
    ),
];

/// What a page costs by its vendor's rules.
pub fn usual_cost(provider: &str, task: &Task) -> Cost {
    let javascript = task.javascript;
    let kind = 2 * usize::from(task.is_residential()) + usize::from(javascript);
    let credits = |of_kinds: [&str; 4]| reported("credit", of_kinds[kind]);
    match provider {
        "provider_1" => {
            let cost = Cost::listed(if javascript { "browser_1" } else { "http_1" });
            match task.screenshot {
                Some(_) => cost.and_units("screenshot", 1),
                None => cost,
            }
        }
        "provider_2" | "provider_5" | "provider_6" => credits(["1", "5", "10", "25"]),
        "provider_3" => credits(["1", "10", "10", "25"]),
        "provider_4" => credits(["1", "6", "25", "30"]),
        "provider_7" => Cost::listed("request"),
        "provider_8" => reported(USD, "0.00125"),
        "provider_9" => Cost::listed("unit"),
        "provider_10" => Cost::listed(if javascript { "rendered" } else { "plain" }),
        "provider_11" => {
            Cost::listed(["standard", "standard_js", "premium", "premium_js"][kind])
        }
        other => unreachable!("{other} has no prices"),
    }
}

fn reported(unit: &str, amount: &str) -> Cost {
    Cost::reported(unit, amount).expect("amounts here are numbers")
}

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
    ("provider_10", "residential", "the vendor decides for each page"),
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
