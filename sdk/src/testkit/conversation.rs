//! Runs a provider adapter against replies that a test has written down.

use std::borrow::Cow;

use crate::provider::{
    Class, Exchange, Failure, Page, Provider, Reply, Request, Step, Task, resume, start,
};

/// A conversation: the requests that the adapter wanted sent, and how it ended.
#[derive(Clone, Debug)]
pub struct Conversation {
    /// The requests in order, each with its pause, its memo, and what is sent when the conversation is given up.
    pub exchanges: Vec<Exchange>,
    /// The page, or why there is none; `None` when the replies were used up before the end.
    pub outcome: Option<Result<Page, Failure>>,
}

/// A reply with this status, these headers and this body.
pub fn reply<'a>(
    status: u16,
    headers: &[(&str, &str)],
    body: impl Into<Cow<'a, [u8]>>,
) -> Reply<'a> {
    let headers = headers.iter();
    Reply {
        status,
        headers: headers
            .map(|(name, value)| (name.to_lowercase(), (*value).to_owned()))
            .collect(),
        body: body.into(),
        elapsed_ms: 100,
    }
}

/// Talks with an adapter about a task, answering its requests with these replies in turn.
pub fn converse<P: Provider>(task: &Task, replies: &[Reply<'_>]) -> Conversation {
    let mut replies = replies.iter();
    let mut conversation = Conversation {
        exchanges: Vec::new(),
        outcome: None,
    };
    let mut step = start::<P>(task);
    loop {
        let exchange = match step {
            Step::Send(exchange) => exchange,
            Step::Done(page) => {
                conversation.outcome = Some(Ok(*page));
                return conversation;
            }
            Step::Failed(failure) => {
                conversation.outcome = Some(Err(*failure));
                return conversation;
            }
        };
        let memo = exchange.memo.clone();
        conversation.exchanges.push(*exchange);
        let Some(reply) = replies.next() else {
            return conversation;
        };
        step = resume::<P>(task, &memo, reply);
    }
}

impl Conversation {
    /// The requests alone.
    pub fn requests(&self) -> Vec<&Request> {
        let exchanges = self.exchanges.iter();
        exchanges.map(|exchange| &exchange.request).collect()
    }

    /// The first request.
    ///
    /// # Panics
    /// There was none.
    pub fn first(&self) -> &Request {
        self.requests().first().expect("a request")
    }

    /// The page that came of it.
    ///
    /// # Panics
    /// It came to something else.
    pub fn page(&self) -> &Page {
        match &self.outcome {
            Some(Ok(page)) => page,
            other => panic!("expected a page, got {other:?}"),
        }
    }

    /// The failure that came of it.
    ///
    /// # Panics
    /// It came to something else.
    pub fn failure(&self) -> &Failure {
        match &self.outcome {
            Some(Err(failure)) => failure,
            other => panic!("expected a failure, got {other:?}"),
        }
    }

    /// Class of the failure that came of it.
    ///
    /// # Panics
    /// It came to something else.
    pub fn class(&self) -> Class {
        self.failure().class
    }
}

impl Request {
    /// Value of a query parameter, decoded.
    pub fn query_value(&self, name: &str) -> Option<String> {
        let url = url::Url::parse(&self.url).ok()?;
        let mut pairs = url.query_pairs();
        let found = pairs.find(|(known, _)| known == name);
        found.map(|(_, value)| value.into_owned())
    }

    /// The body as JSON; null when it is something else.
    pub fn body_json(&self) -> serde_json::Value {
        serde_json::from_slice(&self.body).unwrap_or_default()
    }
}
