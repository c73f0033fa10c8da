//! The database fails over to a standby, which may be behind: what it has forgotten, the nodes
//! declare again before anything new is granted.
//!
//! A page costs one unit. Writes are answered at once here; what becomes of a lost answer is in the
//! model of money.

use crate::explore::{Counterexample, ENDS, Explored, Model, Steps, explore};

/// Pages that the account wants, and the units that it has.
const PAGES: u8 = 3;
const BALANCE: u8 = 2;

/// What the design relies on, and what happens.
#[derive(Clone, Copy, Debug)]
struct Setup {
    /// A commit is answered once the standby has it.
    is_synchronous: bool,
    /// Nodes declare what they hold and have charged.
    declares: bool,
    /// Nothing is granted before all have declared.
    waits: bool,
    /// A process that was suspended knows that its lease has ended, and declares nothing.
    counts_suspension: bool,
    /// Kills and suspensions at most.
    faults: u8,
}

const ASYNCHRONOUS: Setup = Setup {
    is_synchronous: false,
    declares: true,
    waits: true,
    counts_suspension: true,
    faults: 0,
};
const SYNCHRONOUS: Setup = Setup {
    is_synchronous: true,
    faults: 2,
    ..ASYNCHRONOUS
};

#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash, PartialOrd, Ord)]
enum Life {
    Up,
    Suspended,
    Dead,
}

/// The page of a process.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash, PartialOrd, Ord)]
enum Work {
    None,
    Reserved(u8),
    /// Its charge is acknowledged.
    Charged(u8),
}

#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash, PartialOrd, Ord)]
struct Node {
    life: Life,
    /// Whether it takes itself for a member.
    believes: bool,
    /// Whether its lease has ended, whatever the database has forgotten of it. A process that goes
    /// on after a suspension sees that on its clock.
    is_late: bool,
    /// Whether it has seen the timeline that the database is on.
    is_current: bool,
    purse: u8,
    work: Work,
    /// Bits of pages that this process has charged, as far as it knows.
    charged: u8,
    /// Its row, and what the standby has of it.
    row: Row,
    standby: Row,
}

#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash, PartialOrd, Ord)]
struct Row {
    is_live: bool,
    has_declared: bool,
    allotment: u8,
    /// Bits of pages that are its own.
    pages: u8,
}

#[derive(Clone, Debug, PartialEq, Eq, Hash)]
struct State {
    nodes: [Node; 3],
    /// Bits of pages that are charged, and what the standby has of it.
    entries: u8,
    standby_entries: u8,
    delivered: u8,
    is_recovering: bool,
    promotions_left: u8,
    faults_left: u8,
}

/// What happened, to the node at this place and the page of this number.
#[derive(Clone, Copy, Debug)]
#[expect(dead_code, reason = "they are shown in traces")]
enum Action {
    Take(usize),
    Give(usize),
    Own(usize, u8),
    Charge(usize),
    Deliver(usize),
    DeliverStored(u8),
    Replicate,
    Promote,
    Notice(usize),
    Declare(usize),
    EndRecovery,
    Kill(usize),
    Suspend(usize),
    Resume(usize),
    Expire(usize),
    Join(usize),
}

impl Row {
    const NONE: Self = Self {
        is_live: false,
        has_declared: false,
        allotment: 0,
        pages: 0,
    };
    const LIVE: Self = Self {
        is_live: true,
        ..Self::NONE
    };
}

impl Node {
    const NEW: Self = Self {
        life: Life::Up,
        believes: true,
        is_late: false,
        is_current: true,
        purse: 0,
        work: Work::None,
        charged: 0,
        row: Row::LIVE,
        standby: Row::LIVE,
    };

    fn reserved(&self) -> u8 {
        u8::from(matches!(self.work, Work::Reserved(_)))
    }

