//! Web searches: which services may be asked, and one search with one of them.
//!
//! A search is one request of a search adapter, sent like those of a provider's: with the
//! operator's credentials, to granted hosts, within a time, behind a breaker. See `wit/search/1`.

use std::borrow::Cow;
use std::sync::Arc;
use std::time::Instant;

use trawl_contract::provider::{Class, Reply, Task};
use trawl_contract::search as contract;
use trawl_contract::search::{Hit, Query, Results};
use trawl_model::memory::{MemoryKind, MemoryLease, PageMemory};
use trawl_model::{Nanodollars, VendorUse, urls};
use trawl_plan::search::{Freshness, SearchPlan};
use trawl_plugins::{Grant, Registry, SearchPlugin};

use super::breaker::BreakerKey;
use super::scrub::Scrubber;
use super::sender::{self, Sender, call_adapter};
use super::{Keys, Providers, TIME_MIN, VendorFailure, failed};

/// Most results that are taken from a reply.
const HITS_MAX: usize = contract::COUNT_MAX as usize;
/// Longest URL of a result; one with a longer URL is left out.
const URL_BYTES_MAX: usize = 8 * 1024;
/// Most characters of a title, a date or the name of a site.
const TITLE_CHARS_MAX: usize = 1_000;
/// Most characters of a snippet.
const SNIPPET_CHARS_MAX: usize = 5_000;

/// A search service that may be asked.
#[derive(Clone)]
pub struct SearchBackend {
    plugin: Arc<SearchPlugin>,
    keys: Arc<Keys>,
    breaker: BreakerKey,
}

impl SearchBackend {
    /// The adapter's name in `plugins.toml`.
    pub fn name(&self) -> &str {
        &self.plugin.info().name
    }

    /// The most that it can charge for a search.
    pub fn most(&self) -> VendorUse {
        VendorUse {
            cost: self.plugin.grant().prices.most,
            byok: false,
        }
    }

    /// Results on a page of this search: the service may not have as many as are requested.
    fn count(&self, plan: &SearchPlan) -> u32 {
        plan.count.min(self.plugin.description().count_max).max(1)
    }

    /// The parameters of a search that its service does not respect.
    pub fn without_effect(&self, plan: &SearchPlan) -> Vec<&'static str> {
        let taken = &self.plugin.description().takes;
        let sent = [
            ("country", "country", plan.country.is_some()),
            ("language", "language", plan.language.is_some()),
            ("location", "location", plan.location.is_some()),
            ("tbs", "freshness", plan.freshness.is_some()),
        ];
        let idle = sent.into_iter().filter(|(_, field, is_sent)| {
            let is_taken = taken.iter().any(|known| known == field);
            *is_sent && !is_taken
        });
        idle.map(|(parameter, ..)| parameter).collect()
    }
}

/// What a search service found.
#[derive(Clone, Debug)]
pub struct Found {
    /// The results, the best first; their URLs are web URLs.
    pub hits: Vec<Hit>,
    /// The place of the first of them, from 1.
    pub first_position: u64,
    /// What the service charged.
    pub cost: Nanodollars,
    /// The memory of the results.
    pub memory: Option<Arc<MemoryLease>>,
}

impl Providers {
    /// The search services that may be asked for an account, in this order: those that the operator
    /// named, or, if none is named, those of the manifest that need credentials. A service whose
    /// credentials are missing is left out.
    pub fn search_backends(
        &self,
        registry: &Registry,
        account: &str,
        named: &[String],
    ) -> Vec<SearchBackend> {
        let plugins: Vec<&Arc<SearchPlugin>> = if named.is_empty() {
            let all = registry.searches();
            all.filter(|plugin| !plugin.grant().credentials.is_empty())
                .collect()
        } else {
            let by_name = |name: &String| {
                let mut all = registry.searches();
                all.find(|plugin| plugin.info().name == *name)
            };
            named.iter().filter_map(by_name).collect()
        };
        let backend = |plugin: &Arc<SearchPlugin>| {
            let keys = self.pooled.search_keys(plugin)?;
            // A provider of the same name has breakers of its own.
            let name = format!("search {}", plugin.info().name);
            Some(SearchBackend {
                breaker: self.breakers.key(account, &name, &keys, false),
                plugin: Arc::clone(plugin),
                keys: Arc::new(keys),
            })
        };
        plugins.into_iter().filter_map(backend).collect()
    }

