//! `GET /account/hosts`: what the pages of each host cost, and why pages of it failed.

use std::collections::{BTreeMap, HashMap};
use std::ops::Range;
use std::sync::Arc;
use std::time::Duration;

use axum::Extension;
use axum::extract::State;
use axum::http::HeaderMap;
use axum::response::Response;
use serde::{Deserialize, Serialize};
use utoipa::{IntoParams, ToSchema};

use trawl_billing::{Account, AccountId, LedgerEntryKind, Posted, Window};
use trawl_model::Nanodollars;
use trawl_model::clock::{Clock, Timestamp};
use trawl_model::memory::{MemoryKind, MemoryShare};
use trawl_store::{LedgerEntry, WAITS_FOR_HOST};
use trawl_wire::dollars;

use super::statement::parse_time;
use crate::Api;
use crate::http::error::ApiError;
use crate::http::format::ResponseFormat;
use crate::http::params::{Query, Unsigned, checked_limit};
use crate::http::queries::Queries;

/// Start of the period before its end when the request sets none.
const PERIOD_DEFAULT: Duration = Duration::from_secs(30 * 24 * 60 * 60);
/// Entries that are read from the ledger at a time.
const ENTRIES_AT_ONCE: u32 = 1_000;
/// Bytes of these entries.
const ENTRIES_BYTES_LIKELY: usize = 512 * 1024;
/// Hosts with figures of their own; pages of further ones are counted together.
const HOSTS_MAX: usize = 10_000;
/// Characters of a host with its port: no name of a host is longer, but a URL may have any.
const HOST_CHARS_MAX: usize = 259;
/// Bytes of the figures of a host, reasons included.
const HOST_BYTES_LIKELY: usize = 512;
/// Hosts per response when the request sets no limit.
const SHOWN_DEFAULT: u32 = 100;
/// Maximum number of hosts per response.
const SHOWN_MAX: u32 = 1_000;
/// Reasons with counts of their own for each host.
const REASONS_MAX: usize = 8;
/// Characters of a reason.
const REASON_CHARS_MAX: usize = 120;
/// What the ledger has in place of a URL for HTML that was sent without one.
const WITHOUT_URL: &str = "about:blank";
/// What further reasons are counted as.
const OTHER_REASONS: &str = "other reasons";

/// Period and number of hosts.
#[derive(Default, Deserialize, IntoParams)]
#[serde(deny_unknown_fields)]
#[into_params(parameter_in = Query)]
pub(crate) struct HostsQuery {
    /// Start of the period: `2026-01-31`, or `2026-01-31T10:20:30Z`. Default: 30 days before now.
    from: Option<String>,
    /// End of the period, exclusive. Default: now.
    to: Option<String>,
    /// Maximum number of hosts, default 100; a larger one than 1,000 counts as 1,000.
    #[param(value_type = Option<u64>)]
    limit: Option<Unsigned>,
}

/// Pages by their hosts. Amounts are in dollars.
#[derive(Serialize, ToSchema)]
#[schema(as = HostUsage, example = json!({
    "hosts": [{"host": "example.com", "pages": 1200, "failed_pages": 31, "bytes": 48211340, "cpu_seconds": 93.25, "total_cost": 0.0483,
        "reasons": {"the site answered 403": 31}}],
    "n_hosts": 1, "others": null,
}))]
pub(crate) struct Hosts {
    /// The hosts with the highest cost, and among equal ones with the most failed pages.
    hosts: Vec<HostFigures>,
    /// Number of hosts with pages in the period; at most 10,000 have figures of their own.
    n_hosts: u64,
    /// The sums of all other hosts; null if there is none.
    others: Option<HostFigures>,
}

/// Pages of a host.
#[derive(Debug, Default, Serialize, ToSchema)]
struct HostFigures {
    /// The host, with a port that is not the scheme's; empty for what has no URL, and for the other
    /// hosts.
    host: String,
    /// Pages that were charged; under the Unlimited plan the charge is zero.
    pages: u64,
    /// Failed pages, which are free.
    failed_pages: u64,
    /// Decoded bytes of all pages.
    bytes: u64,
    /// CPU time of all pages.
    cpu_seconds: f64,
    /// What they cost.
    total_cost: f64,
    /// Why pages failed, with the number of pages; at most 8 reasons, and `other reasons`.
    reasons: BTreeMap<String, u64>,
}

