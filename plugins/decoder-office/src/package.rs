//! The archive that an Office file is: its parts, expanded within limits, and their relations.

use std::collections::HashMap;
use std::io::Read;

use flate2::read::DeflateDecoder;
use trawl_sdk::decoder::{Decoded, Failure};
use trawl_sdk::xml::{self, Element};

/// Most entries of an archive.
const ENTRIES_MAX: usize = 20_000;
/// Most bytes of one part, expanded.
const PART_BYTES_MAX: u64 = 48 << 20;
/// Most bytes of all parts that are read, expanded.
const ALL_BYTES_MAX: u64 = 192 << 20;
/// First bytes of files of Office before 2007, and of encrypted ones.
const OLE: &[u8] = b"\xD0\xCF\x11\xE0\xA1\xB1\x1A\xE1";
/// Signatures of an archive's records. Source: PKWARE APPNOTE 6.3.10, section 4.3.
const END: &[u8] = b"PK\x05\x06";
const CENTRAL: &[u8] = b"PK\x01\x02";
const LOCAL: &[u8] = b"PK\x03\x04";

/// An archive.
pub(crate) struct Package<'a> {
    bytes: &'a [u8],
    entries: HashMap<String, Entry>,
    /// Bytes that may still be expanded.
    left: u64,
}

#[derive(Clone, Copy)]
struct Entry {
    at: usize,
    stored_bytes: usize,
    method: u16,
    is_encrypted: bool,
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
        let damaged = |what: &str| Failure::Damaged(format!("the archive has no {what}"));
        let tail = bytes.len().saturating_sub(65_557);
        let end = bytes[tail..].windows(4).rposition(|window| window == END);
        let end = tail + end.ok_or_else(|| damaged("directory, it may be cut off"))?;
        let n_entries = usize::from(u16_at(bytes, end + 10).ok_or_else(|| damaged("end"))?);
        let mut at = u32_at(bytes, end + 16).ok_or_else(|| damaged("end"))? as usize;
        if n_entries > ENTRIES_MAX {
            let reason = format!("an archive of {n_entries} parts, at most {ENTRIES_MAX} are read");
            return Err(Failure::Limit(reason));
        }
        let mut entries = HashMap::new();
        for _ in 0..n_entries {
            let Some((name, entry, next)) = entry_at(bytes, at) else {
                break;
            };
            entries.entry(name).or_insert(entry);
            at = next;
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
        let Some(entry) = self.entries.get(name).copied() else {
            return Ok(None);
        };
        if entry.is_encrypted {
            let reason = format!("its part `{}` needs a password", shown(name));
            return Err(Failure::Encrypted(reason));
        }
        let damaged = || Failure::Damaged(format!("its part `{}` is damaged", shown(name)));
        let head = self.bytes.get(entry.at..).ok_or_else(damaged)?;
        if !head.starts_with(LOCAL) {
            return Err(damaged());
        }
        let name_bytes = usize::from(u16_at(head, 26).ok_or_else(damaged)?);
        let extra_bytes = usize::from(u16_at(head, 28).ok_or_else(damaged)?);
        let stored = head
            .get(30 + name_bytes + extra_bytes..)
            .ok_or_else(damaged)?;
        let stored = &stored[..stored.len().min(entry.stored_bytes)];
        let most = PART_BYTES_MAX.min(self.left);
        let mut part = Vec::new();
        let read = match entry.method {
            0 => stored.take(most + 1).read_to_end(&mut part),
            8 => DeflateDecoder::new(stored)
                .take(most + 1)
                .read_to_end(&mut part),
            other => {
                let reason = format!("its part `{}` is packed by method {other}", shown(name));
                return Err(Failure::Unsupported(reason));
            }
        };
        read.map_err(|_| damaged())?;
        if part.len() as u64 > most {
            let mib = most >> 20;
            let reason = format!(
                "its part `{}` has more than {mib} MiB expanded",
                shown(name)
            );
            return Err(Failure::Limit(reason));
        }
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

fn entry_at(bytes: &[u8], at: usize) -> Option<(String, Entry, usize)> {
    let record = bytes.get(at..)?;
    if !record.starts_with(CENTRAL) {
        return None;
    }
    let name_bytes = usize::from(u16_at(record, 28)?);
    let extra_bytes = usize::from(u16_at(record, 30)?);
    let comment_bytes = usize::from(u16_at(record, 32)?);
    let name = record.get(46..46 + name_bytes)?;
    let entry = Entry {
        at: u32_at(record, 42)? as usize,
        stored_bytes: u32_at(record, 20)? as usize,
        method: u16_at(record, 10)?,
        is_encrypted: u16_at(record, 8)? & 1 == 1,
    };
    let name = String::from_utf8_lossy(name).into_owned();
    Some((
        name,
        entry,
        at + 46 + name_bytes + extra_bytes + comment_bytes,
    ))
}

fn u16_at(bytes: &[u8], at: usize) -> Option<u16> {
    let bytes = bytes.get(at..)?.first_chunk::<2>()?;
    Some(u16::from_le_bytes(*bytes))
}

fn u32_at(bytes: &[u8], at: usize) -> Option<u32> {
    let bytes = bytes.get(at..)?.first_chunk::<4>()?;
    Some(u32::from_le_bytes(*bytes))
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
