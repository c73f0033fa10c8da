//! One line of results a measurement, with what is promised beside it.

use std::time::Duration;

/// One line of the table.
pub(crate) struct Row {
    /// What was measured.
    pub(crate) name: String,
    /// The median.
    pub(crate) median: f64,
    /// Its unit.
    pub(crate) unit: &'static str,
    /// The most it may be; `None` when nothing is promised.
    pub(crate) at_most: Option<f64>,
}

/// Prints lines under each other.
pub(crate) fn print(rows: &[Row]) {
    for Row {
        name,
        median,
        unit,
        at_most,
    } in rows
    {
        let promise = match at_most {
            Some(most) if median > most => format!("promised at most {most}: MISSED"),
            Some(most) => format!("promised at most {most}"),
            None => String::new(),
        };
        println!("{name:<62} {median:>10.2} {unit:<5} {promise}");
    }
}

/// The middle of some times; the upper one of an even number.
pub(crate) fn median(mut times: Vec<Duration>) -> Duration {
    times.sort_unstable();
    times[times.len() / 2]
}

/// CPU time this thread has used: what other work on the machine does not stretch.
pub(crate) fn thread_time() -> Duration {
    let time = rustix::time::clock_gettime(rustix::time::ClockId::ThreadCPUTime);
    Duration::new(
        u64::try_from(time.tv_sec).unwrap_or(0),
        u32::try_from(time.tv_nsec).unwrap_or(0),
    )
}
