//! What packages and images use of the program: the health check, completion scripts and manual
//! pages.

use std::fs;
use std::path::Path;

use serde_json::Value;
use trawl::config::Config;
use trawl_tests::{ServerProcess, World, run_program};

/// Runs a command. Gives whether it succeeded, its standard output and its standard error.
fn run(world: &World, arguments: &[&str]) -> (bool, String, String) {
    let output = run_program(world, arguments, b"");
    let text = |bytes| String::from_utf8(bytes).unwrap();
    (
        output.status.success(),
        text(output.stdout),
        text(output.stderr),
    )
}

#[test]
fn the_health_check_follows_the_server() {
    let mut world = World::new();
    world.config = "[browser]\ntabs = 0\n".to_owned();
    let mut server = ServerProcess::start(world);
    let address = server.greeting.lines().find_map(|line| {
        let (_, address) = line.split_once(" listening on http://")?;
        Some(address.to_owned())
    });
    let address = address.expect("an address");
    let (is_good, report, said) = run(&server.world, &["health", "--listen", &address]);
    assert!(is_good, "{said}");
    let report: Value = serde_json::from_str(&report).expect("the report alone");
    assert_eq!(report["status"], "ok", "{report}");
    assert_eq!(report["engines"]["http"]["ok"], true, "{report}");
    server.stop();
    let (is_good, _, said) = run(&server.world, &["health", "--listen", &address]);
    assert!(!is_good && said.contains("no server listens"), "{said}");
}

#[test]
fn completions_and_manual_pages_are_written() {
    let world = World::new();
    let (is_good, script, said) = run(&world, &["completions", "bash"]);
    assert!(is_good && script.contains("complete -F _trawl"), "{said}");
    let dir = world.path("man");
    let (is_good, _, said) = run(&world, &["man", dir.to_str().unwrap()]);
    assert!(is_good, "{said}");
    let pages = fs::read_dir(&dir).unwrap();
    let pages: Vec<String> = pages
        .map(|page| page.unwrap().file_name().into_string().unwrap())
        .collect();
    for page in ["trawl.1", "trawl-serve.1", "trawl-health.1"] {
        assert!(pages.iter().any(|name| name == page), "{page}: {pages:?}");
    }
}

#[test]
fn the_service_starts_the_server_with_settings_that_it_reads() {
    let folder = Path::new(env!("CARGO_MANIFEST_DIR")).join("../host/server/packaging");
    Config::load(Some(&folder.join("trawl.toml"))).expect("settings");
    let unit = fs::read_to_string(folder.join("trawl.service")).unwrap();
    let start = unit
        .lines()
        .find_map(|line| line.strip_prefix("ExecStart=/usr/bin/trawl "));
    let mut words: Vec<&str> = start.expect("a command").split(' ').collect();
    words.push("--help");
    let (is_good, _, said) = run(&World::new(), &words);
    assert!(is_good, "{said}");
}
