//! Runs a provider adapter against scripted replies.

use std::borrow::Cow;

use crate::provider::{
    Class, Exchange, Failure, Page, Provider, Reply, Request, Step, Task, resume, start,
};

/// Record of a conversation: the adapter's requests and the outcome.
#[derive(Clone, Debug)]
pub struct Conversation {
    /// Requests in order, each with its delay, its memo and its cancel request.
    pub exchanges: Vec<Exchange>,
    /// The page or the failure; `None` if the replies ran out first.
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

/// A header, cookie or parameter: name and value.
pub fn pair(name: &str, value: &str) -> (String, String) {
    (name.to_owned(), value.to_owned())
}

/// Runs an adapter on a task, answering its requests with these replies in order.
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
    /// If there was none.
    pub fn first(&self) -> &Request {
        self.requests().first().expect("a request")
    }

    /// The page.
    ///
    /// # Panics
    /// If the outcome is not a page.
    pub fn page(&self) -> &Page {
        match &self.outcome {
            Some(Ok(page)) => page,
            other => panic!("expected a page, got {other:?}"),
        }
    }

    /// The failure.
    ///
    /// # Panics
    /// If the outcome is not a failure.
    pub fn failure(&self) -> &Failure {
        match &self.outcome {
            Some(Err(failure)) => failure,
            other => panic!("expected a failure, got {other:?}"),
        }
    }

    /// Class of the failure.
    ///
    /// # Panics
    /// If the outcome is not a failure.
    pub fn class(&self) -> Class {
        self.failure().class
    }
}
