//! What a document costs, and what a damaged one may do: memory of the decoder, and files that made
//! other programs crash.

use std::path::{Path, PathBuf};
use std::sync::Arc;

use anyhow::Context;
use trawl_plugins::{Fault, Plugins, PluginsConfig, Registry};

use super::corpus::{self, Document};
use super::{limits, readers};
use crate::corpus::checkout;

/// Memory that a decoder may take: so many times the size of the file, and so much for itself.
const MEMORY_FACTOR: u64 = 5;
const MEMORY_MIB: u64 = 64;
/// Endings of the files in the sources of other programs' tests that decoders read.
const ENDINGS: [&str; 12] = [
    "pdf", "docx", "xlsx", "pptx", "odt", "ods", "odp", "rtf", "epub", "eml", "zip", "docm",
];

/// Decodes each document within the memory that the goal allows, and prints how many need more.
pub(super) fn memory(documents: &[Document], cache: &Path) -> anyhow::Result<()> {
    let (mut n_fine, mut more) = (0, Vec::new());
    for document in documents {
        let body = std::fs::read(&document.file)?;
        let mib = MEMORY_MIB + (MEMORY_FACTOR * body.len() as u64).div_ceil(1 << 20);
        let registry = limited(cache, mib)?;
        match readers::decode(&registry, &body) {
            Err(error) if is_memory(&error) => more.push(document.name.as_str()),
            _ => n_fine += 1,
        }
    }
    let verdict = if more.is_empty() { "" } else { ", MISSED" };
    println!(
        "memory: {n_fine} of {} documents within {MEMORY_FACTOR} times the file and {MEMORY_MIB} MiB \
         (goal: all{verdict}) {}",
        documents.len(),
        more.join(" ")
    );
    Ok(())
}

/// Decodes the files of other programs' tests and prints how many of them end as they must: with
/// HTML or with a sentence that is no crash and no exhausted limit of the sandbox.
pub(super) fn hostile(registry: &Registry) -> anyhow::Result<()> {
    let mut files = Vec::new();
    collect(&corpus::folder().join("sources"), &mut files)?;
    let (mut n_read, mut n_refused, mut sandboxed) = (0, 0, Vec::new());
    for file in &files {
        let shown = file.file_name().unwrap_or_default().display();
        match readers::decode(registry, &std::fs::read(file)?) {
            Ok(_) => n_read += 1,
            Err(error) => match limits::fault(&error) {
                Some(
                    found @ (Fault::Trap { .. }
                    | Fault::OutOfTime { .. }
                    | Fault::OutOfMemory { .. }),
                ) => {
                    sandboxed.push(format!("{shown}: {found}"));
                }
                _ => n_refused += 1,
            },
        }
    }
    println!(
        "files of other programs' tests: {} of which {n_read} are read, {n_refused} refused with a \
         sentence, {} ended by the sandbox; none ended this process",
        files.len(),
        sandboxed.len()
    );
    for line in sandboxed {
        println!("  {line}");
    }
    Ok(())
}

fn is_memory(error: &anyhow::Error) -> bool {
    matches!(limits::fault(error), Some(Fault::OutOfMemory { .. }))
}

/// The decoders of documents alone, with this much memory each.
fn limited(cache: &Path, mib: u64) -> anyhow::Result<Arc<Registry>> {
    let components = checkout().join("target/guests").canonicalize();
    let components = components.context("the plugins are not built: cargo xtask guests")?;
    let entries = [
        ("pdf", "application/pdf", "%PDF-"),
        ("office", "application/zip", "hex:504b0304"),
        ("rtf", "application/rtf", "{\\\\rtf"),
    ];
    let entries = entries.map(|(name, media_type, start)| {
        format!(
            "[[decoder]]\nname = \"{name}\"\ncomponent = \"{}/decoder_{name}.wasm\"\n\
             media_types = [\"{media_type}\"]\nstarts_with = [\"{start}\"]\n\
             limits = {{ memory_mib = {mib}, time_ms = 60000 }}\n",
            components.display()
        )
    });
    let manifest = cache.join("limited.toml");
    std::fs::write(&manifest, entries.concat())?;
    let plugins = Plugins::start(PluginsConfig {
        manifest,
        cache_dir: cache.join("compiled"),
    })?;
    Ok(plugins.snapshot())
}

/// The files below a folder that decoders read, in order.
fn collect(folder: &Path, files: &mut Vec<PathBuf>) -> anyhow::Result<()> {
    let entries =
        std::fs::read_dir(folder).with_context(|| format!("cannot read `{}`", folder.display()))?;
    let mut paths = entries
        .map(|entry| Ok(entry?.path()))
        .collect::<std::io::Result<Vec<PathBuf>>>()?;
    paths.sort();
    for path in paths {
        if path.is_dir() {
            collect(&path, files)?;
        } else if path
            .extension()
            .is_some_and(|end| ENDINGS.iter().any(|known| end.eq_ignore_ascii_case(known)))
        {
            files.push(path);
        }
    }
    Ok(())
}
