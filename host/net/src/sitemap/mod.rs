//! The URLs in a site's sitemaps (sitemaps.org, version 0.9), read one file after the other, in
//! batches. However many there are, memory holds one file and one batch. They are not charged.

mod file;
mod utf8;

use std::collections::{HashSet, VecDeque};
use std::sync::Arc;
use std::time::Duration;

use bytes::Bytes;
use tokio::sync::mpsc::Sender;
use url::Url;

use trawl_model::memory::MemoryShare;
use trawl_model::urls;
use trawl_plan::Exit;

pub use file::{Alternate, FILE_BYTES_MAX, SitemapPage, URL_BYTES_MAX};

use crate::fetch::{Get, GetLimits};
use crate::politeness::RequestPace;
use crate::robots::Robots;
use crate::turns::CpuTurns;
use file::{File, SitemapEntry};

/// Maximum number of URLs of one run.
pub const ENTRIES_MAX: usize = 1_000_000;
/// Maximum number of files of one run: a million URLs in the small files that some sites make.
pub const FILES_MAX: usize = 2_000;
/// How deeply indexes may nest. The protocol allows no nesting, some sites have one level.
pub const DEPTH_MAX: usize = 3;
/// URLs in one batch.
pub const BATCH_ENTRIES: usize = 1_000;
/// Time limit of fetching one file.
const FILE_TIME_MAX: Duration = Duration::from_secs(60);
/// Failed files that are listed.
const FAULTS_MAX: usize = 100;

/// Reads sitemaps. One for the whole server.
#[derive(Clone)]
pub struct Sitemaps {
    get: Arc<dyn Get>,
    robots: Arc<Robots>,
    exit: Exit,
}

/// Some pages of one file, in its order. A file without pages has one batch without any.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct SitemapBatch {
    /// The file.
    pub file: Url,
    /// The pages, their URLs absolute.
    pub pages: Vec<SitemapPage>,
    /// Why the file could not be fetched.
    pub fault: Option<String>,
}

/// The result of reading sitemaps.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct Summary {
    /// Files that were read.
    pub n_files: usize,
    /// URLs that were sent.
    pub n_entries: usize,
    /// Whether a limit ended it early.
    pub is_cut: bool,
    /// Files that could not be fetched, with the reason; at most a hundred.
    pub faults: Vec<(Url, String)>,
}

/// A queued file, and its nesting depth.
struct Queued {
    url: Url,
    depth: usize,
}

impl Sitemaps {
    /// Fetches files through `get`; `robots` knows where a site's sitemaps are.
    pub fn new(get: Arc<dyn Get>, robots: Arc<Robots>) -> Self {
        Self {
            get,
            robots,
            exit: Exit::default(),
        }
    }

    /// The same for pages that are fetched through this proxy pool and country: so are their
    /// sitemaps.
    #[must_use]
    pub fn through(&self, exit: Exit) -> Self {
        Self {
            exit,
            ..self.clone()
        }
    }

    /// The sitemaps of this URL's site: those that its robots.txt names, or else `/sitemap.xml`.
    pub async fn starts(&self, site: &Url) -> Vec<Url> {
        let named = self.robots.sitemaps(site, self.exit).await;
        if named.is_empty() {
            site.join("/sitemap.xml").into_iter().collect()
        } else {
            named
        }
    }

    /// Reads these sitemaps and those that they name, and sends their pages in batches, in the
    /// order of the files. Requests to one host follow `pace`. Ends early when the receiver is
    /// dropped. The files take from the account's memory.
    ///
    /// A nested sitemap is read only if it is on a host of `starts` (with or without `www.`), so
    /// that a site cannot direct requests to other hosts.
    pub async fn read(
        &self,
        starts: Vec<Url>,
        pace: RequestPace,
        account: &MemoryShare,
        batches: Sender<SitemapBatch>,
    ) -> Summary {
        let mut summary = Summary::default();
        let hosts: HashSet<String> = starts.iter().filter_map(host).collect();
        let mut seen = HashSet::new();
        let mut queue = VecDeque::new();
        for url in starts {
            enqueue(&mut queue, &mut seen, url, 0, &mut summary);
        }
        let limits = self.limits(pace);
        while let Some(Queued { url, depth }) = queue.pop_front() {
            let body = match self.fetch(account, &url, limits).await {
                Ok(body) => body,
                Err(reason) => {
                    summary.add_fault(&url, &reason);
                    let batch = SitemapBatch::fault(url, reason);
                    if batches.send(batch).await.is_err() {
                        return summary;
                    }
                    continue;
                }
            };
            summary.n_files += 1;
            let mut file = Some(File::new(body));
            let mut has_pages = false;
            while let Some(current) = file.take() {
                let stepped = step_on_a_thread(account, current, &url).await;
                let Some((next, mut pages, children)) = stepped else {
                    break;
                };
                file = Some(next);
                for child in children {
                    if host(&child).is_some_and(|host| hosts.contains(&host)) {
                        enqueue(&mut queue, &mut seen, child, depth + 1, &mut summary);
                    }
                }
                summary.count(&mut pages);
                let is_empty = pages.is_empty();
                has_pages |= !is_empty;
                let batch = SitemapBatch::of(&url, pages);
                if !is_empty && batches.send(batch).await.is_err() {
                    return summary;
                }
                if summary.n_entries == ENTRIES_MAX {
                    summary.is_cut = true;
                    return summary;
                }
            }
            let batch = SitemapBatch::of(&url, Vec::new());
            if !has_pages && batches.send(batch).await.is_err() {
                return summary;
            }
        }
        summary
    }

