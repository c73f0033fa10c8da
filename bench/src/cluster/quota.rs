//! A share of a core, by the control groups of Linux.

use std::fs::OpenOptions;
use std::io::Write as _;
use std::path::{Path, PathBuf};

/// Folders of groups, and a setting of each that is half a core: 50 of 100 ms, of version 2 and of
/// version 1.
const HALF_A_CORE: [(&str, &str, &str); 2] = [
    ("/sys/fs/cgroup", "cpu.max", "50000 100000"),
    ("/sys/fs/cgroup/cpu", "cpu.cfs_quota_us", "50000"),
];

/// A group whose processes have half a core together. It is removed on drop, once they have ended.
pub(super) struct Quota(PathBuf);

impl Quota {
    /// A new group; `None` if this user may not have one, or this system has none.
    pub(super) fn half_a_core(name: &str) -> Option<Self> {
        let process = std::process::id();
        let mut groups = HALF_A_CORE.into_iter();
        groups.find_map(|(parent, setting, value)| {
            let group = Path::new(parent).join(format!("trawl-bench-{process}-{name}"));
            std::fs::create_dir(&group).ok()?;
            let group = Self(group);
            group.set(setting, value).is_ok().then_some(group)
        })
    }

    /// Puts a process into the group.
    pub(super) fn hold(&self, process: u32) -> std::io::Result<()> {
        self.set("cgroup.procs", &process.to_string())
    }

    /// Writes a setting that is there: another file is not created.
    fn set(&self, setting: &str, value: &str) -> std::io::Result<()> {
        let mut file = OpenOptions::new().write(true).open(self.0.join(setting))?;
        file.write_all(value.as_bytes())
    }
}

impl Drop for Quota {
    fn drop(&mut self) {
        // One that is left has no process and costs nothing.
        let _removed = std::fs::remove_dir(&self.0);
    }
}
