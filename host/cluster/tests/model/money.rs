//! Money of one account, spent by three nodes: allotments, the home node near zero, charges under
//! ids, kills at any moment, suspended nodes that write late, answers that are lost.
//!
//! A page costs one unit. The nodes are alike, so that states that differ by their order alone are
//! one state.

use crate::explore::{Counterexample, Explored, Model, Steps, explore};

/// Pages that the account wants.
const PAGES: u8 = 3;
/// The units that it has, and what it may be credited with once: a page at least is refused.
const BALANCE: u8 = 1;
const CREDIT: u8 = 1;
/// Faults at most, of all kinds together.
const FAULTS: u8 = 2;

/// What the design relies on. Without any one of them a rule is broken.
#[derive(Clone, Copy, Debug)]
struct Rules {
    /// A write of a node whose lease has ended is refused.
    fences: bool,
    /// A charge is posted once under its id.
    charge_ids: bool,
    /// A page is delivered once its charge is acknowledged.
    durable_first: bool,
    /// The home node refuses once all others have said what they need.
    asks_all: bool,
    /// A process that was suspended knows that its lease has ended.
    counts_suspension: bool,
}

const ALL: Rules = Rules {
    fences: true,
    charge_ids: true,
    durable_first: true,
    asks_all: true,
    counts_suspension: true,
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
    /// It is the process's own, and not paid for.
    Wanted(u8),
    /// Its unit is reserved: it is fetched, or its charge is on its way.
    Reserved(u8),
    /// Its charge is acknowledged.
    Charged(u8),
}

#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash, PartialOrd, Ord)]
enum Write {
    Take,
    Give,
    Charge(u8),
}

/// A transaction on its way to the database.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash, PartialOrd, Ord)]
struct Sent {
    write: Write,
    /// Whether the lease under which it was sent goes on.
    is_fresh: bool,
}

#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash, PartialOrd, Ord)]
struct Node {
    life: Life,
    /// Whether the process takes its lease for valid.
    believes: bool,
    /// Units that the process may reserve.
    purse: u8,
    work: Work,
    sent: Option<Sent>,
    /// As the home node, it has seen that nothing is left and nothing can come back.
    knows_empty: bool,
    row: Row,
}

/// What the database knows of a node.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash, PartialOrd, Ord)]
struct Row {
    is_live: bool,
    is_home: bool,
    allotment: u8,
    /// Bits of pages that are its own.
    pages: u8,
    /// Whether it knows that little is left, and holds only what it needs.
    has_answered: bool,
}

#[derive(Clone, Debug, PartialEq, Eq, Hash)]
struct State {
    nodes: [Node; 3],
    /// Charges of each page.
    entries: [u8; PAGES as usize],
    /// Bits of pages.
    delivered: u8,
    refused: u8,
    balance: u8,
    is_near_zero: bool,
    is_refused_wrongly: bool,
    faults_left: u8,
}

/// What happened, to the node at this place and the page of this number.
#[derive(Clone, Copy, Debug)]
#[expect(dead_code, reason = "they are shown in traces")]
enum Action {
    Own(usize, u8),
    Reserve(usize),
    Send(usize, Write),
    Deliver(usize),
    DeliverStored(u8),
    Reread(usize),
    Answer(usize),
    Grant(usize),
    GrantUnheard(usize),
    Refuse(usize),
    Apply(usize),
    ApplyUnheard(usize),
    Lose(usize),
    Kill(usize),
    Suspend(usize),
    Resume(usize),
    CutOff(usize),
    Expire(usize),
    Join(usize),
    NewHome(usize),
    Credit,
}

impl Node {
    const NEW: Self = Self {
        life: Life::Up,
        believes: true,
        purse: 0,
        work: Work::None,
        sent: None,
        knows_empty: false,
        row: Row {
            is_live: true,
            ..Row::NONE
        },
    };

    /// Whether the process runs and takes itself for a member.
    fn acts(&self) -> bool {
        self.life == Life::Up && self.believes
    }

