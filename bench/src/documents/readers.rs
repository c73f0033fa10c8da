//! The programs that read documents: the first-party decoders, and what people would use otherwise.

use std::io::{BufRead, BufReader, Write};
use std::path::Path;
use std::process::{Child, ChildStdin, ChildStdout, Command, Stdio};
use std::sync::Arc;
use std::time::{Duration, Instant};

use anyhow::{Context, anyhow, bail};
use serde_json::{Value, json};
use trawl_plugins::{Decoded, Fault, File, Registry};

use super::made;
use super::structure::{Reader, Structure};
use super::words::{key, target};
use crate::table;

/// What a program read of a document.
#[derive(Clone, Debug, Default)]
pub(super) struct Reading {
    pub(super) structure: Structure,
    /// CPU time of ours and of what runs in Python; of other programs the time from their start to
    /// their end.
    pub(super) time: Duration,
    /// Only ours says them.
    pub(super) n_pages: u32,
    pub(super) producer: String,
}

/// A program that prints HTML or text of a file.
struct Program {
    name: &'static str,
    program: &'static str,
    /// The file comes in place of `FILE`.
    arguments: &'static [&'static str],
    endings: &'static [&'static str],
    is_html: bool,
}

const PROGRAMS: [Program; 3] = [
    Program {
        name: "pdftotext -layout",
        program: "pdftotext",
        arguments: &["-layout", "-enc", "UTF-8", "FILE", "-"],
        endings: &["pdf"],
        is_html: false,
    },
    Program {
        name: "pdftohtml",
        program: "pdftohtml",
        arguments: &["-s", "-i", "-noframes", "-enc", "UTF-8", "-stdout", "FILE"],
        endings: &["pdf"],
        is_html: true,
    },
    Program {
        name: "pandoc",
        program: "pandoc",
        arguments: &["--to=html5", "--wrap=none", "FILE"],
        endings: &["docx", "odt", "rtf", "epub"],
        is_html: true,
    },
];

/// Programs of Python by their names in the script, and what they read.
const PYTHON: [(&str, &[&str]); 6] = [
    ("pymupdf", &["pdf"]),
    ("pypdf", &["pdf"]),
    ("pdfplumber", &["pdf"]),
    ("markitdown", &["pdf", "docx", "xlsx", "epub"]),
    ("python-docx", &["docx"]),
    ("openpyxl", &["xlsx"]),
];

/// A program that reads documents.
pub(super) struct Peer {
    pub(super) name: &'static str,
    endings: &'static [&'static str],
    kind: Kind,
    reader: Reader,
}

enum Kind {
    Ours(Arc<Registry>),
    Program(&'static Program),
    Python(Option<Worker>),
}

/// A running script of Python.
struct Worker {
    child: Child,
    requests: ChildStdin,
    answers: BufReader<ChildStdout>,
}

/// All programs, ours first.
pub(super) fn all(registry: &Arc<Registry>) -> anyhow::Result<Vec<Peer>> {
    let mut peers = vec![Peer {
        name: OURS,
        endings: &["pdf", "docx", "odt", "rtf", "epub", "xlsx", "ods"],
        kind: Kind::Ours(Arc::clone(registry)),
        reader: Reader::of_output()?,
    }];
    for program in &PROGRAMS {
        peers.push(Peer {
            name: program.name,
            endings: program.endings,
            kind: Kind::Program(program),
            reader: Reader::of_output()?,
        });
    }
    for (name, endings) in PYTHON {
        peers.push(Peer {
            name,
            endings,
            kind: Kind::Python(None),
            reader: Reader::of_output()?,
        });
    }
    Ok(peers)
}

/// Name of ours.
pub(super) const OURS: &str = "Trawl";

impl Peer {
    /// Whether it reads files that end so.
    pub(super) fn reads(&self, ending: &str) -> bool {
        self.endings.contains(&ending)
    }

