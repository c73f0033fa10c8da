//! Where the pages of a crawl go: a file of lines, a folder of files, or standard output.

use std::collections::HashMap;
use std::fs::{self, File, OpenOptions};
use std::io::{self, BufRead, BufReader, BufWriter, IsTerminal, Read, Seek, Write};
use std::path::{Path, PathBuf};

use anyhow::Context;
use serde::{Deserialize, Serialize};
use serde_json::Value;
use url::Url;

use super::names;

/// The list of what is in the folder.
const LIST: &str = "pages.jsonl";

/// Whether the pages were written.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) enum Written {
    Whole,
    /// Who read the pipe has gone away.
    NobodyReads,
    /// The pages in flight are not waited for.
    StoppedAtOnce,
}

/// Where pages go.
pub(super) enum Output {
    /// Entries, one a line.
    Lines(Appending),
    /// Entries, one a line, for the next program.
    Pipe,
    /// A line a page for people.
    Terminal,
    /// Contents in files.
    Folder(Folder),
}

/// A file that grows.
pub(super) struct Appending {
    file: BufWriter<File>,
    bytes: u64,
}

/// A folder of contents.
pub(super) struct Folder {
    path: PathBuf,
    ending: &'static str,
    list: Appending,
    /// Whose each file is.
    taken: HashMap<String, String>,
}

/// One line of the list of a folder.
#[derive(Debug, Serialize, Deserialize)]
struct Listed {
    url: String,
    status: u64,
    #[serde(skip_serializing_if = "Option::is_none")]
    file: Option<String>,
    #[serde(skip_serializing_if = "Option::is_none")]
    error: Option<String>,
}

impl Output {
    /// Lines in a file; its first `bytes` are there already.
    pub(super) fn file(path: &Path, bytes: u64) -> anyhow::Result<Self> {
        Ok(Self::Lines(Appending::open(path, bytes)?))
    }

    /// Files in a folder; the first `bytes` of its list are there already.
    pub(super) fn folder(path: &Path, format: &str, bytes: u64) -> anyhow::Result<Self> {
        fs::create_dir_all(path).with_context(|| format!("cannot make `{}`", path.display()))?;
        let mut list = Appending::open(&path.join(LIST), bytes)?;
        let taken = list.read_back()?;
        Ok(Self::Folder(Folder {
            path: path.to_owned(),
            ending: ending(format),
            list,
            taken,
        }))
    }

    /// Standard output: lines for people on a terminal, otherwise entries.
    pub(super) fn standard() -> Self {
        match io::stdout().is_terminal() {
            true => Self::Terminal,
            false => Self::Pipe,
        }
    }

    /// Writes a page. `say` shows people a line.
    pub(super) fn write(&mut self, entry: &[u8], say: impl Fn(&str)) -> anyhow::Result<Written> {
        let written = match self {
            Self::Lines(lines) => lines.line(entry),
            Self::Folder(folder) => folder.write(entry),
            Self::Terminal => {
                let page: Value = serde_json::from_slice(entry)?;
                say(&line(&page));
                Ok(())
            }
            Self::Pipe => {
                let mut out = io::stdout().lock();
                out.write_all(entry).and_then(|()| out.write_all(b"\n"))
            }
        };
        match written {
            Ok(()) => Ok(Written::Whole),
            Err(error) if error.kind() == io::ErrorKind::BrokenPipe => Ok(Written::NobodyReads),
            Err(error) => Err(error).context("the output cannot be written"),
        }
    }

    /// Hands everything to the operating system. Returns the bytes of the file that grows.
    pub(super) fn flush(&mut self) -> io::Result<u64> {
        match self {
            Self::Lines(lines) | Self::Folder(Folder { list: lines, .. }) => lines.flush(),
            Self::Pipe | Self::Terminal => match io::stdout().flush() {
                Err(error) if error.kind() != io::ErrorKind::BrokenPipe => Err(error),
                _ => Ok(0),
            },
        }
    }
}

impl Appending {
    fn open(path: &Path, bytes: u64) -> anyhow::Result<Self> {
        let open = || -> io::Result<File> {
            let mut file = OpenOptions::new()
                .read(true)
                .write(true)
                .create(true)
                .truncate(false)
                .open(path)?;
            let there = file.metadata()?.len();
            if there < bytes {
                return Err(io::Error::other(format!(
                    "it has {there} bytes, and {bytes} were written: it was changed since"
                )));
            }
            file.set_len(bytes)?;
            file.seek(io::SeekFrom::End(0))?;
            Ok(file)
        };
        let file = open().with_context(|| format!("cannot write to `{}`", path.display()))?;
        Ok(Self {
            file: BufWriter::new(file),
            bytes,
        })
    }

    fn line(&mut self, text: &[u8]) -> io::Result<()> {
        self.file.write_all(text)?;
        self.file.write_all(b"\n")?;
        self.bytes += text.len() as u64 + 1;
        Ok(())
    }

    fn flush(&mut self) -> io::Result<u64> {
        self.file.flush()?;
        Ok(self.bytes)
    }

    /// The files that the list names already, and whose they are.
    fn read_back(&mut self) -> anyhow::Result<HashMap<String, String>> {
        let mut file = self.file.get_ref();
        file.seek(io::SeekFrom::Start(0))?;
        let mut taken = HashMap::new();
        for line in BufReader::new(file.take(self.bytes)).lines() {
            let listed: Listed = serde_json::from_str(&line?).context("the list is damaged")?;
            taken.extend(listed.file.map(|file| (file, listed.url)));
        }
        let mut file = self.file.get_ref();
        file.seek(io::SeekFrom::End(0))?;
        Ok(taken)
    }
}

