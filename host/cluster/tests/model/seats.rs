//! The seats of an account, which its home node counts in memory: three nodes ask it, and it dies,
//! is suspended or cut off, at any moment and with questions on their way.
//!
//! The home node is the first of those that live. Each change of the members has a version. A home
//! node grants once all members have told it, under this version, how many seats they use.

use crate::explore::{Counterexample, Explored, Model, Steps, explore};

const NODES: usize = 3;
/// Seats of the account.
const SEATS: u8 = 1;

/// What the design relies on.
#[derive(Clone, Copy, Debug)]
struct Rules {
    /// A node drops a grant of another version than its own.
    checks_version: bool,
    /// A home node grants once all members have told what they use.
    waits_for_all: bool,
    /// A process that was suspended knows that its lease has ended, and ends its requests.
    counts_suspension: bool,
    /// Each question says what its node uses, so that a grant that got lost is freed.
    tells_use: bool,
}

const ALL: Rules = Rules {
    checks_version: true,
    waits_for_all: true,
    counts_suspension: true,
    tells_use: true,
};

/// Faults at most, of all kinds together.
const FAULTS: u8 = 1;

#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash)]
enum Life {
    Up,
    Suspended,
    Dead,
}

/// A question on its way to the home node.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash)]
struct Question {
    version: u8,
    used: u8,
    wants_one: bool,
}

/// Its answer on its way back.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash)]
struct Answer {
    version: u8,
    is_granted: bool,
}

/// What a home node counts.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash)]
struct Count {
    used: [u8; NODES],
    /// Bits of members that have told.
    told: u8,
}

#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash)]
struct Node {
    life: Life,
    /// Whether the process takes its lease for valid.
    believes: bool,
    /// Whether its lease is valid by the database.
    is_live: bool,
    /// The members that it has seen, as bits, and the version of that.
    version: u8,
    members: u8,
    used: u8,
    /// Whether it waits for an answer, which may be lost.
    is_asking: bool,
    question: Option<Question>,
    answer: Option<Answer>,
    /// What it counts while it is the home node.
    count: Option<Count>,
}

#[derive(Clone, Debug, PartialEq, Eq, Hash)]
struct State {
    nodes: [Node; NODES],
    /// The version of the members in the database.
    version: u8,
    /// Bits of nodes that have had a seat.
    served: u8,
    is_refused_wrongly: bool,
    faults_left: u8,
}

/// What happened to this node.
#[derive(Clone, Copy, Debug)]
#[expect(dead_code, reason = "they are shown in traces")]
enum Action {
    Look(usize),
    Ask(usize),
    Tell(usize),
    TakeOwn(usize),
    Release(usize),
    Decide(usize),
    Discard(usize),
    Receive(usize),
    LoseQuestion(usize),
    LoseAnswer(usize),
    Kill(usize),
    Suspend(usize),
    Resume(usize),
    CutOff(usize),
    Expire(usize),
    Join(usize),
}

const fn bit(node: usize) -> u8 {
    1 << node
}

impl Node {
    const NEW: Self = Self {
        life: Life::Up,
        believes: true,
        is_live: true,
        version: 0,
        members: 0,
        used: 0,
        is_asking: false,
        question: None,
        answer: None,
        count: None,
    };

    fn acts(&self) -> bool {
        self.life == Life::Up && self.believes
    }

    /// The home node among the members that it has seen.
    fn home(&self) -> Option<usize> {
        (0..NODES).find(|node| self.members & bit(*node) != 0)
    }

    /// Whether nothing of it is on its way.
    fn is_quiet(&self) -> bool {
        !self.is_asking && self.question.is_none() && self.answer.is_none()
    }

    /// Ends its requests.
    fn forget(&mut self) {
        *self = Self {
            life: self.life,
            believes: false,
            is_live: self.is_live,
            ..Self::NEW
        };
    }

    fn ask(&mut self, wants_one: bool) {
        self.is_asking = true;
        self.question = Some(Question {
            version: self.version,
            used: self.used,
            wants_one,
        });
    }
}

impl State {
    fn members(&self) -> u8 {
        let live = (0..NODES).filter(|node| self.nodes[*node].is_live);
        live.fold(0, |all, node| all | bit(node))
    }

    fn with(&self, change: impl FnOnce(&mut Self)) -> Self {
        let mut to = self.clone();
        change(&mut to);
        to
    }

    fn with_node(&self, at: usize, change: impl FnOnce(&mut Node)) -> Self {
        self.with(|to| change(&mut to.nodes[at]))
    }

    fn with_fault(&self, change: impl FnOnce(&mut Self)) -> Self {
        self.with(|to| {
            to.faults_left -= 1;
            change(to);
        })
    }

    fn expire(&mut self, at: usize) {
        self.nodes[at].is_live = false;
        self.version += 1;
    }

