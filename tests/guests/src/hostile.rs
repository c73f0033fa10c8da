//! Every way a plugin can misbehave, as WebAssembly text for [`Guest::when_asked`] or as a complete
//! component.

use super::{Guest, Imports};

/// Loops forever.
pub const ENDLESS_LOOP: &str = "(loop $again (br $again))";
/// Allocates memory until none is left, then traps like an allocator.
pub const MEMORY_GRAB: &str =
    "(loop $again (br_if $again (i32.ne (memory.grow (i32.const 16)) (i32.const -1)))) unreachable";
/// Traps.
pub const TRAP: &str = "unreachable";
/// Reads out of bounds.
pub const OUT_OF_BOUNDS: &str = "(drop (i32.load (i32.const 0x7fffffff)))";
/// Returns a text outside its memory from a format.
pub const LYING_POINTER: &str = "(return (call $ok_text (i32.const 0x7ffffff0) (i32.const 64)))";
/// Returns an output variant that does not exist from a format.
pub const LYING_CASE: &str = "(drop (call $ok_text (i32.const 0) (i32.const 0))) (i32.store8 (i32.const 20) (i32.const 77)) (return (i32.const 16))";
/// Returns invalid UTF-8 from a format.
pub const INVALID_UTF8: &str = "(i32.store (i32.const 512) (i32.const 0xc0ffeeff)) (return (call $ok_text (i32.const 512) (i32.const 4)))";
/// Returns 100 MiB of text from a format.
pub const HUGE_OUTPUT: &str = "(drop (memory.grow (i32.const 1600))) (return (call $ok_text (i32.const 65536) (i32.const 104857600)))";
/// Returns slightly more than 1 MiB of text from a format.
pub const LARGE_OUTPUT: &str = "(drop (memory.grow (i32.const 32))) (return (call $ok_text (i32.const 131072) (i32.const 1048577)))";
/// Returns a mask of 1000 bytes from a filter.
pub const LYING_MASK: &str = "(return (call $ok (i32.const 65536) (i32.const 1000)))";
/// Returns invalid JSON from an extractor.
pub const NOT_JSON: &str = "(i32.store (i32.const 512) (i32.const 0x7d7d7d7b)) (return (call $ok (i32.const 512) (i32.const 4)))";

/// Returns invalid JSON from an analyst.
pub const ANSWER_NOT_JSON: &str = "(i32.store (i32.const 512) (i32.const 0x7d7d7d7b)) (return (call $done (i32.const 512) (i32.const 4)))";
/// Asks a question with a memo of slightly more than 1 MiB.
pub const HUGE_MEMO: &str = "(drop (memory.grow (i32.const 32))) (return (call $ask (i32.const 131072) (i32.const 1048577)))";
/// Asks a question.
pub const ASK: &str = "(return (call $ask (i32.const 864) (i32.const 4)))";
/// Asks a question whose schema is invalid JSON.
pub const LYING_SCHEMA: &str = "(i32.store (i32.const 800) (i32.const 0x7d7d7d7b)) (return (call $ask (i32.const 864) (i32.const 4)))";
/// Asks a question without messages.
pub const NO_MESSAGE: &str = "(drop (call $ask (i32.const 864) (i32.const 4))) (i32.store (i32.const 28) (i32.const 0)) (return (i32.const 16))";
/// Asks a question of slightly more than 1 MiB.
pub const HUGE_QUESTION: &str = "(drop (memory.grow (i32.const 32))) (drop (call $ask (i32.const 864) (i32.const 4))) \
     (i32.store (i32.const 772) (i32.const 131072)) (i32.store (i32.const 776) (i32.const 1048577)) (return (i32.const 16))";

/// Returns this one span from a chunker.
pub fn lying_span(start: u32, end: u32) -> String {
    format!(
        "(i32.store (i32.const 256) (i32.const {start})) (i32.store (i32.const 260) (i32.const {end})) \
         (return (call $ok (i32.const 256) (i32.const 1)))"
    )
}