/// Sums over the pages of a host.
#[derive(Debug, Default)]
struct HostSums {
    n_pages: u64,
    n_failed: u64,
    n_bytes: u64,
    cpu: Duration,
    cost: Nanodollars,
    reasons: BTreeMap<String, u64>,
}

impl HostSums {
    /// Adds what an entry says of a page.
    fn add(&mut self, entry: &LedgerEntry) {
        let is_refund = entry.amount > Nanodollars(0);
        if entry.kind == LedgerEntryKind::Post && !is_refund {
            self.n_pages += 1;
        } else {
            self.n_failed += 1;
            self.add_reason(&entry.reason, 1);
        }
        self.n_bytes += entry.consumed.n_bytes;
        self.cpu += entry.consumed.cpu;
        self.cost += -entry.amount;
    }

    fn add_reason(&mut self, reason: &str, n_pages: u64) {
        let known: String = reason.chars().take(REASON_CHARS_MAX).collect();
        let named = self.reasons.keys().filter(|name| *name != OTHER_REASONS);
        let name = match self.reasons.contains_key(&known) || named.count() < REASONS_MAX {
            true => known,
            false => OTHER_REASONS.to_owned(),
        };
        *self.reasons.entry(name).or_default() += n_pages;
    }

    /// Adds the sums of another host.
    fn add_host(&mut self, other: &Self) {
        self.n_pages += other.n_pages;
        self.n_failed += other.n_failed;
        self.n_bytes += other.n_bytes;
        self.cpu += other.cpu;
        self.cost += other.cost;
        for (reason, n_pages) in &other.reasons {
            self.add_reason(reason, *n_pages);
        }
    }

    fn figures(self, host: String) -> HostFigures {
        HostFigures {
            host,
            pages: self.n_pages,
            failed_pages: self.n_failed,
            bytes: self.n_bytes,
            cpu_seconds: self.cpu.as_secs_f64(),
            total_cost: dollars(self.cost),
            reasons: self.reasons,
        }
    }
}

/// Sums over the pages of an account by host.
#[derive(Debug, Default)]
struct Sums {
    hosts: HashMap<String, HostSums>,
    /// Those of the hosts that are too many.
    others: HostSums,
    has_others: bool,
}

impl Sums {
    /// Adds an entry, if it is of a page.
    fn add(&mut self, posted: &Posted) {
        let entry = &posted.entry;
        let is_page = match entry.kind {
            LedgerEntryKind::Post => true,
            // Without a URL it returns the unused money of a run.
            LedgerEntryKind::Void => !entry.url.is_empty() && entry.reason != WAITS_FOR_HOST,
            _ => false,
        };
        if !is_page {
            return;
        }
        let host = host_of(&entry.url);
        if self.hosts.len() >= HOSTS_MAX && !self.hosts.contains_key(&host) {
            self.has_others = true;
            self.others.add(entry);
        } else {
            self.hosts.entry(host).or_default().add(entry);
        }
    }

    /// Adds a part of the entries of a period, and returns after which entry the next part begins.
    /// A part that is not full is the last one: a busy account adds entries while they are read,
    /// so that there may always be more.
    fn add_part(&mut self, entries: &[Posted]) -> Option<i64> {
        for posted in entries {
            self.add(posted);
        }
        let is_full = entries.len() >= ENTRIES_AT_ONCE as usize;
        entries.last().filter(|_| is_full).map(|last| last.seq)
    }

    /// The hosts with the highest cost, and the sums of the others.
    fn report(self, n_shown: usize) -> Hosts {
        let n_hosts = self.hosts.len() as u64;
        let mut hosts: Vec<(String, HostSums)> = self.hosts.into_iter().collect();
        hosts.sort_by(|(a_host, a), (b_host, b)| {
            let by_cost = b.cost.cmp(&a.cost).then(b.n_failed.cmp(&a.n_failed));
            by_cost.then_with(|| a_host.cmp(b_host))
        });
        let mut others = self.others;
        let has_others = self.has_others || hosts.len() > n_shown;
        for (_, sums) in hosts.iter().skip(n_shown) {
            others.add_host(sums);
        }
        hosts.truncate(n_shown);
        Hosts {
            hosts: hosts
                .into_iter()
                .map(|(host, sums)| sums.figures(host))
                .collect(),
            n_hosts,
            others: has_others.then(|| others.figures(String::new())),
        }
    }
}

