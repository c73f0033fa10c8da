//! Work on a list, spread over the cores.

use std::num::NonZero;
use std::sync::atomic::{AtomicBool, Ordering};
use std::sync::{Mutex, PoisonError};
use std::thread;

/// Maps every item, in parallel; results are in the order of the items.
///
/// # Errors
/// The error of the first item, in that order, that has one. Items after it may not be tried.
pub(crate) fn try_map<T: Send, R: Send, E: Send>(
    items: Vec<T>,
    map: impl Fn(T) -> Result<R, E> + Sync,
) -> Result<Vec<R>, E> {
    let n_threads = thread::available_parallelism().map_or(1, NonZero::get);
    let n_threads = n_threads.min(items.len());
    let queue = Mutex::new(items.into_iter().enumerate());
    let has_failed = AtomicBool::new(false);
    let next = || queue.lock().unwrap_or_else(PoisonError::into_inner).next();
    let work = || {
        let mut results = Vec::new();
        while !has_failed.load(Ordering::Relaxed)
            && let Some((index, item)) = next()
        {
            let result = map(item);
            if result.is_err() {
                has_failed.store(true, Ordering::Relaxed);
            }
            results.push((index, result));
        }
        results
    };
    let mut results = thread::scope(|scope| {
        let spawn = |_| thread::Builder::new().spawn_scoped(scope, work).ok();
        let others: Vec<_> = (1..n_threads).filter_map(spawn).collect();
        let mut results = work();
        for other in others {
            match other.join() {
                Ok(more) => results.extend(more),
                Err(panic) => std::panic::resume_unwind(panic),
            }
        }
        results
    });
    results.sort_by_key(|(index, _)| *index);
    results.into_iter().map(|(_, result)| result).collect()
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn results_are_in_the_order_of_the_items() {
        let doubled = try_map((0..100).collect(), |n: u32| Ok::<_, ()>(n * 2));
        assert_eq!(doubled, Ok((0..100).map(|n| n * 2).collect()));
        assert_eq!(try_map(Vec::<u32>::new(), Ok::<_, ()>), Ok(Vec::new()));
    }

    #[test]
    fn the_first_error_in_the_order_of_the_items_counts() {
        let failed = try_map((0..100).collect(), |n: u32| match n {
            0..5 => Ok(n),
            n => Err(n),
        });
        assert_eq!(failed, Err(5));
    }
}