    /// The node gets a seat.
    fn serve(&mut self, at: usize) {
        self.nodes[at].used += 1;
        self.served |= bit(at);
    }

    /// Whether no seat is in use or on its way, but for the question of this node.
    fn is_free_but_for(&self, at: usize) -> bool {
        let others = (0..NODES).filter(|node| *node != at);
        // What a dead node may have got is in use until its lease ends.
        let is_quiet = |node: &Node| !node.is_live || node.life == Life::Up && node.is_quiet();
        let are_quiet = others.map(|node| &self.nodes[node]).all(is_quiet);
        let live = self.nodes.iter().filter(|node| node.is_live);
        are_quiet && live.map(|node| node.used).sum::<u8>() < SEATS
    }
}

struct Seats(Rules);

impl Seats {
    /// What a member does.
    fn member(&self, state: &State, at: usize, steps: &mut Steps<Action, State>) {
        let node = &state.nodes[at];
        if node.version != state.version || node.members == 0 {
            steps.work(Action::Look(at), look(state, at));
        }
        let Some(home) = node.home() else { return };
        if node.used > 0 && node.is_quiet() {
            let to = state.with_node(at, |node| {
                node.used -= 1;
                match &mut node.count {
                    Some(count) => count.used[at] = node.used,
                    None => node.ask(false),
                }
            });
            steps.work(Action::Release(at), to);
        }
        if node.question.is_some() || node.answer.is_some() {
            return;
        }
        if home == at {
            let is_due = node.used == 0
                && node
                    .count
                    .is_some_and(|count| self.may_grant(state, at, &count));
            if is_due {
                let to = state.with(|to| {
                    if let Some(count) = &mut to.nodes[at].count {
                        count.used[at] += 1;
                    }
                    to.serve(at);
                });
                steps.work(Action::TakeOwn(at), to);
            }
            return;
        }
        if node.used > 0 && !node.is_asking {
            return;
        }
        // When nothing came back for too long, it says again what it uses.
        let (wants_one, action) = match node.is_asking && self.0.tells_use {
            true => (false, Action::Tell(at)),
            false => (true, Action::Ask(at)),
        };
        let to = state.with_node(at, |node| node.ask(wants_one));
        steps.work(action, to);
    }

    fn may_grant(&self, state: &State, home: usize, count: &Count) -> bool {
        let is_told = count.told == state.nodes[home].members || !self.0.waits_for_all;
        is_told && count.used.iter().sum::<u8>() < SEATS
    }

    /// The home node gets a question.
    fn question(&self, state: &State, at: usize, steps: &mut Steps<Action, State>) {
        let asker = &state.nodes[at];
        let (Some(question), Some(home)) = (asker.question, asker.home()) else {
            return;
        };
        let there = &state.nodes[home];
        if !there.acts() || there.version > question.version {
            // The asker gives up, and looks again.
            let to = state.with_node(at, |node| node.question = None);
            steps.work(Action::Discard(at), to);
            return;
        }
        let (true, Some(count)) = (there.version == question.version, there.count) else {
            return;
        };
        let mut count = count;
        count.told |= bit(at);
        if self.0.tells_use || !question.wants_one {
            count.used[at] = question.used;
        }
        let is_told = count.told == there.members || !self.0.waits_for_all;
        if question.wants_one && !is_told {
            // It waits; what it said counts already.
            let is_new = there.count != Some(count);
            if is_new {
                let to = state.with_node(home, |node| node.count = Some(count));
                steps.work(Action::Decide(at), to);
            }
            return;
        }
        let is_granted = question.wants_one && self.may_grant(state, home, &count);
        // What a dead node used is free once the home node has seen that its lease has ended.
        let has_seen = there.version == state.version;
        let is_refused = question.wants_one && !is_granted;
        let is_wrong = is_refused && has_seen && state.is_free_but_for(at);
        let to = state.with(|to| {
            count.used[at] += u8::from(is_granted);
            to.is_refused_wrongly |= is_wrong;
            to.nodes[home].count = Some(count);
            let node = &mut to.nodes[at];
            node.question = None;
            node.answer = Some(Answer {
                version: question.version,
                is_granted,
            });
        });
        steps.work(Action::Decide(at), to);
    }

    /// The asker gets the answer, or it is lost.
    fn answer(&self, state: &State, at: usize, steps: &mut Steps<Action, State>) {
        let node = &state.nodes[at];
        if state.faults_left > 0 && node.question.is_some() {
            let lost = state.with_fault(|to| to.nodes[at].question = None);
            steps.fault(Action::LoseQuestion(at), lost);
        }
        let Some(answer) = node.answer else { return };
        if node.acts() {
            let to = state.with(|to| {
                let is_ours = answer.version == node.version || !self.0.checks_version;
                to.nodes[at].answer = None;
                to.nodes[at].is_asking = false;
                if answer.is_granted && is_ours {
                    to.serve(at);
                }
            });
            steps.work(Action::Receive(at), to);
        }
        if state.faults_left > 0 {
            let lost = state.with_fault(|to| to.nodes[at].answer = None);
            steps.fault(Action::LoseAnswer(at), lost);
        }
    }

