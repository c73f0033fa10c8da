//! Plugins that misbehave: the call fails with a reason, and nothing else is affected.

use std::time::{Duration, Instant};

use trawl_plugins::{Fault, Plugins};
use trawl_test_guests::{Guest, hostile};

use super::{PluginFolder, document, entry, fault, render, text, view};

/// Options that make the test component misbehave.
const MISBEHAVE: &str = r#"{"misbehave":true}"#;

/// Loads a hostile format with a good one, makes it misbehave, and checks that both work
/// afterwards.
fn misbehave(guest: Guest, limits: &str) -> Fault {
    let good = Guest::echo_format("good");
    let folder = PluginFolder::of(&[]);
    folder.put(&good);
    folder.put(&guest);
    folder.manifest(&(entry(&good, "") + &entry(&guest, limits)));
    let plugins = folder.start().unwrap();
    let fault = fault(render(&plugins, &guest.name, "page", MISBEHAVE));
    assert_unaffected(&plugins, &guest.name);
    fault
}

fn assert_unaffected(plugins: &Plugins, name: &str) {
    assert_eq!(text(render(plugins, "good", "page", "{}")), "page");
    assert_eq!(text(render(plugins, name, "page", "{}")), "page");
}

fn misbehaving(misbehavior: &str) -> Guest {
    Guest::echo_format("bad").when_asked(misbehavior)
}

#[test]
fn an_endless_loop_is_stopped_at_the_time_limit() {
    let started = Instant::now();
    let fault = misbehave(
        misbehaving(hostile::ENDLESS_LOOP),
        "limits = { time_ms = 500 }",
    );
    assert!(
        matches!(
            fault,
            Fault::OutOfTime {
                used_ms: 450..,
                allowed_ms: 500
            }
        ),
        "{fault:?}"
    );
    assert!(started.elapsed() < Duration::from_secs(60));
}

#[test]
fn allocations_are_stopped_at_the_memory_limit() {
    let fault = misbehave(
        misbehaving(hostile::MEMORY_GRAB),
        "limits = { memory_mib = 4 }",
    );
    assert!(
        matches!(
            fault,
            Fault::OutOfMemory {
                wanted_mib: 5..,
                allowed_mib: 4
            }
        ),
        "{fault:?}"
    );
}

#[test]
fn a_page_that_exceeds_the_memory_limit_is_a_fault() {
    let guest = Guest::echo_format("small");
    let folder = PluginFolder::of(&[]);
    folder.put(&guest);
    folder.manifest(&entry(&guest, "limits = { memory_mib = 2 }"));
    let plugins = folder.start().unwrap();
    let page = "x".repeat(4 << 20);
    assert!(matches!(
        fault(render(&plugins, "small", &page, "{}")),
        Fault::OutOfMemory { .. }
    ));
    assert_eq!(text(render(&plugins, "small", "page", "{}")), "page");
}

#[test]
fn deep_recursion_is_stopped_at_the_stack_limit() {
    let fault = misbehave(hostile::deep_recursion("bad"), "");
    assert_eq!(
        fault,
        Fault::Trap {
            reason: "call stack exhausted".to_owned()
        }
    );
}

#[test]
fn traps_are_reported_with_their_cause() {
    for (misbehavior, says) in [
        (hostile::TRAP, "unreachable"),
        (hostile::OUT_OF_BOUNDS, "out of bounds memory access"),
        (hostile::LYING_POINTER, "out of bounds"),
        (hostile::LYING_CASE, "discriminant"),
        (hostile::INVALID_UTF8, "utf-8"),
    ] {
        match misbehave(misbehaving(misbehavior), "") {
            Fault::Trap { reason } => assert!(reason.contains(says), "{misbehavior}: {reason}"),
            other => panic!("{misbehavior}: {other:?}"),
        }
    }
}

#[test]
fn a_result_above_the_limit_is_refused() {
    let huge = misbehave(misbehaving(hostile::HUGE_OUTPUT), "");
    assert_eq!(
        huge,
        Fault::OutputTooLarge {
            used_bytes: None,
            allowed_mib: 64
        }
    );
    let large = misbehave(
        misbehaving(hostile::LARGE_OUTPUT),
        "limits = { output_mib = 1 }",
    );
    assert_eq!(
        large,
        Fault::OutputTooLarge {
            used_bytes: Some(1_048_577),
            allowed_mib: 1
        }
    );
}

