//! A TCP proxy on loopback that delays, drops and cuts, and counts round trips.

use std::io::{Read, Write};
use std::net::{Ipv4Addr, Shutdown, SocketAddr, TcpListener, TcpStream};
use std::sync::atomic::{AtomicBool, AtomicU64, Ordering};
use std::sync::{Arc, Mutex, MutexGuard, PoisonError};
use std::time::Duration;

/// How often a connection that is held looks whether it goes on.
const LOOK: Duration = Duration::from_millis(20);

/// What the proxy does with bytes.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub enum Weather {
    /// They pass.
    #[default]
    Fair,
    /// They pass after this time, each way.
    Delayed(Duration),
    /// They do not arrive, and neither end is told: as if a cable was pulled. Bytes that came in
    /// the meantime arrive when the weather is fair again.
    Dropped,
    /// Connections break, and new ones are closed at once.
    Cut,
}

/// A running proxy. Its thread ends with the process.
#[derive(Debug)]
pub struct Proxy {
    address: SocketAddr,
    shared: Arc<Shared>,
}

#[derive(Debug)]
struct Shared {
    target: Mutex<SocketAddr>,
    weather: Mutex<Weather>,
    /// Connections with their numbers.
    open: Mutex<Vec<(u64, TcpStream)>>,
    n_connections: AtomicU64,
    round_trips: AtomicU64,
}

/// Which way bytes go.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
enum Way {
    /// From the client to the server.
    There,
    /// From the server to the client.
    Back,
}

impl Proxy {
    /// A proxy before this address.
    ///
    /// # Errors
    /// There is no free port.
    pub fn start(target: SocketAddr) -> std::io::Result<Self> {
        let listener = TcpListener::bind((Ipv4Addr::LOCALHOST, 0))?;
        let address = listener.local_addr()?;
        let shared = Arc::new(Shared {
            target: Mutex::new(target),
            weather: Mutex::default(),
            open: Mutex::default(),
            n_connections: AtomicU64::new(0),
            round_trips: AtomicU64::new(0),
        });
        let accepting = Arc::clone(&shared);
        std::thread::spawn(move || {
            for client in listener.incoming().flatten() {
                // A target that refuses closes the connection.
                let _connected = accepting.connect(client);
            }
        });
        Ok(Self { address, shared })
    }

    /// Where it listens.
    pub const fn address(&self) -> SocketAddr {
        self.address
    }

    /// How often a client has said something and then heard something, on all connections. What a
    /// client says before it has heard anything belongs to the same round trip.
    pub fn round_trips(&self) -> u64 {
        self.shared.round_trips.load(Ordering::Relaxed)
    }

    /// Sends new connections to another address, and breaks the old ones.
    pub fn lead_to(&self, target: SocketAddr) {
        *lock(&self.shared.target) = target;
        self.shared.break_all();
    }

    /// Changes what happens to bytes.
    pub fn set(&self, weather: Weather) {
        *lock(&self.shared.weather) = weather;
        if weather == Weather::Cut {
            self.shared.break_all();
        }
    }
}

impl Shared {
    fn connect(self: &Arc<Self>, client: TcpStream) -> std::io::Result<()> {
        let weather = *lock(&self.weather);
        if weather == Weather::Cut {
            return client.shutdown(Shutdown::Both);
        }
        let target = *lock(&self.target);
        let server = TcpStream::connect(target)?;
        let number = self.n_connections.fetch_add(1, Ordering::Relaxed);
        for stream in [&client, &server] {
            stream.set_nodelay(true)?;
            lock(&self.open).push((number, stream.try_clone()?));
        }
        let ways = [
            (client.try_clone()?, server.try_clone()?, Way::There),
            (server, client, Way::Back),
        ];
        let is_waiting = Arc::new(AtomicBool::new(false));
        for (from, to, way) in ways {
            let (shared, is_waiting) = (Arc::clone(self), Arc::clone(&is_waiting));
            std::thread::spawn(move || {
                let count = || shared.count(way, &is_waiting);
                // Whichever end breaks, both do.
                let _ended = shared.carry(&from, &to, count);
                let _closed = (from.shutdown(Shutdown::Both), to.shutdown(Shutdown::Both));
                lock(&shared.open).retain(|(open, _)| *open != number);
            });
        }
        Ok(())
    }

