use std::fs::OpenOptions;
use std::os::unix::fs::FileExt;
use std::time::Duration;

use http::HeaderMap;
use tempfile::TempDir;
use url::Url;

use trawl_model::FetchedPage;

use super::*;

const MIB: u64 = 1 << 20;

/// A cache that reads every page from disk.
fn open(folder: &Path, bytes_max: u64) -> Arc<PageCache> {
    open_with(folder, bytes_max, 0)
}

fn open_with(folder: &Path, bytes_max: u64, memory_bytes_max: u64) -> Arc<PageCache> {
    PageCache::open(config(folder, bytes_max, memory_bytes_max)).expect("a page cache")
}

fn config(folder: &Path, bytes_max: u64, memory_bytes_max: u64) -> CacheConfig {
    CacheConfig {
        folder: folder.to_owned(),
        bytes_max,
        memory_bytes_max,
        is_disk_low: Arc::default(),
        clock: Clock::fake(Timestamp(1_000)),
    }
}

fn hash(name: impl ToString) -> Key {
    blake3::hash(name.to_string().as_bytes())
}

fn page(body: impl Into<Bytes>) -> StoredPage {
    let url = Url::parse("http://a/").expect("a URL");
    let page = FetchedPage {
        requested_url: url.clone(),
        final_url: url,
        redirects: Vec::new(),
        status: 200,
        headers: vec![("content-type".to_owned(), "text/html".to_owned())],
        cookies: Vec::new(),
        body: body.into(),
        content_type: "text/html".to_owned(),
    };
    StoredPage::new(
        &page,
        &HeaderMap::new(),
        std::iter::empty(),
        Timestamp(1_000),
    )
}

/// Text that does not get smaller.
fn noise(seed: u64, bytes: usize) -> Vec<u8> {
    let mut noise = vec![0; bytes];
    let mut reader = blake3::Hasher::new()
        .update(&seed.to_le_bytes())
        .finalize_xof();
    reader.fill(&mut noise);
    noise
}

async fn body(cache: &PageCache, key: Key) -> Option<Bytes> {
    let page = cache.find(&key).await?;
    Some(page.body.clone())
}

fn files(folder: &Path) -> Vec<PathBuf> {
    let folders = std::fs::read_dir(folder).expect("a folder");
    let folders = folders.map(|entry| entry.expect("an entry").path());
    folders
        .filter(|path| path.is_dir())
        .flat_map(|path| std::fs::read_dir(path).expect("a folder"))
        .map(|entry| entry.expect("an entry").path())
        .collect()
}

#[tokio::test]
async fn a_page_is_found_at_once_and_after_it_is_written_and_after_a_start() {
    let folder = TempDir::new().expect("a folder");
    let cache = open(folder.path(), MIB);
    assert!(cache.find(&hash("a")).await.is_none());
    cache.store(hash("a"), page("one"));
    cache.store(hash("b"), page(""));
    assert_eq!(body(&cache, hash("a")).await.expect("stored"), "one");
    cache.flush().await;
    assert!(cache.shared.state().pending.is_empty());
    assert_eq!(body(&cache, hash("a")).await.expect("written"), "one");
    drop(cache);
    let cache = open(folder.path(), MIB);
    let stored = cache.find(&hash("a")).await.expect("still there");
    assert_eq!(
        (&*stored.body, &stored.meta),
        (&b"one"[..], &page("one").meta)
    );
    assert_eq!(body(&cache, hash("b")).await.expect("empty"), "");
}

#[tokio::test]
async fn the_last_word_on_a_page_counts_whatever_was_ordered_before() {
    let folder = TempDir::new().expect("a folder");
    let cache = open(folder.path(), MIB);
    for round in 0..50 {
        cache.store(hash("a"), page(format!("version {round}")));
        cache.store(hash("b"), page(format!("version {round}")));
    }
    cache.remove(&hash("b"));
    assert!(cache.find(&hash("b")).await.is_none());
    cache.flush().await;
    for cache in [cache, open(folder.path(), MIB)] {
        assert_eq!(
            body(&cache, hash("a")).await.expect("the last"),
            "version 49"
        );
        assert!(cache.find(&hash("b")).await.is_none());
        assert_eq!(files(folder.path()).len(), 1);
    }
}

