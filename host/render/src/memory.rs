//! The memory of a browser's processes: how much there is, and which of them grew. A page's
//! scripts, documents and canvases are in its renderer; blobs and storage are in the browser's own
//! process.

use std::collections::{HashMap, VecDeque};
use std::path::Path;

use rustix::process::Pid;

use super::config::RenderConfig;

/// Measurements in which growth is looked for: ten seconds. What grew earlier and stopped is not
/// what makes the memory run out now.
const SAMPLES_MAX: usize = 20;
/// Growth that counts: less is noise of the garbage collector.
const GROWTH_BYTES_MIN: u64 = 16 * 1024 * 1024;

/// Private resident memory of one process.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) struct ProcessMemory {
    pub(super) process: Pid,
    /// Whether it serves one page only.
    pub(super) is_renderer: bool,
    pub(super) bytes: u64,
}

/// What is to be done about a browser's memory.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) enum MemoryAction {
    /// Nothing.
    Fine,
    /// Open no further page in it.
    Retire,
    /// Kill this renderer, and with it one page, and open no further page.
    Kill(ProcessMemory),
    /// Replace the browser: what all of its pages share has grown.
    Replace,
}

/// The last measurements of a browser's processes.
#[derive(Debug, Default)]
pub(super) struct Growth {
    samples: HashMap<Pid, VecDeque<u64>>,
}

impl Growth {
    /// Adds a measurement and decides. The one that is killed is the one that grew most of late,
    /// not the largest: a large page that no longer grows harms no other. Decision D167.
    pub(super) fn judge(
        &mut self,
        processes: &[ProcessMemory],
        config: &RenderConfig,
    ) -> MemoryAction {
        self.record(processes);
        let renderers = || processes.iter().filter(|process| process.is_renderer);
        let largest = renderers().max_by_key(|process| process.bytes).copied();
        if let Some(largest) = largest.filter(|page| page.bytes > config.page_bytes_max) {
            return MemoryAction::Kill(largest);
        }
        let total: u64 = processes.iter().map(|process| process.bytes).sum();
        if total <= config.process_bytes_max {
            return MemoryAction::Fine;
        }
        if total <= config.process_bytes_max + config.process_bytes_max / 2 {
            return MemoryAction::Retire;
        }
        let growing = processes
            .iter()
            .filter(|process| self.growth(process) >= GROWTH_BYTES_MIN);
        match growing.max_by_key(|process| self.growth(process)) {
            Some(process) if process.is_renderer => MemoryAction::Kill(*process),
            Some(_) => MemoryAction::Replace,
            None => largest.map_or(MemoryAction::Replace, MemoryAction::Kill),
        }
    }

    fn record(&mut self, processes: &[ProcessMemory]) {
        let is_alive = |id: &Pid| processes.iter().any(|process| process.process == *id);
        self.samples.retain(|id, _| is_alive(id));
        for process in processes {
            // A process begins with nothing.
            let samples = self.samples.entry(process.process);
            let samples = samples.or_insert_with(|| VecDeque::from([0]));
            samples.push_back(process.bytes);
            if samples.len() > SAMPLES_MAX {
                samples.pop_front();
            }
        }
    }

    /// Bytes that a process has beyond the least of its last measurements.
    fn growth(&self, process: &ProcessMemory) -> u64 {
        let samples = self.samples.get(&process.process);
        let least = samples.and_then(|samples| samples.iter().min().copied());
        process.bytes.saturating_sub(least.unwrap_or(process.bytes))
    }
}

/// Private resident memory of the processes of a group.
pub(super) fn group_memory(group: Pid) -> Vec<ProcessMemory> {
    let page_size = rustix::param::page_size() as u64;
    let processes = std::fs::read_dir("/proc").into_iter().flatten().flatten();
    let of_group = processes.filter_map(|process| {
        let path = process.path();
        let id = process.file_name().to_str()?.parse().ok()?;
        Some(ProcessMemory {
            process: Pid::from_raw(id)?,
            bytes: resident_pages(&path, group)? * page_size,
            is_renderer: is_renderer(&path),
        })
    });
    of_group.collect()
}

