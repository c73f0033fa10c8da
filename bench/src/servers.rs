//! Servers under test: nginx with static pages, and Trawl started as an operator starts it.

use std::io::{BufRead, BufReader};
use std::ops::Deref;
use std::path::Path;
use std::process::{Child, Command, Stdio};
use std::time::{Duration, Instant};

use anyhow::Context;
use rustix::process::{Resource, getrlimit};
use serde_json::Value;
use tokio::runtime::{Builder, Runtime};
use trawl_tests::{ServerProcess, World};

/// Share of its descriptors that the server keeps from its callers, as a divisor.
const DESCRIPTORS_KEPT: u64 = 2;
/// Callers' connections that are left for the benchmark's own requests.
const CONNECTIONS_SPARE: u64 = 16;
/// Longest crawl in seconds; most take some.
const CRAWL_SECONDS_MAX: &str = "1800";
/// Where a server listens that is one host.
pub(crate) const ONE_HOST: &str = "127.0.0.1";

/// As many connections as a load generator may open to a server of this process, up to `wanted`:
/// the server accepts no more than half of the descriptors that it may have.
pub(crate) fn connections(wanted: u32) -> u32 {
    let descriptors = getrlimit(Resource::Nofile).maximum;
    let granted = descriptors.map_or(u64::MAX, |most| most / DESCRIPTORS_KEPT);
    let granted = granted.saturating_sub(CONNECTIONS_SPARE).max(1);
    u32::try_from(granted).map_or(wanted, |granted| granted.min(wanted))
}

/// A runtime for clients on all cores.
pub(crate) fn runtime() -> std::io::Result<Runtime> {
    Builder::new_multi_thread().enable_all().build()
}

/// A child process, killed when this value is dropped.
struct Running(Child);

impl Drop for Running {
    fn drop(&mut self) {
        // Fails only if the process has exited already.
        let _ = self.0.kill();
        let _ = self.0.wait();
    }
}

/// nginx serving one folder.
pub(crate) struct Nginx {
    pub(crate) base: String,
    _process: Running,
}

impl Nginx {
    /// Serves `root` on a free port; configuration and log go into `folder`.
    pub(crate) fn start(folder: &Path, root: &Path) -> anyhow::Result<Self> {
        Self::listening(&[ONE_HOST.to_owned()], folder, root)
    }

    /// The same at these addresses of loopback, of which the first is [`ONE_HOST`].
    pub(crate) fn listening(hosts: &[String], folder: &Path, root: &Path) -> anyhow::Result<Self> {
        let port = free_port()?;
        let listen = hosts.iter().map(|host| format!("listen {host}:{port};\n"));
        let listen: String = listen.collect();
        let temporary = folder.display();
        let config = format!(
            "daemon off; master_process off; user root;\n\
             pid {temporary}/nginx.pid; error_log {temporary}/nginx.log;\n\
             events {{ worker_connections 8192; }}\n\
             http {{ access_log off; sendfile on; keepalive_requests 100000;\n\
             types {{ text/html html; text/javascript js; application/json json; }}\n\
             client_body_temp_path {temporary}/n1; proxy_temp_path {temporary}/n2;\n\
             fastcgi_temp_path {temporary}/n3; uwsgi_temp_path {temporary}/n4;\n\
             scgi_temp_path {temporary}/n5;\n\
             server {{ {listen} root {}; }} }}\n",
            root.display()
        );
        let path = folder.join("nginx.conf");
        std::fs::write(&path, config)?;
        let process = Command::new("nginx")
            .arg("-c")
            .arg(&path)
            .spawn()
            .context("cannot run `nginx`: apt-get install nginx-light wrk")?;
        wait_for(port)?;
        Ok(Self {
            base: format!("http://{ONE_HOST}:{port}"),
            _process: Running(process),
        })
    }
}

/// A `trawl serve` process with a funded account.
pub(crate) struct Trawl(ServerProcess);

impl Deref for Trawl {
    type Target = ServerProcess;

    fn deref(&self) -> &ServerProcess {
        &self.0
    }
}

impl Trawl {
    /// Starts a server whose data directory and configuration are below `folder`.
    pub(crate) fn start(folder: &Path) -> anyhow::Result<Self> {
        Self::of(World::new_in(folder), "")
    }

