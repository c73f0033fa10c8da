//! Which URLs are in the scope of a crawl.

use std::collections::{BTreeSet, HashMap, HashSet};
use std::ops::Bound;
use std::sync::Arc;

use url::Url;

use trawl_model::SkipReason;
use trawl_plan::crawl::CrawlPlan;
use trawl_plan::scope::ScopePlan;

/// Longest URL that a crawl follows. Longer ones are crawler traps in practice.
const URL_BYTES_MAX: usize = 2_000;
/// Most hosts whose verdict is cached; a crawl of one site meets few.
const HOSTS_MAX: usize = 4_096;

/// The scope of one crawl.
#[derive(Debug)]
pub(crate) struct Scope {
    plan: Arc<CrawlPlan>,
    seed_hosts: SeedHosts,
    /// Verdicts by host with port.
    known: HashMap<String, bool>,
    /// URLs that were matched already.
    pub(super) screened: Screened,
}

/// What `blacklist` and `whitelist` say about URLs, matched before the frontier is locked.
#[derive(Debug, Default)]
pub(crate) struct Screened(HashMap<String, Option<SkipReason>>);

impl Screened {
    /// How many URLs were matched.
    #[cfg(test)]
    pub(crate) fn len(&self) -> usize {
        self.0.len()
    }

    /// Matches one more URL.
    pub(crate) fn add(&mut self, plan: &ScopePlan, url: String) {
        let excluded = plan.excludes(&url, path_of(&url));
        self.0.insert(url, excluded);
    }
}

/// The hosts of the seeds and of the URLs that they redirect to.
#[derive(Debug, Default)]
struct SeedHosts {
    /// Hosts with port, without `www.`.
    authorities: HashSet<String>,
    /// Their registered domains.
    registered: HashSet<String>,
    /// Their registered names without public suffix.
    names: HashSet<String>,
    /// The directories of the seeds, if the crawl stays below them.
    directories: Directories,
}

/// Host, port and path of directories, with a slash at the end. None is below another one.
#[derive(Debug, Default)]
struct Directories(BTreeSet<String>);

impl Directories {
    /// Whether host, port and path are in one of them or below it. A directory sorts before what is
    /// in it, and between the two is only what is in it as well, so only the last one before the
    /// text can be one.
    fn has(&self, text: &str) -> bool {
        let before = (Bound::Unbounded, Bound::Included(text));
        let mut before = self.0.range::<str, _>(before);
        before
            .next_back()
            .is_some_and(|directory| text.starts_with(directory.as_str()))
    }

    /// Adds the directory of host, port and path: all up to the last slash.
    fn add(&mut self, text: &str) {
        let directory = text.rfind('/').map_or("", |end| &text[..=end]);
        if directory.is_empty() || self.has(directory) {
            return;
        }
        let after = (Bound::Included(directory), Bound::Unbounded);
        let below = self.0.range::<str, _>(after);
        let below = below.take_while(|known| known.starts_with(directory));
        let below: Vec<String> = below.cloned().collect();
        for known in below {
            self.0.remove(&known);
        }
        self.0.insert(directory.to_owned());
    }
}

/// The parts of an absolute URL that decide about its scope.
struct Parts<'a> {
    /// Host and port.
    authority: &'a str,
    /// Path, query and fragment.
    path: &'a str,
}

fn parts(url: &str) -> Option<Parts<'_>> {
    let (scheme, rest) = url.split_once("://")?;
    if scheme != "http" && scheme != "https" {
        return None;
    }
    let end = rest.find(['/', '?', '#']).unwrap_or(rest.len());
    Some(Parts {
        authority: &rest[..end],
        path: &rest[end..],
    })
}

/// The path of a URL with its query.
pub(super) fn path_of(url: &str) -> &str {
    parts(url).map_or("/", |parts| parts.path)
}

/// The host of a URL.
pub(super) fn host(url: &str) -> &str {
    parts(url).map_or("", |parts| host_of(parts.authority))
}

impl Scope {
    pub(crate) fn new(plan: Arc<CrawlPlan>) -> Self {
        let mut scope = Self {
            seed_hosts: SeedHosts::default(),
            known: HashMap::new(),
            screened: Screened::default(),
            plan,
        };
        let plan = Arc::clone(&scope.plan);
        for seed in plan.seeds() {
            scope.widen(&seed.url);
        }
        for (url, _) in plan.named.iter().flat_map(|named| named.iter()) {
            scope.add_seed_host(url);
        }
        scope
    }

