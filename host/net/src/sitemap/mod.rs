//! The addresses that a site's sitemaps name (sitemaps.org, version 0.9), read one file after the other, in batches. However
//! many there are, memory holds one file and one batch. Nobody pays for them.

mod file;
mod utf8;

use std::collections::{HashSet, VecDeque};
use std::sync::Arc;
use std::time::Duration;

use tokio::sync::mpsc::Sender;
use tokio::task::spawn_blocking;
use url::Url;

pub use file::{ADDRESS_BYTES_MAX, FILE_BYTES_MAX};

use crate::fetch::{Get, GetLimits};
use crate::robots::Robots;
use file::{Entry, File};

/// Addresses that one reading gives at most.
pub const ENTRIES_MAX: usize = 1_000_000;
/// Files that one reading opens at most: a million addresses in the small files that some sites make.
pub const FILES_MAX: usize = 2_000;
/// How deep an index may be inside another. The protocol allows none, some sites have one.
pub const DEPTH_MAX: usize = 3;
/// Addresses in one batch.
pub const BATCH_ENTRIES: usize = 1_000;
/// Time for getting one file.
const FILE_TIME_MAX: Duration = Duration::from_secs(60);
/// Faults that are told by name; more are counted.
const FAULTS_MAX: usize = 100;

/// Reads sitemaps. One for the whole server.
pub struct Sitemaps {
    get: Arc<dyn Get>,
    robots: Arc<Robots>,
}

/// What a reading came to.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct Summary {
    /// Files that were read.
    pub n_files: usize,
    /// Addresses that were given.
    pub n_entries: usize,
    /// Whether a bound of this room ended the reading.
    pub is_cut: bool,
    /// Files that could not be got, with the reason; at most a hundred.
    pub faults: Vec<(Url, String)>,
}

/// A file that waits for its turn, and how deep it is.
struct Waiting {
    url: Url,
    depth: usize,
}

impl Sitemaps {
    /// Reads files through `get`; `robots` tells where a site keeps them.
    pub fn new(get: Arc<dyn Get>, robots: Arc<Robots>) -> Self {
        Self { get, robots }
    }

    /// Where the sitemaps of this address's site are: what its robots.txt names, or else `/sitemap.xml`.
    pub async fn starts(&self, site: &Url) -> Vec<Url> {
        let named = self.robots.sitemaps(site).await;
        match named.is_empty() {
            true => site.join("/sitemap.xml").into_iter().collect(),
            false => named,
        }
    }

    /// Reads these sitemaps and those that they name, and gives the addresses in batches, in the order of the files. Requests
    /// to one host are at least `delay` apart. Ends early when nobody takes the batches any more.
    ///
    /// A sitemap that another one names is read when it is on a host of `starts` (with or without `www.`), so that nobody
    /// sends us to strangers.
    pub async fn read(
        &self,
        starts: Vec<Url>,
        delay: Duration,
        batches: Sender<Vec<String>>,
    ) -> Summary {
        let mut summary = Summary::default();
        let hosts: HashSet<String> = starts.iter().filter_map(host).collect();
        let mut seen = HashSet::new();
        let mut waiting = VecDeque::new();
        for url in starts {
            enqueue(&mut waiting, &mut seen, url, 0, &mut summary);
        }
        let limits = GetLimits {
            bytes_max: FILE_BYTES_MAX as usize,
            time_max: FILE_TIME_MAX,
            delay: Some(delay),
        };
        while let Some(Waiting { url, depth }) = waiting.pop_front() {
            let body = match self.get.get(&url, limits).await {
                Ok(got) if (200..300).contains(&got.status) => got.body,
                Ok(got) => {
                    summary.fault(url, format!("the site answered {}", got.status));
                    continue;
                }
                Err(error) => {
                    summary.fault(url, error.to_string());
                    continue;
                }
            };
            summary.n_files += 1;
            let mut file = Some(File::new(body));
            while let Some(current) = file.take() {
                // Parsing keeps a thread busy, so it has one of its own; waiting for room in the channel holds none.
                let step = spawn_blocking(move || step(current)).await;
                let Ok(Some((next, entries))) = step else {
                    break;
                };
                file = Some(next);
                let mut batch = Vec::with_capacity(entries.len());
                for entry in entries {
                    match entry {
                        Entry::Page(address) => {
                            batch.extend(absolute(&url, &address).map(String::from))
                        }
                        Entry::Sitemap(address) => {
                            let child = absolute(&url, &address);
                            let child = child.filter(|child| {
                                host(child).is_some_and(|host| hosts.contains(&host))
                            });
                            if let Some(child) = child {
                                enqueue(&mut waiting, &mut seen, child, depth + 1, &mut summary);
                            }
                        }
                    }
                }
                if summary.n_entries + batch.len() > ENTRIES_MAX {
                    batch.truncate(ENTRIES_MAX - summary.n_entries);
                    summary.is_cut = true;
                }
                summary.n_entries += batch.len();
                if !batch.is_empty() && batches.send(batch).await.is_err() {
                    return summary;
                }
                if summary.n_entries == ENTRIES_MAX {
                    summary.is_cut = true;
                    return summary;
                }
            }
        }
        summary
    }
}

impl Summary {
    fn fault(&mut self, url: Url, reason: String) {
        tracing::debug!(sitemap.url = %url, reason, "a sitemap could not be read");
        if self.faults.len() < FAULTS_MAX {
            self.faults.push((url, reason));
        }
    }
}

fn step(mut file: File) -> Option<(File, Vec<Entry>)> {
    let entries = file.step(BATCH_ENTRIES)?;
    Some((file, entries))
}

/// Lets a file wait for its turn, once, when it is not too deep and there are not too many.
fn enqueue(
    waiting: &mut VecDeque<Waiting>,
    seen: &mut HashSet<Url>,
    mut url: Url,
    depth: usize,
    summary: &mut Summary,
) {
    url.set_fragment(None);
    if seen.contains(&url) {
        return;
    }
    if depth > DEPTH_MAX || seen.len() >= FILES_MAX {
        summary.is_cut = true;
        return;
    }
    seen.insert(url.clone());
    waiting.push_back(Waiting { url, depth });
}

/// An address as the file says it. The protocol wants whole ones; the others are seen from the file.
fn absolute(file: &Url, address: &str) -> Option<Url> {
    let url = file.join(address).ok()?;
    matches!(url.scheme(), "http" | "https").then_some(url)
}

/// The host, without `www.`
fn host(url: &Url) -> Option<String> {
    let host = url.host_str()?;
    Some(host.strip_prefix("www.").unwrap_or(host).to_owned())
}

#[cfg(test)]
mod tests;
