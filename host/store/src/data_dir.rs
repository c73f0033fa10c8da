//! The data directory: private to its owner, used by one process at a time.

use std::fs::{DirBuilder, DirEntry, File, OpenOptions};
use std::io::{self, Read, Seek, Write};
use std::os::unix::fs::{DirBuilderExt, MetadataExt, OpenOptionsExt, PermissionsExt};
use std::path::{Path, PathBuf};

use rustix::fs::{FlockOperation, flock};
use rustix::io::Errno;

const LOCK_FILE: &str = "trawl.lock";
const DATABASE_FILE: &str = "trawl.db";
const SOCKET_FILE: &str = "control.sock";
/// Number of the last ledger entry.
const LEDGER_MARK_FILE: &str = "ledger.last";
/// Says that the accounts are in a PostgreSQL database, and in which.
const POSTGRES_FILE: &str = "store.postgres";
/// What a server has in its directory once its database is not empty.
const LATER_FILES: [&str; 3] = ["admin.key", LEDGER_MARK_FILE, "crawls"];
const PRIVATE_DIRECTORY: u32 = 0o700;
const PRIVATE_FILE: u32 = 0o600;
/// Permission bits of the group and of others.
const NOT_OWN: u32 = 0o077;
/// What the server writes into its directory: a name, or its beginning if it ends with `-`.
const OWN_NAMES: [&str; 11] = [
    POSTGRES_FILE,
    LOCK_FILE,
    "trawl.db",
    "trawl.db-",
    SOCKET_FILE,
    LEDGER_MARK_FILE,
    "admin.key",
    "admin.key.new",
    "cache",
    "compiled",
    "crawls",
];

/// A data directory, locked for this process until it is dropped or the process ends.
#[derive(Debug)]
pub struct DataDir {
    path: PathBuf,
    // Closing the file releases the lock.
    _lock: File,
}

/// Why a data directory cannot be used.
#[derive(Debug, thiserror::Error)]
pub enum DataDirError {
    /// It does not exist, and this call does not create it.
    #[error(
        "there is no data directory `{path}`: `trawl serve` and `trawl account create` create one, `--data` selects another"
    )]
    Missing {
        /// The directory.
        path: PathBuf,
    },
    /// It is locked by another process.
    #[error(
        "the data directory `{path}` is in use by {holder}: stop it first, or select another directory with `--data`"
    )]
    InUse {
        /// The directory.
        path: PathBuf,
        /// The process that holds the lock: `process 123`.
        holder: String,
    },
    /// An I/O error.
    #[error(
        "the data directory `{directory}` cannot be used: failed to {doing} `{path}`{}",
        remedy(.source)
    )]
    Io {
        /// The directory.
        directory: PathBuf,
        /// The directory, or a file in it.
        path: PathBuf,
        /// The operation.
        doing: &'static str,
        /// The cause.
        #[source]
        source: io::Error,
    },
}

impl DataDir {
    /// Creates the directory if it is missing, and locks it for this process.
    ///
    /// # Errors
    /// [`DataDirError::InUse`] if another process has locked it, [`DataDirError::Io`] on an I/O
    /// error.
    pub fn create(path: &Path) -> Result<Self, DataDirError> {
        let is_new = !path.exists();
        DirBuilder::new()
            .recursive(true)
            .mode(PRIVATE_DIRECTORY)
            .create(path)
            .map_err(io_error(path, path, "create"))?;
        if is_new {
            // The umask may have removed bits from the mode above.
            make_private(path, path)?;
        }
        Self::open(path)
    }

    /// Locks an existing directory for this process. A directory that others may enter is made
    /// private if it holds nothing but the server's own files, see Decision D181.
    ///
    /// # Errors
    /// As [`DataDir::create`], and [`DataDirError::Missing`].
    pub fn open(path: &Path) -> Result<Self, DataDirError> {
        if !path.is_dir() {
            let path = path.to_path_buf();
            return Err(DataDirError::Missing { path });
        }
        let lock = lock(path)?;
        narrow(path)?;
        Ok(Self {
            path: path.to_path_buf(),
            _lock: lock,
        })
    }

    /// The directory.
    pub fn path(&self) -> &Path {
        &self.path
    }

    /// Path of a private folder in the directory, which is created if it is missing.
    ///
    /// # Errors
    /// [`DataDirError::Io`].
    pub fn private_folder(&self, name: &str) -> Result<PathBuf, DataDirError> {
        let path = self.path.join(name);
        match std::fs::symlink_metadata(&path) {
            // What a link points to is not ours.
            Ok(found) if found.is_symlink() => {}
            Ok(found) if found.permissions().mode() & NOT_OWN == 0 => {}
            Ok(_) => make_private(&self.path, &path)?,
            Err(_) => DirBuilder::new()
                .mode(PRIVATE_DIRECTORY)
                .create(&path)
                .map_err(io_error(&self.path, &path, "create"))?,
        }
        Ok(path)
    }

