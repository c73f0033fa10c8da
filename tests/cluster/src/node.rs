//! A server of the cluster as a child process.

use std::fs::File;
use std::net::{Ipv4Addr, SocketAddr, TcpListener};
use std::os::unix::fs::symlink;
use std::path::{Path, PathBuf};
use std::process::{Child, Command, Stdio};
use std::time::Duration;

use anyhow::{Context, bail};
use serde_json::Value;

use crate::http::{self, Request};

/// How long the answer of a node that serves may take. A suspended one never answers.
const ANSWER_MAX: Duration = Duration::from_secs(2);
/// A header of each answer of a node that waits: the answer is of another one, or says that there
/// is none.
const FORWARDED: &str = "trawl-forwarded";
/// Requests of one account a minute, in the configuration of every node.
const SETTINGS: &str = "[limits]\nrequests_per_minute = 1000000\n\n[browser]\ntabs = 0\n";

/// What all nodes have in common.
#[derive(Clone, Debug)]
pub struct Programs {
    /// The server's program.
    pub server: PathBuf,
    /// The plugin manifest.
    pub plugins: PathBuf,
    /// Where compiled plugins are cached for all nodes.
    pub compiled: PathBuf,
}

/// A node. Its process ends when it is dropped.
#[derive(Debug)]
pub struct Node {
    programs: Programs,
    folder: PathBuf,
    port: u16,
    environment: Vec<(&'static str, String)>,
    process: Option<Child>,
}

impl Node {
    /// A node with its data in this folder and these variables in its environment; not started.
    ///
    /// # Errors
    /// The folder cannot be written.
    pub fn new(
        programs: &Programs,
        folder: &Path,
        environment: Vec<(&'static str, String)>,
    ) -> anyhow::Result<Self> {
        std::fs::create_dir_all(folder.join("data"))?;
        std::fs::create_dir_all(&programs.compiled)?;
        // Compiling takes longer than all else.
        symlink(&programs.compiled, folder.join("data/compiled"))?;
        std::fs::write(folder.join("trawl.toml"), SETTINGS)?;
        Ok(Self {
            programs: programs.clone(),
            folder: folder.to_path_buf(),
            port: free_port()?,
            environment,
            process: None,
        })
    }

    /// Starts the process, which waits until it may serve.
    ///
    /// # Errors
    /// It cannot be started.
    pub fn start(&mut self) -> anyhow::Result<()> {
        let log = File::options()
            .create(true)
            .append(true)
            .open(self.folder.join("log"))?;
        let mut command = self.command();
        command
            .args(["serve", "--standby", "--allow-private", "127.0.0.1/32"])
            .arg("--listen")
            .arg(self.address().to_string())
            .arg("--plugins")
            .arg(&self.programs.plugins)
            .arg("--config")
            .arg(self.folder.join("trawl.toml"))
            .arg("--data")
            .arg(self.data());
        command.stdout(Stdio::null()).stderr(log);
        self.process = Some(command.spawn().context("cannot start a node")?);
        Ok(())
    }

    /// Where it listens, also while it waits.
    pub fn address(&self) -> SocketAddr {
        SocketAddr::from((Ipv4Addr::LOCALHOST, self.port))
    }

    /// The id of its process, if it was started and not killed.
    pub fn id(&self) -> Option<u32> {
        self.process.as_ref().map(Child::id)
    }

    /// Its data directory.
    pub fn data(&self) -> PathBuf {
        self.folder.join("data")
    }

    /// Its log.
    pub fn log(&self) -> PathBuf {
        self.folder.join("log")
    }

    /// Whether it has the database: it answers a request with this API key by itself.
    pub fn serves(&self, key: &str) -> bool {
        self.answers(key, false)
    }

    /// Whether it waits beside one that has the database: it has that one answer.
    pub fn waits(&self, key: &str) -> bool {
        self.answers(key, true)
    }

    fn answers(&self, key: &str, is_forwarded: bool) -> bool {
        let request = Request::new("GET", "/account");
        let answer = http::send_within(ANSWER_MAX, self.address(), key, &request);
        answer.is_ok_and(|answer| {
            answer.status == 200 && answer.header(FORWARDED).is_some() == is_forwarded
        })
    }

    /// Whether its process runs, or is suspended.
    ///
    /// # Errors
    /// The system does not say.
    pub fn is_up(&mut self) -> anyhow::Result<bool> {
        match &mut self.process {
            Some(process) => Ok(process.try_wait()?.is_none()),
            None => Ok(false),
        }
    }

    /// Sends a signal to the process: `STOP`, `CONT`.
    ///
    /// # Errors
    /// It has no process.
    pub fn signal(&self, name: &str) -> anyhow::Result<()> {
        let process = self.process.as_ref().context("the node has no process")?;
        signal(process.id(), name)
    }

    /// Kills the process, as a power cut does.
    ///
    /// # Errors
    /// It has no end.
    pub fn kill(&mut self) -> anyhow::Result<()> {
        if let Some(mut process) = self.process.take() {
            // It may have ended already.
            let _killed = process.kill();
            process.wait()?;
        }
        Ok(())
    }

    /// Runs `trawl account --json …` with the node's data and database.
    ///
    /// # Errors
    /// The command fails.
    pub fn account(&self, arguments: &[&str]) -> anyhow::Result<Value> {
        let mut command = self.command();
        command
            .args(["account", "--json", "--data"])
            .arg(self.data());
        let output = command.args(arguments).output()?;
        if !output.status.success() {
            let said = String::from_utf8_lossy(&output.stderr);
            bail!("`account {}` failed: {said}", arguments.join(" "));
        }
        serde_json::from_slice(&output.stdout).context("the answer is not JSON")
    }

    /// Runs `trawl cluster verify`: a line for each sum of the database that differs.
    ///
    /// # Errors
    /// The database cannot be reached.
    pub fn verify(&self) -> anyhow::Result<Vec<String>> {
        let mut command = self.command();
        let output = command.args(["cluster", "verify", "--json"]).output()?;
        // It also fails when something differs, after it has said what.
        let verified: Value = serde_json::from_slice(&output.stdout).with_context(|| {
            let said = String::from_utf8_lossy(&output.stderr);
            format!("`cluster verify` failed: {said}")
        })?;
        let lines = verified["disagreements"].as_array().context("no list")?;
        let lines = lines.iter().map(|line| line.as_str().unwrap_or_default());
        Ok(lines.map(str::to_owned).collect())
    }

    fn command(&self) -> Command {
        let mut command = Command::new(&self.programs.server);
        let variables = self.environment.iter();
        command
            .envs(variables.map(|(name, value)| (*name, value)))
            .stdin(Stdio::null());
        command
    }
}

impl Drop for Node {
    fn drop(&mut self) {
        // It may have ended already.
        let _killed = self.kill();
    }
}

/// A port that is free now.
///
/// # Errors
/// There is none.
pub fn free_port() -> anyhow::Result<u16> {
    let listener = TcpListener::bind((Ipv4Addr::LOCALHOST, 0))?;
    Ok(listener.local_addr()?.port())
}

/// Sends a signal to a process of ours.
///
/// # Errors
/// It has ended.
pub fn signal(process: u32, name: &str) -> anyhow::Result<()> {
    let status = Command::new("kill")
        .args(["-s", name, &process.to_string()])
        .status()?;
    if !status.success() {
        bail!("cannot send {name} to process {process}");
    }
    Ok(())
}
