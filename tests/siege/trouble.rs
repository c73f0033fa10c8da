//! The attacker's site: it answers on every loopback address, so on any number of hosts.

use std::io::Write as _;
use std::net::SocketAddr;
use std::sync::LazyLock;
use std::time::Duration;

use tokio::io::{AsyncReadExt, AsyncWriteExt};
use tokio::net::{TcpListener, TcpStream};
use tokio::task::JoinHandle;

/// Links of the page `/links`.
const LINKS: usize = 20_000;
/// Rules of `/robots.txt` on hosts that have one: half a megabyte of short patterns.
const ROBOTS_BYTES: usize = 500_000;
/// Entries of `/sitemap.xml`.
const SITEMAP_ENTRIES: usize = 50_000;
/// Sitemaps of `/sitemaps`: a million URLs in all.
const SITEMAPS: usize = 20;
/// Bytes of empty deflate blocks in `/empty`, before the outer coding makes them small.
const EMPTY_BLOCK_BYTES: usize = 512 << 20;

/// The site.
pub(crate) struct Trouble {
    port: u16,
    task: JoinHandle<()>,
}

/// Bodies that take long to make: once for all attacks.
static BODIES: LazyLock<Bodies> = LazyLock::new(Bodies::new);

struct Bodies {
    empty: Vec<u8>,
    links: String,
    robots: String,
    sitemap: String,
    sitemap_index: String,
}

impl Trouble {
    /// Starts it on a free port.
    pub(crate) async fn start() -> Self {
        let listener = TcpListener::bind("0.0.0.0:0").await.expect("a free port");
        let port = listener.local_addr().expect("a bound listener").port();
        let bodies = tokio::task::spawn_blocking(|| &*BODIES).await;
        let bodies: &'static Bodies = bodies.expect("the bodies are made");
        let task = tokio::spawn(async move {
            loop {
                // Out of descriptors: some will be closed.
                let Ok((stream, _)) = listener.accept().await else {
                    tokio::time::sleep(Duration::from_millis(20)).await;
                    continue;
                };
                tokio::spawn(serve(stream, bodies));
            }
        });
        Self { port, task }
    }

    /// The URL of a path on host number `host`.
    pub(crate) fn url(&self, host: usize, path: &str) -> String {
        let (high, low) = (1 + host / 200, 2 + host % 200);
        format!("http://127.0.{high}.{low}:{}{path}", self.port)
    }

    /// The URL of a path on the host of the innocent account's site, at another port.
    pub(crate) fn url_of_innocent_host(&self, path: &str) -> String {
        format!("http://127.0.0.1:{}{path}", self.port)
    }
}

impl Drop for Trouble {
    fn drop(&mut self) {
        self.task.abort();
    }
}

impl Bodies {
    fn new() -> Self {
        // Here and not where requests are served.
        let _made = trawl_tests::coding::stalled_body();
        let links: String = (0..LINKS)
            .map(|n| format!("<a href=\"/silent/{}/{n}\">{n}</a>\n", n % 300))
            .collect();
        let rules = (0..).map(|n| format!("Disallow: /*{n}*a*b*\n"));
        let mut robots = "User-agent: *\n".to_owned();
        robots.extend(rules.take(ROBOTS_BYTES / 20));
        let entries: String = (0..SITEMAP_ENTRIES)
            .map(|n| format!("<url><loc>/silent/{n}</loc></url>"))
            .collect();
        let sitemaps: String = (0..SITEMAPS)
            .map(|n| format!("<sitemap><loc>/sitemap.xml?{n}</loc></sitemap>"))
            .collect();
        Self {
            empty: empty_blocks(),
            links,
            robots,
            sitemap: format!("<urlset>{entries}</urlset>"),
            sitemap_index: format!("<sitemapindex>{sitemaps}</sitemapindex>"),
        }
    }
}

fn gzip<'a>(pieces: impl Iterator<Item = &'a [u8]>) -> Vec<u8> {
    let mut encoder = flate2::write::GzEncoder::new(Vec::new(), flate2::Compression::best());
    for piece in pieces {
        encoder.write_all(piece).expect("memory to memory");
    }
    encoder.finish().expect("memory to memory")
}

/// Deflate blocks that contain nothing, in gzip: hardly any bytes arrive, none come out, and
/// hundreds of megabytes are between. The page says `Content-Encoding: deflate, gzip`.
fn empty_blocks() -> Vec<u8> {
    // A stored block that is not the last and has the length 0 (RFC 1951, section 3.2.4).
    let blocks = [0x00, 0x00, 0x00, 0xff, 0xff].repeat(1 << 14);
    let header = [0x78, 0x9c];
    let many = EMPTY_BLOCK_BYTES / blocks.len();
    let pieces = std::iter::once(header.as_slice());
    gzip(pieces.chain(std::iter::repeat_n(blocks.as_slice(), many)))
}

