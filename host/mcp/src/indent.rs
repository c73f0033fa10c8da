//! JSON as people read it, within a bound.

use std::io::{self, Write};

use serde_json::Value;

/// How many times as long a text becomes by its indents at most. Each value of a deep list has a
/// line of its own with hundreds of blanks.
const GROWTH_MAX: usize = 2;
/// Bytes that indents may always add.
const INDENTS_BYTES_MIN: usize = 256;

/// A value as JSON: indented, or in one line if indents would make it much longer.
pub(crate) fn indented(value: &Value) -> String {
    let line = value.to_string();
    let mut text = BoundedText {
        bytes: Vec::new(),
        bytes_max: GROWTH_MAX * line.len() + INDENTS_BYTES_MIN,
    };
    match serde_json::to_writer_pretty(&mut text, value) {
        Ok(()) => String::from_utf8(text.bytes).unwrap_or(line),
        Err(_too_long) => line,
    }
}

/// A text that does not grow beyond a number of bytes.
struct BoundedText {
    bytes: Vec<u8>,
    bytes_max: usize,
}

impl Write for BoundedText {
    fn write(&mut self, part: &[u8]) -> io::Result<usize> {
        if self.bytes.len() + part.len() > self.bytes_max {
            return Err(io::ErrorKind::FileTooLarge.into());
        }
        self.bytes.extend_from_slice(part);
        Ok(part.len())
    }

    fn flush(&mut self) -> io::Result<()> {
        Ok(())
    }
}

#[cfg(test)]
mod tests {
    use serde_json::json;

    use super::*;

    #[test]
    fn a_value_is_indented() {
        assert_eq!(indented(&json!({"a": 1})), "{\n  \"a\": 1\n}");
        assert_eq!(indented(&json!([])), "[]");
    }

    #[test]
    fn a_deep_list_is_a_line() {
        let mut deep = json!(vec![1; 10_000]);
        for _ in 0..100 {
            deep = json!([deep]);
        }
        let text = indented(&deep);
        assert_eq!(text, deep.to_string());
        assert!(text.len() < 30_000, "{}", text.len());
    }
}
