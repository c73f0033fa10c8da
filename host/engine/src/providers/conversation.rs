//! One conversation with a provider: the adapter makes a request, the host sends it, the adapter
//! interprets the reply.

use std::borrow::Cow;
use std::sync::Arc;
use std::time::{Duration, Instant};

use bytes::Bytes;
use tokio::time::{sleep, timeout_at};
use url::Url;

use trawl_contract::provider::{Charged, Class, Content, Cost, Page, Reply, Request, Step, Task};
use trawl_model::fair::FairSemaphore;
use trawl_model::memory::PageMemory;
use trawl_model::redact::without_userinfo;
use trawl_model::{FetchedPage, Nanodollars, urls};
use trawl_net::fetch::{Exchanged, Fetcher};
use trawl_plugins::{Grant, PluginError, ProviderPlugin};

use super::scrub::Scrubber;
use super::sender::{self, Sender, call_adapter};
use super::{CostSource, Keys, RETRY_DELAY, VendorFailure, VendorPage, failed};

/// Most exchanges of one conversation: twice what the provider with the most polls needs if each
/// comes back early.
pub const ROUNDS_MAX: usize = 12;
/// Time for the request that cancels the job of an abandoned conversation.
const CANCEL_TIME_MAX: Duration = Duration::from_secs(10);
/// Repetitions of a request about a running job that was not answered.
const REPEATS_MAX: usize = 3;
/// Time reserved, so that the end of a conversation is reported rather than cut off.
const HAND_OVER_TIME: Duration = Duration::from_millis(20);

/// One conversation.
pub(super) struct Conversation<'a> {
    pub(super) plugin: &'a Arc<ProviderPlugin>,
    pub(super) keys: &'a Keys,
    pub(super) task: Arc<Task>,
    pub(super) deadline: Instant,
    pub(super) fetcher: &'a Fetcher,
    /// Replies take from it.
    pub(super) memory: &'a PageMemory,
    pub(super) calls: &'a Arc<FairSemaphore>,
}

