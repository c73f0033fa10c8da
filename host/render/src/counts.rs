//! What a page may have a limited number of at once: frames, workers, WebSockets. Decision D169.

use super::error::RenderError;

/// Frames of a page at once: five times as many as pages full of advertisements have. Each takes
/// some 300 KB, a third of it in the process that all pages share.
const FRAMES_MAX: usize = 256;
/// Workers of a page at once, of all kinds: applications start one for each core. Each takes some
/// 2 MB.
const WORKERS_MAX: usize = 32;
/// WebSockets of a page at once: twice as many as its proxy can carry.
const SOCKETS_MAX: usize = 64;

/// What a page has at the moment, by the browser's events.
#[derive(Debug, Default)]
pub(super) struct Counts {
    /// Frames inside the main frame.
    n_frames: usize,
    n_workers: usize,
    n_sockets: usize,
}

impl Counts {
    /// Counts by an event, which is named by its method.
    ///
    /// # Errors
    /// [`RenderError::TooMany`].
    pub(super) fn count(&mut self, method: &str) -> Result<(), RenderError> {
        let (count, what, most) = match method {
            "Page.frameAttached" | "Page.frameDetached" => {
                (&mut self.n_frames, "frames", FRAMES_MAX)
            }
            "Target.targetCreated" | "Target.targetDestroyed" => {
                (&mut self.n_workers, "workers", WORKERS_MAX)
            }
            _ => (&mut self.n_sockets, "WebSockets", SOCKETS_MAX),
        };
        if method == "Page.frameAttached" || method.ends_with("Created") {
            *count += 1;
        } else {
            *count = count.saturating_sub(1);
        }
        if *count > most {
            return Err(RenderError::TooMany(what, most));
        }
        Ok(())
    }

    /// Whether there are frames inside the main frame.
    pub(super) fn has_frames(&self) -> bool {
        self.n_frames > 0
    }

    /// A socket went with its worker, without an event of its own.
    pub(super) fn closed(&mut self) {
        self.n_sockets = self.n_sockets.saturating_sub(1);
    }

    /// Whether there are workers or sockets.
    pub(super) fn has_talkers(&self) -> bool {
        self.n_workers > 0 || self.n_sockets > 0
    }

    /// The main frame has another document: the frames and sockets of the one before went with it,
    /// without events of their own. Workers end with an event each.
    pub(super) fn navigated(&mut self) {
        (self.n_frames, self.n_sockets) = (0, 0);
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn what_is_there_at_once_counts() {
        for (more, less, most) in [
            ("Page.frameAttached", "Page.frameDetached", FRAMES_MAX),
            (
                "Target.targetCreated",
                "Target.targetDestroyed",
                WORKERS_MAX,
            ),
            (
                "Network.webSocketCreated",
                "Network.webSocketClosed",
                SOCKETS_MAX,
            ),
        ] {
            let mut counts = Counts::default();
            for _ in 0..3 * most {
                counts.count(more).expect("one is allowed");
                counts.count(less).expect("none is allowed");
            }
            for _ in 0..most {
                counts.count(more).expect("the most that is allowed");
            }
            let refused = counts.count(more).expect_err("one more");
            assert!(refused.to_string().contains(&most.to_string()), "{refused}");
        }
    }

    #[test]
    fn another_document_begins_without_frames() {
        let mut counts = Counts::default();
        for _ in 0..3 * FRAMES_MAX {
            counts.count("Page.frameAttached").expect("few");
            counts.navigated();
        }
    }
}
