//! The access log: a line for each request when it has ended. Decision D193.

use std::io::Write;
use std::net::{IpAddr, Ipv6Addr, SocketAddr};
use std::sync::mpsc::{Receiver, SyncSender, channel, sync_channel};
use std::sync::{Arc, Mutex, PoisonError};
use std::time::{Duration, Instant};

use http::{HeaderMap, Method, Request, Version, header};
use ipnet::IpNet;
use serde_json::json;

use trawl_api::{Served, loggable_path};
use trawl_model::clock::{Clock, Timestamp};
use trawl_model::redact;

use super::limits::is_within;

/// Lines that wait to be written; more are dropped and counted.
const LINES_MAX: usize = 4096;
/// How long lines gather after others were written: waking the thread for each line would cost a
/// request of a cached page a twentieth of its time.
const GATHERING: Duration = Duration::from_millis(5);
/// Most bytes that are written at once, but for the last line.
const WRITE_BYTES_MAX: usize = 64 << 10;
/// How long the server waits for the last lines when it ends.
const FLUSH_TIME_MAX: Duration = Duration::from_secs(1);
/// Longest part of a path or a `User-Agent` in a line.
const TEXT_CHARS_MAX: usize = 1_000;
const MONTHS: [&str; 12] = [
    "Jan", "Feb", "Mar", "Apr", "May", "Jun", "Jul", "Aug", "Sep", "Oct", "Nov", "Dec",
];

/// Format of the lines.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum LineFormat {
    /// The Common Log Format.
    Common,
    /// A JSON object.
    Json,
}

/// Where requests are logged; nowhere by default.
#[derive(Clone, Default)]
pub(crate) struct AccessLog(Option<Arc<Log>>);

struct Log {
    format: LineFormat,
    trusted_proxies: Vec<IpNet>,
    lines: Option<SyncSender<String>>,
    /// Ends when the last line is written.
    written: Mutex<Receiver<()>>,
}

/// A request. Its line is written when it is dropped.
pub(super) struct LogEntry(Option<Box<LoggedRequest>>);

struct LoggedRequest {
    log: Arc<Log>,
    started: Instant,
    line: Line,
}

/// The fields of a line.
struct Line {
    time: Timestamp,
    client: Option<IpAddr>,
    method: Option<Method>,
    path: String,
    version: Option<Version>,
    user_agent: Option<String>,
    status: Option<u16>,
    n_bytes: u64,
    is_complete: bool,
    duration: Duration,
    served: Served,
}

impl AccessLog {
    /// A log that a thread of its own writes, so that a slow reader delays no request.
    pub(crate) fn to(
        mut out: impl Write + Send + 'static,
        format: LineFormat,
        trusted_proxies: Vec<IpNet>,
    ) -> Self {
        let (lines, received) = sync_channel::<String>(LINES_MAX);
        let (writing, written) = channel::<()>();
        let write = move || {
            let _writing = writing;
            write_lines(&received, &mut out);
        };
        let thread = std::thread::Builder::new().name("access-log".to_owned());
        if let Err(error) = thread.spawn(write) {
            tracing::warn!(%error, "there is no access log");
            return Self::default();
        }
        Self(Some(Arc::new(Log {
            format,
            trusted_proxies,
            lines: Some(lines),
            written: Mutex::new(written),
        })))
    }

    /// A request begins.
    pub(super) fn begin<B>(&self, peer: SocketAddr, request: &Request<B>) -> LogEntry {
        LogEntry(self.0.as_ref().map(|log| {
            let headers = request.headers();
            let user_agent = headers.get(header::USER_AGENT);
            let line = Line {
                client: client(peer.ip(), headers, &log.trusted_proxies),
                method: Some(request.method().clone()),
                path: shortened(loggable_path(request.uri().path())),
                version: Some(request.version()),
                user_agent: user_agent
                    .map(|text| shortened(&String::from_utf8_lossy(text.as_bytes()))),
                ..Line::of(peer.ip())
            };
            Box::new(LoggedRequest {
                log: Arc::clone(log),
                started: Instant::now(),
                line,
            })
        }))
    }

    /// A connection was answered with this response before a request could be read.
    pub(super) fn refused(&self, peer: SocketAddr, response: &[u8]) {
        if let Some(log) = &self.0 {
            // `HTTP/1.1 503 …`
            let status = response
                .get(9..12)
                .and_then(|code| str::from_utf8(code).ok());
            log.write(&Line {
                status: status.and_then(|code| code.parse().ok()),
                n_bytes: response.len() as u64,
                ..Line::of(peer.ip())
            });
        }
    }
}

