//! `trawl health`: whether a running server can serve a page, for service managers and containers.

use std::io::{self, Read, Write};
use std::net::{SocketAddr, TcpStream};
use std::time::{Duration, Instant};

use anyhow::{Context, bail};
use clap::Args;

use super::listen::{listen_address, on_this_machine};
use super::standard_output::print;
use crate::config::LISTEN_DEFAULT;

/// Longest wait for the report: the server tries a page in each engine, and a browser may have to
/// start for it.
const WAIT_MAX: Duration = Duration::from_secs(25);
/// Most bytes of a response that are read. A report has some 2,000.
const RESPONSE_BYTES_MAX: usize = 64 * 1024;

/// Options of `trawl health`.
#[derive(Debug, Args)]
pub(super) struct HealthArgs {
    /// IP address and port that the server listens on; 127.0.0.1 if that is all networks.
    #[arg(
        long,
        env = "TRAWL_LISTEN",
        value_name = "ADDR",
        default_value_t = LISTEN_DEFAULT,
        value_parser = listen_address
    )]
    listen: SocketAddr,
}

/// Prints the report of `GET /health`.
///
/// # Errors
/// No server answers, or it cannot serve a page.
pub(super) fn run(args: &HealthArgs) -> anyhow::Result<()> {
    let response = ask(on_this_machine(args.listen), WAIT_MAX)?;
    print(&report(&response)?)
}

/// The response to `GET /health` at this address.
fn ask(address: SocketAddr, wait_max: Duration) -> anyhow::Result<Vec<u8>> {
    let deadline = Instant::now() + wait_max;
    let mut connection = TcpStream::connect_timeout(&address, wait_max).with_context(|| {
        format!("no server listens on `{address}`; name its address with `--listen`")
    })?;
    let request = format!("GET /health HTTP/1.1\r\nHost: {address}\r\nConnection: close\r\n\r\n");
    let response = connection
        .write_all(request.as_bytes())
        .and_then(|()| read_to_end(&mut connection, deadline));
    response.with_context(|| {
        format!(
            "`{address}` did not answer within {} s",
            wait_max.as_secs_f64()
        )
    })
}

/// What comes until the other side closes the connection.
fn read_to_end(connection: &mut TcpStream, deadline: Instant) -> io::Result<Vec<u8>> {
    let (mut response, mut piece) = (Vec::new(), [0; 4096]);
    while response.len() < RESPONSE_BYTES_MAX {
        let left = deadline.saturating_duration_since(Instant::now());
        if left.is_zero() {
            return Err(io::ErrorKind::TimedOut.into());
        }
        connection.set_read_timeout(Some(left))?;
        match connection.read(&mut piece)? {
            0 => break,
            n_bytes => response.extend_from_slice(&piece[..n_bytes]),
        }
    }
    Ok(response)
}

/// The report in a response.
///
/// # Errors
/// The status is not 200, or this is not HTTP.
fn report(response: &[u8]) -> anyhow::Result<String> {
    let response = String::from_utf8_lossy(response);
    let parts = response.split_once("\r\n\r\n");
    let status = |head: &str| {
        let version_and_rest = head.strip_prefix("HTTP/1.")?;
        version_and_rest.split(' ').nth(1)?.parse::<u16>().ok()
    };
    match parts.and_then(|(head, body)| Some((status(head)?, body))) {
        Some((200, report)) => Ok(report.to_owned()),
        Some((status, report)) => bail!("the server cannot serve pages ({status}): {report}"),
        None => bail!("the response is not HTTP: another program listens on this address"),
    }
}

#[cfg(test)]
mod tests {
    use std::net::TcpListener;

    use super::*;

    #[test]
    fn only_a_200_is_healthy() {
        let healthy = report(b"HTTP/1.1 200 OK\r\nContent-Length: 2\r\n\r\n{}");
        assert_eq!(healthy.expect("a report"), "{}");
        let failing = report(b"HTTP/1.1 503 Service Unavailable\r\n\r\n{\"status\":\"failing\"}");
        let text = failing.expect_err("not healthy").to_string();
        assert!(
            text.contains("503") && text.contains("\"failing\""),
            "{text}"
        );
        for wrong in [
            "",
            "SSH-2.0-OpenSSH\r\n\r\n",
            "HTTP/1.1 200 OK\r\n",
            "HTTP/1.1\r\n\r\n",
        ] {
            let text = report(wrong.as_bytes()).expect_err(wrong).to_string();
            assert!(text.contains("not HTTP"), "{wrong}: {text}");
        }
    }

    #[test]
    fn a_missing_or_silent_server_is_an_error_in_time() {
        let listener = TcpListener::bind("127.0.0.1:0").expect("a port");
        let address = listener.local_addr().expect("its address");
        let start = Instant::now();
        let silent = ask(address, Duration::from_millis(200)).expect_err("it is silent");
        assert!(silent.to_string().contains("did not answer"), "{silent}");
        drop(listener);
        let missing = ask(address, Duration::from_secs(5)).expect_err("it is gone");
        assert!(
            missing.to_string().contains("no server listens"),
            "{missing}"
        );
        assert!(start.elapsed() < Duration::from_secs(5));
    }
}
