//! Output of a crawl: a file of JSON lines, a folder of files, or standard output.

use std::collections::HashMap;
use std::fs::{self, File, OpenOptions};
use std::io::{self, BufRead, BufReader, BufWriter, IsTerminal, Read, Seek, Write};
use std::path::{Component, Path, PathBuf};

use anyhow::Context;
use serde::{Deserialize, Serialize};
use serde_json::Value;
use url::Url;

use super::names;

/// The index of the folder.
const INDEX: &str = "pages.jsonl";

/// Result of writing the pages.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) enum OutputEnd {
    /// All pages were written.
    Complete,
    /// The reader closed the pipe.
    PipeClosed,
    /// The crawl was aborted without waiting for pages in flight.
    Aborted,
}

/// Where pages are written.
pub(super) enum Output {
    /// Entries in a file, one per line.
    Lines(AppendFile),
    /// Entries on standard output, one per line.
    Pipe,
    /// A summary line per page.
    Terminal,
    /// The content of each page in a file.
    Folder(Folder),
}

/// A file that is appended to.
pub(super) struct AppendFile {
    file: BufWriter<File>,
    bytes: u64,
}

/// A folder with the content of pages.
pub(super) struct Folder {
    path: PathBuf,
    extension: &'static str,
    index: AppendFile,
    /// Whether files that no page of this crawl has may be replaced.
    may_replace: bool,
    /// The URL of each file.
    urls: HashMap<String, String>,
}

/// One line of the index.
#[derive(Debug, Serialize, Deserialize)]
struct IndexEntry {
    url: String,
    status: u64,
    #[serde(skip_serializing_if = "Option::is_none")]
    file: Option<String>,
    #[serde(skip_serializing_if = "Option::is_none")]
    error: Option<String>,
}

/// Checks that no earlier crawl has written its pages there. `advice` is what may be done with that
/// crawl.
///
/// # Errors
/// What has pages, and how to continue or replace them.
pub(super) fn check_unused(
    file: Option<&Path>,
    folder: Option<&Path>,
    advice: &str,
) -> anyhow::Result<()> {
    let index = folder.map(|folder| folder.join(INDEX));
    let Some(path) = file.or(index.as_deref()) else {
        return Ok(());
    };
    let is_used = fs::metadata(path).is_ok_and(|found| found.is_file() && found.len() > 0);
    anyhow::ensure!(
        !is_used,
        "`{}` is not empty, it may have the pages of an earlier crawl: {advice}replace it with `--overwrite`, or choose another output",
        path.display()
    );
    Ok(())
}

/// Removes the files of pages that the index of a folder lists, and folders that are empty then.
/// Whatever else is there stays.
///
/// # Errors
/// The index cannot be read, or a file not removed.
pub(super) fn remove_listed(folder: &Path) -> anyhow::Result<()> {
    let path = folder.join(INDEX);
    let index = match File::open(&path) {
        Err(error) if error.kind() == io::ErrorKind::NotFound => return Ok(()),
        opened => opened.with_context(|| format!("cannot read `{}`", path.display()))?,
    };
    for line in BufReader::new(index).split(b'\n') {
        let line = line.with_context(|| format!("cannot read `{}`", path.display()))?;
        // A process that was killed may have written part of its last line.
        let entry = serde_json::from_slice::<IndexEntry>(&line).ok();
        let Some(file) = entry.and_then(|entry| entry.file) else {
            continue;
        };
        let file = Path::new(&file);
        let is_inside = |part| matches!(part, Component::Normal(_));
        let is_named = file.components().next().is_some();
        if is_named && file.components().all(is_inside) {
            remove(folder, file)
                .with_context(|| format!("cannot remove `{}`", folder.join(file).display()))?;
        }
    }
    Ok(())
}

/// Removes a file of a folder, and the folders in between that are empty then.
fn remove(folder: &Path, file: &Path) -> io::Result<()> {
    // It is gone, too, if a file has the name of its folder now.
    let is_gone = [io::ErrorKind::NotFound, io::ErrorKind::NotADirectory];
    match fs::remove_file(folder.join(file)) {
        Err(error) if !is_gone.contains(&error.kind()) => return Err(error),
        _ => {}
    }
    let above = file.ancestors().skip(1);
    for parent in above.filter(|parent| !parent.as_os_str().is_empty()) {
        if fs::remove_dir(folder.join(parent)).is_err() {
            break;
        }
    }
    Ok(())
}

