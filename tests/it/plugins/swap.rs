//! Plugin files that change while the server runs.

use std::fs;
use std::sync::Arc;
use std::sync::atomic::{AtomicBool, Ordering};
use std::time::{Duration, Instant};

use tokio_util::sync::CancellationToken;
use trawl_plugins::Plugins;
use trawl_test_guests::Guest;

use super::{PluginFolder, entry, render, text};

#[test]
fn a_failed_reload_keeps_the_generation_and_reports_the_error() {
    let folder = PluginFolder::of(&[Guest::constant_format("greet", "one")]);
    let plugins = folder.start().unwrap();
    folder.put_bytes("greet", b"half a file");
    let reason = plugins.reload().err().unwrap().to_string();
    assert!(reason.contains("not a WebAssembly file"), "{reason}");
    assert_eq!(text(render(&plugins, "greet", "", "{}")), "one");
    assert_eq!(plugins.status().last_error.unwrap().reason, reason);

    // Callers see no folder of the server.
    folder.manifest("[[format");
    let reason = plugins.reload().err().unwrap().to_string();
    let path = folder.path("plugins.toml").display().to_string();
    assert!(reason.contains(&path), "{reason}");
    let shown = plugins.status().last_error.unwrap().reason;
    assert_eq!(shown, reason.replace(&path, "plugins.toml"));

    let greet = Guest::constant_format("greet", "two");
    folder.manifest(&entry(&greet, ""));
    folder.put(&greet);
    assert_eq!(plugins.reload().unwrap().generation(), 2);
    assert_eq!(text(render(&plugins, "greet", "", "{}")), "two");
    assert!(plugins.status().last_error.is_none());
}

#[test]
fn unchanged_plugins_are_reused() {
    let (one, two) = (Guest::echo_format("one"), Guest::echo_format("two"));
    let folder = PluginFolder::of(&[one.clone(), two.clone()]);
    let plugins = folder.start().unwrap();
    let before = plugins.snapshot();
    assert_eq!(plugins.reload().unwrap().generation(), 1);
    folder.manifest(&(entry(&one, "") + &entry(&two, "limits = { time_ms = 77 }")));
    let after = plugins.reload().unwrap();
    assert_eq!(after.generation(), 2);
    let of = |registry: &trawl_plugins::Registry, name| registry.format(name).unwrap();
    assert!(Arc::ptr_eq(&of(&before, "one"), &of(&after, "one")));
    assert!(!Arc::ptr_eq(&of(&before, "two"), &of(&after, "two")));
}

#[test]
fn a_run_keeps_its_snapshot() {
    let folder = PluginFolder::of(&[Guest::constant_format("greet", "one")]);
    let plugins = folder.start().unwrap();
    let run = plugins.snapshot();
    folder.manifest("");
    plugins.reload().unwrap();
    assert!(plugins.snapshot().format("greet").is_none());
    let old = run.format("greet").unwrap();
    let document = super::document("");
    assert_eq!(text(old.render(&super::view(&document), "{}")), "one");
    let gone = Arc::downgrade(&run);
    drop((run, old));
    assert!(gone.upgrade().is_none(), "the old generation is still held");
}

/// Makes a change while the folder is watched, and returns the time until `is_live`.
async fn time_until_live(
    plugins: &Arc<Plugins>,
    change: impl FnOnce(),
    is_live: impl Fn(&Plugins) -> bool,
) -> Duration {
    let cancel = CancellationToken::new();
    let watch = tokio::spawn(Arc::clone(plugins).watch(cancel.clone()));
    tokio::time::sleep(Duration::from_millis(50)).await;
    let changed = Instant::now();
    change();
    while !is_live(plugins) {
        assert!(changed.elapsed() < Duration::from_secs(30), "never live");
        tokio::time::sleep(Duration::from_millis(2)).await;
    }
    let delay = changed.elapsed();
    cancel.cancel();
    watch.await.unwrap();
    delay
}

fn says(expected: &'static str) -> impl Fn(&Plugins) -> bool {
    move |plugins| text(render(plugins, "greet", "", "{}")) == expected
}

#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn a_file_renamed_over_a_component_goes_live() {
    let folder = PluginFolder::of(&[Guest::constant_format("greet", "one")]);
    let plugins = folder.start().unwrap();
    folder.put(&Guest {
        name: "other".to_owned(),
        ..Guest::constant_format("greet", "two")
    });
    let change = || fs::rename(folder.path("other.wasm"), folder.path("greet.wasm")).unwrap();
    time_until_live(&plugins, change, says("two")).await;
}

#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn a_component_written_in_pieces_goes_live_when_it_is_complete() {
    let folder = PluginFolder::of(&[Guest::constant_format("greet", "one")]);
    let plugins = folder.start().unwrap();
    let bytes = Guest::constant_format("greet", "two").build();
    let change = || {
        for pieces in 1..=4 {
            folder.put_bytes("greet", &bytes[..bytes.len() * pieces / 4]);
            std::thread::sleep(Duration::from_millis(60));
        }
    };
    time_until_live(&plugins, change, says("two")).await;
    assert!(plugins.status().last_error.is_none());
}

