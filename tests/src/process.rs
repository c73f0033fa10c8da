//! The server as a child process, which can be killed and measured.

use std::io::{BufRead, BufReader, Write};
use std::net::{Ipv4Addr, SocketAddr, TcpListener, TcpStream};
use std::ops::Deref;
use std::path::{Path, PathBuf};
use std::process::{Child, ChildStdout, Command, Output, Stdio};
use std::time::Duration;

use reqwest::Method;
use serde_json::Value;

use crate::{Caller, World};

/// A `trawl serve`, and a client with an account on it.
pub struct ServerProcess {
    /// The folder it runs in.
    pub world: World,
    /// ID of the account.
    pub account: String,
    /// What the process printed when it was last started.
    pub greeting: String,
    child: Child,
    caller: Caller,
}

impl Deref for ServerProcess {
    type Target = Caller;

    fn deref(&self) -> &Caller {
        &self.caller
    }
}

impl ServerProcess {
    /// Starts the server of this world.
    ///
    /// # Panics
    /// When it does not start.
    pub fn start(world: World) -> Self {
        let top_up = ["create", "caller", "--top-up", world.dollars];
        let created = account(&world, &top_up);
        let text = |name: &str| created[name].as_str().expect("a text").to_owned();
        let (child, address, greeting) = spawn(&world);
        Self {
            account: text("account"),
            caller: Caller::new(address, &text("api_key")),
            greeting,
            world,
            child,
        }
    }

    /// Starts the server of this world for the first time: it creates the account and the key
    /// itself.
    ///
    /// # Panics
    /// When it does not start.
    pub fn first_start(world: World) -> Self {
        let (child, address, greeting) = spawn(&world);
        let mut words = greeting.split_whitespace();
        let key = words.find(|word| word.starts_with("tr_"));
        let caller = Caller::new(address, key.expect("a key"));
        let listed = account(&world, &["list"]);
        Self {
            account: listed[0]["account"].as_str().expect("a text").to_owned(),
            caller,
            greeting,
            world,
            child,
        }
    }

    /// Starts a standby of this server, which has its account.
    ///
    /// # Panics
    /// When there is no free port.
    pub fn start_standby(&self, mut world: World) -> Self {
        let port = world.port.unwrap_or_else(free_port);
        world.port = Some(port);
        let address = SocketAddr::from((Ipv4Addr::LOCALHOST, port));
        Self {
            account: self.account.clone(),
            caller: Caller::new(address, &self.caller.key),
            greeting: String::new(),
            child: launch(&world),
            world,
        }
    }

    /// Waits until a request is answered with success, by this server or by the one that it sends
    /// requests to, and returns how long that took.
    ///
    /// # Panics
    /// When the process ends instead, or it takes longer than `time_max`.
    pub async fn until_answering(&mut self, time_max: Duration) -> Duration {
        let began = std::time::Instant::now();
        loop {
            let path = "/account";
            let answer = self.send(Method::GET, path, &[], String::new()).await;
            if answer.is_some_and(|answer| answer.status == 200) {
                return began.elapsed();
            }
            let ended = self.child.try_wait().expect("a process to wait for");
            let log = std::fs::read_to_string(self.world.path("log")).unwrap_or_default();
            assert!(ended.is_none(), "the server did not start: {log}");
            assert!(began.elapsed() < time_max, "it still waits: {log}");
            tokio::time::sleep(Duration::from_millis(20)).await;
        }
    }

    /// Runs `trawl account …` on the data directory, whether the server is running or not.
    pub fn account(&self, arguments: &[&str]) -> Value {
        account(&self.world, arguments)
    }

    /// Kills the process, as a power cut does.
    pub fn kill(&mut self) {
        self.child.kill().expect("a process to kill");
        self.child.wait().expect("its end");
    }

    /// Id of the process.
    pub fn id(&self) -> u32 {
        self.child.id()
    }

    /// Sends SIGTERM, as a service manager does.
    pub fn terminate(&self) {
        self.signal("-TERM");
    }

    /// Sends a signal, as an argument of `kill`.
    ///
    /// # Panics
    /// When the signal cannot be sent.
    pub fn signal(&self, signal: &str) {
        let asked = Command::new("kill")
            .args([signal, &self.child.id().to_string()])
            .status();
        assert!(asked.expect("`kill` of this machine").success());
    }

