//! The socket's file: private from the moment it exists, reachable however long its path is.

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

/// Longest path that an address of a socket holds, its final zero not counted (unix(7)).
const ADDRESS_BYTES_MAX: usize = 107;
/// Connections that wait to be accepted.
const BACKLOG: i32 = 16;

/// Makes the socket of a data directory that this process has taken. One that a killed server left is replaced.
pub(super) fn bound(data: &Path) -> io::Result<UnixListener> {
    let path = DataDir::socket_path(data);
    match std::fs::remove_file(&path) {
        Err(error) if error.kind() != io::ErrorKind::NotFound => return Err(error),
        _ => {}
    }
    let flags = SocketFlags::CLOEXEC | SocketFlags::NONBLOCK;
    let socket = socket_with(AddressFamily::UNIX, SocketType::STREAM, flags, None)?;
    // Before it has a name: on Linux the file takes the socket's mode, so there is no moment when others can connect.
    fchmod(&socket, Mode::RUSR | Mode::WUSR)?;
    let short = Short::of(&path)?;
    bind(&socket, &SocketAddrUnix::new(&short.path)?)?;
    listen(&socket, BACKLOG)?;
    UnixListener::from_std(StdListener::from(socket))
}

/// Connects to the socket of a data directory.
pub(super) async fn connected(data: &Path) -> io::Result<UnixStream> {
    let short = Short::of(&DataDir::socket_path(data))?;
    UnixStream::connect(&short.path).await
}

/// A path that fits an address: the path itself, or one through the open directory.
struct Short {
    path: PathBuf,
    // The path leads through this descriptor.
    _directory: Option<File>,
}

impl Short {
    fn of(path: &Path) -> io::Result<Self> {
        let (Some(directory), Some(name)) = (path.parent(), path.file_name()) else {
            return Err(io::ErrorKind::InvalidFilename.into());
        };
        if path.as_os_str().len() <= ADDRESS_BYTES_MAX {
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
