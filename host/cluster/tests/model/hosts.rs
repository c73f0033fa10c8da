//! A shard of hosts and two nodes that may own it, with the crate's own code: a former owner begins
//! no request after the next one has, whatever is suspended, late or cut off.
//!
//! Time goes on in steps of half a lease, up to a bound. Everything happens to the first node; the
//! second one is well, and takes the shard as soon as it may.

use std::time::Duration;

use trawl_cluster::{BootTime, HostShard, LEASE, NodeId, Ownership, ShardTable, Step};

use crate::explore::{Counterexample, Explored, Model, Steps, explore};

const TICK: Duration = Duration::from_secs(5);
/// A lease, and some time after it.
const TICKS: u8 = 3;
const NAMES: [&str; 2] = ["a", "b"];

/// What the design relies on.
#[derive(Clone, Copy, Debug)]
struct Rules {
    /// A lease begins for the node when the renewal is sent.
    from_sending: bool,
    /// The node's clock goes on while it is suspended.
    counts_suspension: bool,
    /// An owner is replaced once its lease has ended.
    waits_for_lease: bool,
    /// A renewal that comes after the lease has ended is refused.
    refuses_late: bool,
}

const ALL: Rules = Rules {
    from_sending: true,
    counts_suspension: true,
    waits_for_lease: true,
    refuses_late: true,
};

/// A renewal on its way to the database, with the time of its sending, or the answer on its way
/// back.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash)]
enum Renewal {
    Join(u8),
    Sent(u8),
    Confirmed(u8),
    Refused,
}

#[derive(Clone, Debug, PartialEq, Eq, Hash)]
struct Node {
    ownership: Ownership,
    has_joined: bool,
    renewal: Option<Renewal>,
    is_suspended: bool,
    /// How far its clock is behind.
    behind: u8,
    /// When its lease ends by the database.
    live_until: u8,
}

#[derive(Clone, Debug, PartialEq, Eq, Hash)]
struct State {
    now: u8,
    table: ShardTable,
    nodes: [Node; 2],
    /// The node that should own the shard.
    target: usize,
    /// The latest epoch under which a request has begun.
    begun: u64,
    are_two: bool,
    suspensions_left: u8,
    moves_left: u8,
}

/// What happened to this node.
#[derive(Clone, Copy, Debug)]
#[expect(dead_code, reason = "they are shown in traces")]
enum Action {
    Tick,
    Renew(usize),
    Commit(usize),
    Confirm(usize),
    Look(usize),
    Begin(usize),
    Suspend(usize),
    Resume(usize),
    Target(usize),
}

/// A lease in steps of time.
fn lease_ticks() -> u8 {
    u8::try_from(LEASE.as_secs() / TICK.as_secs()).expect("a short lease")
}

fn moment(tick: u8) -> BootTime {
    // The machine has been on for a while.
    BootTime::after_start(LEASE + TICK * u32::from(tick))
}

fn shard() -> HostShard {
    HostShard::new(0).expect("a shard")
}

impl State {
    fn with(&self, change: impl FnOnce(&mut Self)) -> Self {
        let mut to = self.clone();
        change(&mut to);
        to
    }

    /// The second node's lease has just been renewed.
    fn renew_second(&mut self) {
        let now = self.now;
        let second = &mut self.nodes[1];
        second.live_until = now + lease_ticks();
        second.ownership.renewed(moment(now));
    }

    fn is_live(&self, node: usize) -> bool {
        self.nodes[node].live_until > self.now
    }

    /// The time by the clock of a node.
    fn clock(&self, node: usize) -> BootTime {
        moment(self.now - self.nodes[node].behind)
    }
}

struct Hosts(Rules);

impl Hosts {
    /// A node looks at the shard, and changes its row.
    fn look(&self, state: &State, at: usize) -> State {
        let names = NAMES.map(NodeId::new);
        let waits = self.0.waits_for_lease;
        let live: Vec<NodeId> = (0..NAMES.len())
            .filter(|node| state.is_live(*node) && (waits || *node == state.target))
            .map(|node| names[node].clone())
            .collect();
        let is_member = |node: &NodeId| live.contains(node);
        state.with(|to| {
            let target = [names[to.target].clone()];
            let now = to.clock(at);
            let rows = to.table.rows().to_vec();
            let node = &mut to.nodes[at].ownership;
            for step in node.look(&rows, &target, is_member, now) {
                let done = match step {
                    Step::Take { shard, epoch } => {
                        to.table.take(shard, epoch, &names[at], is_member)
                    }
                    Step::Give {
                        shard,
                        epoch,
                        to: next,
                    } => to.table.give(shard, epoch, &names[at], &next),
                };
                done.expect("the row is as it was seen");
            }
            let rows = to.table.rows().to_vec();
            let steps = to.nodes[at].ownership.look(&rows, &target, is_member, now);
            assert_eq!(steps, [], "one change is enough");
        })
    }

