//! The plugins in effect, and their replacement when files change.

use std::path::{Path, PathBuf};
use std::sync::atomic::{AtomicBool, Ordering};
use std::sync::{Arc, Mutex, MutexGuard, PoisonError};
use std::time::Duration;

use arc_swap::ArcSwap;

use super::fingerprint::Fingerprint;
use super::generation::Registry;
use super::status::{ReloadFailure, Status};
use crate::bundle::Bundle;
use crate::error::LoadError;
use crate::load::loader::{CompileReport, Loader};
use crate::load::manifest::Manifest;
use crate::parallel;

/// How often loading starts over because a file changed meanwhile.
const UNSTABLE_ROUNDS_MAX: u32 = 20;
/// Pause before it starts over.
const UNSTABLE_PAUSE: Duration = Duration::from_millis(20);

/// Where plugins come from.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct PluginsConfig {
    /// The manifest: a `plugins.toml`, or the running program itself for its bundled manifest.
    pub manifest: PathBuf,
    /// Absolute folder for compiled code; created if missing. Write access to it is as good as code
    /// execution in the server.
    pub cache_dir: PathBuf,
}

/// The plugins in effect, shared by the whole server.
pub struct Plugins {
    manifest: PathBuf,
    loader: Loader,
    current: ArcSwap<Registry>,
    tried: Mutex<Tried>,
    /// Whether the last attempt succeeded; readable while another one runs.
    is_current: AtomicBool,
}

/// The last attempt to load: state of the files, and the failure if it failed.
#[derive(Default)]
struct Tried {
    paths: Vec<PathBuf>,
    fingerprint: Fingerprint,
    failure: Option<ReloadFailure>,
}

/// One attempt to load: the files, their state, the result.
struct Attempt {
    paths: Vec<PathBuf>,
    fingerprint: Fingerprint,
    result: Result<Registry, LoadError>,
}

impl Plugins {
    /// Loads everything in the manifest. Compiles what is neither bundled nor cached: call it on a
    /// thread that may block.
    ///
    /// # Errors
    /// [`LoadError`] for the first plugin that cannot be loaded.
    pub fn start(config: PluginsConfig) -> Result<Arc<Self>, LoadError> {
        Self::start_with(config, own_bundle(), None)
    }

    /// [`Self::start`], with a report of each plugin whose compilation takes a while.
    ///
    /// # Errors
    /// As [`Self::start`].
    pub fn start_reporting(
        config: PluginsConfig,
        report: CompileReport,
    ) -> Result<Arc<Self>, LoadError> {
        Self::start_with(config, own_bundle(), Some(report))
    }

    /// [`Self::start`] with this bundle rather than the running program's.
    pub(crate) fn start_with(
        config: PluginsConfig,
        bundle: Option<Arc<Bundle>>,
        report: Option<CompileReport>,
    ) -> Result<Arc<Self>, LoadError> {
        let loader = Loader::new(&config.cache_dir, bundle)?.with_report(report);
        let attempt = settled_attempt(&loader, &config.manifest, None);
        let registry = attempt.result?;
        tracing::info!(plugins = registry.entries().len(), "plugins loaded");
        Ok(Arc::new(Self {
            manifest: config.manifest,
            loader,
            current: ArcSwap::from_pointee(registry),
            is_current: AtomicBool::new(true),
            tried: Mutex::new(Tried {
                paths: attempt.paths,
                fingerprint: attempt.fingerprint,
                failure: None,
            }),
        }))
    }

    /// The generation in effect. A run takes one and uses it to its end.
    pub fn snapshot(&self) -> Arc<Registry> {
        self.current.load_full()
    }

    /// Whether the files are in effect as they were last read: the last reload did not fail.
    pub fn is_current(&self) -> bool {
        self.is_current.load(Ordering::Relaxed)
    }

