//! Judges that are programs in Python: a question is a line of JSON, and so is the answer.

use std::io::{BufRead, BufReader, Write};
use std::path::Path;
use std::process::{Child, ChildStdin, ChildStdout, Command, Stdio};

use serde_json::Value;

/// The programs, and what `cargo xtask judges` installed for them.
const PROGRAMS: &str = concat!(env!("CARGO_MANIFEST_DIR"), "/conformance/judges");
const PYTHON: &str = concat!(
    env!("CARGO_MANIFEST_DIR"),
    "/../target/conformance/venv/bin/python"
);

/// A running judge.
pub(crate) struct PythonJudge {
    child: Child,
    questions: ChildStdin,
    answers: BufReader<ChildStdout>,
}

impl PythonJudge {
    /// Starts a program of the folder `judges`.
    ///
    /// # Panics
    /// When Python does not start.
    pub(crate) fn start(program: &str) -> Self {
        let mut child = Command::new(PYTHON)
            .arg(Path::new(PROGRAMS).join(program))
            .env("PYTHONDONTWRITEBYTECODE", "1")
            .env("PYTHONIOENCODING", "utf-8")
            .stdin(Stdio::piped())
            .stdout(Stdio::piped())
            .spawn()
            .expect("the judges' Python: run `cargo xtask judges`");
        let questions = child.stdin.take().expect("a pipe");
        let answers = BufReader::new(child.stdout.take().expect("a pipe"));
        Self {
            child,
            questions,
            answers,
        }
    }

    /// The judge's answer to a question.
    ///
    /// # Panics
    /// When the judge ended; its reason is on standard error.
    pub(crate) fn ask(&mut self, question: &Value) -> Value {
        let line = format!("{question}\n");
        let sent = self.questions.write_all(line.as_bytes());
        sent.expect("a judge that reads");
        let mut answer = String::new();
        self.answers.read_line(&mut answer).expect("an answer");
        serde_json::from_str(&answer).unwrap_or_else(|error| panic!("{error}: {answer}"))
    }
}

impl Drop for PythonJudge {
    fn drop(&mut self) {
        // It may have ended.
        let _killed = self.child.kill();
        let _ended = self.child.wait();
    }
}
