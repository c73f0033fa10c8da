//! A server is backed up while it works, loses its data directory, and continues from the backup.

use std::time::Duration;

use serde_json::{Value, json};
use trawl_tests::{FakeSite, ServerProcess, World, run_program};

const SOON: Duration = Duration::from_secs(60);

/// Runs `trawl backup` or `trawl restore` with these folders of the world. Returns what it says on
/// standard error, if it fails.
fn run(world: &World, command: &str, backup: &str, data: &str) -> Result<(), String> {
    let path = |name: &str| world.path(name).to_string_lossy().into_owned();
    let (backup, data) = (path(backup), path(data));
    let output = run_program(world, &[command, &backup, "--data", &data], b"");
    let errors = String::from_utf8_lossy(&output.stderr).into_owned();
    output.status.success().then_some(()).ok_or(errors)
}

#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn a_server_continues_from_a_backup_that_was_made_while_it_worked() {
    let site = FakeSite::start().await;
    let seed = site.put_linked(30);
    let mut server = ServerProcess::start(World::new());
    let body = json!({
        "url": seed, "request": "http", "return_format": "text", "cache": false, "run_in_background": true, "delay": 100,
    });
    let queued = server.post("/crawl", &[], &body).await;
    let id = queued.header("x-crawl-id").to_owned();
    let has_pages = async |n_pages: u64| {
        let path = format!("/crawl/{id}");
        while server.get(&path).await.json()["pages"].as_u64() < Some(n_pages) {
            tokio::time::sleep(Duration::from_millis(20)).await;
        }
    };
    let waited = tokio::time::timeout(SOON, has_pages(5)).await;
    waited.expect("the crawl has begun");
    run(&server.world, "backup", "backup", "data").unwrap();
    server.kill();
    let again = run(&server.world, "backup", "backup", "data").unwrap_err();
    assert!(again.contains("is not empty"), "{again}");

    let refused = run(&server.world, "restore", "backup", "data").unwrap_err();
    assert!(refused.contains("is not empty"), "{refused}");
    let (data, lost) = (server.world.data(), server.world.path("lost"));
    let compiled = std::fs::read_link(data.join("compiled")).unwrap();
    std::fs::rename(&data, &lost).unwrap();
    run(&server.world, "restore", "backup", "data").unwrap();
    std::os::unix::fs::symlink(compiled, data.join("compiled")).unwrap();
    let admin = |folder: &std::path::Path| std::fs::read(folder.join("admin.key")).unwrap();
    assert_eq!(admin(&data), admin(&lost));

    server.start_again();
    let ended = server.crawl_ended(&id, SOON).await;
    assert_eq!(
        (&ended["stop_reason"], &ended["pages"], &ended["failed"]),
        (&json!("completed"), &json!(31), &json!(0))
    );
    let entries = server.get(&format!("/crawl/{id}/pages")).await.json();
    let entries = entries.as_array().unwrap();
    let urls = entries.iter().map(|entry| entry["url"].as_str().unwrap());
    let urls: std::collections::BTreeSet<&str> = urls.collect();
    assert_eq!((entries.len(), urls.len()), (31, 31));
    let costs = entries.iter().map(|entry| &entry["costs"]["total_cost"]);
    let total: f64 = costs.filter_map(Value::as_f64).sum();
    let of_crawl = ended["costs"]["total_cost"].as_f64().unwrap();
    assert!((total - of_crawl).abs() < 1e-9, "{total} {of_crawl}");
    server.stop();
    let audit = server.account(&["verify"]);
    assert_eq!(audit["disagreements"], json!([]));
    assert_eq!(server.account(&["list"])[0]["held"], 0);
}
