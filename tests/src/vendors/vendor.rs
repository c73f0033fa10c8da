//! A vendor: its description, and the runs that it has started.

use std::sync::{Mutex, MutexGuard, PoisonError};

use super::description::{Description, Outcome, Route, RunStep};
use super::facts::Facts;
use super::{Answered, Asked, TargetPage, TargetRequest};

/// The look at a run from which on it is finished.
const POLL_THAT_ENDS: u32 = 2;
/// The look at each run that fails, once: at a finished run.
const POLL_THAT_FAILS: u32 = 3;

/// A vendor with its whole state.
pub struct Vendor {
    description: &'static Description,
    /// Runs by number.
    runs: Mutex<Vec<Run>>,
}

struct Run {
    request: TargetRequest,
    n_polls: u32,
    is_stopped: bool,
}

impl Vendor {
    pub(super) fn new(description: &'static Description) -> Self {
        Self {
            description,
            runs: Mutex::default(),
        }
    }

    /// `provider_1`…
    pub fn name(&self) -> &'static str {
        &self.description.name
    }

    /// Answers one request.
    ///
    /// # Panics
    /// If its description has no reply to it.
    pub fn answer(&self, asked: &Asked) -> Answered {
        let Some(route) = self.description.route(asked) else {
            return Answered::new(404, "text/plain", "there is no such endpoint");
        };
        let mut facts = Facts::new(asked, &self.description.price);
        let refusal = self.description.refusal(route, asked);
        let mut outcome = refusal.unwrap_or_else(|| self.outcome(route, &mut facts));
        let mut replies = route.replies.iter().chain(&self.description.replies);
        if outcome == Outcome::Blocked && !replies.clone().any(|reply| reply.is_for(outcome)) {
            // The vendor delivers whatever the target responds.
            facts.page = TargetPage::blocked(&facts.request.url);
            outcome = Outcome::Page;
        }
        match replies.find(|reply| reply.is_for(outcome) && facts.fit(&reply.when)) {
            Some(reply) => facts.answered(reply),
            None => panic!("{} has no reply to {outcome:?}", self.name()),
        }
    }

    fn outcome(&self, route: &Route, facts: &mut Facts<'_>) -> Outcome {
        if let Some(name) = route.strange(facts.asked) {
            facts.reason = format!("{name} is not a parameter");
            return Outcome::Invalid;
        }
        if let Some(step @ (RunStep::Poll | RunStep::Stop | RunStep::Read)) = route.run {
            return self.look(step, facts);
        }
        let Some(wire) = &route.request else {
            return Outcome::Page;
        };
        match wire.read(facts.asked) {
            Ok(request) => facts.request = request,
            Err(reason) => {
                facts.reason = reason;
                return Outcome::Invalid;
            }
        }
        let outcome = facts.fetch();
        if route.run.is_none() || outcome == Outcome::Refused {
            return outcome;
        }
        let mut runs = self.runs();
        facts.run = runs.len();
        runs.push(Run {
            request: facts.request.clone(),
            n_polls: 0,
            is_stopped: false,
        });
        Outcome::Running
    }

    /// Looks at a run, or stops it.
    fn look(&self, step: RunStep, facts: &mut Facts<'_>) -> Outcome {
        let mut runs = self.runs();
        let Some(number) = run_number(&facts.asked.path) else {
            return Outcome::NotFound;
        };
        let Some(run) = runs.get_mut(number) else {
            return Outcome::NotFound;
        };
        facts.run = number;
        facts.request = run.request.clone();
        match step {
            RunStep::Poll => run.n_polls = run.n_polls.saturating_add(1),
            RunStep::Stop => run.is_stopped |= run.n_polls < POLL_THAT_ENDS,
            RunStep::Start | RunStep::Read => {}
        }
        match run.n_polls {
            POLL_THAT_FAILS if step == RunStep::Poll => Outcome::Hiccup,
            _ if run.is_stopped => Outcome::Stopped,
            n_polls if n_polls < POLL_THAT_ENDS => Outcome::Running,
            _ => facts.fetch(),
        }
    }

    fn runs(&self) -> MutexGuard<'_, Vec<Run>> {
        self.runs.lock().unwrap_or_else(PoisonError::into_inner)
    }
}

/// The number of a run by a path with the ID of the run or of its dataset.
fn run_number(path: &str) -> Option<usize> {
    path.split('/').find_map(|step| {
        let number = step.strip_prefix("run").or(step.strip_prefix("dataset"));
        number?.parse().ok()
    })
}
