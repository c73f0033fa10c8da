//! Breadth-first exploration of every state that a small model reaches: a rule that is broken is
//! found with the fewest steps that break it.

use std::fmt::{self, Debug};
use std::hash::Hash;

use rustc_hash::FxHashMap;

/// A model with more states than this is too large for a test: some 100 bytes each.
const STATES_MAX: usize = 3_000_000;

/// A system with few states: nodes, messages, a database.
pub(crate) trait Model {
    /// All that the system remembers.
    type State: Clone + Eq + Hash;
    /// What happened, for a trace.
    type Action: Copy + Debug;

    /// Where it begins.
    fn start(&self) -> Self::State;
    /// Every step that is possible in a state.
    fn steps(&self, state: &Self::State, steps: &mut Steps<Self::Action, Self::State>);
    /// The rule that a state breaks; `None` if it breaks none.
    fn broken(&self, state: &Self::State) -> Option<&'static str>;
    /// Whether all work is done. From each state there is a way to such a state without a fault.
    fn is_done(&self, state: &Self::State) -> bool;
}

/// The steps that are possible in a state.
#[derive(Debug)]
pub(crate) struct Steps<A, S>(Vec<Step<A, S>>);

#[derive(Debug)]
struct Step<A, S> {
    action: A,
    is_fault: bool,
    to: S,
}

impl<A, S> Steps<A, S> {
    /// A step that the system makes by itself.
    pub(crate) fn work(&mut self, action: A, to: S) {
        let is_fault = false;
        self.0.push(Step {
            action,
            is_fault,
            to,
        });
    }

    /// A step that something outside makes it make. It need not happen.
    pub(crate) fn fault(&mut self, action: A, to: S) {
        let is_fault = true;
        self.0.push(Step {
            action,
            is_fault,
            to,
        });
    }
}

/// The size of a model in which every rule holds.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) struct Explored {
    pub(crate) n_states: usize,
    pub(crate) n_steps: usize,
}

/// A way from the start to a state that breaks a rule.
#[derive(Clone, Debug, PartialEq, Eq)]
pub(crate) struct Counterexample {
    pub(crate) rule: &'static str,
    pub(crate) actions: Vec<String>,
}

/// The rule of [`Model::is_done`].
pub(crate) const ENDS: &str = "there is always a way to the end";

impl fmt::Display for Counterexample {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, "broken: {}", self.rule)?;
        for (n, action) in self.actions.iter().enumerate() {
            write!(f, "\n{:>4}. {action}", n + 1)?;
        }
        Ok(())
    }
}

/// What is known of the states so far; a state is its place in the order in which it was found.
struct Graph<A, S> {
    states: Vec<S>,
    places: FxHashMap<S, u32>,
    /// From which state, by which action, each was found.
    parents: Vec<Option<(u32, A)>>,
    /// Steps without a fault: from, to.
    work: Vec<(u32, u32)>,
    n_steps: usize,
}

/// Explores a model to its end.
///
/// # Errors
/// A rule is broken.
///
/// # Panics
/// The model has too many states.
pub(crate) fn explore<M: Model>(model: &M) -> Result<Explored, Counterexample> {
    let mut graph = Graph::new(model.start());
    let mut steps = Steps(Vec::new());
    let mut at = 0;
    while let Some(state) = graph.states.get(at as usize).cloned() {
        if let Some(rule) = model.broken(&state) {
            return Err(graph.counterexample(rule, at));
        }
        model.steps(&state, &mut steps);
        for step in steps.0.drain(..) {
            graph.add(at, step);
        }
        at += 1;
    }
    graph.check_ends(|state| model.is_done(state))?;
    Ok(Explored {
        n_states: graph.states.len(),
        n_steps: graph.n_steps,
    })
}

impl<A: Copy + Debug, S: Clone + Eq + Hash> Graph<A, S> {
    fn new(start: S) -> Self {
        let mut places = FxHashMap::default();
        places.insert(start.clone(), 0);
        Self {
            places,
            states: vec![start],
            parents: vec![None],
            work: Vec::new(),
            n_steps: 0,
        }
    }

