//! A fixed pool of OS threads for work on the CPU.
//!
//! Threads of the runtime's blocking pool come and go with the load, and each has an allocator heap
//! of its own. This pool has one thread per core for as long as it lives.

use std::panic::{AssertUnwindSafe, catch_unwind};
use std::sync::mpsc::{self, Receiver, Sender};
use std::sync::{Arc, Mutex, PoisonError};
use std::thread;
use std::time::Instant;

use tokio::sync::oneshot;

use trawl_model::fair::{FairPermit, FairSemaphore};
use trawl_model::redact::panic_message;

type Job = Box<dyn FnOnce() + Send>;

/// The pool. Its threads end once it is dropped, after their current jobs.
#[derive(Debug)]
pub(super) struct Pool {
    jobs: Sender<Job>,
    /// One per thread. A job waits here, where its caller can still give up, not in the channel,
    /// and where accounts with many jobs let others go first.
    permits: Arc<FairSemaphore>,
}

/// Why a job has no result.
#[derive(Debug, PartialEq, Eq)]
pub(super) enum PoolError {
    /// No thread came free before the deadline. The job never ran.
    TimedOut,
    /// The job panicked; as much of its message as a log may show.
    Panicked(String),
}

impl Pool {
    /// Starts the threads, named `extract-0` and so on.
    pub(super) fn new(n_threads: usize) -> Self {
        let (jobs, received) = mpsc::channel();
        let received = Arc::new(Mutex::new(received));
        for number in 0..n_threads {
            let received = Arc::clone(&received);
            thread::Builder::new()
                .name(format!("extract-{number}"))
                .spawn(move || work(&received))
                .expect("the system has a thread for every core");
        }
        Self {
            jobs,
            permits: FairSemaphore::new(n_threads, n_threads),
        }
    }

    /// How many threads there are.
    pub(super) fn n_threads(&self) -> usize {
        self.permits.n_permits()
    }

    /// Whether most threads have nothing to do.
    pub(super) fn is_mostly_free(&self) -> bool {
        self.permits.n_free() * 2 > self.permits.n_permits()
    }

    /// Waits for a thread for this owner.
    ///
    /// # Errors
    /// [`PoolError::TimedOut`].
    pub(super) async fn permit(
        &self,
        owner: &str,
        deadline: Instant,
    ) -> Result<FairPermit, PoolError> {
        let permit = self.permits.acquire(owner);
        let permit = tokio::time::timeout_at(deadline.into(), permit).await;
        permit.map_err(|_| PoolError::TimedOut)
    }

    /// Runs a job on the thread of this permit. A job that began runs to its end even if the caller
    /// is dropped.
    ///
    /// # Errors
    /// [`PoolError::Panicked`].
    pub(super) async fn run<R: Send + 'static>(
        &self,
        permit: FairPermit,
        job: impl FnOnce() -> R + Send + 'static,
    ) -> Result<R, PoolError> {
        let (sender, result) = oneshot::channel();
        let job = move || {
            let result = at_once(job);
            drop(permit);
            // The caller may be stopped.
            let _ = sender.send(result);
        };
        let stopped = || PoolError::Panicked("the extraction threads are stopped".to_owned());
        self.jobs.send(Box::new(job)).map_err(|_| stopped())?;
        result.await.unwrap_or_else(|_| Err(stopped()))
    }
}

/// Runs a job here. One that takes far less time than to wake a thread and its caller needs no
/// thread.
///
/// # Errors
/// [`PoolError::Panicked`].
pub(super) fn at_once<R>(job: impl FnOnce() -> R) -> Result<R, PoolError> {
    let result = catch_unwind(AssertUnwindSafe(job));
    result.map_err(|panic| PoolError::Panicked(panic_message(&*panic)))
}

/// Runs jobs until the pool is dropped.
fn work(received: &Mutex<Receiver<Job>>) {
    loop {
        // The lock is released before the job runs.
        let job = {
            let received = received.lock().unwrap_or_else(PoisonError::into_inner);
            received.recv()
        };
        match job {
            Ok(job) => job(),
            Err(mpsc::RecvError) => return,
        }
    }
}

#[cfg(test)]
mod tests {
    use std::time::Duration;

    use super::*;

    fn soon() -> Instant {
        Instant::now() + Duration::from_secs(20)
    }

    async fn run<R: Send + 'static>(
        pool: &Pool,
        (owner, deadline): (&str, Instant),
        job: impl FnOnce() -> R + Send + 'static,
    ) -> Result<R, PoolError> {
        let permit = pool.permit(owner, deadline).await?;
        pool.run(permit, job).await
    }

    #[tokio::test]
    async fn jobs_run_on_the_named_threads() {
        let pool = Pool::new(2);
        let name = || thread::current().name().map(str::to_owned);
        let name = run(&pool, ("a", soon()), name).await.expect("a name");
        assert!(name.is_some_and(|name| name.starts_with("extract-")));
    }

    #[tokio::test]
    async fn a_panic_is_reported_and_its_thread_goes_on() {
        let pool = Pool::new(1);
        let panicking = || panic!("a promise: {}", "canary");
        let panicked: Result<(), _> = run(&pool, ("a", soon()), panicking).await;
        assert_eq!(panicked, Err(PoolError::Panicked("a promise".to_owned())));
        assert_eq!(run(&pool, ("a", soon()), || 2).await, Ok(2));
    }

    #[tokio::test]
    async fn a_job_that_finds_no_thread_in_time_never_runs() {
        let pool = Pool::new(1);
        let (release, released) = mpsc::channel::<()>();
        let busy = run(&pool, ("a", soon()), move || released.recv().is_ok());
        let late = async {
            let deadline = Instant::now() + Duration::from_millis(20);
            let late = run(&pool, ("b", deadline), || panic!("it ran")).await;
            release.send(()).expect("the first job waits");
            late
        };
        let (busy, late): (_, Result<(), _>) = tokio::join!(busy, late);
        assert_eq!((busy, late), (Ok(true), Err(PoolError::TimedOut)));
    }

    #[tokio::test]
    async fn threads_end_with_the_pool() {
        let pool = Pool::new(2);
        let alive = Arc::new(());
        thread_local!(static HELD: std::cell::RefCell<Option<Arc<()>>> = const { std::cell::RefCell::new(None) });
        let held = Arc::clone(&alive);
        let hold = move || HELD.with(|cell| *cell.borrow_mut() = Some(held));
        run(&pool, ("a", soon()), hold).await.expect("held");
        assert_eq!(Arc::strong_count(&alive), 2);
        drop(pool);
        while Arc::strong_count(&alive) > 1 {
            tokio::time::sleep(Duration::from_millis(1)).await;
        }
    }
}
