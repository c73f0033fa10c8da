//! A crawl with two partitions on three nodes: shards that move, an inbox between partitions, a cap
//! that is allotted, and the end, which is found once and at the right time.
//!
//! The site: page 0 links to page 3, that one to page 1, and that one to page 3 and to page 2. Page
//! 3 is another partition's.

use crate::explore::{Counterexample, ENDS, Explored, Model, Steps, explore};

const PAGES: usize = 4;
/// Bits of the pages that a page links to.
const LINKS: [u8; PAGES] = [0b1000, 0b1100, 0, 0b0010];
/// The partition of each page.
const PARTITION: [usize; PAGES] = [0, 0, 0, 1];
const ALL_PAGES: u8 = (1 << PAGES) - 1;

/// What the design relies on, and what happens.
#[derive(Clone, Copy, Debug)]
struct Setup {
    /// Pages at most.
    limit: u8,
    /// A write of an owner whose epoch is over is refused.
    fences: bool,
    /// URLs of the inbox are recorded in the transaction that removes them.
    drains_at_once: bool,
    /// The end is read from one snapshot.
    one_snapshot: bool,
    /// What an owner held of the cap returns with its shard.
    returns_cap: bool,
    /// Faults at most, of all kinds together.
    faults: u8,
}

const GOOD: Setup = Setup {
    limit: 4,
    fences: true,
    drains_at_once: true,
    one_snapshot: true,
    returns_cap: true,
    faults: 2,
};

#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash, PartialOrd, Ord)]
enum Life {
    Up,
    Suspended,
    Dead,
}

/// What an owner says of its partition.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash, PartialOrd, Ord)]
enum Status {
    Busy,
    /// Nothing waits.
    Idle,
    /// Pages wait for a part of the cap.
    Starved,
}

#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash, PartialOrd, Ord)]
enum Write {
    Complete(u8),
    Drain,
    TakeCap,
    Rest(Status),
}

/// A transaction on its way to the database.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash, PartialOrd, Ord)]
struct Sent {
    write: Write,
    /// Bits of pages that the process knows.
    known: u8,
    /// Whether the epoch under which it was sent goes on.
    is_fresh: bool,
}

/// A partition in the memory of its owner; pages are bits.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash, PartialOrd, Ord)]
struct Loaded {
    known: u8,
    waiting: u8,
    leased: Option<u8>,
    /// Pages that it may still lease.
    cap: u8,
}

/// A shard, as seen from a node.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash, PartialOrd, Ord)]
struct Shard {
    /// Whether the database says that the node owns it.
    is_owned: bool,
    loaded: Option<Loaded>,
    sent: Option<Sent>,
}

#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash, PartialOrd, Ord)]
struct Node {
    life: Life,
    /// Whether the process takes its lease for valid.
    believes: bool,
    is_live: bool,
    shards: [Shard; 2],
}

/// What the database has of a partition.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash)]
struct Table {
    known: u8,
    done: u8,
    /// Rows for each page.
    inbox: [u8; PAGES],
    sent: u8,
    received: u8,
    status: Status,
    /// The part of the cap that its owner holds, and what its former owners hold.
    allotment: u8,
    stray: u8,
}

#[derive(Clone, Debug, PartialEq, Eq, Hash)]
struct State {
    nodes: [Node; 3],
    tables: [Table; 2],
    /// What was read of the first partition a while ago, if the end is read in two steps.
    seen: Option<(u8, u8, Status)>,
    has_ended: bool,
    faults_left: u8,
}

/// What happened, to the node at this place and its shard of this number.
#[derive(Clone, Copy, Debug)]
#[expect(dead_code, reason = "they are shown in traces")]
enum Action {
    TakeShard(usize, usize),
    Load(usize, usize),
    Lease(usize, u8),
    Send(usize, Write),
    Apply(usize, usize),
    ApplyUnheard(usize, usize),
    Move(usize, usize),
    Look,
    End,
    Kill(usize),
    Suspend(usize),
    Resume(usize),
    CutOff(usize),
    Expire(usize),
    Join(usize),
}

impl Shard {
    const NONE: Self = Self {
        is_owned: false,
        loaded: None,
        sent: None,
    };
}

impl Node {
    const NEW: Self = Self {
        life: Life::Up,
        believes: true,
        is_live: true,
        shards: [Shard::NONE; 2],
    };

    fn acts(&self) -> bool {
        self.life == Life::Up && self.believes
    }

    fn forget(&mut self) {
        self.believes = false;
        for shard in &mut self.shards {
            shard.loaded = None;
        }
    }
}

