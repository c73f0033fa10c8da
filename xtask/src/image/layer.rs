//! Layers: a folder as a compressed archive that is the same in each build, named by its hash.

use std::fs::{self, File, Metadata};
use std::io::{self, BufWriter, Write};
use std::os::unix::fs::PermissionsExt;
use std::path::Path;
use std::process::Command;

use anyhow::Context;
use flate2::Compression;
use flate2::write::GzEncoder;
use sha2::{Digest, Sha256};
use tar::{Builder, EntryType, Header};

use super::root::sorted;
use super::settings::{DATA, USER};
use crate::workspace;

/// Rights of programs and folders, and of all other files. Nothing is set-user-id, and nothing
/// belongs to the user but the data directory.
const EXECUTABLE: u32 = 0o755;
const PLAIN: u32 = 0o644;
/// Rights of folders in which everybody writes, and of the data directory.
const SHARED: u32 = 0o1777;
const PRIVATE: u32 = 0o700;

/// A layer of an image.
#[derive(Debug)]
pub(super) struct Layer {
    /// SHA-256 of its file, which is the file's name, in hexadecimal.
    pub(super) hash: String,
    /// SHA-256 of what is compressed in it.
    pub(super) content_hash: String,
    /// Bytes of its file.
    pub(super) n_bytes: u64,
}

/// What is written, hashed and counted on its way.
struct Hashed<W> {
    inner: W,
    hash: Sha256,
    n_bytes: u64,
}

impl<W: Write> Hashed<W> {
    fn new(inner: W) -> Self {
        Self {
            inner,
            hash: Sha256::new(),
            n_bytes: 0,
        }
    }
}

impl<W: Write> Write for Hashed<W> {
    fn write(&mut self, bytes: &[u8]) -> io::Result<usize> {
        let n_written = self.inner.write(bytes)?;
        self.hash.update(&bytes[..n_written]);
        self.n_bytes += n_written as u64;
        Ok(n_written)
    }

    fn flush(&mut self) -> io::Result<()> {
        self.inner.flush()
    }
}

/// SHA-256 of these bytes, in hexadecimal.
pub(super) fn hash_of(bytes: &[u8]) -> String {
    format!("{:x}", Sha256::digest(bytes))
}

/// Writes the layer of a folder to `blobs`, under its hash.
pub(super) fn write(folder: &Path, blobs: &Path) -> anyhow::Result<Layer> {
    let unnamed = blobs.join("layer");
    let file = BufWriter::new(create(&unnamed)?);
    let compressed = GzEncoder::new(Hashed::new(file), Compression::default());
    let archive = archive(folder, Hashed::new(compressed))?;
    let content_hash = format!("{:x}", archive.hash.finalize());
    let mut compressed = archive.inner.finish()?;
    compressed.flush()?;
    let hash = format!("{:x}", compressed.hash.finalize());
    fs::rename(unnamed, blobs.join(&hash))?;
    Ok(Layer {
        hash,
        content_hash,
        n_bytes: compressed.n_bytes,
    })
}

/// Writes a folder as one archive.
pub(super) fn pack(folder: &Path, file: &Path) -> anyhow::Result<()> {
    let mut written = archive(folder, BufWriter::new(create(file)?))?;
    Ok(written.flush()?)
}

/// Unpacks a layer as root does: with the owners and rights that it names.
pub(super) fn unpack(layer: &Path, root: &Path) -> anyhow::Result<()> {
    workspace::run(
        Command::new("tar")
            .args(["--extract", "--gzip", "--numeric-owner", "--same-owner"])
            .args(["--preserve-permissions", "--directory"])
            .arg(root)
            .arg("--file")
            .arg(layer),
    )
}

fn create(file: &Path) -> anyhow::Result<File> {
    File::create(file).with_context(|| format!("cannot create `{}`", file.display()))
}

/// Archives what is in a folder, in order of the paths. Returns the writer.
fn archive<W: Write>(folder: &Path, writer: W) -> anyhow::Result<W> {
    let mut builder = Builder::new(writer);
    let mut waiting = sorted(folder)?;
    waiting.reverse();
    while let Some(path) = waiting.pop() {
        let name = path.strip_prefix(folder)?;
        let metadata = fs::symlink_metadata(&path)?;
        add(&mut builder, &path, name, &metadata)
            .with_context(|| format!("cannot archive `{}`", path.display()))?;
        if metadata.is_dir() {
            waiting.extend(sorted(&path)?.into_iter().rev());
        }
    }
    Ok(builder.into_inner()?)
}