    /// Counts a round trip when a client says something and does not yet wait for an answer.
    fn count(&self, way: Way, is_waiting: &AtomicBool) {
        let was_waiting = is_waiting.swap(way == Way::There, Ordering::Relaxed);
        if way == Way::There && !was_waiting {
            self.round_trips.fetch_add(1, Ordering::Relaxed);
        }
    }

    fn carry(
        &self,
        mut from: &TcpStream,
        mut to: &TcpStream,
        each: impl Fn(),
    ) -> std::io::Result<()> {
        let mut buffer = vec![0; 64 << 10];
        loop {
            let n = from.read(&mut buffer)?;
            if n == 0 {
                return Ok(());
            }
            each();
            loop {
                let weather = *lock(&self.weather);
                match weather {
                    Weather::Fair => break,
                    Weather::Delayed(time) => {
                        std::thread::sleep(time);
                        break;
                    }
                    Weather::Dropped => std::thread::sleep(LOOK),
                    Weather::Cut => return Ok(()),
                }
            }
            to.write_all(&buffer[..n])?;
        }
    }

    fn break_all(&self) {
        for (_, stream) in lock(&self.open).drain(..) {
            // It may be closed already.
            let _closed = stream.shutdown(Shutdown::Both);
        }
    }
}

fn lock<T>(mutex: &Mutex<T>) -> MutexGuard<'_, T> {
    mutex.lock().unwrap_or_else(PoisonError::into_inner)
}

#[cfg(test)]
mod tests {
    use std::time::Instant;

    use super::*;

    /// The address of a server that sends back what it gets.
    fn echo() -> SocketAddr {
        let listener = TcpListener::bind((Ipv4Addr::LOCALHOST, 0)).expect("a port");
        let address = listener.local_addr().expect("an address");
        std::thread::spawn(move || {
            for stream in listener.incoming().flatten() {
                std::thread::spawn(move || {
                    let mut reader = &stream;
                    let mut writer = &stream;
                    let _ended = std::io::copy(&mut reader, &mut writer);
                });
            }
        });
        address
    }

    fn connect(proxy: &Proxy) -> TcpStream {
        let stream = TcpStream::connect(proxy.address()).expect("a connection");
        let limit = Some(Duration::from_millis(300));
        stream.set_read_timeout(limit).expect("a limit");
        stream
    }

    /// Sends a byte; whether it came back.
    fn comes_back(mut stream: &TcpStream) -> bool {
        let mut byte = [0];
        stream.write_all(b"x").is_ok() && matches!(stream.read(&mut byte), Ok(1))
    }

    #[test]
    fn bytes_pass_late_or_never() {
        let proxy = Proxy::start(echo()).expect("a proxy");
        let stream = connect(&proxy);
        assert!(comes_back(&stream));
        proxy.set(Weather::Delayed(Duration::from_millis(40)));
        let begun = Instant::now();
        assert!(comes_back(&stream));
        assert!(begun.elapsed() >= Duration::from_millis(80));
        assert_eq!(proxy.round_trips(), 2);
        proxy.set(Weather::Dropped);
        assert!(!comes_back(&stream));
        proxy.set(Weather::Fair);
        // What was held arrives now.
        let mut byte = [0];
        assert!(matches!((&stream).read(&mut byte), Ok(1)));
        proxy.set(Weather::Cut);
        assert!(!comes_back(&stream));
        assert!(!comes_back(&connect(&proxy)));
        proxy.set(Weather::Fair);
        assert!(comes_back(&connect(&proxy)));
    }

    #[test]
    fn another_target_gets_the_next_connections() {
        let gone = TcpListener::bind((Ipv4Addr::LOCALHOST, 0)).expect("a port");
        let nowhere = gone.local_addr().expect("an address");
        drop(gone);
        let proxy = Proxy::start(nowhere).expect("a proxy");
        assert!(!comes_back(&connect(&proxy)));
        proxy.lead_to(echo());
        assert!(comes_back(&connect(&proxy)));
    }
}
