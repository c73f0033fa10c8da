//! Debian's packages of the image, from the sources that this machine's `apt` knows.

use std::collections::{BTreeMap, BTreeSet};
use std::fs;
use std::path::{Path, PathBuf};
use std::process::Command;

use anyhow::{Context, bail};

use super::settings::emptied;
use crate::workspace;

/// What the image has of Debian, together with what these packages depend on: the browser, the
/// shell that starts it, the libraries of the program, certificates, and fonts for most scripts.
const WANTED: [&str; 9] = [
    "chromium-headless-shell",
    "dash",
    "libc6",
    "libgcc-s1",
    "ca-certificates",
    "fonts-liberation",
    "fonts-noto-core",
    "fonts-noto-cjk",
    "fonts-noto-color-emoji",
];

/// Dependencies of scripts that run when a package is installed, or of desktops: in an image they
/// are never used, and one of them brings a compiler of graphics code along.
const NEEDLESS: [&str; 9] = [
    "cdebconf",
    "debconf",
    "debianutils",
    "dpkg",
    "install-info",
    "openssl",
    "readline-common",
    "x11-utils",
    "xdg-utils",
];

/// Only what a package cannot do without.
const STRICTLY: [&str; 6] = [
    "--no-recommends",
    "--no-suggests",
    "--no-conflicts",
    "--no-breaks",
    "--no-replaces",
    "--no-enhances",
];

/// Downloads the packages that are not in `folder/packages` in their newest version yet. Returns
/// all of them.
pub(super) fn download(folder: &Path) -> anyhow::Result<Vec<PathBuf>> {
    let names: Vec<String> = Dependencies::ask()?.of(&WANTED).into_iter().collect();
    // In a folder that has a package, apt prints nothing for it.
    let none = emptied(&folder.join("none"))?;
    let urls = output(
        apt("apt-get", &["download", "--print-uris"])
            .args(&names)
            .current_dir(none),
    )?;
    let files = file_names(&urls)?;
    if files.len() != names.len() {
        bail!(
            "apt knows {} of {} packages: run `apt-get update`",
            files.len(),
            names.len()
        );
    }
    let packages = folder.join("packages");
    fs::create_dir_all(&packages)?;
    workspace::run(
        apt("apt-get", &["download", "--quiet", "--quiet"])
            .args(&names)
            .current_dir(&packages),
    )
    .context("apt cannot download the packages of the image, run `apt-get update` first")?;
    Ok(files.iter().map(|file| packages.join(file)).collect())
}

/// Unpacks the files of a package below `root`. Its scripts do not run.
pub(super) fn unpack(package: &Path, root: &Path) -> anyhow::Result<()> {
    workspace::run(
        Command::new("dpkg-deb")
            .arg("--extract")
            .arg(package)
            .arg(root),
    )
}

/// A command of apt whose output is the same on every machine.
fn apt(program: &str, arguments: &[&str]) -> Command {
    let mut command = Command::new(program);
    command.args(arguments).env("LC_ALL", "C");
    command
}

/// What a command prints.
fn output(command: &mut Command) -> anyhow::Result<String> {
    let line = workspace::in_words(command);
    let output = command
        .output()
        .with_context(|| format!("cannot start `{line}`: the image is made on Debian"))?;
    if !output.status.success() {
        let errors = String::from_utf8_lossy(&output.stderr);
        bail!("`{line}` failed: {}", errors.trim());
    }
    Ok(String::from_utf8_lossy(&output.stdout).into_owned())
}

/// The files in the lines of `apt-get download --print-uris`: `'URL' FILE SIZE HASH`.
fn file_names(urls: &str) -> anyhow::Result<Vec<String>> {
    let name = |line: &str| {
        let name = line.split(' ').nth(1)?;
        let is_package = name.ends_with(".deb") && !name.contains('/');
        is_package.then(|| name.to_owned())
    };
    let names = urls.lines().filter(|line| !line.is_empty());
    names
        .map(|line| name(line).with_context(|| format!("apt printed `{line}`")))
        .collect()
}