impl Conversation<'_> {
    /// Runs it to its end.
    ///
    /// # Errors
    /// [`VendorFailure`], without a secret in its text.
    pub(super) async fn run(&self, url: &Url) -> Result<VendorPage, VendorFailure> {
        let scrubber = self.keys.scrubber();
        let mut cancel = Cancel {
            request: None,
            began_job: false,
            fetcher: self.fetcher.clone(),
        };
        let until = self
            .deadline
            .checked_sub(HAND_OVER_TIME)
            .unwrap_or(self.deadline);
        let ended = timeout_at(until.into(), self.rounds(url, scrubber, &mut cancel)).await;
        let late = || {
            let message = "it did not answer before the timeout of the page";
            Err(VendorFailure::of(Class::ProviderTimeout, message))
        };
        let outcome = ended.unwrap_or_else(|_| late());
        outcome.map_err(|failure| VendorFailure {
            message: scrubber.text(failure.message),
            began_job: failure.began_job || cancel.began_job,
            ..failure
        })
    }

    async fn rounds(
        &self,
        url: &Url,
        scrubber: &Arc<Scrubber>,
        cancel: &mut Cancel,
    ) -> Result<VendorPage, VendorFailure> {
        let task = Arc::clone(&self.task);
        let mut step = self.call(move |plugin| plugin.start(&task)).await?;
        let mut last = Bytes::new();
        for _ in 0..ROUNDS_MAX {
            let exchange = match step {
                Step::Send(exchange) => *exchange,
                Step::Done(page) => {
                    cancel.request = None;
                    return self.page(*page, last, url, scrubber);
                }
                Step::Failed(failure) => {
                    // A job that the adapter has not seen end keeps costing; one that it reports as
                    // charged has ended.
                    if failure.cost.charged == Charged::Yes {
                        cancel.request = None;
                    }
                    let cost = self.dollars(&failure.cost);
                    return Err(failed(*failure, cost));
                }
            };
            sleep(Duration::from_millis(exchange.delay_ms.into())).await;
            cancel.request = match &exchange.on_cancel {
                Some(request) => Some(self.prepared(request)?),
                None => None,
            };
            cancel.began_job |= cancel.request.is_some();
            let may_repeat = cancel.request.is_some() && exchange.request.method == "GET";
            let reply = self
                .send_persistently(&exchange.request, may_repeat)
                .await?;
            let (task, scrubber) = (Arc::clone(&self.task), Arc::clone(scrubber));
            let resumed = self.call(move |plugin| {
                let body = scrubber.scrub(reply.body);
                let scrubbed = Reply {
                    status: reply.status,
                    headers: scrubber.pairs(reply.headers),
                    body: Cow::Borrowed(&body),
                    elapsed_ms: u32::try_from(reply.elapsed.as_millis()).unwrap_or(u32::MAX),
                };
                let step = plugin.resume(&task, &exchange.memo, &scrubbed)?;
                Ok((scrubbed_step(step, &scrubber), body))
            });
            (step, last) = resumed.await?;
            if let Step::Failed(failure) = &mut step
                && failure.class == Class::Unsupported
            {
                // A request was sent, so this does not answer "can you do this".
                failure.class = Class::BadRequest;
            }
        }
        Err(VendorFailure::adapter(format!(
            "its adapter needs more than {ROUNDS_MAX} exchanges"
        )))
    }

    /// Sends a request; one about a running job is repeated if there is no response: the job is
    /// paid for in any case. Decision D212.
    async fn send_persistently(
        &self,
        request: &Request,
        may_repeat: bool,
    ) -> Result<Exchanged, VendorFailure> {
        let is_lost = |failure: &VendorFailure| {
            let lost = [Class::ProviderError, Class::ProviderTimeout];
            failure.class.is_some_and(|class| lost.contains(&class))
        };
        let n_repeats = if may_repeat { REPEATS_MAX } else { 0 };
        for _ in 0..n_repeats {
            match self.send(request).await {
                Err(failure) if is_lost(&failure) => sleep(RETRY_DELAY).await,
                sent => return sent,
            }
        }
        self.send(request).await
    }

    async fn send(&self, request: &Request) -> Result<Exchanged, VendorFailure> {
        self.sender().send(request).await
    }

    fn prepared(&self, request: &Request) -> Result<reqwest::Request, VendorFailure> {
        self.sender().prepared(request)
    }

    fn sender(&self) -> Sender<'_> {
        Sender {
            info: self.plugin.info(),
            grant: self.grant(),
            keys: self.keys,
            task: &self.task,
            fetcher: self.fetcher,
            memory: self.memory,
            deadline: self.deadline,
        }
    }

    /// The page of the adapter's last step; its body may be the last reply's.
    fn page(
        &self,
        page: Page,
        last: Bytes,
        url: &Url,
        scrubber: &Scrubber,
    ) -> Result<VendorPage, VendorFailure> {
        let is_text = matches!(page.content, Content::Text(_));
        let body: Bytes = match page.content {
            Content::Reply => last,
            Content::Bytes(bytes) => bytes.into(),
            Content::Text(text) => text.into(),
        };
        let (cost, cost_source) = self.cost(&page.cost);
        let drift = |message: String| VendorFailure {
            cost,
            ..VendorFailure::of(Class::Drift, message)
        };
        let reported = page.url.map(|url| scrubber.text(url));
        let final_url = final_url(reported, url)
            .ok_or_else(|| drift("it reports a final URL that is not a web URL".to_owned()))?;
        let headers = scrubber.pairs(page.headers.unwrap_or_default());
        let lower = |(name, value): (String, String)| (name.to_ascii_lowercase(), value);
        let headers: Vec<_> = headers.into_iter().map(lower).collect();
        let header = headers.iter().find(|(name, _)| name == "content-type");
        let content_type = header.map(|(_, value)| value.clone()).or(page.content_type);
        let mut content_type = scrubber.text(content_type.unwrap_or_default());
        if is_text {
            content_type = trawl_document::utf_8_type(&content_type, &body);
        }
        let status = page.status.unwrap_or(200);
        if !(100..1000).contains(&status) {
            return Err(drift(format!("it reports the invalid status {status}")));
        }
        Ok(VendorPage {
            page: FetchedPage {
                requested_url: without_userinfo(url.clone()),
                final_url,
                redirects: Vec::new(),
                status,
                headers,
                cookies: scrubber.pairs(page.cookies),
                body,
                content_type,
            },
            screenshot: page.screenshot.map(Bytes::from),
            rendered: page.rendered,
            variant: variant(&page.variant),
            cost,
            cost_source,
            request_id: page.request_id.map(|id| scrubber.text(id)),
        })
    }

    /// Calls the adapter on a blocking thread, at most as many at once as cores.
    async fn call<R: Send + 'static>(
        &self,
        call: impl FnOnce(&ProviderPlugin) -> Result<R, PluginError> + Send + 'static,
    ) -> Result<R, VendorFailure> {
        let turns = (self.calls, self.memory.account());
        call_adapter(turns, self.plugin, call).await
    }

    /// The cost of a page in dollars, and where it comes from.
    fn cost(&self, cost: &Cost) -> (Nanodollars, CostSource) {
        sender::cost(self.plugin.info(), self.grant(), cost)
    }

    /// The cost in dollars.
    fn dollars(&self, cost: &Cost) -> Nanodollars {
        sender::dollars(self.plugin.info(), self.grant(), cost)
    }

    fn grant(&self) -> &Grant {
        self.plugin.grant()
    }
}