impl Output {
    /// Lines in a file, after its first `bytes`.
    pub(super) fn file(path: &Path, bytes: u64) -> anyhow::Result<Self> {
        Ok(Self::Lines(AppendFile::open(path, bytes)?))
    }

    /// Files with this extension in a folder, with `bytes` of the index already written.
    /// `may_replace` allows to replace files of other crawls.
    pub(super) fn folder(
        path: &Path,
        extension: &'static str,
        bytes: u64,
        may_replace: bool,
    ) -> anyhow::Result<Self> {
        fs::create_dir_all(path).with_context(|| format!("cannot create `{}`", path.display()))?;
        let mut index = AppendFile::open(&path.join(INDEX), bytes)?;
        let urls = index.read_index()?;
        Ok(Self::Folder(Folder {
            path: path.to_owned(),
            extension,
            index,
            may_replace,
            urls,
        }))
    }

    /// Standard output: summary lines on a terminal, entries otherwise.
    pub(super) fn standard() -> Self {
        if io::stdout().is_terminal() {
            Self::Terminal
        } else {
            Self::Pipe
        }
    }

    /// Writes a page. `print_line` prints a summary line on a terminal.
    pub(super) fn write(
        &mut self,
        entry: &[u8],
        print_line: impl Fn(&str),
    ) -> anyhow::Result<OutputEnd> {
        let written = match self {
            Self::Lines(lines) => lines.write_line(entry),
            Self::Folder(folder) => folder.write(entry),
            Self::Terminal => {
                let page: Value = serde_json::from_slice(entry)?;
                print_line(&summary(&page));
                Ok(())
            }
            Self::Pipe => {
                let mut out = io::stdout().lock();
                out.write_all(entry).and_then(|()| out.write_all(b"\n"))
            }
        };
        match written {
            Ok(()) => Ok(OutputEnd::Complete),
            Err(error) if error.kind() == io::ErrorKind::BrokenPipe => Ok(OutputEnd::PipeClosed),
            Err(error) => Err(error).context("cannot write the output"),
        }
    }

    /// Flushes all buffers. Returns the length of the file that is appended to.
    pub(super) fn flush(&mut self) -> io::Result<u64> {
        match self {
            Self::Lines(lines) | Self::Folder(Folder { index: lines, .. }) => lines.flush(),
            Self::Pipe | Self::Terminal => match io::stdout().flush() {
                Err(error) if error.kind() != io::ErrorKind::BrokenPipe => Err(error),
                _ => Ok(0),
            },
        }
    }
}

