//! Which plugin manifest decides.

use std::path::{Path, PathBuf};

use anyhow::{Context, bail};
use trawl_plugins::{Bundle, BundleError};

const FILE: &str = "plugins.toml";

/// Where a manifest can be.
#[derive(Debug)]
pub(in crate::cli) struct ManifestDirs<'a> {
    /// The working directory.
    pub(in crate::cli) working_dir: &'a Path,
    /// The running program.
    pub(in crate::cli) program: Option<&'a Path>,
}

impl ManifestDirs<'_> {
    /// The given manifest; else `plugins.toml` in the working directory or next to the program;
    /// else the bundled one; else the one of the checkout in whose `target` folder the program is.
    ///
    /// The path of a bundle names its manifest.
    ///
    /// # Errors
    /// The given file does not exist, there is no manifest, or the bundle is damaged.
    pub(in crate::cli) fn manifest(
        &self,
        given: Option<PathBuf>,
        bundle: impl FnOnce() -> Result<Option<PathBuf>, BundleError>,
    ) -> anyhow::Result<PathBuf> {
        if let Some(given) = given {
            if !given.exists() {
                bail!(
                    "there is no plugin manifest `{}`: correct the path, or write the default \
                     manifest and its components with `trawl plugins eject`",
                    given.display()
                );
            }
            return Ok(given);
        }
        let mut above = self
            .program
            .iter()
            .flat_map(|program| program.ancestors())
            .skip(1);
        let near = [Some(self.working_dir), above.next()];
        if let Some(file) = first_file(near.into_iter().flatten()) {
            return Ok(file);
        }
        if let Some(bundled) = bundle().context("the bundled plugins cannot be used")? {
            return Ok(bundled);
        }
        match first_file(above.take(2)) {
            Some(file) => Ok(file),
            None => bail!(
                "this program has no bundled plugins, and there is no `{FILE}` in the working \
                 directory or next to the program: name one with `--plugins`"
            ),
        }
    }
}

/// The executable, when it has a bundle.
///
/// # Errors
/// [`BundleError`] when the bundle is damaged.
pub(in crate::cli) fn own_bundle() -> Result<Option<PathBuf>, BundleError> {
    Ok(Bundle::own()?.map(|bundle| bundle.path().to_owned()))
}

fn first_file<'a>(folders: impl Iterator<Item = &'a Path>) -> Option<PathBuf> {
    folders
        .map(|folder| folder.join(FILE))
        .find(|file| file.is_file())
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn the_nearest_manifest_decides_and_the_bundle_before_the_checkout() {
        let folder = tempfile::tempdir().expect("a folder");
        let root = folder.path().canonicalize().expect("a path");
        let programs = root.join("target/release");
        let (work, program) = (root.join("work"), programs.join("trawl"));
        std::fs::create_dir_all(&programs).expect("created");
        std::fs::create_dir_all(&work).expect("created");
        let find = |given: Option<&str>, is_bundled: bool| {
            let places = ManifestDirs {
                working_dir: &work,
                program: Some(&program),
            };
            let bundle = || Ok(is_bundled.then(|| program.clone()));
            places.manifest(given.map(|name| root.join(name)), bundle)
        };
        let found = |is_bundled| find(None, is_bundled).expect("a manifest");

        let none = find(None, false).expect_err("there is none").to_string();
        assert!(none.contains("no bundled plugins"), "{none}");
        assert!(none.contains("`--plugins`"), "{none}");
        assert_eq!(found(true), program);

        std::fs::write(root.join(FILE), "").expect("written");
        assert_eq!(found(true), program);
        assert_eq!(found(false), root.join(FILE));

        std::fs::write(programs.join(FILE), "").expect("written");
        assert_eq!(found(true), programs.join(FILE));

        std::fs::write(work.join(FILE), "").expect("written");
        assert_eq!(found(true), work.join(FILE));

        let given = find(Some("plugins.toml"), true).expect("it exists");
        assert_eq!(given, root.join(FILE));
        let missing = find(Some("mine.toml"), true).expect_err("it does not exist");
        let missing = missing.to_string();
        assert!(missing.contains("mine.toml"), "{missing}");
        assert!(missing.contains("`trawl plugins eject`"), "{missing}");
    }

    #[test]
    fn a_damaged_bundle_is_an_error_only_where_it_is_needed() {
        let folder = tempfile::tempdir().expect("a folder");
        let places = ManifestDirs {
            working_dir: folder.path(),
            program: None,
        };
        let damaged = || {
            Err(BundleError {
                path: "trawl".into(),
                reason: "damaged".to_owned(),
            })
        };
        let error = places.manifest(None, damaged).expect_err("no manifest");
        assert!(
            format!("{error:#}").contains("`trawl`: damaged"),
            "{error:#}"
        );
        std::fs::write(folder.path().join(FILE), "").expect("written");
        places.manifest(None, damaged).expect("a manifest");
    }
}