impl Table {
    const fn new(known: u8, status: Status) -> Self {
        Self {
            known,
            done: 0,
            inbox: [0; PAGES],
            sent: 0,
            received: 0,
            status,
            allotment: 0,
            stray: 0,
        }
    }

    fn allotted(&self) -> u8 {
        self.allotment + self.stray
    }
}

/// A page as a bit.
const fn bit(page: u8) -> u8 {
    1 << page
}

/// The links of a page within its partition.
fn near(page: u8) -> u8 {
    let own = PARTITION[usize::from(page)];
    let links = LINKS[usize::from(page)];
    (0..PAGES)
        .filter(|to| links & (1 << to) != 0 && PARTITION[*to] == own)
        .fold(0, |all, to| all | 1 << to)
}

impl State {
    fn done(&self) -> u8 {
        self.tables.iter().fold(0, |all, table| all | table.done)
    }

    fn n_done(&self) -> u8 {
        u8::try_from(self.done().count_ones()).unwrap_or(u8::MAX)
    }

    /// What is left of the cap.
    fn left(&self, limit: u8) -> u8 {
        let allotted: u8 = self.tables.iter().map(Table::allotted).sum();
        limit.saturating_sub(self.n_done() + allotted)
    }

    /// The state after a change, the same for each order of the nodes.
    fn with(&self, change: impl FnOnce(&mut Self)) -> Self {
        let mut to = self.clone();
        change(&mut to);
        to.nodes.sort_unstable();
        to
    }

    fn with_fault(&self, change: impl FnOnce(&mut Self)) -> Self {
        self.with(|to| {
            to.faults_left -= 1;
            change(to);
        })
    }

    /// The node's shards are free from now on, under another epoch.
    fn release(&mut self, at: usize, shard: usize, setup: &Setup) {
        let held = &mut self.nodes[at].shards[shard];
        if !held.is_owned {
            return;
        }
        held.is_owned = false;
        if let Some(sent) = &mut held.sent {
            sent.is_fresh = false;
        }
        let table = &mut self.tables[shard];
        let held = std::mem::take(&mut table.allotment);
        if !setup.returns_cap {
            table.stray += held;
        }
    }

    fn expire(&mut self, at: usize, setup: &Setup) {
        for shard in 0..2 {
            self.release(at, shard, setup);
        }
        self.nodes[at].is_live = false;
    }

    /// Decides on a write as the database does. Whether it was accepted.
    fn apply(&mut self, at: usize, shard: usize, setup: &Setup) -> bool {
        let Some(sent) = self.nodes[at].shards[shard].sent.take() else {
            return false;
        };
        if setup.fences && !sent.is_fresh {
            return false;
        }
        let left = self.left(setup.limit);
        let table = &mut self.tables[shard];
        if !setup.drains_at_once {
            table.known |= sent.known;
        }
        match sent.write {
            Write::TakeCap if left == 0 => return false,
            Write::TakeCap => {
                table.allotment += 1;
                table.status = Status::Busy;
            }
            Write::Rest(status) => {
                table.allotment = 0;
                table.status = status;
            }
            Write::Drain => {
                for (page, rows) in table.inbox.iter_mut().enumerate() {
                    table.received += *rows;
                    if *rows > 0 && setup.drains_at_once {
                        table.known |= 1 << page;
                    }
                    *rows = 0;
                }
                table.status = Status::Busy;
            }
            Write::Complete(page) => self.complete(shard, page),
        }
        true
    }

    /// A page's charge, its entry and its links.
    fn complete(&mut self, shard: usize, page: u8) {
        let table = &mut self.tables[shard];
        if table.done & bit(page) != 0 {
            return;
        }
        table.done |= bit(page);
        table.allotment = table.allotment.saturating_sub(1);
        table.known |= near(page);
        for (to, partition) in PARTITION.into_iter().enumerate() {
            let is_linked = LINKS[usize::from(page)] & (1 << to) != 0;
            if is_linked && partition != shard {
                self.tables[shard].sent += 1;
                self.tables[partition].inbox[to] += 1;
            }
        }
    }
}

struct Crawl(Setup);

