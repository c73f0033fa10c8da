//! Standard input and output as messages: one a line.

use std::io::{BufRead, Read, Write};

use tokio::sync::mpsc;

/// Longest message: what the server accepts.
const MESSAGE_BYTES_MAX: u64 = 10_000_000;
/// Messages that wait.
const WAITING_MAX: usize = 16;

/// The messages that come, until the input ends, and where replies go. Threads wait for both, since
/// a pipe may block.
pub(super) fn open() -> (mpsc::Receiver<Vec<u8>>, Replies) {
    let (sender, messages) = mpsc::channel(WAITING_MAX);
    std::thread::spawn(move || read(std::io::stdin().lock(), &sender));
    let (replies, mut written) = mpsc::channel::<Vec<u8>>(WAITING_MAX);
    let (ended, end) = mpsc::channel(1);
    std::thread::spawn(move || {
        let mut out = std::io::stdout().lock();
        while let Some(mut reply) = written.blocking_recv() {
            reply.push(b'\n');
            // A reader that is gone needs no replies.
            if out.write_all(&reply).and_then(|()| out.flush()).is_err() {
                break;
            }
        }
        drop(ended);
    });
    let replies = Replies {
        sender: replies,
        end,
    };
    (messages, replies)
}

/// Where replies go.
pub(super) struct Replies {
    /// Takes replies, each without the end of its line.
    pub(super) sender: mpsc::Sender<Vec<u8>>,
    end: mpsc::Receiver<()>,
}

impl Replies {
    /// Waits until all replies are written.
    pub(super) async fn finish(self) {
        let Self { sender, mut end } = self;
        drop(sender);
        // Nothing is ever sent: it ends with the thread.
        let _ended = end.recv().await;
    }
}

/// Reads lines until the input ends, or nothing takes them. A line that is too long ends them, too.
fn read(mut input: impl BufRead, messages: &mpsc::Sender<Vec<u8>>) {
    loop {
        let mut line = Vec::new();
        let mut rest = Read::by_ref(&mut input).take(MESSAGE_BYTES_MAX);
        match rest.read_until(b'\n', &mut line) {
            Ok(0) | Err(_) => return,
            Ok(_) if !line.ends_with(b"\n") && line.len() as u64 == MESSAGE_BYTES_MAX => {
                trawl_telemetry::say("a message is longer than 10,000,000 bytes: no more are read");
                return;
            }
            Ok(_) => {}
        }
        let is_empty = line.trim_ascii().is_empty();
        if !is_empty && messages.blocking_send(line).is_err() {
            return;
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_line_is_a_message() {
        let (sender, mut messages) = mpsc::channel(8);
        read(&b"{\"a\":1}\n\n  \n{\"b\":2}"[..], &sender);
        drop(sender);
        assert_eq!(
            messages.blocking_recv().as_deref(),
            Some(&b"{\"a\":1}\n"[..])
        );
        assert_eq!(messages.blocking_recv().as_deref(), Some(&b"{\"b\":2}"[..]));
        assert_eq!(messages.blocking_recv(), None);
    }

    #[test]
    fn a_message_without_an_end_is_not_kept() {
        let (sender, mut messages) = mpsc::channel(8);
        let long = vec![b'a'; MESSAGE_BYTES_MAX as usize + 1];
        read(long.as_slice(), &sender);
        drop(sender);
        assert_eq!(messages.blocking_recv(), None);
    }
}