    /// The process begins anew.
    fn forget(&mut self) {
        self.believes = false;
        self.purse = 0;
        self.work = Work::None;
        self.knows_empty = false;
    }

    fn send(&mut self, write: Write) {
        let is_fresh = self.row.is_live;
        self.sent = Some(Sent { write, is_fresh });
    }
}

impl Row {
    const NONE: Self = Self {
        is_live: false,
        is_home: false,
        allotment: 0,
        pages: 0,
        has_answered: false,
    };

    /// Units without a page that needs them.
    fn idle(&self) -> u8 {
        let needed = u8::try_from(self.pages.count_ones()).unwrap_or(u8::MAX);
        self.allotment.saturating_sub(needed)
    }
}

impl State {
    fn spent(&self) -> u8 {
        self.entries.iter().sum()
    }

    fn granted(&self) -> u8 {
        self.nodes.iter().map(|node| node.row.allotment).sum()
    }

    /// Units that are neither spent nor granted.
    fn left(&self) -> u8 {
        self.balance.saturating_sub(self.spent() + self.granted())
    }

    /// Whether a page is reserved that is not charged yet.
    fn reserved(&self, at: usize) -> u8 {
        match self.nodes[at].work {
            Work::Reserved(page) => u8::from(self.entries[usize::from(page)] == 0),
            _ => 0,
        }
    }

    fn is_free(&self, page: u8) -> bool {
        let bit = 1 << page;
        let is_owned = self.nodes.iter().any(|node| node.row.pages & bit != 0);
        !is_owned && self.entries[usize::from(page)] == 0 && self.refused & bit == 0
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

    fn with_fault(&self, at: usize, change: impl FnOnce(&mut Node)) -> Self {
        self.with(|to| {
            to.faults_left -= 1;
            change(&mut to.nodes[at]);
        })
    }

    /// The lease of a node has ended: its reservations are void, then its allotment returns, and
    /// its epoch is another, all in one transaction.
    fn expire(&mut self, at: usize) {
        let node = &mut self.nodes[at];
        node.row = Row::NONE;
        if let Some(sent) = &mut node.sent {
            sent.is_fresh = false;
        }
    }

    /// Decides on a write as the database does. Whether it was accepted.
    fn apply(&mut self, at: usize, rules: Rules) -> bool {
        let Some(sent) = self.nodes[at].sent.take() else {
            return false;
        };
        if rules.fences && !sent.is_fresh {
            return false;
        }
        match sent.write {
            Write::Take if self.left() == 0 => {
                self.is_near_zero = true;
                return false;
            }
            Write::Take if self.is_near_zero => return false,
            Write::Take => self.nodes[at].row.allotment += 1,
            Write::Give => self.nodes[at].row.allotment = self.reserved(at),
            Write::Charge(page) => {
                let entries = &mut self.entries[usize::from(page)];
                if rules.charge_ids && *entries > 0 {
                    return true;
                }
                *entries += 1;
                let row = &mut self.nodes[at].row;
                row.allotment = row.allotment.saturating_sub(1);
                row.pages &= !(1 << page);
            }
        }
        true
    }

    /// The process hears what became of its write.
    fn hear(&mut self, at: usize, write: Write, is_accepted: bool, was_fresh: bool) {
        let node = &mut self.nodes[at];
        if node.life != Life::Up {
            return;
        }
        if !was_fresh && (node.row.is_live || !node.believes) {
            // It waits for no answer of before.
            return;
        }
        match (write, is_accepted) {
            (Write::Take, true) => node.purse += 1,
            (Write::Give, true) => node.knows_empty = false,
            (Write::Charge(page), true) if node.work == Work::Reserved(page) => {
                node.work = Work::Charged(page);
            }
            (Write::Charge(_), true) => {}
            (_, false) if !was_fresh => node.forget(),
            (_, false) => {}
        }
    }
}

/// The money of an account under some of the rules.
struct Money(Rules);

impl Model for Money {
    type State = State;
    type Action = Action;

