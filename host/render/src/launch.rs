//! Finds the browser, builds its command line, and manages its processes. No part of the command
//! line comes from a request.

use std::ffi::OsStr;
use std::fs::Permissions;
use std::os::unix::fs::{PermissionsExt, chown};
use std::path::{Path, PathBuf};
use std::process::Stdio;
use std::time::{Duration, Instant};

use rustix::io::Errno;
use rustix::process::{
    Pid, Signal, getuid, kill_process, kill_process_group, test_kill_process,
    test_kill_process_group,
};
use tempfile::TempDir;
use tokio::io::AsyncReadExt;
use tokio::process::{Child, Command};

use super::cdp::Connection;
use super::config::{RenderConfig, SCRIPT_HEAP_MB};
use super::error::RenderError;
use super::memory::{ProcessMemory, group_memory};

/// Executable names on the search path, in order of preference.
/// The headless shell is the same engine without desktop windows, which take three quarters of a
/// small page's CPU time.
const NAMES: [&str; 5] = [
    "chromium-headless-shell",
    "chromium",
    "chromium-browser",
    "google-chrome",
    "google-chrome-stable",
];
/// Prefix of the names of profile folders; the server's process id follows.
const FOLDER_PREFIX: &str = "trawl-browser-";
/// Bytes read of the error output of a browser that fails to start.
const ERROR_OUTPUT_BYTES_MAX: usize = 4_096;
/// How long killed processes may take to disappear.
const EXIT_TIME_MAX: Duration = Duration::from_secs(5);

/// Command line switches of every browser, in groups with their purpose.
const FLAGS: &[&str] = &[
    "--headless=new",
    "--remote-debugging-pipe",
    "--no-startup-window",
    "--no-first-run",
    "--no-default-browser-check",
    "--hide-scrollbars",
    // The window that a page of the default size is in, on a desktop with a mouse.
    "--window-size=1366,853",
    "--blink-settings=primaryHoverType=2,availableHoverTypes=2,primaryPointerType=4,availablePointerTypes=4",
    "--mute-audio",
    "--disable-gpu",
    "--password-store=basic",
    "--use-mock-keychain",
    "--disable-extensions",
    "--disable-default-apps",
    "--disable-breakpad",
    "--disable-crash-reporter",
    "--disable-hang-monitor",
    "--disable-prompt-on-repost",
    "--block-new-web-contents",
    // Only pages may use the network, and only through the proxy of their context: any other
    // connection goes to a closed port, and no name is resolved, over HTTPS neither. What uses UDP
    // (QUIC, WebTransport, WebRTC) has no proxy, and so no way out. Decision D168.
    "--proxy-server=http://127.0.0.1:9",
    "--proxy-bypass-list=<-loopback>",
    "--host-resolver-rules=MAP * ~NOTFOUND, EXCLUDE 127.0.0.1",
    "--disable-quic",
    "--dns-prefetch-disable",
    "--force-webrtc-ip-handling-policy=disable_non_proxied_udp",
    "--webrtc-ip-handling-policy=disable_non_proxied_udp",
    "--disable-background-networking",
    "--disable-component-update",
    "--disable-component-extensions-with-background-pages",
    "--disable-sync",
    "--disable-domain-reliability",
    "--disable-client-side-phishing-detection",
    "--disable-field-trial-config",
    "--metrics-recording-only",
    "--no-pings",
    // Cookies of a host are for its port alone, the caller's among them: some requests are not seen
    // before they are sent. Decision D382.
    "--enable-features=EnablePortBoundCookies",
    // One renderer process per page, whatever frames it has: its CPU time is the page's own, and a
    // page belongs to one caller.
    "--disable-site-isolation-trials",
    "--disable-features=IsolateOrigins,site-per-process,BackForwardCache,Translate,OptimizationHints,MediaRouter,\
DialMediaRouteProvider,CertificateTransparencyComponentUpdater,AutofillServerCommunication,InterestFeedContentSuggestions,\
DnsOverHttps,Prerender2,SpareRendererForSitePerProcess,GlobalMediaControls,HttpsUpgrades,HttpsFirstBalancedModeAutoEnable",
    // Hidden pages run at full speed.
    "--disable-background-timer-throttling",
    "--disable-backgrounding-occluded-windows",
    "--disable-renderer-backgrounding",
];

/// The browser's executable: the configured one, else the first found on `search_path`.
pub(super) fn find(configured: Option<&Path>, search_path: &OsStr) -> Option<PathBuf> {
    match configured {
        Some(path) => path.is_file().then(|| path.to_owned()),
        None => {
            let folders: Vec<PathBuf> = std::env::split_paths(search_path).collect();
            let candidates = NAMES
                .iter()
                .flat_map(|name| folders.iter().map(move |folder| folder.join(name)));
            candidates.into_iter().find(|path| path.is_file())
        }
    }
}

