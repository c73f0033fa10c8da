//! Pages made by JavaScript, built from `tests/apps` into `target/apps` for the tests and
//! benchmarks of the browser.
//!
//! npm works on a copy in `target/apps-build`, so that the sources stay free of other people's
//! packages.

use std::path::{Path, PathBuf};
use std::process::Command;
use std::time::Duration;

use anyhow::{Context, bail};
use trawl_guest_build::{Exit, run_within};

use crate::workspace;

/// The oldest Node.js that every package in use runs on.
const NODE_MAJOR_MIN: u32 = 20;

/// How long Node.js or npm may take to say its version.
const VERSION_LIMIT: Duration = Duration::from_secs(20);

/// How long npm may take to fetch the packages: 20 MB from a slow registry.
const INSTALL_LIMIT: Duration = Duration::from_secs(300);

/// How long the build may take; it needs about two seconds.
const BUILD_LIMIT: Duration = Duration::from_secs(120);

/// What npm installs follows from these two.
const MANIFESTS: [&str; 2] = ["package.json", "package-lock.json"];

/// What npm leaves in the build folder; it outlives a change of our sources.
const PACKAGES: &str = "node_modules";

/// Notes in the build folder from which sources the packages, and the pages, were made.
const INSTALLED: &str = "installed";
const BUILT: &str = "built";

/// Builds the pages, unless `target/apps` is that of the present sources.
pub(crate) fn build() -> anyhow::Result<()> {
    let root = workspace::root();
    let folders = Folders {
        sources: root.join("tests/apps"),
        work: root.join("target/apps-build"),
        pages: root.join("target/apps"),
    };
    let sources = Sources::read(&folders.sources)?;
    if folders.has(&folders.pages, BUILT, &sources.all()) {
        eprintln!("apps: target/apps is up to date");
        return Ok(());
    }
    let node = node()?;
    sources.copy(&folders)?;
    let manifests = format!("{} {node}", sources.manifests());
    if !folders.has(&folders.work.join(PACKAGES), INSTALLED, &manifests) {
        folders.forget(INSTALLED)?;
        eprintln!("apps: npm ci");
        let arguments = ["ci", "--ignore-scripts", "--prefer-offline", "--no-audit"];
        folders.run("npm", &arguments, INSTALL_LIMIT)?;
        folders.note(INSTALLED, &manifests)?;
    }
    folders.forget(BUILT)?;
    let said = folders.run("node", &["build.mjs", "out"], BUILD_LIMIT)?;
    folders.publish()?;
    folders.note(BUILT, &sources.all())?;
    eprintln!("apps: target/apps ({})", said.trim());
    Ok(())
}

/// The version of Node.js, when it and npm are there and new enough.
fn node() -> anyhow::Result<String> {
    let node = version_of("node")?;
    version_of("npm")?;
    if major(&node).is_none_or(|major| major < NODE_MAJOR_MIN) {
        bail!("`node` is `{node}`, and the packages in use need {NODE_MAJOR_MIN} or newer");
    }
    Ok(node)
}

fn version_of(tool: &str) -> anyhow::Result<String> {
    let Ok(ended) = run_within(Command::new(tool).arg("--version"), VERSION_LIMIT) else {
        bail!(
            "`{tool}`, which builds the pages for the browser, is missing: run `apt-get install nodejs npm`"
        );
    };
    match ended {
        Exit::Success(version) => Ok(version.trim().to_owned()),
        Exit::Failure(reason) => bail!("`{tool} --version` failed: {reason}"),
        Exit::Timeout => bail!("`{tool} --version` does not answer"),
    }
}

/// The first number of `v20.1.2`.
fn major(version: &str) -> Option<u32> {
    let (major, _) = version.strip_prefix('v')?.split_once('.')?;
    major.parse().ok()
}

/// Our sources: path below their folder and content, ordered by path.
struct Sources(Vec<(PathBuf, Vec<u8>)>);

impl Sources {
    fn read(dir: &Path) -> anyhow::Result<Self> {
        let mut files = Vec::new();
        let mut folders = vec![dir.to_path_buf()];
        while let Some(folder) = folders.pop() {
            let entries = std::fs::read_dir(&folder)
                .with_context(|| format!("cannot read `{}`", folder.display()))?;
            for entry in entries {
                let path = entry?.path();
                if path.is_dir() {
                    // Left by an npm that somebody ran by hand.
                    if !path.ends_with(PACKAGES) {
                        folders.push(path);
                    }
                    continue;
                }
                let content = std::fs::read(&path)
                    .with_context(|| format!("cannot read `{}`", path.display()))?;
                files.push((path.strip_prefix(dir)?.to_path_buf(), content));
            }
        }
        files.sort();
        Ok(Self(files))
    }

    /// The fingerprint of every source.
    fn all(&self) -> String {
        fingerprint(self.0.iter())
    }

    /// The fingerprint of what npm reads.
    fn manifests(&self) -> String {
        let is_manifest = |path: &Path| MANIFESTS.iter().any(|name| path == Path::new(name));
        fingerprint(self.0.iter().filter(|(path, _)| is_manifest(path)))
    }

