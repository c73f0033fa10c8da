//! `/scrape` under load: nginx, Trawl and wrk on the same machine, then the same with a plugin reloaded in the middle.

use std::fmt::Write as _;
use std::io::{BufRead, BufReader};
use std::path::{Path, PathBuf};
use std::process::{Child, Command, Stdio};
use std::time::{Duration, Instant};

use anyhow::Context;

use crate::corpus;

const CONNECTIONS: u32 = 64;
const SECONDS: u32 = 10;
const ROUNDS: usize = 3;

/// Prints pages a second, latencies, failures and the server's peak memory; then the time a reload takes under that load.
pub(crate) fn run() -> anyhow::Result<()> {
    let folder = tempfile::tempdir()?;
    let nginx = Nginx::start(folder.path(), &corpus::root()?)?;
    let trawl = Trawl::start(folder.path())?;
    let script = wrk_script(folder.path(), &trawl.key, &nginx.base)?;
    wrk(&script, &trawl.base, 3)?;
    println!(
        "{:<8} {:>9} {:>9} {:>9} {:>9}",
        "round", "pages/s", "p50 ms", "p99 ms", "failed"
    );
    for round in 1..=ROUNDS {
        let load = wrk(&script, &trawl.base, SECONDS)?;
        println!(
            "{round:<8} {:>9.0} {:>9.1} {:>9.1} {:>9}",
            load.per_second, load.p50_ms, load.p99_ms, load.failed
        );
    }
    println!("peak memory {} MiB", trawl.peak_mib()?);
    reload(&script, &trawl)
}

/// Touches one plugin's options in `plugins.toml` under load and waits for the new generation.
fn reload(script: &Path, trawl: &Trawl) -> anyhow::Result<()> {
    std::thread::scope(|scope| {
        let load = scope.spawn(|| wrk(script, &trawl.base, SECONDS));
        std::thread::sleep(Duration::from_secs(2));
        let mut times = Vec::new();
        for round in 0..5 {
            let before = trawl.generation()?;
            let manifest = std::fs::read_to_string(&trawl.manifest)?;
            std::fs::write(
                &trawl.manifest,
                format!("{manifest}\n# round {round}\n").replacen(
                    "time_ms = 2000",
                    "time_ms = 2001",
                    1,
                ),
            )?;
            let changed = Instant::now();
            while trawl.generation()? == before {
                anyhow::ensure!(
                    changed.elapsed() < Duration::from_secs(10),
                    "no new generation within 10 s"
                );
                std::thread::sleep(Duration::from_millis(2));
            }
            times.push(changed.elapsed().as_millis());
            std::thread::sleep(Duration::from_millis(500));
        }
        times.sort_unstable();
        let load = load.join().expect("the load thread does not panic")?;
        println!(
            "reload under load: median {} ms, worst {} ms, failed requests {}",
            times[times.len() / 2],
            times[times.len() - 1],
            load.failed
        );
        Ok(())
    })
}

/// What wrk reports.
struct Load {
    per_second: f64,
    p50_ms: f64,
    p99_ms: f64,
    failed: u64,
}

/// Runs wrk; the script's `done` prints one line for us.
fn wrk(script: &Path, base: &str, seconds: u32) -> anyhow::Result<Load> {
    let output = Command::new("wrk")
        .args([
            "-t2",
            &format!("-c{CONNECTIONS}"),
            &format!("-d{seconds}s"),
            "--timeout",
            "10s",
            "-s",
        ])
        .arg(script)
        .arg(format!("{base}/scrape"))
        .output()
        .context("`wrk` does not run: apt-get install wrk nginx-light")?;
    let text = String::from_utf8_lossy(&output.stdout);
    let line = text
        .lines()
        .find_map(|line| line.strip_prefix("RESULT "))
        .with_context(|| format!("wrk said:\n{text}"))?;
    let numbers: Vec<f64> = line.split(' ').map(str::parse).collect::<Result<_, _>>()?;
    let [per_second, p50_ms, p99_ms, failed] = numbers[..] else {
        anyhow::bail!("wrk said `{line}`")
    };
    Ok(Load {
        per_second,
        p50_ms,
        p99_ms,
        failed: failed as u64,
    })
}

