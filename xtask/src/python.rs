//! Python and its packages, for tests that hold the server against tools of others.

use std::time::Duration;

use anyhow::bail;

use crate::workshop::{self, Workshop};

/// The oldest Python that every package in use runs on.
const PYTHON_MIN: (u32, u32) = (3, 10);
/// The packages of Python with their exact versions, what they depend on included.
pub(crate) const REQUIREMENTS: &str = "requirements.txt";
/// What Python installs into.
pub(crate) const ENVIRONMENT: &str = "venv";

/// How long Python may take to make an environment, and pip to fetch 40 MB from a slow registry.
const ENVIRONMENT_LIMIT: Duration = Duration::from_secs(120);
const PIP_LIMIT: Duration = Duration::from_secs(420);

/// The version of Python, when it is there, new enough, and can make environments.
pub(crate) fn version() -> anyhow::Result<String> {
    const ASK: &str = "run `apt-get install python3 python3-venv`";
    let python = workshop::version_of("python3", &["--version"], ASK)?;
    workshop::version_of("python3", &["-c", "import ensurepip, venv"], ASK)?;
    if workshop::first_two(&python).is_none_or(|found| found < PYTHON_MIN) {
        let (major, minor) = PYTHON_MIN;
        bail!("`python3` is `{python}`, and the packages in use need {major}.{minor} or newer");
    }
    Ok(python)
}

/// Makes a new environment in the workshop and installs the packages of its requirements.
pub(crate) fn install(workshop: &Workshop) -> anyhow::Result<()> {
    let new = ["-m", "venv", "--clear", ENVIRONMENT];
    workshop.run("python3", &new, ENVIRONMENT_LIMIT)?;
    pip(
        workshop,
        &["install", "--quiet", "--no-deps", "-r", REQUIREMENTS],
    )
}

/// Runs pip of the environment in the workshop.
pub(crate) fn pip(workshop: &Workshop, arguments: &[&str]) -> anyhow::Result<()> {
    let program = workshop.work.join(ENVIRONMENT).join("bin/pip");
    let all = [&["--disable-pip-version-check"], arguments].concat();
    workshop
        .run(&program.to_string_lossy(), &all, PIP_LIMIT)
        .map(drop)
}
