//! The fenced blocks of a page.

use std::path::{Path, PathBuf};

/// A fenced block.
pub(super) struct Block {
    /// Page and line, for messages.
    pub(super) place: String,
    /// What follows the opening fence: `sh`, `json`.
    pub(super) language: String,
    /// The lines between the fences.
    pub(super) text: String,
    /// Why it is not run.
    pub(super) not_run: Option<String>,
}

/// The repository.
pub(super) fn root() -> PathBuf {
    let root = Path::new(env!("CARGO_MANIFEST_DIR")).join("..");
    root.canonicalize().expect("the checkout")
}

/// The text of a page of the repository.
pub(super) fn read(page: &str) -> String {
    std::fs::read_to_string(root().join(page)).expect("a page")
}

/// The blocks of a page, in their order.
///
/// # Panics
/// When a reason not to run a block is not directly above one, or is too short to be a reason.
pub(super) fn of(page: &str) -> Vec<Block> {
    let mut blocks = Vec::new();
    let mut open: Option<Block> = None;
    let mut not_run = None;
    for (index, line) in read(page).lines().enumerate() {
        let place = format!("{page}:{}", index + 1);
        let fence = line.strip_prefix("```");
        if let Some(mut block) = open.take() {
            if fence.is_some() {
                blocks.push(block);
                continue;
            }
            block.text += line;
            block.text.push('\n');
            open = Some(block);
        } else if let Some(language) = fence {
            open = Some(Block {
                place,
                language: language.to_owned(),
                text: String::new(),
                not_run: not_run.take(),
            });
        } else {
            assert!(not_run.is_none(), "{place}: a reason without a block");
            not_run = reason(&place, line);
        }
    }
    assert!(open.is_none(), "{page}: a block without an end");
    assert!(not_run.is_none(), "{page}: a reason without a block");
    blocks
}

/// The reason in `<!-- not run: REASON -->`.
fn reason(place: &str, line: &str) -> Option<String> {
    let comment = line.strip_prefix("<!-- not run")?;
    let reason = comment.strip_prefix(": ");
    let reason = reason.and_then(|reason| reason.strip_suffix(" -->"));
    let reason = reason.filter(|reason| reason.len() > 20);
    assert!(
        reason.is_some(),
        "{place}: write `<!-- not run: REASON -->`"
    );
    reason.map(str::to_owned)
}
