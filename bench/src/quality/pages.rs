//! The pages of the Web Content Extraction Benchmark with their annotated main content.

use std::collections::HashSet;
use std::io::Read;
use std::path::{Path, PathBuf};

use anyhow::{Context, ensure};
use flate2::read::GzDecoder;
use serde_json::Value;

/// One page and its ground truth.
pub(super) struct Page {
    /// Original URL.
    pub(super) url: String,
    /// HTML in UTF-8.
    pub(super) body: Vec<u8>,
    /// Kind of page: article, forum, product, …
    pub(super) kind: String,
    /// Annotated main content as plain text.
    pub(super) main_content: String,
}

/// Loads the development split without the pages that a file names, sorted by file name.
pub(super) fn load(data: &Path, without: Option<&Path>) -> anyhow::Result<Vec<Page>> {
    let truths = data.join("dev/ground-truth");
    let entries = std::fs::read_dir(&truths)
        .with_context(|| format!("`{}` is not a checkout of the benchmark", data.display()))?;
    let mut files = Vec::new();
    for entry in entries {
        files.push(entry?.path());
    }
    files.sort();
    if let Some(list) = without {
        let list = std::fs::read_to_string(list)
            .with_context(|| format!("cannot read `{}`", list.display()))?;
        leave_out(&mut files, &list);
    }
    ensure!(!files.is_empty(), "`{}` has no files", truths.display());
    files.iter().map(|file| page(data, file)).collect()
}

/// Leaves out the files whose name is on a line of the list, with any ending or none.
fn leave_out(files: &mut Vec<PathBuf>, list: &str) {
    let stem = |name: &str| name.split('.').next().unwrap_or_default().to_owned();
    let names: HashSet<String> = list.lines().map(|line| stem(line.trim())).collect();
    files.retain(|file| {
        let name = file.file_name().unwrap_or_default().to_string_lossy();
        !names.contains(&stem(&name))
    });
}

fn page(data: &Path, truth: &Path) -> anyhow::Result<Page> {
    let id = truth
        .file_stem()
        .unwrap_or_default()
        .to_string_lossy()
        .into_owned();
    let annotation: Value = serde_json::from_slice(&std::fs::read(truth)?)?;
    let compressed = std::fs::File::open(data.join(format!("dev/html/{id}.html.gz")))?;
    let mut body = Vec::new();
    GzDecoder::new(compressed).read_to_end(&mut body)?;
    let text = |value: &Value| value.as_str().unwrap_or_default().to_owned();
    let kind = match annotation["_internal"]["page_type"]["primary"].as_str() {
        Some("category") => "collection".to_owned(),
        kind => kind.unwrap_or("article").to_owned(),
    };
    Ok(Page {
        url: text(&annotation["url"]),
        body,
        kind,
        main_content: text(&annotation["ground_truth"]["main_content"]),
    })
}

#[cfg(test)]
mod tests {
    use std::path::PathBuf;

    use super::leave_out;

    #[test]
    fn listed_pages_are_left_out() {
        let mut files = ["t/0001.json", "t/0002.json", "t/0010.json"]
            .map(PathBuf::from)
            .to_vec();
        leave_out(&mut files, "0001.html\n 0010\n\n");
        assert_eq!(files, [PathBuf::from("t/0002.json")]);
    }
}
