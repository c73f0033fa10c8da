//! Where the time of one page went: steps that are noted where they happen, while their page is
//! timed. What is not timed notes nothing.

use std::borrow::Cow;
use std::sync::{Arc, Mutex, PoisonError};
use std::time::{Duration, Instant};

use serde_json::{Value, json};

/// Most steps of one page: a page with more has some plugin called for each of many chunks.
const STEPS_MAX: usize = 200;

tokio::task_local! {
    /// The steps of the page that this task works on; `None` if it is not timed.
    static TIMELINE: Option<Timeline>;
}

/// The steps of one page since it began.
#[derive(Clone, Debug)]
pub struct Timeline {
    begun: Instant,
    steps: Arc<Mutex<Vec<Step>>>,
}

#[derive(Debug)]
struct Step {
    name: Cow<'static, str>,
    began: Instant,
    took: Duration,
}

impl Timeline {
    /// Without steps; the page begins now.
    pub fn begin() -> Self {
        Self {
            begun: Instant::now(),
            steps: Arc::default(),
        }
    }

    /// The steps in the order in which they began, as `metadata.timing` has them: `step`, and the
    /// milliseconds `start_ms` after the page began and `ms` that it took.
    pub fn to_json(&self) -> Value {
        let mut steps = self.steps.lock().unwrap_or_else(PoisonError::into_inner);
        steps.sort_by_key(|step| step.began);
        let steps = steps.iter().map(|step| {
            let start = step.began.saturating_duration_since(self.begun);
            entry(&step.name, start, step.took)
        });
        steps.collect()
    }

    fn note(&self, name: Cow<'static, str>, began: Instant) {
        let took = began.elapsed();
        let mut steps = self.steps.lock().unwrap_or_else(PoisonError::into_inner);
        if steps.len() < STEPS_MAX {
            steps.push(Step { name, began, took });
        }
    }
}

/// A step as `metadata.timing` has it.
pub fn entry(step: &str, start: Duration, took: Duration) -> Value {
    json!({"step": step, "start_ms": milliseconds(start), "ms": milliseconds(took)})
}

/// Milliseconds with three decimals.
fn milliseconds(time: Duration) -> f64 {
    (time.as_secs_f64() * 1_000_000.0).round() / 1_000.0
}

/// Runs the work on a page whose steps are noted, if there is a timeline.
pub fn timed<F: Future>(
    timeline: Option<Timeline>,
    work: F,
) -> impl Future<Output = F::Output> + use<F> {
    TIMELINE.scope(timeline, work)
}

/// [`timed`] for work on another thread.
pub fn timed_here<R>(timeline: Option<Timeline>, work: impl FnOnce() -> R) -> R {
    TIMELINE.sync_scope(timeline, work)
}

/// The timeline of the page that this task works on.
pub fn current() -> Option<Timeline> {
    TIMELINE.try_with(Option::clone).ok().flatten()
}

/// Notes that a step ended, which began then.
pub fn note(step: &'static str, began: Instant) {
    if let Some(timeline) = current() {
        timeline.note(Cow::Borrowed(step), began);
    }
}

/// Notes that the call of a plugin ended, which began then.
pub fn note_plugin(name: &str, began: Instant) {
    if let Some(timeline) = current() {
        timeline.note(Cow::Owned(format!("plugin:{name}")), began);
    }
}

/// Does work that is a step.
pub async fn step<F: Future>(name: &'static str, work: F) -> F::Output {
    let began = Instant::now();
    let done = work.await;
    note(name, began);
    done
}

#[cfg(test)]
mod tests {
    use super::*;

    fn names(timeline: &Timeline) -> Vec<String> {
        let steps = timeline.to_json();
        let steps = steps.as_array().expect("a list").iter();
        steps
            .map(|step| step["step"].as_str().expect("a name").to_owned())
            .collect()
    }

    #[tokio::test]
    async fn steps_are_noted_in_the_order_in_which_they_began() {
        let timeline = Timeline::begin();
        let work = async {
            let outer = Instant::now();
            step("dns", tokio::task::yield_now()).await;
            let here = current();
            let thread = std::thread::spawn(move || {
                timed_here(here, || note_plugin("markdown", Instant::now()));
            });
            thread.join().expect("it ends");
            note("body", outer);
        };
        timed(Some(timeline.clone()), work).await;
        assert_eq!(names(&timeline), ["body", "dns", "plugin:markdown"]);
        let steps = timeline.to_json();
        let of = |n: usize, name: &str| steps[n][name].as_f64().expect("milliseconds");
        assert!(of(0, "start_ms") <= of(1, "start_ms"));
        assert!(of(0, "ms") >= of(1, "ms"), "{steps}");
    }

    #[tokio::test]
    async fn what_is_not_timed_notes_nothing() {
        let timeline = Timeline::begin();
        note("dns", Instant::now());
        timed(None, step("dns", async {})).await;
        assert!(current().is_none());
        assert_eq!(names(&timeline), [""; 0]);
    }

    #[tokio::test]
    async fn a_page_has_a_bounded_number_of_steps() {
        let timeline = Timeline::begin();
        timed(Some(timeline.clone()), async {
            for _ in 0..2 * STEPS_MAX {
                note("body", Instant::now());
            }
        })
        .await;
        assert_eq!(names(&timeline).len(), STEPS_MAX);
    }

    #[test]
    fn times_have_three_decimals() {
        let step = entry("dns", Duration::ZERO, Duration::from_nanos(1_234_567));
        assert_eq!(step, json!({"step": "dns", "start_ms": 0.0, "ms": 1.235}));
    }
}