    /// Starts the server of this world, with additional lines of configuration.
    pub(crate) fn of(mut world: World, more: &str) -> anyhow::Result<Self> {
        world.dollars = "1000";
        world.log = "warn";
        // Its access log is written, but costs nothing to read.
        world.port = Some(free_port()?);
        // All connections come from one IP address: the share that one caller has of them would
        // bound the benchmark. The first line is a limit.
        world.config = format!(
            "connections_per_host = 256\n[http]\nmetrics_without_key = true\nconnections_per_peer = 65536\n{more}"
        );
        let trawl = Self(ServerProcess::start(world));
        // In a new data directory the plugins are compiled first: requests would wait for that.
        trawl.body_of("/health")?;
        Ok(trawl)
    }

    /// The body of a response.
    fn body_of(&self, path: &str) -> anyhow::Result<String> {
        Ok(String::from_utf8(self.answered(path, &[])?)?)
    }

    /// The answer to a body of JSON.
    pub(crate) fn answer_to(&self, path: &str, body: &str) -> anyhow::Result<Vec<u8>> {
        self.answered(
            path,
            &["-H", "Content-Type: application/json", "--data", body],
        )
    }

    fn answered(&self, path: &str, options: &[&str]) -> anyhow::Result<Vec<u8>> {
        let output = Command::new("curl")
            .args(["-s", "--fail", "--max-time", "120", "-H"])
            .arg(format!("Authorization: Bearer {}", self.key))
            .args(options)
            .arg(format!("{}{path}", self.base))
            .output()
            .context("cannot run `curl`")?;
        anyhow::ensure!(output.status.success(), "the request for `{path}` failed");
        Ok(output.stdout)
    }

    /// Begins a crawl and calls `each` with every entry as it arrives. The time until the last one.
    pub(crate) fn crawl(&self, body: &Value, each: impl FnMut(&str)) -> anyhow::Result<Duration> {
        crawl(&self.base, &self.key, body, each)
    }

