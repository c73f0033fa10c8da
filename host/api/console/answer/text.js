// Pieces of content as texts and documents of the console.

import { bytes, copyButton, count, download, h, table } from "../ui.js";

/** Longest text that is shown at once, in characters. */
export const TEXT_MAX = 200_000;

export const isChunks = (piece) => Array.isArray(piece) && typeof piece[0] !== "number";
export const isBytes = (piece) => Array.isArray(piece) && typeof piece[0] === "number";

/** A chunk as text. */
export const chunkText = (chunk) => (typeof chunk === "string" ? chunk : JSON.stringify(chunk, null, 2));

/** How much of the end of a text the next one begins with, in characters. */
export function overlap(text, next) {
  for (let n = Math.min(text.length, next.length); n > 0; n -= 1) {
    if (text.endsWith(next.slice(0, n))) return n;
  }
  return 0;
}

/** A piece of content as text. Chunks follow each other without anything in between. */
export function textOf(piece) {
  if (typeof piece === "string") return piece;
  if (isChunks(piece)) return piece.map(chunkText).join(piece.every((chunk) => typeof chunk === "string") ? "" : "\n\n");
  return JSON.stringify(piece, null, 2) ?? "";
}

/** The names of the contents that are texts. */
export const textNames = (contents) => [...contents.keys()].filter((name) => name !== "screenshot" && name !== "empty");

/** A text of which the rest is shown when it is asked for. `make(text)` returns its nodes. */
export function long(text, make, most = TEXT_MAX) {
  if (text.length <= most) return make(text);
  const box = h("div", {});
  const rest = h("button", { type: "button", onclick: () => box.replaceChildren(...[make(text)].flat()) }, "Show all");
  box.append(h("p", { class: "note" }, `The first ${count(most)} of ${count(text.length)} characters. `, rest), ...[make(text.slice(0, most))].flat());
  return box;
}

export const source = (text) => long(text, (shown) => h("pre", { class: "wrap", tabindex: 0 }, shown));

/** A value as JSON that is read by people. */
export const json = (value) => source(JSON.stringify(value, null, 2));

/** Buttons that copy and save a text. */
export function actions(text, name, mediaType) {
  return h("div", { class: "buttons" }, copyButton(() => text),
    h("button", { type: "button", onclick: () => download(name, mediaType, text) }, "Save"),
    h("small", {}, `${count(text.length)} characters, ${bytes(new Blob([text]).size)}`));
}

/** Rows with a field that finds some of them. */
export function found(label, columns, rows, onopen) {
  const { element, set } = table(columns, { label, onopen, nothing: "No row has this text." });
  set(rows);
  const said = h("small", { role: "status" }, count(rows.length));
  const search = h("input", { type: "search", placeholder: "Find", "aria-label": `Find in ${label}`, spellcheck: "false", oninput: () => {
    const wanted = search.value.toLowerCase();
    const some = rows.filter((row) => JSON.stringify(row).toLowerCase().includes(wanted));
    said.textContent = `${count(some.length)} of ${count(rows.length)}`;
    set(some);
  } });
  return h("div", {}, h("div", { class: "find" }, search, said), element);
}
