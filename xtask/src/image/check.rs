//! Runs the image's program as a container does: in the root of its layers alone, read-only, as its
//! user, with a fresh /tmp and data directory.

use std::io::Read;
use std::net::TcpListener;
use std::path::Path;
use std::process::{Child, Command, Stdio};
use std::thread::{self, JoinHandle};
use std::time::{Duration, Instant};

use anyhow::{Context, bail};
use serde_json::Value;

use super::settings::{DATA, ENVIRONMENT, PROGRAM, USER};
use crate::host;

/// How long the program may take to its first healthy report, which has a page of the browser.
const START_MAX: Duration = Duration::from_secs(120);
/// Time between two questions.
const PAUSE: Duration = Duration::from_secs(1);
/// Last bytes of what the program said that are shown.
const SAID_BYTES_MAX: usize = 64 * 1024;

/// Mounts what a container has, makes the root the process's own, and becomes the program. The root
/// is changed by `pivot_root`, because Linux gives no user namespaces, and so no sandbox of the
/// browser, to a process in a `chroot`. `chroot` then changes the
/// user only; it is in the machine's root, which stays visible in `/mnt`.
const ENTER: &str = r#"set -e
root=$1 user=$2 data=$3
shift 3
mount --bind "$root" "$root"
mount -t proc proc "$root/proc"
mount -t tmpfs -o mode=1777 tmpfs "$root/tmp"
mount -t tmpfs -o "mode=0700,uid=$user,gid=$user" tmpfs "$root$data"
mount --rbind /dev "$root/dev"
mount -o remount,bind,ro "$root"
cd "$root"
pivot_root . mnt
cd "$data"
exec /mnt/usr/sbin/chroot --userspec="$user:$user" --skip-chdir / "$@"
"#;

/// A program that is killed on drop. What it says is read all the time: a full pipe would stop it.
struct Running {
    program: Child,
    /// Its last words, once it has ended.
    said: Option<JoinHandle<String>>,
}

impl Running {
    fn new(mut program: Child) -> Self {
        let output = program.stderr.take();
        let said = output.map(|output| thread::spawn(move || last_words(output)));
        Self { program, said }
    }

    /// What it said at last, after it has ended.
    fn said(&mut self) -> String {
        let said = self.said.take().and_then(|said| said.join().ok());
        said.unwrap_or_default()
    }
}

impl Drop for Running {
    fn drop(&mut self) {
        // It may have ended already.
        let _killed = self.program.kill();
        let _ended = self.program.wait();
    }
}

/// Reads all that a program says, and returns its last bytes.
fn last_words(mut output: impl Read) -> String {
    let mut text = Vec::new();
    let mut part = vec![0; SAID_BYTES_MAX];
    // What cannot be read is not shown.
    while let Ok(n_read @ 1..) = output.read(&mut part) {
        text.extend_from_slice(&part[..n_read]);
        text.drain(..text.len().saturating_sub(SAID_BYTES_MAX));
    }
    String::from_utf8_lossy(&text).trim().to_owned()
}

/// Starts the program in this root and waits until it is healthy.
///
/// # Errors
/// It ends, or a page cannot be fetched or rendered: with its last report.
pub(super) fn run(root: &Path) -> anyhow::Result<()> {
    // Free now, and for the moment until the program takes it.
    let address = TcpListener::bind("127.0.0.1:0")?.local_addr()?.to_string();
    let mut running = Running::new(start(root, &address)?);
    wait(&mut running, || health(&address))?;
    eprintln!("image: the program fetches and renders pages in its bare root");
    Ok(())
}

/// Waits until `ask` gives a report in which all engines work.
fn wait(
    running: &mut Running,
    ask: impl Fn() -> anyhow::Result<Result<Value, String>>,
) -> anyhow::Result<()> {
    let deadline = Instant::now() + START_MAX;
    let mut last = "it did not answer".to_owned();
    while Instant::now() < deadline {
        if let Some(status) = running.program.try_wait()? {
            let said = running.said();
            bail!("the program in the image ended ({status}): {said}");
        }
        match ask()? {
            Ok(report) => match missing(&report) {
                None => return Ok(()),
                Some(engine) => last = format!("its engine `{engine}` fails: {report}"),
            },
            Err(error) => last = error,
        }
        thread::sleep(PAUSE);
    }
    bail!("the program in the image is not healthy: {last}")
}

fn start(root: &Path, address: &str) -> anyhow::Result<Child> {
    let user = USER.to_string();
    let mut command = Command::new("unshare");
    command
        .args(["--mount", "--pid", "--fork", "--kill-child"])
        .args(["--propagation", "private", "/bin/sh", "-c", ENTER, "sh"])
        .arg(root)
        .args([user.as_str(), DATA, PROGRAM, "serve", "--listen", address])
        .env_clear()
        .envs(ENVIRONMENT)
        .env("PATH", "/usr/sbin:/usr/bin:/sbin:/bin")
        .stdin(Stdio::null())
        .stdout(Stdio::null())
        .stderr(Stdio::piped());
    command
        .spawn()
        .context("cannot start `unshare`, which runs the image's program in its root")
}

/// Asks the program at this address from outside: its report, or why there is none.
fn health(address: &str) -> anyhow::Result<Result<Value, String>> {
    let output = Command::new(host::Profile::Release.program("trawl"))
        .args(["health", "--listen", address])
        .output()
        .context("cannot start the health check")?;
    if !output.status.success() {
        return Ok(Err(String::from_utf8_lossy(&output.stderr).into_owned()));
    }
    Ok(Ok(serde_json::from_slice(&output.stdout)?))
}

/// An engine that a report does not call working.
fn missing(report: &Value) -> Option<&'static str> {
    let engines = ["http", "browser"];
    engines
        .into_iter()
        .find(|engine| report["engines"][engine]["ok"] != true)
}

#[cfg(test)]
mod tests {
    use serde_json::json;

    use super::*;

    #[test]
    fn both_engines_must_work() {
        let report = |http: bool, browser: bool| json!({"engines": {"http": {"ok": http}, "browser": {"ok": browser}}});
        assert_eq!(missing(&report(true, true)), None);
        assert_eq!(missing(&report(true, false)), Some("browser"));
        assert_eq!(missing(&report(false, true)), Some("http"));
        assert_eq!(missing(&json!({})), Some("http"));
    }

    #[test]
    fn a_program_that_cannot_start_is_an_error_with_its_words() {
        let root = tempfile::tempdir().expect("a folder");
        // An empty root has no folders to mount on.
        let program = start(root.path(), "127.0.0.1:1").expect("a process");
        let silent = || Ok(Err("nothing answers".to_owned()));
        let error = wait(&mut Running::new(program), silent).expect_err("nothing is there");
        let text = error.to_string();
        let names_cause = ["mount", "unshare"].iter().any(|word| text.contains(word));
        assert!(text.contains("ended") && names_cause, "{text}");
    }

    #[test]
    fn a_program_that_says_much_goes_on_and_its_last_words_are_shown() {
        // More than a pipe has room for.
        let much = "head -c 1000000 /dev/zero | tr '\\0' x >&2; echo the end >&2; exit 3";
        let mut command = Command::new("sh");
        command.args(["-c", much]).stderr(Stdio::piped());
        let program = command.spawn().expect("a process");
        let silent = || Ok(Err("nothing answers".to_owned()));
        let error = wait(&mut Running::new(program), silent).expect_err("it ends");
        let text = error.to_string();
        let is_ended = text.contains("ended") && text.ends_with("the end");
        assert!(
            is_ended && text.len() < 2 * SAID_BYTES_MAX,
            "{}",
            text.len()
        );
    }
}
