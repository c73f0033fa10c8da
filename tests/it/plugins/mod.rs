//! Plugins: calls, faults, loading and hot reload.

mod analysts;
mod calls;
mod decoders;
mod documents;
mod faults;
mod loading;
mod native;
mod swap;

use std::fs;
use std::path::{Path, PathBuf};
use std::sync::Arc;

use tempfile::TempDir;
use trawl_document::{Document, kind};
use trawl_plugins::{Fault, LoadError, PageView, PluginError, Plugins, PluginsConfig, Rendered};
use trawl_test_guests::Guest;

/// The cache of compiled components, shared by all tests; its file names are hashes.
fn cache_dir() -> PathBuf {
    PathBuf::from(env!("CARGO_TARGET_TMPDIR")).join("compiled-guests")
}

/// A folder with a manifest and components.
struct PluginFolder {
    folder: TempDir,
}

impl PluginFolder {
    fn new() -> Self {
        Self {
            folder: TempDir::new().unwrap(),
        }
    }

    /// A folder with these components and a manifest that lists each under its own name.
    fn of(guests: &[Guest]) -> Self {
        let folder = Self::new();
        let mut manifest = String::new();
        for guest in guests {
            folder.put(guest);
            manifest += &entry(guest, "");
        }
        folder.manifest(&manifest);
        folder
    }

    fn path(&self, name: &str) -> PathBuf {
        self.folder.path().join(name)
    }

    fn put(&self, guest: &Guest) {
        self.put_bytes(&guest.name, &guest.build());
    }

    fn put_bytes(&self, name: &str, bytes: &[u8]) {
        fs::write(self.path(&format!("{name}.wasm")), bytes).unwrap();
    }

    fn manifest(&self, text: &str) {
        fs::write(self.path("plugins.toml"), text).unwrap();
    }

    fn start(&self) -> Result<Arc<Plugins>, LoadError> {
        start(&self.path("plugins.toml"))
    }

    /// The error with which this folder fails to load.
    fn refusal(&self) -> String {
        match self.start() {
            Ok(_) => panic!("it was loaded"),
            Err(error) => error.to_string(),
        }
    }
}

fn start(manifest: &Path) -> Result<Arc<Plugins>, LoadError> {
    Plugins::start(PluginsConfig {
        manifest: manifest.to_owned(),
        cache_dir: cache_dir(),
    })
}

/// The manifest entry of a component, with the lines `more`.
fn entry(guest: &Guest, more: &str) -> String {
    format!(
        "[[{}]]\nname = {1:?}\ncomponent = \"{1}.wasm\"\n{more}\n",
        guest.kind, guest.name
    )
}

/// A document with one text node.
fn document(text: &str) -> Document {
    Document {
        url: "https://site.example/".to_owned(),
        base: "https://site.example/".to_owned(),
        media_type: "text/html".to_owned(),
        kinds: vec![kind::DOCUMENT, kind::TEXT],
        parents: vec![0, 0],
        ends: vec![2, 2],
        names: vec![0, 0],
        starts: vec![0, 0],
        counts: vec![0, u32::try_from(text.len()).unwrap()],
        name_ends: vec![0],
        name_spaces: vec![0],
        text: text.to_owned(),
        ..Document::default()
    }
}

fn view(document: &Document) -> PageView<'_> {
    PageView {
        document,
        kept: &[],
        text: "",
        body: &[],
        content_type: "text/html",
        charset: "utf-8",
    }
}

/// Renders a page with this text.
fn render(
    plugins: &Plugins,
    format: &str,
    text: &str,
    options: &str,
) -> Result<Rendered, PluginError> {
    let document = document(text);
    let format = plugins.snapshot().format(format).unwrap();
    format.render(&view(&document), options)
}

fn text(rendered: Result<Rendered, PluginError>) -> String {
    match rendered {
        Ok(Rendered::Text(text)) => text,
        other => panic!("not a text: {other:?}"),
    }
}

fn fault(rendered: Result<Rendered, PluginError>) -> Fault {
    rendered.unwrap_err().fault
}
