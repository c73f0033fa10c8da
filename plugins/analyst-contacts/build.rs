//! Turns the word lists and tables in `data/` into static Rust tables: an instance of the component
//! serves one call, so parsing them at run time would cost every call anew.

use std::collections::BTreeMap;
use std::fmt::Write;
use std::path::{Path, PathBuf};
use std::{env, fs, io};

/// Sections whose words are tried in the order of the file instead of being looked up.
const ORDERED: &[&str] = &["extension words"];

#[expect(
    clippy::disallowed_methods,
    reason = "cargo passes the output folder of a build script in its environment"
)]
fn main() -> io::Result<()> {
    println!("cargo::rerun-if-changed=data");
    let out = PathBuf::from(env::var_os("OUT_DIR").ok_or_else(|| invalid("`OUT_DIR` is not set"))?);
    fs::write(out.join("words.rs"), words()?)?;
    fs::write(out.join("phone_labels.rs"), phone_labels()?)?;
    fs::write(out.join("imprint.rs"), imprint()?)?;
    fs::write(out.join("countries.rs"), countries()?)?;
    fs::write(out.join("postal_codes.rs"), postal_codes()?)?;
    fs::write(out.join("social_networks.rs"), social_networks()?)
}

/// One `Words` table for each section, with the words of all languages.
fn words() -> io::Result<String> {
    let mut files: Vec<PathBuf> = fs::read_dir("data/languages")?
        .map(|entry| entry.map(|entry| entry.path()))
        .collect::<io::Result<_>>()?;
    files.sort();
    let mut sections: BTreeMap<String, Vec<String>> = BTreeMap::new();
    for file in files {
        for (section, lines) in sections_of(&file)? {
            let list = sections.entry(section).or_default();
            for line in lines {
                list.extend(tokens(&line)?);
            }
        }
    }
    let mut out = String::new();
    for (section, mut list) in sections {
        if !ORDERED.contains(&section.as_str()) {
            list.sort();
            list.dedup();
        }
        let name = section.to_uppercase().replace([' ', '-'], "_");
        let _ = writeln!(
            out,
            "pub(crate) static {name}: Words = Words::new(&{list:?});"
        );
    }
    Ok(out)
}

/// The labels of phone numbers in the order in which they are tried, each with its kind.
fn phone_labels() -> io::Result<String> {
    let mut labels = Vec::new();
    for (key, words) in rows("phone_labels")? {
        let kind = match field(&key, 0)? {
            "phone" => None,
            "mobile" => Some("mobile"),
            other => return Err(invalid(&format!("`{other}` is no kind of phone label"))),
        };
        labels.extend(words.into_iter().map(|word| (word, kind)));
    }
    Ok(format!(
        "static LABELS: &[(&str, Option<&str>)] = &{labels:?};\n"
    ))
}

/// The labels of tax and register numbers, and the legal forms.
fn imprint() -> io::Result<String> {
    let mut out = String::from("static LABELS: &[(&str, Label, &str)] = &[\n");
    for (key, labels) in rows("imprint_labels")? {
        let kind = match field(&key, 0)? {
            "vat" => "Vat",
            "tax" => "Tax",
            "registration" => "Registration",
            other => return Err(invalid(&format!("`{other}` is no kind of imprint label"))),
        };
        let country = field(&key, 1)?.trim_matches('-');
        for label in labels {
            let _ = writeln!(out, "    ({label:?}, Label::{kind}, {country:?}),");
        }
    }
    out.push_str("];\nstatic LEGAL_FORMS: &[LegalForm] = &[\n");
    for (key, forms) in rows("legal_forms")? {
        let is_capitalised = field(&key, 0)? == "capitalised";
        for text in forms {
            let _ = writeln!(
                out,
                "    LegalForm {{ text: {text:?}, is_capitalised: {is_capitalised} }},"
            );
        }
    }
    out.push_str("];\n");
    Ok(out)
}

/// Country codes by language code and by country name, sorted.
fn countries() -> io::Result<String> {
    let mut out = String::new();
    for (table, name) in [
        ("language_countries", "LANGUAGES"),
        ("country_names", "NAMES"),
    ] {
        let mut pairs = BTreeMap::new();
        for (key, words) in rows(table)? {
            let country = field(&key, 0)?.to_owned();
            pairs.extend(words.into_iter().map(|word| (word, country.clone())));
        }
        let pairs: Vec<_> = pairs.into_iter().collect();
        let _ = writeln!(out, "static {name}: &[(&str, &str)] = &{pairs:?};");
    }
    Ok(out)
}

