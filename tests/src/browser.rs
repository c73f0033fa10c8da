//! The machine's own Chromium, started in a way that a test can see which processes are whose.

use std::fs;
use std::os::unix::fs::PermissionsExt;
use std::path::{Path, PathBuf};
use std::time::{Duration, Instant};

use crate::World;

/// Where browsers are.
const FOLDERS: [&str; 2] = ["/usr/bin", "/usr/local/bin"];
/// Their names.
const NAMES: [&str; 3] = ["chromium-headless-shell", "chromium", "google-chrome"];
/// How long processes may take to vanish.
const VANISH_TIME_MAX: Duration = Duration::from_secs(10);

/// The browsers of one world. Each writes down its process group before it becomes the browser.
pub struct WatchedBrowser {
    groups: PathBuf,
}

impl WatchedBrowser {
    /// Puts the machine's browser into the world; `None`, and a line that says so, when there is none.
    pub fn put(world: &mut World) -> Option<Self> {
        let Some(program) = installed() else {
            eprintln!("skipped: no browser; install one with `apt-get install chromium`");
            return None;
        };
        let line = format!("exec {} \"$@\"", program.display());
        if !may_have_sandbox() {
            eprintln!("this machine lets nobody have a sandbox, so the browser runs without one");
            world.browser.no_sandbox = true;
        }
        Some(Self::put_script(world, &line))
    }

    /// Puts a script into the world that stands for a browser.
    ///
    /// # Panics
    /// When it cannot be written.
    pub fn put_script(world: &mut World, line: &str) -> Self {
        // The browser runs as another user, who must get here and may write one file.
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

    /// Browsers started so far: their process groups.
    pub fn groups(&self) -> Vec<i32> {
        let text = fs::read_to_string(&self.groups).expect("the file");
        text.lines().filter_map(|line| line.parse().ok()).collect()
    }

    /// Processes of all browsers that are alive, with their command lines.
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

    /// Kills every process of the browsers in whose command line `part` stands; the number of them.
    pub fn kill(&self, part: &str) -> usize {
        let found = self.processes();
        let found = found.iter().filter(|(_, line)| line.contains(part));
        let ids: Vec<String> = found.map(|(id, _)| id.to_string()).collect();
        if ids.is_empty() {
            return 0;
        }
        let killed = std::process::Command::new("kill")
            .arg("-9")
            .args(&ids)
            .status();
        assert!(killed.expect("kill runs").success());
        ids.len()
    }

    /// Waits until no process of any of the browsers is left.
    ///
    /// # Panics
    /// When one is after a while.
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

fn installed() -> Option<PathBuf> {
    let of = |name: &str| FOLDERS.map(|folder| Path::new(folder).join(name));
    NAMES
        .iter()
        .flat_map(|name| of(name))
        .find(|path| path.is_file())
}

/// Whether the machine lets an ordinary user have a namespace of its own, of which the browser's sandbox is made. Containers may
/// not.
fn may_have_sandbox() -> bool {
    let works = |program: &str, arguments: &[&str]| {
        let run = std::process::Command::new(program).args(arguments).output();
        run.is_ok_and(|output| output.status.success())
    };
    let as_nobody = ["--reuid=65534", "--regid=65534", "--clear-groups"];
    let is_root = works("setpriv", &[&as_nobody[..], &["true"]].concat());
    match is_root {
        true => works(
            "setpriv",
            &[&as_nobody[..], &["unshare", "--user", "true"]].concat(),
        ),
        false => works("unshare", &["--user", "true"]),
    }
}
