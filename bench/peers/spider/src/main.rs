//! Crawls a site with the crate `spider`: `peer-spider URL empty|markdown`. Prints the number of
//! pages, the bytes of their markdown, and the seconds.

use std::time::Instant;

use spider::tokio;
use spider::tokio::sync::broadcast::error::RecvError;
use spider::tokio::task::JoinSet;
use spider::website::Website;
use spider_transformations::transformation::content::{
    ReturnFormat, TransformConfig, transform_content,
};

/// More pages than the site has, so that none is missed by a slow receiver.
const PAGES_MAX: usize = 1 << 14;

#[tokio::main]
async fn main() {
    let mut arguments = std::env::args().skip(1);
    let (Some(url), Some(format)) = (arguments.next(), arguments.next()) else {
        eprintln!("usage: peer-spider URL empty|markdown");
        std::process::exit(2);
    };
    let is_markdown = format == "markdown";
    let mut website = Website::new(&url);
    website.with_respect_robots_txt(true);
    let mut pages = website.subscribe(PAGES_MAX);
    let received = tokio::spawn(async move {
        let (mut n_pages, mut converted) = (0_u64, JoinSet::new());
        loop {
            match pages.recv().await {
                Ok(page) if is_markdown => {
                    n_pages += 1;
                    converted.spawn(async move {
                        let config = TransformConfig {
                            return_format: ReturnFormat::Markdown,
                            ..TransformConfig::default()
                        };
                        transform_content(&page, &config, &None, &None, &None).len()
                    });
                }
                Ok(_) => n_pages += 1,
                Err(RecvError::Lagged(_)) => {}
                Err(RecvError::Closed) => break,
            }
        }
        let n_bytes: usize = converted.join_all().await.into_iter().sum();
        (n_pages, n_bytes)
    });
    let started = Instant::now();
    website.crawl().await;
    website.unsubscribe();
    let (n_pages, n_bytes) = received.await.expect("no panic");
    println!("{n_pages} {n_bytes} {}", started.elapsed().as_secs_f64());
}
