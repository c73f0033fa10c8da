//! Limits the size of the answer.

use std::io;

use serde_json::{Map, Value};

/// Maximum size of the answer as JSON, in bytes.
pub(crate) const OUTPUT_BYTES_MAX: usize = 8 << 20;

/// Sources with independent entries, which can be dropped one by one.
const LOOSE: [&str; 2] = ["window_state", "other_scripts"];

/// Drops the largest sources until the answer fits into `bytes_max`. Values are never truncated.
pub(crate) fn cap(found: &mut Map<String, Value>, bytes_max: usize) {
    let mut total: usize = found
        .iter()
        .map(|(name, value)| entry_bytes(name, value))
        .sum();
    if total <= bytes_max {
        return;
    }
    for source in LOOSE {
        let excess = total.saturating_sub(bytes_max);
        if let Some(value) = found.get_mut(source) {
            total -= drop_parts(value, excess, bytes_max);
        }
    }
    let mut by_size: Vec<(usize, String)> = found
        .iter()
        .map(|(name, value)| (entry_bytes(name, value), name.clone()))
        .collect();
    by_size.sort_unstable();
    while total > bytes_max
        && let Some((bytes, name)) = by_size.pop()
    {
        found.remove(&name);
        total -= bytes;
    }
}

/// Drops entries so large that nothing else would fit next to them; returns the number of bytes
/// dropped.
fn drop_parts(value: &mut Value, excess: usize, bytes_max: usize) -> usize {
    let mut dropped = 0;
    let mut stays = |part: &Value| {
        let bytes = json_bytes(part);
        let goes = dropped < excess && bytes > bytes_max / 2;
        dropped += if goes { bytes } else { 0 };
        !goes
    };
    match value {
        Value::Array(parts) => parts.retain(|part| stays(part)),
        Value::Object(parts) => parts.retain(|_, part| stays(part)),
        _ => {}
    }
    dropped
}

/// Size of an entry as JSON, including name, quotes, colon and comma.
fn entry_bytes(name: &str, value: &Value) -> usize {
    name.len() + 4 + json_bytes(value)
}

fn json_bytes(value: &Value) -> usize {
    let mut counter = Counter(0);
    // Writing into a counter cannot fail, and all keys are strings.
    let _ = serde_json::to_writer(&mut counter, value);
    counter.0
}

/// Counts the bytes written.
struct Counter(usize);

impl io::Write for Counter {
    fn write(&mut self, bytes: &[u8]) -> io::Result<usize> {
        self.0 += bytes.len();
        Ok(bytes.len())
    }

    fn flush(&mut self) -> io::Result<()> {
        Ok(())
    }
}

#[cfg(test)]
mod tests {
    use super::cap;
    use serde_json::{Map, Value, json};

    #[track_caller]
    fn check(found: Value, bytes_max: usize, expected: &[&str]) -> Map<String, Value> {
        let Value::Object(mut found) = found else {
            panic!("an answer is an object");
        };
        cap(&mut found, bytes_max);
        assert_eq!(found.keys().collect::<Vec<_>>(), expected);
        found
    }

    #[test]
    fn the_largest_sources_go_first() {
        let found = json!({"a": "x".repeat(50), "b": "x".repeat(100), "c": "x".repeat(20)});
        check(found.clone(), 1000, &["a", "b", "c"]);
        check(found.clone(), 100, &["a", "c"]);
        check(found, 10, &[]);
    }

    #[test]
    fn one_large_assignment_does_not_take_the_others_with_it() {
        let found = json!({"window_state": {"a": "x".repeat(200), "b": 1}, "json_ld": [1]});
        let found = check(found, 100, &["json_ld", "window_state"]);
        assert_eq!(found["window_state"], json!({"b": 1}));
    }
}
