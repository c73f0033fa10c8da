//! Runs the image's program as a container does: in the root of its layers alone, read-only, as its
//! user, with a fresh /tmp and data directory.

use std::io::Read;
use std::net::TcpListener;
use std::path::Path;
use std::process::{Child, Command, Stdio};
use std::thread;
use std::time::{Duration, Instant};

use anyhow::{Context, bail};
use serde_json::Value;

use super::settings::{DATA, ENVIRONMENT, PROGRAM, USER};
use crate::host;

/// How long the program may take to its first healthy report, which has a page of the browser.
const START_MAX: Duration = Duration::from_secs(120);
/// Time between two questions.
const PAUSE: Duration = Duration::from_secs(1);

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

/// A program that is killed on drop.
struct Running(Child);

impl Drop for Running {
    fn drop(&mut self) {
        // It may have ended already.
        let _killed = self.0.kill();
        let _ended = self.0.wait();
    }
}

/// Starts the program in this root and waits until it is healthy.
///
/// # Errors
/// It ends, or a page cannot be fetched or rendered: with its last report.
pub(super) fn run(root: &Path) -> anyhow::Result<()> {
    // Free now, and for the moment until the program takes it.
    let address = TcpListener::bind("127.0.0.1:0")?.local_addr()?.to_string();
    let mut running = Running(start(root, &address)?);
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
        if let Some(status) = running.0.try_wait()? {
            let said = errors(&mut running.0);
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

/// What an ended program said, in its last bytes.
fn errors(program: &mut Child) -> String {
    let mut text = Vec::new();
    if let Some(output) = program.stderr.as_mut() {
        // What cannot be read is not shown.
        let _unread = output.take(64 * 1024).read_to_end(&mut text);
    }
    String::from_utf8_lossy(&text).trim().to_owned()
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
        let error = wait(&mut Running(program), silent).expect_err("nothing is there");
        let text = error.to_string();
        let names_cause = ["mount", "unshare"].iter().any(|word| text.contains(word));
        assert!(text.contains("ended") && names_cause, "{text}");
    }
}