    /// Waits until the process has exited by itself and returns whether it succeeded.
    ///
    /// # Panics
    /// When it is still running after `time_max`.
    pub async fn ended(&mut self, time_max: Duration) -> bool {
        let deadline = std::time::Instant::now() + time_max;
        loop {
            if let Some(status) = self.child.try_wait().expect("a process to wait for") {
                return status.success();
            }
            assert!(
                std::time::Instant::now() < deadline,
                "the server did not end"
            );
            tokio::time::sleep(Duration::from_millis(20)).await;
        }
    }

    /// Sends SIGTERM and waits for the process to exit.
    ///
    /// # Panics
    /// When the signal cannot be sent or the process fails.
    pub fn stop(&mut self) {
        self.terminate();
        let ended = self.child.wait().expect("its end");
        assert!(ended.success(), "{ended}");
    }

    /// Runs a command of the program, kills the server this long after the command was started, and
    /// waits for the command.
    pub fn kill_during(&mut self, arguments: &[&str], after: Duration) {
        let (world, child) = (&self.world, &mut self.child);
        std::thread::scope(|scope| {
            let command = scope.spawn(|| run_program(world, arguments, b""));
            std::thread::sleep(after);
            child.kill().expect("a process to kill");
            child.wait().expect("its end");
            command.join().expect("an end");
        });
    }

    /// Starts the server again after [`Self::kill`] or [`Self::stop`].
    pub fn start_again(&mut self) {
        let (child, address, greeting) = spawn(&self.world);
        self.child = child;
        self.greeting = greeting;
        self.caller.base = format!("http://{address}");
    }

    /// Peak resident memory of the process in KiB.
    pub fn peak_kib(&self) -> u64 {
        self.status("VmHWM:")
    }

    /// Resident memory of the process in KiB.
    pub fn resident_kib(&self) -> u64 {
        self.status("VmRSS:")
    }

    /// Threads of the process.
    pub fn n_threads(&self) -> u64 {
        self.status("Threads:")
    }

    /// Makes [`Self::peak_kib`] begin anew.
    ///
    /// # Panics
    /// When the system does not allow it.
    pub fn forget_peak(&self) {
        let path = format!("/proc/{}/clear_refs", self.child.id());
        std::fs::write(path, "5").expect("a live process");
    }

    /// Open files and sockets of the process.
    ///
    /// # Panics
    /// When it has ended.
    pub fn descriptors(&self) -> usize {
        n_descriptors(&self.id().to_string()).expect("a live process")
    }

    /// The soft and the hard limit of a resource, by its name in `/proc/<id>/limits`.
    ///
    /// # Panics
    /// When the process has ended, or the system has no such limit.
    pub fn limits(&self, name: &str) -> (String, String) {
        let limits = std::fs::read_to_string(format!("/proc/{}/limits", self.child.id()));
        let limits = limits.expect("a live process");
        let mut lines = limits.lines();
        let line = lines.find_map(|line| line.strip_prefix(name));
        let mut values = line.expect("a limit").split_whitespace();
        let mut value = || values.next().expect("a value").to_owned();
        (value(), value())
    }

    /// A number in its status.
    fn status(&self, name: &str) -> u64 {
        status(&self.id().to_string(), name).expect("a live process with such a value")
    }
}

/// A number in the status of a process, by its id or `self`: KiB, for memory. `None` if it has
/// ended or has no such line, or if this process can open no more files.
pub fn status(process: &str, name: &str) -> Option<u64> {
    let status = std::fs::read_to_string(format!("/proc/{process}/status")).ok()?;
    let line = status.lines().find_map(|line| line.strip_prefix(name))?;
    line.split_whitespace().next()?.parse().ok()
}

/// Open files and sockets of a process, by its id or `self`; `None` as of [`status`].
pub fn n_descriptors(process: &str) -> Option<usize> {
    let open = std::fs::read_dir(format!("/proc/{process}/fd")).ok()?;
    Some(open.count())
}

impl Drop for ServerProcess {
    fn drop(&mut self) {
        // It may have exited already.
        let _killed = self.child.kill();
        let _ended = self.child.wait();
    }
}

/// A port that was free a moment ago.
fn free_port() -> u16 {
    let listener = TcpListener::bind((Ipv4Addr::LOCALHOST, 0)).expect("a free port");
    listener.local_addr().expect("a bound listener").port()
}

/// Starts the process and returns it, its address, and what it printed.
fn spawn(world: &World) -> (Child, SocketAddr, String) {
    let mut child = launch(world);
    let (address, greeting) = match child.stdout.take() {
        Some(output) => greeting(output),
        None => {
            let port = world.port.unwrap_or_default();
            (accepting(&mut child, port), String::new())
        }
    };
    let Some(address) = address else {
        let log = std::fs::read_to_string(world.path("log")).unwrap_or_default();
        panic!("the server did not start: {log}");
    };
    (child, address, greeting)
}

