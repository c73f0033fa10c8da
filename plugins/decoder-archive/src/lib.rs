//! The `archive` decoder: ZIP, TAR and gzip as a list of their members.
//!
//! The option `inner` names a member, which then is the document: text as code, everything else as
//! its own decoder reads it. Only that member is expanded. An archive in an archive is listed.

mod dates;
mod gzip;
mod member;
mod tar;
mod types;
mod zip;

use std::borrow::Cow;

use serde::Deserialize;
use trawl_sdk::decoder::{Decoded, Decoder, Failure, File, Html, Inner};
use trawl_sdk::{Info, Needs};

use member::{MEMBER_BYTES_MAX, Member, Place, damaged, shown, too_large};

/// Most members that an error names.
const MEMBERS_SHOWN: usize = 5;

/// Decodes archives.
pub struct Archive;

trawl_sdk::export!(decoder: Archive);

/// Options of one request.
#[derive(Debug, Default, Deserialize)]
#[serde(default, deny_unknown_fields)]
pub struct Options {
    /// Path of the member to decode; without it the members are listed.
    inner: Option<String>,
}

/// An archive whose members are known.
struct Opened<'a> {
    /// What it is: `zip`, `tar`, `tar.gz`, `gz`.
    format: &'static str,
    /// The bytes in which the members are.
    bytes: Cow<'a, [u8]>,
    members: Vec<Member>,
    /// What could not be read; empty if everything was.
    fault: String,
}

impl Decoder for Archive {
    type Options = Options;

    fn info() -> Info {
        Info::new(
            "archive",
            env!("CARGO_PKG_VERSION"),
            "ZIP, TAR and gzip: a list of the members, or one of them",
        )
        .options_schema(
            r#"{"type": "object", "additionalProperties": false, "properties": {
                "inner": {"type": "string", "minLength": 1, "maxLength": 4096,
                    "description": "Path of the member that is decoded in place of the list."}
            }}"#,
        )
        .needs(Needs::BODY)
    }

    fn decode(file: &File<'_>, options: Options) -> Result<Decoded, Failure> {
        let opened = open(file)?;
        let title = file.name().unwrap_or("archive");
        let decoded = match &options.inner {
            Some(path) => opened.member(path)?,
            None => opened.list(title),
        };
        let decoded = decoded
            .with("archive_format", opened.format)
            .with("item_count", opened.members.len());
        Ok(match opened.fault.as_str() {
            "" => decoded,
            fault => decoded.warn(fault),
        })
    }
}

/// Reads the members of an archive, which its first bytes tell.
fn open<'a>(file: &'a File<'_>) -> Result<Opened<'a>, Failure> {
    let body: &'a [u8] = &file.body;
    if body.starts_with(b"PK") {
        let members = zip::members(body)?;
        return Ok(Opened {
            format: "zip",
            bytes: Cow::Borrowed(body),
            members,
            fault: String::new(),
        });
    }
    if tar::is_tar(body) {
        let (members, fault) = tar::members(body)?;
        return Ok(Opened {
            format: "tar",
            bytes: Cow::Borrowed(body),
            members,
            fault,
        });
    }
    if !body.starts_with(gzip::SIGNATURE) {
        let reason = "it is neither ZIP nor TAR nor gzip".to_owned();
        return Err(Failure::Unsupported(reason));
    }
    let expanded = gzip::expand(body)?;
    if tar::is_tar(&expanded.bytes) {
        let (members, fault) = tar::members(&expanded.bytes)?;
        return Ok(Opened {
            format: "tar.gz",
            bytes: Cow::Owned(expanded.bytes),
            members,
            fault,
        });
    }
    let member = Member {
        path: expanded.name.unwrap_or_else(|| name_without_ending(file)),
        bytes: expanded.bytes.len() as u64,
        modified: expanded.modified,
        place: Some(Place::Plain {
            from: 0,
            to: expanded.bytes.len(),
        }),
    };
    Ok(Opened {
        format: "gz",
        bytes: Cow::Owned(expanded.bytes),
        members: vec![member],
        fault: String::new(),
    })
}

/// The name of a file that gzip compressed, from that of the compressed one.
fn name_without_ending(file: &File<'_>) -> String {
    let name = file.name().unwrap_or("content");
    name.strip_suffix(".gz").unwrap_or(name).to_owned()
}

impl Opened<'_> {
    /// The members as a table.
    fn list(&self, title: &str) -> Decoded {
        let mut html = Html::new(title, None);
        html.element("h1", title).open("table").open("thead");
        html.open("tr");
        for head in ["path", "bytes", "modified"] {
            html.element("th", head);
        }
        html.close().close().open("tbody");
        for member in &self.members {
            let bytes = match member.place {
                Some(_) => member.bytes.to_string(),
                None => String::new(),
            };
            html.open("tr").element("td", &member.path);
            html.element("td", &bytes)
                .element("td", &member.modified)
                .close();
        }
        let all: u64 = self
            .members
            .iter()
            .fold(0, |sum, it| sum.saturating_add(it.bytes));
        Decoded::new(html.finish())
            .with("title", title)
            .with("expanded_bytes", all)
    }

    /// One member: its text as code, and the member itself for its own decoder.
    fn member(&self, path: &str) -> Result<Decoded, Failure> {
        let wanted = plain(path);
        let mut members = self.members.iter();
        let found = members.find(|member| plain(&member.path) == wanted);
        let member = found.ok_or_else(|| self.no_member(path))?;
        let body = match member.place {
            Some(Place::Zip(data)) => zip::expand(&self.bytes, data, &member.path)?,
            Some(Place::Plain { from, to }) => {
                let body = self.bytes.get(from..to);
                let body = body.ok_or_else(|| damaged(&member.path))?;
                if body.len() as u64 > MEMBER_BYTES_MAX {
                    return Err(too_large(&member.path));
                }
                body.to_vec()
            }
            None => {
                let reason = format!("`inner`: `{}` is a folder or a link", shown(path));
                return Err(Failure::InvalidOptions(reason));
            }
        };
        let name = member.path.rsplit('/').next().unwrap_or_default();
        let mut html = Html::new(name, None);
        match str::from_utf8(&body) {
            Ok(text) if !text.contains('\0') => html.code(text, None),
            _ => html.element("p", &member.path),
        };
        let mut decoded = Decoded::new(html.finish())
            .with("title", name)
            .with("inner", member.path.as_str());
        decoded.inner = Some(Inner {
            name: member.path.clone(),
            content_type: types::of(name).to_owned(),
            body,
        });
        Ok(decoded)
    }

    fn no_member(&self, path: &str) -> Failure {
        let files = self.members.iter().filter(|it| it.place.is_some());
        let names: Vec<String> = files
            .take(MEMBERS_SHOWN)
            .map(|it| format!("`{}`", shown(&it.path)))
            .collect();
        let has = match names.is_empty() {
            true => "it has none".to_owned(),
            false => format!(
                "it has {} members, such as {}",
                self.members.len(),
                names.join(", ")
            ),
        };
        let reason = format!("`inner`: there is no member `{}`; {has}", shown(path));
        Failure::InvalidOptions(reason)
    }
}

/// A path as it is compared: without `./` in front.
fn plain(path: &str) -> &str {
    path.trim_start_matches("./").trim_start_matches('/')
}

#[cfg(test)]
mod fuzz;
#[cfg(test)]
mod tests;
