//! What a vendor's description file says: one JSON file a vendor, of this form.

use std::collections::BTreeMap;
use std::sync::LazyLock;

use serde::Deserialize;
use serde_json::Value;

use super::kind::Kind;
use super::place::{Pairs, Place};
use super::{Asked, KeyState};

/// A vendor.
#[derive(Debug, Deserialize)]
#[serde(deny_unknown_fields)]
pub(super) struct Description {
    /// `provider_1`…
    pub(super) name: String,
    /// Name of the vendor's API, for readers.
    #[serde(rename = "api")]
    _api: String,
    /// Where a request has its key; the first that has one counts.
    key: Vec<KeyPlace>,
    /// What a page costs.
    pub(super) price: Price,
    /// Its endpoints.
    routes: Vec<Route>,
    /// Replies of all endpoints; those of an endpoint take precedence.
    pub(super) replies: Vec<Reply>,
}

/// Where a request has its key.
#[derive(Debug, Deserialize)]
#[serde(rename_all = "snake_case")]
enum KeyPlace {
    Query(String),
    Header(String),
    Bearer,
    /// The user of HTTP Basic; the password is empty.
    BasicUser,
    /// User and password of HTTP Basic.
    BasicPair,
}

/// What a page costs. Lists are by kind of page: plain, with JavaScript, residential, both.
#[derive(Debug, Deserialize)]
#[serde(deny_unknown_fields)]
pub(crate) struct Price {
    /// Unit of the amounts that the vendor reports; without one it reports nothing, and the list
    /// has units of the operator's price table.
    pub(crate) unit: Option<String>,
    /// The amounts, or the units.
    pub(crate) by_kind: [String; 4],
    /// Unit of a screenshot, where it costs more.
    pub(crate) screenshot: Option<String>,
    /// The target's statuses that cost nothing.
    #[serde(default)]
    pub(super) free: Vec<u16>,
    /// Bytes that are included, and those that one more credit buys.
    pub(super) bytes: Option<(usize, usize)>,
}

/// An endpoint.
#[derive(Debug, Deserialize)]
#[serde(deny_unknown_fields)]
pub(super) struct Route {
    /// HTTP method; any, if not set.
    method: Option<String>,
    /// Path of the URL; `*` is any one segment of it, `a|b` is one of two.
    path: String,
    /// Whether an account without credit may use it.
    #[serde(default)]
    free: bool,
    /// What it does with a run, for vendors that work in runs.
    pub(super) run: Option<RunStep>,
    /// Where a request for a page says what; an endpoint without it has no page.
    pub(super) request: Option<Wire>,
    /// Query parameters of an endpoint without a page.
    #[serde(default)]
    query: Vec<String>,
    #[serde(default)]
    pub(super) replies: Vec<Reply>,
}

/// What an endpoint does with a run.
#[derive(Clone, Copy, Debug, Deserialize, PartialEq, Eq)]
#[serde(rename_all = "snake_case")]
pub(super) enum RunStep {
    Start,
    Poll,
    Stop,
    Read,
}

/// Where a request for a page says what.
#[derive(Debug, Default, Deserialize)]
#[serde(default, deny_unknown_fields)]
pub(super) struct Wire {
    /// Whether method and body of the call are those of the request to the target.
    pub(super) forwards: bool,
    pub(super) url: Place,
    pub(super) method: Place,
    pub(super) body: Place,
    pub(super) headers: Pairs,
    pub(super) cookies: Pairs,
    pub(super) javascript: Place,
    pub(super) wait_ms: Place,
    pub(super) wait_for: Place,
    pub(super) script: Place,
    pub(super) country: Place,
    pub(super) residential: Place,
    pub(super) window: Place,
    pub(super) full_page: Place,
    /// Methods of the call; any, if there are none.
    pub(super) methods: Vec<String>,
    /// The longest URL in bytes.
    pub(super) url_bytes_max: Option<usize>,
    /// Whether the host of the URL has to be a name.
    pub(super) no_addresses: bool,
    /// Other members of the body and parameters of the query that the vendor accepts.
    pub(super) also: Vec<String>,
    pub(super) also_query: Vec<String>,
    /// What parameters have to be; others may be anything.
    pub(super) kinds: BTreeMap<String, Kind>,
    /// Parameters that need JavaScript, and that exclude it.
    pub(super) browser_only: Vec<String>,
    pub(super) plain_only: Vec<String>,
    /// Parameters that need another one.
    pub(super) needs: Vec<(String, String)>,
    /// Parameters that exclude another one.
    pub(super) excludes: Vec<(String, String)>,
    /// What each request says: the replies are those of a vendor that was asked so.
    pub(super) always: Vec<Place>,
}

/// A reply.
#[derive(Debug, Deserialize)]
#[serde(deny_unknown_fields)]
pub(super) struct Reply {
    /// What it is the reply to.
    #[serde(rename = "for")]
    outcomes: Vec<Outcome>,
    /// What else holds.
    #[serde(default)]
    pub(super) when: When,
    /// Status: a number, or a fact.
    pub(super) status: Option<Value>,
    #[serde(default)]
    pub(super) headers: Vec<(String, String)>,
    /// The target's headers that it has.
    pub(super) pass: Option<Passed>,
    /// Its body: JSON or a text with facts in it, or else the page itself.
    pub(super) json: Option<Value>,
    pub(super) text: Option<String>,
    /// Media type, where it is not the usual one of the body.
    #[serde(rename = "type")]
    pub(super) media: Option<String>,
}

