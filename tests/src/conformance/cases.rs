//! The list of cases, `cases.json`: one for all providers.

use std::sync::LazyLock;

use serde::de::Error;
use serde::{Deserialize, Deserializer};
use trawl_sdk::provider::{Abilities, Class};

use crate::vendors::{
    BAD_KEY, BUSY_KEY, GOOD_KEY, IMAGE, KeyState, LARGE_BYTES, PAGE, PAGE_RENDERED, POOR_KEY,
    TURNED_AWAY,
};

/// A page to fetch through every provider.
#[derive(Debug, Deserialize)]
#[serde(deny_unknown_fields)]
pub struct Case {
    /// Name of the case.
    pub name: String,
    /// The account of the vendor key.
    #[serde(default = "good")]
    key: KeyState,
    /// URL of the page.
    pub url: String,
    /// The values of `javascript` to run it with.
    #[serde(default = "both")]
    pub javascript: Vec<bool>,
    /// Abilities that a provider needs for this case.
    #[serde(default = "serves", deserialize_with = "abilities")]
    pub needs: Abilities,
    /// The usual result.
    expected: Expected,
    /// Providers with another result; the first that fits counts.
    #[serde(default)]
    except: Vec<Except>,
}

/// A documented difference between vendors.
#[derive(Debug, Deserialize)]
#[serde(deny_unknown_fields)]
struct Except {
    /// Numbers of the providers.
    providers: Vec<u32>,
    /// The values of `javascript` that it applies to.
    #[serde(default = "both")]
    javascript: Vec<bool>,
    /// The result instead of the usual one.
    expected: Expected,
    /// The reason, for readers.
    #[serde(rename = "why")]
    _why: String,
}

/// The result of a case.
#[derive(Debug, Deserialize)]
#[serde(rename_all = "snake_case", deny_unknown_fields)]
pub enum Expected {
    /// A page.
    Page {
        /// The target's status.
        status: u16,
        /// The body.
        body: Body,
        /// The final URL, where it differs from the requested one. Only providers that report final
        /// URLs know it.
        moved_to: Option<String>,
        /// The cost; the usual one by default.
        #[serde(default = "usual")]
        bill: Bill,
    },
    /// A failure.
    Failure {
        /// The class.
        #[serde(deserialize_with = "class")]
        class: Class,
        /// The cost; nothing by default.
        #[serde(default)]
        bill: Bill,
        /// Seconds to wait before a retry.
        retry_after: Option<u32>,
    },
}

/// The body of a page.
#[derive(Debug, Deserialize)]
#[serde(rename_all = "snake_case")]
pub enum Body {
    /// [`PAGE`].
    Page,
    /// [`PAGE_RENDERED`].
    Rendered,
    /// [`TURNED_AWAY`].
    TurnedAway,
    /// [`IMAGE`].
    Image,
    /// The body of `/large`.
    Large,
    /// This text.
    Text(String),
}

/// What a vendor charges for a case.
#[derive(Debug, Default, Deserialize)]
#[serde(rename_all = "snake_case")]
pub enum Bill {
    /// Nothing.
    #[default]
    Free,
    /// The usual price of such a page: [`usual_cost`](super::usual_cost).
    Usual,
    /// This number of credits.
    Credits(String),
}

/// All cases.
pub static CASES: LazyLock<Vec<Case>> =
    LazyLock::new(|| serde_json::from_str(include_str!("cases.json")).expect("a list of cases"));

impl Body {
    /// The bytes of the body.
    pub fn bytes(&self) -> Vec<u8> {
        match self {
            Self::Page => PAGE.into(),
            Self::Rendered => PAGE_RENDERED.into(),
            Self::TurnedAway => TURNED_AWAY.into(),
            Self::Image => IMAGE.into(),
            Self::Large => format!("<p>{}</p>", "x".repeat(LARGE_BYTES)).into(),
            Self::Text(text) => text.clone().into(),
        }
    }
}

impl Case {
    /// The vendor key.
    pub fn key(&self) -> &'static str {
        match self.key {
            KeyState::Good => GOOD_KEY,
            KeyState::NoCredit => POOR_KEY,
            KeyState::RateLimited => BUSY_KEY,
            KeyState::Bad => BAD_KEY,
        }
    }

    /// The expected result of this provider.
    pub fn expected_of(&self, provider: &str, javascript: bool) -> &Expected {
        let number = provider.strip_prefix("provider_");
        let number = number.and_then(|number| number.parse().ok());
        let mut except = self.except.iter();
        let other = except.find(|except| {
            let is_named = number.is_some_and(|number| except.providers.contains(&number));
            is_named && except.javascript.contains(&javascript)
        });
        other.map_or(&self.expected, |except| &except.expected)
    }
}

fn good() -> KeyState {
    KeyState::Good
}

fn both() -> Vec<bool> {
    vec![false, true]
}

fn serves() -> Abilities {
    Abilities::SERVES
}

fn usual() -> Bill {
    Bill::Usual
}

fn abilities<'de, D: Deserializer<'de>>(input: D) -> Result<Abilities, D::Error> {
    let name = String::deserialize(input)?;
    let known = Abilities::NAMED.iter().find(|(known, _)| *known == name);
    known
        .map(|(_, ability)| *ability)
        .ok_or_else(|| Error::custom(format!("`{name}` is not an ability")))
}

fn class<'de, D: Deserializer<'de>>(input: D) -> Result<Class, D::Error> {
    let name = String::deserialize(input)?;
    let known = Class::ALL.into_iter().find(|known| known.name() == name);
    known.ok_or_else(|| Error::custom(format!("`{name}` is not a class")))
}