impl Crawl {
    /// What an owner does with its partition.
    fn partition(
        &self,
        state: &State,
        (at, shard): (usize, usize),
        steps: &mut Steps<Action, State>,
    ) {
        let held = state.nodes[at].shards[shard];
        let table = &state.tables[shard];
        if held.sent.is_some() {
            return;
        }
        let Some(loaded) = held.loaded else {
            if held.is_owned && (table.known != 0 || table.inbox != [0; PAGES]) {
                let to = state.with(|to| {
                    to.nodes[at].shards[shard].loaded = Some(Loaded {
                        known: table.known,
                        waiting: table.known & !table.done,
                        leased: None,
                        cap: table.allotment,
                    });
                });
                steps.work(Action::Load(at, shard), to);
            }
            return;
        };
        let mut send = |write| {
            let to = state.with(|to| {
                let held = &mut to.nodes[at].shards[shard];
                held.sent = Some(Sent {
                    write,
                    known: loaded.known,
                    is_fresh: held.is_owned,
                });
            });
            steps.work(Action::Send(at, write), to);
        };
        if let Some(page) = loaded.leased {
            send(Write::Complete(page));
            return;
        }
        if table.inbox != [0; PAGES] {
            send(Write::Drain);
        }
        match (loaded.waiting, loaded.cap) {
            (0, _) if table.status != Status::Idle || loaded.cap > 0 => {
                send(Write::Rest(Status::Idle));
            }
            (0, _) => {}
            (_, 0) if state.left(self.0.limit) > 0 => send(Write::TakeCap),
            (_, 0) if table.status != Status::Starved => send(Write::Rest(Status::Starved)),
            (_, 0) => {}
            (waiting, _) => {
                let page = u8::try_from(waiting.trailing_zeros()).expect("a page");
                let to = state.with(|to| {
                    if let Some(loaded) = &mut to.nodes[at].shards[shard].loaded {
                        loaded.leased = Some(page);
                        loaded.cap -= 1;
                    }
                });
                steps.work(Action::Lease(at, page), to);
            }
        }
    }

    /// The database works off what was sent to it, and its answer arrives or does not.
    fn database(
        &self,
        state: &State,
        (at, shard): (usize, usize),
        steps: &mut Steps<Action, State>,
    ) {
        let Some(sent) = state.nodes[at].shards[shard].sent else {
            return;
        };
        let heard = state.with(|to| {
            let inbox = to.tables[shard].inbox;
            let is_accepted = to.apply(at, shard, &self.0);
            hear(to, (at, shard), sent, is_accepted.then_some(inbox));
        });
        steps.work(Action::Apply(at, shard), heard);
        if state.faults_left > 0 {
            let unheard = state.with_fault(|to| {
                to.apply(at, shard, &self.0);
                // It reads again what is true.
                to.nodes[at].shards[shard].loaded = None;
            });
            steps.fault(Action::ApplyUnheard(at, shard), unheard);
        }
    }

    /// Who owns a shard.
    fn owners(&self, state: &State, (at, shard): (usize, usize), steps: &mut Steps<Action, State>) {
        let node = state.nodes[at];
        let is_free = !state.nodes.iter().any(|node| node.shards[shard].is_owned);
        if is_free && node.acts() && node.is_live && node.shards[shard].sent.is_none() {
            let to = state.with(|to| to.nodes[at].shards[shard].is_owned = true);
            steps.work(Action::TakeShard(at, shard), to);
        }
        let held = node.shards[shard];
        let is_leased = held.loaded.is_some_and(|loaded| loaded.leased.is_some());
        if node.acts() && held.is_owned && held.sent.is_none() && !is_leased {
            let to = state.with(|to| {
                to.nodes[at].shards[shard].loaded = None;
                to.release(at, shard, &self.0);
            });
            // Another node has come.
            steps.fault(Action::Move(at, shard), to);
        }
    }

