use std::collections::HashMap;
use std::sync::Mutex;

use bytes::Bytes;
use futures_util::future::BoxFuture;
use tokio::sync::mpsc;

use trawl_model::memory::MemoryBudget;
use trawl_plan::{Country, Pool};

use super::*;
use crate::fetch::{BodyEnd, FetchError, GetResponse};

/// A network of files by URL.
#[derive(Default)]
struct Web {
    files: HashMap<String, Vec<u8>>,
    requested: Mutex<Vec<String>>,
    exits: Mutex<Vec<Exit>>,
}

impl Web {
    fn new(files: &[(&str, String)]) -> Arc<Self> {
        let files = files
            .iter()
            .map(|(url, body)| ((*url).to_owned(), body.clone().into_bytes()));
        Arc::new(Self {
            files: files.collect(),
            ..Self::default()
        })
    }

    fn requested(&self) -> Vec<String> {
        self.requested.lock().expect("no panic").clone()
    }
}

impl Get for Web {
    fn get<'a>(
        &'a self,
        url: &'a Url,
        limits: GetLimits,
    ) -> BoxFuture<'a, Result<GetResponse, FetchError>> {
        self.exits.lock().expect("no panic").push(limits.exit);
        self.requested
            .lock()
            .expect("no panic")
            .push(url.to_string());
        let file = self.files.get(url.as_str());
        let response = GetResponse {
            status: if file.is_some() { 200 } else { 404 },
            final_url: url.clone(),
            body: file.cloned().map(Bytes::from).unwrap_or_default(),
            end: BodyEnd::Complete,
        };
        Box::pin(async move { Ok(response) })
    }
}

fn sitemaps(web: &Arc<Web>) -> Sitemaps {
    let get = Arc::clone(web) as Arc<dyn Get>;
    Sitemaps::new(Arc::clone(&get), Arc::new(Robots::new(get, "Trawl")))
}

fn url(text: &str) -> Url {
    Url::parse(text).expect("a URL")
}

fn set(pages: &[&str]) -> String {
    let pages = pages
        .iter()
        .map(|page| format!("<url><loc>{page}</loc></url>"));
    format!("<urlset>{}</urlset>", pages.collect::<String>())
}

fn index(files: &[&str]) -> String {
    let files = files
        .iter()
        .map(|file| format!("<sitemap><loc>{file}</loc></sitemap>"));
    format!("<sitemapindex>{}</sitemapindex>", files.collect::<String>())
}

/// The summary and all URLs of these sitemaps.
async fn read(web: &Arc<Web>, starts: &[&str]) -> (Summary, Vec<String>) {
    let (sender, mut batches) = mpsc::channel::<SitemapBatch>(2);
    let account = MemoryBudget::unlimited().share("account");
    let sitemaps = sitemaps(web);
    let starts = starts.iter().map(|start| url(start)).collect();
    let take = async {
        let mut all = Vec::new();
        while let Some(batch) = batches.recv().await {
            assert!(batch.pages.len() <= BATCH_ENTRIES + 1);
            all.extend(batch.pages.into_iter().map(|page| page.url));
        }
        all
    };
    tokio::join!(
        sitemaps.read(starts, RequestPace::default(), &account, sender),
        take
    )
}

#[tokio::test]
async fn sitemaps_are_named_by_robots_txt_or_at_the_usual_path() {
    let robots =
        "Sitemap: http://a.example/one.xml\nSitemap: http://cdn.example/two.xml\n".to_owned();
    let web = Web::new(&[("http://a.example/robots.txt", robots)]);
    let sitemaps = sitemaps(&web);
    let named = sitemaps.starts(&url("http://a.example/x")).await;
    assert_eq!(
        named,
        [
            url("http://a.example/one.xml"),
            url("http://cdn.example/two.xml")
        ]
    );
    let usual = sitemaps.starts(&url("http://b.example/x?y")).await;
    assert_eq!(usual, [url("http://b.example/sitemap.xml")]);
}