    /// Puts the sources into the work folder, and nothing else beside packages and notes.
    fn copy(&self, folders: &Folders) -> anyhow::Result<()> {
        std::fs::create_dir_all(&folders.work)?;
        for entry in std::fs::read_dir(&folders.work)? {
            let path = entry?.path();
            if [PACKAGES, INSTALLED, BUILT]
                .iter()
                .any(|kept| path.ends_with(kept))
            {
                continue;
            }
            remove(&path)?;
        }
        for (path, content) in &self.0 {
            let to = folders.work.join(path);
            std::fs::create_dir_all(to.parent().unwrap_or(&folders.work))?;
            std::fs::write(&to, content)
                .with_context(|| format!("cannot write `{}`", to.display()))?;
        }
        Ok(())
    }
}

/// A fingerprint of paths and contents.
fn fingerprint<'a>(files: impl Iterator<Item = &'a (PathBuf, Vec<u8>)>) -> String {
    let mut hasher = blake3::Hasher::new();
    for (path, content) in files {
        hasher.update(blake3::hash(path.as_os_str().as_encoded_bytes()).as_bytes());
        hasher.update(blake3::hash(content).as_bytes());
    }
    hasher.finalize().to_hex().to_string()
}

/// Removes a file or a folder, if it is there.
fn remove(path: &Path) -> anyhow::Result<()> {
    let removed = if path.is_dir() {
        std::fs::remove_dir_all(path)
    } else if path.exists() {
        std::fs::remove_file(path)
    } else {
        Ok(())
    };
    removed.with_context(|| format!("cannot remove `{}`", path.display()))
}

/// Where the pages come from, are made, and go.
struct Folders {
    sources: PathBuf,
    work: PathBuf,
    pages: PathBuf,
}

impl Folders {
    /// Whether `result` is there and was made from the sources with this fingerprint.
    fn has(&self, result: &Path, note: &str, fingerprint: &str) -> bool {
        let noted = std::fs::read_to_string(self.work.join(note));
        result.is_dir() && noted.is_ok_and(|noted| noted == fingerprint)
    }

    fn note(&self, note: &str, fingerprint: &str) -> anyhow::Result<()> {
        std::fs::write(self.work.join(note), fingerprint).context("cannot write a note")
    }

    fn forget(&self, note: &str) -> anyhow::Result<()> {
        remove(&self.work.join(note))
    }

    /// Runs a command in the work folder; what it printed.
    fn run(&self, program: &str, arguments: &[&str], limit: Duration) -> anyhow::Result<String> {
        let mut command = Command::new(program);
        command.current_dir(&self.work).args(arguments);
        let line = workspace::in_words(&command);
        match run_within(&mut command, limit)? {
            Exit::Success(said) => Ok(said),
            Exit::Failure(reason) => bail!("`{line}` failed: {reason}"),
            Exit::Timeout => bail!("`{line}` took longer than {} s", limit.as_secs()),
        }
    }

    /// Replaces the pages by those just built.
    fn publish(&self) -> anyhow::Result<()> {
        remove(&self.pages)?;
        std::fs::rename(self.work.join("out"), &self.pages)
            .context("cannot move the pages to their place")
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn write(dir: &Path, path: &str, text: &str) {
        let file = dir.join(path);
        std::fs::create_dir_all(file.parent().expect("has a folder")).expect("is made");
        std::fs::write(file, text).expect("is written");
    }

    #[test]
    fn the_first_number_of_a_version_is_read() {
        assert_eq!(major("v20.20.2"), Some(20));
        assert_eq!(major("20"), None);
    }

    #[test]
    fn a_change_below_is_seen_and_packages_are_not() {
        let dir = tempfile::tempdir().expect("a folder");
        write(dir.path(), "package.json", "{}");
        write(dir.path(), "src/a.js", "1");
        let before = Sources::read(dir.path()).expect("is read");
        write(dir.path(), "node_modules/b/index.js", "2");
        let with_packages = Sources::read(dir.path()).expect("is read");
        assert_eq!(before.all(), with_packages.all());
        write(dir.path(), "src/a.js", "3");
        let changed = Sources::read(dir.path()).expect("is read");
        assert_ne!(before.all(), changed.all());
        assert_eq!(before.manifests(), changed.manifests());
    }

    #[test]
    fn a_copy_drops_old_sources_and_keeps_packages() {
        let dir = tempfile::tempdir().expect("a folder");
        let folders = Folders {
            sources: dir.path().join("sources"),
            work: dir.path().join("work"),
            pages: dir.path().join("pages"),
        };
        write(&folders.sources, "src/new.js", "1");
        write(&folders.work, "src/old.js", "1");
        write(&folders.work, "node_modules/b/index.js", "2");
        let sources = Sources::read(&folders.sources).expect("is read");
        sources.copy(&folders).expect("is copied");
        let left = |path: &str| folders.work.join(path).exists();
        assert!(left("src/new.js") && left("node_modules/b/index.js"));
        assert!(!left("src/old.js"));
    }

    #[test]
    fn a_result_counts_only_with_its_note() {
        let dir = tempfile::tempdir().expect("a folder");
        let folders = Folders {
            sources: dir.path().join("sources"),
            work: dir.path().to_path_buf(),
            pages: dir.path().join("pages"),
        };
        folders.note(BUILT, "one").expect("is noted");
        assert!(!folders.has(&folders.pages, BUILT, "one"));
        write(&folders.pages, "index.html", "");
        assert!(folders.has(&folders.pages, BUILT, "one"));
        assert!(!folders.has(&folders.pages, BUILT, "two"));
        folders.forget(BUILT).expect("is forgotten");
        assert!(!folders.has(&folders.pages, BUILT, "one"));
    }
}