    /// Leases that end, processes that go on, and what happens to them.
    fn lives(&self, state: &State, at: usize, steps: &mut Steps<Action, State>) {
        let node = state.nodes[at];
        if node.is_live && node.life != Life::Up {
            let to = state.with(|to| to.expire(at, &self.0));
            steps.work(Action::Expire(at), to);
        }
        if node.life == Life::Suspended {
            let to = state.with(|to| {
                let node = &mut to.nodes[at];
                node.life = Life::Up;
                if !node.is_live {
                    node.forget();
                }
            });
            steps.work(Action::Resume(at), to);
        }
        if node.life == Life::Up && !node.believes {
            let to = state.with(|to| {
                to.nodes[at].believes = true;
                to.nodes[at].is_live = true;
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
        let cut_off = state.with_fault(|to| {
            to.expire(at, &self.0);
            to.nodes[at].forget();
        });
        steps.fault(Action::CutOff(at), cut_off);
    }

    /// Whether the crawl has ended, as any node finds out.
    fn end(&self, state: &State, steps: &mut Steps<Action, State>) {
        let read = |table: &Table| (table.sent, table.received, table.status);
        let [first, second] = &state.tables;
        let first = match state.seen {
            Some(seen) if !self.0.one_snapshot => seen,
            _ => read(first),
        };
        if !self.0.one_snapshot && state.seen != Some(read(&state.tables[0])) {
            let seen = Some(read(&state.tables[0]));
            steps.work(Action::Look, state.with(|to| to.seen = seen));
        }
        let second = read(second);
        let is_quiet = first.0 + second.0 == first.1 + second.1;
        let is_idle = [first.2, second.2] == [Status::Idle; 2];
        let is_capped = [first.2, second.2]
            .iter()
            .all(|status| *status != Status::Busy)
            && state.n_done() >= self.0.limit;
        if is_quiet && (is_idle || is_capped) {
            steps.work(Action::End, state.with(|to| to.has_ended = true));
        }
    }
}

/// The process hears what became of its write: of an accepted one, with the inbox of before.
fn hear(to: &mut State, (at, shard): (usize, usize), sent: Sent, accepted: Option<[u8; PAGES]>) {
    let done = to.tables[shard].done;
    let node = &mut to.nodes[at];
    let held = &mut node.shards[shard];
    if node.life == Life::Dead {
        return;
    }
    // The answer waits for a process that is suspended.
    let (Some(loaded), true) = (&mut held.loaded, sent.is_fresh) else {
        // It is not the owner any more, or never heard that it is.
        held.loaded = None;
        return;
    };
    let Some(inbox) = accepted else { return };
    match sent.write {
        Write::TakeCap => loaded.cap += 1,
        Write::Rest(_) => loaded.cap = 0,
        Write::Drain => {
            let drained = (0..PAGES).filter(|page| inbox[*page] > 0);
            let drained: u8 = drained.fold(0, |all, page| all | 1 << page);
            loaded.waiting |= drained & !loaded.known & !done;
            loaded.known |= drained;
        }
        Write::Complete(page) => {
            loaded.leased = None;
            loaded.waiting &= !bit(page);
            loaded.waiting |= near(page) & !loaded.known;
            loaded.known |= near(page);
        }
    }
}

impl Model for Crawl {
    type State = State;
    type Action = Action;

    fn start(&self) -> State {
        State {
            nodes: [Node::NEW; 3],
            tables: [Table::new(1, Status::Busy), Table::new(0, Status::Idle)],
            seen: None,
            has_ended: false,
            faults_left: self.0.faults,
        }
    }

    fn steps(&self, state: &State, steps: &mut Steps<Action, State>) {
        if state.has_ended {
            return;
        }
        for at in 0..state.nodes.len() {
            for shard in 0..2 {
                if state.nodes[at].acts() {
                    self.partition(state, (at, shard), steps);
                }
                self.database(state, (at, shard), steps);
                self.owners(state, (at, shard), steps);
            }
            self.lives(state, at, steps);
        }
        self.end(state, steps);
    }

    fn broken(&self, state: &State) -> Option<&'static str> {
        let allotted: u8 = state.tables.iter().map(Table::allotted).sum();
        if state.n_done() + allotted > self.0.limit {
            return Some("more pages than the cap allows");
        }
        let is_whole = state.done() == ALL_PAGES || state.n_done() >= self.0.limit;
        (state.has_ended && !is_whole).then_some("a crawl ends with pages missing")
    }

    fn is_done(&self, state: &State) -> bool {
        state.has_ended
    }
}

fn explored(setup: Setup) -> Result<Explored, Counterexample> {
    explore(&Crawl(setup))
}

fn good(setup: Setup) {
    match explored(setup) {
        Ok(explored) => {
            eprintln!("crawl to {}: {explored:?}", setup.limit);
            assert!(explored.n_states > 10_000, "{explored:?}");
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
fn a_crawl_ends_with_all_pages_whatever_dies_or_moves() {
    good(Setup { faults: 1, ..GOOD });
}

#[test]
fn a_crawl_ends_at_its_cap_whatever_dies_or_moves() {
    good(Setup { limit: 2, ..GOOD });
}

#[test]
fn a_late_write_of_an_owner_is_refused() {
    let setup = Setup {
        fences: false,
        ..GOOD
    };
    assert_eq!(broken(setup), "a crawl ends with pages missing");
}

#[test]
fn urls_of_the_inbox_are_recorded_when_they_are_taken() {
    let setup = Setup {
        drains_at_once: false,
        ..GOOD
    };
    assert_eq!(broken(setup), "a crawl ends with pages missing");
}

#[test]
fn the_end_is_read_from_one_snapshot() {
    let setup = Setup {
        one_snapshot: false,
        faults: 0,
        ..GOOD
    };
    assert_eq!(broken(setup), "a crawl ends with pages missing");
}

#[test]
fn a_cap_that_a_dead_owner_keeps_ends_no_crawl() {
    let setup = Setup {
        limit: 2,
        returns_cap: false,
        ..GOOD
    };
    assert_eq!(broken(setup), ENDS);
}