    fn member(&self, state: &State, at: usize, steps: &mut Steps<Action, State>) {
        let node = &state.nodes[at];
        if at == 0 && node.renewal.is_none() && state.now < TICKS {
            let to = state.with(|to| {
                let node = &mut to.nodes[at];
                let sent = to.now - node.behind;
                node.renewal = Some(match node.has_joined {
                    true => Renewal::Sent(sent),
                    false => Renewal::Join(sent),
                });
            });
            steps.work(Action::Renew(at), to);
        }
        if let Some(Renewal::Confirmed(sent)) = node.renewal {
            let from = match self.0.from_sending {
                true => moment(sent),
                false => state.clock(at),
            };
            let to = state.with(|to| {
                let node = &mut to.nodes[at];
                node.renewal = None;
                node.has_joined = true;
                node.ownership.renewed(from);
            });
            steps.work(Action::Confirm(at), to);
        }
        if node.renewal == Some(Renewal::Refused) {
            let to = state.with(|to| {
                let node = &mut to.nodes[at];
                node.renewal = None;
                node.has_joined = false;
                node.ownership.lose_all();
            });
            steps.work(Action::Confirm(at), to);
        }
        if state.is_live(at) {
            let to = self.look(state, at);
            if to != *state {
                steps.work(Action::Look(at), to);
            }
        }
        let to = state.with(|to| {
            let now = to.clock(at);
            if let Ok(turn) = to.nodes[at].ownership.begin(shard(), now) {
                to.are_two |= turn.epoch() < to.begun;
                to.begun = to.begun.max(turn.epoch());
                to.nodes[at].ownership.end(turn);
            }
        });
        if to != *state {
            steps.work(Action::Begin(at), to);
        }
    }
}

impl Model for Hosts {
    type State = State;
    type Action = Action;

    fn start(&self) -> State {
        let node = |name| Node {
            ownership: Ownership::new(NodeId::new(name)),
            has_joined: false,
            renewal: None,
            is_suspended: false,
            behind: 0,
            live_until: 0,
        };
        let mut start = State {
            now: 0,
            table: ShardTable::new(1),
            nodes: NAMES.map(node),
            target: 0,
            begun: 0,
            are_two: false,
            suspensions_left: 1,
            moves_left: 1,
        };
        start.renew_second();
        start
    }

    fn steps(&self, state: &State, steps: &mut Steps<Action, State>) {
        if state.now < TICKS {
            let to = state.with(|to| {
                to.now += 1;
                let first = &mut to.nodes[0];
                first.behind += u8::from(first.is_suspended && !self.0.counts_suspension);
                to.renew_second();
            });
            steps.work(Action::Tick, to);
        }
        for at in 0..state.nodes.len() {
            let node = &state.nodes[at];
            if let Some(Renewal::Sent(sent) | Renewal::Join(sent)) = node.renewal {
                let is_join = node.renewal == Some(Renewal::Join(sent));
                let is_good = is_join || state.is_live(at) || !self.0.refuses_late;
                let to = state.with(|to| match is_good {
                    true => {
                        to.nodes[at].renewal = Some(Renewal::Confirmed(sent));
                        to.nodes[at].live_until = to.now + lease_ticks();
                    }
                    false => to.nodes[at].renewal = Some(Renewal::Refused),
                });
                steps.work(Action::Commit(at), to);
            }
            if node.is_suspended {
                let to = state.with(|to| to.nodes[at].is_suspended = false);
                steps.work(Action::Resume(at), to);
                continue;
            }
            self.member(state, at, steps);
            if at == 0 && state.suspensions_left > 0 {
                let to = state.with(|to| {
                    to.suspensions_left -= 1;
                    to.nodes[at].is_suspended = true;
                });
                steps.fault(Action::Suspend(at), to);
            }
        }
        if state.moves_left > 0 {
            let target = 1 - state.target;
            let to = state.with(|to| {
                to.moves_left -= 1;
                to.target = target;
            });
            steps.fault(Action::Target(target), to);
        }
    }

    fn broken(&self, state: &State) -> Option<&'static str> {
        state
            .are_two
            .then_some("a former owner begins a request after the next one has")
    }

    fn is_done(&self, state: &State) -> bool {
        state.now == TICKS
    }
}

fn explored(rules: Rules) -> Result<Explored, Counterexample> {
    explore(&Hosts(rules))
}

/// The rule that is broken when one of the design's rules does not hold.
fn broken_without(change: impl FnOnce(&mut Rules)) -> &'static str {
    let mut rules = ALL;
    change(&mut rules);
    let found = explored(rules).expect_err("a rule is broken");
    eprintln!("{rules:?}\n{found}");
    found.rule
}

const TWO: &str = "a former owner begins a request after the next one has";

#[test]
fn a_shard_has_one_owner_at_a_time() {
    match explored(ALL) {
        Ok(explored) => {
            eprintln!("hosts: {explored:?}");
            assert!(explored.n_states > 1_000, "{explored:?}");
        }
        Err(found) => panic!("{found}"),
    }
}

#[test]
fn a_lease_begins_before_its_renewal_is_sent() {
    assert_eq!(broken_without(|rules| rules.from_sending = false), TWO);
}

#[test]
fn the_clock_goes_on_while_a_node_is_suspended() {
    assert_eq!(broken_without(|rules| rules.counts_suspension = false), TWO);
}

#[test]
fn an_owner_is_replaced_once_its_lease_has_ended() {
    assert_eq!(broken_without(|rules| rules.waits_for_lease = false), TWO);
}

#[test]
fn a_renewal_after_the_end_of_a_lease_is_refused() {
    assert_eq!(broken_without(|rules| rules.refuses_late = false), TWO);
}
