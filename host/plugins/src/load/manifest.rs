//! `plugins.toml`: which plugins to load, under which names, with which limits.

use std::collections::BTreeSet;
use std::fmt;
use std::path::{Path, PathBuf};

use serde::Deserialize;

use trawl_model::PluginKind;

use super::media::Media;
use crate::bundle::Bundle;
use crate::error::LoadError;
use crate::info::check_name;
use crate::kinds::grant::GrantToml;
use crate::limits::{ENTRIES_MAX, Limits};

/// A valid manifest.
#[derive(Clone, Debug, PartialEq)]
pub(crate) struct Manifest {
    pub(crate) entries: Vec<ManifestEntry>,
}

/// One plugin to load.
#[derive(Clone, Debug, PartialEq)]
pub(crate) struct ManifestEntry {
    pub(crate) kind: PluginKind,
    pub(crate) name: String,
    pub(crate) code: Code,
    pub(crate) limits: Limits,
    /// BLAKE3 hash that the file must have.
    pub(crate) pin: Option<blake3::Hash>,
    /// What a provider or a search adapter is granted; `None` for other kinds and for inspection.
    pub(crate) grant: Option<GrantToml>,
    /// The documents that a decoder reads; empty for other kinds and for inspection.
    pub(crate) media: Media,
}

/// Where a plugin's code is.
#[derive(Clone, Debug, PartialEq, Eq)]
pub(crate) enum Code {
    /// A WebAssembly component.
    Component(PathBuf),
    /// A trusted shared library.
    Native(PathBuf),
    /// A WebAssembly component of the bundle, by file name.
    Bundled(String),
}

/// Where the components of a manifest are.
#[derive(Clone, Copy, Debug)]
pub(crate) enum Base<'a> {
    /// Paths are relative to this folder.
    Folder(&'a Path),
    /// Paths are names in the bundle.
    Bundle,
}

impl Code {
    /// Its file; `None` for a bundled component.
    pub(crate) fn file(&self) -> Option<&Path> {
        match self {
            Self::Component(path) | Self::Native(path) => Some(path),
            Self::Bundled(_) => None,
        }
    }
}

impl fmt::Display for Code {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self {
            Self::Component(path) | Self::Native(path) => write!(f, "`{}`", path.display()),
            Self::Bundled(name) => write!(f, "the bundled `{name}`"),
        }
    }
}

/// Top level of the file. Entries are parsed one by one, so that errors can name them.
#[derive(Deserialize)]
#[serde(deny_unknown_fields)]
struct ManifestToml {
    #[serde(default)]
    allow_native: bool,
    #[serde(default)]
    format: Vec<toml::Table>,
    #[serde(default)]
    filter: Vec<toml::Table>,
    #[serde(default)]
    extractor: Vec<toml::Table>,
    #[serde(default)]
    chunker: Vec<toml::Table>,
    #[serde(default)]
    analyst: Vec<toml::Table>,
    #[serde(default)]
    decoder: Vec<toml::Table>,
    #[serde(default)]
    provider: Vec<toml::Table>,
    #[serde(default)]
    search: Vec<toml::Table>,
}

#[derive(Deserialize)]
#[serde(deny_unknown_fields)]
struct EntryToml {
    name: String,
    component: Option<PathBuf>,
    native: Option<PathBuf>,
    #[serde(default)]
    limits: Limits,
    blake3: Option<String>,
}

impl Manifest {
    /// Reads a manifest: a file, or the bundled one when `path` is the bundle's.
    ///
    /// # Errors
    /// [`LoadError::Manifest`] with the entry and what is wrong with it.
    pub(crate) fn read(path: &Path, bundle: Option<&Bundle>) -> Result<Self, LoadError> {
        let refuse = |reason| LoadError::Manifest {
            path: path.to_owned(),
            reason,
        };
        if let Some(bundle) = bundle.filter(|bundle| bundle.path() == path) {
            return Self::parse(bundle.manifest(), Base::Bundle).map_err(refuse);
        }
        let text = std::fs::read_to_string(path)
            .map_err(|error| refuse(format!("cannot be read: {error}")))?;
        let folder = path.parent().unwrap_or_else(|| Path::new(""));
        Self::parse(&text, Base::Folder(folder)).map_err(refuse)
    }