    /// Forgets all but what it has charged.
    fn forget(&mut self) {
        self.believes = false;
        self.purse = 0;
        if self.reserved() > 0 {
            self.work = Work::None;
        }
    }
}

impl State {
    fn granted(&self) -> u8 {
        self.nodes.iter().map(|node| node.row.allotment).sum()
    }

    fn spent(&self) -> u8 {
        u8::try_from(self.entries.count_ones()).unwrap_or(u8::MAX)
    }

    fn left(&self) -> u8 {
        BALANCE.saturating_sub(self.spent() + self.granted())
    }

    fn next_free(&self) -> Option<u8> {
        let owned = self.nodes.iter().fold(0, |all, node| all | node.row.pages);
        // Pages are alike: the next one stands for all.
        (0..PAGES).find(|page| (self.entries | owned) & (1 << page) == 0)
    }

    fn has_standby(&self) -> bool {
        let same = |node: &Node| node.row == node.standby;
        self.entries == self.standby_entries && self.nodes.iter().all(same)
    }

    fn replicate(&mut self) {
        self.standby_entries = self.entries;
        for node in &mut self.nodes {
            node.standby = node.row;
        }
    }

    /// The state after a change, the same for each order of the nodes.
    fn with(&self, change: impl FnOnce(&mut Self)) -> Self {
        let mut to = self.clone();
        change(&mut to);
        to.nodes.sort_unstable();
        to
    }

    fn with_node(&self, at: usize, change: impl FnOnce(&mut Node)) -> Self {
        self.with(|to| change(&mut to.nodes[at]))
    }
}

struct Failover(Setup);

impl Failover {
    /// The state after a transaction.
    fn commit(&self, state: &State, change: impl FnOnce(&mut State)) -> State {
        state.with(|to| {
            change(to);
            if self.0.is_synchronous {
                to.replicate();
            }
        })
    }

    /// A member's pages and units.
    fn work(&self, state: &State, at: usize, steps: &mut Steps<Action, State>) {
        let node = state.nodes[at];
        let is_held = state.is_recovering && self.0.waits;
        match node.work {
            Work::None if !is_held && node.purse == 0 && state.left() > 0 => {
                let to = self.commit(state, |to| {
                    to.nodes[at].row.allotment += 1;
                    to.nodes[at].purse += 1;
                });
                steps.work(Action::Take(at), to);
            }
            Work::None if node.purse > 0 => {
                let given = self.commit(state, |to| {
                    let node = &mut to.nodes[at];
                    node.row.allotment = node.row.allotment.saturating_sub(node.purse);
                    node.purse = 0;
                });
                steps.work(Action::Give(at), given);
                if let Some(page) = state.next_free().filter(|_| !is_held) {
                    let owned = self.commit(state, |to| {
                        let node = &mut to.nodes[at];
                        node.row.pages |= 1 << page;
                        node.purse -= 1;
                        node.work = Work::Reserved(page);
                    });
                    steps.work(Action::Own(at, page), owned);
                }
            }
            Work::Reserved(page) => {
                let to = self.commit(state, |to| {
                    let is_new = to.entries & (1 << page) == 0;
                    to.entries |= 1 << page;
                    let node = &mut to.nodes[at];
                    node.row.allotment = node.row.allotment.saturating_sub(u8::from(is_new));
                    node.row.pages &= !(1 << page);
                    node.work = Work::Charged(page);
                    node.charged |= 1 << page;
                });
                steps.work(Action::Charge(at), to);
            }
            _ => {}
        }
    }

