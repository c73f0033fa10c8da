//! What a plan holds beyond the size of its request: lists of a request that are combined with each
//! other.

use super::PlanError;

/// Most URLs that the lists of one request become together: as many as any list has items.
pub const MADE_URLS_MAX: usize = 10_000;
/// Most bytes of what the lists of one request become together.
pub const MADE_BYTES_MAX: usize = 8 << 20;

/// What was made of the lists of one request.
#[derive(Debug, Default)]
pub(super) struct Made {
    n_urls: usize,
    n_bytes: usize,
    n_steps: u64,
}

impl Made {
    /// Counts URLs that are made of each of `n_of` entries of a parameter and each of the
    /// `n_seeds` URLs of a request object. To be asked before they are made.
    ///
    /// # Errors
    /// They are more than the request may still make.
    pub(super) fn make_urls(
        &mut self,
        field: &'static str,
        n_of: usize,
        n_seeds: usize,
    ) -> Result<(), PlanError> {
        let n_urls = n_of.saturating_mul(n_seeds);
        self.n_urls = self.n_urls.saturating_add(n_urls);
        if self.n_urls <= MADE_URLS_MAX {
            return Ok(());
        }
        let reason = format!(
            "{n_of} paths for each of {n_seeds} seeds are {n_urls} URLs, and a request may make \
             {MADE_URLS_MAX} of all its paths and seeds: name the sitemaps by their URLs, which \
             count once, or split the request"
        );
        Err(PlanError::new(field, reason))
    }

    /// Counts bytes that are made of lists of the request.
    ///
    /// # Errors
    /// They are more than the request may still make. `what` says of what they are made.
    pub(super) fn make_bytes(
        &mut self,
        field: &'static str,
        n_bytes: usize,
        what: &str,
    ) -> Result<(), PlanError> {
        self.n_bytes = self.n_bytes.saturating_add(n_bytes);
        if self.n_bytes <= MADE_BYTES_MAX {
            return Ok(());
        }
        let reason = format!("{what} have more than {MADE_BYTES_MAX} bytes, split the request");
        Err(PlanError::new(field, reason))
    }

    /// Counts steps of planning, each of a bounded time: an item that is read, a URL that is parsed
    /// or made. Tests ask for them, because times differ between machines.
    pub(super) fn count_steps(&mut self, n_steps: usize) {
        self.n_steps += n_steps as u64;
    }

    /// The steps so far.
    pub(super) fn steps(&self) -> u64 {
        self.n_steps
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn what_lists_become_is_bounded_for_the_whole_request() {
        let mut made = Made::default();
        assert_eq!(made.make_urls("sitemaps", 100, 60), Ok(()));
        let error = made
            .make_urls("sitemaps", 50, 100)
            .expect_err("11,000 URLs");
        let text = error.to_string();
        assert!(
            text.starts_with("sitemaps: 50 paths for each of 100 seeds are 5000 URLs"),
            "{text}"
        );
        let mut made = Made::default();
        assert_eq!(made.make_bytes("url", MADE_BYTES_MAX, "they"), Ok(()));
        let error = made.make_bytes("url", 1, "they").expect_err("more");
        assert!(error.to_string().starts_with("url: they have more than"));
        assert!(
            Made::default()
                .make_urls("sitemaps", usize::MAX, 2)
                .is_err()
        );
    }
}
