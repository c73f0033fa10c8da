//! A folder below `target` in which npm and other package managers work on a copy of our sources,
//! so that the sources stay free of other people's packages.

use std::path::{Path, PathBuf};
use std::process::Command;
use std::time::Duration;

use anyhow::{Context, bail};
use trawl_guest_build::{Exit, run_within};

use crate::workspace;

/// What npm reads.
pub(crate) const NPM_MANIFESTS: [&str; 2] = ["package.json", "package-lock.json"];
/// What npm leaves in the folder; it outlives a change of our sources.
pub(crate) const NPM_PACKAGES: &str = "node_modules";

/// The oldest Node.js that every package in use runs on.
const NODE_MIN: (u32, u32) = (20, 19);

/// How long a tool may take to say its version.
const VERSION_LIMIT: Duration = Duration::from_secs(20);

/// How long npm may take to fetch the packages: 20 MB from a slow registry.
const NPM_LIMIT: Duration = Duration::from_secs(300);

/// Our sources, the folder in which packages are installed and used, and what is not ours in it.
pub(crate) struct Workshop {
    pub(crate) sources: PathBuf,
    pub(crate) work: PathBuf,
    /// Names in the folder that outlive a change of our sources: packages and notes.
    pub(crate) lasting: &'static [&'static str],
}

impl Workshop {
    /// The workshop of two folders, both relative to the workspace.
    pub(crate) fn new(sources: &str, work: &str, lasting: &'static [&'static str]) -> Self {
        let root = workspace::root();
        Self {
            sources: root.join(sources),
            work: root.join(work),
            lasting,
        }
    }

    /// Whether `result` is there and was made from the sources with this fingerprint.
    pub(crate) fn has(&self, result: &Path, note: &str, fingerprint: &str) -> bool {
        let noted = std::fs::read_to_string(self.work.join(note));
        result.is_dir() && noted.is_ok_and(|noted| noted == fingerprint)
    }

    /// Notes from which sources something was made.
    pub(crate) fn note(&self, note: &str, fingerprint: &str) -> anyhow::Result<()> {
        std::fs::write(self.work.join(note), fingerprint).context("cannot write a note")
    }

    /// Removes a note.
    pub(crate) fn forget(&self, note: &str) -> anyhow::Result<()> {
        remove(&self.work.join(note))
    }

    /// Puts the sources into the folder, and nothing else but packages and notes.
    pub(crate) fn copy(&self, sources: &Sources) -> anyhow::Result<()> {
        std::fs::create_dir_all(&self.work)?;
        for entry in std::fs::read_dir(&self.work)? {
            let path = entry?.path();
            if !self.lasting.iter().any(|name| path.ends_with(name)) {
                remove(&path)?;
            }
        }
        for (path, content) in &sources.0 {
            let to = self.work.join(path);
            std::fs::create_dir_all(to.parent().unwrap_or(&self.work))?;
            std::fs::write(&to, content)
                .with_context(|| format!("cannot write `{}`", to.display()))?;
        }
        Ok(())
    }

    /// Installs the packages of the lock file.
    pub(crate) fn npm_ci(&self) -> anyhow::Result<()> {
        let arguments = ["ci", "--ignore-scripts", "--prefer-offline", "--no-audit"];
        self.run("npm", &arguments, NPM_LIMIT).map(drop)
    }

    /// Runs a command in the folder; what it printed.
    pub(crate) fn run(
        &self,
        program: &str,
        arguments: &[&str],
        limit: Duration,
    ) -> anyhow::Result<String> {
        let mut command = Command::new(program);
        command.current_dir(&self.work).args(arguments);
        let line = workspace::in_words(&command);
        match run_within(&mut command, limit)? {
            Exit::Success(said) => Ok(said),
            Exit::Failure(reason) => bail!("`{line}` failed: {reason}"),
            Exit::Timeout => bail!("`{line}` took longer than {} s", limit.as_secs()),
        }
    }
}

/// The version of Node.js, when it and npm are there and new enough.
pub(crate) fn node() -> anyhow::Result<String> {
    const ASK: &str = "run `apt-get install nodejs npm`";
    let node = version_of("node", &["--version"], ASK)?;
    version_of("npm", &["--version"], ASK)?;
    if first_two(&node).is_none_or(|found| found < NODE_MIN) {
        let (major, minor) = NODE_MIN;
        bail!("`node` is `{node}`, and the packages in use need {major}.{minor} or newer");
    }
    Ok(node)
}