    /// Path of the control socket of a directory.
    pub fn socket_path(path: &Path) -> PathBuf {
        path.join(SOCKET_FILE)
    }

    /// Path of the database file of a directory.
    pub(crate) fn database_path(path: &Path) -> PathBuf {
        path.join(DATABASE_FILE)
    }

    /// Path of the file of a directory with the number of its last ledger entry.
    pub(crate) fn ledger_mark_path(path: &Path) -> PathBuf {
        path.join(LEDGER_MARK_FILE)
    }

    /// The PostgreSQL server and database that have the accounts of a directory, if they are there.
    pub(crate) fn postgres_of(path: &Path) -> Option<String> {
        std::fs::read_to_string(path.join(POSTGRES_FILE)).ok()
    }

    /// A file that is there only after a database was used.
    pub(crate) fn left_by_a_database(&self) -> Option<&'static str> {
        LATER_FILES
            .into_iter()
            .find(|name| self.path.join(name).exists())
    }

    /// Whether the directory has a SQLite database.
    pub(crate) fn has_database(&self) -> bool {
        self.path.join(DATABASE_FILE).exists()
    }

    /// The PostgreSQL server and database that have the accounts, if they are there.
    pub(crate) fn postgres(&self) -> Option<String> {
        Self::postgres_of(&self.path)
    }

    /// Notes that the accounts are in a PostgreSQL database.
    pub(crate) fn note_postgres(&self, server: &str) -> Result<(), DataDirError> {
        private_file(&self.path, POSTGRES_FILE)?;
        let path = self.path.join(POSTGRES_FILE);
        std::fs::write(&path, server).map_err(io_error(&self.path, &path, "write"))
    }

    /// The file with the number of the last ledger entry, created if it is missing.
    pub(crate) fn ledger_mark(&self) -> Result<File, DataDirError> {
        private_file(&self.path, LEDGER_MARK_FILE)
    }

    /// Path of the database file, created with a private mode. SQLite gives its other files the
    /// same mode.
    pub(crate) fn database(&self) -> Result<PathBuf, DataDirError> {
        private_file(&self.path, DATABASE_FILE)?;
        Ok(Self::database_path(&self.path))
    }
}

/// Takes the rights of the group and of others from a directory that is the server's alone. Any
/// other one is left as it is, with a warning: it may be `/srv`, or shared on purpose.
fn narrow(path: &Path) -> Result<(), DataDirError> {
    let found = std::fs::metadata(path).map_err(io_error(path, path, "read the mode of"))?;
    let mode = found.permissions().mode() & 0o777;
    if mode & NOT_OWN == 0 {
        return Ok(());
    }
    let shown = format!("{mode:03o}");
    let is_own = found.uid() == rustix::process::geteuid().as_raw() && holds_own_files_only(path);
    if is_own && make_private(path, path).is_ok() {
        tracing::info!(
            was = shown,
            "the data directory was open to other users, it is private now"
        );
    } else {
        tracing::warn!(
            mode = shown,
            "the data directory is open to other users; make it private with `chmod 700`"
        );
    }
    Ok(())
}

fn holds_own_files_only(path: &Path) -> bool {
    let is_own = |entry: io::Result<DirEntry>| {
        entry.is_ok_and(|entry| {
            let name = entry.file_name();
            let name = name.to_string_lossy();
            OWN_NAMES.iter().any(|own| match own.strip_suffix('-') {
                Some(_) => name.starts_with(own),
                None => name == *own,
            })
        })
    };
    std::fs::read_dir(path).is_ok_and(|mut entries| entries.all(is_own))
}

/// Makes a data directory, or a folder in it, private.
fn make_private(directory: &Path, path: &Path) -> Result<(), DataDirError> {
    std::fs::set_permissions(path, PermissionsExt::from_mode(PRIVATE_DIRECTORY)).map_err(io_error(
        directory,
        path,
        "change the mode of",
    ))
}

fn lock(directory: &Path) -> Result<File, DataDirError> {
    let path = directory.join(LOCK_FILE);
    let mut file = private_file(directory, LOCK_FILE)?;
    match flock(&file, FlockOperation::NonBlockingLockExclusive) {
        Ok(()) => {}
        Err(Errno::WOULDBLOCK) => {
            let mut process = String::new();
            let holder = match file.read_to_string(&mut process) {
                Ok(_) if !process.trim().is_empty() => format!("process {}", process.trim()),
                _ => "another process".to_owned(),
            };
            let path = directory.to_path_buf();
            return Err(DataDirError::InUse { path, holder });
        }
        Err(error) => return Err(io_error(directory, &path, "lock")(error.into())),
    }
    // The process id is for error messages only; the lock is what counts.
    file.set_len(0)
        .and_then(|()| file.rewind())
        .and_then(|()| writeln!(file, "{}", std::process::id()))
        .map_err(io_error(directory, &path, "write to"))?;
    Ok(file)
}