#[tokio::test]
async fn equal_bodies_are_stored_once() {
    let folder = TempDir::new().expect("a folder");
    let cache = open(folder.path(), MIB);
    for key in 0..10 {
        cache.store(hash(key), page("the same"));
    }
    cache.flush().await;
    assert_eq!(files(folder.path()).len(), 1);
    for key in 0..9 {
        cache.remove(&hash(key));
    }
    cache.flush().await;
    assert_eq!(body(&cache, hash(9)).await.expect("the last"), "the same");
    cache.remove(&hash(9));
    cache.flush().await;
    assert!(files(folder.path()).is_empty());
    assert_eq!(cache.bytes(), 0);
}

#[tokio::test]
async fn a_page_that_was_read_is_in_memory_until_it_is_replaced_or_removed() {
    let folder = TempDir::new().expect("a folder");
    let cache = open_with(folder.path(), MIB, MIB);
    let body_of = async |key: &str| {
        let page = cache.find(&hash(key)).await?;
        // The body is stored under this hash.
        assert!(
            page.body_hash()
                .is_none_or(|known| known == blake3::hash(&page.body))
        );
        Some(page.body.clone())
    };
    cache.store(hash("a"), page("one"));
    cache.store(hash("b"), page("one"));
    cache.flush().await;
    assert_eq!(body_of("a").await.expect("read"), "one");
    for file in files(folder.path()) {
        std::fs::remove_file(file).expect("removed");
    }
    assert_eq!(body_of("a").await.expect("in memory"), "one");
    assert_eq!(body_of("b").await, None);
    cache.store(hash("a"), page("two"));
    for _ in 0..2 {
        assert_eq!(body_of("a").await.expect("the new one"), "two");
        cache.flush().await;
    }
    cache.remove(&hash("a"));
    assert_eq!(body_of("a").await, None);
    cache.flush().await;
    assert_eq!(body_of("a").await, None);
}

#[tokio::test]
async fn pages_that_nobody_reads_leave_memory_and_stay_on_disk() {
    let folder = TempDir::new().expect("a folder");
    let idle = Duration::from_millis(20);
    let cache = PageCache::open_with_idle(config(folder.path(), MIB, MIB), idle);
    let cache = cache.expect("a page cache");
    cache.store(hash("a"), page("text"));
    cache.flush().await;
    for _ in 0..3 {
        assert_eq!(body(&cache, hash("a")).await, Some("text".into()));
        // In memory since it was read, until it was not read for long enough.
        for _ in 0..1_000 {
            if cache.shared.read.bytes() == 0 {
                break;
            }
            tokio::time::sleep(Duration::from_millis(10)).await;
        }
        assert_eq!(cache.shared.read.bytes(), 0);
    }
}

#[tokio::test]
async fn a_changed_body_is_never_served_and_does_not_stay() {
    let folder = TempDir::new().expect("a folder");
    let cache = open(folder.path(), MIB);
    let whole = noise(1, 10_000);
    let harms: [fn(&Path); 4] = [
        |file| std::fs::write(file, "").expect("emptied"),
        |file| {
            let file = OpenOptions::new().write(true).open(file).expect("a file");
            file.set_len(5_000).expect("cut");
        },
        |file| {
            let file = OpenOptions::new().write(true).open(file).expect("a file");
            file.write_all_at(b"!", 6_000).expect("one byte changed");
        },
        |file| {
            let other = zstd::bulk::compress(&[0; 10_000], 1).expect("another body");
            std::fs::write(file, other).expect("changed");
        },
    ];
    for harm in harms {
        cache.store(hash("a"), page(whole.clone()));
        cache.store(hash("b"), page(whole.clone()));
        cache.flush().await;
        assert_eq!(body(&cache, hash("a")).await.expect("stored"), whole);
        harm(&files(folder.path())[0]);
        assert!(cache.find(&hash("a")).await.is_none());
        assert!(cache.find(&hash("b")).await.is_none());
        assert!(files(folder.path()).is_empty());
        assert_eq!(cache.bytes(), 0);
    }
}

