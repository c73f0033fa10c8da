//! Conformance cases of the provider adapters: one list for all of them, and a driver that runs an
//! adapter against a fake vendor without a socket. The lists do not depend on the driver, so that
//! the server is tested with the same cases over HTTP.

mod cases;
mod check;
mod driver;
mod features;

use trawl_sdk::provider::{Abilities, Class, Cost, Task, USD};

pub use cases::CASES;
pub use check::check;
pub use driver::{Adapter, Conversation, Native, ORIGIN, asked, converse};
pub use features::{ECHO, FEATURES, Feature, INEXPRESSIBLE, echo_differences};

use crate::vendors::{IMAGE, LARGE_BYTES};

/// A page to fetch through every provider.
#[derive(Debug)]
pub struct Case {
    /// Name of the case.
    pub name: &'static str,
    /// The vendor key.
    pub key: &'static str,
    /// URL of the page.
    pub url: &'static str,
    /// The values of `javascript` to run it with.
    pub javascript: &'static [bool],
    /// Abilities that a provider needs for this case.
    pub needs: Abilities,
    /// The usual result.
    pub expected: Expected,
    /// Providers with another result.
    pub except: &'static [Except],
}

/// A documented difference between vendors.
#[derive(Debug)]
pub struct Except {
    /// Names of the providers.
    pub providers: &'static [&'static str],
    /// The values of `javascript` that it applies to.
    pub javascript: &'static [bool],
    /// The result instead of the usual one.
    pub expected: Expected,
    /// The reason.
    pub why: &'static str,
}

/// The result of a case.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Expected {
    /// A page.
    Page {
        /// The target's status.
        status: u16,
        /// The body.
        body: Body,
        /// The final URL, where it differs from the requested one. Only providers that report final
        /// URLs know it.
        moved_to: Option<&'static str>,
        /// The cost.
        bill: Bill,
    },
    /// A failure.
    Failure {
        /// The class.
        class: Class,
        /// The cost.
        bill: Bill,
        /// Seconds to wait before a retry.
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

/// What a vendor charges for a case.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Bill {
    /// Nothing.
    Free,
    /// The usual price of such a page: [`usual_cost`].
    Usual,
    /// This number of credits.
    Credits(&'static str),
}

impl Body {
    /// The bytes of the body.
    pub fn bytes(self) -> Vec<u8> {
        match self {
            Self::Text(text) => text.into(),
            Self::Image => IMAGE.into(),
            Self::Large => format!("<p>{}</p>", "x".repeat(LARGE_BYTES)).into(),
        }
    }
}

impl Case {
    /// The expected result of this provider.
    pub fn expected_of(&self, provider: &str, javascript: bool) -> Expected {
        let mut except = self.except.iter();
        let other = except.find(|except| {
            except.providers.contains(&provider) && except.javascript.contains(&javascript)
        });
        other.map_or(self.expected, |except| except.expected)
    }
}

/// The vendor's price of a page.
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
        "provider_11" => Cost::listed(["standard", "standard_js", "premium", "premium_js"][kind]),
        other => unreachable!("{other} has no prices"),
    }
}

fn reported(unit: &str, amount: &str) -> Cost {
    Cost::reported(unit, amount).expect("amounts here are numbers")
}
