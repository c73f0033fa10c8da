//! One conversation: the adapter says what to send, we send, it says what the reply means.

use std::borrow::Cow;
use std::sync::Arc;
use std::time::{Duration, Instant};

use bytes::Bytes;
use tokio::sync::Semaphore;
use tokio::time::{sleep, timeout_at};
use trawl_sdk::provider::{Charged, Class, Content, Cost, Page, Reply, Request, Step, Task};
use url::Url;

use super::scrub::Scrubber;
use super::{Keys, Refused, VendorFailure, VendorPage, failed, prepare};
use trawl_model::{FetchedPage, Nanodollars};
use trawl_net::fetch::{BODY_BYTES_MAX, Exchanged, FetchError, Fetcher, without_userinfo};
use trawl_plugins::{Grant, PluginError, ProviderPlugin};

/// Exchanges of one conversation: what the most talkative service needs when each poll comes back early, twice.
pub const ROUNDS_MAX: usize = 12;
/// Time for a request that stops a job of a conversation that was given up.
const CANCEL_TIME_MAX: Duration = Duration::from_secs(10);
/// Time kept back, so that the end of a conversation is told rather than cut off.
const HAND_OVER_TIME: Duration = Duration::from_millis(20);

/// A conversation to be held.
pub(super) struct Conversation<'a> {
    pub(super) plugin: &'a Arc<ProviderPlugin>,
    pub(super) keys: &'a Keys,
    pub(super) task: Arc<Task>,
    pub(super) deadline: Instant,
    pub(super) fetcher: &'a Fetcher,
    pub(super) calls: &'a Arc<Semaphore>,
}

