//! A conversation between an adapter and a vendor, without a socket.

use std::marker::PhantomData;

use trawl_plugins::ProviderPlugin;
use trawl_sdk::provider::{
    self, Content, Credential, Description, Failure, Page, Provider, Reply, Request, Step, Task,
};
use url::{Url, form_urlencoded};

use crate::vendors::{Asked, Vendor, to_base64};

/// Base URL of the vendors.
pub const ORIGIN: &str = "http://vendor.test:8080";
/// Upper bound on the exchanges of a conversation.
const EXCHANGES_MAX: usize = 12;
/// Simulated duration of an exchange in milliseconds.
const ELAPSED_MS: u32 = 1_200;

/// The result of a conversation.
#[derive(Debug)]
pub struct Conversation {
    /// The page, or the failure.
    pub outcome: Result<Page, Failure>,
    /// The body of the page.
    pub body: Vec<u8>,
}

/// An adapter, native or as a component.
pub trait Adapter {
    /// Its description.
    fn describe(&self) -> Description;
    /// The first step.
    fn start(&self, task: &Task) -> Step;
    /// The next step.
    fn resume(&self, task: &Task, memo: &[u8], reply: &Reply<'_>) -> Step;
}

/// An adapter that is linked into this program.
pub struct Native<P>(PhantomData<P>);

impl<P> Native<P> {
    /// The adapter.
    pub const ADAPTER: Self = Self(PhantomData);
}

impl<P: Provider> Adapter for Native<P> {
    fn describe(&self) -> Description {
        P::describe()
    }

    fn start(&self, task: &Task) -> Step {
        provider::start::<P>(task)
    }

    fn resume(&self, task: &Task, memo: &[u8], reply: &Reply<'_>) -> Step {
        provider::resume::<P>(task, memo, reply)
    }
}

/// An adapter as a component, called as the server calls it.
impl Adapter for ProviderPlugin {
    fn describe(&self) -> Description {
        self.description().clone()
    }

    fn start(&self, task: &Task) -> Step {
        self.start(task).expect("the adapter keeps its contract")
    }

    fn resume(&self, task: &Task, memo: &[u8], reply: &Reply<'_>) -> Step {
        let step = self.resume(task, memo, reply);
        step.expect("the adapter keeps its contract")
    }
}

/// Runs a task between an adapter and a vendor, as the host does, with no settings by the operator.
pub fn converse(adapter: &dyn Adapter, vendor: &Vendor, key: &str, task: &Task) -> Conversation {
    let described = adapter.describe();
    let mut step = adapter.start(task);
    let mut last = Vec::new();
    for _ in 0..EXCHANGES_MAX {
        let exchange = match step {
            Step::Send(exchange) => *exchange,
            Step::Done(page) => return Conversation::about(Ok(*page), last),
            Step::Failed(failure) => return Conversation::about(Err(*failure), last),
        };
        let asked = asked(&described, &exchange.request, key);
        let answered = vendor.answer(&asked);
        let headers = answered.headers.into_iter();
        let reply = Reply {
            status: answered.status,
            headers: headers
                .map(|(name, value)| (name.to_lowercase(), value))
                .collect(),
            body: answered.body.into(),
            elapsed_ms: ELAPSED_MS,
        };
        step = adapter.resume(task, &exchange.memo, &reply);
        last = reply.body.into_owned();
    }
    panic!("{} does not come to an end", described.name)
}

impl Conversation {
    fn about(outcome: Result<Page, Failure>, last: Vec<u8>) -> Self {
        let body = match outcome.as_ref().map(|page| &page.content) {
            Ok(Content::Bytes(bytes)) => bytes.clone(),
            Ok(Content::Text(text)) => text.clone().into(),
            Ok(Content::Reply) => last,
            Err(_) => Vec::new(),
        };
        Self { outcome, body }
    }
}

/// The request as the vendor gets it, with the credentials filled in.
///
/// # Panics
/// The request does not go to [`ORIGIN`], or names a credential that the adapter has not declared.
pub fn asked(described: &Description, request: &Request, key: &str) -> Asked {
    let secret = |name: &String| {
        assert!(
            described.credentials.contains(name),
            "{name} is not declared"
        );
        if name.ends_with("_USERNAME") {
            format!("user-{key}")
        } else {
            key.to_owned()
        }
    };
    let mut url = Url::parse(&request.url).expect("adapters make addresses");
    assert_eq!(url.origin().ascii_serialization(), ORIGIN, "{url}");
    let mut headers = request.headers.clone();
    for credential in &request.credentials {
        let authorization = match credential {
            Credential::Query(parameter, name) => {
                url.query_pairs_mut().append_pair(parameter, &secret(name));
                continue;
            }
            Credential::Header(header, name) => {
                headers.push((header.clone(), secret(name)));
                continue;
            }
            Credential::Bearer(name) => format!("Bearer {}", secret(name)),
            Credential::Basic(user, password) => {
                let part = |name: &Option<String>| name.as_ref().map(secret).unwrap_or_default();
                let pair = format!("{}:{}", part(user), part(password));
                format!("Basic {}", to_base64(pair.as_bytes()))
            }
        };
        headers.push(("authorization".to_owned(), authorization));
    }
    headers.push(("host".to_owned(), "vendor.test:8080".to_owned()));
    headers.push(("accept-encoding".to_owned(), "gzip".to_owned()));
    let query = form_urlencoded::parse(url.query().unwrap_or_default().as_bytes());
    Asked {
        method: request.method.clone(),
        path: url.path().to_owned(),
        query: query.into_owned().collect(),
        headers: headers
            .into_iter()
            .map(|(name, value)| (name.to_lowercase(), value))
            .collect(),
        body: request.body.clone(),
        origin: ORIGIN.to_owned(),
    }
}
