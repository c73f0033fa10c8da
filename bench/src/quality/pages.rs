//! Pages with a checked main content.

use std::io::Read;
use std::path::Path;

use anyhow::{Context, ensure};
use flate2::read::GzDecoder;
use serde_json::Value;

/// One page and what people found to be its content.
pub(super) struct Page {
    /// Address it had on the web.
    pub(super) url: String,
    /// Its HTML in UTF-8.
    pub(super) body: Vec<u8>,
    /// Article, forum, product ...
    pub(super) kind: String,
    /// Its main content as text.
    pub(super) main_content: String,
}

/// The pages of the development part, by file name.
pub(super) fn load(data: &Path) -> anyhow::Result<Vec<Page>> {
    let truths = data.join("dev/ground-truth");
    let entries = std::fs::read_dir(&truths)
        .with_context(|| format!("`{}` is no checkout of the benchmark", data.display()))?;
    let mut files = Vec::new();
    for entry in entries {
        files.push(entry?.path());
    }
    files.sort();
    ensure!(!files.is_empty(), "`{}` is empty", truths.display());
    files.iter().map(|file| page(data, file)).collect()
}

fn page(data: &Path, truth: &Path) -> anyhow::Result<Page> {
    let id = truth
        .file_stem()
        .unwrap_or_default()
        .to_string_lossy()
        .into_owned();
    let told: Value = serde_json::from_slice(&std::fs::read(truth)?)?;
    let packed = std::fs::File::open(data.join(format!("dev/html/{id}.html.gz")))?;
    let mut body = Vec::new();
    GzDecoder::new(packed).read_to_end(&mut body)?;
    let text = |value: &Value| value.as_str().unwrap_or_default().to_owned();
    let kind = match told["_internal"]["page_type"]["primary"].as_str() {
        Some("category") => "collection".to_owned(),
        kind => kind.unwrap_or("article").to_owned(),
    };
    Ok(Page {
        url: text(&told["url"]),
        body,
        kind,
        main_content: text(&told["ground_truth"]["main_content"]),
    })
}
