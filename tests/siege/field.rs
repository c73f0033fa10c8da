//! The server under siege, with what is measured of it.

use std::future::Future;
use std::time::{Duration, Instant};

use rustix::process::{Resource, Rlimit, getrlimit, setrlimit};
use serde_json::Value;
use tokio::sync::{Mutex, Semaphore, SemaphorePermit};
use tokio::task::JoinSet;
use trawl_tests::{Caller, ServerProcess, World};

use crate::innocent::{Innocent, Suffered};
use crate::trouble::Trouble;

/// What the server may open: the soft limit of most systems.
const DESCRIPTORS: u32 = 1024;
/// Most resident memory of the server at any moment.
const PEAK_KIB_MAX: u64 = 1536 * 1024;
/// The same where all that is held is held under leases of a budget of 512 MiB.
pub(crate) const PEAK_OF_HELD_KIB_MAX: u64 = 600 * 1024;
/// How long after an attack the server may take until nothing of it is left: twice the time for
/// which it pools connections to sites.
const CLEAN_AFTER: Duration = Duration::from_secs(30);
/// Descriptors that may be open later than before: connections to sites that wait to be used again,
/// 64 of a host, and files of the store.
const DESCRIPTORS_SLACK: usize = 80;
/// Memory that may be in use later than before in addition to a tenth: what the first crawls ever
/// cost (SQLite's caches, rules of robots.txt files, small caches of pages and outputs, the
/// allocator).
const KIB_SLACK: u64 = 80 * 1024;

/// The highest limit of descriptors that is set: systems without one report a billion.
const DESCRIPTORS_MAX: u64 = 1 << 20;

/// How long the innocent account works before its server waits for the attack, and then at once
/// before it.
const WARM_UP: Duration = Duration::from_millis(1_500);
const WORK_BEFORE: Duration = Duration::from_millis(300);

/// How long a caller waits for an attack to have its effect.
const ATTACK: Duration = Duration::from_secs(4);

/// Shares of the machine, which each attack measures. While a server recovers, which is waiting,
/// the next one may be attacked.
static MACHINE: Semaphore = Semaphore::const_new(Share::Whole.permits() as usize);

/// Servers start one after the other: the first compiles the plugins for all, and nothing is
/// attacked meanwhile.
static START: Mutex<()> = Mutex::const_new(());

/// How much of the machine an attack takes.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
enum Share {
    /// It keeps processors busy: nothing else is attacked at the same time.
    Whole,
    /// It waits most of the time: another one of its kind is no disturbance.
    Half,
}

impl Share {
    const fn permits(self) -> u32 {
        match self {
            Self::Whole => 2,
            Self::Half => 1,
        }
    }

    async fn take(self) -> SemaphorePermit<'static> {
        let taken = MACHINE.acquire_many(self.permits()).await;
        taken.expect("shares are never closed")
    }
}

/// A server, an attacker and an innocent account, and the sites that both ask for.
pub(crate) struct Field {
    pub(crate) server: ServerProcess,
    /// The attacker's client.
    pub(crate) attacker: Caller,
    /// The attacker's site, on all loopback addresses but 127.0.0.1.
    pub(crate) trouble: Trouble,
    innocent: Innocent,
    peak_kib_max: u64,
    /// What the server used when it had just served the innocent account for the first time.
    warm: Measure,
    share: Share,
    turn: Mutex<Option<SemaphorePermit<'static>>>,
}

impl Field {
    /// Starts server and sites, and waits for the turn of this attack.
    pub(crate) async fn new() -> Self {
        Self::with(String::new()).await
    }

    /// The same with more configuration.
    pub(crate) async fn with(config: String) -> Self {
        Self::of(config, Share::Whole).await
    }

    /// The same as [`Self::new`] for an attack, and all that its test does besides, that hardly
    /// takes any processor time.
    pub(crate) async fn idle() -> Self {
        Self::of(String::new(), Share::Half).await
    }

    async fn of(config: String, share: Share) -> Self {
        raise_descriptors();
        let starting = START.lock().await;
        let mut world = World::new();
        // The first line belongs to the section `limits`, with which the fixture begins. Small
        // caches: what an attack leaves in them must not look like a leak.
        let caches = "[cache]\nmemory_mib = 8\noutputs_mib = 8\n";
        world.config = format!("memory_mib = 512\n{config}{caches}");
        world.descriptors_max = Some(DESCRIPTORS);
        world.allow_private = &["127.0.0.0/8"];
        let server = ServerProcess::start(world);
        let created = server.account(&["create", "innocent", "--top-up", "100"]);
        let key = created["api_key"].as_str().expect("a key");
        let innocent = Innocent::new(server.with_key(key)).await;
        innocent.warm_up(WARM_UP).await;
        drop(starting);
        let warm = Measure::of(&server);
        let attacker = server.with_key(&server.key);
        Self {
            attacker,
            trouble: Trouble::start().await,
            innocent,
            server,
            peak_kib_max: PEAK_KIB_MAX,
            warm,
            share,
            turn: Mutex::new(Some(share.take().await)),
        }
    }

    /// The same with another bound on the resident memory.
    pub(crate) fn with_peak(self, peak_kib_max: u64) -> Self {
        Self {
            peak_kib_max,
            ..self
        }
    }

