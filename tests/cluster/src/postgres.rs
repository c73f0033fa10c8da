//! PostgreSQL servers: a primary, and a standby that has every commit before it is confirmed.

use std::fs::File;
use std::io::Write;
use std::net::{Ipv4Addr, SocketAddr, TcpStream};
use std::os::unix::fs::chown;
use std::os::unix::process::CommandExt as _;
use std::path::{Path, PathBuf};
use std::process::{Child, Command, Stdio};
use std::time::{Duration, Instant};

use anyhow::{Context, bail};

use crate::node::{free_port, signal};

/// Where Debian has the programs of each version: `15/bin`.
const VERSIONS: &str = "/usr/lib/postgresql";
/// How long a server may take to start.
const START_MAX: Duration = Duration::from_secs(60);
/// Who may run a server when this process is root's, who may not.
const USERS: [&str; 2] = ["postgres", "nobody"];
/// The file of the settings that change, included by `postgresql.conf`.
const CHANGED: &str = "changed.conf";

/// The programs of PostgreSQL, and the user who runs them.
#[derive(Clone, Debug)]
pub struct Programs {
    folder: PathBuf,
    user: Option<(u32, u32)>,
}

/// A running server. It ends when it is dropped.
#[derive(Debug)]
pub struct Server {
    programs: Programs,
    data: PathBuf,
    port: u16,
    process: Option<Child>,
}

/// How a server ends.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum End {
    /// At once, without a word to its connections, as after a power failure.
    Killed,
    /// At once, with a word to its connections.
    Immediate,
}

impl Programs {
    /// Those of this folder, or the newest ones of Debian.
    ///
    /// # Errors
    /// There are none.
    pub fn find(folder: Option<PathBuf>) -> anyhow::Result<Self> {
        let folder = match folder {
            Some(folder) => folder,
            None => newest().context("there is no PostgreSQL: install `postgresql`")?,
        };
        if !folder.join("pg_basebackup").is_file() {
            bail!("`{}` lacks programs of PostgreSQL", folder.display());
        }
        let is_root = rustix::process::geteuid().is_root();
        let user = match is_root {
            true => Some(unprivileged().context("there is no user who may run PostgreSQL")?),
            false => None,
        };
        Ok(Self { folder, user })
    }

    /// Gives a folder to the user who runs the servers.
    ///
    /// # Errors
    /// It is not ours to give.
    pub fn own(&self, folder: &Path) -> anyhow::Result<()> {
        let Some((user, group)) = self.user else {
            return Ok(());
        };
        chown(folder, Some(user), Some(group)).context("cannot give a folder away")
    }

    fn command(&self, name: &str) -> Command {
        let mut command = Command::new(self.folder.join(name));
        if let Some((user, group)) = self.user {
            command.uid(user).gid(group);
        }
        // A folder that the user may enter.
        command.env_clear().env("LC_ALL", "C").current_dir("/");
        command
    }

    /// What a program prints.
    fn run(&self, name: &str, arguments: &[&str]) -> anyhow::Result<String> {
        let output = self.command(name).args(arguments).output();
        let output = output.with_context(|| format!("cannot start `{name}`"))?;
        if !output.status.success() {
            let said = String::from_utf8_lossy(&output.stderr);
            bail!("`{name} {}` failed: {said}", arguments.join(" "));
        }
        Ok(String::from_utf8_lossy(&output.stdout).into_owned())
    }
}

impl Server {
    /// A new primary with its data in this folder.
    ///
    /// # Errors
    /// It does not start.
    pub fn primary(programs: &Programs, data: &Path) -> anyhow::Result<Self> {
        let path = data.display().to_string();
        let create = [
            "--auth=trust",
            "--encoding=UTF8",
            "--locale=C",
            "--username=trawl",
        ];
        programs.run("initdb", &[&create[..], &["-D", &path]].concat())?;
        let mut settings = File::options()
            .append(true)
            .open(data.join("postgresql.conf"))?;
        for line in [
            "unix_socket_directories = ''",
            "listen_addresses = '127.0.0.1'",
            "max_connections = 200",
            "shared_buffers = 64MB",
            "wal_keep_size = 256MB",
            "hot_standby = on",
        ] {
            writeln!(settings, "{line}")?;
        }
        writeln!(settings, "include_if_exists = '{CHANGED}'")?;
        Self::start(programs.clone(), data.to_path_buf())
    }

    /// A standby of this server, with its data in this folder. From then on the server confirms a
    /// commit once the standby has it.
    ///
    /// # Errors
    /// It does not start.
    pub fn standby(&self, data: &Path) -> anyhow::Result<Self> {
        let (path, port) = (data.display().to_string(), self.port.to_string());
        let from = ["-h", "127.0.0.1", "-p", &port, "-U", "trawl"];
        let how = ["-D", &path, "--write-recovery-conf", "--checkpoint=fast"];
        self.programs
            .run("pg_basebackup", &[&from[..], &how[..]].concat())?;
        let standby = Self::start(self.programs.clone(), data.to_path_buf())?;
        self.wait_for_standbys(true)?;
        Ok(standby)
    }

    /// Makes a standby the primary. It waits for no standby of its own until it has one.
    ///
    /// # Errors
    /// It is no standby.
    pub fn promote(&self) -> anyhow::Result<()> {
        self.wait_for_standbys(false)?;
        self.control(&["promote", "--wait"])
    }