    /// Leases that end, processes that go on, and what happens to them.
    fn lives(&self, state: &State, at: usize, steps: &mut Steps<Action, State>) {
        let node = &state.nodes[at];
        if node.is_live && node.life != Life::Up {
            steps.work(Action::Expire(at), state.with(|to| to.expire(at)));
        }
        if node.life == Life::Suspended {
            let to = state.with_node(at, |node| {
                node.life = Life::Up;
                if !node.is_live && self.0.counts_suspension {
                    node.forget();
                }
            });
            steps.work(Action::Resume(at), to);
        }
        if node.life == Life::Up && !node.believes && !node.is_live {
            let to = state.with(|to| {
                to.nodes[at].believes = true;
                to.nodes[at].is_live = true;
                to.version += 1;
            });
            steps.work(Action::Join(at), to);
        }
        if state.faults_left == 0 || !node.acts() {
            return;
        }
        let killed = state.with_fault(|to| {
            to.nodes[at].forget();
            to.nodes[at].life = Life::Dead;
        });
        steps.fault(Action::Kill(at), killed);
        let suspended = state.with_fault(|to| to.nodes[at].life = Life::Suspended);
        steps.fault(Action::Suspend(at), suspended);
        if node.is_live {
            let cut_off = state.with_fault(|to| {
                to.expire(at);
                to.nodes[at].forget();
            });
            steps.fault(Action::CutOff(at), cut_off);
        }
    }
}

/// The node sees the members of now, and tells their home node what it uses.
fn look(state: &State, at: usize) -> State {
    let members = state.members();
    state.with(|to| {
        let version = to.version;
        let node = &mut to.nodes[at];
        node.version = version;
        node.members = members;
        node.count = None;
        node.question = None;
        if node.home() == Some(at) {
            let mut used = [0; NODES];
            used[at] = node.used;
            let told = bit(at);
            node.count = Some(Count { used, told });
            node.is_asking = false;
        } else {
            node.ask(false);
        }
    })
}

impl Model for Seats {
    type State = State;
    type Action = Action;

    fn start(&self) -> State {
        State {
            nodes: [Node::NEW; NODES],
            version: 0,
            served: 0,
            is_refused_wrongly: false,
            faults_left: FAULTS,
        }
    }

    fn steps(&self, state: &State, steps: &mut Steps<Action, State>) {
        for at in 0..NODES {
            let node = &state.nodes[at];
            if node.acts() {
                self.member(state, at, steps);
                self.question(state, at, steps);
            }
            self.answer(state, at, steps);
            self.lives(state, at, steps);
        }
    }

    fn broken(&self, state: &State) -> Option<&'static str> {
        let serving = state.nodes.iter().filter(|node| node.acts());
        if serving.map(|node| node.used).sum::<u8>() > SEATS {
            return Some("more requests than seats");
        }
        state
            .is_refused_wrongly
            .then_some("a request is refused while a seat is free")
    }

    fn is_done(&self, state: &State) -> bool {
        // Whoever lives gets a seat again and again; it is enough to have had one.
        (0..NODES).all(|at| state.nodes[at].life == Life::Dead || state.served & bit(at) != 0)
    }
}

fn explored(rules: Rules) -> Result<Explored, Counterexample> {
    explore(&Seats(rules))
}

/// The rule that is broken when one of the design's rules does not hold.
fn broken_without(change: impl FnOnce(&mut Rules)) -> &'static str {
    let mut rules = ALL;
    change(&mut rules);
    let found = explored(rules).expect_err("a rule is broken");
    eprintln!("{rules:?}\n{found}");
    found.rule
}

#[test]
fn seats_are_never_exceeded_and_never_lost() {
    match explored(ALL) {
        Ok(explored) => {
            eprintln!("seats: {explored:?}");
            assert!(explored.n_states > 10_000, "{explored:?}");
        }
        Err(found) => panic!("{found}"),
    }
}

#[test]
fn a_grant_of_a_former_home_node_is_dropped() {
    let broken = broken_without(|rules| rules.checks_version = false);
    assert_eq!(broken, "more requests than seats");
}

#[test]
fn a_new_home_node_waits_until_all_have_told() {
    let broken = broken_without(|rules| rules.waits_for_all = false);
    assert_eq!(broken, "more requests than seats");
}

#[test]
fn a_process_that_was_suspended_ends_its_requests() {
    let broken = broken_without(|rules| rules.counts_suspension = false);
    assert_eq!(broken, "more requests than seats");
}

#[test]
fn a_grant_that_got_lost_is_freed() {
    let broken = broken_without(|rules| rules.tells_use = false);
    assert_eq!(broken, "a request is refused while a seat is free");
}
