//! A site on loopback: a tree of pages, each with links to two others.

use std::io::{BufRead, BufReader, Write};
use std::net::{Ipv4Addr, SocketAddr, TcpListener, TcpStream};
use std::time::Duration;

/// How long a page takes.
const TIME: Duration = Duration::from_millis(5);

/// A running site. Its threads end with the process.
#[derive(Debug)]
pub struct Site {
    address: SocketAddr,
    n_pages: usize,
}

impl Site {
    /// A site whose trees have so many pages each.
    ///
    /// # Errors
    /// There is no free port.
    pub fn start(n_pages: usize) -> std::io::Result<Self> {
        let listener = TcpListener::bind((Ipv4Addr::LOCALHOST, 0))?;
        let address = listener.local_addr()?;
        std::thread::spawn(move || {
            for stream in listener.incoming().flatten() {
                std::thread::spawn(move || {
                    // A crawler may go away at any time.
                    let _ended = serve(&stream, n_pages);
                });
            }
        });
        Ok(Self { address, n_pages })
    }

    /// The first page of a tree.
    pub fn root(&self, tree: u64) -> String {
        self.page(tree, 1)
    }

    /// All pages of a tree.
    pub fn pages(&self, tree: u64) -> impl Iterator<Item = String> {
        (1..=self.n_pages).map(move |n| self.page(tree, n))
    }

    fn page(&self, tree: u64, n: usize) -> String {
        format!("http://{}/{tree}/{n}", self.address)
    }
}

fn serve(mut stream: &TcpStream, n_pages: usize) -> std::io::Result<()> {
    let mut lines = BufReader::new(stream).lines();
    while let Some(first) = lines.next() {
        let first = first?;
        // The rest of the head.
        for line in lines.by_ref() {
            if line?.is_empty() {
                break;
            }
        }
        std::thread::sleep(TIME);
        let path = first.split(' ').nth(1).unwrap_or("/");
        let (status, body) = match page(path, n_pages) {
            Some(body) => ("200 OK", body),
            None => ("404 Not Found", "<p>no such page".to_owned()),
        };
        let answer = format!(
            "HTTP/1.1 {status}\r\nContent-Type: text/html\r\nContent-Length: {}\r\n\r\n{body}",
            body.len()
        );
        stream.write_all(answer.as_bytes())?;
    }
    Ok(())
}

/// The page of a path `/TREE/N`.
fn page(path: &str, n_pages: usize) -> Option<String> {
    let (tree, n) = path.strip_prefix('/')?.split_once('/')?;
    let n: usize = n.parse().ok().filter(|n| (1..=n_pages).contains(n))?;
    let children = [2 * n, 2 * n + 1].into_iter().filter(|n| *n <= n_pages);
    let links: String = children
        .map(|to| format!("<a href=\"/{tree}/{to}\">{to}</a> "))
        .collect();
    Some(format!(
        "<title>{n}</title><p>Page {n} of tree {tree}: {links}</p>"
    ))
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn each_page_of_a_tree_is_linked_once() {
        let pages = |n| page(&format!("/3/{n}"), 9);
        let text: String = (1..=9).filter_map(pages).collect();
        for n in 2..=9 {
            assert_eq!(text.matches(&format!("href=\"/3/{n}\"")).count(), 1);
        }
        assert_eq!(text.matches("href").count(), 8);
        assert_eq!(page("/3/10", 9).or(page("/robots.txt", 9)), None);
    }
}