    /// The payload of `GET /plugins`.
    pub fn status(&self) -> Status {
        let failure = self.tried().failure.clone();
        Status::of(&self.snapshot(), failure)
    }

    /// Loads the current files and swaps the whole registry. Plugins whose file and entry are
    /// unchanged are not loaded again; if nothing changed, the generation stays. Blocks while it
    /// compiles.
    ///
    /// # Errors
    /// [`LoadError`]; the previous generation stays in effect, and the reason is logged and
    /// reported by [`Self::status`].
    pub fn reload(&self) -> Result<Arc<Registry>, LoadError> {
        let mut tried = self.tried();
        self.reload_locked(&mut tried)
    }

    /// [`Self::reload`] if a file has changed since the last attempt.
    pub(crate) fn reload_if_changed(&self) {
        let mut tried = self.tried();
        let now = Fingerprint::of(tried.paths.iter().map(PathBuf::as_path));
        if now != tried.fingerprint {
            // The reason of a failure is logged and reported by `status`.
            let _ = self.reload_locked(&mut tried);
        }
    }

    /// Folders of the manifest and of every file in it.
    pub(crate) fn folders(&self) -> Vec<PathBuf> {
        let tried = self.tried();
        let folder = |path: &PathBuf| match path.parent() {
            Some(parent) if parent.as_os_str().is_empty() => PathBuf::from("."),
            Some(parent) => parent.to_owned(),
            None => PathBuf::from("/"),
        };
        let mut folders: Vec<_> = tried.paths.iter().map(folder).collect();
        folders.sort();
        folders.dedup();
        folders
    }

    fn reload_locked(&self, tried: &mut Tried) -> Result<Arc<Registry>, LoadError> {
        let before = self.snapshot();
        let attempt = settled_attempt(&self.loader, &self.manifest, Some(&before));
        tried.paths = attempt.paths;
        tried.fingerprint = attempt.fingerprint;
        self.count(attempt.result.is_ok());
        match attempt.result {
            Ok(registry) => {
                let had_failed = tried.failure.take().is_some();
                let registry = self.put_in_effect(registry, &before);
                if had_failed {
                    tracing::info!(
                        generation = registry.generation(),
                        "the manifest and the plugins are valid again and in effect"
                    );
                }
                Ok(registry)
            }
            Err(error) => {
                let reason = error.to_string();
                tracing::error!(
                    generation = before.generation(),
                    "plugins not reloaded, the previous generation stays in effect: {reason}"
                );
                let shown = without_folders(&reason, &tried.paths);
                tried.failure = Some(ReloadFailure::now(shown));
                Err(error)
            }
        }
    }

    fn count(&self, is_current: bool) {
        self.is_current.store(is_current, Ordering::Relaxed);
        let outcome = if is_current { "ok" } else { "failed" };
        metrics::counter!("trawl_plugin_reloads_total", "outcome" => outcome).increment(1);
        metrics::gauge!("trawl_plugins_current").set(f64::from(u8::from(is_current)));
    }

    fn put_in_effect(&self, registry: Registry, before: &Arc<Registry>) -> Arc<Registry> {
        if registry.is_same_as(before) {
            return Arc::clone(before);
        }
        let registry = Arc::new(registry);
        self.current.store(Arc::clone(&registry));
        tracing::info!(
            generation = registry.generation(),
            plugins = registry.entries().len(),
            "plugins reloaded"
        );
        registry
    }

    fn tried(&self) -> MutexGuard<'_, Tried> {
        // Consistent even after a panic: the next attempt replaces every field.
        self.tried.lock().unwrap_or_else(PoisonError::into_inner)
    }
}