/// The target's headers in a reply.
#[derive(Debug, Deserialize)]
#[serde(deny_unknown_fields)]
pub(super) struct Passed {
    pub(super) prefix: String,
    pub(super) except: Vec<String>,
}

/// Conditions of a reply; one that is not set always holds.
#[derive(Debug, Default, Deserialize)]
#[serde(default, deny_unknown_fields)]
pub(super) struct When {
    pub(super) javascript: Option<bool>,
    pub(super) screenshot: Option<bool>,
    /// The target's status is one of these.
    pub(super) statuses: Option<Vec<u16>>,
    /// Whether the page is UTF-8.
    pub(super) text: Option<bool>,
    /// Whether the page is HTML.
    pub(super) html: Option<bool>,
    /// Whether the page has more bytes than a reply in JSON may have.
    pub(super) large: Option<bool>,
    /// The request has this.
    pub(super) sent: Option<Place>,
    /// The target's status is not an error, or in this list of the request.
    pub(super) accepted: Option<Place>,
}

/// What came of a request.
#[derive(Clone, Copy, Debug, Deserialize, PartialEq, Eq)]
#[serde(rename_all = "snake_case")]
pub(super) enum Outcome {
    BadKey,
    NoCredit,
    RateLimited,
    /// There is no such run.
    NotFound,
    /// The parameters are not the vendor's.
    Invalid,
    Page,
    Blocked,
    Unreachable,
    Slow,
    VendorDown,
    Garbage,
    Refused,
    /// The run is not finished.
    Running,
    /// The run was stopped.
    Stopped,
    /// The vendor fails to say how the run is.
    Hiccup,
}

impl Description {
    /// The endpoint of a request.
    pub(super) fn route(&self, asked: &Asked) -> Option<&Route> {
        self.routes.iter().find(|route| route.is_for(asked))
    }

    /// The account of a request on this endpoint: `None` when it may use it.
    pub(super) fn refusal(&self, route: &Route, asked: &Asked) -> Option<Outcome> {
        let mut states = self.key.iter().filter_map(|place| place.state(asked));
        match states.next().unwrap_or(KeyState::Bad) {
            KeyState::Good => None,
            KeyState::NoCredit => (!route.free).then_some(Outcome::NoCredit),
            KeyState::RateLimited => Some(Outcome::RateLimited),
            KeyState::Bad => Some(Outcome::BadKey),
        }
    }
}

impl Route {
    fn is_for(&self, asked: &Asked) -> bool {
        let known = self.path.split('/');
        let mut steps = known.clone().zip(asked.path.split('/'));
        let is_method = self.method.as_ref().is_none_or(|it| *it == asked.method);
        is_method
            && known.count() == asked.path.split('/').count()
            && steps.all(|(known, step)| known == "*" || known.split('|').any(|one| one == step))
    }

    /// The query parameter that an endpoint without a page does not have.
    pub(super) fn strange<'a>(&self, asked: &'a Asked) -> Option<&'a str> {
        let mut names = asked.query.iter().map(|(name, _)| name.as_str());
        let is_strange = |name: &&str| !self.query.iter().any(|known| known == name);
        names.find(|name| self.request.is_none() && is_strange(name))
    }
}

impl KeyPlace {
    fn state(&self, asked: &Asked) -> Option<KeyState> {
        match self {
            Self::Query(name) => asked.param(name).map(|key| KeyState::of(Some(key))),
            Self::Header(name) => asked.header(name).map(|key| KeyState::of(Some(key))),
            Self::Bearer => asked.bearer().map(|key| KeyState::of(Some(key))),
            Self::BasicUser => asked
                .basic()
                .map(|pair| KeyState::of(pair.strip_suffix(':'))),
            Self::BasicPair => asked.basic().map(|pair| KeyState::of_basic(&pair)),
        }
    }
}

impl Reply {
    /// Whether it is a reply to this.
    pub(super) fn is_for(&self, outcome: Outcome) -> bool {
        self.outcomes.contains(&outcome)
    }
}

/// All descriptions, by number.
pub(super) static DESCRIPTIONS: LazyLock<Vec<Description>> = LazyLock::new(|| {
    let files = [
        include_str!("provider_1.json"),
        include_str!("provider_2.json"),
        include_str!("provider_3.json"),
        include_str!("provider_4.json"),
        include_str!("provider_5.json"),
        include_str!("provider_6.json"),
        include_str!("provider_7.json"),
        include_str!("provider_8.json"),
        include_str!("provider_9.json"),
        include_str!("provider_10.json"),
        include_str!("provider_11.json"),
    ];
    let read = files.iter().enumerate().map(|(index, file)| {
        let read = serde_json::from_str::<Description>(file);
        read.unwrap_or_else(|error| panic!("provider_{}.json: {error}", index + 1))
    });
    read.collect()
});
