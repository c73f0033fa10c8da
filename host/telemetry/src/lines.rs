//! The last lines of the log, kept in memory to be searched. Decision D531.

use std::collections::VecDeque;
use std::io::{self, Write};
use std::sync::{Mutex, MutexGuard, PoisonError};

use trawl_model::clock::{Clock, Timestamp};

/// Lines that are kept.
const LINES_MAX: usize = 20_000;
/// Bytes of the lines that are kept.
const BYTES_MAX: usize = 8 << 20;
/// Bytes of one line; the rest of it is not kept.
const LINE_BYTES_MAX: usize = 8 << 10;

/// The lines of the process.
static LINES: Mutex<Lines> = Mutex::new(Lines::new());

/// A line of the log.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct LogLine {
    /// When it was written.
    pub at: Timestamp,
    /// Its text: a JSON object, unless the log is written to a terminal.
    pub text: String,
}

/// The lines that contain a text, newest first: at most `count_max`, and how many there are.
pub fn log_lines(text: &str, count_max: usize) -> (Vec<LogLine>, usize) {
    lines().find(text, count_max)
}

fn lines() -> MutexGuard<'static, Lines> {
    LINES.lock().unwrap_or_else(PoisonError::into_inner)
}

/// Keeps each piece of text, which is one line of the log, and writes it.
pub(crate) struct Kept<W>(pub(crate) W);

impl<W: Write> Write for Kept<W> {
    fn write(&mut self, line: &[u8]) -> io::Result<usize> {
        lines().add(Clock::wall().now(), &String::from_utf8_lossy(line));
        self.0.write_all(line)?;
        Ok(line.len())
    }

    fn flush(&mut self) -> io::Result<()> {
        self.0.flush()
    }
}

/// The lines that are kept, oldest first.
#[derive(Debug)]
struct Lines {
    lines: VecDeque<LogLine>,
    n_bytes: usize,
}

impl Lines {
    const fn new() -> Self {
        Self {
            lines: VecDeque::new(),
            n_bytes: 0,
        }
    }

    /// Adds a line, in place of the oldest ones if there are too many.
    fn add(&mut self, at: Timestamp, line: &str) {
        let end = line.floor_char_boundary(LINE_BYTES_MAX);
        let text = without_colours(line[..end].trim_end());
        self.n_bytes += text.len();
        self.lines.push_back(LogLine { at, text });
        while self.lines.len() > LINES_MAX || self.n_bytes > BYTES_MAX {
            let Some(oldest) = self.lines.pop_front() else {
                break;
            };
            self.n_bytes -= oldest.text.len();
        }
    }

    fn find(&self, text: &str, count_max: usize) -> (Vec<LogLine>, usize) {
        let newest_first = self.lines.iter().rev();
        let found: Vec<&LogLine> = newest_first
            .filter(|line| line.text.contains(text))
            .collect();
        let shown = found.iter().take(count_max).copied().cloned();
        (shown.collect(), found.len())
    }
}

/// A line without the codes that colour it on a terminal: `ESC [ … m`.
fn without_colours(line: &str) -> String {
    let mut parts = line.split("\x1b[");
    let mut text = parts.next().unwrap_or_default().to_owned();
    for part in parts {
        let is_code = |code: &str| {
            code.bytes()
                .all(|byte| byte == b';' || byte.is_ascii_digit())
        };
        match part.split_once('m') {
            Some((code, rest)) if is_code(code) => text.push_str(rest),
            _ => text.push_str(part),
        }
    }
    text
}

#[cfg(test)]
mod tests {
    use super::*;

    fn texts(lines: &Lines, text: &str, count_max: usize) -> (Vec<String>, usize) {
        let (found, count) = lines.find(text, count_max);
        (found.into_iter().map(|line| line.text).collect(), count)
    }

    #[test]
    fn lines_are_found_by_what_they_contain() {
        let mut lines = Lines::new();
        for n in 0..5 {
            let line = format!("{{\"request_id\":\"r{}\",\"n\":{n}}}\n", n % 2);
            lines.add(Timestamp(n), &line);
        }
        let line = |n| format!("{{\"request_id\":\"r0\",\"n\":{n}}}");
        assert_eq!(texts(&lines, "\"r0\"", 2), (vec![line(4), line(2)], 3));
        assert_eq!(texts(&lines, "r9", 2), (vec![], 0));
        assert_eq!(texts(&lines, "", 9).1, 5);
    }

    #[test]
    fn the_oldest_lines_go_first() {
        let mut lines = Lines::new();
        for n in 0..=LINES_MAX {
            lines.add(Timestamp(0), &format!("line {n}."));
        }
        assert_eq!(lines.lines.len(), LINES_MAX);
        assert_eq!(texts(&lines, "line 0.", 1).1, 0);
        let long = "é".repeat(LINE_BYTES_MAX);
        for _ in 0..2_000 {
            lines.add(Timestamp(0), &long);
        }
        assert!(lines.n_bytes <= BYTES_MAX, "{} bytes", lines.n_bytes);
        let kept: usize = lines.lines.iter().map(|line| line.text.len()).sum();
        assert_eq!(kept, lines.n_bytes);
        assert!(
            lines
                .lines
                .iter()
                .all(|line| line.text.len() <= LINE_BYTES_MAX)
        );
    }

    #[test]
    fn colours_are_left_out() {
        assert_eq!(
            without_colours("\x1b[32m INFO\x1b[0m a [1m b"),
            " INFO a [1m b"
        );
        assert_eq!(without_colours("\x1b[1;2mx\x1b[ym"), "xym");
    }

    #[test]
    fn a_line_is_kept_even_if_it_cannot_be_written() {
        struct Full;
        impl Write for Full {
            fn write(&mut self, _: &[u8]) -> io::Result<usize> {
                Err(io::ErrorKind::StorageFull.into())
            }
            fn flush(&mut self) -> io::Result<()> {
                Ok(())
            }
        }
        let line = "the line of a full disk 7f2c\n";
        Kept(Full).write_all(line.as_bytes()).expect_err("full");
        let (found, count) = log_lines("full disk 7f2c", 5);
        assert_eq!((found[0].text.as_str(), count), (line.trim_end(), 1));
    }
}