impl LogEntry {
    /// The head of the response.
    pub(super) fn answered<B>(&mut self, response: &http::Response<B>) {
        if let Some(entry) = &mut self.0 {
            entry.line.status = Some(response.status().as_u16());
            let served = response.extensions().get::<Served>();
            entry.line.served = served.cloned().unwrap_or_default();
        }
    }

    /// Bytes of the response's body.
    pub(super) fn sent(&mut self, n_bytes: usize) {
        if let Some(entry) = &mut self.0 {
            entry.line.n_bytes += n_bytes as u64;
        }
    }

    /// The response was sent completely.
    pub(super) fn complete(&mut self) {
        if let Some(entry) = &mut self.0 {
            entry.line.is_complete = true;
        }
    }
}

impl Drop for LoggedRequest {
    fn drop(&mut self) {
        self.line.duration = self.started.elapsed();
        self.log.write(&self.line);
    }
}

/// Writes lines as they come, those that wait at once, until no more can come or the reader of the
/// log is gone.
fn write_lines(lines: &Receiver<String>, out: &mut impl Write) {
    while let Ok(mut text) = lines.recv() {
        while text.len() < WRITE_BYTES_MAX
            && let Ok(line) = lines.try_recv()
        {
            text += &line;
        }
        let written = out.write_all(text.as_bytes()).and_then(|()| out.flush());
        if written.is_err() {
            break;
        }
        if text.len() < WRITE_BYTES_MAX {
            std::thread::sleep(GATHERING);
        }
    }
}

impl Log {
    fn write(&self, line: &Line) {
        let mut text = match self.format {
            LineFormat::Common => line.common(),
            LineFormat::Json => line.json(),
        };
        text.push('\n');
        let text = redact::log_line(&text).into_owned();
        let sent = self.lines.as_ref().map(|lines| lines.try_send(text));
        if matches!(sent, Some(Err(_))) {
            metrics::counter!("trawl_access_log_dropped_total").increment(1);
        }
    }
}

impl Drop for Log {
    fn drop(&mut self) {
        drop(self.lines.take());
        let written = self.written.get_mut();
        let written = written.unwrap_or_else(PoisonError::into_inner);
        let _late = written.recv_timeout(FLUSH_TIME_MAX);
    }
}

impl Line {
    fn of(client: IpAddr) -> Self {
        Self {
            time: Clock::wall().now(),
            client: Some(client.to_canonical()),
            method: None,
            path: String::new(),
            version: None,
            user_agent: None,
            status: None,
            n_bytes: 0,
            is_complete: false,
            duration: Duration::ZERO,
            served: Served::default(),
        }
    }

    fn json(&self) -> String {
        json!({
            "time": self.time.to_string(),
            "client": self.client.map(|client| client.to_string()),
            "method": self.method.as_ref().map(Method::as_str),
            "path": self.path,
            "version": self.version.map(|version| format!("{version:?}")),
            "status": self.status,
            "bytes": self.n_bytes,
            "complete": self.is_complete,
            "duration_ms": u64::try_from(self.duration.as_millis()).unwrap_or(u64::MAX),
            "account": self.served.account.as_deref(),
            "request_id": self.served.request_id.as_deref(),
            "user_agent": self.user_agent,
        })
        .to_string()
    }

    /// `client - account [time] "request" status bytes`
    fn common(&self) -> String {
        let request = match (&self.method, self.version) {
            (Some(method), Some(version)) => {
                format!("{method} {} {version:?}", self.path.escape_default())
            }
            _ => "-".to_owned(),
        };
        let status = self
            .status
            .map_or_else(|| "-".to_owned(), |status| status.to_string());
        let account = self.served.account.as_deref().unwrap_or("-");
        let client = self
            .client
            .map_or_else(|| "-".to_owned(), |client| client.to_string());
        let (time, n_bytes) = (common_time(self.time), self.n_bytes);
        format!("{client} - {account} [{time}] \"{request}\" {status} {n_bytes}")
    }
}