async fn serve(mut stream: TcpStream, bodies: &Bodies) {
    // A connection that ends early is what attackers do.
    while let Some(path) = request(&mut stream).await {
        let name = path.split(['/', '?']).nth(1).unwrap_or_default();
        let done = match name {
            "silent" => silence(&mut stream).await,
            "stall" => stall(&mut stream, trawl_tests::coding::stalled_body()).await,
            "empty" => {
                let coding = "Content-Encoding: deflate, gzip\r\n";
                whole(&mut stream, coding, &bodies.empty).await
            }
            "links" => whole(&mut stream, "", bodies.links.as_bytes()).await,
            "sitemap.xml" => whole(&mut stream, "", bodies.sitemap.as_bytes()).await,
            "sitemaps" => whole(&mut stream, "", bodies.sitemap_index.as_bytes()).await,
            "robots.txt" => whole(&mut stream, "", bodies.robots.as_bytes()).await,
            "pause" => pause(&mut stream).await,
            "large" => whole(&mut stream, "", &vec![b'x'; 8 << 20]).await,
            // A page of two megabytes that links to others.
            "big" => {
                let links = format!("<a href=\"{path}/1\">1</a> <a href=\"{path}/2\">2</a>");
                let body = format!("<p>{links}</p><p>{}</p>", "words ".repeat(350_000));
                whole(&mut stream, "", body.as_bytes()).await
            }
            "tree" => {
                let links = format!("<a href=\"{path}/1\">1</a> <a href=\"{path}/2\">2</a>");
                let text = "words ".repeat(1_000);
                whole(
                    &mut stream,
                    "",
                    format!("<p>{links}</p><p>{text}</p>").as_bytes(),
                )
                .await
            }
            _ => whole(&mut stream, "", b"<p>a page</p>").await,
        };
        if done.is_none() {
            return;
        }
    }
}

/// Reads a request and returns its path.
async fn request(stream: &mut TcpStream) -> Option<String> {
    let mut head = Vec::new();
    let mut piece = [0; 4096];
    while !head.windows(4).any(|end| end == b"\r\n\r\n") {
        let n = stream.read(&mut piece).await.ok().filter(|&n| n > 0)?;
        head.extend_from_slice(&piece[..n]);
    }
    let head = String::from_utf8_lossy(&head).into_owned();
    Some(head.split(' ').nth(1)?.to_owned())
}

/// Sends a body but for its end, then nothing.
async fn stall(stream: &mut TcpStream, body: &[u8]) -> Option<()> {
    let length = body.len() + 1;
    let head = format!(
        "HTTP/1.1 200 OK\r\nContent-Type: text/html\r\nContent-Encoding: gzip\r\nContent-Length: {length}\r\n\r\n"
    );
    stream.write_all(head.as_bytes()).await.ok()?;
    stream.write_all(body).await.ok()?;
    silence(stream).await
}

/// Answers nothing more until the other side leaves: an hour of connections that were left would
/// use up the descriptors of this process.
async fn silence(stream: &mut TcpStream) -> Option<()> {
    let mut piece = [0; 4096];
    while stream.read(&mut piece).await.is_ok_and(|n| n > 0) {}
    None
}

/// Asks for a long pause.
async fn pause(stream: &mut TcpStream) -> Option<()> {
    let answer = "HTTP/1.1 429 Too Many Requests\r\nRetry-After: 300\r\nContent-Length: 0\r\n\r\n";
    stream.write_all(answer.as_bytes()).await.ok()
}

async fn whole(stream: &mut TcpStream, headers: &str, body: &[u8]) -> Option<()> {
    let length = body.len();
    let head = format!(
        "HTTP/1.1 200 OK\r\nContent-Type: text/html\r\n{headers}Content-Length: {length}\r\n\r\n"
    );
    stream.write_all(head.as_bytes()).await.ok()?;
    stream.write_all(body).await.ok()
}

/// The address of a server from the base URL of its client.
pub(crate) fn address(base: &str) -> SocketAddr {
    let address = base.trim_start_matches("http://").parse();
    address.expect("an IP address and a port")
}

#[cfg(test)]
mod tests {
    use super::*;

    #[tokio::test]
    async fn a_silent_connection_ends_when_the_other_side_leaves() {
        let listener = TcpListener::bind("127.0.0.1:0").await.unwrap();
        let visitor = TcpStream::connect(listener.local_addr().unwrap());
        let (visitor, accepted) = tokio::join!(visitor, listener.accept());
        let (mut stream, _) = accepted.unwrap();
        let silent = tokio::spawn(async move { silence(&mut stream).await });
        tokio::time::sleep(Duration::from_millis(50)).await;
        assert!(!silent.is_finished(), "it waits for its visitor");
        drop(visitor);
        let ended = tokio::time::timeout(Duration::from_secs(20), silent).await;
        assert_eq!(ended.expect("the end of the connection").unwrap(), None);
    }
}
