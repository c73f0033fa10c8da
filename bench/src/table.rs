//! Result tables: one line per measurement with its goal, and the clock they are measured by.

use std::time::{Duration, Instant};

/// One line of a table.
pub(crate) struct Row {
    /// What was measured.
    name: String,
    /// Median of the measurement.
    median: f64,
    /// Unit of the median.
    unit: &'static str,
    /// The goal: the largest acceptable median, if there is one.
    at_most: Option<f64>,
}

impl Row {
    /// A time in milliseconds.
    pub(crate) fn ms(name: impl Into<String>, time: Duration, at_most: Option<f64>) -> Self {
        Self::new(name, ms(time), "ms", at_most)
    }

    /// A number of microseconds.
    pub(crate) fn us(name: impl Into<String>, median: f64, at_most: Option<f64>) -> Self {
        Self::new(name, median, "µs", at_most)
    }

    /// A line of these figures.
    pub(crate) fn new(
        name: impl Into<String>,
        median: f64,
        unit: &'static str,
        at_most: Option<f64>,
    ) -> Self {
        Self {
            name: name.into(),
            median,
            unit,
            at_most,
        }
    }
}

/// Milliseconds of a duration.
pub(crate) fn ms(time: Duration) -> f64 {
    time.as_secs_f64() * 1e3
}

/// Microseconds of a duration.
pub(crate) fn us(time: Duration) -> f64 {
    time.as_secs_f64() * 1e6
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

/// The duration of each of `n_calls` calls, after `n_warm_up` others.
pub(crate) fn timed(n_warm_up: usize, n_calls: usize, mut call: impl FnMut()) -> Vec<Duration> {
    (0..n_warm_up).for_each(|_| call());
    let mut timed = || {
        let started = Instant::now();
        call();
        started.elapsed()
    };
    (0..n_calls).map(|_| timed()).collect()
}

/// What `work` returns on each of so many threads.
pub(crate) fn on_threads<T: Send>(
    n_threads: usize,
    work: impl Fn() -> anyhow::Result<T> + Sync,
) -> anyhow::Result<Vec<T>> {
    std::thread::scope(|scope| {
        let workers: Vec<_> = (0..n_threads).map(|_| scope.spawn(&work)).collect();
        let results = workers.into_iter().map(|worker| worker.join());
        results
            .map(|result| result.expect("a worker does not panic"))
            .collect()
    })
}

/// CPU time of the calling thread, which other load on the machine barely affects.
pub(crate) fn thread_time() -> Duration {
    let time = rustix::time::clock_gettime(rustix::time::ClockId::ThreadCPUTime);
    Duration::new(
        u64::try_from(time.tv_sec).unwrap_or(0),
        u32::try_from(time.tv_nsec).unwrap_or(0),
    )
}