    /// Adds the host of a URL to those of the seeds.
    pub(crate) fn widen(&mut self, url: &Url) {
        self.add_seed_host(url.as_str());
        self.known.clear();
    }

    fn add_seed_host(&mut self, url: &str) {
        let Some(Parts { authority, path }) = parts(url) else {
            return;
        };
        let (hosts, host) = (&mut self.seed_hosts, host_of(authority));
        if self.plan.scope.below_seed {
            hosts.directories.add(&place(authority, path));
        }
        hosts.authorities.insert(without_www(authority).to_owned());
        hosts.registered.extend(registered(host).map(str::to_owned));
        hosts.names.extend(name(host).map(str::to_owned));
    }

    /// Checks whether an absolute, normalised URL is in scope.
    pub(crate) fn check(&mut self, url: &str) -> Result<(), SkipReason> {
        let Some(Parts { authority, path }) = parts(url) else {
            return Err(SkipReason::Scheme);
        };
        if !self.has_host(authority) || self.is_above_seeds(authority, path) {
            return Err(SkipReason::Scope);
        }
        if url.len() > URL_BYTES_MAX {
            return Err(SkipReason::TooLong);
        }
        let known = self.screened.0.get(url).copied();
        let excluded = known.unwrap_or_else(|| self.plan.scope.excludes(url, path));
        excluded.map_or(Ok(()), Err)
    }

    /// Whether [`check`](Self::check) would ask the expressions of the plan about this URL.
    pub(super) fn asks_expressions(&mut self, url: &str) -> bool {
        url.len() <= URL_BYTES_MAX
            && parts(url).is_some_and(|Parts { authority, .. }| self.has_host(authority))
    }

    fn has_host(&mut self, authority: &str) -> bool {
        if let Some(known) = self.known.get(authority) {
            return *known;
        }
        let decided = self.decide(authority);
        if self.known.len() < HOSTS_MAX {
            self.known.insert(authority.to_owned(), decided);
        }
        decided
    }

    /// Whether a URL is on a host of a seed, but not below a seed of a crawl that stays there.
    fn is_above_seeds(&self, authority: &str, path: &str) -> bool {
        let hosts = &self.seed_hosts;
        self.plan.scope.below_seed
            && hosts.authorities.contains(without_www(authority))
            && !hosts.directories.has(&place(authority, path))
    }

    fn decide(&self, authority: &str) -> bool {
        let host = host_of(authority);
        let plan = &self.plan.scope;
        let has = |known: &HashSet<String>, part: Option<&str>| {
            part.is_some_and(|part| known.contains(part))
        };
        let hosts = &self.seed_hosts;
        let is_below = has(&hosts.registered, registered(host));
        let is_of_seed = hosts.authorities.contains(without_www(authority))
            || plan.subdomains && is_below
            || plan.tld && !is_below && has(&hosts.names, name(host));
        is_of_seed || plan.external.allow(host)
    }
}

/// `www.example.com` is the same site as `example.com`.
fn without_www(authority: &str) -> &str {
    authority.strip_prefix("www.").unwrap_or(authority)
}

/// Host, port and path, without query.
fn place(authority: &str, path: &str) -> String {
    let path = path.split(['?', '#']).next().unwrap_or_default();
    let path = if path.is_empty() { "/" } else { path };
    format!("{}{path}", without_www(authority))
}

fn host_of(authority: &str) -> &str {
    if authority.starts_with('[') {
        return authority
            .find(']')
            .map_or(authority, |end| &authority[..=end]);
    }
    authority
        .split_once(':')
        .map_or(authority, |(host, _)| host)
}

/// The registered domain of a host by the public suffix list; `None` for IP addresses and public
/// suffixes.
fn registered(host: &str) -> Option<&str> {
    if host.starts_with('[') || host.parse::<std::net::Ipv4Addr>().is_ok() {
        return None;
    }
    psl::domain_str(host)
}

/// The registered domain without its public suffix.
fn name(host: &str) -> Option<&str> {
    let registered = registered(host)?;
    let suffix = psl::suffix_str(registered)?;
    registered.strip_suffix(suffix)?.strip_suffix('.')
}

/// A URL in the form of the table: without user name, password and fragment.
pub(crate) fn normal(url: &Url) -> String {
    let mut url = url.clone();
    url.set_fragment(None);
    // These fail only for URLs without a host, which have neither.
    let _ = url.set_username("");
    let _ = url.set_password(None);
    url.into()
}