/// Starts the process.
fn launch(world: &World) -> Child {
    let config = world.path("trawl.toml");
    let limits = "[limits]\nrequests_per_minute = 1000000\n";
    std::fs::write(&config, format!("{limits}{}", world.config)).expect("a configuration");
    let mut command = match world.descriptors_max {
        Some(most) => {
            let mut limited = Command::new("prlimit");
            limited
                .arg(format!("--nofile={most}:{most}"))
                .arg(program());
            limited
        }
        None => Command::new(program()),
    };
    let port = world.port.unwrap_or_default();
    command.args(["serve", "--listen", &format!("127.0.0.1:{port}")]);
    command.arg("--data").arg(world.data());
    command.arg("--plugins").arg(world.plugins());
    command.arg("--config").arg(config);
    for range in world.allow_private {
        command.args(["--allow-private", range]);
    }
    command.envs(world.environment.iter().map(|(name, value)| (name, value)));
    if !world.log.is_empty() {
        command.env("RUST_LOG", world.log);
    }
    let log = world.log_to.open(&world.path("log"));
    command
        .stdin(Stdio::null())
        .stdout(match world.port {
            Some(_) => Stdio::null(),
            None => Stdio::piped(),
        })
        .stderr(log)
        .spawn()
        .expect("a process")
}

/// What a server prints at its start, and the address in it.
fn greeting(output: ChildStdout) -> (Option<SocketAddr>, String) {
    let mut lines = BufReader::new(output).lines();
    let mut greeting = String::new();
    // The last line of the greeting is a command to try.
    while let Some(Ok(line)) = lines.next() {
        greeting += &line;
        greeting.push('\n');
        if line.trim_start().starts_with("curl ") {
            break;
        }
    }
    let address = greeting.lines().find_map(|line| {
        let (_, address) = line.split_once(" listening on http://")?;
        address.parse().ok()
    });
    (address, greeting)
}

/// The address of this port of 127.0.0.1, as soon as the server accepts connections there; `None`
/// when it has ended instead.
fn accepting(server: &mut Child, port: u16) -> Option<SocketAddr> {
    let address = SocketAddr::from((Ipv4Addr::LOCALHOST, port));
    while TcpStream::connect(address).is_err() {
        if !matches!(server.try_wait(), Ok(None)) {
            return None;
        }
        std::thread::sleep(Duration::from_millis(20));
    }
    Some(address)
}

/// Runs a command of the program with this standard input until it exits. All tests share the cache
/// of compiled plugins.
///
/// # Panics
/// When it cannot be started.
pub fn run_program(world: &World, arguments: &[&str], input: &[u8]) -> Output {
    let cache = Path::new(env!("CARGO_MANIFEST_DIR")).join("../target/tmp");
    let mut child = Command::new(program())
        .args(arguments)
        .envs(world.environment.iter().map(|(name, value)| (name, value)))
        .env("XDG_CACHE_HOME", cache)
        .stdin(Stdio::piped())
        .stdout(Stdio::piped())
        .stderr(Stdio::piped())
        .spawn()
        .expect("a process");
    let mut stdin = child.stdin.take().expect("its input");
    // A command that refuses its arguments does not read its input.
    let _written = stdin.write_all(input);
    drop(stdin);
    child.wait_with_output().expect("its end")
}

fn account(world: &World, arguments: &[&str]) -> Value {
    let output = Command::new(program())
        .args(["account", "--json", "--data"])
        .arg(world.data())
        .args(arguments)
        .envs(world.environment.iter().map(|(name, value)| (name, value)))
        .stdin(Stdio::null())
        .output()
        .expect("a process");
    let text = String::from_utf8_lossy(&output.stdout);
    let errors = String::from_utf8_lossy(&output.stderr);
    assert!(output.status.success(), "{arguments:?}: {text} {errors}");
    serde_json::from_str(&text).expect("JSON")
}

/// The program, which was built into the folder of this test or the one above.
///
/// # Panics
/// When it is not built.
pub fn program() -> PathBuf {
    let test = std::env::current_exe().expect("the test's own path");
    // Test executables are in a folder below the programs; benchmarks are next to them.
    let folders = test.ancestors().skip(1).take(2);
    let programs = folders.map(|folder| folder.join("trawl"));
    let program = programs
        .clone()
        .find(|program| program.is_file())
        .or(programs.last())
        .unwrap_or_default();
    let hint = "build it first: cargo build --release --workspace --bins";
    assert!(
        program.is_file(),
        "there is no `{}`, {hint}",
        program.display()
    );
    program
}