    /// Searches with one service. There is no other try: the next service is asked instead.
    ///
    /// # Errors
    /// [`VendorFailure`].
    pub async fn search(
        &self,
        backend: &SearchBackend,
        plan: &SearchPlan,
        deadline: Instant,
        memory: &PageMemory,
    ) -> Result<Found, VendorFailure> {
        let begun = Instant::now();
        let deadline = deadline.min(begun + backend.plugin.grant().time_max);
        if deadline.saturating_duration_since(begun) < TIME_MIN {
            let message = "no time is left for it";
            return Err(VendorFailure::of(Class::Unsupported, message));
        }
        // Dropped without an outcome, it lets another search try.
        let Some(_trial) = self.breakers.admit(&backend.breaker, begun, deadline) else {
            let pause = self.breakers.pause(&backend.breaker, begun);
            return Err(VendorFailure::paused(pause));
        };
        let outcome = self.search_once(backend, plan, deadline, memory).await;
        let outcome = outcome.map_err(|failure| scrubbed(failure, backend.keys.scrubber()));
        if outcome.as_ref().is_err_and(VendorFailure::is_unsent) {
            return outcome;
        }
        let ended = Instant::now();
        self.breakers.note(&backend.breaker, &outcome, begun, ended);
        count(backend.name(), &outcome);
        if let Err(failure) = &outcome {
            tracing::warn!(
                search = backend.name(),
                class = failure.name(),
                elapsed_ms = (ended - begun).as_millis() as u64,
                "a search service found nothing"
            );
        }
        outcome
    }

    async fn search_once(
        &self,
        backend: &SearchBackend,
        plan: &SearchPlan,
        deadline: Instant,
        memory: &PageMemory,
    ) -> Result<Found, VendorFailure> {
        let (plugin, grant) = (&backend.plugin, backend.plugin.grant());
        let count = backend.count(plan);
        let query = Query {
            count,
            ..query(plan, grant, deadline)
        };
        let query = Arc::new(query);
        let asked = Arc::clone(&query);
        let turns = (&self.calls, memory.account());
        let started = call_adapter(turns, plugin, move |plugin| plugin.start(&asked));
        let request = started
            .await?
            .map_err(|failure| failed(failure, Nanodollars::ZERO))?;
        let sender = Sender {
            info: plugin.info(),
            grant,
            keys: &backend.keys,
            task: &written(plan, grant),
            fetcher: &self.fetcher,
            memory,
            deadline,
        };
        let reply = sender.send(&request).await?;
        let scrubber = Arc::clone(backend.keys.scrubber());
        let resumed = call_adapter(turns, plugin, move |plugin| {
            let body = scrubber.scrub(reply.body);
            let scrubbed = Reply {
                status: reply.status,
                headers: scrubber.pairs(reply.headers),
                body: Cow::Borrowed(&body),
                elapsed_ms: u32::try_from(reply.elapsed.as_millis()).unwrap_or(u32::MAX),
            };
            plugin.resume(&query, &scrubbed)
        });
        let results = resumed.await?.map_err(|failure| {
            let cost = sender::dollars(plugin.info(), grant, &failure.cost);
            after_sending(failed(failure, cost))
        })?;
        let (cost, _) = sender::cost(plugin.info(), grant, &results.cost);
        let hits = hits(results, backend.keys.scrubber());
        let mut lease = memory.lease_for(MemoryKind::Outputs);
        lease.record(bytes(&hits));
        Ok(Found {
            hits,
            first_position: plan.first_position(count),
            cost,
            memory: Some(Arc::new(lease)),
        })
    }
}

/// What the caller wrote, for the checks of the request: a name of a credential in it is only text.
fn written(plan: &SearchPlan, grant: &Grant) -> Task {
    Task {
        body: plan.location.clone().unwrap_or_default().into_bytes(),
        ..Task::new(&plan.text, &grant.base)
    }
}

/// The failure without credentials, wherever its text comes from: from the service, from its
/// adapter, or from the connection.
fn scrubbed(failure: VendorFailure, scrubber: &Scrubber) -> VendorFailure {
    VendorFailure {
        message: scrubber.text(failure.message),
        ..failure
    }
}

/// A failure after a request: it does not say that the service cannot search for this.
fn after_sending(failure: VendorFailure) -> VendorFailure {
    match failure.class {
        Some(Class::Unsupported) => VendorFailure {
            class: Some(Class::BadRequest),
            ..failure
        },
        _ => failure,
    }
}

