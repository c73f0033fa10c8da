//! Which addresses belong to a crawl.

use std::collections::{HashMap, HashSet};
use std::sync::Arc;

use url::Url;

use trawl_model::SkipReason;
use trawl_plan::crawl::{CrawlPlan, External, Pattern, ScopePlan};

/// Longest address a crawl follows. Browsers and servers take 8 KiB and more; longer ones are traps.
const URL_BYTES_MAX: usize = 2_000;
/// Hosts whose verdict is remembered; a crawl of one site meets a few.
const HOSTS_MAX: usize = 4_096;

/// The scope of one crawl.
#[derive(Debug)]
pub(super) struct Scope {
    plan: Arc<CrawlPlan>,
    homes: SeedHosts,
    /// Verdicts by host with port.
    known: HashMap<String, bool>,
}

/// Where the crawl may go by its seeds: their own hosts and where they redirect to.
#[derive(Debug, Default)]
struct SeedHosts {
    /// Hosts with port, without `www.`.
    authorities: HashSet<String>,
    /// Their registered domains.
    registered: HashSet<String>,
    /// Their registered names without public suffix.
    names: HashSet<String>,
}

/// The parts of an absolute address that scope asks for.
struct Parts<'a> {
    /// Host and port.
    authority: &'a str,
    /// Path and what follows.
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

/// The path of an address with its query, and without host.
fn path_of(url: &str) -> &str {
    parts(url).map_or("/", |parts| parts.path)
}

impl Scope {
    pub(super) fn new(plan: Arc<CrawlPlan>) -> Self {
        let mut scope = Self {
            homes: SeedHosts::default(),
            known: HashMap::new(),
            plan,
        };
        if let Ok(seed) = scope.plan.seed.url.clone() {
            scope.widen(&seed);
        }
        let named = scope.plan.named.clone();
        for (url, _) in named.iter().flat_map(|named| named.iter()) {
            scope.add_home(url);
        }
        scope
    }

    /// The host of this address belongs to the crawl from now on, as the seed's does.
    pub(super) fn widen(&mut self, url: &Url) {
        self.add_home(url.as_str());
        self.known.clear();
    }

    fn add_home(&mut self, url: &str) {
        let Some(Parts { authority, .. }) = parts(url) else {
            return;
        };
        let (homes, host) = (&mut self.homes, host_of(authority));
        homes.authorities.insert(without_www(authority).to_owned());
        homes.registered.extend(registered(host).map(str::to_owned));
        homes.names.extend(name(host).map(str::to_owned));
    }

    /// Whether an absolute, normalised address may be fetched.
    pub(super) fn check(&mut self, url: &str) -> Result<(), SkipReason> {
        let Some(Parts { authority, path }) = parts(url) else {
            return Err(SkipReason::Scheme);
        };
        if !self.has_host(authority) {
            return Err(SkipReason::Scope);
        }
        if url.len() > URL_BYTES_MAX {
            return Err(SkipReason::TooLong);
        }
        let ScopePlan {
            blacklist,
            whitelist,
            ..
        } = &self.plan.scope;
        let found_in = |patterns: &[Pattern]| patterns.iter().any(|one| matches(one, url, path));
        if found_in(blacklist) {
            return Err(SkipReason::Blacklist);
        }
        if !whitelist.is_empty() && !found_in(whitelist) {
            return Err(SkipReason::Whitelist);
        }
        Ok(())
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

    fn decide(&self, authority: &str) -> bool {
        let host = host_of(authority);
        let plan = &self.plan.scope;
        let has = |known: &HashSet<String>, part: Option<&str>| {
            part.is_some_and(|part| known.contains(part))
        };
        let homes = &self.homes;
        let by_home = homes.authorities.contains(without_www(authority))
            || plan.subdomains && has(&homes.registered, registered(host))
            || plan.tld && has(&homes.names, name(host));
        by_home || plan.external.iter().any(|external| takes(external, host))
    }
}

fn takes(external: &External, host: &str) -> bool {
    match external {
        External::Any => true,
        External::Host(own) => own == host,
        External::Matching(regex) => regex.is_match(host),
    }
}

fn matches(pattern: &Pattern, url: &str, path: &str) -> bool {
    match pattern {
        Pattern::Text(text) if text.contains("://") => url.starts_with(text.as_str()),
        Pattern::Text(text) => path.starts_with(text.as_str()),
        Pattern::Regex(regex) => regex.is_match(url),
    }
}

/// `www.` is the same site as the name without.
fn without_www(authority: &str) -> &str {
    authority.strip_prefix("www.").unwrap_or(authority)
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

/// The registered domain of a name, by the public suffix list; `None` for addresses and names that cannot be registered.
fn registered(host: &str) -> Option<&str> {
    if host.starts_with('[') || host.parse::<std::net::Ipv4Addr>().is_ok() {
        return None;
    }
    psl::domain_str(host)
}

/// The registered name without its public suffix.
fn name(host: &str) -> Option<&str> {
    let registered = registered(host)?;
    let suffix = psl::suffix_str(registered)?;
    registered.strip_suffix(suffix)?.strip_suffix('.')
}

/// An address as the table has it: without user, password and fragment.
pub(super) fn normal(url: &Url) -> String {
    let mut url = url.clone();
    url.set_fragment(None);
    // These fail only for addresses without a host, which have neither.
    let _ = url.set_username("");
    let _ = url.set_password(None);
    url.into()
}

/// Whether an address falls under a key of `budget`. Decision D39.
pub(super) fn is_under(url: &str, prefix: &str) -> bool {
    if prefix == "*" {
        return true;
    }
    let path = path_of(url);
    path.len() >= prefix.len()
        && path.as_bytes()[..prefix.len()].eq_ignore_ascii_case(prefix.as_bytes())
}
