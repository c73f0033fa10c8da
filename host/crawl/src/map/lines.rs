//! What a map answers: its URLs, chosen and ordered, and its end.

use bytes::Bytes;

use trawl_model::memory::Held;
use trawl_plan::map::MapPlan;
use trawl_wire::{MapAlternate, MapEnd, MapEntry, MapLine, ReadSitemap, dollars};

use super::SiteMap;
use super::found::FoundUrl;
use super::rank::{Index, Terms};

impl SiteMap {
    /// The JSON of each URL that is listed, and of the end. It takes about a second for the most
    /// URLs that there may be. The lease covers the lines.
    pub fn into_lines(self) -> Held<Vec<Bytes>> {
        let Self {
            plan,
            mut lease,
            urls,
            files,
            start_page,
            n_cached_pages,
            cost,
            ..
        } = self;
        let is_cut = urls.is_cut;
        let chosen = chosen(urls.into_urls(), &plan);
        let n_found = chosen.len();
        let mut lines: Vec<Bytes> = Vec::with_capacity(n_found.min(plan.urls_max) + 1);
        for (found, score) in chosen.iter().take(plan.urls_max) {
            lines.push(line(&MapLine::Url(entry(found, *score))));
        }
        let sitemaps = files.iter().map(|file| ReadSitemap {
            location: file.url.as_str(),
            n_urls: file.n_urls,
            error: file.fault.as_deref(),
        });
        lines.push(line(&MapLine::End(MapEnd {
            n_urls: lines.len(),
            n_found,
            is_cut: is_cut || n_found > plan.urls_max,
            sitemaps: sitemaps.collect(),
            start_page,
            n_cached_pages,
            total_cost: dollars(cost),
        })));
        lease.record(lines.iter().map(Bytes::len).sum());
        lease.hold_value(lines)
    }
}

/// The URLs that have one of the plan's words, ordered by its query.
fn chosen(urls: Vec<FoundUrl>, plan: &MapPlan) -> Vec<(FoundUrl, Option<f32>)> {
    let mut urls = urls;
    if !plan.words.is_empty() {
        let words = Terms::of(plan.words.iter().map(String::as_str));
        urls.retain(|found| words.occur(path(&found.url), anchor(found)));
    }
    if plan.query.is_empty() {
        return urls.into_iter().map(|found| (found, None)).collect();
    }
    let mut index = Index::new(Terms::of([plan.query.as_str()]));
    for found in &urls {
        index.add(path(&found.url), anchor(found));
    }
    let scores = index.scores().into_iter().map(Some);
    let mut scored: Vec<_> = urls.into_iter().zip(scores).collect();
    // Stable: equal ones stay in the order they were found.
    scored.sort_by(|(_, one), (_, other)| {
        let (one, other) = (one.unwrap_or_default(), other.unwrap_or_default());
        other.total_cmp(&one)
    });
    scored
}

/// The path of a URL with its query.
fn path(url: &str) -> &str {
    let rest = url.split_once("://").map_or(url, |(_, rest)| rest);
    rest.find('/').map_or("", |start| &rest[start..])
}

fn anchor(found: &FoundUrl) -> &str {
    found.anchor.as_deref().unwrap_or_default()
}

fn entry(found: &FoundUrl, score: Option<f32>) -> MapEntry<'_> {
    let alternates = found.alternates.iter().map(|other| MapAlternate {
        hreflang: other.language.as_deref(),
        url: &other.url,
    });
    MapEntry {
        url: &found.url,
        found: found.source.name(),
        lastmod: found.last_modified.as_deref(),
        alternates: alternates.collect(),
        anchor: found.anchor.as_deref(),
        score,
    }
}

fn line(line: &MapLine<'_>) -> Bytes {
    serde_json::to_vec(line).unwrap_or_default().into()
}
