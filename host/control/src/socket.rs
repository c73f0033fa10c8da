//! The control socket: private from the moment it exists, reachable even if its path is long.

use std::fs::File;
use std::io;
use std::os::fd::AsRawFd;
use std::os::unix::net::UnixListener as StdListener;
use std::path::{Path, PathBuf};

use rustix::fs::{Mode, fchmod};
use rustix::net::{
    AddressFamily, SocketAddrUnix, SocketFlags, SocketType, bind, listen, socket_with,
};
use tokio::net::{UnixListener, UnixStream};

use trawl_store::DataDir;

/// Maximum path length of a socket address without the final zero, in bytes (unix(7)).
const PATH_BYTES_MAX: usize = 107;
/// Maximum number of pending connections.
const BACKLOG: i32 = 16;

/// Creates the socket of a data directory that this process has locked. Replaces a stale one.
pub(crate) fn bind_listener(data: &Path) -> io::Result<UnixListener> {
    let path = DataDir::socket_path(data);
    match std::fs::remove_file(&path) {
        Err(error) if error.kind() != io::ErrorKind::NotFound => return Err(error),
        _ => {}
    }
    let flags = SocketFlags::CLOEXEC | SocketFlags::NONBLOCK;
    let socket = socket_with(AddressFamily::UNIX, SocketType::STREAM, flags, None)?;
    // Before bind: on Linux the file gets the mode of the socket, so others can never connect.
    fchmod(&socket, Mode::RUSR | Mode::WUSR)?;
    let short = ShortPath::of(&path)?;
    bind(&socket, &SocketAddrUnix::new(&short.path)?)?;
    listen(&socket, BACKLOG)?;
    UnixListener::from_std(StdListener::from(socket))
}

/// Connects to the socket of a data directory.
pub(crate) async fn connect(data: &Path) -> io::Result<UnixStream> {
    let short = ShortPath::of(&DataDir::socket_path(data))?;
    UnixStream::connect(&short.path).await
}

/// A path that fits a socket address: the path itself, or one through a directory descriptor.
struct ShortPath {
    path: PathBuf,
    // Keeps the descriptor in the path open.
    _directory: Option<File>,
}

impl ShortPath {
    fn of(path: &Path) -> io::Result<Self> {
        let (Some(directory), Some(name)) = (path.parent(), path.file_name()) else {
            return Err(io::ErrorKind::InvalidFilename.into());
        };
        if path.as_os_str().len() <= PATH_BYTES_MAX {
            return Ok(Self {
                path: path.to_path_buf(),
                _directory: None,
            });
        }
        let directory = File::open(directory)?;
        let through = format!("/proc/self/fd/{}", directory.as_raw_fd());
        Ok(Self {
            path: Path::new(&through).join(name),
            _directory: Some(directory),
        })
    }
}