#[utoipa::path(
    get,
    path = "/account/hosts",
    summary = "Sum up usage by host",
    description = "Sums up the pages of the account in the ledger by host: how many were charged and what they cost, how many failed \
        and why. The hosts with the highest cost come first.",
    params(HostsQuery),
    responses(
        (status = 200, description = "The hosts", body = Hosts),
        (status = 400, description = "A time or `limit` is invalid", body = ref("#/components/schemas/Error"),
            example = json!({"error": "from: write a time like `2026-01-31` or `2026-01-31T10:20:30Z`"})),
    ),
    security(("key" = []))
)]
pub(crate) async fn hosts(
    State(api): State<Api>,
    (Extension(account), Extension(memory)): (Extension<Arc<Account>>, Extension<MemoryShare>),
    Query(query): Query<HostsQuery>,
    headers: HeaderMap,
) -> Result<Response, ApiError> {
    let queries = Some(Arc::clone(&api.queries));
    respond(&api, &account.id, (&query, &headers), (&memory, queries)).await
}

/// The hosts of an account; for its owner, among his other queries, and for the operator.
pub(crate) async fn respond(
    api: &Api,
    account: &AccountId,
    (query, headers): (&HostsQuery, &HeaderMap),
    (memory, queries): (&MemoryShare, Option<Arc<Queries>>),
) -> Result<Response, ApiError> {
    let to = parse_time("to", query.to.as_deref())?;
    let before = to.unwrap_or_else(|| Clock::wall().now());
    let from = parse_time("from", query.from.as_deref())?;
    let from = from.unwrap_or_else(|| before.before(PERIOD_DEFAULT));
    let limit = query.limit.map(|limit| checked_limit(limit, SHOWN_MAX));
    let limit = limit.transpose()?.unwrap_or(SHOWN_DEFAULT);
    let mut lease = memory.page().lease_for(MemoryKind::Stored);
    let granted = lease.grow_to(ENTRIES_BYTES_LIKELY + HOSTS_MAX * HOST_BYTES_LIKELY);
    granted.await.map_err(|_error| ApiError::no_memory())?;
    let period = from..to.unwrap_or(Timestamp::MAX);
    let sums = sum(api, account, period, queries).await?;
    ResponseFormat::of(headers).held_object(&sums.report(limit as usize), lease)
}

/// Adds up the entries of a period, in turns with the other queries of the account.
async fn sum(
    api: &Api,
    account: &AccountId,
    period: Range<Timestamp>,
    queries: Option<Arc<Queries>>,
) -> Result<Sums, ApiError> {
    let mut sums = Sums::default();
    if let Some(queries) = &queries {
        drop(queries.take(account).await?);
    }
    let mut after = Window::WITHOUT_SUMS;
    loop {
        let permit = match &queries {
            Some(queries) => Some(queries.next(account).await),
            None => None,
        };
        let window = Window {
            from: period.start,
            to: period.end,
            after,
            limit: ENTRIES_AT_ONCE,
        };
        let page = api.rooms.billing.statement(account, window).await?;
        drop(permit);
        match sums.add_part(&page.entries) {
            Some(last) => after = last,
            None => return Ok(sums),
        }
    }
}

/// The host of a page's URL in lower case, which callers may write without its scheme; empty if
/// there is none: a search has its words in place of a URL.
fn host_of(url: &str) -> String {
    if url == WITHOUT_URL {
        return String::new();
    }
    let is_scheme = |text: &str| text.bytes().all(|byte| byte.is_ascii_alphanumeric());
    let rest = match url.split_once("://") {
        Some((scheme, rest)) if is_scheme(scheme) => rest,
        _ => url,
    };
    let authority = rest.split(['/', '?', '#']).next().unwrap_or_default();
    let host = authority.rsplit('@').next().unwrap_or_default();
    if authority.contains(char::is_whitespace) {
        return String::new();
    }
    let host = host.chars().take(HOST_CHARS_MAX);
    host.map(|char| char.to_ascii_lowercase()).collect()
}

#[cfg(test)]
mod tests {
    use super::*;

