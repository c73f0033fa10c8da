//! The servers that are measured: nginx with pages, and Trawl as its operator starts it.

use std::io::{BufRead, BufReader};
use std::path::{Path, PathBuf};
use std::process::{Child, Command, Stdio};
use std::time::{Duration, Instant};

use anyhow::Context;

use crate::corpus;

/// A process of ours, ended with this value.
pub(crate) struct Running(Child);

impl Drop for Running {
    fn drop(&mut self) {
        // Already ended is as good as ended now.
        let _ = self.0.kill();
        let _ = self.0.wait();
    }
}

/// nginx with one folder.
pub(crate) struct Nginx {
    pub(crate) base: String,
    _process: Running,
}

impl Nginx {
    pub(crate) fn start(folder: &Path, root: &Path) -> anyhow::Result<Self> {
        let port = free_port()?;
        let here = folder.display();
        let config = format!(
            "daemon off; master_process off; pid {here}/nginx.pid; error_log {here}/nginx.log; user root;\n\
             events {{ worker_connections 1024; }}\n\
             http {{ access_log off; sendfile on; keepalive_requests 100000; types {{ text/html html; text/javascript js; application/json json; }}\n\
             client_body_temp_path {here}/n1; proxy_temp_path {here}/n2; fastcgi_temp_path {here}/n3; uwsgi_temp_path {here}/n4; scgi_temp_path {here}/n5;\n\
             server {{ listen 127.0.0.1:{port}; root {}; }} }}\n",
            root.display()
        );
        let path = folder.join("nginx.conf");
        std::fs::write(&path, config)?;
        let process = Command::new("nginx")
            .arg("-c")
            .arg(&path)
            .spawn()
            .context("`nginx` does not run: apt-get install nginx-light wrk")?;
        wait_for(port)?;
        Ok(Self {
            base: format!("http://127.0.0.1:{port}"),
            _process: Running(process),
        })
    }
}

/// `trawl serve` and an account with money on it.
pub(crate) struct Trawl {
    pub(crate) base: String,
    pub(crate) key: String,
    pub(crate) manifest: PathBuf,
    data: PathBuf,
    process: Running,
}

impl Trawl {
    pub(crate) fn start(folder: &Path) -> anyhow::Result<Self> {
        Self::start_with(folder, "")
    }

    /// The same with more lines of configuration.
    pub(crate) fn start_with(folder: &Path, more: &str) -> anyhow::Result<Self> {
        let checkout = Path::new(env!("CARGO_MANIFEST_DIR"))
            .parent()
            .context("bench has a parent folder")?;
        let binary = binary()?;
        let manifest = folder.join("plugins.toml");
        let guests = checkout.join("target/guests");
        let plugins = std::fs::read_to_string(checkout.join("plugins.toml"))?;
        std::fs::write(
            &manifest,
            plugins.replace("target/guests", &guests.display().to_string()),
        )?;
        let config = folder.join("trawl.toml");
        std::fs::write(
            &config,
            format!(
                "[limits]\nrequests_per_minute = 100000000\nconnections_per_host = 256\n{more}"
            ),
        )?;
        let data = folder.join("data");
        let account = Command::new(&binary)
            .args([
                "account", "create", "bench", "--top-up", "1000", "--json", "--data",
            ])
            .arg(&data)
            .output()?;
        let account: serde_json::Value =
            serde_json::from_slice(&account.stdout).with_context(|| {
                format!(
                    "account create said: {}",
                    String::from_utf8_lossy(&account.stderr)
                )
            })?;
        let key = account["api_key"]
            .as_str()
            .context("account create gives a key")?
            .to_owned();
        let port = free_port()?;
        let mut process = Command::new(&binary)
            .args([
                "serve",
                "--allow-private",
                "127.0.0.1/32",
                "--listen",
                &format!("127.0.0.1:{port}"),
                "--data",
            ])
            .arg(&data)
            .arg("--plugins")
            .arg(&manifest)
            .arg("--config")
            .arg(&config)
            .env("RUST_LOG", "warn")
            .stdout(Stdio::null())
            .stderr(Stdio::piped())
            .spawn()?;
        let log = BufReader::new(process.stderr.take().context("stderr is piped")?);
        std::thread::spawn(move || {
            log.lines()
                .map_while(Result::ok)
                .for_each(|line| eprintln!("trawl: {line}"))
        });
        let process = Running(process);
        wait_for(port)?;
        let base = format!("http://127.0.0.1:{port}");
        wait_for_plugins(&base)?;
        Ok(Self {
            base,
            key,
            manifest,
            data,
            process,
        })
    }

    /// CPU time of the process since it began, all threads.
    pub(crate) fn cpu_time(&self) -> anyhow::Result<Duration> {
        /// Clock ticks a second in `/proc`, on every machine that Linux runs on.
        const TICKS: u64 = 100;
        let stat = std::fs::read_to_string(format!("/proc/{}/stat", self.process.0.id()))?;
        let (_, fields) = stat.rsplit_once(") ").context("a line of /proc/PID/stat")?;
        // User and system time are fields 14 and 15 of the line; the name, which is cut off, is field 2.
        let ticks: Vec<u64> = fields
            .split(' ')
            .skip(11)
            .take(2)
            .map(str::parse)
            .collect::<Result<_, _>>()?;
        Ok(Duration::from_millis(
            ticks.iter().sum::<u64>() * 1000 / TICKS,
        ))
    }