/// Adds a file, a folder or a link: its time is 1970, its rights are one of four.
fn add<W: Write>(
    builder: &mut Builder<W>,
    path: &Path,
    name: &Path,
    metadata: &Metadata,
) -> io::Result<()> {
    let mut header = Header::new_gnu();
    let is_data = name == Path::new(DATA.trim_start_matches('/'));
    let owner = if is_data { u64::from(USER) } else { 0 };
    header.set_uid(owner);
    header.set_gid(owner);
    header.set_mtime(0);
    header.set_size(0);
    header.set_mode(mode(name, metadata));
    if metadata.is_dir() {
        header.set_entry_type(EntryType::Directory);
        builder.append_data(&mut header, name, io::empty())
    } else if metadata.is_symlink() {
        header.set_entry_type(EntryType::Symlink);
        builder.append_link(&mut header, name, fs::read_link(path)?)
    } else if metadata.is_file() {
        header.set_entry_type(EntryType::Regular);
        header.set_size(metadata.len());
        builder.append_data(&mut header, name, File::open(path)?)
    } else {
        Err(io::Error::other("it is neither a file nor a folder"))
    }
}

fn mode(name: &Path, metadata: &Metadata) -> u32 {
    let shared = ["tmp", "var/tmp"].map(Path::new);
    if shared.contains(&name) {
        SHARED
    } else if name == Path::new(DATA.trim_start_matches('/')) {
        PRIVATE
    } else if metadata.is_dir() || metadata.permissions().mode() & 0o111 != 0 {
        EXECUTABLE
    } else {
        PLAIN
    }
}

#[cfg(test)]
mod tests {
    use std::io::Read;
    use std::os::unix::fs::symlink;
    use std::path::PathBuf;

    use flate2::read::GzDecoder;
    use tar::Archive;

    use super::*;

    /// A root with a program that is set-user-id, a link, and folders of the user.
    fn root(dir: &Path) -> PathBuf {
        let root = dir.join("root");
        for folder in ["usr/bin", "tmp", "var/lib/trawl"] {
            fs::create_dir_all(root.join(folder)).expect("made");
        }
        let program = root.join("usr/bin/program");
        fs::write(&program, "code").expect("written");
        fs::set_permissions(&program, fs::Permissions::from_mode(0o4755)).expect("set");
        symlink("/usr/bin/program", root.join("usr/bin/link")).expect("linked");
        root
    }

    #[test]
    fn a_layer_is_the_same_in_each_build_and_named_by_its_hash() {
        let dir = tempfile::tempdir().expect("a folder");
        let root = root(dir.path());
        let first = write(&root, dir.path()).expect("a layer");
        let file = File::options()
            .write(true)
            .open(root.join("usr/bin/program"))
            .expect("opened");
        let later = std::time::UNIX_EPOCH + std::time::Duration::from_secs(86_400);
        file.set_modified(later).expect("changed");
        let second = write(&root, dir.path()).expect("a layer");
        assert_eq!(first.hash, second.hash);
        let bytes = fs::read(dir.path().join(&first.hash)).expect("the file");
        assert_eq!(hash_of(&bytes), first.hash);
        assert_eq!(bytes.len() as u64, first.n_bytes);
        let mut content = Vec::new();
        GzDecoder::new(&bytes[..])
            .read_to_end(&mut content)
            .expect("compressed");
        assert_eq!(hash_of(&content), first.content_hash);
    }

    #[test]
    fn a_layer_has_the_files_without_rights_of_others() {
        let dir = tempfile::tempdir().expect("a folder");
        let packed = archive(&root(dir.path()), Vec::new()).expect("an archive");
        let mut archive = Archive::new(&packed[..]);
        let entries = archive.entries().expect("entries").map(|entry| {
            let entry = entry.expect("an entry");
            let header = entry.header();
            let (mode, owner) = (header.mode().expect("rights"), header.uid().expect("owner"));
            let name = entry.path().expect("a name").display().to_string();
            (name, mode, owner, header.entry_type())
        });
        let entries: Vec<_> = entries.collect();
        let check = |name: &str, mode, owner, kind| {
            let entry = entries.iter().find(|entry| entry.0 == name);
            assert_eq!(entry, Some(&(name.to_owned(), mode, owner, kind)));
        };
        check("usr/bin/program", 0o755, 0, EntryType::Regular);
        check("tmp", 0o1777, 0, EntryType::Directory);
        check("var/lib/trawl", 0o700, 10_001, EntryType::Directory);
        check("usr", 0o755, 0, EntryType::Directory);
        let link = entries.iter().find(|entry| entry.0 == "usr/bin/link");
        assert!(link.is_some_and(|link| link.3 == EntryType::Symlink));
        let names: Vec<_> = entries.iter().map(|entry| entry.0.as_str()).collect();
        assert!(names.is_sorted(), "{names:?}");
    }
}
