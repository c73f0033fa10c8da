//! How a server names itself to sites, and what its log says of that.

use std::os::unix::fs::PermissionsExt;
use std::process::Command;

use serde_json::json;
use trawl_tests::process::program;
use trawl_tests::{FakeSite, ServerProcess, World};

const CONTACT: &str = "https://bot.example.com/about";
const SENT: &str = "00-0af7651916cd43dd8448eb211c80319c-b7ad6b7169203331-01";

fn log(server: &ServerProcess) -> String {
    std::fs::read_to_string(server.world.path("log")).expect("a log")
}

#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn a_start_without_a_contact_says_so_once() {
    let site = FakeSite::start().await;
    let url = site.put("/page", "text/html", "<p>text");
    let mut world = World::new();
    world.log = "info";
    let mut server = ServerProcess::start(world);
    for _ in 0..3 {
        let request = json!({"url": url, "request": "http", "cache": false});
        server.fine(request).await;
    }
    server.stop();
    let said = log(&server).matches("names no contact").count();
    assert_eq!(said, 1, "{}", log(&server));
    assert!(!site.requests()[0].contains("(+"));
}

#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn contact_and_signature_are_sent_and_the_key_is_in_no_log() {
    let site = FakeSite::start().await;
    let url = site.put("/page", "text/html", "<p>text");
    let mut world = World::new();
    let file = world.path("bot.pem");
    let made = Command::new(program())
        .args(["bot", "key"])
        .arg(&file)
        .output()
        .expect("a process");
    assert!(made.status.success(), "{made:?}");
    let thumbprint = String::from_utf8(made.stdout).expect("text");
    let mode = std::fs::metadata(&file)
        .expect("a file")
        .permissions()
        .mode();
    assert_eq!(mode & 0o777, 0o600);
    world.config = format!(
        "[bot]\ncontact = \"{CONTACT}\"\nkey_file = \"{}\"\ndirectory = \"https://bot.example.com\"\n",
        file.display()
    );
    world.log = "debug";
    let mut server = ServerProcess::start(world);
    let request = json!({"url": url, "request": "http", "cache": false});
    let answer = server
        .post("/scrape", &[("traceparent", SENT)], &request)
        .await;
    assert_eq!(answer.status, 200);
    server.stop();
    let head = &site.requests()[0];
    assert!(head.contains(&format!("(+{CONTACT})")), "{head}");
    let keyid = format!("keyid=\"{}\"", thumbprint.trim());
    assert!(head.contains(&keyid), "{head}");
    let log = log(&server);
    let key = std::fs::read_to_string(&file).expect("a key");
    let secrets = key.lines().filter(|line| !line.starts_with("-----"));
    for secret in secrets {
        assert!(!log.contains(secret), "the key is in the log");
    }
    assert!(!log.contains("names no contact"));
    // What the log says of the request is in its trace.
    assert!(log.contains("0af7651916cd43dd8448eb211c80319c"), "{log}");
}

#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn a_key_that_others_may_read_stops_the_start() {
    let world = World::new();
    let file = world.path("bot.pem");
    let made = Command::new(program())
        .args(["bot", "key"])
        .arg(&file)
        .status();
    assert!(made.expect("a process").success());
    let open = std::fs::Permissions::from_mode(0o644);
    std::fs::set_permissions(&file, open).expect("set");
    let config = world.path("bot.toml");
    let text = format!(
        "[bot]\nkey_file = \"{}\"\ndirectory = \"https://bot.example.com\"\n",
        file.display()
    );
    std::fs::write(&config, text).expect("written");
    let started = Command::new("timeout")
        .arg("120")
        .arg(program())
        .args(["serve", "--listen", "127.0.0.1:0", "--data"])
        .arg(world.data())
        .arg("--plugins")
        .arg(world.plugins())
        .arg("--config")
        .arg(&config)
        .output()
        .expect("a process");
    let said = String::from_utf8_lossy(&started.stderr);
    assert!(!started.status.success(), "{said}");
    assert!(said.contains("chmod 600"), "{said}");
}