    /// What `trawl account … --json` says of its data directory.
    pub(crate) fn account(&self, arguments: &[&str]) -> anyhow::Result<serde_json::Value> {
        let output = Command::new(binary()?)
            .args(["account", "--json", "--data"])
            .arg(&self.data)
            .args(arguments)
            .output()?;
        let said = String::from_utf8_lossy(&output.stderr);
        serde_json::from_slice(&output.stdout).with_context(|| format!("{arguments:?}: {said}"))
    }

    /// Pages that failed since it began, as `/metrics` has them.
    pub(crate) fn failed_pages(&self) -> anyhow::Result<u64> {
        let url = format!("{}/metrics", self.base);
        let output = Command::new("curl").args(["-s", &url]).output()?;
        let text = String::from_utf8_lossy(&output.stdout);
        let count = text
            .lines()
            .find_map(|line| line.strip_prefix("trawl_pages_total{outcome=\"failed\"} "));
        Ok(count.map_or(Ok(0), str::parse)?)
    }

    /// Bytes of all files in the data directory.
    pub(crate) fn stored_bytes(&self) -> anyhow::Result<u64> {
        let mut folders = vec![self.data.clone()];
        let mut bytes = 0;
        while let Some(folder) = folders.pop() {
            for entry in std::fs::read_dir(folder)? {
                let entry = entry?;
                match entry.file_type()?.is_dir() {
                    true => folders.push(entry.path()),
                    false => bytes += entry.metadata()?.len(),
                }
            }
        }
        Ok(bytes)
    }

    pub(crate) fn peak_mib(&self) -> anyhow::Result<u64> {
        let status = std::fs::read_to_string(format!("/proc/{}/status", self.process.0.id()))?;
        let line = status
            .lines()
            .find_map(|line| line.strip_prefix("VmHWM:"))
            .context("the kernel tells VmHWM")?;
        Ok(line.trim().trim_end_matches(" kB").parse::<u64>()? / 1024)
    }

    /// Private resident memory of the browser's processes: proc(5), `statm` fields 2 and 3 are all and shared pages of 4 KiB.
    pub(crate) fn browser_mib(&self) -> anyhow::Result<u64> {
        let server = self.process.0.id().to_string();
        let field = |id: &str, at: usize| {
            let stat = std::fs::read_to_string(format!("/proc/{id}/stat")).ok()?;
            let (_, fields) = stat.rsplit_once(") ")?;
            fields.split(' ').nth(at).map(str::to_owned)
        };
        let ids = || {
            let processes = std::fs::read_dir("/proc").into_iter().flatten().flatten();
            processes.filter_map(|process| process.file_name().into_string().ok())
        };
        // The browser is a child of the server and leads the group of its own processes.
        let browsers: Vec<String> = ids()
            .filter(|id| field(id, 1).as_deref() == Some(&server))
            .collect();
        let mut pages = 0;
        for id in ids() {
            let group = field(&id, 2).unwrap_or_default();
            let statm = std::fs::read_to_string(format!("/proc/{id}/statm"));
            if let (true, Ok(statm)) = (browsers.contains(&group), statm) {
                let numbers: Vec<u64> = statm
                    .split_whitespace()
                    .filter_map(|number| number.parse().ok())
                    .collect();
                pages += numbers[1].saturating_sub(numbers[2]);
            }
        }
        Ok(pages * 4 / 1024)
    }

    pub(crate) fn generation(&self) -> anyhow::Result<u64> {
        let output = Command::new("curl")
            .args([
                "-s",
                "-H",
                &format!("Authorization: Bearer {}", self.key),
                &format!("{}/plugins", self.base),
            ])
            .output()?;
        let status: serde_json::Value = serde_json::from_slice(&output.stdout)?;
        status["generation"]
            .as_u64()
            .context("GET /plugins tells the generation")
    }
}

/// The server's program.
fn binary() -> anyhow::Result<PathBuf> {
    let binary = corpus::checkout().join("target/release/trawl");
    anyhow::ensure!(
        binary.is_file(),
        "`target/release/trawl` is not built: cargo xtask build --release"
    );
    Ok(binary)
}

fn free_port() -> anyhow::Result<u16> {
    Ok(std::net::TcpListener::bind("127.0.0.1:0")?
        .local_addr()?
        .port())
}

/// A new data directory has no compiled plugins; requests wait until all are there, and a measurement would begin meanwhile.
fn wait_for_plugins(base: &str) -> anyhow::Result<()> {
    let output = Command::new("curl")
        .args(["-s", "--fail", "--max-time", "120", "-o", "/dev/null"])
        .arg(format!("{base}/health"))
        .output()?;
    anyhow::ensure!(
        output.status.success(),
        "the server has not loaded its plugins after 120 s"
    );
    Ok(())
}

fn wait_for(port: u16) -> anyhow::Result<()> {
    let started = Instant::now();
    while std::net::TcpStream::connect(("127.0.0.1", port)).is_err() {
        anyhow::ensure!(
            started.elapsed() < Duration::from_secs(30),
            "nothing listens on port {port} after 30 s"
        );
        std::thread::sleep(Duration::from_millis(20));
    }
    Ok(())
}
