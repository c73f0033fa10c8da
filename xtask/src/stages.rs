//! A run of stages, each named and timed; the first failure ends it.

use std::time::{Duration, Instant};

use anyhow::Context;

/// The stages that have passed.
#[derive(Debug, Default)]
pub(crate) struct Stages {
    passed: Vec<(&'static str, Duration)>,
}

impl Stages {
    /// Runs one stage under a heading.
    pub(crate) fn run<T>(
        &mut self,
        name: &'static str,
        stage: impl FnOnce() -> anyhow::Result<T>,
    ) -> anyhow::Result<T> {
        eprintln!("\n=== {name}");
        let start = Instant::now();
        let result = stage().with_context(|| format!("stage `{name}` failed"))?;
        let took = start.elapsed();
        eprintln!("=== {name}: {:.1} s", took.as_secs_f64());
        self.passed.push((name, took));
        Ok(result)
    }

    /// One line with every stage and its time.
    pub(crate) fn summary(&self) -> String {
        let each = self
            .passed
            .iter()
            .map(|(name, took)| format!("{name} {:.1} s", took.as_secs_f64()));
        each.collect::<Vec<_>>().join(", ")
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_failure_names_its_stage() {
        let mut stages = Stages::default();
        stages.run("first", || Ok(())).expect("passes");
        let error = stages
            .run("second", || Err::<(), _>(anyhow::anyhow!("broken")))
            .expect_err("fails");
        assert_eq!(format!("{error:#}"), "stage `second` failed: broken");
        assert!(
            stages.summary().starts_with("first "),
            "{}",
            stages.summary()
        );
    }
}