    /// Whether commits wait until a standby has them.
    fn wait_for_standbys(&self, waits: bool) -> anyhow::Result<()> {
        let names = if waits { "*" } else { "" };
        let setting = format!("synchronous_standby_names = '{names}'\n");
        std::fs::write(self.data.join(CHANGED), setting)?;
        self.control(&["reload"])
    }

    /// Starts the server again after [`Self::end`].
    ///
    /// # Errors
    /// It does not start.
    pub fn start_again(&mut self) -> anyhow::Result<()> {
        self.process = Some(spawn(&self.programs, &self.data, self.port)?);
        self.until_accepting()
    }

    /// Ends the server.
    ///
    /// # Errors
    /// The signal cannot be sent.
    pub fn end(&mut self, how: End) -> anyhow::Result<()> {
        let Some(mut process) = self.process.take() else {
            return Ok(());
        };
        match how {
            // Its children notice that it is gone.
            End::Killed => signal(process.id(), "KILL")?,
            End::Immediate => signal(process.id(), "QUIT")?,
        }
        process.wait().context("the server has no end")?;
        Ok(())
    }

    /// What `psql` prints for a statement in this database: a line for each row, without padding.
    ///
    /// # Errors
    /// The server refuses it.
    pub fn query(&self, database: &str, statement: &str) -> anyhow::Result<String> {
        let port = self.port;
        let at = format!("host=127.0.0.1 port={port} user=trawl dbname={database}");
        let how = ["--no-psqlrc", "--quiet", "--no-align", "--tuples-only"];
        let what = ["--dbname", &at, "--command", statement];
        let printed = self.programs.run("psql", &[&how[..], &what].concat())?;
        Ok(printed.trim_end().to_owned())
    }

    /// Where it listens.
    pub fn address(&self) -> SocketAddr {
        SocketAddr::from((Ipv4Addr::LOCALHOST, self.port))
    }

    fn start(programs: Programs, data: PathBuf) -> anyhow::Result<Self> {
        let port = free_port()?;
        let mut server = Self {
            process: None,
            programs,
            data,
            port,
        };
        server.start_again()?;
        Ok(server)
    }

    fn control(&self, arguments: &[&str]) -> anyhow::Result<()> {
        let path = self.data.display().to_string();
        self.programs
            .run("pg_ctl", &[arguments, &["--silent", "-D", &path]].concat())?;
        Ok(())
    }

    /// Waits until it answers to queries.
    fn until_accepting(&mut self) -> anyhow::Result<()> {
        let deadline = Instant::now() + START_MAX;
        let port = self.port.to_string();
        let ask = ["--quiet", "-h", "127.0.0.1", "-p", &port];
        loop {
            let is_open = TcpStream::connect(self.address()).is_ok();
            if is_open && self.programs.run("pg_isready", &ask).is_ok() {
                return Ok(());
            }
            if let Some(process) = &mut self.process
                && process.try_wait()?.is_some()
            {
                // It ends as long as children of one that was killed have its memory.
                self.process = Some(spawn(&self.programs, &self.data, self.port)?);
            }
            if Instant::now() >= deadline {
                let log = std::fs::read_to_string(log_of(&self.data)).unwrap_or_default();
                bail!("PostgreSQL does not start: {log}");
            }
            std::thread::sleep(Duration::from_millis(50));
        }
    }
}

impl Drop for Server {
    fn drop(&mut self) {
        // It may have ended already.
        let _ended = self.end(End::Immediate);
    }
}

fn spawn(programs: &Programs, data: &Path, port: u16) -> anyhow::Result<Child> {
    let log = File::options()
        .create(true)
        .append(true)
        .open(log_of(data))?;
    let mut command = programs.command("postgres");
    command
        .arg("-D")
        .arg(data)
        .arg("-p")
        .arg(port.to_string())
        .stdin(Stdio::null())
        .stdout(Stdio::null())
        .stderr(log);
    command.spawn().context("cannot start `postgres`")
}

/// The log of a server, next to its folder.
fn log_of(data: &Path) -> PathBuf {
    data.with_extension("log")
}

/// The programs of the newest version.
fn newest() -> Option<PathBuf> {
    let versions = std::fs::read_dir(VERSIONS).ok()?.flatten();
    let found = versions.filter_map(|entry| {
        let version: u32 = entry.file_name().to_str()?.parse().ok()?;
        let folder = entry.path().join("bin");
        folder
            .join("postgres")
            .is_file()
            .then_some((version, folder))
    });
    found.max().map(|(_, folder)| folder)
}

/// User and group of an unprivileged user.
fn unprivileged() -> Option<(u32, u32)> {
    let users = std::fs::read_to_string("/etc/passwd").ok()?;
    let find = |name: &str| {
        let mut lines = users.lines().map(|line| line.split(':'));
        let mut user =
            lines.find_map(|mut fields| (fields.next() == Some(name)).then_some(fields))?;
        // After the password.
        let id: u32 = user.nth(1)?.parse().ok()?;
        let group: u32 = user.next()?.parse().ok()?;
        Some((id, group))
    };
    USERS.iter().find_map(|name| find(name))
}