/// What each package depends on: for each dependency the packages that satisfy it, the preferred
/// one first.
#[derive(Debug, Default)]
struct Dependencies(BTreeMap<String, Vec<Vec<String>>>);

impl Dependencies {
    /// Asks apt about the packages of the image.
    fn ask() -> anyhow::Result<Self> {
        let mut command = apt("apt-cache", &["depends", "--recurse"]);
        let text = output(command.args(STRICTLY).args(WANTED))?;
        Ok(Self::read(&text))
    }

    /// Reads the output of `apt-cache depends --recurse`: below the name of a package a line for
    /// each dependency. `|` before it says that the next line is an alternative; the lines below a
    /// `<virtual>` one are the packages that provide it.
    fn read(text: &str) -> Self {
        let mut all = BTreeMap::new();
        let mut of: &mut Vec<Vec<String>> = all.entry(String::new()).or_default();
        let mut is_alternative = false;
        for line in text.lines() {
            let name = line.trim();
            let kind = line.trim_start_matches([' ', '|']).split_once(": ");
            if !line.starts_with(' ') {
                of = all.entry(name.to_owned()).or_default();
                is_alternative = false;
            } else if let Some((_, dependency)) = kind {
                if !is_alternative {
                    of.push(Vec::new());
                }
                is_alternative = line.starts_with(" |");
                add(of, dependency.trim());
            } else {
                add(of, name);
            }
        }
        Self(all)
    }

    /// These packages and all that they need.
    fn of(&self, wanted: &[&str]) -> BTreeSet<String> {
        let mut found = BTreeSet::new();
        let mut waiting: Vec<String> = wanted.iter().map(|&name| name.to_owned()).collect();
        while let Some(package) = waiting.pop() {
            if NEEDLESS.contains(&package.as_str()) || found.contains(&package) {
                continue;
            }
            let needs = self.0.get(&package).into_iter().flatten();
            waiting.extend(needs.filter_map(|choices| choices.first().cloned()));
            found.insert(package);
        }
        found
    }
}

/// Adds a package to the alternatives of the last dependency, unless it is a virtual one.
fn add(dependencies: &mut [Vec<String>], package: &str) {
    if let Some(last) = dependencies.last_mut()
        && !package.starts_with('<')
    {
        last.push(package.to_owned());
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    const PRINTED: &str = "\
chromium-headless-shell
  Depends: libc6
 |Depends: fonts-dejavu-core
 |Depends: ttf-bitstream-vera
  Depends: fonts-liberation
  Depends: x11-utils
  Depends: <mail-agent>
    postfix
    exim4
libc6
  PreDepends: libgcc-s1
 |Depends: debconf
  Depends: <debconf-2.0>
    cdebconf
    debconf
libgcc-s1
  Depends: libc6
x11-utils
  Depends: libgl1
<mail-agent>
";

    #[test]
    fn the_first_choice_of_each_dependency_comes_along() {
        let needed = Dependencies::read(PRINTED).of(&["chromium-headless-shell"]);
        let expected = [
            "chromium-headless-shell",
            "fonts-dejavu-core",
            "libc6",
            "libgcc-s1",
            "postfix",
        ];
        assert_eq!(needed, BTreeSet::from(expected.map(str::to_owned)));
    }

    #[test]
    fn files_are_read_from_what_apt_prints() {
        let printed = "'http://a.example/pool/dash_0.5-2_amd64.deb' dash_0.5-2_amd64.deb 100 SHA256:ab\n\
                       'http://a.example/f_1.07_all.deb' f_1%3a1.07_all.deb 5 SHA256:cd\n";
        let expected = ["dash_0.5-2_amd64.deb", "f_1%3a1.07_all.deb"];
        assert_eq!(file_names(printed).expect("two files"), expected);
        for wrong in ["W: a warning", "'u' ../x.deb 1 SHA256:ab"] {
            assert!(file_names(wrong).is_err(), "{wrong}");
        }
    }
}