/// Private resident memory pages of a process if it belongs to this group. proc(5): `stat` field 5
/// is the group, `statm` fields 2 and 3 are all and shared resident pages.
fn resident_pages(process: &Path, group: Pid) -> Option<u64> {
    let stat = std::fs::read_to_string(process.join("stat")).ok()?;
    let after_name = stat.rsplit_once(')')?.1;
    let process_group: i32 = after_name.split_whitespace().nth(2)?.parse().ok()?;
    if process_group != group.as_raw_nonzero().get() {
        return None;
    }
    let statm = std::fs::read_to_string(process.join("statm")).ok()?;
    let mut fields = statm.split_whitespace().skip(1);
    let resident: u64 = fields.next()?.parse().ok()?;
    let shared: u64 = fields.next()?.parse().ok()?;
    Some(resident.saturating_sub(shared))
}

fn is_renderer(process: &Path) -> bool {
    let line = std::fs::read(process.join("cmdline")).unwrap_or_default();
    // A forked process rewrites its command line, with blanks between the arguments.
    line.split(|byte| matches!(byte, 0 | b' '))
        .any(|argument| argument == b"--type=renderer")
}

#[cfg(test)]
mod tests {
    use super::*;

    const MIB: u64 = 1024 * 1024;

    fn process(id: i32, is_renderer: bool, mebibytes: u64) -> ProcessMemory {
        ProcessMemory {
            process: Pid::from_raw(id).expect("not zero"),
            is_renderer,
            bytes: mebibytes * MIB,
        }
    }

    fn config() -> RenderConfig {
        RenderConfig {
            process_bytes_max: 1000 * MIB,
            page_bytes_max: 1000 * MIB,
            ..RenderConfig::default()
        }
    }

    /// The verdict after these sizes in MiB of the browser itself and of two pages.
    fn verdict(sizes: &[[u64; 3]]) -> MemoryAction {
        let mut growth = Growth::default();
        let mut last = MemoryAction::Fine;
        for [shared, one, two] in sizes {
            let processes = [
                process(1, false, *shared),
                process(2, true, *one),
                process(3, true, *two),
            ];
            last = growth.judge(&processes, &config());
        }
        last
    }

    fn killed(verdict: MemoryAction) -> Option<i32> {
        match verdict {
            MemoryAction::Kill(process) => Some(process.process.as_raw_nonzero().get()),
            MemoryAction::Fine | MemoryAction::Retire | MemoryAction::Replace => None,
        }
    }

    #[test]
    fn a_large_page_that_stands_still_survives_a_small_one_that_grows() {
        let mut sizes = vec![[100, 900, 50]; SAMPLES_MAX];
        sizes.extend([[100, 900, 200], [100, 900, 400]]);
        assert_eq!(verdict(&sizes), MemoryAction::Retire);
        sizes.push([100, 900, 600]);
        assert_eq!(killed(verdict(&sizes)), Some(3));
    }

    #[test]
    fn what_all_pages_share_is_no_page_s_fault() {
        let mut sizes = vec![[100, 300, 300]; SAMPLES_MAX];
        sizes.push([1000, 320, 300]);
        assert_eq!(verdict(&sizes), MemoryAction::Replace);
    }

    #[test]
    fn one_page_has_a_limit_of_its_own() {
        assert_eq!(killed(verdict(&[[10, 1001, 10]])), Some(2));
        assert_eq!(verdict(&[[10, 700, 10]]), MemoryAction::Fine);
        assert_eq!(verdict(&[[10, 700, 400]]), MemoryAction::Retire);
        // None grew: the largest.
        let sizes = vec![[10, 700, 900]; SAMPLES_MAX + 1];
        assert_eq!(killed(verdict(&sizes)), Some(3));
    }
}
