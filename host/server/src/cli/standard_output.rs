//! What commands print.

use std::io::{self, Write};

/// Prints a line to standard output. A closed pipe is not an error.
pub(in crate::cli) fn print(text: &str) -> anyhow::Result<()> {
    Ok(print_bytes(format!("{text}\n").as_bytes())?)
}

/// Prints bytes to standard output. A closed pipe is not an error.
pub(in crate::cli) fn print_bytes(bytes: &[u8]) -> io::Result<()> {
    let mut out = io::stdout().lock();
    match out.write_all(bytes).and_then(|()| out.flush()) {
        Err(error) if error.kind() == io::ErrorKind::BrokenPipe => Ok(()),
        written => written,
    }
}