    /// The node learns that the database is on another timeline, and declares.
    fn recovery(&self, state: &State, at: usize, steps: &mut Steps<Action, State>) {
        let node = state.nodes[at];
        if node.life != Life::Up || node.is_current {
            return;
        }
        if !self.0.declares {
            let to = state.with_node(at, |node| node.is_current = true);
            steps.work(Action::Notice(at), to);
            return;
        }
        let to = self.commit(state, |to| {
            // Each under its id: what the standby had changes nothing.
            to.entries |= node.charged;
            let is_held = to.is_recovering;
            let node = &mut to.nodes[at];
            node.is_current = true;
            if !node.believes || !is_held {
                // Too late: what it held is granted to others.
                node.forget();
                node.row = Row::NONE;
                return;
            }
            let pages = match node.work {
                Work::Reserved(page) => 1 << page,
                _ => 0,
            };
            node.row = Row {
                is_live: true,
                has_declared: true,
                allotment: node.purse + node.reserved(),
                pages,
            };
        });
        steps.work(Action::Declare(at), to);
    }

    /// Leases end, and processes join again.
    fn lives(&self, state: &State, at: usize, steps: &mut Steps<Action, State>) {
        let node = state.nodes[at];
        if node.row.is_live && node.life != Life::Up {
            let to = self.commit(state, |to| {
                to.nodes[at].row = Row::NONE;
                to.nodes[at].is_late = true;
            });
            steps.work(Action::Expire(at), to);
        }
        if node.life == Life::Suspended {
            let to = state.with_node(at, |node| {
                node.life = Life::Up;
                if node.is_late && self.0.counts_suspension {
                    node.forget();
                }
            });
            steps.work(Action::Resume(at), to);
        }
        let may_join = node.life == Life::Up && node.is_current && !state.is_recovering;
        if may_join && !node.row.is_live {
            let to = self.commit(state, |to| {
                let node = &mut to.nodes[at];
                node.forget();
                node.believes = true;
                node.is_late = false;
                node.row = Row::LIVE;
            });
            steps.work(Action::Join(at), to);
        }
        if state.faults_left > 0 && node.life == Life::Up {
            for life in [Life::Dead, Life::Suspended] {
                let to = state.with(|to| {
                    to.faults_left -= 1;
                    let node = &mut to.nodes[at];
                    node.life = life;
                    if life == Life::Dead {
                        node.forget();
                        node.work = Work::None;
                        node.charged = 0;
                    }
                });
                let action = match life {
                    Life::Dead => Action::Kill(at),
                    _ => Action::Suspend(at),
                };
                steps.fault(action, to);
            }
        }
    }

    /// The primary, the standby, and pages that are delivered from the record.
    fn database(&self, state: &State, steps: &mut Steps<Action, State>) {
        if !state.has_standby() {
            steps.work(Action::Replicate, state.with(State::replicate));
        }
        if state.promotions_left > 0 {
            let to = state.with(|to| {
                to.promotions_left -= 1;
                to.is_recovering = true;
                to.entries = to.standby_entries;
                for node in &mut to.nodes {
                    node.row = node.standby;
                    node.row.has_declared = false;
                    node.is_current = false;
                }
                to.replicate();
            });
            steps.fault(Action::Promote, to);
        }
        // It lasts as long as a lease: who has not declared by then has stopped, or is dead.
        let is_due = |node: &Node| match node.life {
            Life::Up => node.is_current,
            Life::Suspended | Life::Dead => !node.row.is_live,
        };
        if state.is_recovering && state.nodes.iter().all(is_due) {
            let to = self.commit(state, |to| to.is_recovering = false);
            steps.work(Action::EndRecovery, to);
        }
        let is_member = |node: &Node| node.life == Life::Up && node.is_current && node.row.is_live;
        if !state.nodes.iter().any(is_member) {
            return;
        }
        for page in (0..PAGES).filter(|page| state.entries & !state.delivered & (1 << page) != 0) {
            let is_held = state
                .nodes
                .iter()
                .any(|node| node.life != Life::Dead && node.work == Work::Charged(page));
            if !is_held {
                let to = state.with(|to| to.delivered |= 1 << page);
                steps.work(Action::DeliverStored(page), to);
            }
        }
    }
}

impl Model for Failover {
    type State = State;
    type Action = Action;