/// `31/Jan/2026:10:20:30 +0000`
fn common_time(time: Timestamp) -> String {
    let text = time.to_string();
    let part = |range| {
        text.get::<std::ops::Range<usize>>(range)
            .unwrap_or_default()
    };
    let month = part(5..7).parse::<usize>().unwrap_or_default();
    let month = month.checked_sub(1).and_then(|month| MONTHS.get(month));
    format!(
        "{}/{}/{}:{} +0000",
        part(8..10),
        month.copied().unwrap_or_default(),
        part(0..4),
        part(11..19)
    )
}

/// The client: the peer, or the last address that a trusted proxy has added to `X-Forwarded-For`.
/// `None` if that is not an IP address: the request is then not the proxy's own, and what
/// precedes it was written by the client.
fn client(peer: IpAddr, headers: &HeaderMap, trusted_proxies: &[IpNet]) -> Option<IpAddr> {
    let peer = peer.to_canonical();
    if !is_within(trusted_proxies, peer) {
        return Some(peer);
    }
    let forwarded = headers.get_all("x-forwarded-for").iter().next_back();
    let last = forwarded.and_then(|value| value.to_str().ok()?.rsplit(',').next());
    match last {
        Some(text) => forwarded_ip(text.trim()),
        None => Some(peer),
    }
}

/// An IP address as proxies write it: some add the port, and brackets around IPv6.
fn forwarded_ip(text: &str) -> Option<IpAddr> {
    let of_socket = || Some(text.parse::<SocketAddr>().ok()?.ip());
    let in_brackets = || {
        let inside = text.strip_prefix('[')?.strip_suffix(']')?;
        Some(inside.parse::<Ipv6Addr>().ok()?.into())
    };
    let ip = text.parse().ok().or_else(of_socket).or_else(in_brackets);
    ip.map(|ip: IpAddr| ip.to_canonical())
}

fn shortened(text: &str) -> String {
    text.chars().take(TEXT_CHARS_MAX).collect()
}

#[cfg(test)]
pub(super) mod tests {
    use serde_json::Value;

    use super::*;

    /// A log in memory.
    #[derive(Clone, Default)]
    pub(in crate::listener) struct Memory(Arc<Mutex<Vec<u8>>>);

    impl Memory {
        /// The lines so far.
        pub(in crate::listener) fn lines(&self) -> Vec<String> {
            let bytes = self.0.lock().expect("no panic").clone();
            let text = String::from_utf8(bytes).expect("UTF-8");
            text.lines().map(str::to_owned).collect()
        }
    }

    impl Write for Memory {
        fn write(&mut self, bytes: &[u8]) -> std::io::Result<usize> {
            self.0.lock().expect("no panic").extend_from_slice(bytes);
            Ok(bytes.len())
        }

        fn flush(&mut self) -> std::io::Result<()> {
            Ok(())
        }
    }

    fn peer(ip: &str) -> SocketAddr {
        SocketAddr::new(ip.parse().expect("an IP address"), 1)
    }

    /// The line of a request for this path.
    fn line(format: LineFormat, path: &str) -> String {
        let memory = Memory::default();
        let proxy = "10.0.0.0/8".parse().expect("a range");
        let log = AccessLog::to(memory.clone(), format, vec![proxy]);
        let request = Request::post(path)
            .header("user-agent", "cli \"1\"")
            .header("x-forwarded-for", "9.9.9.9, 8.8.8.8")
            .body(())
            .expect("a request");
        let mut entry = log.begin(peer("10.1.2.3"), &request);
        let mut response = http::Response::new(());
        response.extensions_mut().insert(Served {
            request_id: Some("r1".into()),
            account: Some("acc_1".into()),
        });
        entry.answered(&response);
        entry.sent(300);
        entry.sent(4);
        entry.complete();
        drop(entry);
        // Waits for the thread.
        drop(log);
        memory.lines().pop().expect("a line")
    }

    #[test]
    fn lines_that_wait_are_written_at_once_in_their_order() {
        struct Writes(Vec<String>);
        impl Write for Writes {
            fn write(&mut self, bytes: &[u8]) -> std::io::Result<usize> {
                let text = String::from_utf8(bytes.to_owned()).expect("UTF-8");
                self.0.push(text);
                Ok(bytes.len())
            }

            fn flush(&mut self) -> std::io::Result<()> {
                Ok(())
            }
        }
        let written = |lines: &[String]| {
            let (sender, receiver) = channel();
            for line in lines {
                sender.send(line.clone()).expect("an open channel");
            }
            drop(sender);
            let mut writes = Writes(Vec::new());
            write_lines(&receiver, &mut writes);
            writes.0
        };
        let lines = ["a\n", "b\n", "c\n"].map(str::to_owned);
        assert_eq!(written(&lines), ["a\nb\nc\n"]);
        let long = format!("{}\n", "a".repeat(WRITE_BYTES_MAX));
        assert_eq!(written(&[long.clone(), long.clone()]).len(), 2);
        assert_eq!(written(&[String::from("a\n"), long.clone(), long]).len(), 2);
    }

