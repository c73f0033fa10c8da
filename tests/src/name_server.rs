//! A DNS server on loopback with scripted answers.

use std::net::{Ipv4Addr, SocketAddr};
use std::sync::Arc;
use std::sync::atomic::{AtomicUsize, Ordering};

use tokio::net::UdpSocket;
use tokio::task::JoinHandle;

/// A DNS server on UDP. It answers queries for A records by script and has no AAAA records.
pub struct FakeNameServer {
    /// The address it listens on.
    pub address: SocketAddr,
    questions: Arc<AtomicUsize>,
    task: JoinHandle<()>,
}

impl FakeNameServer {
    /// Starts one that answers the n-th query with the n-th list of addresses, and all later ones
    /// with the last list. Without any list it never answers.
    ///
    /// # Panics
    /// When no port is free.
    pub async fn start(script: Vec<Vec<Ipv4Addr>>) -> Self {
        let socket = UdpSocket::bind("127.0.0.1:0").await.expect("a free port");
        let address = socket.local_addr().expect("a bound socket");
        let questions = Arc::new(AtomicUsize::new(0));
        let asked = Arc::clone(&questions);
        let task = tokio::spawn(async move {
            let mut packet = [0; 1500];
            while let Ok((length, from)) = socket.recv_from(&mut packet).await {
                let Some(end) = end_of_question(&packet[..length]) else {
                    continue;
                };
                let is_ipv4 = packet[end - 4..end - 2] == [0, 1];
                let number = if is_ipv4 {
                    asked.fetch_add(1, Ordering::SeqCst)
                } else {
                    0
                };
                let Some(addresses) = script.get(number).or(script.last()) else {
                    continue;
                };
                let addresses: &[Ipv4Addr] = if is_ipv4 { addresses } else { &[] };
                let answer = answer(&packet[..end], addresses);
                let _ = socket.send_to(&answer, from).await;
            }
        });
        Self {
            address,
            questions,
            task,
        }
    }

    /// Number of queries for A records so far.
    pub fn questions(&self) -> usize {
        self.questions.load(Ordering::SeqCst)
    }
}

impl Drop for FakeNameServer {
    fn drop(&mut self) {
        self.task.abort();
    }
}

/// RFC 1035, section 4.1: a header of 12 bytes, then the question: labels up to an empty one, type
/// and class.
fn end_of_question(packet: &[u8]) -> Option<usize> {
    let mut at = 12;
    loop {
        match usize::from(*packet.get(at)?) {
            0 => break,
            label => at += label + 1,
        }
    }
    Some(at + 5).filter(|end| *end <= packet.len())
}

/// A response whose records have a TTL of 0.
fn answer(question: &[u8], addresses: &[Ipv4Addr]) -> Vec<u8> {
    let count = u16::try_from(addresses.len())
        .expect("a short list")
        .to_be_bytes();
    let mut answer = question.to_vec();
    answer[2..4].copy_from_slice(&[0x81, 0x80]);
    answer[4..12].copy_from_slice(&[0, 1, count[0], count[1], 0, 0, 0, 0]);
    for address in addresses {
        // A pointer to the name in the question, type A, class IN, TTL 0, 4 bytes.
        answer.extend([0xc0, 12, 0, 1, 0, 1, 0, 0, 0, 0, 0, 4]);
        answer.extend(address.octets());
    }
    answer
}