impl Conversation<'_> {
    /// Holds it to its end.
    ///
    /// # Errors
    /// [`VendorFailure`], without a secret in its text.
    pub(super) async fn hold(&self, url: &Url) -> Result<VendorPage, VendorFailure> {
        let scrubber = self.keys.scrubber();
        let mut cancel = Cancel {
            request: None,
            fetcher: self.fetcher.clone(),
        };
        let until = self
            .deadline
            .checked_sub(HAND_OVER_TIME)
            .unwrap_or(self.deadline);
        let held = timeout_at(until.into(), self.rounds(url, scrubber, &mut cancel)).await;
        let late = || {
            let message = "it did not answer in the time that the page has";
            Err(VendorFailure::of(Class::ProviderTimeout, message))
        };
        let outcome = held.unwrap_or_else(|_| late());
        outcome.map_err(|failure| VendorFailure {
            message: scrubber.text(failure.message),
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
                    // A job whose end the adapter has not seen goes on costing; what it says it cost has ended.
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
            let reply = self.send(&exchange.request).await?;
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
                // Something was sent, so it is no answer to "can you do this".
                failure.class = Class::BadRequest;
            }
        }
        Err(VendorFailure::adapter(format!(
            "its adapter wants more than {ROUNDS_MAX} exchanges"
        )))
    }

    async fn send(&self, request: &Request) -> Result<Exchanged, VendorFailure> {
        let prepared = self.prepared(request)?;
        let left = self.deadline.saturating_duration_since(Instant::now());
        let time = match request.time_ms {
            0 => left,
            ms => left.min(Duration::from_millis(ms.into())),
        };
        let size = usize::try_from(self.plugin.info().limits.input_bytes()).unwrap_or(usize::MAX);
        let bytes_max = size.min(BODY_BYTES_MAX);
        let grant = self.grant();
        let exchange = self
            .fetcher
            .exchange(prepared, bytes_max, |url| grant.allows(url));
        match tokio::time::timeout(time, exchange).await {
            Ok(Ok(reply)) => Ok(reply),
            Ok(Err(FetchError::TooLarge(bytes_max))) => {
                // The page's doing: another try would only be paid again.
                let message = format!("its reply is larger than {bytes_max} bytes");
                let failure = VendorFailure::of(Class::TargetFailed, message);
                Err(VendorFailure {
                    retryable: Some(false),
                    ..failure
                })
            }
            Ok(Err(error)) => {
                let message = format!("it cannot be asked: {error}");
                Err(VendorFailure::of(Class::ProviderError, message))
            }
            Err(_) => {
                let message = format!("it did not answer within {} s", time.as_secs_f32());
                Err(VendorFailure::of(Class::ProviderTimeout, message))
            }
        }
    }

    fn prepared(&self, request: &Request) -> Result<reqwest::Request, VendorFailure> {
        prepare(request, &self.task, self.grant(), self.keys).map_err(|refused| match refused {
            Refused::Adapter(reason) => {
                let provider = &self.plugin.info().name;
                tracing::error!(provider = %provider, "a request of the adapter is refused: {reason}");
                VendorFailure::adapter(format!("a request of its adapter is refused: {reason}"))
            }
            Refused::Task(reason) => VendorFailure::of(Class::BadRequest, reason),
        })
    }

    /// The page of the adapter's last step, whose body may be that of the last reply.
    fn page(
        &self,
        page: Page,
        last: Bytes,
        url: &Url,
        scrubber: &Scrubber,
    ) -> Result<VendorPage, VendorFailure> {
        let body = match page.content {
            Content::Reply => last,
            Content::Bytes(bytes) => bytes.into(),
            Content::Text(text) => text.into(),
        };
        let cost = match page.cost.charged {
            // Nobody told: a page that was served was hardly free, so it is priced as the cheapest that there is.
            Charged::Unknown => self.grant().prices.least,
            Charged::Yes | Charged::No => self.dollars(&page.cost),
        };
        let final_url = match page.url.map(|address| scrubber.text(address)) {
            None => without_userinfo(url.clone()),
            Some(address) => Url::parse(&address)
                .ok()
                .filter(|url| matches!(url.scheme(), "http" | "https"))
                .ok_or_else(|| VendorFailure {
                    cost,
                    ..VendorFailure::of(Class::Drift, "it tells a final address that is none")
                })?,
        };
        let headers = scrubber.pairs(page.headers.unwrap_or_default());
        let lower = |(name, value): (String, String)| (name.to_ascii_lowercase(), value);
        let headers: Vec<_> = headers.into_iter().map(lower).collect();
        let told = headers.iter().find(|(name, _)| name == "content-type");
        let content_type = told.map(|(_, value)| value.clone()).or(page.content_type);
        let status = page.status.unwrap_or(200);
        if !(100..1000).contains(&status) {
            let message = format!("it tells a status {status}, which is none");
            return Err(VendorFailure {
                cost,
                ..VendorFailure::of(Class::Drift, message)
            });
        }
        Ok(VendorPage {
            page: FetchedPage {
                requested_url: without_userinfo(url.clone()),
                final_url,
                status,
                headers,
                cookies: scrubber.pairs(page.cookies),
                body,
                content_type: scrubber.text(content_type.unwrap_or_default()),
            },
            picture: page.screenshot.map(Bytes::from),
            rendered: page.rendered,
            variant: variant(&page.variant),
            cost,
            request_id: page.request_id.map(|id| scrubber.text(id)),
        })
    }

    /// Calls the adapter where blocking harms nobody, no more at once than cores.
    async fn call<R: Send + 'static>(
        &self,
        call: impl FnOnce(&ProviderPlugin) -> Result<R, PluginError> + Send + 'static,
    ) -> Result<R, VendorFailure> {
        let place = Arc::clone(self.calls).acquire_owned().await;
        let plugin = Arc::clone(self.plugin);
        let called = tokio::task::spawn_blocking(move || {
            let said = call(&plugin);
            drop(place);
            said
        });
        match called.await {
            Ok(Ok(said)) => Ok(said),
            Ok(Err(error)) => Err(VendorFailure::adapter(format!(
                "its adapter {}",
                error.fault
            ))),
            Err(panic) => {
                tracing::error!(error = %panic, "the call of an adapter panicked");
                Err(VendorFailure::adapter("its adapter broke down"))
            }
        }
    }

    /// What a cost is in dollars. A unit that the operator has no price for costs nothing, and is logged.
    fn dollars(&self, cost: &Cost) -> Nanodollars {
        let prices = &self.grant().prices;
        if let Some(unit) = prices.unpriced(cost) {
            let provider = &self.plugin.info().name;
            tracing::error!(provider = %provider, unit, "the adapter counts in a unit without a price");
        }
        prices.dollars(cost)
    }

    fn grant(&self) -> &Grant {
        self.plugin.grant()
    }
}

/// The body of a finished page once more: an adapter may have decoded it.
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

/// A word for `costs.vendor.route`, whatever the adapter says.
fn variant(said: &str) -> String {
    let word = said.chars().take(40);
    let word: String = word
        .filter(|letter| letter.is_ascii_alphanumeric() || matches!(letter, '_' | '-'))
        .collect();
    if word.is_empty() {
        return "plain".to_owned();
    }
    word
}

/// What is sent when a conversation is given up, however that comes: by its deadline, or because nobody waits any more.
struct Cancel {
    request: Option<reqwest::Request>,
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
            // Its address was checked when it was prepared.
            let sent = fetcher.exchange(request, 64 * 1024, |_| true);
            if !matches!(tokio::time::timeout(CANCEL_TIME_MAX, sent).await, Ok(Ok(_))) {
                tracing::warn!("a job at a provider could not be cancelled");
            }
        });
    }
}