/// A reason in which files have their names only: callers read it, who are not to learn how the
/// server's folders are called. The log has it all. Decision D262.
fn without_folders(reason: &str, files: &[PathBuf]) -> String {
    let mut folders: Vec<String> = files
        .iter()
        .filter_map(|file| file.parent())
        .map(|folder| folder.display().to_string())
        .filter(|folder| !folder.is_empty())
        .collect();
    // A folder in another one comes first.
    folders.sort_by_key(|folder| std::cmp::Reverse(folder.len()));
    let mut shown = reason.to_owned();
    for folder in folders {
        let folder = folder.trim_end_matches('/');
        // After a quotation mark, so that no part of a text or of another path is taken for it.
        shown = shown.replace(&format!("`{folder}/"), "`");
    }
    shown
}

fn own_bundle() -> Option<Arc<Bundle>> {
    Bundle::own().unwrap_or_else(|error| {
        tracing::warn!("no bundled plugins: {error}");
        None
    })
}

/// Loads until no file changes meanwhile, so that no half-written file takes effect.
fn settled_attempt(loader: &Loader, manifest: &Path, before: Option<&Registry>) -> Attempt {
    let mut attempt = attempt(loader, manifest, before);
    for round in 0..UNSTABLE_ROUNDS_MAX {
        let now = Fingerprint::of(attempt.paths.iter().map(PathBuf::as_path));
        // Editors truncate a file before they write it: an empty manifest is read a second time.
        let is_doubtful = round == 0
            && before.is_some_and(has_entries)
            && attempt.result.as_ref().is_ok_and(|read| !has_entries(read));
        if now == attempt.fingerprint && !is_doubtful {
            break;
        }
        std::thread::sleep(UNSTABLE_PAUSE);
        attempt = self::attempt(loader, manifest, before);
    }
    attempt
}

fn has_entries(registry: &Registry) -> bool {
    !registry.entries().is_empty()
}

fn attempt(loader: &Loader, manifest: &Path, before: Option<&Registry>) -> Attempt {
    // Fingerprints are taken before the files are read, so that later changes show.
    // The program does not change while it runs, so there is nothing to watch in a bundle.
    let is_bundled = loader.bundle().is_some_and(|it| it.path() == manifest);
    let mut paths: Vec<PathBuf> = Vec::new();
    if !is_bundled {
        paths.push(manifest.to_owned());
    }
    let mut fingerprint = Fingerprint::of(paths.iter().map(PathBuf::as_path));
    let read = Manifest::read(manifest, loader.bundle());
    let files: Vec<PathBuf> = match &read {
        Ok(read) => read
            .entries
            .iter()
            .filter_map(|entry| entry.code.file())
            .map(Path::to_owned)
            .collect(),
        // A manifest that cannot be read names no files: continue to watch those in effect.
        Err(_) => before.map_or_else(Vec::new, Registry::files),
    };
    fingerprint.add(files.iter().map(PathBuf::as_path));
    paths.extend(files);
    let generation = before.map_or(1, |registry| registry.generation() + 1);
    let entries = before.map_or(&[][..], Registry::entries);
    let load_all = |read: Manifest| {
        loader.start_count(read.entries.len());
        let loaded = parallel::try_map(read.entries, |entry| loader.load(entry, entries))?;
        Ok(Registry::new(generation, loaded))
    };
    Attempt {
        paths,
        fingerprint,
        result: read.and_then(load_all),
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_reason_for_callers_has_no_folders() {
        let files = [
            "/srv/trawl/plugins.toml",
            "/srv/trawl/plugins/a.wasm",
            "b.wasm",
        ];
        let files = files.map(PathBuf::from);
        let check = |reason: &str, expected: &str| {
            assert_eq!(without_folders(reason, &files), expected);
        };
        check(
            "plugin manifest `/srv/trawl/plugins.toml`: line 3: `/x/y` is unknown",
            "plugin manifest `plugins.toml`: line 3: `/x/y` is unknown",
        );
        check(
            "format `a`: `/srv/trawl/plugins/a.wasm` cannot be read",
            "format `a`: `a.wasm` cannot be read",
        );
        check("`b.wasm` and `/srv/b`", "`b.wasm` and `/srv/b`");
    }
}
