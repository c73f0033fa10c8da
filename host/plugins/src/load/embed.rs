//! `trawl plugin embed`: the plugins of a manifest, compiled and appended to an executable.

use std::collections::BTreeMap;
use std::fs;
use std::path::{Path, PathBuf};
use std::sync::Arc;
use std::time::Instant;

use super::file;
use super::manifest::{Base, Code, Manifest};
use crate::bundle::{Bundle, BundleError, Frame, Packed, is_file_name, rewrite, write};
use crate::call::engine::ComponentEngine;
use crate::parallel;

/// What was embedded.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Embedded {
    /// Components in the bundle.
    pub components: usize,
    /// Bytes of the bundle.
    pub bytes: u64,
}

/// Writes a copy of `program` with the plugins of `manifest` to `output`, executable, in one step.
///
/// A bundle that `program` has already is left out. Native code that an older `output` has of the
/// same components is reused where this server accepts it. `progress` gets a line per component.
///
/// # Errors
/// [`BundleError`] with the file and what is wrong with it.
pub fn embed(
    program: &Path,
    manifest: &Path,
    output: &Path,
    progress: &(dyn Fn(&str) + Sync),
) -> Result<Embedded, BundleError> {
    let at = |path: &Path| {
        let path = path.to_owned();
        move |reason| BundleError { path, reason }
    };
    let (text, components) = components(manifest).map_err(at(manifest))?;
    let engine = ComponentEngine::new(None)
        .map_err(|error| format!("the plugin engine cannot start: {error:#}"))
        .map_err(at(program))?;
    let older = Bundle::open(output).ok().flatten();
    let pack = |component| pack(&engine, older.as_ref(), component, progress);
    let packed = parallel::try_map(components, pack).map_err(at(manifest))?;
    let program_bytes = match Bundle::open(program)? {
        Some(bundle) => bundle.program_bytes(),
        None => u64::MAX,
    };
    let n_components = packed.len();
    let bytes = write(program, program_bytes, output, text, packed)
        .map_err(|error| format!("cannot be written: {error}"))
        .map_err(at(output))?;
    Ok(Embedded {
        components: n_components,
        bytes,
    })
}

/// A component to be packed.
struct Unpacked {
    name: String,
    bytes: Vec<u8>,
}

/// The manifest with bare file names, and the components it names, each once.
fn components(manifest: &Path) -> Result<(String, Vec<Unpacked>), String> {
    let text = fs::read_to_string(manifest).map_err(|error| format!("cannot be read: {error}"))?;
    let folder = manifest.parent().unwrap_or_else(|| Path::new(""));
    let mut components: BTreeMap<String, (PathBuf, Vec<u8>)> = BTreeMap::new();
    for entry in Manifest::parse(&text, Base::Folder(folder))?.entries {
        let called = format!("{} `{}`", entry.kind, entry.name);
        let Code::Component(path) = entry.code else {
            return Err(format!(
                "{called}: native code cannot be bundled, take it out"
            ));
        };
        let name = file_name(&path).map_err(|reason| format!("{called}: {reason}"))?;
        let bytes = file::read(&path).map_err(|reason| format!("{called}: {reason}"))?;
        match components.get(&name) {
            Some((other, content)) if *content != bytes => {
                return Err(format!(
                    "{called}: `{}` and `{}` have the same file name, rename one",
                    path.display(),
                    other.display()
                ));
            }
            Some(_) => {}
            None => {
                components.insert(name, (path, bytes));
            }
        }
    }
    let text = rewrite(&text, |path| file_name(Path::new(path)))?;
    let unpacked = components.into_iter();
    let unpacked = unpacked.map(|(name, (_, bytes))| Unpacked { name, bytes });
    Ok((text, unpacked.collect()))
}

fn file_name(path: &Path) -> Result<String, String> {
    path.file_name()
        .and_then(|name| name.to_str())
        .filter(|name| is_file_name(name))
        .map(str::to_owned)
        .ok_or_else(|| format!("`{}` is not the path of a file", path.display()))
}

/// Compiles and compresses a component, or takes both from the older bundle.
fn pack(
    engine: &Arc<ComponentEngine>,
    older: Option<&Bundle>,
    component: Unpacked,
    progress: &(dyn Fn(&str) + Sync),
) -> Result<Packed, String> {
    let Unpacked { name, bytes } = component;
    let hash = blake3::hash(&bytes);
    if let Some([component, code]) = older.and_then(|older| reusable(engine, older, &hash)) {
        progress(&format!("reused {name}"));
        return Ok(Packed {
            name,
            hash,
            component,
            code,
        });
    }
    let started = Instant::now();
    let code = engine
        .precompile(&bytes)
        .map_err(|error| format!("`{name}` is not a valid component: {}", error.root_cause()))?;
    let packed = Packed {
        component: Frame::compress(&bytes)?,
        code: Frame::compress(&code)?,
        hash,
        name,
    };
    progress(&format!(
        "compiled {} in {:.1} s ({} KiB, native code {} KiB)",
        packed.name,
        started.elapsed().as_secs_f64(),
        packed.component.bytes.div_ceil(1024),
        packed.code.bytes.div_ceil(1024),
    ));
    Ok(packed)
}

/// Both frames of a component in an older bundle, when its native code still fits this server.
fn reusable(engine: &ComponentEngine, older: &Bundle, hash: &blake3::Hash) -> Option<[Frame; 2]> {
    let code = older.native_code(hash).ok().flatten()?;
    engine.deserialize(&code).ok()?;
    let frame = |(stored, bytes)| Frame { stored, bytes };
    older.stored(hash).map(|stored| stored.map(frame))
}
