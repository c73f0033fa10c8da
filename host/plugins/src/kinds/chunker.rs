//! Chunkers: split content into pieces.

use std::ops::Range;

use serde_json::Value;

use crate::call::plugin::{Core, Measured};
use crate::call::trial;
use crate::error::{Fault, PluginError};
use crate::info::PluginInfo;

/// A chunker behind one version of the contract. Spans are byte offsets, unchecked.
pub(crate) trait Chunk: Send + Sync {
    fn chunk(&self, text: &str, options: &str) -> Measured<Vec<(u32, u32)>>;
}

/// A loaded chunker.
pub struct ChunkerPlugin {
    pub(crate) core: Core,
    pub(crate) backend: Box<dyn Chunk>,
}

impl ChunkerPlugin {
    /// Splits `text` into byte ranges: ascending, without overlap, at character boundaries.
    ///
    /// # Errors
    /// [`PluginError`] when the plugin fails, misbehaves or exceeds a limit, or returns invalid
    /// spans.
    pub fn chunk(&self, text: &str, options: &str) -> Result<Vec<Range<usize>>, PluginError> {
        self.core.run(
            (text.len() + options.len()) as u64,
            || self.backend.chunk(text, options),
            |spans| {
                self.core
                    .check_output(spans.len() * size_of::<(u32, u32)>())?;
                checked_spans(&spans, text)
            },
        )
    }

    /// Its description and limits.
    pub fn info(&self) -> &PluginInfo {
        &self.core.info
    }

    /// Validates options against the plugin's schema, then with a trial call unless they are empty.
    /// Call it on a thread that may block.
    ///
    /// # Errors
    /// A message with what is wrong, and where.
    pub fn check_options(&self, options: &Value) -> Result<(), String> {
        self.core.check_options(options)?;
        trial::check(options, |_, options| self.chunk("", options))
    }
}

fn checked_spans(spans: &[(u32, u32)], text: &str) -> Result<Vec<Range<usize>>, Fault> {
    let mut free_from = 0;
    let check = |&(start, end): &(u32, u32)| {
        let (start, end) = (start as usize, end as usize);
        let problem = if start > end {
            "ends before it begins"
        } else if start < free_from {
            "overlaps the one before"
        } else if end > text.len() {
            "reaches past the text"
        } else if !text.is_char_boundary(start) || !text.is_char_boundary(end) {
            "cuts a character"
        } else {
            free_from = end;
            return Ok(start..end);
        };
        Err(Fault::Lied(format!("the span {start}..{end} {problem}")))
    };
    spans.iter().map(check).collect()
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn ascending_spans_are_accepted() {
        assert_eq!(
            checked_spans(&[(0, 3), (3, 3), (4, 6)], "aübc d"),
            Ok(vec![0..3, 3..3, 4..6])
        );
        assert_eq!(checked_spans(&[], ""), Ok(vec![]));
    }

    #[test]
    fn invalid_spans_are_named() {
        let check = |spans: &[(u32, u32)]| match checked_spans(spans, "aübc") {
            Err(Fault::Lied(reason)) => reason,
            other => panic!("accepted: {other:?}"),
        };
        assert!(check(&[(3, 1)]).contains("ends before it begins"));
        assert!(check(&[(0, 3), (1, 4)]).contains("overlaps"));
        assert!(check(&[(0, 99)]).contains("reaches past"));
        assert!(check(&[(u32::MAX, u32::MAX)]).contains("reaches past"));
        assert!(check(&[(2, 3)]).contains("cuts a character"));
    }
}
