//! A small disk that runs full: nothing is lost and nothing is charged twice.
//!
//! The disk is a tmpfs of its own, which only root may mount.

use std::collections::BTreeSet;
use std::fs::File;
use std::io::Write;
use std::path::{Path, PathBuf};
use std::process::Command;
use std::time::{Duration, Instant};

use serde_json::{Value, json};
use trawl_tests::{Caller, FakeSite, TestApp, TrapSite, World};

/// Size of the disk: the database's write-ahead log has 16 MiB before it is checkpointed.
const DISK_MIB: u64 = 48;

/// A mounted disk.
struct SmallDisk {
    path: PathBuf,
}

impl SmallDisk {
    /// Mounts a small disk as the data directory of a world.
    fn under(world: &World) -> Self {
        let path = world.data();
        let compiled = std::fs::read_link(path.join("compiled")).expect("a link");
        let size = format!("size={DISK_MIB}m,mode=0700");
        let mount = Command::new("mount")
            .args(["-t", "tmpfs", "-o", &size, "tmpfs"])
            .arg(&path)
            .output();
        let mount = mount.expect("the program `mount`");
        let error = String::from_utf8_lossy(&mount.stderr);
        assert!(mount.status.success(), "{error}");
        std::os::unix::fs::symlink(compiled, path.join("compiled")).expect("a link");
        Self { path }
    }

    /// Writes a file until this many bytes are left, 0 for none.
    fn fill(&self, left: u64) -> Filler {
        let path = self.path.join("filler");
        let mut file = File::create(&path).expect("a file");
        let piece = [1; 4096];
        while free(&self.path) > left && file.write_all(&piece).is_ok() {}
        Filler(path)
    }
}

/// Bytes that are free.
fn free(path: &Path) -> u64 {
    let space = rustix::fs::statvfs(path).expect("a disk");
    space.f_bavail * space.f_frsize
}

impl Drop for SmallDisk {
    fn drop(&mut self) {
        // Lazily: the server may still have files open.
        let _ended = Command::new("umount").arg("-l").arg(&self.path).status();
    }
}

/// A file that fills the disk, until it is dropped.
struct Filler(PathBuf);

impl Drop for Filler {
    fn drop(&mut self) {
        let _removed = std::fs::remove_file(&self.0);
    }
}

/// The entries of a crawl in the store.
async fn stored(app: &TestApp, id: &str) -> Vec<Value> {
    let answer = app.get(&format!("/crawl/{id}/pages?limit=10000")).await;
    answer.json().as_array().expect("entries").clone()
}

/// Waits until the health check has this status, and checks what it says of the ledger.
async fn assert_health(app: &TestApp, status: u16) {
    let mut health = app.get("/health").await;
    for _ in 0..100 {
        if health.status == status {
            break;
        }
        tokio::time::sleep(Duration::from_millis(100)).await;
        health = app.get("/health").await;
    }
    assert_eq!(health.status, status);
    let ledger = &health.json()["ledger"]["ok"];
    assert_eq!(ledger, &json!(status == 200));
}

async fn begin_crawl(app: &TestApp, site: &TrapSite) -> String {
    let request = json!({
        "url": site.url("/many"), "limit": 150, "delay": 30, "request": "http", "cache": false, "run_in_background": true,
    });
    let begun = app.post("/crawl", &[], &request).await;
    assert_eq!(begun.status, 200, "{}", begun.error());
    begun.json()["id"].as_str().expect("an id").to_owned()
}

/// Waits until the crawl has stored some pages.
async fn has_pages(app: &TestApp, id: &str) {
    for _ in 0..1_200 {
        let status = app.get(&format!("/crawl/{id}")).await.json();
        if status["pages"].as_u64() >= Some(10) {
            return;
        }
        tokio::time::sleep(Duration::from_millis(50)).await;
    }
    panic!("the crawl fetches nothing");
}