    fn start(&self) -> State {
        State {
            nodes: [Node::NEW; 3],
            entries: 0,
            standby_entries: 0,
            delivered: 0,
            is_recovering: false,
            promotions_left: 1,
            faults_left: self.0.faults,
        }
    }

    fn steps(&self, state: &State, steps: &mut Steps<Action, State>) {
        for at in 0..state.nodes.len() {
            let node = state.nodes[at];
            let is_member = node.life == Life::Up && node.believes && node.row.is_live;
            // Its connections are new ones, and a new one says which timeline it is on.
            if is_member && node.is_current {
                self.work(state, at, steps);
            }
            // A charge that was acknowledged is good: the node still has it to declare.
            if let (Life::Up, Work::Charged(page)) = (node.life, node.work) {
                let to = state.with(|to| {
                    to.nodes[at].work = Work::None;
                    to.delivered |= 1 << page;
                });
                steps.work(Action::Deliver(at), to);
            }
            self.recovery(state, at, steps);
            self.lives(state, at, steps);
        }
        self.database(state, steps);
    }

    fn broken(&self, state: &State) -> Option<&'static str> {
        let remembered = state
            .nodes
            .iter()
            .filter(|node| !node.is_current)
            .fold(0, |all, node| all | node.charged);
        if state.delivered & !state.entries & !remembered != 0 {
            return Some("a page is delivered unbilled");
        }
        let is_settled = !state.is_recovering;
        if is_settled && state.spent() + state.granted() > BALANCE {
            return Some("more is granted than there is");
        }
        let is_outside = |node: &Node| {
            let acts = node.life == Life::Up && node.believes && node.is_current;
            acts && node.row.is_live && node.purse + node.reserved() > node.row.allotment
        };
        if is_settled && state.nodes.iter().any(is_outside) {
            return Some("a node spends outside its allotment");
        }
        None
    }

    fn is_done(&self, state: &State) -> bool {
        // Nothing is left to buy a page with.
        state.spent() >= BALANCE && state.entries & !state.delivered == 0
    }
}

fn explored(setup: Setup) -> Result<Explored, Counterexample> {
    explore(&Failover(setup))
}

fn good(setup: Setup, least: usize) {
    match explored(setup) {
        Ok(explored) => {
            eprintln!("fail-over: {explored:?}");
            assert!(explored.n_states > least, "{explored:?}");
        }
        Err(found) => panic!("{found}"),
    }
}

fn broken(setup: Setup) -> &'static str {
    let found = explored(setup).expect_err("a rule is broken");
    eprintln!("{setup:?}\n{found}");
    found.rule
}

#[test]
fn a_synchronous_standby_loses_nothing_whatever_else_dies() {
    good(SYNCHRONOUS, 1_000);
}

#[test]
fn a_standby_that_is_behind_loses_nothing_while_the_nodes_live() {
    good(ASYNCHRONOUS, 1_000);
}

#[test]
fn charges_that_the_standby_has_not_seen_are_declared() {
    let setup = Setup {
        declares: false,
        ..ASYNCHRONOUS
    };
    assert_eq!(broken(setup), "a page is delivered unbilled");
}

#[test]
fn nothing_is_granted_before_all_have_declared() {
    let setup = Setup {
        waits: false,
        ..ASYNCHRONOUS
    };
    assert_eq!(broken(setup), "more is granted than there is");
}

#[test]
fn a_node_whose_lease_has_ended_declares_nothing() {
    let setup = Setup {
        counts_suspension: false,
        ..SYNCHRONOUS
    };
    assert_eq!(broken(setup), "more is granted than there is");
}

#[test]
fn the_limit_of_an_asynchronous_standby_is_a_node_that_dies_with_the_primary() {
    let setup = Setup {
        faults: 1,
        ..ASYNCHRONOUS
    };
    let rule = broken(setup);
    assert!(
        rule == "a page is delivered unbilled" || rule == ENDS,
        "{rule}"
    );
}