#[tokio::test]
async fn files_are_fetched_through_the_pool_and_country_of_the_pages() {
    let exit = Exit {
        pool: Pool::Residential,
        country: Country::of("DE"),
    };
    let web = Web::new(&[("http://a.example/sitemap.xml", set(&["http://a.example/1"]))]);
    let sitemaps = sitemaps(&web).through(exit);
    let starts = sitemaps.starts(&url("http://a.example/")).await;
    let (sender, mut batches) = mpsc::channel::<SitemapBatch>(2);
    let account = MemoryBudget::unlimited().share("account");
    let take = async { while batches.recv().await.is_some() {} };
    let reading = sitemaps.read(starts, RequestPace::default(), &account, sender);
    let (summary, ()) = tokio::join!(reading, take);
    assert_eq!((summary.n_files, summary.n_entries), (1, 1));
    let expected = [
        "http://a.example/robots.txt",
        "http://a.example/sitemap.xml",
    ];
    assert_eq!(web.requested(), expected);
    assert_eq!(*web.exits.lock().expect("no panic"), [exit, exit]);
}

#[tokio::test]
async fn an_index_is_followed_in_its_order_and_each_file_read_once() {
    let web = Web::new(&[
        (
            "http://a.example/i.xml",
            index(&[
                "http://a.example/1.xml",
                "/2.txt",
                "http://a.example/i.xml",
                "http://a.example/1.xml#x",
                "http://a.example/gone.xml",
            ]),
        ),
        (
            "http://a.example/1.xml",
            set(&[
                "http://a.example/1",
                "/relative",
                "mailto:x@a.example",
                "http://b.example/other",
            ]),
        ),
        ("http://a.example/2.txt", "http://a.example/2\n".to_owned()),
    ]);
    let (summary, pages) = read(&web, &["http://a.example/i.xml"]).await;
    assert_eq!(
        pages,
        [
            "http://a.example/1",
            "http://a.example/relative",
            "http://b.example/other",
            "http://a.example/2"
        ]
    );
    assert_eq!(
        (summary.n_files, summary.n_entries, summary.is_cut),
        (3, 4, false)
    );
    let gone = (
        url("http://a.example/gone.xml"),
        "the site answered 404".to_owned(),
    );
    assert_eq!(summary.faults, [gone]);
    assert_eq!(web.requested().len(), 4);
}

#[tokio::test]
async fn every_file_is_told_with_its_pages_or_its_fault() {
    let page = r#"<urlset><url><loc>/en</loc><lastmod>2026-01-02</lastmod>
        <xhtml:link rel="alternate" hreflang="de" href="/de"/>
        <xhtml:link rel="alternate" hreflang="it" href="mailto:x@a.example"/></url></urlset>"#;
    let web = Web::new(&[
        (
            "http://a.example/i.xml",
            index(&["/pages.xml", "/gone.xml", "/set.xml", "/empty.xml"]),
        ),
        ("http://a.example/pages.xml", page.to_owned()),
        ("http://a.example/set.xml", set(&[])),
        ("http://a.example/empty.xml", String::new()),
    ]);
    let (sender, mut batches) = mpsc::channel::<SitemapBatch>(16);
    let account = MemoryBudget::unlimited().share("account");
    let starts = vec![url("http://a.example/i.xml")];
    let sitemaps = sitemaps(&web);
    sitemaps
        .read(starts, RequestPace::default(), &account, sender)
        .await;
    let mut told: Vec<SitemapBatch> = Vec::new();
    while let Some(batch) = batches.recv().await {
        told.push(batch);
    }
    let file = |name: &str| url(&format!("http://a.example/{name}.xml"));
    let page = SitemapPage {
        url: "http://a.example/en".to_owned(),
        last_modified: Some("2026-01-02".to_owned()),
        alternates: vec![Alternate {
            language: Some("de".to_owned()),
            url: "http://a.example/de".to_owned(),
        }],
    };
    let expected = [
        SitemapBatch::of(&file("i"), Vec::new()),
        SitemapBatch::of(&file("pages"), vec![page]),
        SitemapBatch::fault(file("gone"), "the site answered 404".to_owned()),
        SitemapBatch::of(&file("set"), Vec::new()),
        SitemapBatch::of(&file("empty"), Vec::new()),
    ];
    assert_eq!(told, expected);
}