fn private_file(directory: &Path, name: &str) -> Result<File, DataDirError> {
    let path = directory.join(name);
    OpenOptions::new()
        .read(true)
        .write(true)
        .create(true)
        .truncate(false)
        .mode(PRIVATE_FILE)
        .open(&path)
        .map_err(io_error(directory, &path, "open"))
}

/// What to do about an I/O error in a data directory, to follow its text; empty if that is not
/// known.
fn remedy(error: &io::Error) -> &'static str {
    match error.kind() {
        io::ErrorKind::PermissionDenied => {
            "; run the program as the owner of the directory, give the directory and its files to the user of the program, or choose another directory"
        }
        io::ErrorKind::ReadOnlyFilesystem => {
            "; choose a directory on a file system that can be written"
        }
        _ => "",
    }
}

fn io_error(
    directory: &Path,
    path: &Path,
    doing: &'static str,
) -> impl FnOnce(io::Error) -> DataDirError {
    let (directory, path) = (directory.to_path_buf(), path.to_path_buf());
    move |source| DataDirError::Io {
        directory,
        path,
        doing,
        source,
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn mode(path: &Path) -> u32 {
        let metadata = std::fs::metadata(path).expect("the path exists");
        metadata.permissions().mode() & 0o777
    }

    #[test]
    fn a_new_directory_and_its_files_are_private() {
        let parent = tempfile::tempdir().expect("a temporary directory");
        let path = parent.path().join("a/data");
        let data = DataDir::create(&path).expect("a new directory");
        let database = data.database().expect("a database file");
        assert_eq!(mode(&path), 0o700);
        assert_eq!(mode(&database), 0o600);
        assert_eq!(mode(&path.join(LOCK_FILE)), 0o600);
    }

    #[test]
    fn a_directory_of_ours_is_made_private_and_a_shared_one_is_not() {
        let parent = tempfile::tempdir().expect("a temporary directory");
        let widen = |path: &Path| {
            std::fs::set_permissions(path, PermissionsExt::from_mode(0o755)).expect("its mode");
        };
        let path = parent.path().join("data");
        drop(DataDir::create(&path).expect("a new directory"));
        widen(&path);
        let data = DataDir::create(&path).expect("the same");
        assert_eq!(mode(&path), 0o700);
        let compiled = data.private_folder("compiled").expect("a folder");
        assert_eq!(mode(&compiled), 0o700);
        widen(&compiled);
        data.private_folder("compiled").expect("the same");
        assert_eq!(mode(&compiled), 0o700);
        drop(data);
        std::fs::write(path.join("notes.txt"), "").expect("a file of a user");
        widen(&path);
        drop(DataDir::create(&path).expect("the same"));
        assert_eq!(mode(&path), 0o755);
    }

    #[test]
    fn a_directory_is_used_by_one_process_at_a_time() {
        let parent = tempfile::tempdir().expect("a temporary directory");
        let first = DataDir::create(parent.path()).expect("the first");
        let refusal = DataDir::create(parent.path()).expect_err("the second is refused");
        let text = refusal.to_string();
        assert!(text.contains("is in use by process"), "{text}");
        assert!(text.contains(&std::process::id().to_string()), "{text}");
        drop(first);
        DataDir::open(parent.path()).expect("free again");
    }

    #[test]
    fn an_error_names_the_directory_the_file_and_what_to_do() {
        let parent = tempfile::tempdir().expect("a temporary directory");
        let path = parent.path().join("data");
        std::fs::create_dir_all(path.join(LOCK_FILE)).expect("a folder in place of the file");
        let text = DataDir::open(&path).expect_err("no lock").to_string();
        let begin = format!("the data directory `{}` cannot be used", path.display());
        assert!(text.starts_with(&begin), "{text}");
        let end = format!("failed to open `{}`", path.join(LOCK_FILE).display());
        assert!(text.ends_with(&end), "{text}");

        let denied = io::Error::from(io::ErrorKind::PermissionDenied);
        let text = io_error(&path, &path.join(LOCK_FILE), "open")(denied).to_string();
        assert!(text.contains("as the owner of the directory"), "{text}");
    }

    #[test]
    fn a_missing_directory_is_an_error() {
        let parent = tempfile::tempdir().expect("a temporary directory");
        let refusal = DataDir::open(&parent.path().join("none")).expect_err("it is missing");
        assert!(matches!(refusal, DataDirError::Missing { .. }));
    }
}