    #[test]
    fn a_line_is_json() {
        let line = line(LineFormat::Json, "/v1/scrape?token=canary");
        let json: Value = serde_json::from_str(&line).expect("JSON");
        for (name, value) in [
            ("client", json!("8.8.8.8")),
            ("method", json!("POST")),
            ("path", json!("/v1/scrape")),
            ("version", json!("HTTP/1.1")),
            ("status", json!(200)),
            ("bytes", json!(304)),
            ("complete", json!(true)),
            ("account", json!("acc_1")),
            ("request_id", json!("r1")),
            ("user_agent", json!("cli \"1\"")),
        ] {
            assert_eq!(json[name], value, "{line}");
        }
        assert!(json["time"].is_string() && json["duration_ms"].is_u64());
    }

    #[test]
    fn a_line_has_the_common_format() {
        let line = line(LineFormat::Common, "/fetch/u:canary@a.example/");
        assert!(line.starts_with("8.8.8.8 - acc_1 ["), "{line}");
        let end = " +0000] \"POST /fetch/ HTTP/1.1\" 200 304";
        assert!(line.ends_with(end), "{line}");
        let time = Timestamp::parse("2026-02-03T04:05:06Z").expect("a time");
        assert_eq!(common_time(time), "03/Feb/2026:04:05:06 +0000");
    }

    #[test]
    fn only_trusted_proxies_name_the_client() {
        let headers = HeaderMap::from_iter([(
            header::HeaderName::from_static("x-forwarded-for"),
            http::HeaderValue::from_static("8.8.8.8"),
        )]);
        let trusted: [IpNet; 1] = ["10.0.0.0/8".parse().expect("a range")];
        let of = |ip: &str| {
            let client = client(ip.parse().expect("an address"), &headers, &trusted);
            client.expect("a client").to_string()
        };
        assert_eq!(of("11.0.0.1"), "11.0.0.1");
        assert_eq!(of("10.0.0.1"), "8.8.8.8");
        assert_eq!(of("::ffff:11.0.0.1"), "11.0.0.1");
    }

    #[test]
    fn a_proxy_is_never_taken_for_its_client() {
        let trusted: [IpNet; 1] = ["10.0.0.0/8".parse().expect("a range")];
        let of = |forwarded: &'static str| {
            let headers = HeaderMap::from_iter([(
                header::HeaderName::from_static("x-forwarded-for"),
                http::HeaderValue::from_static(forwarded),
            )]);
            let proxy = "10.0.0.1".parse().expect("an address");
            client(proxy, &headers, &trusted).map(|client| client.to_string())
        };
        for (forwarded, expected) in [
            ("9.9.9.9, 8.8.8.8:1234", "8.8.8.8"),
            ("[2001:db8::1]:443", "2001:db8::1"),
            ("[2001:db8::1]", "2001:db8::1"),
            ("::ffff:8.8.8.8", "8.8.8.8"),
        ] {
            assert_eq!(of(forwarded).as_deref(), Some(expected), "{forwarded}");
        }
        for forwarded in ["9.9.9.9, unknown", "9.9.9.9,", "_hidden", "8.8.8.8.8", ""] {
            assert_eq!(of(forwarded), None, "{forwarded}");
        }
        // Its own requests, such as checks of its health.
        let proxy: IpAddr = "10.0.0.1".parse().expect("an address");
        assert_eq!(client(proxy, &HeaderMap::new(), &trusted), Some(proxy));
    }

    #[test]
    fn a_refused_connection_is_a_line_without_a_request() {
        let memory = Memory::default();
        let log = AccessLog::to(memory.clone(), LineFormat::Common, Vec::new());
        log.refused(peer("1.2.3.4"), b"HTTP/1.1 503 Service Unavailable\r\n\r\n");
        drop(log);
        let line = memory.lines().pop().expect("a line");
        assert!(line.starts_with("1.2.3.4 - - ["), "{line}");
        assert!(line.ends_with("\"-\" 503 36"), "{line}");
    }
}
