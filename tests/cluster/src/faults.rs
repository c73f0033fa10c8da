//! What may happen to a cluster, drawn from a seed.

use std::fmt;
use std::time::Duration;

use crate::cluster::Cluster;
use crate::draw::Draw;
use crate::postgres::End;
use crate::proxy::{Proxy, Weather};

/// A fault. The node is the one that serves.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Fault {
    /// The node is killed.
    Kill,
    /// The node is suspended for so long, and goes on.
    Suspend(Duration),
    /// The node's connections to the database break, and none is made for so long.
    CutOff(Duration),
    /// What the node and the database send each other does not arrive for so long.
    Unplug(Duration),
    /// Each way between all nodes and the database takes this long, for ten seconds.
    SlowDatabase(Duration),
    /// The database dies and starts again after so long.
    RestartDatabase(End, Duration),
    /// The primary is killed and the standby is promoted.
    FailOver,
    /// The node does not reach the object store for so long.
    CutObjects(Duration),
    /// Each way between the node and the object store takes this long, for ten seconds.
    SlowObjects(Duration),
}

/// How long what is slow is slow.
const SLOW: Duration = Duration::from_secs(10);

impl fmt::Display for Fault {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        let ms = |time: &Duration| time.as_millis();
        match self {
            Self::Kill => f.write_str("node killed"),
            Self::Suspend(time) => write!(f, "node suspended for {} ms", ms(time)),
            Self::CutOff(time) => write!(f, "node cut off the database for {} ms", ms(time)),
            Self::Unplug(time) => write!(f, "node unplugged from it for {} ms", ms(time)),
            Self::SlowDatabase(time) => write!(f, "database {} ms away", ms(time)),
            Self::RestartDatabase(End::Killed, time) => {
                write!(f, "database killed, back after {} ms", ms(time))
            }
            Self::RestartDatabase(End::Immediate, time) => {
                write!(f, "database stopped, back after {} ms", ms(time))
            }
            Self::FailOver => f.write_str("primary killed, standby promoted"),
            Self::CutObjects(time) => write!(f, "objects out of reach for {} ms", ms(time)),
            Self::SlowObjects(time) => write!(f, "objects {} ms away", ms(time)),
        }
    }
}

impl Fault {
    /// The next one.
    pub fn draw(draw: &mut Draw) -> Self {
        let mut time = |least, end| Duration::from_millis(draw.between(least, end));
        let (short, long, away) = (time(100, 3_000), time(3_000, 30_000), time(10, 250));
        let either = match draw.between(0, 2) {
            0 => short,
            _ => long,
        };
        match draw.between(0, 10) {
            0 | 1 => Self::Kill,
            2 => Self::Suspend(either),
            3 => Self::CutOff(either),
            4 => Self::Unplug(either),
            5 => Self::SlowDatabase(away),
            6 => Self::RestartDatabase(End::Killed, either),
            7 => Self::RestartDatabase(End::Immediate, either),
            8 => Self::FailOver,
            _ if draw.between(0, 2) == 0 => Self::CutObjects(either),
            _ => Self::SlowObjects(away),
        }
    }

    /// Lets it happen to the node at this place, and waits until it is over. Nodes that ended are
    /// not started again.
    ///
    /// # Errors
    /// Something that should start again does not.
    pub fn happen(self, cluster: &mut Cluster, at: usize) -> anyhow::Result<()> {
        match self {
            Self::Kill => cluster.nodes[at].kill()?,
            Self::Suspend(time) => {
                cluster.nodes[at].signal("STOP")?;
                std::thread::sleep(time);
                cluster.nodes[at].signal("CONT")?;
            }
            Self::CutOff(time) => during(&cluster.to_database[at..=at], Weather::Cut, time),
            Self::Unplug(time) => during(&cluster.to_database[at..=at], Weather::Dropped, time),
            Self::SlowDatabase(away) => {
                during(&cluster.to_database, Weather::Delayed(away), SLOW);
            }
            Self::RestartDatabase(how, time) => cluster.restart_database(how, time)?,
            Self::FailOver => cluster.fail_over()?,
            Self::CutObjects(time) => during(way(cluster, at), Weather::Cut, time),
            Self::SlowObjects(away) => during(way(cluster, at), Weather::Delayed(away), SLOW),
        }
        Ok(())
    }
}

/// The node's way to the object store; none to a folder.
fn way(cluster: &Cluster, at: usize) -> &[Proxy] {
    cluster.to_objects.get(at..=at).unwrap_or_default()
}

/// Weather on these ways for so long.
fn during(ways: &[Proxy], weather: Weather, time: Duration) {
    let set = |weather| ways.iter().for_each(|proxy| proxy.set(weather));
    set(weather);
    std::thread::sleep(time);
    set(Weather::Fair);
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn every_kind_is_drawn_and_a_seed_repeats_them() {
        let drawn = |seed| {
            let mut draw = Draw::new(seed);
            let faults = (0..200).map(|_| Fault::draw(&mut draw).to_string());
            faults.collect::<Vec<_>>()
        };
        let faults = drawn(1);
        assert_eq!(faults, drawn(1));
        assert_ne!(faults, drawn(2));
        for kind in [
            "node killed",
            "suspended",
            "cut off",
            "unplugged",
            "database killed",
            "database stopped",
            "promoted",
            "out of reach",
            "objects 1",
            "ms away",
        ] {
            assert!(faults.iter().any(|fault| fault.contains(kind)), "{kind}");
        }
    }
}
