//! Compiled code on disk, a file for each component. It is stored as it is needed in memory: each
//! start loads all of it, and would have to decompress it. Decision D181.

use std::fs::{self, DirBuilder};
use std::io::{self, Write};
use std::os::unix::fs::DirBuilderExt;
use std::path::{Path, PathBuf};

/// Ending of the files' names.
const ENDING: &str = "code";
/// Size of all files; the oldest are removed first.
const BYTES_MAX: u64 = 1 << 30;
/// Permissions of a new folder: who can change its files can change what the server runs.
const PRIVATE: u32 = 0o700;

/// The files of a folder.
#[derive(Debug)]
pub(super) struct CodeFiles {
    folder: PathBuf,
    bytes_max: u64,
}

/// The content of a file: the hash of the code, which agrees with it, and the code.
#[derive(Debug)]
pub(super) struct StoredCode(Vec<u8>);

impl StoredCode {
    /// The code as it was stored.
    pub(super) fn bytes(&self) -> &[u8] {
        &self.0[blake3::OUT_LEN..]
    }
}

impl CodeFiles {
    /// Those of this folder, which is created if need be.
    pub(super) fn open(folder: &Path) -> io::Result<Self> {
        let mut builder = DirBuilder::new();
        let created = builder.recursive(true).mode(PRIVATE).create(folder);
        created.map_err(|error| {
            let reason = format!("cannot create `{}`: {error}", folder.display());
            io::Error::new(error.kind(), reason)
        })?;
        Ok(Self {
            folder: folder.to_path_buf(),
            bytes_max: BYTES_MAX,
        })
    }

    /// The code of the component with this hash; `None` if there is none, or it is damaged.
    pub(super) fn read(&self, component: &blake3::Hash) -> Option<StoredCode> {
        let bytes = fs::read(self.path(component)).ok()?;
        let (hash, code) = bytes.split_first_chunk::<{ blake3::OUT_LEN }>()?;
        let is_whole = blake3::hash(code) == *hash;
        is_whole.then_some(StoredCode(bytes))
    }

    /// Stores the code of the component with this hash, in place of what is there.
    pub(super) fn write(&self, component: &blake3::Hash, code: &[u8]) -> io::Result<()> {
        let ending = format!(".{ENDING}");
        let mut file = tempfile::Builder::new()
            .suffix(&ending)
            .tempfile_in(&self.folder)?;
        file.write_all(blake3::hash(code).as_bytes())?;
        file.write_all(code)?;
        let stored = file.persist(self.path(component));
        stored.map_err(|error| error.error)?;
        self.trim()
    }

    /// Removes the oldest files while all of them are too large.
    fn trim(&self) -> io::Result<()> {
        let mut files = Vec::new();
        for entry in fs::read_dir(&self.folder)?.flatten() {
            let path = entry.path();
            let is_code = path.extension().is_some_and(|ending| ending == ENDING);
            // Another process may have removed it.
            if is_code && let Ok(found) = entry.metadata() {
                files.push((found.modified()?, path, found.len()));
            }
        }
        files.sort_unstable();
        let mut n_bytes: u64 = files.iter().map(|(_, _, n_bytes)| *n_bytes).sum();
        for (_, path, n_of_file) in files {
            if n_bytes <= self.bytes_max {
                break;
            }
            n_bytes -= n_of_file;
            let _gone = fs::remove_file(path);
        }
        Ok(())
    }

    fn path(&self, component: &blake3::Hash) -> PathBuf {
        self.folder.join(format!("{component}.{ENDING}"))
    }
}

#[cfg(test)]
mod tests {
    use std::os::unix::fs::PermissionsExt;

    use super::*;

    fn component(name: &str) -> blake3::Hash {
        blake3::hash(name.as_bytes())
    }

    fn read(files: &CodeFiles, name: &str) -> Option<Vec<u8>> {
        let stored = files.read(&component(name))?;
        Some(stored.bytes().to_vec())
    }

    #[test]
    fn code_is_found_by_its_component_and_is_private() {
        let parent = tempfile::tempdir().expect("a folder");
        let folder = parent.path().join("cache/compiled");
        let files = CodeFiles::open(&folder).expect("a new folder");
        assert_eq!(read(&files, "one"), None);
        files.write(&component("one"), b"old").expect("is written");
        files.write(&component("one"), b"new").expect("is replaced");
        files.write(&component("two"), b"").expect("is written");
        let again = CodeFiles::open(&folder).expect("the same folder");
        assert_eq!(read(&again, "one").as_deref(), Some(&b"new"[..]));
        assert_eq!(read(&again, "two").as_deref(), Some(&b""[..]));
        let of_all = fs::read_dir(&folder).expect("a folder").count();
        assert_eq!(of_all, 2, "nothing else is left");
        let mode = fs::metadata(&folder).expect("a folder").permissions();
        assert_eq!(mode.mode() & 0o777, PRIVATE);
    }

    #[test]
    fn damaged_code_is_not_used() {
        let folder = tempfile::tempdir().expect("a folder");
        let files = CodeFiles::open(folder.path()).expect("the folder");
        files.write(&component("one"), b"code").expect("is written");
        let path = files.path(&component("one"));
        let whole = fs::read(&path).expect("the file");
        let mut changed = whole.clone();
        changed[blake3::OUT_LEN] ^= 1;
        let cut_off = &whole[..whole.len() - 1];
        for damaged in [cut_off, &whole[..5], &whole[..0], &changed[..]] {
            fs::write(&path, damaged).expect("is changed");
            assert_eq!(read(&files, "one"), None, "{} bytes", damaged.len());
        }
        fs::write(&path, &whole).expect("is restored");
        assert_eq!(read(&files, "one").as_deref(), Some(&b"code"[..]));
    }

    #[test]
    fn the_oldest_files_make_room() {
        let folder = tempfile::tempdir().expect("a folder");
        let mut files = CodeFiles::open(folder.path()).expect("the folder");
        let file_bytes = blake3::OUT_LEN as u64 + 4;
        files.bytes_max = 2 * file_bytes;
        fs::write(folder.path().join("notes.txt"), [0; 1_000]).expect("a file of others");
        for name in ["one", "two"] {
            files.write(&component(name), b"code").expect("is written");
        }
        let one = fs::File::open(files.path(&component("one"))).expect("a file");
        one.set_modified(std::time::UNIX_EPOCH).expect("is old");
        files
            .write(&component("three"), b"code")
            .expect("is written");
        assert_eq!(read(&files, "one"), None);
        assert!(read(&files, "two").is_some() && read(&files, "three").is_some());
        assert!(folder.path().join("notes.txt").exists());
    }
}
