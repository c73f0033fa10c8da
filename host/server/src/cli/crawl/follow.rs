//! Follows a crawl to its end: writes its pages as they come, and shows its progress.

use std::time::Duration;

use anyhow::Context;
use serde_json::Value;
use tokio::signal::unix::{Signal, SignalKind, signal};

use trawl_billing::AccountId;
use trawl_crawl::{CrawlView, Crawls};
use trawl_model::{SkipReason, UrlState};
use trawl_store::CrawlState;

use super::super::parameters::{self, PageNotices};
use super::output::{Output, OutputEnd};
use super::progress::{Progress, Summary};
use super::state::{Checkpoint, ResumeState};
use super::stored::StoredOptions;
use crate::app::App;

/// Pages that are read at a time.
const PAGES_AT_ONCE: usize = 64;
/// Skipped URLs that are read at a time.
const SKIPPED_AT_ONCE: u32 = 10_000;
/// How often the progress line is updated.
const TICK: Duration = Duration::from_millis(200);

/// What came of following a crawl.
pub(super) struct Followed {
    pub(super) view: CrawlView,
    pub(super) written: OutputEnd,
    /// Error of the first page of the crawl, if it failed and this process has written it.
    pub(super) first_error: Option<String>,
}

/// Writes the pages of a crawl as they come.
pub(super) struct Follower<'a> {
    pub(super) app: &'a App,
    pub(super) crawls: Crawls,
    pub(super) account: AccountId,
    pub(super) state: &'a ResumeState,
    pub(super) checkpoint: Checkpoint,
    pub(super) output: Output,
    pub(super) options: StoredOptions,
    pub(super) notices: PageNotices,
    pub(super) progress: Progress,
    pub(super) first_error: Option<String>,
}

impl Follower<'_> {
    pub(super) async fn follow(mut self) -> anyhow::Result<Followed> {
        let mut interrupts = signal(SignalKind::interrupt())?;
        let mut terminations = signal(SignalKind::terminate())?;
        let mut is_stopping = false;
        let mut ticks = tokio::time::interval(TICK);
        let mut written = OutputEnd::Complete;
        while written == OutputEnd::Complete {
            let n_written = self.write_pages(&mut written).await?;
            if n_written > 0 {
                continue;
            }
            let last = self.checkpoint.cursor;
            tokio::select! {
                more = self.crawls.wait_for_pages(&self.account, &self.checkpoint.id, last) => {
                    // Pages may have come between the last read and the end of the crawl.
                    if !more && self.write_pages(&mut written).await? == 0 {
                        break;
                    }
                }
                () = stop_signal(&mut interrupts, &mut terminations) => {
                    if is_stopping {
                        return Ok(Followed {
                            view: self.view().await?,
                            written: OutputEnd::Aborted,
                            first_error: self.first_error,
                        });
                    }
                    is_stopping = true;
                    self.progress.print_stopping();
                    self.app.stop();
                }
                _ = ticks.tick() => self.progress.show(&self.view().await?.progress),
            }
        }
        if written == OutputEnd::PipeClosed {
            self.crawls
                .cancel(&self.account, &self.checkpoint.id)
                .await?;
        }
        let view = self.view().await?;
        self.progress.finish(&Summary {
            progress: &view.progress,
            options: &self.options,
            written,
            skipped: &self.skipped(&view).await?,
        });
        parameters::print(self.notices.sentences());
        Ok(Followed {
            view,
            written,
            first_error: self.first_error,
        })
    }

    /// Writes the pages that are ready, and stores a checkpoint.
    async fn write_pages(&mut self, written: &mut OutputEnd) -> anyhow::Result<usize> {
        let (id, last) = (&self.checkpoint.id, self.checkpoint.cursor);
        let mut pages = self.crawls.pages(&self.account, id, last).await?;
        let mut n_pages = 0;
        while n_pages < PAGES_AT_ONCE
            && let Some((number, entry)) = pages.next().await?
        {
            n_pages += 1;
            let progress = &self.progress;
            *written = self
                .output
                .write(&entry, |line| progress.print_line(line))?;
            if *written == OutputEnd::PipeClosed {
                return Ok(0);
            }
            self.notices.add_entry(&entry);
            if self.checkpoint.cursor == 0 {
                self.first_error = error_of(&entry);
            }
            self.checkpoint.cursor = number;
        }
        if n_pages > 0 {
            self.checkpoint.bytes = self.output.flush().context("cannot write the output")?;
            self.state.set_checkpoint(&self.checkpoint)?;
            self.progress.show(&self.view().await?.progress);
        }
        Ok(n_pages)
    }

    /// How many URLs of an ended crawl were not fetched, by reason.
    async fn skipped(&self, view: &CrawlView) -> anyhow::Result<Vec<(SkipReason, u64)>> {
        let mut counts = SkipReason::ALL.map(|reason| (reason, 0));
        let mut last = None;
        let mut is_more = view.progress.state == CrawlState::Ended;
        while is_more {
            let (account, id) = (&self.account, &self.checkpoint.id);
            let rows = self.crawls.skipped(account, id, last, SKIPPED_AT_ONCE);
            let rows = rows.await?;
            for row in &rows {
                if let UrlState::Skipped(reason) = row.state {
                    counts[usize::from(reason.number())].1 += 1;
                }
            }
            is_more = !rows.is_empty();
            last = rows.last().map(|row| row.n).or(last);
        }
        Ok(counts.into_iter().filter(|(_, n)| *n > 0).collect())
    }

    async fn view(&self) -> anyhow::Result<CrawlView> {
        Ok(self.crawls.show(&self.account, &self.checkpoint.id).await?)
    }
}

/// The error of a page entry as JSON.
pub(super) fn error_of(entry: &[u8]) -> Option<String> {
    let entry: Value = serde_json::from_slice(entry).ok()?;
    entry["error"].as_str().map(str::to_owned)
}

/// Waits for SIGINT or SIGTERM.
async fn stop_signal(interrupts: &mut Signal, terminations: &mut Signal) {
    tokio::select! {
        _ = interrupts.recv() => {}
        _ = terminations.recv() => {}
    }
}
