//! What every provider adapter makes of its vendor: one list of cases for all of them, and a driver that runs an adapter against a
//! fake vendor without a socket. The lists say nothing of how a case is run, so that the server can be asked the same over HTTP.

mod cases;
mod check;
mod driver;
mod wishes;

use trawl_sdk::provider::{Abilities, Class, Cost, Task, USD};

pub use cases::CASES;
pub use check::check;
pub use driver::{Adapter, Native, ORIGIN, Talk, converse};
pub use wishes::{ECHO, UNTOLD, WISHES, Wish, echo_differences};

use crate::vendors::{IMAGE, LARGE_BYTES};

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
        "provider_11" => Cost::listed(["standard", "standard_js", "premium", "premium_js"][kind]),
        other => unreachable!("{other} has no prices"),
    }
}

fn reported(unit: &str, amount: &str) -> Cost {
    Cost::reported(unit, amount).expect("amounts here are numbers")
}
