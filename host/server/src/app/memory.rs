//! The size of the memory budget: what the configuration says, or a part of what the machine or
//! its control group has.

use std::path::PathBuf;

use trawl_model::memory::MemoryBudget;

use super::settings::mebibytes;
use crate::config::Config;

/// The part of the memory that pages in flight may hold, unless configured otherwise: caches, the
/// database, the browser and the rest of the machine need the others.
const PART: u64 = 4;
/// The smallest budget: one page of ordinary size at a time.
const BYTES_MIN: u64 = 64 << 20;
/// What is assumed if the machine does not say what it has.
const MEMORY_UNKNOWN: u64 = 4 << 30;
/// Where control groups are mounted.
const GROUPS: &str = "/sys/fs/cgroup";

/// The budget of this configuration on this machine.
pub(super) fn budget(config: &Config) -> std::sync::Arc<MemoryBudget> {
    let bytes = match config.limits.memory_mib {
        0 => available() / PART,
        mib => mebibytes(mib),
    };
    let bytes = bytes.max(BYTES_MIN);
    tracing::info!(bytes, "memory budget of pages in flight");
    MemoryBudget::new(bytes)
}

/// Bytes that this process may use: of the machine, or of its control groups if they allow less.
fn available() -> u64 {
    let machine = read("/proc/meminfo").and_then(|text| total(&text));
    let own = read("/proc/self/cgroup").unwrap_or_default();
    let limits = limit_files(&own).into_iter();
    let limits = limits.filter_map(|file| limit(&std::fs::read_to_string(file).ok()?));
    limits.chain(machine).min().unwrap_or(MEMORY_UNKNOWN)
}

fn read(file: &str) -> Option<String> {
    std::fs::read_to_string(file).ok()
}

/// `MemTotal` of `/proc/meminfo`, in bytes. proc_meminfo(5).
fn total(meminfo: &str) -> Option<u64> {
    let line = meminfo
        .lines()
        .find_map(|line| line.strip_prefix("MemTotal:"))?;
    let kib: u64 = line.trim().strip_suffix("kB")?.trim().parse().ok()?;
    kib.checked_mul(1024)
}

/// The limit in a file of a control group. `max` means no limit (version 2); version 1 writes the
/// largest number of pages, which is beyond any machine and so never the least.
fn limit(text: &str) -> Option<u64> {
    text.trim().parse().ok()
}

/// The files that may limit this process, by its `/proc/self/cgroup`. A group is limited by its
/// ancestors too; in a container the path may be the host's, then only the root exists.
/// cgroups(7).
fn limit_files(own: &str) -> Vec<PathBuf> {
    let mut files = Vec::new();
    for line in own.lines() {
        let mut parts = line.splitn(3, ':');
        let (Some(_), Some(controllers), Some(path)) = (parts.next(), parts.next(), parts.next())
        else {
            continue;
        };
        let (root, name) = if controllers.is_empty() {
            (PathBuf::from(GROUPS), "memory.max")
        } else if controllers.split(',').any(|name| name == "memory") {
            (
                PathBuf::from(GROUPS).join("memory"),
                "memory.limit_in_bytes",
            )
        } else {
            continue;
        };
        let group = root.join(path.trim_start_matches('/'));
        let groups = group.ancestors().take_while(|at| at.starts_with(&root));
        files.extend(groups.map(|group| group.join(name)));
    }
    files
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn the_memory_of_a_machine_is_read() {
        let meminfo = "MemTotal:       24689236 kB\nMemFree:         1234 kB\n";
        assert_eq!(total(meminfo), Some(24_689_236 * 1024));
        assert_eq!(total("MemFree: 1 kB\n"), None);
        assert_eq!(total("MemTotal: lots kB\n"), None);
        assert_eq!(total("MemTotal: 99999999999999999999 kB\n"), None);
    }

    #[test]
    fn limits_of_control_groups_are_read() {
        assert_eq!(limit("536870912\n"), Some(512 << 20));
        assert_eq!(limit("max\n"), None);
        let unlimited_v1 = limit("9223372036854771712\n");
        assert!(unlimited_v1.is_some_and(|bytes| bytes > 1 << 60));
    }

    #[test]
    fn a_group_of_version_2_and_its_ancestors_are_looked_at() {
        let files = limit_files("0::/system.slice/trawl.service\n");
        let names = [
            "/sys/fs/cgroup/system.slice/trawl.service/memory.max",
            "/sys/fs/cgroup/system.slice/memory.max",
            "/sys/fs/cgroup/memory.max",
        ];
        assert_eq!(files, names.map(PathBuf::from));
        assert_eq!(
            limit_files("0::/\n"),
            [PathBuf::from("/sys/fs/cgroup/memory.max")]
        );
    }

    #[test]
    fn a_group_of_version_1_is_looked_at() {
        let own = "12:cpu,cpuacct:/docker/1f\n9:memory:/docker/1f\n1:name=systemd:/x\n";
        let names = [
            "/sys/fs/cgroup/memory/docker/1f/memory.limit_in_bytes",
            "/sys/fs/cgroup/memory/docker/memory.limit_in_bytes",
            "/sys/fs/cgroup/memory/memory.limit_in_bytes",
        ];
        assert_eq!(limit_files(own), names.map(PathBuf::from));
        assert!(limit_files("nonsense\n\n").is_empty());
    }

    #[test]
    fn a_configured_size_wins() {
        let mut config = Config::default();
        config.limits.memory_mib = 100;
        assert_eq!(budget(&config).in_use().capacity, 100 << 20);
        config.limits.memory_mib = 1;
        assert_eq!(budget(&config).in_use().capacity, BYTES_MIN);
        config.limits.memory_mib = 0;
        assert!(budget(&config).in_use().capacity >= BYTES_MIN);
    }
}
