// The chunks of a page: in place, one after the other as they make up the content, and as a list.

import { count, h } from "../ui.js";
import { TEXT_MAX, chunkText, found, overlap, source } from "./text.js";

/** Characters of a chunk that the next one is compared with. */
const OVERLAP_MAX = 2000;

/** The content with its chunks in turns of two colours; what two of them share is marked. */
function inPlace(chunks) {
  const pieces = [];
  let length = 0;
  let before = "";
  for (const [at, text] of chunks.entries()) {
    if (length > TEXT_MAX) break;
    const shared = overlap(before.slice(-OVERLAP_MAX), text.slice(0, OVERLAP_MAX));
    const title = `Chunk ${count(at + 1)}: ${count(text.length)} characters${shared > 0 ? `, ${count(shared)} of them of the one before` : ""}`;
    pieces.push(h("span", { class: `chunk chunk-${at % 2}`, title }, h("span", { class: "chunk-number" }, count(at + 1)),
      shared > 0 && h("mark", {}, text.slice(0, shared)), text.slice(shared)));
    [length, before] = [length + text.length, text];
  }
  return [
    h("pre", { class: "wrap", tabindex: 0 }, pieces),
    pieces.length < chunks.length && h("p", { class: "note" }, `The first ${count(pieces.length)} of ${count(chunks.length)} chunks; the list has all.`),
  ];
}

/** The view. */
export function chunksView(chunks) {
  const columns = [
    { label: "#", cell: (row) => count(row.at + 1), width: "4rem", isNumber: true },
    { label: "Characters", cell: (row) => count(row.text.length), width: "6rem", isNumber: true },
    { label: "Begins with", cell: (row) => row.text.slice(0, 300).replaceAll(/\s+/g, " ") },
  ];
  const rows = chunks.map((chunk, at) => ({ at, text: chunkText(chunk) }));
  const shown = h("div", { "aria-live": "polite" });
  const show = (row) => shown.replaceChildren(h("h3", {}, `Chunk ${count(row.at + 1)}`), source(row.text));
  return [
    h("h3", {}, "In place"), inPlace(rows.map(({ text }) => text)),
    h("h3", {}, "As a list"), found("Chunks", columns, rows, show), shown,
  ].flat(2).filter(Boolean);
}