    fn start(&self) -> State {
        State {
            nodes: [Node::NEW; 3],
            entries: [0; PAGES as usize],
            delivered: 0,
            refused: 0,
            balance: BALANCE,
            is_near_zero: false,
            is_refused_wrongly: false,
            faults_left: FAULTS,
        }
    }

    fn steps(&self, state: &State, steps: &mut Steps<Action, State>) {
        for at in 0..state.nodes.len() {
            if state.nodes[at].acts() {
                self.page(state, at, steps);
                self.allotment(state, at, steps);
                self.near_zero(state, at, steps);
            }
            self.database(state, at, steps);
            lives(self.0, state, at, steps);
            if state.faults_left > 0 {
                faults(state, at, steps);
            }
        }
        stored(state, steps);
        credit(state, steps);
    }

    fn broken(&self, state: &State) -> Option<&'static str> {
        let is_outside = |at: usize| {
            let node = &state.nodes[at];
            let is_settled = node.acts() && node.row.is_live && node.sent.is_none();
            is_settled && node.purse + state.reserved(at) > node.row.allotment
        };
        let unbilled = (0..PAGES).any(|page| {
            state.delivered & (1 << page) != 0 && state.entries[usize::from(page)] == 0
        });
        let rules = [
            (
                state.entries.iter().any(|entries| *entries > 1),
                "a page is billed twice",
            ),
            (unbilled, "a page is delivered unbilled"),
            (
                state.spent() + state.granted() > state.balance,
                "more is granted than there is",
            ),
            (
                (0..state.nodes.len()).any(is_outside),
                "a node spends outside its allotment",
            ),
            (
                state.is_refused_wrongly,
                "a page is refused while there is money",
            ),
        ];
        rules
            .into_iter()
            .find_map(|(is_broken, rule)| is_broken.then_some(rule))
    }

    fn is_done(&self, state: &State) -> bool {
        state.delivered | state.refused == (1 << PAGES) - 1
    }
}

impl Money {
    /// The way of a page through a process.
    fn page(&self, state: &State, at: usize, steps: &mut Steps<Action, State>) {
        let node = &state.nodes[at];
        match node.work {
            Work::None if node.row.is_live => {
                // Pages are alike: the next one stands for all.
                if let Some(page) = (0..PAGES).find(|page| state.is_free(*page)) {
                    let to = state.with_node(at, |node| {
                        node.row.pages |= 1 << page;
                        node.work = Work::Wanted(page);
                    });
                    steps.work(Action::Own(at, page), to);
                }
            }
            Work::Wanted(page) if node.purse > 0 => {
                let to = state.with_node(at, |node| {
                    node.purse -= 1;
                    node.work = Work::Reserved(page);
                });
                steps.work(Action::Reserve(at), to);
            }
            Work::Reserved(page) if node.sent.is_none() => {
                let write = Write::Charge(page);
                let to = state.with(|to| {
                    to.nodes[at].send(write);
                    if !self.0.durable_first {
                        to.delivered |= 1 << page;
                    }
                });
                steps.work(Action::Send(at, write), to);
            }
            Work::Charged(page) => {
                let to = state.with(|to| {
                    to.nodes[at].work = Work::None;
                    to.delivered |= 1 << page;
                });
                steps.work(Action::Deliver(at), to);
            }
            _ => {}
        }
    }

    /// How a process takes units and gives them back.
    fn allotment(&self, state: &State, at: usize, steps: &mut Steps<Action, State>) {
        let node = &state.nodes[at];
        if node.sent.is_some() {
            return;
        }
        let needs = matches!(node.work, Work::Wanted(_)) && node.purse == 0;
        if needs && !state.is_near_zero {
            let to = state.with_node(at, |node| node.send(Write::Take));
            steps.work(Action::Send(at, Write::Take), to);
        }
        if node.work == Work::None && node.purse > 0 {
            // From now on nothing of it is reserved.
            let to = state.with_node(at, |node| {
                node.purse = 0;
                node.send(Write::Give);
            });
            steps.work(Action::Send(at, Write::Give), to);
        }
        let known = node.purse + state.reserved(at);
        if node.row.is_live && node.row.allotment > known {
            let missed = node.row.allotment - known;
            let to = state.with_node(at, |node| node.purse += missed);
            steps.work(Action::Reread(at), to);
        }
    }

