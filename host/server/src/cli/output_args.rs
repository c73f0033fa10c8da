//! Options for the output of commands that print one page.

use std::path::PathBuf;

use anyhow::{Context, bail};
use clap::Args;
use serde_json::{Value, json};

use trawl_model::outcome::PageOutcome;
use trawl_model::{Content, Piece};

/// Format and fields of the output.
#[derive(Debug, Args)]
pub(super) struct OutputArgs {
    /// Format of the content: markdown, html, text, bytes, xml, empty, screenshot (PNG), or a
    /// format plugin.
    #[arg(long, default_value = "markdown")]
    pub(super) format: String,
    /// Main content only: no navigation, advertisements or related links.
    #[arg(long)]
    readability: bool,
    /// Only the elements that match this CSS selector.
    #[arg(long, value_name = "CSS")]
    root_selector: Option<String>,
    /// Without the elements that match this CSS selector.
    #[arg(long, value_name = "CSS")]
    exclude_selector: Option<String>,
    /// JSON file with a selector map, in one of the two shapes of `css_extraction_map`; prints
    /// JSON.
    #[arg(long, value_name = "FILE")]
    selectors: Option<PathBuf>,
    /// Add structured data and framework state; prints JSON.
    #[arg(long)]
    json_data: bool,
    /// Add metadata; prints JSON.
    #[arg(long)]
    metadata: bool,
    /// Add the links; prints JSON.
    #[arg(long)]
    links: bool,
    /// Add the text that the page hides from readers; prints JSON.
    #[arg(long)]
    hidden_text: bool,
    /// Print the complete page entry as JSON instead of its content.
    #[arg(long)]
    json: bool,
}

impl OutputArgs {
    /// Whether the page entry is printed, as fields need.
    pub(super) fn prints_entry(&self) -> bool {
        let adds_fields = self.json_data || self.metadata || self.links || self.hidden_text;
        self.json || adds_fields || self.selectors.is_some()
    }

    /// The request parameters for this output.
    ///
    /// # Errors
    /// The file of the selector map cannot be read or is not JSON.
    pub(super) fn request(&self) -> anyhow::Result<Value> {
        Ok(json!({
            "return_format": self.format,
            "readability": self.readability,
            "root_selector": self.root_selector,
            "exclude_selector": self.exclude_selector,
            "css_extraction_map": self.selectors.as_ref().map(selector_map).transpose()?,
            "return_json_data": self.json_data,
            "metadata": self.metadata,
            "return_page_links": self.links,
            "return_hidden_text": self.hidden_text,
        }))
    }

    /// Prints a page.
    ///
    /// # Errors
    /// The page failed, or its content consists of several parts.
    pub(super) fn print(&self, outcome: PageOutcome) -> anyhow::Result<()> {
        if self.prints_entry() {
            let mut entry = Vec::new();
            trawl_wire::write_entry(&outcome, &mut entry);
            entry.push(b'\n');
            return Ok(super::print_bytes(&entry)?);
        }
        if let Some(error) = outcome.error {
            bail!("{}: {error} (status {})", outcome.url, outcome.status);
        }
        let text = match &outcome.content {
            Content::One(piece) => piece.text(),
            Content::ByFormat(_) => None,
        };
        match (&outcome.content, text) {
            (Content::One(Piece::Bytes(bytes)), _) => super::print_bytes(bytes),
            (_, Some(text)) => super::print_bytes(text.as_bytes()),
            _ => bail!("the content has several parts; print it with `--json`"),
        }
        .context("cannot write the content")
    }
}

fn selector_map(file: &PathBuf) -> anyhow::Result<Value> {
    let context = || format!("cannot read the selectors in `{}`", file.display());
    let text = std::fs::read_to_string(file).with_context(context)?;
    serde_json::from_str(&text).with_context(context)
}
