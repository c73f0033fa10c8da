//! Randomly corrupted pages through every first-party component: no page may cause a trap or a
//! failure.

use std::path::Path;
use std::time::{Duration, Instant};

use serde_json::{Value, json};
use trawl_engine::extract::{self, Input};
use trawl_plugins::{Plugins, PluginsConfig};
use trawl_tests::World;

use super::SHOP;

/// Corrupted pages in one run; `TRAWL_FUZZ_PAGES` overrides the number.
const PAGES: u64 = 150;
/// Inserted fragments, which are difficult for parsers, escapers and readers of structured data.
const PIECES: [&str; 24] = [
    "<",
    ">",
    "&",
    "\"",
    "'",
    "</",
    "<!--",
    "-->",
    "<p>",
    "<table><tr><td>",
    "</table>",
    "<svg><title>",
    "<template>",
    "<pre>\n",
    "<script type='application/ld+json'>{\"@graph\":[{",
    "}]",
    "\\u{",
    "\u{feff}",
    "\u{301}",
    "👩‍👩‍👧",
    "ไทย",
    "<a href='//[::'>",
    "<base href='x:'>",
    "<i itemscope itemprop=a itemref=b id=b>",
];

/// A random number generator (xorshift64).
struct Numbers(u64);

impl Numbers {
    fn below(&mut self, end: usize) -> usize {
        self.0 ^= self.0 << 13;
        self.0 ^= self.0 >> 7;
        self.0 ^= self.0 << 17;
        usize::try_from(self.0 >> 16).unwrap() % end.max(1)
    }
}

fn pages() -> Vec<Vec<u8>> {
    let folder = Path::new(env!("CARGO_MANIFEST_DIR")).join("fixtures/xpath/pages");
    let mut files: Vec<_> = std::fs::read_dir(&folder)
        .unwrap()
        .map(|file| file.unwrap().path())
        .collect();
    files.sort();
    let mut pages: Vec<_> = files
        .iter()
        .map(|file| std::fs::read(file).unwrap())
        .collect();
    assert!(
        pages.len() > 2,
        "the original pages are in {}",
        folder.display()
    );
    pages.push(SHOP.into());
    pages
}

/// A page with some bytes removed, repeated, moved, flipped, or with fragments inserted.
fn corrupted(page: &[u8], numbers: &mut Numbers) -> Vec<u8> {
    let mut page = page.to_vec();
    for _ in 0..=numbers.below(12) {
        let start = numbers.below(page.len());
        let end = (start + numbers.below(400)).min(page.len());
        match numbers.below(6) {
            0 => drop(page.drain(start..end)),
            1 => {
                let part = page[start..end].repeat(1 + numbers.below(4));
                page.splice(start..start, part);
            }
            2 => {
                let part: Vec<u8> = page.drain(start..end).collect();
                let at = numbers.below(page.len());
                page.splice(at..at, part);
            }
            3 => page[start..end].reverse(),
            4 => page.truncate(end.max(1)),
            _ => {
                let piece = PIECES[numbers.below(PIECES.len())];
                let piece = piece.repeat(1 + numbers.below(30));
                page.splice(start..start, piece.into_bytes());
            }
        }
    }
    page
}

#[expect(
    clippy::disallowed_methods,
    reason = "a longer run is asked for this way"
)]
fn n_pages() -> u64 {
    std::env::var("TRAWL_FUZZ_PAGES").map_or(PAGES, |n| n.parse().unwrap())
}

#[test]
fn corrupted_pages_never_make_a_plugin_fail() {
    let world = World::new();
    let cache_dir = world.data().join("compiled");
    let plugins = Plugins::start(PluginsConfig {
        manifest: world.plugins(),
        cache_dir,
    })
    .unwrap();
    let registry = plugins.snapshot();
    let fields = json!({"a": "div:has(a) > p:not(.b)@class", "b": "//p[last()]/following::a[@href]/@href", "c": "string(//h1 | //h2)"});
    let asked = |chunker: &str, readability: Value| {
        json!({
            "url": "a.example", "return_format": ["markdown", "text", "html", "xml"], "metadata": true, "return_page_links": true,
            "return_json_data": true, "return_hidden_text": true, "css_extraction_map": fields, "readability": readability,
            "chunking_alg": chunker, "clean_html": true, "filter_images": true,
        })
    };
    let plans: Vec<_> = ["words", "sentences", "lines", "ByCharacterLength", "tokens"]
        .into_iter()
        .flat_map(|chunker| {
            let roles = json!({"only": "body", "include": ["byline", "comments", "player"]});
            [true.into(), false.into(), roles].map(|readability| asked(chunker, readability))
        })
        .map(|request| {
            trawl_wire::plan(&request, &*registry)
                .unwrap()
                .remove(0)
                .unwrap()
                .output
        })
        .collect();
    // A plugin that is not loaded would be left out of the plan, and nothing would be tested.
    for plan in &plans {
        assert!(plan.json_data && plan.hidden_text && plan.css_fields.is_some());
    }
    assert!(plans.iter().any(|plan| plan.readability.is_some()));
    let n_pages = n_pages();
    let pages = pages();
    for seed in 1..=n_pages {
        let mut numbers = Numbers(seed.wrapping_mul(0x9e37_79b9_7f4a_7c15));
        let page = corrupted(&pages[numbers.below(pages.len())], &mut numbers);
        let plan = &plans[numbers.below(plans.len())];
        let input = Input {
            url: "https://a.example/b/c?d#e".parse().unwrap(),
            body: page.into(),
            content_type: "text/html; charset=utf-8".to_owned(),
            is_serialised: false,
            screenshot: None,
        };
        let deadline = Instant::now() + Duration::from_secs(60);
        let (outputs, _) = extract::run(&registry, &input, plan, deadline);
        assert!(
            outputs.failure.is_none(),
            "page {seed}: {:?}",
            outputs.failure
        );
    }
}