    fn add(&mut self, from: u32, step: Step<A, S>) {
        let next = u32::try_from(self.states.len()).expect("fewer states");
        let to = *self.places.entry(step.to.clone()).or_insert(next);
        if to == next {
            assert!(self.states.len() < STATES_MAX, "the model is too large");
            self.states.push(step.to);
            self.parents.push(Some((from, step.action)));
        }
        self.n_steps += 1;
        if !step.is_fault {
            self.work.push((from, to));
        }
    }

    /// From each state a done one is reached without a fault.
    fn check_ends(&mut self, is_done: impl Fn(&S) -> bool) -> Result<(), Counterexample> {
        self.work.sort_unstable_by_key(|(_, to)| *to);
        let mut ends: Vec<bool> = self.states.iter().map(is_done).collect();
        let mut waiting: Vec<usize> = (0..ends.len()).filter(|at| ends[*at]).collect();
        while let Some(at) = waiting.pop() {
            let first = self.work.partition_point(|(_, to)| (*to as usize) < at);
            let into = self.work[first..].iter();
            for (from, _) in into.take_while(|(_, to)| *to as usize == at) {
                let from = *from as usize;
                if !ends[from] {
                    ends[from] = true;
                    waiting.push(from);
                }
            }
        }
        match ends.iter().position(|ends| !ends) {
            None => Ok(()),
            Some(at) => {
                let at = u32::try_from(at).expect("fewer states");
                Err(self.counterexample(ENDS, at))
            }
        }
    }

    fn counterexample(&self, rule: &'static str, at: u32) -> Counterexample {
        let mut actions = Vec::new();
        let mut at = at;
        while let Some((from, action)) = self.parents[at as usize] {
            actions.push(format!("{action:?}"));
            at = from;
        }
        actions.reverse();
        Counterexample { rule, actions }
    }
}

mod tests {
    use super::*;

    /// A number that is doubled or raised by one below a bound; a fault halves it.
    struct Numbers {
        forbidden: Option<u8>,
        done: u8,
    }

    #[derive(Clone, Copy, Debug)]
    enum Action {
        Double,
        Add,
        Leap,
    }

    impl Model for Numbers {
        type State = u8;
        type Action = Action;

        fn start(&self) -> u8 {
            1
        }

        fn steps(&self, state: &u8, steps: &mut Steps<Action, u8>) {
            for (action, to) in [(Action::Double, 2 * state), (Action::Add, state + 1)] {
                if to <= 20 {
                    steps.work(action, to);
                }
            }
            if *state == 4 {
                // From there no step leads on.
                steps.fault(Action::Leap, 100);
            }
        }

        fn broken(&self, state: &u8) -> Option<&'static str> {
            (Some(*state) == self.forbidden).then_some("forbidden")
        }

        fn is_done(&self, state: &u8) -> bool {
            *state >= self.done
        }
    }

    #[test]
    fn all_states_are_visited() {
        let forbidden = None;
        let explored = explore(&Numbers {
            forbidden,
            done: 20,
        });
        let explored = explored.expect("no rule is broken");
        // 1 to 20, and 100; two steps from 1 to 10, one from 11 to 19, one fault.
        assert_eq!(explored.n_states, 21);
        assert_eq!(explored.n_steps, 30);
    }

    #[test]
    fn the_shortest_way_to_a_broken_rule_is_told() {
        let forbidden = Some(9);
        let found = explore(&Numbers { forbidden, done: 9 });
        let found = found.expect_err("9 is reached");
        assert_eq!(found.rule, "forbidden");
        assert_eq!(found.actions, ["Double", "Double", "Double", "Add"]);
        assert!(found.to_string().ends_with("\n   4. Add"), "{found}");
    }

    #[test]
    fn a_state_without_a_way_to_the_end_is_found() {
        let forbidden = None;
        // 100 is not below it, but 100 itself ends nowhere else.
        let found = explore(&Numbers {
            forbidden,
            done: 101,
        });
        assert_eq!(found.expect_err("there is no end").rule, ENDS);
    }
}
