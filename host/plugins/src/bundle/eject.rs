//! Writing a bundle's plugins out as files, for operators who want to change them.

use std::fs::{self, OpenOptions};
use std::io::Write;
use std::path::{Path, PathBuf};

use super::rewrite::rewrite;
use super::{Bundle, BundleError};

/// The manifest's file name.
const MANIFEST: &str = "plugins.toml";
/// Folder of the components, next to the manifest.
const COMPONENTS: &str = "components";

/// Writes `plugins.toml` and `components/` into a folder; gives the files written.
///
/// # Errors
/// [`BundleError`] when one of the files exists, or cannot be written.
pub fn eject(bundle: &Bundle, dir: &Path) -> Result<Vec<PathBuf>, BundleError> {
    let refuse = |path: &Path, reason: String| BundleError {
        path: path.to_owned(),
        reason,
    };
    let manifest = dir.join(MANIFEST);
    let folder = dir.join(COMPONENTS);
    let text = rewrite(bundle.manifest(), |name| Ok(format!("{COMPONENTS}/{name}")))
        .map_err(|reason| refuse(bundle.path(), reason))?;
    let mut files = Vec::new();
    for name in bundle.component_names() {
        let content = bundle
            .component(name)
            .map_err(|reason| refuse(bundle.path(), reason))?;
        files.push((folder.join(name), content));
    }
    // Last, so that a server started meanwhile finds every component.
    files.push((manifest, text.into_bytes()));
    if let Some((path, _)) = files.iter().find(|(path, _)| path.exists()) {
        let reason = "exists already, choose another folder with `--dir`".to_owned();
        return Err(refuse(path, reason));
    }
    fs::create_dir_all(&folder)
        .map_err(|error| refuse(&folder, format!("cannot be created: {error}")))?;
    for (path, content) in &files {
        write_new(path, content)
            .map_err(|error| refuse(path, format!("cannot be written: {error}")))?;
    }
    Ok(files.into_iter().map(|(path, _)| path).collect())
}

fn write_new(path: &Path, content: &[u8]) -> std::io::Result<()> {
    let mut file = OpenOptions::new().write(true).create_new(true).open(path)?;
    file.write_all(content)
}
