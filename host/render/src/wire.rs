//! Splits what the browser writes into messages. One that is too large is skipped up to its end,
//! so that the messages after it are read as if it had not been there.

use tokio::io::{AsyncBufRead, AsyncBufReadExt};

/// Bytes of one message from the browser: a screenshot of 40 megapixels, unless it is noise, and
/// ten times as much as any other answer, all of which are read in pieces.
pub(super) const MESSAGE_BYTES_MAX: usize = 64 * 1024 * 1024;
/// Bytes of a message that is skipped. V8 makes no string of more than 512 Mi characters; a
/// browser that sends more is not waited for but replaced.
const SKIPPED_BYTES_MAX: u64 = 1024 * 1024 * 1024;
/// Bytes kept of both ends of a message that is skipped: they name what it belongs to.
const END_BYTES: usize = 256;

/// What was read.
#[derive(Debug, PartialEq, Eq)]
pub(super) enum Frame {
    /// A message, now in the buffer.
    Whole,
    /// A message beyond [`MESSAGE_BYTES_MAX`]; the buffer has its first bytes.
    Oversize {
        /// Its size.
        bytes: u64,
        /// Its last bytes.
        tail: Vec<u8>,
    },
}

/// Reads the next message, which ends with a zero byte; `None` at the end of the pipe and when no
/// end can be found.
pub(super) async fn next_frame(
    output: &mut (impl AsyncBufRead + Unpin),
    message: &mut Vec<u8>,
) -> Option<Frame> {
    message.clear();
    // Shrinks the buffer after a large message.
    message.shrink_to(1024 * 1024);
    let mut skipped: Option<(u64, Vec<u8>)> = None;
    loop {
        let bytes = output.fill_buf().await.ok()?;
        if bytes.is_empty() {
            return None;
        }
        let end = bytes.iter().position(|byte| *byte == 0);
        let part = &bytes[..end.unwrap_or(bytes.len())];
        match &mut skipped {
            Some((size, tail)) => {
                *size += part.len() as u64;
                keep_last(tail, part);
                if *size > SKIPPED_BYTES_MAX {
                    return None;
                }
            }
            None if message.len() + part.len() > MESSAGE_BYTES_MAX => {
                let size = (message.len() + part.len()) as u64;
                let mut tail = message[message.len().saturating_sub(END_BYTES)..].to_vec();
                keep_last(&mut tail, part);
                message.truncate(END_BYTES);
                message.shrink_to(END_BYTES);
                skipped = Some((size, tail));
            }
            None => message.extend_from_slice(part),
        }
        let used = part.len() + usize::from(end.is_some());
        output.consume(used);
        if end.is_some() {
            return Some(match skipped {
                Some((bytes, tail)) => Frame::Oversize { bytes, tail },
                None => Frame::Whole,
            });
        }
    }
}

/// Appends to the last bytes of a message and keeps [`END_BYTES`] of them.
fn keep_last(tail: &mut Vec<u8>, part: &[u8]) {
    tail.extend_from_slice(&part[part.len().saturating_sub(END_BYTES)..]);
    tail.drain(..tail.len().saturating_sub(END_BYTES));
}