/// What a tool says its version is.
pub(crate) fn version_of(tool: &str, arguments: &[&str], ask: &str) -> anyhow::Result<String> {
    let Ok(ended) = run_within(Command::new(tool).args(arguments), VERSION_LIMIT) else {
        bail!("`{tool}` is missing: {ask}");
    };
    let line = format!("{tool} {}", arguments.join(" "));
    match ended {
        Exit::Success(version) => Ok(version.trim().to_owned()),
        Exit::Failure(reason) => bail!("`{line}` failed: {reason}"),
        Exit::Timeout => bail!("`{line}` does not answer"),
    }
}

/// The first two numbers of `v20.1.2` or `Python 3.11.7`.
pub(crate) fn first_two(version: &str) -> Option<(u32, u32)> {
    let numbers = version.trim_start_matches(|letter: char| !letter.is_ascii_digit());
    let mut numbers = numbers.split('.').map(str::parse);
    Some((numbers.next()?.ok()?, numbers.next()?.ok()?))
}

/// Our sources: path below their folder and content, ordered by path.
pub(crate) struct Sources(Vec<(PathBuf, Vec<u8>)>);

impl Sources {
    /// Reads a folder.
    pub(crate) fn read(dir: &Path) -> anyhow::Result<Self> {
        let mut files = Vec::new();
        let mut folders = vec![dir.to_path_buf()];
        while let Some(folder) = folders.pop() {
            let entries = std::fs::read_dir(&folder)
                .with_context(|| format!("cannot read `{}`", folder.display()))?;
            for entry in entries {
                let path = entry?.path();
                if path.is_dir() {
                    // Left by an npm that was run by hand.
                    if !path.ends_with(NPM_PACKAGES) {
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
    pub(crate) fn all(&self) -> String {
        fingerprint(self.0.iter())
    }

    /// The fingerprint of the files with these names.
    pub(crate) fn of(&self, names: &[&str]) -> String {
        let is_one = |path: &Path| names.iter().any(|name| path == Path::new(name));
        fingerprint(self.0.iter().filter(|(path, _)| is_one(path)))
    }

    /// Only the files with these names.
    pub(crate) fn only(self, names: &[&str]) -> Self {
        let is_one = |path: &Path| names.iter().any(|name| path == Path::new(name));
        Self(
            self.0
                .into_iter()
                .filter(|(path, _)| is_one(path))
                .collect(),
        )
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
pub(crate) fn remove(path: &Path) -> anyhow::Result<()> {
    let removed = if path.is_dir() {
        std::fs::remove_dir_all(path)
    } else if path.exists() {
        std::fs::remove_file(path)
    } else {
        Ok(())
    };
    removed.with_context(|| format!("cannot remove `{}`", path.display()))
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
    fn the_first_numbers_of_a_version_are_read() {
        assert_eq!(first_two("v20.20.2"), Some((20, 20)));
        assert_eq!(first_two("Python 3.11.7"), Some((3, 11)));
        assert_eq!(first_two("20"), None);
        assert_eq!(first_two("none"), None);
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
        assert_eq!(before.of(&NPM_MANIFESTS), changed.of(&NPM_MANIFESTS));
        let manifests = changed.only(&NPM_MANIFESTS);
        assert_eq!(manifests.0.len(), 1);
    }

    #[test]
    fn a_copy_drops_old_sources_and_leaves_packages() {
        let dir = tempfile::tempdir().expect("a folder");
        let workshop = Workshop {
            sources: dir.path().join("sources"),
            work: dir.path().join("work"),
            lasting: &[NPM_PACKAGES],
        };
        write(&workshop.sources, "src/new.js", "1");
        write(&workshop.work, "src/old.js", "1");
        write(&workshop.work, "node_modules/b/index.js", "2");
        let sources = Sources::read(&workshop.sources).expect("is read");
        workshop.copy(&sources).expect("is copied");
        let left = |path: &str| workshop.work.join(path).exists();
        assert!(left("src/new.js") && left("node_modules/b/index.js"));
        assert!(!left("src/old.js"));
    }

    #[test]
    fn a_result_counts_only_with_its_note() {
        let dir = tempfile::tempdir().expect("a folder");
        let workshop = Workshop {
            sources: dir.path().join("sources"),
            work: dir.path().to_path_buf(),
            lasting: &[],
        };
        let pages = dir.path().join("pages");
        workshop.note("built", "one").expect("is noted");
        assert!(!workshop.has(&pages, "built", "one"));
        write(&pages, "index.html", "");
        assert!(workshop.has(&pages, "built", "one"));
        assert!(!workshop.has(&pages, "built", "two"));
        workshop.forget("built").expect("is forgotten");
        assert!(!workshop.has(&pages, "built", "one"));
    }
}