    /// Runs an attack while the innocent account works, and checks all that must hold.
    ///
    /// # Panics
    /// When the innocent account suffers, memory grows beyond its bound, or something is left over.
    /// When it is the second attack: the turn of this server is over.
    pub(crate) async fn besiege(&self, name: &str, attack: impl Future<Output = ()>) {
        assert!(self.turn.lock().await.is_some(), "{name}: its turn is over");
        self.innocent.work_for(WORK_BEFORE).await;
        // While it waited for its turn it gave memory back, which it needs again.
        let before = Measure::of(&self.server).at_least(self.warm);
        self.server.forget_peak();
        let started = Instant::now();
        let suffered = self.innocent.work_during(attack).await;
        let lasted = started.elapsed();
        let peak = self.server.peak_kib();
        drop(self.turn.lock().await.take());
        let after = self.settled(before).await;
        eprintln!(
            "siege: {name}: {:.1} s, innocent {}, peak {} MiB, left {} MiB and {} descriptors (before {} and {})",
            lasted.as_secs_f64(),
            suffered.in_words(),
            peak / 1024,
            after.kib / 1024,
            after.descriptors,
            before.kib / 1024,
            before.descriptors,
        );
        suffered.check();
        assert!(peak <= self.peak_kib_max, "{name}: {} MiB", peak / 1024);
        assert!(
            after.is_like(before),
            "{name}: something is left over: {before:?} before, {after:?} after"
        );
    }

    /// Waits for another turn after the attack, for work that would disturb the attacks of others.
    pub(crate) async fn another_turn(&self) {
        let turn = self.share.take().await;
        *self.turn.lock().await = Some(turn);
    }

    /// Waits until the crawls of an attack have ended, for half a minute at most: but for the
    /// innocent account's, no page is in flight.
    pub(crate) async fn few_pages_are_in_flight(&self) {
        let deadline = Instant::now() + CLEAN_AFTER;
        while Instant::now() < deadline {
            let health = self.attacker.get("/health").await.json();
            let in_flight = health["pages"]["in_flight"].as_u64();
            if in_flight.expect("a number") <= 2 {
                return;
            }
            tokio::time::sleep(Duration::from_millis(100)).await;
        }
    }

    /// Posts these bodies at once, as the attacker, and waits for each as long as an attack lasts.
    ///
    /// # Panics
    /// When one is refused as invalid: then it was not an attack.
    pub(crate) async fn post_all(&self, path: &'static str, bodies: impl Iterator<Item = Value>) {
        let mut posts = JoinSet::new();
        for body in bodies {
            let attacker = self.attacker.clone();
            posts.spawn(async move { (post(&attacker, path, &body).await, body) });
        }
        for (status, body) in posts.join_all().await {
            let is_refused = matches!(status, Some(400 | 401 | 404 | 415));
            assert!(
                !is_refused,
                "{path} is not an attack: {status:?} for {body:.300}"
            );
        }
    }

    /// The account of the attacker has nothing reserved and lost nothing but what it paid.
    pub(crate) async fn nothing_is_reserved(&self) {
        let deadline = Instant::now() + CLEAN_AFTER;
        loop {
            let account = self.attacker.get("/account").await.json();
            let reserved = account["reserved"].as_f64();
            if reserved == Some(0.0) {
                return;
            }
            assert!(Instant::now() < deadline, "still reserved: {account}");
            tokio::time::sleep(Duration::from_millis(200)).await;
        }
    }

    /// What the innocent account went through so far, in an attack that goes on.
    pub(crate) fn suffered(&self) -> Suffered {
        self.innocent.so_far()
    }

    /// What is in use once the attack has been cleaned up, or after all the time it may take.
    async fn settled(&self, before: Measure) -> Measure {
        let deadline = Instant::now() + CLEAN_AFTER;
        loop {
            let now = Measure::of(&self.server);
            if now.is_like(before) || Instant::now() > deadline {
                return now;
            }
            tokio::time::sleep(Duration::from_millis(250)).await;
        }
    }
}

/// What the server uses at one moment.
#[derive(Clone, Copy, Debug)]
struct Measure {
    kib: u64,
    descriptors: usize,
}

impl Measure {
    fn of(server: &ServerProcess) -> Self {
        Self {
            kib: server.resident_kib(),
            descriptors: server.descriptors(),
        }
    }

    /// This, or the memory of another moment if that was more.
    fn at_least(self, other: Self) -> Self {
        Self {
            kib: self.kib.max(other.kib),
            ..self
        }
    }

    /// Whether this is no more than `before`, within a tenth.
    fn is_like(self, before: Self) -> bool {
        self.kib <= before.kib + before.kib / 10 + KIB_SLACK
            && self.descriptors <= before.descriptors + DESCRIPTORS_SLACK
    }
}

/// Posts a body and waits at most [`ATTACK`]; the status, if an answer came.
pub(crate) async fn post(caller: &Caller, path: &str, body: &Value) -> Option<u16> {
    let sent = caller.send(http::Method::POST, path, &[], body.to_string());
    let answer = tokio::time::timeout(ATTACK, sent).await.ok()??;
    Some(answer.status)
}

/// Lets this process, which is all sites and all callers, open as many files as it may; so many.
///
/// # Panics
/// When the system does not allow it.
pub(crate) fn raise_descriptors() -> u64 {
    let now = getrlimit(Resource::Nofile);
    let wanted = now.maximum.unwrap_or(DESCRIPTORS_MAX).min(DESCRIPTORS_MAX);
    let current = now.current.unwrap_or(DESCRIPTORS_MAX);
    if current >= wanted {
        return current;
    }
    let raised = Rlimit {
        current: Some(wanted),
        maximum: now.maximum,
    };
    setrlimit(Resource::Nofile, raised).expect("a soft limit up to the hard one");
    wanted
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn this_process_may_open_as_many_files_as_the_system_allows() {
        let hard = getrlimit(Resource::Nofile).maximum;
        let hard = hard.unwrap_or(DESCRIPTORS_MAX).min(DESCRIPTORS_MAX);
        assert!(raise_descriptors() >= hard);
        let soft = getrlimit(Resource::Nofile).current;
        assert!(soft.is_none_or(|soft| soft >= hard), "{soft:?} of {hard}");
    }
}