#[tokio::test]
async fn a_damaged_log_retains_its_intact_records() {
    let folder = TempDir::new().expect("a folder");
    let path = folder.path().join("pages-1.log");
    let write = async || {
        let cache = open(folder.path(), MIB);
        for key in ["a", "b", "c"] {
            cache.store(hash(key), page(key));
        }
        cache.flush().await;
    };
    write().await;
    let whole = std::fs::read(&path).expect("the log");
    for cut in 1..=whole.len() / 3 {
        std::fs::write(&path, &whole[..whole.len() - cut]).expect("cut");
        let cache = open(folder.path(), MIB);
        assert_eq!(body(&cache, hash("b")).await.expect("whole"), "b", "{cut}");
        assert!(cache.find(&hash("c")).await.is_none(), "{cut}");
    }
    let file = OpenOptions::new().write(true).open(&path).expect("the log");
    file.write_all_at(b"#", whole.len() as u64 / 2)
        .expect("changed");
    let cache = open(folder.path(), MIB);
    assert!(cache.find(&hash("b")).await.is_none());
    drop(cache);
    write().await;
    let cache = open(folder.path(), MIB);
    assert_eq!(body(&cache, hash("c")).await.expect("written again"), "c");
}

#[tokio::test]
async fn what_no_record_names_is_swept_away_at_the_start() {
    let folder = TempDir::new().expect("a folder");
    let cache = open(folder.path(), MIB);
    cache.store(hash("a"), page("a"));
    cache.store(hash("b"), page("b"));
    cache.flush().await;
    let stray = noise(1, 100);
    bodies::write(folder.path(), &blake3::hash(&stray), &stray).expect("a stray");
    let files_now = files(folder.path()).into_iter();
    let of_b = files_now.filter(|file| is_of(file, "b"));
    of_b.for_each(|file| std::fs::remove_file(file).expect("removed"));
    let cache = open(folder.path(), MIB);
    assert!(cache.find(&hash("b")).await.is_none());
    assert_eq!(files(folder.path()).len(), 1);
    assert_eq!(body(&cache, hash("a")).await.expect("stored"), "a");
}

fn is_of(file: &Path, body: &str) -> bool {
    let hex = hash(body).to_hex();
    file.ends_with(format!("{}/{}", &hex[..2], &hex[2..]))
}

#[tokio::test]
async fn the_bound_holds_and_what_was_used_last_stays() {
    let folder = TempDir::new().expect("a folder");
    let cache = open(folder.path(), MIB);
    cache.store(hash("used"), page(noise(1_000, 50_000)));
    for key in 0..100 {
        cache.store(hash(key), page(noise(key, 50_000)));
        cache.flush().await;
        assert!(cache.find(&hash("used")).await.is_some(), "{key}");
        assert!(cache.bytes() <= MIB);
    }
    let on_disk = |cache: &PageCache| {
        let sizes = files(folder.path()).into_iter();
        let sizes = sizes.map(|file| file.metadata().expect("a file").len());
        assert!(sizes.sum::<u64>() <= cache.bytes());
        files(folder.path()).len()
    };
    assert_eq!(on_disk(&cache), 19);
    assert!(cache.find(&hash(99)).await.is_some());
    assert!(cache.find(&hash(50)).await.is_none());
    drop(cache);
    let cache = open(folder.path(), MIB / 4);
    assert!(cache.bytes() <= MIB / 4);
    assert_eq!(on_disk(&cache), 4);
}

