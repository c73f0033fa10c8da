//! What makes a root of unpacked packages: folders, accounts, certificates; and whether each
//! program finds its libraries in it.

use std::fs;
use std::path::{Path, PathBuf};
use std::process::Command;

use anyhow::{Context, bail};

use super::settings::{DATA, Machine, USER};
use crate::workspace;

/// The browser below the root.
pub(super) const BROWSER: &str = "usr/lib/chromium/chromium-headless-shell";
/// Certificates of authorities, a file each, and the file that programs read.
const AUTHORITIES: &str = "usr/share/ca-certificates/mozilla";
const CERTIFICATES: &str = "etc/ssl/certs/ca-certificates.crt";
/// Folders on which a container's file systems are mounted.
const MOUNTS: [&str; 7] = ["dev", "mnt", "proc", "run", "sys", "tmp", "var/tmp"];
/// Documentation below `usr/share` that no program reads. Licences stay, in `doc/*/copyright`.
const UNREAD: [&str; 5] = ["bug", "info", "lintian", "locale", "man"];
/// Validates calls of graphics libraries while they are developed.
const UNUSED: &str = "usr/lib/chromium/libVkLayer_khronos_validation.so";

/// Makes a root of what the packages have unpacked.
pub(super) fn complete(root: &Path) -> anyhow::Result<()> {
    for mount in MOUNTS.iter().copied().chain([DATA]) {
        fs::create_dir_all(root.join(mount.trim_start_matches('/')))?;
    }
    let accounts = format!(
        "root:x:0:0::/:/usr/sbin/nologin\ntrawl:x:{USER}:{USER}::{DATA}:/usr/sbin/nologin\n"
    );
    write(root, "etc/passwd", &accounts)?;
    write(root, "etc/group", &format!("root:x:0:\ntrawl:x:{USER}:\n"))?;
    write(root, "etc/nsswitch.conf", "hosts: files dns\n")?;
    write(root, CERTIFICATES, &certificates(&root.join(AUTHORITIES))?)?;
    remove_unread(root)
}

fn write(root: &Path, name: &str, text: &str) -> anyhow::Result<()> {
    let file = root.join(name);
    if let Some(folder) = file.parent() {
        fs::create_dir_all(folder)?;
    }
    fs::write(&file, text).with_context(|| format!("cannot write `{}`", file.display()))
}

/// All certificates of a folder in one text, in order of their names, which is what the script of
/// their package makes.
fn certificates(folder: &Path) -> anyhow::Result<String> {
    let mut text = String::new();
    for file in sorted(folder)? {
        let certificate = fs::read_to_string(&file)?;
        text.push_str(certificate.trim_end());
        text.push('\n');
    }
    if !text.contains("BEGIN CERTIFICATE") {
        bail!("`{}` has no certificates", folder.display());
    }
    Ok(text)
}

fn remove_unread(root: &Path) -> anyhow::Result<()> {
    let share = root.join("usr/share");
    for name in UNREAD {
        let folder = share.join(name);
        if folder.is_dir() {
            fs::remove_dir_all(folder)?;
        }
    }
    let unused = root.join(UNUSED);
    if unused.is_file() {
        fs::remove_file(unused)?;
    }
    for package in sorted(&share.join("doc"))? {
        if package.is_symlink() {
            continue;
        }
        for file in sorted(&package)? {
            if file.file_name().is_some_and(|name| name == "copyright") {
                continue;
            }
            match file.is_dir() && !file.is_symlink() {
                true => fs::remove_dir_all(file)?,
                false => fs::remove_file(file)?,
            }
        }
    }
    Ok(())
}

/// What is in a folder, in order of the names.
pub(super) fn sorted(folder: &Path) -> anyhow::Result<Vec<PathBuf>> {
    let entries = fs::read_dir(folder)
        .with_context(|| format!("cannot read the folder `{}`", folder.display()))?;
    let paths = entries.map(|entry| Ok(entry?.path()));
    let mut paths = paths.collect::<anyhow::Result<Vec<_>>>()?;
    paths.sort();
    Ok(paths)
}