    /// Near zero, a process keeps what it needs and asks the home node for each unit.
    fn near_zero(&self, state: &State, at: usize, steps: &mut Steps<Action, State>) {
        let node = &state.nodes[at];
        if !state.is_near_zero || node.sent.is_some() || !node.row.is_live {
            return;
        }
        if !node.row.has_answered {
            let to = state.with(|to| {
                let needed = to.reserved(at);
                let node = &mut to.nodes[at];
                node.purse = 0;
                node.row.allotment = needed;
                node.row.has_answered = true;
            });
            steps.work(Action::Answer(at), to);
            return;
        }
        let Work::Wanted(page) = node.work else {
            return;
        };
        if node.row.allotment > 0 {
            return;
        }
        if state
            .nodes
            .iter()
            .any(|home| home.acts() && home.knows_empty)
        {
            steps.work(Action::Refuse(at), refused(state, at, page));
        }
        let is_home = |node: &Node| node.acts() && node.row.is_home;
        let Some(home) = state.nodes.iter().position(is_home) else {
            return;
        };
        self.ask(state, (at, page), home, steps);
    }

    /// The home node looks into the database for a process that wants a page.
    fn ask(
        &self,
        state: &State,
        (at, page): (usize, u8),
        home: usize,
        steps: &mut Steps<Action, State>,
    ) {
        if state.left() > 0 {
            let heard = state.with_node(at, |node| {
                node.row.allotment += 1;
                node.purse += 1;
            });
            steps.work(Action::Grant(at), heard);
            if state.faults_left > 0 {
                let unheard = state.with_fault(at, |node| node.row.allotment += 1);
                steps.fault(Action::GrantUnheard(at), unheard);
            }
            return;
        }
        let rows = || state.nodes.iter().map(|node| node.row);
        let is_certain = rows().all(|row| !row.is_live || row.has_answered);
        if is_certain || !self.0.asks_all {
            let mut seen = state.clone();
            seen.nodes[home].knows_empty = rows().all(|row| row.allotment == 0);
            steps.work(Action::Refuse(at), refused(&seen, at, page));
        }
    }

    /// The database works off what was sent to it, and its answer arrives or does not.
    fn database(&self, state: &State, at: usize, steps: &mut Steps<Action, State>) {
        let Some(Sent { write, is_fresh }) = state.nodes[at].sent else {
            return;
        };
        let heard = state.with(|to| {
            let is_accepted = to.apply(at, self.0);
            to.hear(at, write, is_accepted, is_fresh);
        });
        steps.work(Action::Apply(at), heard);
        if state.faults_left == 0 {
            return;
        }
        let unheard = state.with(|to| {
            to.faults_left -= 1;
            to.apply(at, self.0);
        });
        steps.fault(Action::ApplyUnheard(at), unheard);
        let lost = state.with_fault(at, |node| node.sent = None);
        steps.fault(Action::Lose(at), lost);
    }
}

/// A refusal, right or wrong.
fn refused(state: &State, at: usize, page: u8) -> State {
    let idle: u8 = state.nodes.iter().map(|node| node.row.idle()).sum();
    let is_wrong = state.left() > 0 || idle > 0;
    state.with(|to| {
        to.is_refused_wrongly |= is_wrong;
        to.refused |= 1 << page;
        let node = &mut to.nodes[at];
        node.work = Work::None;
        node.row.pages &= !(1 << page);
    })
}

/// Any node delivers a page that is recorded.
fn stored(state: &State, steps: &mut Steps<Action, State>) {
    for page in 0..PAGES {
        let is_due = state.entries[usize::from(page)] > 0 && state.delivered & (1 << page) == 0;
        let is_held = state
            .nodes
            .iter()
            .any(|node| node.life != Life::Dead && node.work == Work::Charged(page));
        if is_due && !is_held && state.nodes.iter().any(Node::acts) {
            let to = state.with(|to| to.delivered |= 1 << page);
            steps.work(Action::DeliverStored(page), to);
        }
    }
}