#[tokio::test]
async fn a_page_too_large_for_the_cache_is_not_stored() {
    let folder = TempDir::new().expect("a folder");
    let cache = open(folder.path(), MIB);
    cache.store(hash("a"), page("small"));
    cache.store(hash("a"), page(noise(1, 200_000)));
    assert!(cache.find(&hash("a")).await.is_none());
    cache.flush().await;
    assert!(cache.find(&hash("a")).await.is_none());
}

#[tokio::test]
async fn a_disk_that_is_nearly_full_gets_no_new_pages() {
    let folder = TempDir::new().expect("a folder");
    let cache = open(folder.path(), MIB);
    cache.store(hash("old"), page("old"));
    cache.is_disk_low.store(true, Ordering::Relaxed);
    cache.store(hash("new"), page("new"));
    cache.store(hash("old"), page("newer"));
    assert!(cache.find(&hash("new")).await.is_none());
    assert!(cache.find(&hash("old")).await.is_none(), "it is outdated");
    cache.is_disk_low.store(false, Ordering::Relaxed);
    cache.store(hash("new"), page("new"));
    assert_eq!(body(&cache, hash("new")).await.expect("stored"), "new");
}

#[tokio::test]
async fn a_full_queue_drops_pages_without_blocking() {
    let folder = TempDir::new().expect("a folder");
    let cache = open(folder.path(), 1_000 * MIB);
    let large = Bytes::from(noise(1, 30 * MIB as usize));
    let others = |bytes| {
        cache
            .shared
            .queued_bytes
            .fetch_add(bytes, Ordering::Relaxed)
    };
    others(QUEUE_BYTES_MAX);
    cache.store(hash("a"), page(large.clone()));
    assert!(cache.find(&hash("a")).await.is_none());
    others(0_usize.wrapping_sub(QUEUE_BYTES_MAX));
    cache.store(hash("a"), page(large.clone()));
    assert_eq!(body(&cache, hash("a")).await.expect("there is room"), large);
}

#[tokio::test]
async fn the_log_is_written_anew_and_loses_nothing() {
    let folder = TempDir::new().expect("a folder");
    let cache = open(folder.path(), 100 * MIB);
    let filler = "x".repeat(100_000);
    let with_header = |text: &str| {
        let mut page = page(text.to_owned());
        page.meta
            .headers
            .push(("x-filler".to_owned(), filler.clone()));
        page
    };
    for key in 0..20 {
        cache.store(hash(key), with_header("first"));
    }
    for round in 0..100 {
        cache.store(hash("often"), with_header(&round.to_string()));
        cache.flush().await;
    }
    let log = folder.path().join("pages-1.log");
    let bytes = log.metadata().expect("the log").len();
    assert!(bytes < 10_000_000, "{bytes}");
    for cache in [cache, open(folder.path(), 100 * MIB)] {
        for key in 0..20 {
            assert_eq!(body(&cache, hash(key)).await.expect("stored"), "first");
        }
        assert_eq!(body(&cache, hash("often")).await.expect("stored"), "99");
    }
}

#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn many_at_once_get_whole_pages_or_none() {
    let folder = TempDir::new().expect("a folder");
    let cache = open(folder.path(), MIB / 2);
    let mut tasks = tokio::task::JoinSet::new();
    for task in 0..8_u64 {
        let cache = Arc::clone(&cache);
        tasks.spawn(async move {
            for round in 0..200_u64 {
                let number = (task * 7 + round * 13) % 40;
                match cache.find(&hash(number)).await {
                    Some(page) => assert_eq!(page.body, noise(number, 30_000)),
                    None => cache.store(hash(number), page(noise(number, 30_000))),
                }
                if round % 31 == 0 {
                    cache.remove(&hash(number));
                }
            }
        });
    }
    let all = tokio::time::timeout(Duration::from_secs(60), tasks.join_all());
    all.await.expect("no deadlock");
    cache.flush().await;
    assert!(cache.bytes() <= MIB / 2);
}
