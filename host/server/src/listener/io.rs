//! The socket of a connection, which reports its progress.

use std::io;
use std::pin::Pin;
use std::sync::Arc;
use std::task::{Context, Poll, ready};
use std::time::Duration;

use rustix::net::sockopt::set_socket_linger;
use tokio::io::{AsyncRead, AsyncReadExt, AsyncWrite, AsyncWriteExt, ReadBuf};
use tokio::net::TcpStream;

use super::access_log::AccessLog;
use super::connection::{Connection, EndReason};
use super::refusal;

/// What an HTTP/2 connection begins with. RFC 9113 section 3.4.
const PREFACE: &[u8] = b"PRI * HTTP/2.0\r\n\r\nSM\r\n\r\n";
/// How much of a refused request is read and discarded, so that its sender sees the refusal.
const DISCARDED_BYTES_MAX: usize = 1 << 20;

/// Ends a connection that was answered already: reads and discards what the peer is still sending.
pub(super) async fn discard(mut stream: TcpStream) {
    let mut chunk = [0; 4096];
    let mut n_bytes = 0;
    if stream.shutdown().await.is_err() {
        return;
    }
    while n_bytes < DISCARDED_BYTES_MAX
        && let Ok(n @ 1..) = stream.read(&mut chunk).await
    {
        n_bytes += n;
    }
}

/// The socket.
pub(super) struct Io {
    stream: TcpStream,
    connection: Arc<Connection>,
    log: AccessLog,
    /// Bytes that were read to recognize the protocol, and how many of them were handed on.
    preface: Vec<u8>,
    preface_read: usize,
    /// Whether what is sent can still be the parser's own response to a broken request.
    may_be_refusal: bool,
    /// The explained form of that response, and how much of it is sent.
    refusal: Option<(Vec<u8>, usize)>,
    /// Whether there was such a response: the connection has its answer, and its line in the log.
    is_refused: bool,
    /// Bytes that may still be read and discarded after a refusal.
    discard_left: usize,
}

impl Io {
    pub(super) fn new(stream: TcpStream, connection: Arc<Connection>, log: AccessLog) -> Self {
        Self {
            stream,
            connection,
            log,
            preface: Vec::new(),
            preface_read: 0,
            may_be_refusal: true,
            refusal: None,
            is_refused: false,
            discard_left: 0,
        }
    }

    /// Reads until it is clear whether the peer speaks HTTP/2, and returns that.
    ///
    /// # Errors
    /// The socket failed.
    pub(super) async fn is_http2(&mut self) -> io::Result<bool> {
        while self.preface.len() < PREFACE.len() {
            let mut chunk = [0; PREFACE.len()];
            let wanted = PREFACE.len() - self.preface.len();
            let n_bytes = self.stream.read(&mut chunk[..wanted]).await?;
            self.connection.received(n_bytes);
            self.preface.extend_from_slice(&chunk[..n_bytes]);
            if n_bytes == 0 || !PREFACE.starts_with(&self.preface) {
                return Ok(false);
            }
        }
        self.connection.is_http2_now();
        Ok(true)
    }

    /// Reports a write, and passes its result on.
    fn report(&self, written: Poll<io::Result<usize>>) -> Poll<io::Result<usize>> {
        match &written {
            Poll::Pending => self.connection.blocked(),
            Poll::Ready(taken) => self.connection.written(*taken.as_ref().unwrap_or(&0)),
        }
        written
    }

    /// Recognizes the parser's own response to a broken request: the only thing that is sent on an
    /// HTTP/1.1 connection before a request has begun.
    fn explain(&mut self, bytes: &[u8]) {
        if !self.may_be_refusal || self.refusal.is_some() {
            return;
        }
        if self.connection.has_begun() || !bytes.starts_with(b"HTTP/1.") {
            self.may_be_refusal = false;
            return;
        }
        if let Some(explained) = refusal::explained(bytes) {
            self.log.refused(self.connection.peer, &explained);
            self.is_refused = true;
            self.refusal = Some((explained, 0));
            self.discard_left = DISCARDED_BYTES_MAX;
        } else {
            self.may_be_refusal = false;
        }
    }
}