/// Checks that these programs find all of their libraries below the root, with the root's own
/// loader.
///
/// # Errors
/// A library is missing; it is named.
pub(super) fn check_libraries(
    root: &Path,
    machine: &Machine,
    programs: &[&Path],
) -> anyhow::Result<()> {
    let folders = ["lib", "usr/lib"].map(|lib| root.join(lib).join(machine.libraries));
    let folders = folders.map(|folder| folder.display().to_string()).join(":");
    for program in programs {
        let mut command = Command::new(root.join(machine.loader));
        command
            .args(["--inhibit-cache", "--library-path", &folders, "--list"])
            .arg(program);
        let output = command
            .output()
            .with_context(|| format!("cannot start `{}`", workspace::in_words(&command)))?;
        let listed = String::from_utf8_lossy(&output.stdout);
        let missing = missing(&listed, root);
        if !missing.is_empty() || !output.status.success() {
            bail!(
                "in the image `{}` lacks libraries: {} {}",
                program.display(),
                missing.join(", "),
                String::from_utf8_lossy(&output.stderr).trim()
            );
        }
    }
    Ok(())
}

/// The libraries in the loader's list, `NAME => FILE (ADDRESS)`, that are not below the root. A
/// library may name a folder of its own, which the loader looks for on this machine: then the file
/// must exist below the root as well.
fn missing(listed: &str, root: &Path) -> Vec<String> {
    let is_missing = |file: &str| {
        let path = file.split(" (").next().unwrap_or_default();
        let is_inside = Path::new(path).starts_with(root);
        !is_inside && !root.join(path.trim_start_matches('/')).is_file()
    };
    let resolved = listed
        .lines()
        .filter_map(|line| line.trim().split_once(" => "));
    resolved
        .filter(|(_, file)| *file == "not found" || is_missing(file))
        .map(|(name, _)| name.to_owned())
        .collect()
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn libraries_outside_of_the_root_are_missing() {
        let root = tempfile::tempdir().expect("a folder");
        let own = root.path().join("usr/lib/pulse");
        fs::create_dir_all(&own).expect("made");
        fs::write(own.join("libown.so"), "").expect("written");
        let inside = root.path().join("lib/libc.so.6");
        let listed = format!(
            "\tlinux-vdso.so.1 (0x1)\n\tlibc.so.6 => {} (0x2)\n\tlibown.so => /usr/lib/pulse/libown.so (0x3)\n\
             \tlibgone.so => not found\n\tlibhost.so => /usr/lib/libhost.so (0x4)\n",
            inside.display()
        );
        assert_eq!(missing(&listed, root.path()), ["libgone.so", "libhost.so"]);
    }

    #[test]
    fn a_root_has_accounts_certificates_and_licences() {
        let root = tempfile::tempdir().expect("a folder");
        let root = root.path();
        write(root, "usr/share/doc/dash/copyright", "a licence").expect("written");
        write(root, "usr/share/doc/dash/changelog.gz", "changes").expect("written");
        write(root, "usr/share/man/man1/dash.1.gz", "a page").expect("written");
        for name in ["b.crt", "a.crt"] {
            let text = format!("-----BEGIN CERTIFICATE-----{name}\n\n");
            write(root, &format!("{AUTHORITIES}/{name}"), &text).expect("written");
        }
        complete(root).expect("a root");
        let read = |name: &str| fs::read_to_string(root.join(name)).expect(name);
        assert!(read("etc/passwd").contains("trawl:x:10001:10001:"));
        assert_eq!(
            read(CERTIFICATES),
            "-----BEGIN CERTIFICATE-----a.crt\n-----BEGIN CERTIFICATE-----b.crt\n"
        );
        assert_eq!(read("usr/share/doc/dash/copyright"), "a licence");
        assert!(!root.join("usr/share/doc/dash/changelog.gz").exists());
        assert!(!root.join("usr/share/man").exists());
        assert!(root.join("var/lib/trawl").is_dir() && root.join("proc").is_dir());
    }

    #[test]
    fn a_root_without_certificates_is_refused() {
        let root = tempfile::tempdir().expect("a folder");
        fs::create_dir_all(root.path().join(AUTHORITIES)).expect("made");
        let error = certificates(&root.path().join(AUTHORITIES)).expect_err("none");
        assert!(error.to_string().contains("no certificates"), "{error}");
    }
}