/// The forms of postal codes in the order in which they are tried.
fn postal_codes() -> io::Result<String> {
    let mut out = String::from("pub(super) static FORMS: &[Form] = &[\n");
    for (key, countries) in rows("postal_codes")? {
        let town = match field(&key, 1)? {
            "before" => "Before",
            "after" => "After",
            other => return Err(invalid(&format!("`{other}` is no place of a town"))),
        };
        let code = field(&key, 0)?;
        let _ = writeln!(
            out,
            "    Form {{ countries: &{countries:?}, code: {code:?}, town: Town::{town} }},"
        );
    }
    out.push_str("];\n");
    Ok(out)
}

/// The social networks in the order in which their hosts are tried.
fn social_networks() -> io::Result<String> {
    let mut out = String::from("pub(super) static NETWORKS: &[Network] = &[\n");
    for (name, lines) in sections_of(Path::new("data/tables/social_networks.txt"))? {
        let mut keys: BTreeMap<String, Vec<String>> = BTreeMap::new();
        for line in lines {
            let (key, values) = row(&line)?;
            keys.entry(field(&key, 0)?.to_owned())
                .or_default()
                .extend(values);
        }
        let mut take = |key: &str| keys.remove(key).unwrap_or_default();
        let (host, flat) = (take("host").join(" "), take("flat").join(" "));
        let (also, under, not) = (take("also"), take("under"), take("not"));
        let is_flat = flat == "yes";
        let _ = writeln!(
            out,
            "    Network {{ name: {name:?}, host: {host:?}, also: &{also:?}, under: &{under:?}, is_flat: {is_flat}, not: &{not:?} }},"
        );
        if let Some((key, _)) = keys.pop_first() {
            return Err(invalid(&format!("`{key}` is no key of a network")));
        }
    }
    out.push_str("];\n");
    Ok(out)
}

/// The sections of a file in their order, each with its lines, without comments and empty lines.
fn sections_of(path: &Path) -> io::Result<Vec<(String, Vec<String>)>> {
    let mut sections: Vec<(String, Vec<String>)> = Vec::new();
    for line in lines(path)? {
        if let Some(name) = line
            .strip_prefix('[')
            .and_then(|rest| rest.strip_suffix(']'))
        {
            sections.push((name.to_owned(), Vec::new()));
        } else if let Some((_, list)) = sections.last_mut() {
            list.push(line);
        } else {
            return Err(invalid(&format!("`{line}` stands in no section")));
        }
    }
    Ok(sections)
}

/// Fields and words of a line such as `vat DE: ust-id ustid`.
type Row = (Vec<String>, Vec<String>);

/// The rows of a table in their order.
fn rows(table: &str) -> io::Result<Vec<Row>> {
    let path = format!("data/tables/{table}.txt");
    lines(Path::new(&path))?
        .iter()
        .map(|line| row(line))
        .collect()
}

fn row(line: &str) -> io::Result<Row> {
    let (key, words) = line
        .split_once(':')
        .ok_or_else(|| invalid(&format!("`{line}` has no `:`")))?;
    Ok((tokens(key)?, tokens(words)?))
}

fn field(key: &[String], index: usize) -> io::Result<&str> {
    key.get(index)
        .map(String::as_str)
        .ok_or_else(|| invalid(&format!("`{}` has too few fields", key.join(" "))))
}

fn lines(path: &Path) -> io::Result<Vec<String>> {
    let text = fs::read_to_string(path)?;
    let lines = text.lines().map(str::trim_end);
    let lines = lines.filter(|line| !line.is_empty() && !line.starts_with('#'));
    Ok(lines.map(str::to_owned).collect())
}

/// Words between blanks; a word that starts with `"` ends with the next one and may contain blanks.
fn tokens(line: &str) -> io::Result<Vec<String>> {
    let mut words = Vec::new();
    let mut rest = line.trim();
    while !rest.is_empty() {
        let (word, after) = match rest.strip_prefix('"') {
            Some(quoted) => quoted
                .split_once('"')
                .ok_or_else(|| invalid(&format!("a quote is not closed in `{line}`")))?,
            None => rest.split_once(' ').unwrap_or((rest, "")),
        };
        words.push(word.to_owned());
        rest = after.trim_start();
    }
    Ok(words)
}

fn invalid(message: &str) -> io::Error {
    io::Error::new(io::ErrorKind::InvalidData, message)
}
