//! What many rendered pages leave: processes, profiles, tabs, descriptors and memory.

use std::sync::atomic::{AtomicUsize, Ordering};
use std::time::Duration;

use super::site::Site;
use super::trawl_page;
use crate::servers::Trawl;
use crate::table;

/// Pages in flight.
const CONCURRENCY: usize = 8;
/// Pages before the first row: as many browsers are open then as for all others.
const FIRST_PAGES: usize = 2 * CONCURRENCY;
/// How long what a page had may take to go.
const REST: Duration = Duration::from_secs(5);

/// Prints what is there after a few pages, and after `n_pages` more.
pub(super) fn run(trawl: &Trawl, site: &Site, n_pages: usize) -> anyhow::Result<()> {
    println!(
        "{:>9} {:>9} {:>10} {:>9} {:>6} {:>12} {:>11} {:>12}",
        "pages",
        "failed",
        "processes",
        "profiles",
        "tabs",
        "descriptors",
        "server MiB",
        "browser MiB"
    );
    let mut n_rendered = 0;
    for n_more in [FIRST_PAGES, n_pages] {
        render(trawl, site, n_more)?;
        n_rendered += n_more;
        std::thread::sleep(REST);
        println!(
            "{n_rendered:>9} {:>9} {:>10} {:>9} {:>6} {:>12} {:>11} {:>12}",
            trawl.failed_pages()?,
            trawl.browser_processes().len(),
            trawl.browser_profiles()?,
            trawl.open_tabs()?,
            trawl.descriptors(),
            trawl.resident_kib() / 1024,
            trawl.browser_mib()?,
        );
    }
    Ok(())
}

/// Renders so many pages of the site, in turn.
fn render(trawl: &Trawl, site: &Site, n_pages: usize) -> anyhow::Result<()> {
    let next = AtomicUsize::new(0);
    let work = || -> anyhow::Result<()> {
        loop {
            let at = next.fetch_add(1, Ordering::SeqCst);
            if at >= n_pages {
                return Ok(());
            }
            let case = &site.cases()[at % site.cases().len()];
            trawl_page(trawl, &site.url(case))?;
        }
    };
    table::on_threads(CONCURRENCY, work)?;
    Ok(())
}
