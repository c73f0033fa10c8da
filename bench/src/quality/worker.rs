//! Worker process of a scorer: reads one JSON line per page and writes its markdown as JSON.

use std::io::{BufRead, Write};

use serde_json::{Value, json};

use crate::transformer::Transformer;

/// Serves requests from stdin until its end.
pub(super) fn run(transformer: &Transformer) -> anyhow::Result<()> {
    let plan = transformer.plan(json!({"return_format": "markdown"}))?;
    let mut out = std::io::stdout().lock();
    for line in std::io::stdin().lock().lines() {
        let request: Value = serde_json::from_str(&line?)?;
        let text = |name: &str| request[name].as_str().unwrap_or_default().to_owned();
        let body = std::fs::read(text("path"))?;
        let (markdown, cpu) = transformer.text(&text("url"), &body, &plan)?;
        let ms = cpu.transform.as_secs_f64() * 1e3;
        writeln!(
            out,
            "{}",
            json!({"id": text("id"), "text": markdown, "ms": ms})
        )?;
        out.flush()?;
    }
    Ok(())
}