    /// The bounds of fetching one file.
    fn limits(&self, pace: RequestPace) -> GetLimits {
        GetLimits {
            bytes_max: FILE_BYTES_MAX as usize,
            time_max: FILE_TIME_MAX,
            pause_max: FILE_TIME_MAX,
            exit: self.exit,
            pace: Some(pace),
        }
    }

    /// The body of one file, or why there is none.
    async fn fetch(
        &self,
        account: &MemoryShare,
        url: &Url,
        limits: GetLimits,
    ) -> Result<Bytes, String> {
        match self.get.get_for(account, url, limits).await {
            Ok(response) if (200..300).contains(&response.status) => Ok(response.body),
            Ok(response) => Err(format!("the site answered {}", response.status)),
            Err(error) => Err(error.to_string()),
        }
    }
}

impl SitemapBatch {
    fn of(file: &Url, pages: Vec<SitemapPage>) -> Self {
        Self {
            file: file.clone(),
            pages,
            fault: None,
        }
    }

    fn fault(file: Url, reason: String) -> Self {
        Self {
            file,
            pages: Vec::new(),
            fault: Some(reason),
        }
    }
}

impl Summary {
    /// Counts the URLs of a batch, and cuts it at the limit.
    fn count(&mut self, batch: &mut Vec<SitemapPage>) {
        let room = ENTRIES_MAX - self.n_entries;
        self.is_cut |= batch.len() > room;
        batch.truncate(room);
        self.n_entries += batch.len();
    }

    fn add_fault(&mut self, url: &Url, reason: &str) {
        tracing::debug!(sitemap.url = %url, reason, "a sitemap could not be fetched");
        if self.faults.len() < FAULTS_MAX {
            self.faults.push((url.clone(), reason.to_owned()));
        }
    }
}

/// [`step`], on a thread that may block; waiting for room in the channel does not.
async fn step_on_a_thread(
    account: &MemoryShare,
    file: File,
    base: &Url,
) -> Option<(File, Vec<SitemapPage>, Vec<Url>)> {
    let base = base.clone();
    let turns = CpuTurns::of_process();
    let stepped = turns.run(account.account(), move || step(file, &base));
    stepped.await.ok().flatten()
}

/// The next pages and sitemaps that a file names, as absolute URLs, and the rest of the file.
fn step(mut file: File, base: &Url) -> Option<(File, Vec<SitemapPage>, Vec<Url>)> {
    let entries = file.step(BATCH_ENTRIES)?;
    let (mut pages, mut sitemaps) = (Vec::with_capacity(entries.len()), Vec::new());
    for entry in entries {
        match entry {
            SitemapEntry::Page(page) => pages.extend(absolute_page(base, page)),
            SitemapEntry::Sitemap(child) => sitemaps.extend(absolute(base, &child)),
        }
    }
    Some((file, pages, sitemaps))
}

/// The page with absolute URLs. Alternates that are not pages are left out.
fn absolute_page(base: &Url, page: SitemapPage) -> Option<SitemapPage> {
    let url = absolute(base, &page.url)?.into();
    let alternates = page.alternates.into_iter().filter_map(|alternate| {
        let url = absolute(base, &alternate.url)?.into();
        Some(Alternate { url, ..alternate })
    });
    Some(SitemapPage {
        url,
        last_modified: page.last_modified,
        alternates: alternates.collect(),
    })
}

/// Queues a file once, unless it is nested too deeply or there are too many.
fn enqueue(
    queue: &mut VecDeque<Queued>,
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
    queue.push_back(Queued { url, depth });
}

/// A URL as written in a file. The protocol requires absolute URLs; relative ones are resolved
/// against the file.
fn absolute(file: &Url, written: &str) -> Option<Url> {
    let url = urls::join(file, written).ok()?;
    matches!(url.scheme(), "http" | "https").then_some(url)
}

/// The host, without `www.`
fn host(url: &Url) -> Option<String> {
    let host = url.host_str()?;
    Some(host.strip_prefix("www.").unwrap_or(host).to_owned())
}

#[cfg(test)]
mod tests;
