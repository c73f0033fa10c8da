//! Where things are in the image, and what differs between machines.

use std::fs;
use std::path::{Path, PathBuf};

use anyhow::{Context, bail};

/// User and group that the program runs as: one that no system gives to a person or a service.
pub(super) const USER: u32 = 10_001;
/// The data directory, which is a volume.
pub(super) const DATA: &str = "/var/lib/trawl";
/// The program in the image.
pub(super) const PROGRAM: &str = "/usr/bin/trawl";
/// Variables of the program.
pub(super) const ENVIRONMENT: [(&str, &str); 4] = [
    ("PATH", "/usr/bin:/bin"),
    ("HOME", DATA),
    ("TRAWL_DATA", DATA),
    ("TRAWL_LISTEN", "0.0.0.0:8700"),
];

/// What differs between machines.
#[derive(Debug)]
pub(super) struct Machine {
    /// Debian's name of the architecture, which is also the one of images.
    pub(super) architecture: &'static str,
    /// Name of the folders of its libraries.
    pub(super) libraries: &'static str,
    /// The program that loads libraries.
    pub(super) loader: &'static str,
}

static MACHINES: [(&str, Machine); 2] = [
    (
        "x86_64",
        Machine {
            architecture: "amd64",
            libraries: "x86_64-linux-gnu",
            loader: "lib64/ld-linux-x86-64.so.2",
        },
    ),
    (
        "aarch64",
        Machine {
            architecture: "arm64",
            libraries: "aarch64-linux-gnu",
            loader: "lib/ld-linux-aarch64.so.1",
        },
    ),
];

/// The machine that this runs on, for which the image is.
pub(super) fn machine() -> anyhow::Result<&'static Machine> {
    let name = std::env::consts::ARCH;
    let found = MACHINES.iter().find(|(known, _)| *known == name);
    match found {
        Some((_, machine)) => Ok(machine),
        None => bail!("there is no image for machines of the kind `{name}`"),
    }
}

/// The folder, without what an earlier run left in it.
pub(super) fn emptied(folder: &Path) -> anyhow::Result<PathBuf> {
    if folder.exists() {
        fs::remove_dir_all(folder)
            .with_context(|| format!("cannot empty `{}`", folder.display()))?;
    }
    fs::create_dir_all(folder).with_context(|| format!("cannot create `{}`", folder.display()))?;
    Ok(folder.to_path_buf())
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_folder_is_emptied_and_made() {
        let dir = tempfile::tempdir().expect("a folder");
        let folder = dir.path().join("a/b");
        emptied(&folder).expect("made");
        fs::write(folder.join("old"), "").expect("written");
        emptied(&folder).expect("emptied");
        assert_eq!(fs::read_dir(&folder).expect("a folder").count(), 0);
    }
}
