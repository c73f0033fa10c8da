//! A website on loopback with crawler traps, each below a path of its own.

use std::collections::HashMap;
use std::fmt::Write as _;
use std::io::Write as _;
use std::net::SocketAddr;
use std::sync::{Arc, Mutex, PoisonError};
use std::time::{Duration, SystemTime, UNIX_EPOCH};

use tokio::net::TcpStream;

use crate::http_server::{self, Listening};

/// Number of links on the page `/many`.
pub const MANY_LINKS: usize = 10_000;
/// The `Retry-After` of the first response from `/busy/…`.
pub const BUSY: Duration = Duration::from_secs(1);

/// The site. Its traps are the arms of `answer`.
pub struct TrapSite {
    /// The address it listens on.
    pub address: SocketAddr,
    visits: Visits,
    _listening: Listening,
}

/// Number of requests by path.
type Visits = Arc<Mutex<HashMap<String, usize>>>;

/// The response of a trap.
enum Reply {
    Html(String),
    Typed(&'static str, Vec<u8>),
    To(String),
    /// A page with this `X-Robots-Tag`.
    Tagged(&'static str, String),
    /// 429 with this `Retry-After`.
    Busy(String),
    NotFound,
    /// No response at all.
    Silence,
}

impl TrapSite {
    /// Starts one on a free port of 127.0.0.1.
    ///
    /// # Panics
    /// When no port is free.
    pub async fn start() -> Self {
        let visits = Visits::default();
        let listening = Listening::sharing(&visits, serve).await;
        Self {
            address: listening.address,
            visits,
            _listening: listening,
        }
    }

    /// The URL of a path.
    pub fn url(&self, path: &str) -> String {
        format!("http://{}{path}", self.address)
    }

    /// Number of requests for a path, query included.
    pub fn visits(&self, path: &str) -> usize {
        let visits = self.visits.lock();
        let visits = visits.unwrap_or_else(PoisonError::into_inner);
        visits.get(path).copied().unwrap_or(0)
    }
}

/// Serves one connection until it closes.
async fn serve(mut stream: TcpStream, visits: Visits) -> Option<()> {
    let address = stream.local_addr().ok()?;
    loop {
        let received = http_server::read(&mut stream).await?;
        let (_, target) = received.first_line()?;
        let visit = {
            let mut visits = visits.lock().unwrap_or_else(PoisonError::into_inner);
            let visit = visits.entry(target.to_owned()).or_default();
            *visit += 1;
            *visit
        };
        let header = |name: &str, value: &str| (name.to_owned(), value.to_owned());
        let typed = |media_type: &str| header("content-type", media_type);
        let (status, headers, body) = match answer(target, visit, address) {
            Reply::Html(body) => (
                200,
                vec![typed("text/html; charset=utf-8")],
                body.into_bytes(),
            ),
            Reply::Typed(media_type, body) => (200, vec![typed(media_type)], body),
            Reply::Tagged(tag, body) => {
                let headers = vec![typed("text/html"), header("x-robots-tag", tag)];
                (200, headers, body.into_bytes())
            }
            Reply::To(location) => (302, vec![header("location", &location)], Vec::new()),
            Reply::Busy(when) => (429, vec![header("retry-after", &when)], Vec::new()),
            Reply::NotFound => (404, vec![typed("text/html")], b"<p>no".to_vec()),
            Reply::Silence => std::future::pending().await,
        };
        http_server::write(&mut stream, status, &headers, &body).await?;
    }
}

fn answer(target: &str, visit: usize, address: SocketAddr) -> Reply {
    let path = target.split('?').next().unwrap_or(target);
    let (first, rest) = path[1..].split_once('/').unwrap_or((&path[1..], ""));
    match (first, rest) {
        // Every month links to the next one.
        ("calendar", month) => {
            let month: u64 = month.parse().unwrap_or(0);
            Reply::Html(links([
                format!("/calendar/{}", month + 1),
                "/calendar/0".to_owned(),
            ]))
        }
        // Every page has a new session in its links.
        ("session", "") => {
            Reply::Html(links(
                ["a", "b"].map(|branch| format!("{path}?sid={}{branch}", &target[path.len()..].replace("?sid=", ""))),
            ))
        }
        ("redirects", "") => Reply::Html(links(
            ["/loop/a", "/chain/3", "/chain/99", "/chain/0"].map(str::to_owned),
        )),
        ("loop", "a") => Reply::To("/loop/b".to_owned()),
        ("loop", _) => Reply::To("/loop/a".to_owned()),
        ("chain", left) => match left.parse::<u32>() {
            Ok(left) if left > 0 => Reply::To(format!("/chain/{}", left - 1)),
            _ => Reply::Html("<p>the end of the chain".to_owned()),
        },
        // Responds to everything with 200 and deeper links.
        ("soft", _) => Reply::Html(format!(
            "<h1>Not found</h1>{}",
            links([format!("{path}/x"), format!("{path}/y")])
        )),
        ("forms", "") => Reply::Html(links([
            format!("HTTP://{address}/forms/one"),
            format!("http://0x7F.0.0.1:{}/forms/one#here", address.port()),
            "/forms/../forms/./one".to_owned(),
            "one".to_owned(),
            "/forms/one#there".to_owned(),
            format!("https://{address}/forms/one"),
        ])),
        ("ways", "") => Reply::Html(
            "<head><a href=one></a><base href=/based/><base href=/wrong/>\
             <meta http-equiv=refresh content='9; URL=/refreshed'><link rel=canonical href=/canonical></head>\
             <p><a href='two'>2<div></p><a href=\"/broken/1\"<b>x<table><a href=/broken/2\n>y<iframe src=/framed></iframe>\
             <!-- <a href=/wrong/1> --><script>'<a href=/wrong/2>'</script><template><a href=/wrong/3></template>\
             <a href='/wrong/4"
                .to_owned(),
        ),
        ("nofollow", "") => Reply::Html(
            "<a rel='noopener nofollow' href=/leaf/hidden>1</a><a href=/leaf/shown rel=nofollow>2</a><a href=/leaf/shown>3</a>\
             <a href=/nofollow/page>4</a><a href=/nofollow/tagged>5</a><a href=/nofollow/other>6</a>"
                .to_owned(),
        ),
        ("nofollow", "tagged") => {
            Reply::Tagged("noindex, nofollow", "<a href=/leaf/tagged>1</a>".to_owned())
        }
        ("nofollow", "other") => {
            Reply::Tagged("otherbot: nofollow", "<a href=/leaf/other>1</a>".to_owned())
        }
        ("nofollow", _) => Reply::Html(
            "<meta name=robots content='index, nofollow'><a href=/leaf/deep>1</a>".to_owned(),
        ),
        ("many", "") => Reply::Html(links((0..MANY_LINKS).map(|n| format!("/leaf/{n}")))),
        ("stuck", "") => Reply::Html(links(
            std::iter::once("/never".to_owned()).chain((0..20).map(|n| format!("/leaf/{n}"))),
        )),
        ("never", _) => Reply::Silence,
        ("busy", "") => Reply::Html(links(["/busy/seconds", "/busy/date"].map(str::to_owned))),
        ("busy", "seconds") if visit == 1 => Reply::Busy(BUSY.as_secs().to_string()),
        ("busy", "date") if visit == 1 => Reply::Busy(http_date(soon())),
        ("maps", name) => map(name, address),
        ("robots.txt", _) => Reply::Typed(
            "text/plain",
            format!("User-agent: *\nAllow: /\nSitemap: http://{address}/maps/index.xml\n").into(),
        ),
        ("sitemap.xml", _) => Reply::NotFound,
        _ => Reply::Html(format!("<p>{path}")),
    }
}

/// A sitemap index that lists itself, a plain, a compressed and a text sitemap, and a missing one.
fn map(name: &str, address: SocketAddr) -> Reply {
    let set = |path: &str| {
        format!(
            "<urlset><url><loc>http://{address}{path}</loc></url><url><loc>not an address</loc></url></urlset>"
        )
    };
    match name {
        "index.xml" => {
            let maps = [
                "index.xml",
                "plain.xml",
                "packed.xml.gz",
                "list.txt",
                "gone.xml",
            ];
            let mut index = String::from("<sitemapindex>");
            for map in maps {
                let _ = write!(
                    index,
                    "<sitemap><loc>http://{address}/maps/{map}</loc></sitemap>"
                );
            }
            Reply::Typed("application/xml", (index + "</sitemapindex>").into())
        }
        "plain.xml" => Reply::Typed("application/xml", set("/leaf/plain").into()),
        "packed.xml.gz" => {
            let level = flate2::Compression::fast();
            let mut packed = flate2::write::GzEncoder::new(Vec::new(), level);
            packed
                .write_all(set("/leaf/packed").as_bytes())
                .expect("memory takes all");
            Reply::Typed(
                "application/gzip",
                packed.finish().expect("memory takes all"),
            )
        }
        "list.txt" => Reply::Typed(
            "text/plain",
            format!("http://{address}/leaf/listed\n\nhttp://{address}/leaf/plain\n").into(),
        ),
        _ => Reply::NotFound,
    }
}

fn links(paths: impl IntoIterator<Item = String>) -> String {
    paths.into_iter().fold(String::new(), |mut page, path| {
        let _ = writeln!(page, "<a href=\"{path}\">{path}</a>");
        page
    })
}

/// When a busy page is available again. An HTTP date has whole seconds, so one second is added.
#[expect(
    clippy::disallowed_methods,
    reason = "the site is not the server and has a clock of its own"
)]
fn soon() -> SystemTime {
    SystemTime::now() + BUSY + Duration::from_secs(1)
}

