//! The archive that an Office file is: its parts, expanded within limits, and their relations.

use std::collections::HashMap;

use trawl_sdk::decoder::{Decoded, Failure};
use trawl_sdk::xml::{self, Element};
use trawl_zip::{Data, Directory, Fault};

/// Most entries of an archive.
const ENTRIES_MAX: usize = 20_000;
/// Most bytes of one part, expanded.
const PART_BYTES_MAX: u64 = 48 << 20;
/// Most bytes of all parts that are read, expanded.
const ALL_BYTES_MAX: u64 = 192 << 20;
/// First bytes of files of Office before 2007, and of encrypted ones.
const OLE: &[u8] = b"\xD0\xCF\x11\xE0\xA1\xB1\x1A\xE1";

/// An archive.
pub(crate) struct Package<'a> {
    bytes: &'a [u8],
    entries: HashMap<String, Data>,
    /// Bytes that may still be expanded.
    left: u64,
}

/// A relation of a part.
#[derive(Clone, Debug, PartialEq, Eq)]
pub(crate) struct Relation {
    /// The last part of its type: `hyperlink`.
    pub(crate) kind: String,
    /// A path in the archive, or a URL.
    pub(crate) target: String,
}

impl<'a> Package<'a> {
    /// Reads the directory of an archive.
    pub(crate) fn open(bytes: &'a [u8]) -> Result<Self, Failure> {
        if bytes.starts_with(OLE) {
            return Err(of_ole(bytes));
        }
        if !bytes.starts_with(b"PK") {
            let reason = "it is no archive, so no Office file".to_owned();
            return Err(Failure::Unsupported(reason));
        }
        let directory = Directory::of(bytes);
        let directory = directory.map_err(|lacks| Failure::Damaged(lacks.to_string()))?;
        let n_entries = directory.n_left();
        if n_entries > ENTRIES_MAX {
            let reason = format!("an archive of {n_entries} parts, at most {ENTRIES_MAX} are read");
            return Err(Failure::Limit(reason));
        }
        let mut entries = HashMap::new();
        for entry in directory {
            entries.entry(entry.path).or_insert(entry.data);
        }
        Ok(Self {
            bytes,
            entries,
            left: ALL_BYTES_MAX,
        })
    }

    pub(crate) fn has(&self, name: &str) -> bool {
        self.entries.contains_key(name)
    }

    /// The bytes of a part; `None` if there is no such part.
    pub(crate) fn part(&mut self, name: &str) -> Result<Option<Vec<u8>>, Failure> {
        let Some(data) = self.entries.get(name).copied() else {
            return Ok(None);
        };
        let most = PART_BYTES_MAX.min(self.left);
        let part = data.expand(self.bytes, most).map_err(|fault| {
            let name = shown(name);
            match fault {
                Fault::Encrypted => {
                    Failure::Encrypted(format!("its part `{name}` needs a password"))
                }
                Fault::Method(method) => {
                    Failure::Unsupported(format!("its part `{name}` is packed by method {method}"))
                }
                Fault::Damaged => Failure::Damaged(format!("its part `{name}` is damaged")),
                Fault::TooLarge => Failure::Limit(format!(
                    "its part `{name}` has more than {} MiB expanded",
                    most >> 20
                )),
            }
        })?;
        self.left -= part.len() as u64;
        Ok(Some(part))
    }

    /// A part as text; `None` if there is no such part.
    pub(crate) fn text(&mut self, name: &str) -> Result<Option<String>, Failure> {
        Ok(self.part(name)?.map(|bytes| match bytes.as_slice() {
            [0xFF, 0xFE, rest @ ..] => utf_16(rest, u16::from_le_bytes),
            [0xFE, 0xFF, rest @ ..] => utf_16(rest, u16::from_be_bytes),
            [0xEF, 0xBB, 0xBF, rest @ ..] => String::from_utf8_lossy(rest).into_owned(),
            _ => String::from_utf8_lossy(&bytes).into_owned(),
        }))
    }

    /// The root element of a part that must be there. Damaged XML is read up to the fault.
    pub(crate) fn xml(&mut self, name: &str) -> Result<Element, Failure> {
        match self.text(name)? {
            Some(text) => Ok(xml::read(&text)?.0),
            None => {
                let reason = format!("its part `{}` is missing", shown(name));
                Err(Failure::Damaged(reason))
            }
        }
    }