    /// Reads the text of a manifest.
    ///
    /// # Errors
    /// A message with the entry and what is wrong with it.
    pub(crate) fn parse(text: &str, base: Base<'_>) -> Result<Self, String> {
        let file: ManifestToml = toml::from_str(text).map_err(|error| with_line(&error, text))?;
        let allow_native = file.allow_native;
        let tables = [
            (PluginKind::Format, file.format),
            (PluginKind::Filter, file.filter),
            (PluginKind::Extractor, file.extractor),
            (PluginKind::Chunker, file.chunker),
            (PluginKind::Analyst, file.analyst),
            (PluginKind::Decoder, file.decoder),
            (PluginKind::Provider, file.provider),
            (PluginKind::Search, file.search),
        ];
        let mut entries = Vec::new();
        let mut names = BTreeSet::new();
        for (kind, tables) in tables {
            for table in tables {
                let label = label(kind, &table);
                let entry = entry(kind, table, base, allow_native)
                    .map_err(|reason| format!("{label}: {reason}"))?;
                if !names.insert((kind, entry.name.clone())) {
                    return Err(format!("{label}: there are two of this name, rename one"));
                }
                entries.push(entry);
            }
        }
        if entries.len() > ENTRIES_MAX {
            return Err(format!(
                "{} plugins, at most {ENTRIES_MAX} can be loaded",
                entries.len()
            ));
        }
        Ok(Self { entries })
    }
}

fn entry(
    kind: PluginKind,
    mut table: toml::Table,
    base: Base<'_>,
    allow_native: bool,
) -> Result<ManifestEntry, String> {
    let grant = match kind {
        PluginKind::Provider => Some(GrantToml::take(&mut table)?),
        PluginKind::Search => Some(GrantToml::take_of_search(&mut table)?),
        _ => None,
    };
    let media = match kind {
        PluginKind::Decoder => Media::take(&mut table)?,
        _ => Media::default(),
    };
    let entry: EntryToml = table
        .try_into()
        .map_err(|error: toml::de::Error| error.message().replace('\n', " "))?;
    check_name(&entry.name)?;
    if reserved(kind).contains(&entry.name.as_str()) {
        return Err("the name is built in, choose another".to_owned());
    }
    entry.limits.check()?;
    let code = match (entry.component, entry.native) {
        (Some(component), None) => component_code(component, base),
        (None, Some(native)) => native_code(kind, native, base, allow_native)?,
        _ => return Err("give either `component` or `native`".to_owned()),
    };
    let pin = entry
        .blake3
        .map(|hex| {
            blake3::Hash::from_hex(&hex)
                .map_err(|_| "`blake3` is not a hash of 64 hex digits".to_owned())
        })
        .transpose()?;
    Ok(ManifestEntry {
        kind,
        name: entry.name,
        code,
        limits: entry.limits,
        pin,
        grant,
        media,
    })
}

/// Where a component is.
fn component_code(component: PathBuf, base: Base<'_>) -> Code {
    match base {
        Base::Folder(folder) => Code::Component(folder.join(component)),
        Base::Bundle => Code::Bundled(component.to_string_lossy().into_owned()),
    }
}

/// Where native code is, if this plugin may be native code.
fn native_code(
    kind: PluginKind,
    native: PathBuf,
    base: Base<'_>,
    allow_native: bool,
) -> Result<Code, String> {
    let reason = match (kind, base) {
        (
            PluginKind::Analyst | PluginKind::Decoder | PluginKind::Provider | PluginKind::Search,
            _,
        ) => "plugins of this kind are never native code, give a `component`",
        (_, Base::Bundle) => "native code cannot be bundled, give a `component`",
        (_, Base::Folder(folder)) if allow_native => return Ok(Code::Native(folder.join(native))),
        (_, Base::Folder(_)) => {
            "native code is off, set `allow_native = true` at the top of the manifest if you \
             trust it"
        }
    };
    Err(reason.to_owned())
}

/// Names that requests use for built-in features: no plugin can have them.
fn reserved(kind: PluginKind) -> &'static [&'static str] {
    match kind {
        PluginKind::Format => &["raw", "empty", "screenshot", "commonmark", "html2text"],
        PluginKind::Chunker => &[
            "none",
            "bywords",
            "bysentence",
            "bylines",
            "bycharacterlength",
        ],
        PluginKind::Filter
        | PluginKind::Extractor
        | PluginKind::Analyst
        | PluginKind::Decoder
        | PluginKind::Provider
        | PluginKind::Search => &[],
    }
}

fn label(kind: PluginKind, table: &toml::Table) -> String {
    match table.get("name").and_then(toml::Value::as_str) {
        Some(name) => format!("{kind} `{}`", name.chars().take(80).collect::<String>()),
        None => format!("a `[[{kind}]]` entry without a name"),
    }
}

fn with_line(error: &toml::de::Error, text: &str) -> String {
    let reason = error.message().replace('\n', " ");
    match error.span().and_then(|span| text.get(..span.start)) {
        Some(before) => format!("line {}: {reason}", before.matches('\n').count() + 1),
        None => reason,
    }
}
