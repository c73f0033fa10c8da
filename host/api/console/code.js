// A request in other languages. The key is an environment variable of the reader's.

/** A word for a shell. */
const quoted = (text) => `'${text.replaceAll("'", "'\\''")}'`;

/** A value as Python writes it. */
export function python(value, indent = "") {
  const inner = `${indent}    `;
  if (value === null) return "None";
  if (value === true) return "True";
  if (value === false) return "False";
  if (Array.isArray(value)) {
    if (value.length === 0) return "[]";
    return `[\n${value.map((item) => `${inner}${python(item, inner)},\n`).join("")}${indent}]`;
  }
  if (typeof value === "object") {
    const entries = Object.entries(value);
    if (entries.length === 0) return "{}";
    return `{\n${entries.map(([name, item]) => `${inner}${JSON.stringify(name)}: ${python(item, inner)},\n`).join("")}${indent}}`;
  }
  // Numbers, and texts: every escape of JSON is one of Python.
  return JSON.stringify(value);
}

/** A value within `json!`. */
export function rust(value, indent = "") {
  const inner = `${indent}    `;
  if (Array.isArray(value)) {
    if (value.length === 0) return "[]";
    return `[\n${value.map((item) => `${inner}${rust(item, inner)},\n`).join("")}${indent}]`;
  }
  if (value !== null && typeof value === "object") {
    const entries = Object.entries(value);
    if (entries.length === 0) return "{}";
    return `{\n${entries.map(([name, item]) => `${inner}${rust(name)}: ${rust(item, inner)},\n`).join("")}${indent}}`;
  }
  if (typeof value !== "string") return JSON.stringify(value);
  // Rust has no \b, \f and \u0000.
  const text = JSON.stringify(value).replace(/\\(\\|b|f|u([0-9a-f]{4}))/g, (all, name, code) => {
    if (name === "\\") return all;
    return `\\u{${code ?? { b: "8", f: "c" }[name]}}`;
  });
  return text;
}

/** A program by the language that it is in. */
const CODE = {
  curl: (url, body) => [
    `curl -s ${quoted(url)} \\`,
    `  -H "Authorization: Bearer $TRAWL_KEY" \\`,
    "  -H 'Content-Type: application/json' \\",
    `  -d ${quoted(JSON.stringify(body, null, 2))}`,
  ].join("\n"),
  Python: (url, body) => [
    "import os",
    "",
    "import requests",
    "",
    "response = requests.post(",
    `    ${JSON.stringify(url)},`,
    '    headers={"Authorization": f"Bearer {os.environ[\'TRAWL_KEY\']}"},',
    `    json=${python(body, "    ")},`,
    "    timeout=120,",
    ")",
    "response.raise_for_status()",
    "print(response.json())",
  ].join("\n"),
  JavaScript: (url, body) => [
    `const response = await fetch(${JSON.stringify(url)}, {`,
    '  method: "POST",',
    "  headers: {",
    "    Authorization: `Bearer ${process.env.TRAWL_KEY}`,",
    '    "Content-Type": "application/json",',
    "  },",
    `  body: JSON.stringify(${JSON.stringify(body, null, 2).replaceAll("\n", "\n  ")}),`,
    "});",
    "if (!response.ok) throw new Error(await response.text());",
    "console.log(await response.json());",
  ].join("\n"),
  Rust: (url, body) => [
    "// [dependencies]",
    '// reqwest = { version = "0.12", features = ["blocking", "json"] }',
    '// serde_json = "1"',
    "use std::time::Duration;",
    "",
    "use serde_json::{Value, json};",
    "",
    "fn main() -> Result<(), Box<dyn std::error::Error>> {",
    '    let key = std::env::var("TRAWL_KEY")?;',
    "    let client = reqwest::blocking::Client::builder()",
    "        .timeout(Duration::from_secs(120))",
    "        .build()?;",
    "    let answer: Value = client",
    `        .post(${rust(url)})`,
    "        .bearer_auth(key)",
    `        .json(&json!(${rust(body, "        ")}))`,
    "        .send()?",
    "        .error_for_status()?",
    "        .json()?;",
    '    println!("{answer:#}");',
    "    Ok(())",
    "}",
  ].join("\n"),
};

/** The languages in which a request is written. */
export const languages = Object.keys(CODE);

/** A POST of `body` to `url` as a program in a language. */
export const code = (language, url, body) => CODE[language](url, body);