/// Removes the profile folders of browsers whose server was killed before it could.
pub(super) fn sweep(folder: &Path) {
    let entries = std::fs::read_dir(folder).into_iter().flatten().flatten();
    for entry in entries {
        let name = entry.file_name();
        let owner = name
            .to_str()
            .and_then(|name| name.strip_prefix(FOLDER_PREFIX)?.split('-').next());
        let owner = owner
            .and_then(|owner| owner.parse().ok())
            .and_then(Pid::from_raw);
        if owner.is_some_and(|owner| test_kill_process(owner) == Err(Errno::SRCH))
            && let Err(error) = std::fs::remove_dir_all(entry.path())
        {
            tracing::warn!(%error, "the profile folder of an earlier browser could not be removed");
        }
    }
}

/// A running browser with its profile folder. Its whole process group is killed on drop.
pub(super) struct Running {
    group: Pid,
    child: Option<Child>,
    profile: Option<TempDir>,
}

/// Starts the browser, without waiting for its first response.
///
/// # Errors
/// [`RenderError::Launch`].
pub(super) fn start(
    program: &Path,
    config: &RenderConfig,
) -> Result<(Running, Connection), RenderError> {
    let failed = |reason: String| RenderError::Launch(reason);
    let prefix = format!("{FOLDER_PREFIX}{}-", std::process::id());
    let profile = tempfile::Builder::new()
        .prefix(&prefix)
        .permissions(Permissions::from_mode(0o700))
        .tempdir();
    let profile = profile
        .map_err(|error| failed(format!("its profile folder cannot be created: {error}")))?;
    let mut command = command(program, profile.path(), config);
    // With or without its sandbox: what breaks out of a page must not be root.
    if getuid().is_root() {
        let (user, group) = account(&config.user).ok_or_else(|| {
            failed(format!(
                "it must not run as root, and there is no user `{}`; name another one in `[browser] user`",
                config.user
            ))
        })?;
        let owned = chown(profile.path(), Some(user), Some(group));
        owned.map_err(|error| {
            failed(format!(
                "its profile folder cannot be given to its user: {error}"
            ))
        })?;
        command.uid(user).gid(group);
    }
    let mut child = command.spawn().map_err(|error| failed(error.to_string()))?;
    let group = child.id().and_then(|id| Pid::from_raw(id.cast_signed()));
    let group = group.ok_or_else(|| failed("it exited at once".to_owned()))?;
    let (input, output) = (child.stdin.take(), child.stdout.take());
    let (Some(input), Some(output)) = (input, output) else {
        return Err(failed("its pipes are missing".to_owned()));
    };
    let running = Running {
        group,
        child: Some(child),
        profile: Some(profile),
    };
    Ok((running, Connection::open(input, output)))
}

/// The browser's command line and environment, with its files in this folder.
fn command(program: &Path, profile: &Path, config: &RenderConfig) -> Command {
    // The shell only moves the two pipes to the descriptors 3 and 4, where the browser expects
    // them.
    let mut command = Command::new("/bin/sh");
    command
        .args(["-c", "exec \"$@\" 3<&0 4>&1 0</dev/null 1>/dev/null", "sh"])
        .arg(program)
        .args(FLAGS)
        .arg(format!("--js-flags=--max-old-space-size={SCRIPT_HEAP_MB}"))
        .arg(format!("--user-data-dir={}", profile.display()))
        .env_clear()
        .env("PATH", &config.search_path)
        .env("HOME", profile)
        .env("TMPDIR", profile)
        .env("LANG", "C.UTF-8")
        .current_dir(profile)
        .stdin(Stdio::piped())
        .stdout(Stdio::piped())
        .stderr(Stdio::piped())
        .process_group(0)
        .kill_on_drop(true);
    if config.no_sandbox {
        command.arg("--no-sandbox");
    }
    command
}

impl Running {
    /// The error output of a browser that failed to start, in one line; waits for its end.
    pub(super) async fn error_output(&mut self) -> String {
        let Some(mut stderr) = self.child.as_mut().and_then(|child| child.stderr.take()) else {
            return String::new();
        };
        let mut output = vec![0; ERROR_OUTPUT_BYTES_MAX];
        let mut length = 0;
        let reading = async {
            while length < output.len() {
                match stderr.read(&mut output[length..]).await {
                    Ok(read) if read > 0 => length += read,
                    _ => break,
                }
            }
        };
        let _late = tokio::time::timeout(Duration::from_millis(500), reading).await;
        let output = String::from_utf8_lossy(&output[..length]).into_owned();
        let line = output
            .lines()
            .find(|line| line.contains("FATAL") || line.contains("sandbox"));
        let line = line.or_else(|| output.lines().last()).unwrap_or_default();
        if line.contains("sandbox") {
            return format!(
                "{line} (in a container that allows no sandbox, set `no_sandbox = true` under `[browser]`)"
            );
        }
        line.to_owned()
    }

