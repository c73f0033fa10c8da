//! The programs that read documents: the first-party decoders, and what people would use otherwise.

use std::path::Path;
use std::process::Command;
use std::sync::Arc;
use std::time::{Duration, Instant};

use anyhow::{Context, anyhow, bail};
use serde_json::Value;
use trawl_plugins::{Decoded, Fault, File, Registry};

use super::limits::{self, READING_SECONDS};
use super::made;
use super::scores::{KINDS, N_KINDS};
use super::structure::{Reader, Structure};
use super::words::{key, target};
use crate::table;

/// What a program read of a document.
#[derive(Clone, Debug, Default)]
pub(super) struct Reading {
    pub(super) structure: Structure,
    /// CPU time of ours and of what runs in Python, of the first call where there are two; of other
    /// programs the time from their start to their end.
    pub(super) time: Duration,
    /// Only ours says them.
    pub(super) n_pages: u32,
    pub(super) producer: String,
    /// Of which [`KINDS`] it had no time to read anything.
    pub(super) late: [bool; N_KINDS],
    /// What it said of a document that it cannot read.
    pub(super) error: Option<String>,
}

/// What one call of a program reads. Each has a limit of its own, so that a slow search for tables
/// does not cost a program its text.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
enum Part {
    All,
    Text,
    Tables,
}

impl Part {
    /// Its name in the script.
    fn name(self) -> &'static str {
        match self {
            Self::All => "all",
            Self::Text => "text",
            Self::Tables => "tables",
        }
    }

    /// Which [`KINDS`] are read.
    fn kinds(self) -> [bool; N_KINDS] {
        KINDS.map(|kind| match self {
            Self::All => true,
            Self::Text => kind != "tables",
            Self::Tables => kind == "tables",
        })
    }
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

/// A program of Python.
struct Script {
    /// In the script as well.
    name: &'static str,
    endings: &'static [&'static str],
    parts: &'static [Part],
}

impl Script {
    const fn new(
        name: &'static str,
        endings: &'static [&'static str],
        parts: &'static [Part],
    ) -> Self {
        Self {
            name,
            endings,
            parts,
        }
    }
}

/// One call reads all that there is.
const WHOLE: &[Part] = &[Part::All];
/// Two calls: the search for tables takes minutes for some documents.
const APART: &[Part] = &[Part::Text, Part::Tables];

static SCRIPTS: [Script; 6] = [
    Script::new("pymupdf", &["pdf"], APART),
    Script::new("pypdf", &["pdf"], WHOLE),
    Script::new("pdfplumber", &["pdf"], APART),
    Script::new("markitdown", &["pdf", "docx", "xlsx", "epub"], WHOLE),
    Script::new("python-docx", &["docx"], WHOLE),
    Script::new("openpyxl", &["xlsx"], WHOLE),
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
    Python(&'static Script),
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
    for script in &SCRIPTS {
        peers.push(Peer {
            name: script.name,
            endings: script.endings,
            kind: Kind::Python(script),
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

    /// Reads a document by all calls that this takes. What a call cannot read or is too slow for is
    /// missing.
    pub(super) fn read(&self, path: &Path) -> Reading {
        let mut reading = Reading::default();
        for part in self.parts() {
            match self.call(*part, path, &mut reading) {
                Ok(()) => {}
                Err(error) if limits::is_out_of_time(&error) => {
                    for (late, is_read) in reading.late.iter_mut().zip(part.kinds()) {
                        *late |= is_read;
                    }
                }
                Err(error) => reading.error = Some(format!("{error:#}")),
            }
        }
        reading
    }

    /// Reads a document by the first call alone, without a search for tables that has its own.
    ///
    /// # Errors
    /// What the program says, or that it is out of time.
    pub(super) fn read_first(&self, path: &Path) -> anyhow::Result<Reading> {
        let mut reading = Reading::default();
        let part = self.parts().first().copied().unwrap_or(Part::All);
        self.call(part, path, &mut reading)?;
        Ok(reading)
    }

    fn parts(&self) -> &'static [Part] {
        match &self.kind {
            Kind::Ours(_) | Kind::Program(_) => WHOLE,
            Kind::Python(script) => script.parts,
        }
    }

    /// Adds what a call reads.
    fn call(&self, part: Part, path: &Path, reading: &mut Reading) -> anyhow::Result<()> {
        match &self.kind {
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
            Kind::Python(script) => {
                let answer = script.run(part, path)?;
                self.add(&answer, &mut reading.structure);
                if part != Part::Tables {
                    let seconds = answer["seconds"].as_f64().unwrap_or(0.0);
                    reading.time = Duration::from_secs_f64(seconds.max(0.0));
                }
            }
        }
        Ok(())
    }

    /// Adds what an answer of the script has.
    fn add(&self, answer: &Value, structure: &mut Structure) {
        if let Some(html) = answer["html"].as_str() {
            self.reader.add(html, structure);
        }
        if let Some(text) = answer["text"].as_str() {
            text.clone_into(&mut structure.text);
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
        let output = limits::output(&command, READING_SECONDS)?;
        let time = begun.elapsed();
        Ok((String::from_utf8_lossy(&output).into_owned(), time))
    }
}

impl Script {
    /// The answer of the script to one call: a process of its own, which can be ended.
    fn run(&self, part: Part, path: &Path) -> anyhow::Result<Value> {
        let mut command = Command::new(made::python());
        command.arg(made::script());
        command.args(["read", self.name, part.name()]).arg(path);
        let output = limits::output(&command, READING_SECONDS)?;
        let answer: Value = serde_json::from_slice(&output).context("the script has no answer")?;
        match answer["error"].as_str() {
            Some(error) => bail!("{error}"),
            None => Ok(answer),
        }
    }
}

#[cfg(test)]
mod tests {
    use super::{KINDS, Part, SCRIPTS};

    #[test]
    fn the_calls_of_a_program_read_each_kind_once() {
        for script in &SCRIPTS {
            for (index, kind) in KINDS.iter().enumerate() {
                let reads = |part: &&Part| part.kinds()[index];
                let n_calls = script.parts.iter().filter(reads).count();
                assert_eq!(n_calls, 1, "{} {kind}", script.name);
            }
        }
    }
}