#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
#[cfg_attr(
    no_mount,
    ignore = "no right to mount a small disk: run the tests as root"
)]
async fn a_full_disk_loses_no_charge_and_doubles_none() {
    let world = World::new();
    let disk = SmallDisk::under(&world);
    let (app, site) = (TestApp::of(world).await, FakeSite::start().await);
    let start = app.balance();
    let page = || json!({"url": site.url("/page"), "request": "http", "cache": false});
    let mut charged = 0;
    charged += Caller::total(&app.scrape(page()).await[0]);
    assert!(charged > 0);

    let filler = disk.fill(0);
    let (mut n_failed, mut n_charged) = (0, 0);
    for _ in 0..2_000 {
        let entry = app.scrape(page()).await.remove(0);
        charged += Caller::total(&entry);
        if entry["error"].is_null() {
            // Space that the database had taken before.
            n_charged += 1;
        } else {
            assert_eq!(Caller::total(&entry), 0, "{entry}");
            let error = entry["error"].as_str().unwrap_or_default();
            assert!(error.contains("ledger is not available"), "{entry}");
            n_failed += 1;
        }
        if n_failed == 5 {
            break;
        }
    }
    assert_eq!(
        n_failed, 5,
        "the disk is not full, {n_charged} pages were charged"
    );
    let crawl = json!({"url": site.url("/page"), "limit": 1});
    let refused = app.post("/crawl", &[], &crawl).await;
    assert_eq!(refused.status, 507, "{}", refused.error());
    for path in ["/account", "/data/crawl_state", "/account/statement"] {
        assert_eq!(app.get(path).await.status, 200, "{path}");
    }
    assert_health(&app, 503).await;

    drop(filler);
    let mut entry = Value::Null;
    for _ in 0..300 {
        entry = app.scrape(page()).await.remove(0);
        if entry["error"].is_null() {
            break;
        }
        tokio::time::sleep(Duration::from_millis(100)).await;
    }
    charged += Caller::total(&entry);
    assert!(entry["error"].is_null(), "{entry}");
    assert_health(&app, 200).await;
    app.app.billing().flush().await.expect("the ledger works");
    assert_eq!(start - app.balance(), charged);
    app.assert_settled().await;
}

#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
#[cfg_attr(
    no_mount,
    ignore = "no right to mount a small disk: run the tests as root"
)]
async fn a_crawl_survives_a_full_disk() {
    let world = World::new();
    let disk = SmallDisk::under(&world);
    let (app, site) = (TestApp::of(world).await, TrapSite::start().await);
    let start = app.balance();
    let id = begin_crawl(&app, &site).await;
    has_pages(&app, &id).await;
    let filler = disk.fill(0);
    tokio::time::sleep(Duration::from_secs(2)).await;
    drop(filler);
    let status = app.crawl_ended(&id, Duration::from_secs(60)).await;
    assert_eq!(status["stop_reason"], "limit", "{status}");
    assert_eq!(status["failed"], 0, "pages wait for the ledger: {status}");
    let entries = stored(&app, &id).await;
    assert_eq!(entries.len(), 150);
    let urls: BTreeSet<&str> = entries
        .iter()
        .filter_map(|entry| entry["url"].as_str())
        .collect();
    assert_eq!(urls.len(), 150, "every page once");
    let total: i64 = entries.iter().map(Caller::total).sum();
    assert_eq!(total, Caller::total(&status), "{status}");
    app.app.billing().flush().await.expect("the ledger works");
    assert_eq!(start - app.balance(), total);
    app.assert_settled().await;
}

#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
#[cfg_attr(
    no_mount,
    ignore = "no right to mount a small disk: run the tests as root"
)]
async fn below_the_floor_nothing_new_is_stored_until_there_is_space() {
    let mut world = World::new();
    world.limits.free_disk_mib = Some(16);
    let disk = SmallDisk::under(&world);
    let (app, site) = (TestApp::of(world).await, TrapSite::start().await);
    let id = begin_crawl(&app, &site).await;
    has_pages(&app, &id).await;
    let filler = disk.fill(8 << 20);
    let page = json!({"url": site.url("/leaf/1"), "request": "http", "cache": false});
    let (mut status, mut text) = (0, String::new());
    for n in 0..100 {
        let key = n.to_string();
        let answer = app
            .post("/scrape", &[("idempotency-key", &key)], &page)
            .await;
        status = answer.status;
        text = String::from_utf8_lossy(&answer.body).into_owned();
        if status != 200 {
            break;
        }
        tokio::time::sleep(Duration::from_millis(100)).await;
    }
    assert_eq!(status, 507, "{text}");
    assert!(text.contains("disk is nearly full"), "{text}");
    let crawl = json!({"url": site.url("/leaf/1"), "limit": 1});
    assert_eq!(app.post("/crawl", &[], &crawl).await.status, 507);
    let entry = app.scrape(page.clone()).await.remove(0);
    assert!(
        entry["error"].is_null() && Caller::total(&entry) > 0,
        "{entry}"
    );
    let health = app.get("/health").await.json();
    assert_eq!(health["disk"]["ok"], false, "{health}");
    // Pages in flight finish; then the crawl waits.
    let path = format!("/crawl/{id}");
    let end = Instant::now() + Duration::from_secs(20);
    let mut before = app.get(&path).await.json();
    loop {
        tokio::time::sleep(Duration::from_secs(1)).await;
        let now = app.get(&path).await.json();
        if now["pages"] == before["pages"] && now["state"] == "running" {
            break;
        }
        assert!(Instant::now() < end, "the crawl does not wait: {now}");
        before = now;
    }

    drop(filler);
    let status = app.crawl_ended(&id, Duration::from_secs(60)).await;
    assert_eq!(
        (&status["stop_reason"], &status["failed"]),
        (&json!("limit"), &json!(0)),
        "{status}"
    );
    assert_eq!(stored(&app, &id).await.len(), 150);
    assert_eq!(app.post("/crawl", &[], &crawl).await.status, 200);
    app.assert_settled().await;
}