/// A request a page of the corpus, in turn. A failed page counts as a failed request.
fn wrk_script(folder: &Path, key: &str, nginx: &str) -> anyhow::Result<PathBuf> {
    let mut script = String::from("local bodies = {\n");
    for page in corpus::pages()? {
        let body = format!(
            r#"{{"url":"{nginx}/{}","return_format":"markdown","request":"http","cache":false}}"#,
            page.display()
        );
        writeln!(script, "  '{body}',")?;
    }
    write!(
        script,
        r#"}}
wrk.method = "POST"
wrk.headers["Content-Type"] = "application/json"
wrk.headers["Authorization"] = "Bearer {key}"
local turn = 0
local threads = {{}}
function setup(thread) table.insert(threads, thread) end
function init() failed = 0 end
function request()
  turn = turn + 1
  return wrk.format(nil, nil, nil, bodies[(turn - 1) % #bodies + 1])
end
function response(status, headers, body)
  if status ~= 200 or not string.find(body, '"error":null', 1, true) then failed = failed + 1 end
end
function done(summary, latency)
  local failed = summary.errors.connect + summary.errors.read + summary.errors.write + summary.errors.timeout
  for _, thread in ipairs(threads) do failed = failed + thread:get("failed") end
  print(string.format("RESULT %.1f %.2f %.2f %d", summary.requests / summary.duration * 1e6, latency:percentile(50) / 1000, latency:percentile(99) / 1000, failed))
end
"#
    )?;
    let path = folder.join("load.lua");
    std::fs::write(&path, script)?;
    Ok(path)
}

/// A process of ours, ended with this value.
struct Running(Child);

impl Drop for Running {
    fn drop(&mut self) {
        // Already ended is as good as ended now.
        let _ = self.0.kill();
        let _ = self.0.wait();
    }
}

struct Nginx {
    base: String,
    _process: Running,
}

impl Nginx {
    fn start(folder: &Path, root: &Path) -> anyhow::Result<Self> {
        let port = free_port()?;
        let here = folder.display();
        let config = format!(
            "daemon off; master_process off; pid {here}/nginx.pid; error_log {here}/nginx.log; user root;\n\
             events {{ worker_connections 1024; }}\n\
             http {{ access_log off; sendfile on; keepalive_requests 100000; types {{ text/html html; }}\n\
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

struct Trawl {
    base: String,
    key: String,
    manifest: PathBuf,
    process: Running,
}

impl Trawl {
    fn start(folder: &Path) -> anyhow::Result<Self> {
        let checkout = Path::new(env!("CARGO_MANIFEST_DIR"))
            .parent()
            .context("bench has a parent folder")?;
        let binary = checkout.join("target/release/trawl");
        anyhow::ensure!(
            binary.is_file(),
            "`target/release/trawl` is not built: cargo xtask build --release"
        );
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
            "[limits]\nrequests_per_minute = 100000000\nconnections_per_host = 256\n",
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
        Ok(Self {
            base: format!("http://127.0.0.1:{port}"),
            key,
            manifest,
            process,
        })
    }

    fn peak_mib(&self) -> anyhow::Result<u64> {
        let status = std::fs::read_to_string(format!("/proc/{}/status", self.process.0.id()))?;
        let line = status
            .lines()
            .find_map(|line| line.strip_prefix("VmHWM:"))
            .context("the kernel tells VmHWM")?;
        Ok(line.trim().trim_end_matches(" kB").parse::<u64>()? / 1024)
    }

    fn generation(&self) -> anyhow::Result<u64> {
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

fn free_port() -> anyhow::Result<u16> {
    Ok(std::net::TcpListener::bind("127.0.0.1:0")?
        .local_addr()?
        .port())
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
