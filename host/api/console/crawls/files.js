// Pages of a crawl to take home: JSON lines, CSV, a zip of markdown files.

import { ask, withQuery } from "../views.js";
import { Zip, csvLine, fileName } from "./zip.js";

/** Pages that are read at once. */
const AT_ONCE = 100;

/**
 * Calls `each(entry)` for every stored page of a crawl, in order. `onprogress(n)` gets the number
 * of those so far; `signal` ends it.
 */
export async function entries(context, id, each, { onprogress, signal }) {
  const path = `/crawl/${encodeURIComponent(id)}/pages`;
  let [cursor, n] = [0, 0];
  for (;;) {
    const response = await ask(context, "GET", withQuery(path, { cursor, limit: AT_ONCE, follow: false }), undefined, { signal });
    for (const entry of response.json) each(entry);
    n += response.json.length;
    onprogress(n);
    const next = response.headers.get("x-next-cursor");
    // A crawl that runs always has a next cursor: what is stored so far ends without entries.
    if (next === null || response.json.length === 0) return n;
    cursor = Number(next);
  }
}

/** The content of an entry as one text; null if it has none that is text. */
export function contentOf({ content }) {
  if (typeof content === "string") return content;
  if (Array.isArray(content)) return content.map((part) => (typeof part === "string" ? part : JSON.stringify(part))).join("\n\n");
  if (content === null || content === undefined) return null;
  const first = content.markdown ?? content.commonmark ?? content.text;
  return typeof first === "string" ? first : JSON.stringify(content, null, 2);
}

/** Columns that every CSV begins with: a name, and what an entry has of it. */
const COLUMNS = [
  ["url", (entry) => entry.url],
  ["status", (entry) => entry.status],
  ["error", (entry) => entry.error],
  ["cause", (entry) => entry.cause],
  ["total_cost", (entry) => entry.costs?.total_cost],
  ["title", (entry) => entry.metadata?.title],
  ["description", (entry) => entry.metadata?.description],
];

/** One line for each page, and a column for each extracted field of any page. */
async function csv(context, id, hasContent, options) {
  const names = [];
  const rows = [];
  await entries(context, id, (entry) => {
    const fields = { ...entry.css_extracted, ...entry.extracted };
    for (const name of Object.keys(fields)) if (!names.includes(name)) names.push(name);
    const first = COLUMNS.map(([, of]) => of(entry));
    if (hasContent) first.push(contentOf(entry));
    rows.push([first, fields]);
  }, options);
  const value = (given) => (Array.isArray(given) && given.every((one) => typeof one !== "object") ? given.join("\n") : given);
  const head = [...COLUMNS.map(([name]) => name), ...(hasContent ? ["content"] : []), ...names];
  const lines = rows.map(([first, fields]) => csvLine([...first, ...names.map((name) => value(fields[name]))]));
  // Spreadsheets take the first bytes as the sign of UTF-8.
  return new Blob(["\ufeff", csvLine(head), ...lines], { type: "text/csv" });
}

async function jsonLines(context, id, options) {
  const lines = [];
  await entries(context, id, (entry) => lines.push(`${JSON.stringify(entry)}\n`), options);
  return new Blob(lines, { type: "application/jsonl" });
}

/** A file for each good page with content, in folders as on the site. */
async function zip(context, id, options) {
  const archive = new Zip();
  await entries(context, id, (entry) => {
    const text = entry.error === null ? contentOf(entry) : null;
    if (text === null || text === "") return;
    const title = entry.metadata?.title;
    const head = [`url: ${JSON.stringify(entry.url)}`, title && `title: ${JSON.stringify(title)}`].filter(Boolean);
    archive.add(fileName(entry.url, ".md"), `---\n${head.join("\n")}\n---\n\n${text}\n`);
  }, options);
  if (archive.length === 0) throw new Error("no page has content as text: begin the crawl with content as markdown");
  return archive.blob();
}

/** What can be taken home, by name: its label, the end of its file's name, and how it is made. */
export const FILES = {
  jsonl: { label: "JSON lines", ending: ".jsonl", make: jsonLines },
  csv: { label: "CSV", ending: ".csv", make: (context, id, options) => csv(context, id, false, options) },
  full: { label: "CSV with content", ending: ".csv", make: (context, id, options) => csv(context, id, true, options) },
  zip: { label: "Markdown files (zip)", ending: ".zip", make: zip },
};