    /// CPU time of all threads since the process started.
    pub(crate) fn cpu_time(&self) -> anyhow::Result<Duration> {
        /// Clock ticks per second in `/proc`; user space sees 100 on every Linux architecture.
        const TICKS: u64 = 100;
        let stat = std::fs::read_to_string(format!("/proc/{}/stat", self.id()))?;
        let (_, fields) = stat
            .rsplit_once(") ")
            .context("`/proc/PID/stat` has no process name")?;
        // proc(5): user and system time are fields 14 and 15. Fields 1 and 2 are cut off here.
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

    /// Number of failed pages since the start, from `/metrics`.
    pub(crate) fn failed_pages(&self) -> anyhow::Result<u64> {
        self.metric("trawl_pages_total{outcome=\"failed\"}")
    }

    /// Number of open tabs of the browsers, from `/metrics`.
    pub(crate) fn open_tabs(&self) -> anyhow::Result<u64> {
        self.metric("trawl_browser_tabs")
    }

    /// A number of `/metrics`; 0 if it is not there yet.
    fn metric(&self, name: &str) -> anyhow::Result<u64> {
        let text = self.body_of("/metrics")?;
        let count = text
            .lines()
            .find_map(|line| line.strip_prefix(name)?.strip_prefix(' '));
        Ok(count.map_or(Ok(0), str::parse)?)
    }

    /// Total size of the files in the data directory.
    pub(crate) fn stored_bytes(&self) -> anyhow::Result<u64> {
        let mut folders = vec![self.world.data()];
        let mut bytes = 0;
        while let Some(folder) = folders.pop() {
            for entry in std::fs::read_dir(folder)? {
                let entry = entry?;
                if entry.file_type()?.is_dir() {
                    folders.push(entry.path());
                } else {
                    bytes += entry.metadata()?.len();
                }
            }
        }
        Ok(bytes)
    }

    /// Peak RSS since the start.
    pub(crate) fn peak_mib(&self) -> u64 {
        self.peak_kib() / 1024
    }

    /// Ids of the browsers' processes.
    pub(crate) fn browser_processes(&self) -> Vec<String> {
        let server = self.id().to_string();
        let field = |id: &str, at: usize| {
            let stat = std::fs::read_to_string(format!("/proc/{id}/stat")).ok()?;
            let (_, fields) = stat.rsplit_once(") ")?;
            fields.split(' ').nth(at).map(str::to_owned)
        };
        let ids = || {
            let processes = std::fs::read_dir("/proc").into_iter().flatten().flatten();
            processes.filter_map(|process| process.file_name().into_string().ok())
        };
        // A browser is a child of the server and the leader of its process group.
        let browsers: Vec<String> = ids()
            .filter(|id| field(id, 1).as_deref() == Some(&server))
            .collect();
        ids()
            .filter(|id| browsers.contains(&field(id, 2).unwrap_or_default()))
            .collect()
    }

    /// Private resident memory of the browser's processes.
    ///
    /// proc(5): `statm` fields 2 and 3 are resident and shared pages, of 4 KiB each.
    pub(crate) fn browser_mib(&self) -> anyhow::Result<u64> {
        let mut pages = 0;
        for id in self.browser_processes() {
            let Ok(statm) = std::fs::read_to_string(format!("/proc/{id}/statm")) else {
                continue;
            };
            let numbers: Vec<u64> = statm
                .split_whitespace()
                .filter_map(|number| number.parse().ok())
                .collect();
            pages += numbers[1].saturating_sub(numbers[2]);
        }
        Ok(pages * 4 / 1024)
    }

    /// Number of profile folders of the server's browsers.
    pub(crate) fn browser_profiles(&self) -> anyhow::Result<usize> {
        let prefix = format!("trawl-browser-{}-", self.id());
        let mut n_profiles = 0;
        for entry in std::fs::read_dir(std::env::temp_dir())? {
            let name = entry?.file_name();
            n_profiles += usize::from(name.to_string_lossy().starts_with(&prefix));
        }
        Ok(n_profiles)
    }

    /// Generation of the plugin registry, from `GET /plugins`.
    pub(crate) fn generation(&self) -> anyhow::Result<u64> {
        let status: serde_json::Value = serde_json::from_str(&self.body_of("/plugins")?)?;
        status["generation"]
            .as_u64()
            .context("`GET /plugins` has no `generation`")
    }
}

/// Begins a crawl on the server with this base URL and calls `each` with every entry as it arrives.
/// The time until the last one.
pub(crate) fn crawl(
    base: &str,
    key: &str,
    body: &Value,
    mut each: impl FnMut(&str),
) -> anyhow::Result<Duration> {
    let started = Instant::now();
    let curl = Command::new("curl")
        .args(["-sSN", "--fail-with-body", "--max-time", CRAWL_SECONDS_MAX])
        .args(["-H", "Content-Type: application/jsonl"])
        .args(["-H", &format!("Authorization: Bearer {key}")])
        .args(["--data-binary", &body.to_string()])
        .arg(format!("{base}/crawl"))
        .stdout(Stdio::piped())
        .spawn()
        .context("cannot run `curl`")?;
    let mut curl = Running(curl);
    let entries = curl.0.stdout.take().context("stdout is piped")?;
    let mut entries = BufReader::with_capacity(1 << 16, entries);
    let mut entry = String::new();
    while entries.read_line(&mut entry)? > 0 {
        each(&entry);
        entry.clear();
    }
    let took = started.elapsed();
    anyhow::ensure!(curl.0.wait()?.success(), "the server refused the crawl");
    Ok(took)
}

/// A port that is free now.
pub(crate) fn free_port() -> anyhow::Result<u16> {
    Ok(std::net::TcpListener::bind("127.0.0.1:0")?
        .local_addr()?
        .port())
}

/// Waits until a server accepts connections on `port`.
pub(crate) fn wait_for(port: u16) -> anyhow::Result<()> {
    let started = Instant::now();
    while std::net::TcpStream::connect(("127.0.0.1", port)).is_err() {
        anyhow::ensure!(
            started.elapsed() < Duration::from_secs(30),
            "no server listens on port {port} after 30 s"
        );
        std::thread::sleep(Duration::from_millis(20));
    }
    Ok(())
}