    /// Reads a document.
    ///
    /// # Errors
    /// What the program says.
    pub(super) fn read(&mut self, path: &Path) -> anyhow::Result<Reading> {
        let mut reading = Reading::default();
        match &mut self.kind {
            Kind::Ours(registry) => {
                let (decoded, time) = decode(registry, &std::fs::read(path)?)?;
                self.reader.add(&decoded.html, &mut reading.structure);
                reading.time = time;
                reading.n_pages = decoded.page_count.unwrap_or(0);
                let producer = decoded.metadata.get("producer").and_then(Value::as_str);
                reading.producer = producer.unwrap_or_default().to_owned();
            }
            Kind::Program(program) => {
                let (text, time) = program.run(path)?;
                reading.time = time;
                match program.is_html {
                    true => self.reader.add(&text, &mut reading.structure),
                    false => reading.structure.text = text,
                }
            }
            Kind::Python(worker) => {
                let mut running = match worker.take() {
                    Some(running) => running,
                    None => Worker::start(self.name)?,
                };
                let answer = running.ask(path)?;
                *worker = Some(running);
                reading = self.answered(&answer)?;
            }
        }
        Ok(reading)
    }

    /// What an answer of the script has.
    fn answered(&self, answer: &Value) -> anyhow::Result<Reading> {
        if let Some(error) = answer["error"].as_str() {
            bail!("{error}");
        }
        let mut reading = Reading::default();
        let structure = &mut reading.structure;
        match answer["html"].as_str() {
            Some(html) => self.reader.add(html, structure),
            None => structure.text = answer["text"].as_str().unwrap_or_default().to_owned(),
        }
        let texts = |name: &str| {
            answer[name]
                .as_array()
                .map(|texts| texts.iter().filter_map(Value::as_str))
        };
        if let Some(cells) = texts("cells") {
            structure.cells = cells.map(key).filter(|cell| !cell.is_empty()).collect();
        }
        if let Some(links) = texts("links") {
            structure.links = links.filter_map(target).collect();
        }
        let seconds = answer["seconds"].as_f64().unwrap_or(0.0);
        reading.time = Duration::from_secs_f64(seconds.max(0.0));
        Ok(reading)
    }
}

/// The HTML of a document by the decoder that its first bytes choose, and the CPU time it took.
pub(super) fn decode(registry: &Registry, body: &[u8]) -> anyhow::Result<(Decoded, Duration)> {
    let file = File {
        text: "",
        body,
        media_type: "application/octet-stream",
        content_type: "",
        url: "https://page.invalid/document",
        pages: &[],
    };
    let mut refused = None;
    for decoder in registry.decoders("", body) {
        let begun = table::thread_time();
        let decoded = decoder.decode(&file, "{}");
        let time = table::thread_time() - begun;
        match decoded {
            Ok(decoded) => return Ok((decoded, time)),
            Err(error) if matches!(error.fault, Fault::Unsupported(_)) => refused = Some(error),
            Err(error) => return Err(error.into()),
        }
    }
    Err(refused.map_or_else(|| anyhow!("no decoder reads it"), anyhow::Error::from))
}

impl Program {
    fn run(&self, path: &Path) -> anyhow::Result<(String, Duration)> {
        let mut command = Command::new(self.program);
        for argument in self.arguments {
            match *argument {
                "FILE" => command.arg(path),
                other => command.arg(other),
            };
        }
        let begun = Instant::now();
        let output = made::timed(&mut command)?;
        let time = begun.elapsed();
        Ok((String::from_utf8_lossy(&output).into_owned(), time))
    }
}

impl Worker {
    fn start(name: &str) -> anyhow::Result<Self> {
        let mut child = Command::new(made::python())
            .arg(made::script())
            .args(["read", name])
            .stdin(Stdio::piped())
            .stdout(Stdio::piped())
            .stderr(Stdio::null())
            .spawn()
            .context("cannot start Python: cargo xtask documents")?;
        let requests = child.stdin.take().context("the script has no input")?;
        let answers = child.stdout.take().context("the script has no output")?;
        Ok(Self {
            child,
            requests,
            answers: BufReader::new(answers),
        })
    }

    fn ask(&mut self, path: &Path) -> anyhow::Result<Value> {
        writeln!(self.requests, "{}", json!({"path": path}))?;
        self.requests.flush()?;
        let mut line = String::new();
        self.answers.read_line(&mut line)?;
        serde_json::from_str(&line).context("the script ended")
    }
}

impl Drop for Worker {
    fn drop(&mut self) {
        // It may have ended already.
        let _killed = self.child.kill();
        let _ended = self.child.wait();
    }
}