#[test]
fn a_page_above_the_limit_is_not_copied() {
    let guest = Guest::echo_format("small");
    let folder = PluginFolder::of(&[]);
    folder.put(&guest);
    folder.manifest(&entry(&guest, "limits = { input_mib = 1 }"));
    let plugins = folder.start().unwrap();
    let page = "x".repeat(1 << 20);
    assert!(matches!(
        fault(render(&plugins, "small", &page, "{}")),
        Fault::InputTooLarge {
            used_bytes: 1_048_577..,
            allowed_mib: 1
        }
    ));
}

#[test]
fn failures_keep_the_plugins_message() {
    for (case, says) in [
        (0, "format `bad` refuses its options: page"),
        (1, "format `bad` cannot handle this page: page"),
        (2, "format `bad` failed: page"),
    ] {
        let answer = format!(
            "(return (call $fail (i32.const {case}) (i32.load offset=124 (local.get $args)) (i32.load offset=128 (local.get $args))))"
        );
        let plugins = PluginFolder::of(&[misbehaving(&answer)]).start().unwrap();
        let error = render(&plugins, "bad", "page", MISBEHAVE).unwrap_err();
        assert_eq!(error.to_string(), says);
        assert!(!error.fault.is_trap());
    }
}

#[test]
fn results_that_violate_the_contract_are_faults() {
    let filter = Guest::keeping_filter("mask").when_asked(hostile::LYING_MASK);
    let extractor = Guest::echo_extractor("json").when_asked(hostile::NOT_JSON);
    let spans = [(0, 99), (3, 1), (1, 2), (u32::MAX, u32::MAX)];
    let chunkers = spans.map(|(start, end)| {
        let misbehavior = hostile::lying_span(start, end);
        Guest::whole_chunker(&format!("span_{}_{}", start % 1000, end % 1000))
            .when_asked(&misbehavior)
    });
    let guests: Vec<_> = [filter, extractor].into_iter().chain(chunkers).collect();
    let plugins = PluginFolder::of(&guests).start().unwrap();
    let registry = plugins.snapshot();
    let page = document("x");

    let mask = registry.filter("mask").unwrap();
    assert!(matches!(
        mask.keep(&view(&page), MISBEHAVE).unwrap_err().fault,
        Fault::Lied(_)
    ));
    assert!(mask.keep(&view(&page), "{}").is_ok());
    let json = registry.extractor("json").unwrap();
    assert!(matches!(
        json.extract(&view(&page), MISBEHAVE).unwrap_err().fault,
        Fault::Lied(_)
    ));
    assert!(json.extract(&view(&page), "{}").is_ok());
    for guest in &guests[2..] {
        let chunker = registry.chunker(&guest.name).unwrap();
        let lie = chunker.chunk("aüb", MISBEHAVE);
        assert!(
            matches!(lie.unwrap_err().fault, Fault::Lied(_)),
            "{}",
            guest.name
        );
        assert_eq!(chunker.chunk("aüb", "{}").unwrap(), vec![0..4]);
    }
}

#[test]
fn a_component_with_wasi_has_a_fixed_clock_and_cannot_sleep() {
    let plugins = PluginFolder::of(&[hostile::sleeper("sleepy")])
        .start()
        .unwrap();
    let first = text(render(&plugins, "sleepy", "", "{}"));
    assert_eq!(text(render(&plugins, "sleepy", "", "{}")), first);
    let started = Instant::now();
    match fault(render(&plugins, "sleepy", "", MISBEHAVE)) {
        Fault::Trap { reason } => assert!(reason.contains("may not wait"), "{reason}"),
        other => panic!("{other:?}"),
    }
    assert!(started.elapsed() < Duration::from_secs(10));
    assert_eq!(text(render(&plugins, "sleepy", "", "{}")), first);
}

#[test]
fn concurrent_faults_do_not_affect_other_calls() {
    let good = Guest::echo_format("good");
    let bad = misbehaving(hostile::ENDLESS_LOOP);
    let folder = PluginFolder::of(&[]);
    folder.put(&good);
    folder.put(&bad);
    folder.manifest(&(entry(&good, "") + &entry(&bad, "limits = { time_ms = 100 }")));
    let plugins = folder.start().unwrap();
    std::thread::scope(|scope| {
        for _ in 0..4 {
            scope.spawn(|| {
                assert!(matches!(
                    fault(render(&plugins, "bad", "page", MISBEHAVE)),
                    Fault::OutOfTime { .. }
                ))
            });
            scope.spawn(|| {
                for _ in 0..200 {
                    assert_eq!(text(render(&plugins, "good", "page", "{}")), "page");
                }
            });
        }
    });
}