impl AppendFile {
    fn open(path: &Path, bytes: u64) -> anyhow::Result<Self> {
        let open = || -> io::Result<File> {
            let mut file = OpenOptions::new()
                .read(true)
                .write(true)
                .create(true)
                .truncate(false)
                .open(path)?;
            let length = file.metadata()?.len();
            if length < bytes {
                return Err(io::Error::other(format!(
                    "it has {length} bytes, expected at least {bytes}: it was modified"
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

    fn write_line(&mut self, text: &[u8]) -> io::Result<()> {
        self.file.write_all(text)?;
        self.file.write_all(b"\n")?;
        self.bytes += text.len() as u64 + 1;
        Ok(())
    }

    fn flush(&mut self) -> io::Result<u64> {
        self.file.flush()?;
        Ok(self.bytes)
    }

    /// The files in the index with their URLs.
    fn read_index(&mut self) -> anyhow::Result<HashMap<String, String>> {
        let mut file = self.file.get_ref();
        file.seek(io::SeekFrom::Start(0))?;
        let mut urls = HashMap::new();
        for line in BufReader::new(file.take(self.bytes)).lines() {
            let entry: IndexEntry = serde_json::from_str(&line?).context("the index is corrupt")?;
            urls.extend(entry.file.map(|file| (file, entry.url)));
        }
        let mut file = self.file.get_ref();
        file.seek(io::SeekFrom::End(0))?;
        Ok(urls)
    }
}

impl Folder {
    fn write(&mut self, entry: &[u8]) -> io::Result<()> {
        let page: Value = serde_json::from_slice(entry)?;
        let url = page["url"].as_str().unwrap_or_default();
        let error = page["error"].as_str();
        let file = match error {
            None => self.write_content(url, &page["content"])?,
            Some(_) => None,
        };
        let entry = IndexEntry {
            url: url.to_owned(),
            status: page["status"].as_u64().unwrap_or_default(),
            file,
            error: error.map(str::to_owned),
        };
        self.index.write_line(&serde_json::to_vec(&entry)?)
    }

    /// Writes the content of a page. Returns the name of its file.
    fn write_content(&mut self, url: &str, content: &Value) -> io::Result<Option<String>> {
        let Some(file) = Url::parse(url).ok().and_then(|url| self.name(&url)) else {
            return Ok(None);
        };
        let path = self.path.join(&file);
        if let Some(folder) = path.parent() {
            fs::create_dir_all(folder)?;
        }
        let is_own = self.may_replace || self.urls.contains_key(&file);
        write_file(&path, &bytes(content), is_own)?;
        self.urls.insert(file.clone(), url.to_owned());
        Ok(Some(file))
    }

    /// A name that no other page has. The same URL always gets the same name.
    fn name(&self, url: &Url) -> Option<String> {
        let file = names::file(url, self.extension)?;
        let is_free = match self.urls.get(&file) {
            Some(owner) => owner == url.as_str(),
            None => true,
        };
        Some(if is_free {
            file
        } else {
            names::alternative(&file, url, self.extension)
        })
    }
}

/// Writes a file, over an existing one only if it may be replaced.
fn write_file(path: &Path, content: &[u8], may_replace: bool) -> io::Result<()> {
    let mut options = OpenOptions::new();
    options.write(true).create(true).truncate(true);
    if !may_replace {
        options.create_new(true);
    }
    let file = options.open(path).map_err(|error| match error.kind() {
        io::ErrorKind::AlreadyExists if !may_replace => io::Error::other(format!(
            "`{}` exists and is not of this crawl: replace such files with `--overwrite`, or choose another folder",
            path.display()
        )),
        _ => error,
    });
    file?.write_all(content)
}

/// Content as bytes: a string unchanged, a list of byte values as bytes, anything else as JSON.
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

/// The usual file extension of a format.
pub(super) fn extension(format: &str) -> &'static str {
    match format.trim().to_lowercase().as_str() {
        "markdown" | "commonmark" => "md",
        "raw" | "html" => "html",
        "xml" => "xml",
        "bytes" => "bin",
        "screenshot" => "png",
        _ => "txt",
    }
}

/// A page in one line: status, URL and error.
fn summary(page: &Value) -> String {
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
        assert_eq!(written.expect("written"), OutputEnd::Complete);
    }

    fn page(path: &str, content: Value) -> Value {
        let url = format!("https://a.example{path}");
        json!({"url": url, "status": 200, "content": content, "error": null})
    }

    #[test]
    fn pages_of_an_earlier_crawl_are_not_replaced_unasked() {
        let folder = tempfile::tempdir().expect("a folder");
        let (dir, file) = (folder.path().join("site"), folder.path().join("out.jsonl"));
        assert!(check_unused(Some(&file), None, "").is_ok());
        assert!(check_unused(None, Some(&dir), "").is_ok());
        assert!(check_unused(None, None, "").is_ok());
        fs::create_dir(&dir).expect("a folder");
        for used in [&file, &dir.join(INDEX)] {
            fs::write(used, "").expect("an empty file");
        }
        assert!(check_unused(Some(&file), None, "").is_ok(), "it is empty");
        for used in [&file, &dir.join(INDEX)] {
            fs::write(used, "{}\n").expect("a file");
        }
        let refusal = check_unused(Some(&file), None, "go on, ");
        let text = refusal.expect_err("refused").to_string();
        assert!(
            text.contains(": go on, replace it with `--overwrite`"),
            "{text}"
        );
        let text = check_unused(None, Some(&dir), "")
            .expect_err("refused")
            .to_string();
        assert!(
            text.contains(INDEX) && text.contains(": replace it"),
            "{text}"
        );
    }

    #[test]
    fn a_file_continues_at_its_checkpoint() {
        let folder = tempfile::tempdir().expect("a folder");
        let path = folder.path().join("out.jsonl");
        fs::write(&path, "from before").expect("a file");
        let mut output = Output::file(&path, 0).expect("a new file");
        write(&mut output, &page("/1", json!("a")));
        let bytes = output.flush().expect("flushed");
        write(&mut output, &page("/2", json!("b")));
        output.flush().expect("flushed");
        drop(output);
        // The second page is after the checkpoint, so it is written again.
        let mut output = Output::file(&path, bytes).expect("the same file");
        write(&mut output, &page("/3", json!("c")));
        output.flush().expect("flushed");
        let text = fs::read_to_string(&path).expect("lines");
        let urls: Vec<_> = text
            .lines()
            .map(|line| serde_json::from_str::<Value>(line).expect("an entry")["url"].clone())
            .collect();
        assert_eq!(urls, ["https://a.example/1", "https://a.example/3"]);
        assert!(Output::file(&path, 1_000_000).is_err(), "it was truncated");
    }

    #[test]
    fn a_folder_has_a_file_for_each_successful_page_and_an_index_of_all() {
        let folder = tempfile::tempdir().expect("a folder");
        let dir = folder.path().join("site");
        let mut output = Output::folder(&dir, "html", 0, false).expect("a folder");
        write(&mut output, &page("/", json!("home")));
        write(&mut output, &page("/a", json!("one")));
        write(&mut output, &page("/a.html", json!("two")));
        write(&mut output, &page("/a/b", json!([104, 105])));
        let failed = json!({"url": "https://a.example/no", "status": 404, "content": "", "error": "the site answered 404"});
        write(&mut output, &failed);
        let bytes = output.flush().expect("flushed");
        drop(output);
        let mut output = Output::folder(&dir, "html", bytes, true).expect("the same folder");
        write(&mut output, &page("/a", json!("one again")));
        output.flush().expect("flushed");

        let read = |file: &str| fs::read_to_string(dir.join(file)).expect("a page");
        assert_eq!(read("a.example/index.html"), "home");
        assert_eq!(read("a.example/a.html"), "one again");
        assert_eq!(read("a.example/a/b.html"), "hi");
        let index = read("pages.jsonl");
        let listed: Vec<IndexEntry> = index
            .lines()
            .map(|line| serde_json::from_str(line).expect("a line"))
            .collect();
        assert_eq!(listed.len(), 6);
        let second = listed[2].file.as_deref().expect("a file of its own");
        assert_eq!(read(second), "two");
        assert_eq!((listed[4].file.as_deref(), listed[4].status), (None, 404));
    }

    #[test]
    fn the_files_of_an_earlier_crawl_are_removed_and_no_others() {
        let folder = tempfile::tempdir().expect("a folder");
        let dir = folder.path().join("site");
        remove_listed(&dir).expect("there is nothing yet");
        let mut output = Output::folder(&dir, "md", 0, false).expect("a folder");
        for path in ["/", "/a/b/c", "/a/d"] {
            write(&mut output, &page(path, json!("text")));
        }
        output.flush().expect("flushed");
        drop(output);
        let index = fs::read_to_string(dir.join(INDEX)).expect("an index");
        let outside = folder.path().join("mine.md");
        let foreign = r#"{"url": "", "status": 200, "file": "../mine.md"}"#;
        fs::write(dir.join(INDEX), format!("{index}{foreign}\n{{\"url\": ")).expect("an index");
        for file in [&outside, &dir.join("a.example/a/notes.md")] {
            fs::write(file, "mine").expect("a file");
        }
        remove_listed(&dir).expect("removed");
        assert!(outside.is_file(), "it is not in the folder");
        assert!(
            dir.join("a.example/a/notes.md").is_file(),
            "it is not listed"
        );
        for gone in ["a.example/index.md", "a.example/a/d.md", "a.example/a/b"] {
            assert!(!dir.join(gone).exists(), "{gone}");
        }
        fs::remove_file(dir.join("a.example/a/notes.md")).expect("removed");
        remove_listed(&dir).expect("they are gone already");
        assert!(!dir.join("a.example").exists(), "it is empty");
        fs::write(dir.join("a.example"), "mine").expect("a file");
        remove_listed(&dir).expect("there is no such folder");
        assert!(dir.join("a.example").is_file(), "it is not listed");
    }

    #[test]
    fn files_of_others_are_not_replaced_unasked() {
        let folder = tempfile::tempdir().expect("a folder");
        let file = folder.path().join("a.example/a.html");
        fs::create_dir_all(file.parent().expect("a folder")).expect("a folder");
        fs::write(&file, "mine").expect("a file");
        let entry = page("/a", json!("theirs")).to_string();
        let mut output = Output::folder(folder.path(), "html", 0, false).expect("a folder");
        let refusal = output.write(entry.as_bytes(), |_| {}).expect_err("refused");
        let text = format!("{refusal:#}");
        assert!(
            text.contains("a.html") && text.contains("`--overwrite`"),
            "{text}"
        );
        assert_eq!(fs::read_to_string(&file).expect("a file"), "mine");
        write(&mut output, &page("/b", json!("one")));
        write(&mut output, &page("/b", json!("again")));
        let mut output = Output::folder(folder.path(), "html", 0, true).expect("a folder");
        write(&mut output, &page("/a", json!("theirs")));
        assert_eq!(fs::read_to_string(&file).expect("a file"), "theirs");
    }
}