/// The query for an adapter.
fn query(plan: &SearchPlan, grant: &Grant, deadline: Instant) -> Query {
    let left = deadline.saturating_duration_since(Instant::now());
    Query {
        page: plan.page,
        country: plan.country.clone(),
        language: plan.language.clone(),
        location: plan.location.clone(),
        freshness: plan.freshness.map(|freshness| match freshness {
            Freshness::Hour => contract::Freshness::Hour,
            Freshness::Day => contract::Freshness::Day,
            Freshness::Week => contract::Freshness::Week,
            Freshness::Month => contract::Freshness::Month,
            Freshness::Year => contract::Freshness::Year,
        }),
        time_ms: u32::try_from(left.as_millis()).unwrap_or(u32::MAX),
        settings: grant.settings.to_string(),
        ..Query::new(&plan.text, &grant.base)
    }
}

/// The results with a web URL, without credentials and within limits.
fn hits(results: Results, scrubber: &Scrubber) -> Vec<Hit> {
    let text = |text: String, chars_max: usize| -> String {
        scrubber.text(text).chars().take(chars_max).collect()
    };
    let short = |value: Option<String>| value.map(|value| text(value, TITLE_CHARS_MAX));
    let hit = |hit: Hit| {
        let url = urls::parse(&scrubber.text(hit.url)).ok()?;
        let is_web = matches!(url.scheme(), "http" | "https");
        (is_web && url.as_str().len() <= URL_BYTES_MAX).then(|| Hit {
            url: url.into(),
            title: text(hit.title, TITLE_CHARS_MAX),
            snippet: text(hit.snippet, SNIPPET_CHARS_MAX),
            date: short(hit.date),
            site_name: short(hit.site_name),
        })
    };
    let hits = results.hits.into_iter().filter_map(hit);
    hits.take(HITS_MAX).collect()
}

/// Bytes of the results in memory, and of the response that is made of them.
fn bytes(hits: &[Hit]) -> usize {
    let of_hit = |hit: &Hit| {
        let optional = [&hit.date, &hit.site_name];
        let optional = optional.map(|text| text.as_ref().map_or(0, String::len));
        let texts = hit.url.len() + hit.title.len() + hit.snippet.len();
        size_of::<Hit>() + 2 * (texts + optional.iter().sum::<usize>())
    };
    hits.iter().map(of_hit).sum()
}

fn count(name: &str, outcome: &Result<Found, VendorFailure>) {
    let outcome = outcome.as_ref().map_or_else(VendorFailure::name, |_| "ok");
    metrics::counter!(
        "trawl_search_queries_total",
        "search" => name.to_owned(),
        "outcome" => outcome
    )
    .increment(1);
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn results_have_web_urls_no_secrets_and_limits() {
        let hit = |url: &str, title: &str| Hit {
            url: url.to_owned(),
            title: title.to_owned(),
            snippet: "x".repeat(6_000),
            ..Hit::default()
        };
        let mut found = vec![
            hit("https://a.example/", "canary-1234 tides"),
            hit("javascript:alert(1)", "b"),
            hit("no url", "c"),
            hit("http://d.example/x", "d"),
            hit(&format!("https://f.example/{}", "f".repeat(9_000)), "f"),
        ];
        found.extend((0..200).map(|n| hit(&format!("https://e.example/{n}"), "e")));
        let scrubber = Scrubber::new(["canary-1234"]);
        let hits = hits(Results::free(found), &scrubber);
        assert_eq!(hits.len(), HITS_MAX);
        assert_eq!(hits[0].title, "*********** tides");
        assert_eq!(hits[0].snippet.len(), SNIPPET_CHARS_MAX);
        let urls: Vec<&str> = hits.iter().take(3).map(|hit| hit.url.as_str()).collect();
        let expected = [
            "https://a.example/",
            "http://d.example/x",
            "https://e.example/0",
        ];
        assert_eq!(urls, expected);
        assert!(bytes(&hits) > 2 * HITS_MAX * SNIPPET_CHARS_MAX);
    }

    #[test]
    fn a_failure_has_no_secrets_wherever_its_text_comes_from() {
        let message = "it cannot be reached: http://s.example/?key=canary-1234 is closed";
        let failure = VendorFailure::of(Class::ProviderError, message);
        let failure = scrubbed(failure, &Scrubber::new(["canary-1234"]));
        assert!(!failure.message.contains("canary"), "{}", failure.message);
        assert_eq!(failure.class, Some(Class::ProviderError));
    }
}
