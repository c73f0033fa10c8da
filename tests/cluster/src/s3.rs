//! A server of S3: `moto` from PyPI, with its data in memory.

use std::fs::File;
use std::net::{Ipv4Addr, SocketAddr};
use std::path::Path;
use std::process::{Child, Command, Stdio};
use std::time::{Duration, Instant};

use anyhow::{Context, bail};

use crate::http::{self, Request};
use crate::node::free_port;

/// How long it may take to start.
const START_MAX: Duration = Duration::from_secs(60);
/// The bucket that it has.
pub const BUCKET: &str = "pages";

/// A running server. It ends when it is dropped, and its data with it.
#[derive(Debug)]
pub struct S3 {
    process: Child,
    port: u16,
}

impl S3 {
    /// Starts the server; `None` if Python lacks the package.
    ///
    /// # Errors
    /// It does not start.
    pub fn start(folder: &Path) -> anyhow::Result<Option<Self>> {
        let import = ["-c", "import moto.server, flask_cors"];
        let found = Command::new("python3").args(import).output();
        if !found.is_ok_and(|found| found.status.success()) {
            return Ok(None);
        }
        let port = free_port()?;
        let log = File::create(folder.join("s3.log"))?;
        let process = Command::new("python3")
            .args(["-m", "moto.server", "-H", "127.0.0.1", "-p"])
            .arg(port.to_string())
            .stdin(Stdio::null())
            .stdout(Stdio::null())
            .stderr(log)
            .spawn()
            .context("cannot start Python")?;
        let server = Self { process, port };
        let deadline = Instant::now() + START_MAX;
        loop {
            let path = format!("/{BUCKET}");
            let created = http::send(server.address(), "", &Request::new("PUT", &path));
            match created {
                Ok(answer) if answer.status == 200 => return Ok(Some(server)),
                other if Instant::now() >= deadline => bail!("no S3 server: {other:?}"),
                _ => std::thread::sleep(Duration::from_millis(100)),
            }
        }
    }

    /// Where it listens.
    pub fn address(&self) -> SocketAddr {
        SocketAddr::from((Ipv4Addr::LOCALHOST, self.port))
    }
}

impl Drop for S3 {
    fn drop(&mut self) {
        // It may have ended already.
        let _killed = self.process.kill();
        let _ended = self.process.wait();
    }
}