    /// The root element of a part that may be missing or damaged.
    pub(crate) fn xml_if_any(&mut self, name: &str) -> Result<Option<Element>, Failure> {
        match self.xml(name) {
            Ok(root) => Ok(Some(root)),
            Err(Failure::Damaged(_)) => Ok(None),
            Err(failure) => Err(failure),
        }
    }

    /// The part that the package is about, by its relations.
    pub(crate) fn main_part(&mut self) -> Result<Option<String>, Failure> {
        let relations = self.relations("")?;
        let mut main = relations
            .into_values()
            .filter(|it| it.kind == "officeDocument");
        let named = main.next().map(|relation| relation.target);
        Ok(named.filter(|name| self.has(name)))
    }

    /// The relations of a part by ID; those of the package for an empty name.
    pub(crate) fn relations(&mut self, part: &str) -> Result<HashMap<String, Relation>, Failure> {
        let (folder, file) = part.rsplit_once('/').unwrap_or(("", part));
        let slash = if folder.is_empty() { "" } else { "/" };
        let Some(root) = self.xml_if_any(&format!("{folder}{slash}_rels/{file}.rels"))? else {
            return Ok(HashMap::new());
        };
        let read = root.elements().filter_map(|relation| {
            let id = relation.attribute("Id")?.to_owned();
            let kind = relation.attribute("Type")?.rsplit('/').next()?.to_owned();
            let target = relation.attribute("Target")?;
            let target = match relation.attribute("TargetMode") {
                Some("External") => target.to_owned(),
                _ => joined(folder, target),
            };
            Some((id, Relation { kind, target }))
        });
        Ok(read.collect())
    }

    /// Adds the metadata of an Office Open XML package.
    pub(crate) fn with_properties(&mut self, decoded: Decoded) -> Result<Decoded, Failure> {
        let Some(core) = self.xml_if_any("docProps/core.xml")? else {
            return Ok(decoded);
        };
        let creator = core.child_text("dc:creator");
        let authors: Vec<String> = creator
            .iter()
            .flat_map(|names| names.split(';'))
            .map(|name| name.trim().to_owned())
            .collect();
        Ok(decoded
            .with("title", core.child_text("dc:title"))
            .with("authors", authors)
            .with("description", core.child_text("dc:description"))
            .with("language", core.child_text("dc:language"))
            .with("published", core.child_text("dcterms:created"))
            .with("modified", core.child_text("dcterms:modified")))
    }

    /// The title in the properties of an Office Open XML package.
    pub(crate) fn title(&mut self) -> Result<String, Failure> {
        let core = self.xml_if_any("docProps/core.xml")?;
        let title = core.and_then(|core| core.child_text("dc:title"));
        Ok(title.unwrap_or_default())
    }
}

/// A path relative to a folder of the archive.
pub(crate) fn joined(folder: &str, path: &str) -> String {
    if let Some(absolute) = path.strip_prefix('/') {
        return absolute.to_owned();
    }
    let mut parts: Vec<&str> = folder.split('/').filter(|part| !part.is_empty()).collect();
    for part in path.split('/') {
        match part {
            "" | "." => {}
            ".." => {
                parts.pop();
            }
            part => parts.push(part),
        }
    }
    parts.join("/")
}

fn utf_16(bytes: &[u8], unit: fn([u8; 2]) -> u16) -> String {
    let (pairs, _) = bytes.as_chunks::<2>();
    let units: Vec<u16> = pairs.iter().map(|pair| unit(*pair)).collect();
    String::from_utf16_lossy(&units)
}

fn of_ole(bytes: &[u8]) -> Failure {
    let name: Vec<u8> = "EncryptedPackage"
        .encode_utf16()
        .flat_map(u16::to_le_bytes)
        .collect();
    let is_encrypted = bytes.windows(name.len()).any(|window| window == name);
    if is_encrypted {
        Failure::Encrypted("it needs a password".to_owned())
    } else {
        Failure::Unsupported("it is an Office file in the format of before 2007".to_owned())
    }
}

fn shown(name: &str) -> String {
    name.chars().take(80).collect()
}
