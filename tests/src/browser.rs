//! A Chromium whose processes a test can list and kill.

use std::fs;
use std::os::unix::fs::PermissionsExt;
use std::path::{Path, PathBuf};
use std::process::Command;
use std::time::{Duration, Instant};

use crate::World;

/// The browser that the build script found.
const BROWSER: Option<&str> = option_env!("TRAWL_TEST_BROWSER");
/// Upper bound on the time in which killed processes disappear.
const VANISH_TIME_MAX: Duration = Duration::from_secs(30);

/// The browser of one world. It is a script that records its process group and then becomes the
/// browser, so the processes of tests that run at the same time can be distinguished.
pub struct WatchedBrowser {
    groups: PathBuf,
}

impl WatchedBrowser {
    /// Configures the installed browser for this world.
    ///
    /// # Panics
    /// When there is no browser. Tests that need one are ignored then: see `build.rs`.
    pub fn put(world: &mut World) -> Self {
        let browser = BROWSER.expect("no Chromium: install chromium-headless-shell");
        if !can_sandbox() {
            eprintln!(
                "this machine allows no user namespaces: the browser runs without its sandbox"
            );
            world.browser.no_sandbox = true;
        }
        Self::put_script(world, &format!("exec {browser} \"$@\""))
    }

    /// Configures a script with this line as the browser of this world.
    ///
    /// # Panics
    /// When it cannot be written.
    pub fn put_script(world: &mut World, line: &str) -> Self {
        // The server runs the browser as another user, who needs access to the script and its file.
        let folder = world.path("browser");
        fs::create_dir(&folder).expect("a folder");
        let (script, groups) = (folder.join("browser.sh"), folder.join("groups"));
        fs::write(&groups, "").expect("a file");
        let text = format!("#!/bin/sh\necho $$ >> {}\n{line}\n", groups.display());
        fs::write(&script, text).expect("a script");
        let open = |path: &Path, mode: u32| {
            fs::set_permissions(path, fs::Permissions::from_mode(mode)).expect("permissions");
        };
        open(&world.path(""), 0o755);
        open(&folder, 0o755);
        open(&script, 0o755);
        open(&groups, 0o666);
        world.browser.program = Some(script);
        world.browser.tabs = 8;
        Self { groups }
    }

    /// Process groups of all browsers started so far.
    pub fn groups(&self) -> Vec<i32> {
        let text = fs::read_to_string(&self.groups).expect("the file");
        text.lines().filter_map(|line| line.parse().ok()).collect()
    }

    /// Live processes of all browsers, with their command lines.
    pub fn processes(&self) -> Vec<(i32, String)> {
        let groups = self.groups();
        let all = fs::read_dir("/proc").expect("processes");
        let alive = all.flatten().filter_map(|entry| {
            let id: i32 = entry.file_name().to_str()?.parse().ok()?;
            let stat = fs::read_to_string(entry.path().join("stat")).ok()?;
            let mut after = stat.rsplit_once(')')?.1.split_whitespace();
            let (state, group) = (after.next()?, after.nth(1)?.parse().ok()?);
            if state == "Z" || !groups.contains(&group) {
                return None;
            }
            let line = fs::read(entry.path().join("cmdline")).ok()?;
            Some((id, String::from_utf8_lossy(&line).replace('\0', " ")))
        });
        alive.collect()
    }

    /// Kills the browser processes whose command line contains `part` and returns their number.
    pub fn kill(&self, part: &str) -> usize {
        let found = self.processes();
        let found = found.iter().filter(|(_, line)| line.contains(part));
        let ids: Vec<String> = found.map(|(id, _)| id.to_string()).collect();
        if ids.is_empty() {
            return 0;
        }
        let killed = Command::new("kill").arg("-9").args(&ids).status();
        assert!(killed.expect("kill runs").success());
        ids.len()
    }

    /// Waits until all processes of the browsers have ended.
    ///
    /// # Panics
    /// When one is still alive after [`VANISH_TIME_MAX`].
    pub async fn assert_gone(&self) {
        let end = Instant::now() + VANISH_TIME_MAX;
        loop {
            let left = self.processes();
            if left.is_empty() {
                return;
            }
            assert!(Instant::now() < end, "{left:?}");
            tokio::time::sleep(Duration::from_millis(50)).await;
        }
    }
}

/// Whether an unprivileged user may create a user namespace, which the browser's sandbox needs.
/// Many containers forbid it.
fn can_sandbox() -> bool {
    let works = |program: &str, arguments: &[&str]| {
        let run = Command::new(program).args(arguments).output();
        run.is_ok_and(|output| output.status.success())
    };
    let unprivileged = ["--reuid=65534", "--regid=65534", "--clear-groups"];
    let is_root = works("setpriv", &[&unprivileged[..], &["true"]].concat());
    if is_root {
        let unshare = ["unshare", "--user", "true"];
        works("setpriv", &[&unprivileged[..], &unshare].concat())
    } else {
        works("unshare", &["--user", "true"])
    }
}