#[tokio::test]
async fn nested_sitemaps_on_other_hosts_are_not_read() {
    let files = [
        "http://evil.example/1.xml",
        "http://www.a.example/2.xml",
        "http://cdn.example/3.xml",
    ];
    let web = Web::new(&[("http://a.example/i.xml", index(&files))]);
    read(
        &web,
        &["http://a.example/i.xml", "http://cdn.example/i.xml"],
    )
    .await;
    let requested = web.requested();
    assert_eq!(
        requested,
        [
            "http://a.example/i.xml",
            "http://cdn.example/i.xml",
            "http://www.a.example/2.xml",
            "http://cdn.example/3.xml"
        ]
    );
}

#[tokio::test]
async fn loops_and_deep_nesting_end() {
    let name = |depth: usize| format!("http://a.example/{depth}.xml");
    let files: Vec<(String, String)> = (0..10)
        .map(|depth| (name(depth), index(&[&name(depth + 1), &name(0)])))
        .collect();
    let files: Vec<(&str, String)> = files
        .iter()
        .map(|(url, body)| (url.as_str(), body.clone()))
        .collect();
    let web = Web::new(&files);
    let (summary, _) = read(&web, &["http://a.example/0.xml"]).await;
    assert_eq!(summary.n_files, DEPTH_MAX + 1);
    assert!(summary.is_cut);
}

#[tokio::test]
async fn the_number_of_files_and_entries_is_bounded() {
    let names: Vec<String> = (0..FILES_MAX * 2)
        .map(|number| format!("/{number}.xml"))
        .collect();
    let names: Vec<&str> = names.iter().map(String::as_str).collect();
    let web = Web::new(&[("http://a.example/i.xml", index(&names))]);
    let (summary, _) = read(&web, &["http://a.example/i.xml"]).await;
    assert_eq!(web.requested().len(), FILES_MAX);
    assert_eq!(summary.faults.len(), FAULTS_MAX);
    assert!(summary.is_cut);

    let lines = |from: usize| {
        (from..from + 600_000)
            .map(|number| format!("http://a.example/{number}\n"))
            .collect::<String>()
    };
    let web = Web::new(&[
        ("http://a.example/1.txt", lines(0)),
        ("http://a.example/2.txt", lines(600_000)),
        ("http://a.example/3.txt", lines(0)),
    ]);
    let (summary, pages) = read(
        &web,
        &[
            "http://a.example/1.txt",
            "http://a.example/2.txt",
            "http://a.example/3.txt",
        ],
    )
    .await;
    assert_eq!(
        (summary.n_files, summary.n_entries, summary.is_cut),
        (2, ENTRIES_MAX, true)
    );
    assert_eq!(pages.len(), ENTRIES_MAX);
    assert_eq!(
        pages.last().map(String::as_str),
        Some("http://a.example/999999")
    );
}

#[tokio::test]
async fn reading_ends_when_the_receiver_is_dropped() {
    let text = "http://a.example/x\n".repeat(100_000);
    let web = Web::new(&[
        ("http://a.example/1.txt", text),
        ("http://a.example/2.txt", String::new()),
    ]);
    let (sender, mut batches) = mpsc::channel::<SitemapBatch>(1);
    let account = MemoryBudget::unlimited().share("account");
    let sitemaps = sitemaps(&web);
    let starts = vec![url("http://a.example/1.txt"), url("http://a.example/2.txt")];
    let take_one = async move { batches.recv().await.map(|batch| batch.pages.len()) };
    let (summary, first) = tokio::join!(
        sitemaps.read(starts, RequestPace::default(), &account, sender),
        take_one
    );
    assert_eq!(first, Some(BATCH_ENTRIES));
    assert!(summary.n_entries <= 3 * BATCH_ENTRIES);
    assert_eq!(web.requested().len(), 1);
}
