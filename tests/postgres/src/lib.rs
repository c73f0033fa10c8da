//! A PostgreSQL server for tests: a cluster of its own in a temporary folder, run by an
//! unprivileged user, reached by a socket alone. It ends with its owner, and with this process
//! however that ends.

use std::fs::File;
use std::os::unix::fs::chown;
use std::os::unix::process::CommandExt as _;
use std::path::{Path, PathBuf};
use std::process::{Child, Command, Stdio};
use std::time::{Duration, Instant};

/// How long a server may take to start.
const START_MAX: Duration = Duration::from_secs(60);
/// Runs the server until the standard input ends, which it does when this process does. Then it is
/// stopped at once, as a power failure stops it: it recovers at its next start.
const SCRIPT: &str = r#""$@" </dev/null & read -r _; kill -QUIT $!; wait $!"#;
/// Users who may run a server when the tests are run by root, who may not.
const USERS: [&str; 2] = ["postgres", "nobody"];
/// What the server logs once it accepts connections.
const READY: &str = "database system is ready to accept";

/// A running server.
#[derive(Debug)]
pub struct Server {
    programs: PathBuf,
    user: Option<(u32, u32)>,
    /// Name of the cluster's folder in the temporary one.
    cluster: String,
    process: Option<Child>,
    folder: tempfile::TempDir,
}

impl Server {
    /// Creates a cluster with the programs in this folder and starts its server. It has the
    /// database `postgres`, and the user `trawl`, who may do everything.
    ///
    /// # Panics
    /// When it does not start.
    pub fn start(programs: &Path) -> Self {
        // Where every user may go, and the path of a socket is short enough.
        let folder = tempfile::tempdir_in("/tmp").expect("a temporary folder");
        let user = unprivileged();
        if let Some((user, group)) = user {
            chown(folder.path(), Some(user), Some(group)).expect("given to the user");
        }
        let mut server = Self {
            programs: programs.to_owned(),
            user,
            cluster: "data".to_owned(),
            process: None,
            folder,
        };
        server.create();
        server.start_again();
        server
    }

    fn create(&self) {
        let mut create = self.command(self.programs.join("initdb"));
        let options = ["--no-sync", "--auth=trust", "--encoding=UTF8", "--locale=C"];
        create.args(options).args(["--username=trawl", "-D"]);
        run(create.arg(self.data()), "initdb");
    }

    /// Starts the server again after [`Self::stop`], and waits until it accepts connections.
    ///
    /// # Panics
    /// When it does not start.
    pub fn start_again(&mut self) {
        let log = File::create(self.folder.path().join("log")).expect("a log");
        let mut serve = self.command(PathBuf::from("/bin/sh"));
        serve.args(["-c", SCRIPT, "sh"]);
        serve.arg(self.programs.join("postgres"));
        serve.arg("-D").arg(self.data());
        let socket = format!("unix_socket_directories={}", self.folder.path().display());
        for setting in [
            socket.as_str(),
            "listen_addresses=",
            "max_connections=200",
            "shared_buffers=16MB",
            // What is tested is not whether it survives a power failure of the machine.
            "fsync=off",
        ] {
            serve.args(["-c", setting]);
        }
        let process = serve
            .stdin(Stdio::piped())
            .stdout(Stdio::null())
            .stderr(log)
            .spawn();
        self.process = Some(process.expect("a shell"));
        self.wait_until_ready();
    }

    fn wait_until_ready(&self) {
        let deadline = Instant::now() + START_MAX;
        loop {
            let log = std::fs::read_to_string(self.folder.path().join("log"));
            let log = log.unwrap_or_default();
            if log.contains(READY) {
                return;
            }
            assert!(Instant::now() < deadline, "no server: {log}");
            std::thread::sleep(Duration::from_millis(10));
        }
    }

    /// Stops the server at once: transactions are cut off, connections are closed.
    ///
    /// # Panics
    /// When it does not end.
    pub fn stop(&mut self) {
        if let Some(mut process) = self.process.take() {
            drop(process.stdin.take());
            let ended = process.wait();
            ended.expect("the shell has ended");
        }
    }

    /// Copies the cluster as it is now, under this name: a standby that receives nothing more.
    ///
    /// # Panics
    /// When it cannot be copied.
    pub fn copy(&self, name: &str) {
        let mut copy = self.command(self.programs.join("pg_basebackup"));
        copy.arg("-h").arg(self.folder.path());
        copy.args(["-p", "5432", "-U", "trawl", "--no-password", "--no-sync"]);
        copy.args(["--checkpoint=fast", "--wal-method=stream", "-D"]);
        run(copy.arg(self.folder.path().join(name)), "pg_basebackup");
    }

    /// Stops the server, and promotes the copy with this name in its place: it lacks what was
    /// written since, and has a timeline of its own.
    ///
    /// # Panics
    /// When it does not start.
    pub fn promote(&mut self, name: &str) {
        self.stop();
        name.clone_into(&mut self.cluster);
        let signal = self.data().join("standby.signal");
        File::create(&signal).expect("a file");
        if let Some((user, group)) = self.user {
            chown(&signal, Some(user), Some(group)).expect("given to the user");
        }
        self.start_again();
        let mut promote = self.command(self.programs.join("pg_ctl"));
        run(promote.args(["promote", "-D"]).arg(self.data()), "pg_ctl");
    }

    /// The URL of a database of this server.
    pub fn url(&self, database: &str) -> String {
        let folder = self.folder.path().display();
        format!("postgres:///{database}?host={folder}&port=5432&user=trawl")
    }

    fn data(&self) -> PathBuf {
        self.folder.path().join(&self.cluster)
    }

    fn command(&self, program: PathBuf) -> Command {
        let mut command = Command::new(program);
        if let Some((user, group)) = self.user {
            command.uid(user).gid(group);
        }
        command.current_dir(self.folder.path());
        command.env_clear().env("LC_ALL", "C");
        command
    }
}

impl Drop for Server {
    fn drop(&mut self) {
        self.stop();
    }
}

/// Runs a program that must succeed.
fn run(command: &mut Command, name: &str) {
    let done = command.stdin(Stdio::null()).output();
    let done = done.unwrap_or_else(|error| panic!("{name}: {error}"));
    let said = String::from_utf8_lossy(&done.stderr);
    assert!(done.status.success(), "{name}: {said}");
}

/// User and group of an unprivileged user, if this process is root's.
fn unprivileged() -> Option<(u32, u32)> {
    if !rustix::process::geteuid().is_root() {
        return None;
    }
    let users = std::fs::read_to_string("/etc/passwd").expect("a list of users");
    let find = |name: &str| {
        let mut fields = users.lines().map(|line| line.split(':'));
        let mut user =
            fields.find_map(|mut fields| (fields.next() == Some(name)).then_some(fields))?;
        // After the password.
        let id: u32 = user.nth(1)?.parse().ok()?;
        let group: u32 = user.next()?.parse().ok()?;
        Some((id, group))
    };
    let found = USERS.iter().find_map(|name| find(name));
    Some(found.expect("an unprivileged user"))
}