    /// Discards the browser's further error output, so that a full pipe never blocks it.
    pub(super) fn drain_stderr(&mut self) {
        if let Some(mut stderr) = self.child.as_mut().and_then(|child| child.stderr.take()) {
            tokio::spawn(async move { tokio::io::copy(&mut stderr, &mut tokio::io::sink()).await });
        }
    }

    /// Kills every process of the browser, waits until all have ended, and removes its profile
    /// folder.
    pub(super) async fn end(mut self) {
        let (child, profile) = (self.child.take(), self.profile.take());
        finish(self.group, child, profile).await;
    }

    /// Private memory of the browser's processes.
    pub(super) fn memory(&self) -> Vec<ProcessMemory> {
        group_memory(self.group)
    }

    /// Kills one process of the browser.
    pub(super) fn kill(&self, process: Pid) {
        let _gone = kill_process(process, Signal::KILL);
    }
}

impl Drop for Running {
    fn drop(&mut self) {
        let (Some(child), profile) = (self.child.take(), self.profile.take()) else {
            return;
        };
        let _gone = kill_process_group(self.group, Signal::KILL);
        if let Ok(runtime) = tokio::runtime::Handle::try_current() {
            runtime.spawn(finish(self.group, Some(child), profile));
        }
    }
}

async fn finish(group: Pid, child: Option<Child>, profile: Option<TempDir>) {
    let _gone = kill_process_group(group, Signal::KILL);
    if let Some(mut child) = child {
        let _late = tokio::time::timeout(EXIT_TIME_MAX, child.wait()).await;
    }
    let deadline = Instant::now() + EXIT_TIME_MAX;
    while test_kill_process_group(group).is_ok() && Instant::now() < deadline {
        tokio::time::sleep(Duration::from_millis(10)).await;
    }
    let removed = tokio::task::spawn_blocking(move || profile.map(TempDir::close)).await;
    if let Ok(Some(Err(error))) = removed {
        tracing::warn!(%error, "a browser's profile folder could not be removed");
    }
}

/// User and group id of an account.
fn account(name: &str) -> Option<(u32, u32)> {
    let accounts = std::fs::read_to_string("/etc/passwd").ok()?;
    accounts.lines().find_map(|line| {
        let mut fields = line.split(':');
        let is_wanted = fields.next() == Some(name);
        let (user, group) = (fields.nth(1)?.parse().ok()?, fields.next()?.parse().ok()?);
        (is_wanted && user != 0).then_some((user, group))
    })
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_missing_configured_browser_is_not_replaced_by_another() {
        let missing = Path::new("/nowhere/chromium");
        assert_eq!(find(Some(missing), OsStr::new("/usr/bin")), None);
        assert_eq!(find(None, OsStr::new("/nowhere")), None);
    }

    #[test]
    fn the_first_name_on_the_path_wins() {
        let folder = tempfile::tempdir().expect("a folder");
        for name in ["google-chrome", "chromium", "chromium-headless-shell"] {
            std::fs::write(folder.path().join(name), "").expect("a file");
        }
        let found = find(None, folder.path().as_os_str());
        assert_eq!(found, Some(folder.path().join("chromium-headless-shell")));
    }

    #[test]
    fn profile_folders_are_removed_when_their_server_is_gone() {
        let folder = tempfile::tempdir().expect("a folder");
        let mut gone = std::process::Command::new("true")
            .spawn()
            .expect("a process");
        gone.wait().expect("it ends");
        let of = |owner: String| folder.path().join(format!("{FOLDER_PREFIX}{owner}-x"));
        let (left, ours) = (
            of(gone.id().to_string()),
            of(std::process::id().to_string()),
        );
        let other = of("what".to_owned());
        for path in [&left, &ours, &other] {
            std::fs::create_dir(path).expect("a folder");
        }
        sweep(folder.path());
        let there = [&left, &ours, &other].map(|path| path.exists());
        assert_eq!(there, [false, true, true]);
    }

    #[test]
    fn root_and_unknown_users_are_no_accounts() {
        assert!(account("root").is_none());
        assert!(account("no such user").is_none());
    }
}
