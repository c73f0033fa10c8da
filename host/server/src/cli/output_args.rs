//! Options of the commands that make something of one page: what to make of it.

use std::path::PathBuf;

use anyhow::{Context, bail};
use clap::Args;
use serde_json::{Value, json};
use trawl_engine::page::PageOutcome;
use trawl_model::{Content, Piece};

/// What to make of a page, and how to print it.
#[derive(Debug, Args)]
pub(super) struct OutputArgs {
    /// Format of the content: markdown, html, text, bytes, xml, empty, screenshot (a PNG file), or one that plugins.toml loads.
    #[arg(long, default_value = "markdown")]
    pub(super) format: String,
    /// The main body only: no navigation, advertisements or related links.
    #[arg(long)]
    readability: bool,
    /// CSS selector: keep only this part.
    #[arg(long, value_name = "CSS")]
    root_selector: Option<String>,
    /// CSS selector: drop these parts.
    #[arg(long, value_name = "CSS")]
    exclude_selector: Option<String>,
    /// A selector map as a JSON file, in one of the two shapes of `css_extraction_map`; prints JSON.
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
    /// Tell what the page hides from its readers; prints JSON.
    #[arg(long)]
    hidden_text: bool,
    /// Print the whole page entry as JSON instead of its content.
    #[arg(long)]
    json: bool,
}

impl OutputArgs {
    /// Whether the page entry is printed: fields have no place in a content.
    pub(super) fn prints_entry(&self) -> bool {
        let adds_fields = self.json_data || self.metadata || self.links || self.hidden_text;
        self.json || adds_fields || self.selectors.is_some()
    }

    /// The parameters of a request that asks for this.
    ///
    /// # Errors
    /// The file of selectors cannot be read or is not JSON.
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

    /// Prints a page as asked.
    ///
    /// # Errors
    /// The page failed, or its content is not one piece.
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
            _ => bail!("the content is not one piece; ask for it with `--json`"),
        }
        .context("cannot write the content")
    }
}

fn selector_map(file: &PathBuf) -> anyhow::Result<Value> {
    let told = || format!("cannot read the selectors in `{}`", file.display());
    let text = std::fs::read_to_string(file).with_context(told)?;
    serde_json::from_str(&text).with_context(told)
}
