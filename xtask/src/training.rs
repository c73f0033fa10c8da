//! Training of the models of `readability` and of the kinds of pages, in Python.

use std::process::Command;

use anyhow::ensure;

use crate::python::{self, ENVIRONMENT, REQUIREMENTS};
use crate::workshop::{Sources, Workshop};
use crate::workspace;

/// Notes from which requirements the packages were installed.
const READY: &str = "ready";
/// Where the programs put what comes in between.
const BETWEEN: &str = "between";
/// The models that are written.
const MODEL: &str = "plugins/filter-readability/src/model.rs";
const KINDS: &str = "plugins/lib/metadata/src/kind/weights.rs";

/// What is trained, and what is done with it.
#[derive(Debug, clap::Args)]
pub(crate) struct TrainingArguments {
    /// Folder with labelled pages: `dev/html`, `dev/ground-truth`, and `news` if there is one
    #[arg(long, value_name = "DIR")]
    data: String,
    /// Folds of the cross-validation; 0 for none
    #[arg(long, default_value_t = 5)]
    folds: u32,
    /// Print the figures without each family of features, too
    #[arg(long)]
    families: bool,
    /// Write the models that all pages make
    #[arg(long)]
    export: bool,
}

/// Builds the program that reads the pages, installs Python's packages into `target/training`,
/// and prints the figures of both models.
pub(crate) fn run(arguments: &TrainingArguments) -> anyhow::Result<()> {
    let data = std::path::absolute(&arguments.data)?;
    ensure!(
        data.join("dev/ground-truth").is_dir(),
        "`{}` has no dev/ground-truth",
        data.display()
    );
    let workshop = prepared()?;
    let build = [
        "build",
        "--release",
        "--package",
        "filter-readability",
        "--example",
        "dump",
    ];
    workspace::run(&mut workspace::cargo(&build))?;
    let root = workspace::root();
    // The kinds first: the model of articles is for the pages that they say are articles.
    for (program, written) in [("kinds.py", KINDS), ("train.py", MODEL)] {
        let mut command = Command::new(workshop.work.join(ENVIRONMENT).join("bin/python"));
        command
            .current_dir(&workshop.work)
            .arg(program)
            .arg("--data")
            .arg(&data)
            .arg("--dump")
            .arg(root.join("target/release/examples/dump"))
            .arg("--work")
            .arg(workshop.work.join(BETWEEN))
            .args(["--folds", &arguments.folds.to_string()]);
        if arguments.export {
            command.arg("--export").arg(root.join(written));
        }
        if arguments.families && program == "train.py" {
            command.arg("--families");
        }
        workspace::run(&mut command)?;
        if arguments.export {
            eprintln!("train: wrote {written}");
            workspace::run(&mut workspace::cargo(&build))?;
        }
    }
    Ok(())
}

/// The folder with the programs and Python's packages.
fn prepared() -> anyhow::Result<Workshop> {
    const LASTING: [&str; 3] = [ENVIRONMENT, BETWEEN, READY];
    let workshop = Workshop::new(
        "plugins/filter-readability/train",
        "target/training",
        &LASTING,
    );
    let sources = Sources::read(&workshop.sources)?;
    let made_from = format!("{} {}", sources.of(&[REQUIREMENTS]), python::version()?);
    workshop.copy(&sources)?;
    if !workshop.has(&workshop.work.join(ENVIRONMENT), READY, &made_from) {
        workshop.forget(READY)?;
        eprintln!("train: pip install");
        python::install(&workshop)?;
        workshop.note(READY, &made_from)?;
    }
    Ok(workshop)
}
