//! The limit of open file descriptors.

use rustix::process::{Resource, Rlimit, getrlimit, setrlimit};

/// The highest limit that is set. Systems without one report a billion, and programs that walk
/// through all possible descriptors would never end.
const DESCRIPTORS_MAX: u64 = 1 << 20;

/// Raises the limit to the hard limit, and returns it.
pub(crate) fn raise() -> u64 {
    let before = getrlimit(Resource::Nofile);
    let hard = before.maximum.unwrap_or(DESCRIPTORS_MAX);
    let wanted = hard.min(DESCRIPTORS_MAX);
    if before.current.is_some_and(|current| current < wanted) {
        let raised = Rlimit {
            current: Some(wanted),
            maximum: before.maximum,
        };
        if let Err(error) = setrlimit(Resource::Nofile, raised) {
            tracing::warn!(error = %error, "cannot raise the limit of open file descriptors");
        }
    }
    let descriptors = current();
    tracing::info!(descriptors, "limit of open file descriptors");
    descriptors
}

/// The limit that is in force.
pub(crate) fn current() -> u64 {
    let current = getrlimit(Resource::Nofile).current;
    current.unwrap_or(DESCRIPTORS_MAX).min(DESCRIPTORS_MAX)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn the_limit_is_raised_to_the_hard_limit() {
        let hard = getrlimit(Resource::Nofile).maximum;
        let hard = hard.unwrap_or(DESCRIPTORS_MAX).min(DESCRIPTORS_MAX);
        assert_eq!((raise(), current()), (hard, hard));
    }
}