/// The final URL that an adapter reports, by default the requested one; `None` if it is not a web
/// URL.
fn final_url(reported: Option<String>, requested: &Url) -> Option<Url> {
    let Some(reported) = reported else {
        return Some(without_userinfo(requested.clone()));
    };
    let url = urls::parse(&reported).ok()?;
    matches!(url.scheme(), "http" | "https").then(|| without_userinfo(url))
}

/// Scrubs the body of a finished page again: an adapter may have decoded it.
fn scrubbed_step(mut step: Step, scrubber: &Scrubber) -> Step {
    if let Step::Done(page) = &mut step {
        page.content = match std::mem::replace(&mut page.content, Content::Reply) {
            Content::Reply => Content::Reply,
            Content::Bytes(bytes) => Content::Bytes(scrubber.scrub(bytes.into()).into()),
            Content::Text(text) => Content::Text(scrubber.text(text)),
        };
    }
    step
}

/// The route's suffix in `costs.vendor.route`, cleaned of what does not belong there.
fn variant(result: &str) -> String {
    let word = result.chars().take(40);
    let word: String = word
        .filter(|letter| letter.is_ascii_alphanumeric() || matches!(letter, '_' | '-'))
        .collect();
    if word.is_empty() {
        return "plain".to_owned();
    }
    word
}

/// The request that cancels a job at the provider, sent if the conversation is abandoned: at its
/// deadline, or because its future was dropped.
struct Cancel {
    request: Option<reqwest::Request>,
    /// Whether a job was ever started.
    began_job: bool,
    fetcher: Fetcher,
}

impl Drop for Cancel {
    fn drop(&mut self) {
        let Some(request) = self.request.take() else {
            return;
        };
        let Ok(runtime) = tokio::runtime::Handle::try_current() else {
            return;
        };
        let fetcher = self.fetcher.clone();
        runtime.spawn(async move {
            // Its URL was checked when it was prepared.
            let memory = fetcher.own_memory();
            let sent = fetcher.exchange(request, 64 * 1024, &memory, |_| true);
            if !matches!(tokio::time::timeout(CANCEL_TIME_MAX, sent).await, Ok(Ok(_))) {
                tracing::warn!("a job at a provider could not be cancelled");
            }
        });
    }
}