impl Folder {
    fn write(&mut self, entry: &[u8]) -> io::Result<()> {
        let page: Value = serde_json::from_slice(entry)?;
        let url = page["url"].as_str().unwrap_or_default();
        let error = page["error"].as_str();
        let file = match error {
            None => self.keep(url, &page["content"])?,
            Some(_) => None,
        };
        let listed = Listed {
            url: url.to_owned(),
            status: page["status"].as_u64().unwrap_or_default(),
            file,
            error: error.map(str::to_owned),
        };
        self.list.line(&serde_json::to_vec(&listed)?)
    }

    /// Writes a page's content; the name of its file.
    fn keep(&mut self, url: &str, content: &Value) -> io::Result<Option<String>> {
        let Some(file) = Url::parse(url).ok().and_then(|url| self.name(&url)) else {
            return Ok(None);
        };
        let path = self.path.join(&file);
        if let Some(folder) = path.parent() {
            fs::create_dir_all(folder)?;
        }
        fs::write(path, bytes(content))?;
        self.taken.insert(file.clone(), url.to_owned());
        Ok(Some(file))
    }

    /// A name that no other page has. A page that comes again has its own.
    fn name(&self, url: &Url) -> Option<String> {
        let file = names::file(url, self.ending)?;
        let is_free = match self.taken.get(&file) {
            Some(owner) => owner == url.as_str(),
            None => true,
        };
        Some(match is_free {
            true => file,
            false => names::other(&file, url, self.ending),
        })
    }
}

/// Content as bytes: a string as it is, integers as bytes, anything else as JSON.
fn bytes(content: &Value) -> Vec<u8> {
    match content {
        Value::String(text) => text.as_bytes().to_vec(),
        Value::Array(list)
            if list
                .iter()
                .all(|byte| byte.as_u64().is_some_and(|byte| byte < 256)) =>
        {
            let bytes = list.iter().filter_map(Value::as_u64);
            bytes.filter_map(|byte| u8::try_from(byte).ok()).collect()
        }
        other => other.to_string().into_bytes(),
    }
}

/// The usual ending of files of a format.
fn ending(format: &str) -> &'static str {
    match format.trim().to_lowercase().as_str() {
        "markdown" | "commonmark" => "md",
        "raw" | "html" => "html",
        "xml" => "xml",
        "bytes" => "bin",
        _ => "txt",
    }
}

/// A page in one line: status, address, and why it failed.
fn line(page: &Value) -> String {
    let url = page["url"].as_str().unwrap_or_default();
    match page["error"].as_str() {
        Some(error) => format!("{} {url}  {error}", page["status"]),
        None => format!("{} {url}", page["status"]),
    }
}

#[cfg(test)]
mod tests {
    use serde_json::json;

    use super::*;

    fn write(output: &mut Output, entry: &Value) {
        let written = output.write(entry.to_string().as_bytes(), |_| {});
        assert_eq!(written.expect("written"), Written::Whole);
    }

    fn page(path: &str, content: Value) -> Value {
        let url = format!("https://a.example{path}");
        json!({"url": url, "status": 200, "content": content, "error": null})
    }

    #[test]
    fn a_file_goes_on_where_its_mark_is() {
        let folder = tempfile::tempdir().expect("a folder");
        let path = folder.path().join("out.jsonl");
        fs::write(&path, "from before").expect("a file");
        let mut output = Output::file(&path, 0).expect("a new file");
        write(&mut output, &page("/1", json!("a")));
        let bytes = output.flush().expect("flushed");
        write(&mut output, &page("/2", json!("b")));
        output.flush().expect("flushed");
        drop(output);
        // The second page came after the mark, so it comes again.
        let mut output = Output::file(&path, bytes).expect("the same file");
        write(&mut output, &page("/3", json!("c")));
        output.flush().expect("flushed");
        let text = fs::read_to_string(&path).expect("lines");
        let urls: Vec<_> = text
            .lines()
            .map(|line| serde_json::from_str::<Value>(line).expect("an entry")["url"].clone())
            .collect();
        assert_eq!(urls, ["https://a.example/1", "https://a.example/3"]);
        assert!(Output::file(&path, 1_000_000).is_err(), "it was cut since");
    }

    #[test]
    fn a_folder_has_a_file_for_each_good_page_and_a_list_of_all() {
        let folder = tempfile::tempdir().expect("a folder");
        let dir = folder.path().join("site");
        let mut output = Output::folder(&dir, "html", 0).expect("a folder");
        write(&mut output, &page("/", json!("home")));
        write(&mut output, &page("/a", json!("one")));
        write(&mut output, &page("/a.html", json!("two")));
        write(&mut output, &page("/a/b", json!([104, 105])));
        let failed = json!({"url": "https://a.example/no", "status": 404, "content": "", "error": "the site answered 404"});
        write(&mut output, &failed);
        let bytes = output.flush().expect("flushed");
        drop(output);
        let mut output = Output::folder(&dir, "html", bytes).expect("the same folder");
        write(&mut output, &page("/a", json!("one again")));
        output.flush().expect("flushed");

        let read = |file: &str| fs::read_to_string(dir.join(file)).expect("a page");
        assert_eq!(read("a.example/index.html"), "home");
        assert_eq!(read("a.example/a.html"), "one again");
        assert_eq!(read("a.example/a/b.html"), "hi");
        let list = read("pages.jsonl");
        let listed: Vec<Listed> = list
            .lines()
            .map(|line| serde_json::from_str(line).expect("a line"))
            .collect();
        assert_eq!(listed.len(), 6);
        let second = listed[2].file.as_deref().expect("a file of its own");
        assert_eq!(read(second), "two");
        assert_eq!((listed[4].file.as_deref(), listed[4].status), (None, 404));
    }
}
