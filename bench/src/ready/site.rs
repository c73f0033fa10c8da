//! The site of the benchmark: its pages, and parts of them that take their time.

use std::io::{Read, Write};
use std::net::{Ipv4Addr, SocketAddr, TcpListener, TcpStream};
use std::sync::Arc;
use std::sync::atomic::{AtomicBool, Ordering};
use std::thread::JoinHandle;
use std::time::Duration;

use super::cases::{Case, PART, TEXT};

/// How long what never answers keeps its connection.
const NEVER: Duration = Duration::from_secs(60);
/// Bytes of a request's head that are read.
const HEAD_MAX: usize = 16 * 1024;
/// A picture of one pixel.
const GIF: &[u8] =
    b"GIF89a\x01\0\x01\0\x80\0\0\0\0\0\xff\xff\xff,\0\0\0\0\x01\0\x01\0\0\x02\x02D\x01\0;";

/// A server of the pages on a free port, until it is dropped.
pub(super) struct Site {
    address: SocketAddr,
    cases: Arc<Vec<Case>>,
    is_over: Arc<AtomicBool>,
    accepting: Option<JoinHandle<()>>,
}

impl Site {
    pub(super) fn start(cases: Vec<Case>) -> anyhow::Result<Self> {
        let listener = TcpListener::bind((Ipv4Addr::LOCALHOST, 0))?;
        let address = listener.local_addr()?;
        let (cases, is_over) = (Arc::new(cases), Arc::new(AtomicBool::new(false)));
        let shared = (Arc::clone(&cases), Arc::clone(&is_over));
        let accepting = std::thread::spawn(move || {
            for stream in listener.incoming().flatten() {
                if shared.1.load(Ordering::SeqCst) {
                    return;
                }
                let cases = Arc::clone(&shared.0);
                // A browser that has gone away is not a fault.
                std::thread::spawn(move || serve(stream, &cases).ok());
            }
        });
        Ok(Self {
            address,
            cases,
            is_over,
            accepting: Some(accepting),
        })
    }

    pub(super) fn cases(&self) -> &[Case] {
        &self.cases
    }

    pub(super) fn url(&self, case: &Case) -> String {
        format!(
            "http://{}/pages/{}",
            self.address,
            case.name.replace(' ', "-")
        )
    }
}

impl Drop for Site {
    fn drop(&mut self) {
        self.is_over.store(true, Ordering::SeqCst);
        // It wakes the thread that accepts.
        let _woken = TcpStream::connect(self.address);
        if let Some(accepting) = self.accepting.take() {
            let _ended = accepting.join();
        }
    }
}

/// Answers one request: `/pages/NAME`, or `/KIND/MS`: a part of this kind after so many
/// milliseconds.
fn serve(mut stream: TcpStream, cases: &[Case]) -> std::io::Result<()> {
    stream.set_read_timeout(Some(NEVER))?;
    let mut head = Vec::new();
    let mut buffer = [0; 2048];
    while !head.windows(4).any(|end| end == b"\r\n\r\n") && head.len() < HEAD_MAX {
        match stream.read(&mut buffer)? {
            0 => return Ok(()),
            n => head.extend_from_slice(&buffer[..n]),
        }
    }
    let head = String::from_utf8_lossy(&head).into_owned();
    let target = head.split(' ').nth(1).unwrap_or_default();
    let path = target.split('?').next().unwrap_or_default();
    let mut names = path.trim_start_matches('/').split('/');
    let (kind, rest) = (
        names.next().unwrap_or_default(),
        names.next().unwrap_or_default(),
    );
    let pause = || std::thread::sleep(Duration::from_millis(rest.parse().unwrap_or(0)));
    match kind {
        "pages" => match cases
            .iter()
            .find(|case| case.name.replace(' ', "-") == rest)
        {
            Some(case) => page(&mut stream, &case.html),
            None => whole(&mut stream, "404 Not Found", "text/html", b"not here"),
        },
        "never" => {
            // Until the browser goes away.
            while stream.read(&mut buffer)? > 0 {}
            Ok(())
        }
        "events" => {
            head_only(&mut stream, "text/event-stream")?;
            pause();
            write!(stream, "data: {TEXT}\n\n")?;
            while stream.read(&mut buffer)? > 0 {}
            Ok(())
        }
        "stream" => {
            head_only(&mut stream, "text/plain")?;
            for word in TEXT.split_inclusive(' ') {
                pause();
                stream.write_all(word.as_bytes())?;
            }
            Ok(())
        }
        _ => {
            pause();
            part(&mut stream, kind)
        }
    }
}

/// A part of a page of this kind.
fn part(stream: &mut TcpStream, kind: &str) -> std::io::Result<()> {
    let (status, media_type, body): (_, _, &[u8]) = match kind {
        "script" => ("200 OK", "text/javascript", b"done();"),
        "style" => ("200 OK", "text/css", b"p { color: navy }"),
        "picture" => ("200 OK", "image/gif", GIF),
        "frame" => {
            let html = format!("<p id=p></p>{}<script>done()</script>", super::cases::DONE);
            return whole(stream, "200 OK", "text/html", html.as_bytes());
        }
        "failure" => ("500 Internal Server Error", "application/json", b"{}"),
        _ => ("200 OK", "application/json", b"{}"),
    };
    whole(stream, status, media_type, body)
}

/// A page; it pauses for a moment where its HTML says so.
fn page(stream: &mut TcpStream, html: &str) -> std::io::Result<()> {
    head_only(stream, "text/html; charset=utf-8")?;
    for (n, part) in html.split(PART).enumerate() {
        if n > 0 {
            std::thread::sleep(Duration::from_millis(500));
        }
        stream.write_all(part.as_bytes())?;
    }
    Ok(())
}

/// A head whose body ends with the connection.
fn head_only(stream: &mut TcpStream, media_type: &str) -> std::io::Result<()> {
    write!(
        stream,
        "HTTP/1.1 200 OK\r\nContent-Type: {media_type}\r\nCache-Control: no-store\r\nConnection: close\r\n\r\n"
    )
}

fn whole(
    stream: &mut TcpStream,
    status: &str,
    media_type: &str,
    body: &[u8],
) -> std::io::Result<()> {
    write!(
        stream,
        "HTTP/1.1 {status}\r\nContent-Type: {media_type}\r\nCache-Control: no-store\r\nContent-Length: {}\r\nConnection: close\r\n\r\n",
        body.len()
    )?;
    stream.write_all(body)
}