    fn entry(kind: LedgerEntryKind, url: &str, amount: i64, reason: &str) -> Posted {
        Posted {
            seq: 1,
            entry: LedgerEntry {
                id: "1".to_owned(),
                account: AccountId::new("acc_1"),
                kind,
                amount: Nanodollars(amount),
                held: Nanodollars(0),
                reservation: String::new(),
                run: "".into(),
                url: url.into(),
                key: trawl_store::KeyPrefix::new("tr_1"),
                charge: trawl_model::Charge::default(),
                consumed: trawl_store::Consumed {
                    n_bytes: 10,
                    cpu: Duration::from_millis(500),
                },
                reason: reason.to_owned(),
                at: Timestamp(1),
            },
        }
    }

    #[test]
    fn hosts_are_read_from_urls() {
        let check = |url: &str, host: &str| assert_eq!(host_of(url), host, "{url}");
        check("https://Example.com/a?b", "example.com");
        check("http://u:p@a.test:8080?x@y", "a.test:8080");
        check("a.test/b", "a.test");
        check("a.test/b?to=https://b.test/", "a.test");
        check("", "");
        let long = "a".repeat(9_000);
        check(&format!("https://{long}/"), &long[..HOST_CHARS_MAX]);
        check("about:blank", "");
        check("search brave: tide tables", "");
        check("search brave: https://a.test/ tides", "");
    }

    #[test]
    fn pages_are_summed_up_by_host() {
        use LedgerEntryKind::{Post, Reserve, TopUp, Void};
        let mut sums = Sums::default();
        for posted in [
            entry(TopUp, "", 1_000, ""),
            entry(Reserve, "https://a.test/1", 0, ""),
            entry(Post, "https://a.test/1", -7_000_000, ""),
            entry(Void, "https://b.test/", 0, "timed out"),
            entry(Void, "https://b.test/2", 0, "timed out"),
            entry(Void, "https://a.test/2", 0, WAITS_FOR_HOST),
            entry(Void, "", 0, "done"),
            entry(Post, "https://a.test/1", 3_000_000, "refunded"),
        ] {
            sums.add(&posted);
        }
        let report = sums.report(9);
        assert_eq!((report.n_hosts, report.others.is_none()), (2, true));
        let [a, b] = &report.hosts[..] else {
            panic!("{:?}", report.hosts);
        };
        assert_eq!((a.host.as_str(), a.pages, a.failed_pages), ("a.test", 1, 1));
        assert!((a.total_cost - 0.004).abs() < 1e-12, "{}", a.total_cost);
        assert_eq!((b.host.as_str(), b.pages, b.failed_pages), ("b.test", 0, 2));
        assert_eq!(b.reasons, BTreeMap::from([("timed out".to_owned(), 2)]));
        assert_eq!((b.bytes, b.cpu_seconds), (20, 1.0));
    }

    #[test]
    fn a_part_that_is_not_full_is_the_last_one() {
        let part = |n_entries: u32| -> Vec<Posted> {
            let post = |_| entry(LedgerEntryKind::Post, "https://a.test/", -1, "");
            (0..n_entries).map(post).collect()
        };
        let mut sums = Sums::default();
        assert_eq!(sums.add_part(&part(ENTRIES_AT_ONCE)), Some(1));
        assert_eq!(sums.add_part(&part(ENTRIES_AT_ONCE - 1)), None);
        assert_eq!(sums.add_part(&[]), None);
        let report = sums.report(1);
        assert_eq!(report.hosts[0].pages, u64::from(2 * ENTRIES_AT_ONCE - 1));
    }

    #[test]
    fn further_hosts_and_reasons_are_counted_together() {
        let mut sums = Sums::default();
        for n in 0..REASONS_MAX as u64 + 4 {
            let reason = format!("reason {n}");
            sums.add(&entry(LedgerEntryKind::Void, "http://a.test/", 0, &reason));
            let url = format!("http://{n}.test/");
            sums.add(&entry(LedgerEntryKind::Post, &url, -1, ""));
        }
        let report = sums.report(3);
        assert_eq!((report.hosts.len(), report.n_hosts), (3, 13));
        let others = report.others.expect("ten hosts");
        assert_eq!((others.pages, others.failed_pages), (9, 12));
        assert_eq!(others.reasons.len(), REASONS_MAX + 1);
        assert_eq!(others.reasons[OTHER_REASONS], 4);
    }
}