/// The account is credited. It is told so when the home node knows, or its lease has ended.
fn credit(state: &State, steps: &mut Steps<Action, State>) {
    let is_unheard = |node: &Node| node.row.is_home && node.life == Life::Suspended;
    if state.balance > BALANCE || state.nodes.iter().any(is_unheard) {
        return;
    }
    let to = state.with(|to| {
        to.balance += CREDIT;
        for node in to.nodes.iter_mut().filter(|node| node.row.is_home) {
            node.knows_empty = false;
        }
    });
    steps.fault(Action::Credit, to);
}

/// Leases that end, processes that go on, and the choice of a home node.
fn lives(rules: Rules, state: &State, at: usize, steps: &mut Steps<Action, State>) {
    let node = &state.nodes[at];
    if node.row.is_live && node.life != Life::Up {
        steps.work(Action::Expire(at), state.with(|to| to.expire(at)));
    }
    if node.life == Life::Suspended {
        let to = state.with_node(at, |node| {
            node.life = Life::Up;
            if rules.counts_suspension && !node.row.is_live {
                node.forget();
            }
        });
        steps.work(Action::Resume(at), to);
    }
    if node.life == Life::Up && !node.believes && !node.row.is_live {
        let to = state.with(|to| {
            let has_answered = to.is_near_zero;
            let node = &mut to.nodes[at];
            node.believes = true;
            node.row = Row {
                is_live: true,
                has_answered,
                ..Row::NONE
            };
        });
        steps.work(Action::Join(at), to);
    }
    let has_home = state.nodes.iter().any(|node| node.row.is_home);
    if state.is_near_zero && !has_home && node.row.is_live {
        let to = state.with_node(at, |node| node.row.is_home = true);
        steps.work(Action::NewHome(at), to);
    }
}

/// What happens to a process from outside.
fn faults(state: &State, at: usize, steps: &mut Steps<Action, State>) {
    let node = &state.nodes[at];
    if node.life == Life::Dead {
        return;
    }
    let killed = state.with_fault(at, |node| {
        node.forget();
        node.life = Life::Dead;
    });
    steps.fault(Action::Kill(at), killed);
    if node.life != Life::Up {
        return;
    }
    let suspended = state.with_fault(at, |node| node.life = Life::Suspended);
    steps.fault(Action::Suspend(at), suspended);
    if node.row.is_live {
        // It stops work before its lease ends.
        let cut_off = state.with(|to| {
            to.faults_left -= 1;
            to.expire(at);
            to.nodes[at].forget();
        });
        steps.fault(Action::CutOff(at), cut_off);
    }
}

fn explored(rules: Rules) -> Result<Explored, Counterexample> {
    explore(&Money(rules))
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
fn money_is_exact_whatever_dies() {
    match explored(ALL) {
        Ok(explored) => {
            eprintln!("money: {explored:?}");
            assert!(explored.n_states > 10_000, "{explored:?}");
        }
        Err(found) => panic!("{found}"),
    }
}

#[test]
fn a_late_write_is_refused() {
    let broken = broken_without(|rules| rules.fences = false);
    assert_eq!(broken, "more is granted than there is");
}

#[test]
fn a_repeated_charge_is_one() {
    let broken = broken_without(|rules| rules.charge_ids = false);
    assert_eq!(broken, "a page is billed twice");
}

#[test]
fn a_page_waits_for_its_charge() {
    let broken = broken_without(|rules| rules.durable_first = false);
    assert_eq!(broken, "a page is delivered unbilled");
}

#[test]
fn a_refusal_waits_for_what_others_hold() {
    let broken = broken_without(|rules| rules.asks_all = false);
    assert_eq!(broken, "a page is refused while there is money");
}

#[test]
fn a_home_node_that_was_suspended_refuses_nothing_from_memory() {
    let broken = broken_without(|rules| rules.counts_suspension = false);
    assert_eq!(broken, "a page is refused while there is money");
}
