//! Tools that read the OpenAPI document, installed into `target/clients` for the tests of the
//! interface: validators, generators of clients for Python and TypeScript, and Schemathesis.

use std::time::Duration;

use anyhow::bail;

use crate::workshop::{self, NPM_MANIFESTS, NPM_PACKAGES, Sources, Workshop};

/// The oldest Python that every package in use runs on.
const PYTHON_MIN: (u32, u32) = (3, 10);
/// The packages of Python with their exact versions, what they depend on included.
const REQUIREMENTS: &str = "requirements.txt";
/// What Python installs into.
const ENVIRONMENT: &str = "venv";
/// Notes from which manifests the tools were installed. The tests' build script looks for it.
const READY: &str = "ready";

/// How long Python may take to make an environment, and pip to fetch 40 MB from a slow registry.
const ENVIRONMENT_LIMIT: Duration = Duration::from_secs(120);
const PIP_LIMIT: Duration = Duration::from_secs(420);

/// Installs the tools, unless `target/clients` has those of the present manifests.
pub(crate) fn install() -> anyhow::Result<()> {
    const LASTING: [&str; 3] = [NPM_PACKAGES, ENVIRONMENT, READY];
    let workshop = Workshop::new("tests/clients", "target/clients", &LASTING);
    let manifests = [&NPM_MANIFESTS[..], &[REQUIREMENTS]].concat();
    let sources = Sources::read(&workshop.sources)?.only(&manifests);
    let (node, python) = (workshop::node()?, python()?);
    let made_from = format!("{} {node} {python}", sources.all());
    if workshop.has(&workshop.work.join(ENVIRONMENT), READY, &made_from) {
        eprintln!("clients: target/clients is up to date");
        return Ok(());
    }
    workshop.copy(&sources)?;
    workshop.forget(READY)?;
    eprintln!("clients: npm ci");
    workshop.npm_ci()?;
    eprintln!("clients: pip install");
    let new = ["-m", "venv", "--clear", ENVIRONMENT];
    workshop.run("python3", &new, ENVIRONMENT_LIMIT)?;
    let pip = workshop.work.join(ENVIRONMENT).join("bin/pip");
    let all = [
        "install",
        "--quiet",
        "--no-deps",
        "--disable-pip-version-check",
        "-r",
        REQUIREMENTS,
    ];
    workshop.run(&pip.to_string_lossy(), &all, PIP_LIMIT)?;
    workshop.note(READY, &made_from)
}

/// The version of Python, when it is there, new enough, and can make environments.
fn python() -> anyhow::Result<String> {
    const ASK: &str = "run `apt-get install python3 python3-venv`";
    let python = workshop::version_of("python3", &["--version"], ASK)?;
    workshop::version_of("python3", &["-c", "import ensurepip, venv"], ASK)?;
    if workshop::first_two(&python).is_none_or(|found| found < PYTHON_MIN) {
        let (major, minor) = PYTHON_MIN;
        bail!("`python3` is `{python}`, and the packages in use need {major}.{minor} or newer");
    }
    Ok(python)
}
