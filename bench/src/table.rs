//! Result tables: one line per measurement with its goal, and the clock they are measured by.

use std::time::Duration;

/// One line of a table.
pub(crate) struct Row {
    /// What was measured.
    pub(crate) name: String,
    /// Median of the measurement.
    pub(crate) median: f64,
    /// Unit of the median.
    pub(crate) unit: &'static str,
    /// The goal: the largest acceptable median, if there is one.
    pub(crate) at_most: Option<f64>,
}

/// Prints one line per row.
pub(crate) fn print(rows: &[Row]) {
    for Row {
        name,
        median,
        unit,
        at_most,
    } in rows
    {
        let goal = match at_most {
            Some(most) if median > most => format!("goal: at most {most}, MISSED"),
            Some(most) => format!("goal: at most {most}"),
            None => String::new(),
        };
        println!("{name:<62} {median:>10.2} {unit:<5} {goal}");
    }
}

/// Median of the durations; the upper of the two middle ones if their number is even.
pub(crate) fn median(mut times: Vec<Duration>) -> Duration {
    times.sort_unstable();
    times[times.len() / 2]
}

/// CPU time of the calling thread, which other load on the machine barely affects.
pub(crate) fn thread_time() -> Duration {
    let time = rustix::time::clock_gettime(rustix::time::ClockId::ThreadCPUTime);
    Duration::new(
        u64::try_from(time.tv_sec).unwrap_or(0),
        u32::try_from(time.tv_nsec).unwrap_or(0),
    )
}