impl AsyncRead for Io {
    fn poll_read(
        mut self: Pin<&mut Self>,
        context: &mut Context<'_>,
        buffer: &mut ReadBuf<'_>,
    ) -> Poll<io::Result<()>> {
        let this = &mut *self;
        if this.preface_read < this.preface.len() {
            let left = &this.preface[this.preface_read..];
            let n_bytes = left.len().min(buffer.remaining());
            buffer.put_slice(&left[..n_bytes]);
            this.preface_read += n_bytes;
            return Poll::Ready(Ok(()));
        }
        let before = buffer.filled().len();
        ready!(Pin::new(&mut this.stream).poll_read(context, buffer))?;
        let n_bytes = buffer.filled().len() - before;
        if n_bytes > 0 {
            this.connection.received(n_bytes);
        }
        Poll::Ready(Ok(()))
    }
}

impl AsyncWrite for Io {
    fn poll_write(
        mut self: Pin<&mut Self>,
        context: &mut Context<'_>,
        bytes: &[u8],
    ) -> Poll<io::Result<usize>> {
        let this = &mut *self;
        this.explain(bytes);
        while let Some((explained, sent)) = &mut this.refusal {
            let left = &explained[*sent..];
            if left.is_empty() {
                this.refusal = None;
                this.may_be_refusal = false;
                return Poll::Ready(Ok(bytes.len()));
            }
            let written = Pin::new(&mut this.stream).poll_write(context, left);
            if let Poll::Ready(Ok(n_bytes)) = written {
                *sent += n_bytes;
            }
            ready!(this.report(written))?;
        }
        let written = Pin::new(&mut this.stream).poll_write(context, bytes);
        this.report(written)
    }

    fn poll_write_vectored(
        mut self: Pin<&mut Self>,
        context: &mut Context<'_>,
        parts: &[io::IoSlice<'_>],
    ) -> Poll<io::Result<usize>> {
        if self.may_be_refusal {
            let first = parts.iter().find(|part| !part.is_empty());
            return self.poll_write(context, first.map_or(&[], |part| part));
        }
        let this = &mut *self;
        let written = Pin::new(&mut this.stream).poll_write_vectored(context, parts);
        this.report(written)
    }

    fn is_write_vectored(&self) -> bool {
        self.stream.is_write_vectored()
    }

    fn poll_flush(mut self: Pin<&mut Self>, context: &mut Context<'_>) -> Poll<io::Result<()>> {
        Pin::new(&mut self.stream).poll_flush(context)
    }

    fn poll_shutdown(mut self: Pin<&mut Self>, context: &mut Context<'_>) -> Poll<io::Result<()>> {
        let this = &mut *self;
        ready!(Pin::new(&mut this.stream).poll_shutdown(context))?;
        // A peer that is still sending when the socket closes never sees the refusal.
        while this.discard_left > 0 {
            let mut chunk = [0; 4096];
            let mut buffer = ReadBuf::new(&mut chunk);
            ready!(Pin::new(&mut this.stream).poll_read(context, &mut buffer))?;
            match buffer.filled().len() {
                0 => this.discard_left = 0,
                n_bytes => this.discard_left = this.discard_left.saturating_sub(n_bytes),
            }
        }
        Poll::Ready(Ok(()))
    }
}

impl Drop for Io {
    /// Sends the reason why the connection ends, if there is a request to answer.
    fn drop(&mut self) {
        let is_in_head = self.connection.is_in_head() && !self.is_refused;
        let farewell = match self.connection.ended() {
            Some(EndReason::HeadTimeout) if is_in_head => refusal::response(
                "408 Request Timeout",
                false,
                "timed out reading the line and headers of the request",
            ),
            Some(EndReason::Evicted) if is_in_head => refusal::response(
                "503 Service Unavailable",
                true,
                "too many connections, this one made room for another",
            ),
            Some(EndReason::WriteTimeout | EndReason::Flood) => {
                // What the peer does not read is dropped instead of kept in the system's memory,
                // and the peer sees that the response is not complete.
                let _set = set_socket_linger(&self.stream, Some(Duration::ZERO));
                return;
            }
            Some(EndReason::HeadTimeout | EndReason::IdleTimeout | EndReason::Evicted) | None => {
                return;
            }
        };
        self.log.refused(self.connection.peer, &farewell);
        let _sent = self.stream.try_write(&farewell);
    }
}