/// A format that recurses forever when called with options.
pub fn deep_recursion(name: &str) -> Guest {
    let mut guest = Guest::echo_format(name).when_asked("(drop (call $deeper (i32.const 1)))");
    guest.extra = "(func $deeper (param $n i32) (result i32) \
         (i32.add (call $deeper (i32.add (local.get $n) (i32.const 1))) (local.get $n)))"
        .to_owned();
    guest
}

/// A format whose `describe` traps.
pub fn trap_in_describe(name: &str) -> Guest {
    let mut guest = Guest::echo_format(name);
    guest.on_describe = TRAP.to_owned();
    guest
}

/// A format whose `describe` loops forever.
pub fn loop_in_describe(name: &str) -> Guest {
    let mut guest = Guest::echo_format(name);
    guest.on_describe = ENDLESS_LOOP.to_owned();
    guest
}

/// A format built for a version of the contract that does not exist yet.
pub fn from_the_future(name: &str) -> Guest {
    let mut guest = Guest::echo_format(name);
    guest.contract = "9.0.0";
    guest
}

/// A format with an import that the host does not provide.
pub fn unknown_import(name: &str) -> Guest {
    let mut guest = Guest::echo_format(name).when_asked("(drop (call $get (i32.const 1)))");
    guest.core_imports =
        r#"(import "acme:net/fetch@1.0.0" "get" (func $get (param i32) (result i32)))"#.to_owned();
    guest.imports = Imports {
        packages: vec![
            "package acme:net@1.0.0; interface fetch { get: func(n: u32) -> u32; }".to_owned(),
        ],
        interfaces: vec!["acme:net/fetch@1.0.0".to_owned()],
    };
    guest
}

/// A format that imports WASI: it returns the low byte of the wall clock and a random byte, and
/// sleeps for an hour when called with options.
pub fn sleeper(name: &str) -> Guest {
    let mut guest = Guest::new(
        "format",
        name,
        "(call $wall_clock (i32.const 512)) \
         (i32.store8 (i32.const 512) (i32.or (i32.const 64) (i32.and (i32.const 31) (i32.load8_u (i32.const 512))))) \
         (i32.store8 (i32.const 513) (i32.or (i32.const 64) (i32.and (i32.const 31) (i32.wrap_i64 (call $random))))) \
         (call $ok_text (i32.const 512) (i32.const 2))",
    )
    .when_asked("(call $block (call $subscribe (i64.const 3600000000000)))");
    guest.core_imports = r#"
  (import "wasi:clocks/wall-clock@0.2.0" "now" (func $wall_clock (param i32)))
  (import "wasi:clocks/monotonic-clock@0.2.0" "subscribe-duration" (func $subscribe (param i64) (result i32)))
  (import "wasi:io/poll@0.2.0" "[method]pollable.block" (func $block (param i32)))
  (import "wasi:random/random@0.2.0" "get-random-u64" (func $random (result i64)))"#
        .to_owned();
    guest.imports = Imports {
        packages: vec![
            "package wasi:io@0.2.0; interface poll { resource pollable { block: func(); } }".to_owned(),
            "package wasi:clocks@0.2.0; \
             interface wall-clock { record datetime { seconds: u64, nanoseconds: u32 } now: func() -> datetime; } \
             interface monotonic-clock { use wasi:io/poll@0.2.0.{pollable}; subscribe-duration: func(when: u64) -> pollable; }"
                .to_owned(),
            "package wasi:random@0.2.0; interface random { get-random-u64: func() -> u64; }".to_owned(),
        ],
        interfaces: [
            "wasi:io/poll@0.2.0",
            "wasi:clocks/wall-clock@0.2.0",
            "wasi:clocks/monotonic-clock@0.2.0",
            "wasi:random/random@0.2.0",
        ]
        .map(str::to_owned)
        .to_vec(),
    };
    guest
}