/// A date in the format of RFC 9110, section 5.6.7.
fn http_date(time: SystemTime) -> String {
    const DAYS: [&str; 7] = ["Thu", "Fri", "Sat", "Sun", "Mon", "Tue", "Wed"];
    const MONTHS: [(&str, u64); 12] = [
        ("Jan", 31),
        ("Feb", 28),
        ("Mar", 31),
        ("Apr", 30),
        ("May", 31),
        ("Jun", 30),
        ("Jul", 31),
        ("Aug", 31),
        ("Sep", 30),
        ("Oct", 31),
        ("Nov", 30),
        ("Dec", 31),
    ];
    let seconds = time
        .duration_since(UNIX_EPOCH)
        .map_or(0, |time| time.as_secs());
    let (days, second) = (seconds / 86_400, seconds % 86_400);
    let weekday = DAYS[(days % 7) as usize];
    let is_leap =
        |year: u64| year.is_multiple_of(4) && !year.is_multiple_of(100) || year.is_multiple_of(400);
    let (mut year, mut day) = (1970, days);
    while day >= 365 + u64::from(is_leap(year)) {
        day -= 365 + u64::from(is_leap(year));
        year += 1;
    }
    let mut month = "";
    for (name, length) in MONTHS {
        month = name;
        let length = length + u64::from(name == "Feb" && is_leap(year));
        if day < length {
            break;
        }
        day -= length;
    }
    let (hour, minute, second) = (second / 3_600, second / 60 % 60, second % 60);
    format!(
        "{weekday}, {:02} {month} {year} {hour:02}:{minute:02}:{second:02} GMT",
        day + 1
    )
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn dates_have_the_http_format() {
        let date = |seconds| http_date(UNIX_EPOCH + Duration::from_secs(seconds));
        assert_eq!(date(0), "Thu, 01 Jan 1970 00:00:00 GMT");
        assert_eq!(date(784_111_777), "Sun, 06 Nov 1994 08:49:37 GMT");
        assert_eq!(date(1_709_210_096), "Thu, 29 Feb 2024 12:34:56 GMT");
        assert_eq!(date(1_735_689_599), "Tue, 31 Dec 2024 23:59:59 GMT");
    }
}