#[test]
fn a_partially_written_manifest_unloads_no_plugin() {
    let folder = PluginFolder::of(&[Guest::constant_format("greet", "one")]);
    let plugins = folder.start().unwrap();
    let whole = fs::read_to_string(folder.path("plugins.toml")).unwrap();
    let mut n_judged = 0;
    for round in 0..50 {
        let began = Instant::now();
        folder.manifest("");
        let took = std::thread::scope(|scope| {
            scope.spawn(|| plugins.reload());
            std::thread::sleep(Duration::from_millis(2));
            folder.manifest(&format!("{whole}# {round}"));
            began.elapsed()
        });
        // An empty manifest is read a second time after 20 ms. On a busy machine the write may take
        // longer, and then the plugin is unloaded for good reason.
        if took < Duration::from_millis(15) {
            assert!(plugins.snapshot().format("greet").is_some());
            n_judged += 1;
            if n_judged == 5 {
                break;
            }
        } else {
            plugins.reload().unwrap();
        }
    }
    assert!(n_judged > 0, "no write was fast enough");
    folder.manifest("");
    plugins.reload().unwrap();
    assert!(plugins.snapshot().format("greet").is_none());
}

#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn a_plugin_in_a_new_folder_is_watched() {
    let folder = PluginFolder::of(&[Guest::constant_format("greet", "one")]);
    let plugins = folder.start().unwrap();
    fs::create_dir(folder.path("new")).unwrap();
    let put = |text| {
        fs::write(
            folder.path("new/g.wasm"),
            Guest::constant_format("greet", text).build(),
        )
        .unwrap()
    };
    put("two");
    let moved = || folder.manifest("[[format]]\nname = \"greet\"\ncomponent = \"new/g.wasm\"\n");
    time_until_live(&plugins, moved, says("two")).await;
    time_until_live(&plugins, || put("three"), says("three")).await;
    // From the change of the file to the new generation it takes at most 200 ms, because both
    // components are compiled already. One swap in time suffices: a busy machine slows some.
    let mut fastest = Duration::MAX;
    for said in ["two", "three", "two", "three", "two"] {
        let delay = time_until_live(&plugins, || put(said), says(said)).await;
        fastest = fastest.min(delay);
        if fastest < Duration::from_secs(1) {
            break;
        }
    }
    eprintln!("live after {} ms", fastest.as_millis());
    assert!(fastest < Duration::from_secs(1), "live after {fastest:?}");
}

#[test]
fn swaps_under_load_fail_no_call() {
    let folder = PluginFolder::of(&[Guest::constant_format("greet", "one")]);
    let plugins = folder.start().unwrap();
    let stop = AtomicBool::new(false);
    std::thread::scope(|scope| {
        for _ in 0..2 {
            scope.spawn(|| {
                while !stop.load(Ordering::Relaxed) {
                    let said = text(render(&plugins, "greet", "", "{}"));
                    assert!(said == "one" || said == "two", "{said}");
                }
            });
        }
        for round in 0..100 {
            let said = if round % 2 == 0 { "two" } else { "one" };
            folder.put(&Guest::constant_format("greet", said));
            plugins.reload().unwrap();
        }
        stop.store(true, Ordering::Relaxed);
    });
    assert_eq!(plugins.snapshot().generation(), 101);
}

#[expect(
    clippy::disallowed_methods,
    reason = "the variables set what the child process runs"
)]
#[test]
fn reloads_do_not_leak_memory() {
    // In a process of its own, so that the memory of other tests does not count.
    if std::env::var_os(ALONE).is_none() {
        return run_alone("plugins::swap::reloads_do_not_leak_memory");
    }
    let rounds: u32 = std::env::var("TRAWL_TEST_RELOADS").map_or(300, |text| text.parse().unwrap());
    let folder = PluginFolder::of(&[Guest::constant_format("greet", "one")]);
    let plugins = folder.start().unwrap();
    let variants = [
        Guest::constant_format("greet", "two").build(),
        Guest::constant_format("greet", "one").build(),
    ];
    let run = |rounds: u32| {
        for round in 0..rounds as usize {
            folder.put_bytes("greet", &variants[round % 2]);
            plugins.reload().unwrap();
            render(&plugins, "greet", "", "{}").unwrap();
        }
    };
    run(100);
    let before = resident_kib();
    run(rounds);
    let grown = resident_kib().saturating_sub(before);
    eprintln!("{rounds} reloads: {grown} KiB more");
    assert!(grown < 16 * 1024, "{grown} KiB more after {rounds} reloads");
}

/// Set in the environment of a test that runs in a process of its own.
const ALONE: &str = "TRAWL_TEST_ALONE";

fn run_alone(test: &str) {
    let output = std::process::Command::new(std::env::current_exe().unwrap())
        .args(["--exact", test, "--nocapture"])
        .env(ALONE, "1")
        .output()
        .unwrap();
    let (stdout, stderr) = (&output.stdout, &output.stderr);
    let (stdout, stderr) = (
        String::from_utf8_lossy(stdout),
        String::from_utf8_lossy(stderr),
    );
    assert!(output.status.success(), "{stdout}{stderr}");
    // With an unknown name the process would run no test, and succeed.
    assert!(stdout.contains("test result: ok. 1 passed"), "{stdout}");
}

fn resident_kib() -> u64 {
    let status = fs::read_to_string("/proc/self/status").unwrap();
    let line = status
        .lines()
        .find(|line| line.starts_with("VmRSS:"))
        .unwrap();
    line.split_whitespace().nth(1).unwrap().parse().unwrap()
}
