// Markdown as nodes of the document. It is foreign text: no part of it becomes markup, URLs lead to
// web pages or to nothing, pictures are named but not loaded. Every step looks a bounded way ahead.

import { h } from "./ui.js";

/** Lists and quotes within each other; deeper ones are text. */
const DEPTH_MAX = 12;
/** Longest text within emphasis, code or the brackets of a link, in characters. */
const SPAN_MAX = 1000;
/** Longest destination of a link. */
const URL_MAX = 4000;

const ENTITIES = { amp: "&", lt: "<", gt: ">", quot: '"', "#39": "'", nbsp: "\u00a0" };

/** The URL as a link may have it, or undefined if it leads to no web page. */
export function safeUrl(text, base) {
  const url = URL.canParse(text, base) ? new URL(text, base) : undefined;
  return url && ["http:", "https:", "mailto:"].includes(url.protocol) ? url.href : undefined;
}

/** A link that tells the other site nothing. */
export function link(url, base, ...children) {
  const href = safeUrl(url, base);
  if (href === undefined) return h("span", {}, children);
  return h("a", { href, target: "_blank", rel: "noopener noreferrer nofollow" }, children);
}

/** The end of what begins with `open` at `at`, past its `close`; -1 if there is none nearby. */
function matching(text, at, open, close, most) {
  let depth = 0;
  const end = Math.min(text.length, at + most);
  for (let place = at; place < end; place += 1) {
    if (text[place] === "\\") place += 1;
    else if (text[place] === open) depth += 1;
    else if (text[place] === close && (depth -= 1) === 0) return place + 1;
  }
  return -1;
}

/** A link or an image at `at`: its label, its destination and its end. */
function linkAt(text, at) {
  const label = matching(text, at, "[", "]", SPAN_MAX);
  if (label < 0 || text[label] !== "(") return undefined;
  const end = matching(text, label, "(", ")", URL_MAX);
  if (end < 0) return undefined;
  const inside = text.slice(label + 1, end - 1).trim();
  const url = inside.startsWith("<") ? inside.slice(1).split(">")[0] : inside.split(/\s/)[0];
  return { label: text.slice(at + 1, label - 1), url: url.replace(/\\([!-/:-@[-`{-~])/g, "$1"), end };
}

const SPANS = [
  [/\\([!-/:-@[-`{-~])/y, (found) => found[1]],
  [/&(amp|lt|gt|quot|#39|nbsp);/y, (found) => ENTITIES[found[1]]],
  [/(?: {2,8}|\\)\n/y, () => h("br")],
  [/(`{1,8})(?!`)([^]{1,1000}?)(?<!`)\1(?!`)/y, (found) => h("code", {}, found[2].trim() || found[2])],
  [/<((?:https?:|mailto:)[^\s<>]{1,2000})>/y, (found, inner) => link(found[1], inner.base, found[1])],
  [/(\*\*|__)(?=\S)([^]{0,1000}?\S)\1/y, (found, inner) => h("strong", {}, inner(found[2]))],
  [/(\*)(?=\S)([^]{0,1000}?\S)\1/y, (found, inner) => h("em", {}, inner(found[2]))],
  [/(?<!\w)(_)(?=\S)([^]{0,1000}?\S)_(?!\w)/y, (found, inner) => h("em", {}, inner(found[2]))],
  [/(~~)(?=\S)([^]{0,1000}?\S)~~/y, (found, inner) => h("del", {}, inner(found[2]))],
];
/** Where a span may begin. */
const BEGINS = /[\\&`<*_~[!]| {2,8}\n/g;

function spanAt(text, at, inner) {
  const isImage = text.startsWith("![", at);
  if (isImage || text[at] === "[") {
    const found = linkAt(text, isImage ? at + 1 : at);
    if (found === undefined) return undefined;
    const { label, url, end } = found;
    const node = isImage
      ? h("span", { class: "picture", title: url }, `Image: ${label || url.split("/").at(-1)}`)
      : link(url, inner.base, inner(label));
    return { node, end };
  }
  for (const [pattern, make] of SPANS) {
    pattern.lastIndex = at;
    const found = pattern.exec(text);
    if (found !== null) return { node: make(found, inner), end: at + found[0].length };
  }
  return undefined;
}

/** The nodes of a text within a block. */
function inline(text, base, depth = 0) {
  if (depth > DEPTH_MAX) return [text];
  const inner = (part) => inline(part, base, depth + 1);
  inner.base = base;
  const nodes = [];
  let from = 0;
  for (let at = 0; at < text.length;) {
    BEGINS.lastIndex = at;
    const next = BEGINS.exec(text);
    if (next === null) break;
    const span = spanAt(text, next.index, inner);
    if (span === undefined) {
      at = next.index + 1;
      continue;
    }
    nodes.push(text.slice(from, next.index), span.node);
    at = span.end;
    from = at;
  }
  nodes.push(text.slice(from));
  return nodes;
}

const BLANK = /^\s*$/;
const FENCE = /^ {0,3}(`{3,}|~{3,})\s*([\w+-]*)/;
const HEADING = /^ {0,3}(#{1,6})(?:[ \t]+|$)/;
const RULE = /^ {0,3}([-*_])(?:[ \t]*\1){2,}[ \t]*$/;
const QUOTE = /^ {0,3}> ?/;
const ITEM = /^( {0,3})([-*+]|\d{1,9}[.)])(?:( {1,4})|\t|$)/;
// What may repeat is never next to the same again: a long line would take the square of its length.
const DELIMITERS = /^ {0,3}\|?[ \t]*:?-+:?[ \t]*(?:\|[ \t]*:?-+:?[ \t]*)*(?:\|[ \t]*)?$/;

const isTable = (lines, at) =>
  lines[at].includes("|") && at + 1 < lines.length && lines[at + 1].includes("-") && DELIMITERS.test(lines[at + 1]);
const isBlock = (lines, at) =>
  [BLANK, FENCE, HEADING, RULE, QUOTE, ITEM].some((pattern) => pattern.test(lines[at])) || isTable(lines, at);

function heading(level, text, base) {
  // The page has headings of its own.
  return h(`h${Math.min(level + 2, 6)}`, { class: `level-${level}` }, inline(text, base));
}

function fenced(lines, at) {
  const [, fence] = FENCE.exec(lines[at]);
  let end = at + 1;
  while (end < lines.length && !(lines[end].trim().startsWith(fence) && lines[end].trim().replaceAll(fence[0], "") === "")) end += 1;
  const text = lines.slice(at + 1, end).join("\n");
  return { node: h("pre", { tabindex: 0 }, h("code", {}, text)), end: end + 1 };
}

function quote(lines, at, base, depth) {
  let end = at;
  while (end < lines.length && QUOTE.test(lines[end])) end += 1;
  const inner = lines.slice(at, end).map((line) => line.replace(QUOTE, ""));
  return { node: h("blockquote", {}, blocks(inner, base, depth + 1)), end };
}

function list(lines, at, base, depth) {
  const isOrdered = /\d/.test(ITEM.exec(lines[at])[2]);
  const items = [];
  let end = at;
  while (end < lines.length) {
    const found = ITEM.exec(lines[end]);
    if (found === null || /\d/.test(found[2]) !== isOrdered || RULE.test(lines[end])) break;
    const width = found[0].length;
    const own = [lines[end].slice(width)];
    end += 1;
    while (end < lines.length) {
      const line = lines[end];
      const isInside = line.startsWith(" ".repeat(width)) || line.startsWith("\t");
      if (BLANK.test(line)) {
        // An item continues after a blank line only if the next one is indented.
        if (end + 1 >= lines.length || !/^(\s{2,}|\t)\S/.test(lines[end + 1])) break;
        own.push("");
      } else if (isInside) own.push(line.replace(/^\t/, "").slice(line.startsWith("\t") ? 0 : width));
      else if (isBlock(lines, end)) {
        // A list within, indented by less than the text of the item.
        if (!/^ {2,}/.test(line)) break;
        own.push(line.replace(/^ {2,3}/, ""));
      } else own.push(line.trimStart());
      end += 1;
    }
    items.push(own);
    if (end + 1 < lines.length && BLANK.test(lines[end]) && ITEM.test(lines[end + 1])) end += 1;
  }
  const start = isOrdered ? Number.parseInt(ITEM.exec(lines[at])[2], 10) : undefined;
  const nodes = items.map((own) => {
    const isPlain = own.length === 1 || !own.some((_, place) => place > 0 && isBlock(own, place));
    return h("li", {}, isPlain && !isBlock(own, 0) ? inline(own.join("\n"), base) : blocks(own, base, depth + 1));
  });
  return { node: h(isOrdered ? "ol" : "ul", { start: start === 1 ? undefined : start }, nodes), end };
}

/** The cells of a line of a table. */
function cells(line) {
  const trimmed = line.trim().replace(/^\|/, "").replace(/(?<!\\)\|$/, "");
  return trimmed.split(/(?<!\\)\|/).map((cell) => cell.trim().replaceAll("\\|", "|"));
}

function table(lines, at, base) {
  let end = at + 2;
  while (end < lines.length && lines[end].includes("|") && !BLANK.test(lines[end])) end += 1;
  const row = (line, tag) => h("tr", {}, cells(line).map((cell) => h(tag, {}, inline(cell, base))));
  const body = lines.slice(at + 2, end).map((line) => row(line, "td"));
  const node = h("div", { class: "scroll", tabindex: 0 },
    h("table", {}, h("thead", {}, row(lines[at], "th")), h("tbody", {}, body)));
  return { node, end };
}

function indented(lines, at) {
  let end = at;
  while (end < lines.length && (/^( {4}|\t)/.test(lines[end]) || BLANK.test(lines[end]))) end += 1;
  const text = lines.slice(at, end).map((line) => line.replace(/^( {4}|\t)/, "")).join("\n").trimEnd();
  return { node: h("pre", { tabindex: 0 }, h("code", {}, text)), end };
}

function paragraph(lines, at, base) {
  let end = at + 1;
  while (end < lines.length && !isBlock(lines, end) && !/^ {0,3}=+\s*$/.test(lines[end])) end += 1;
  const text = lines.slice(at, end).map((line) => line.trimStart()).join("\n");
  const below = lines[end] ?? "";
  if (/^ {0,3}=+\s*$/.test(below)) return { node: heading(1, text, base), end: end + 1 };
  if (/^ {0,3}-{2,}\s*$/.test(below)) return { node: heading(2, text, base), end: end + 1 };
  return { node: h("p", {}, inline(text, base)), end };
}

function blockAt(lines, at, base, depth) {
  const line = lines[at];
  if (/^( {4}|\t)/.test(line)) return indented(lines, at);
  if (FENCE.test(line)) return fenced(lines, at);
  if (HEADING.test(line)) {
    const [all, marks] = HEADING.exec(line);
    const text = line.slice(all.length).trim();
    return { node: heading(marks.length, text, base), end: at + 1 };
  }
  if (RULE.test(line)) return { node: h("hr"), end: at + 1 };
  if (QUOTE.test(line)) return quote(lines, at, base, depth);
  if (ITEM.test(line)) return list(lines, at, base, depth);
  if (isTable(lines, at)) return table(lines, at, base);
  return paragraph(lines, at, base);
}

function blocks(lines, base, depth) {
  if (depth > DEPTH_MAX) return [lines.join("\n")];
  const nodes = [];
  for (let at = 0; at < lines.length;) {
    if (BLANK.test(lines[at])) {
      at += 1;
      continue;
    }
    const { node, end } = blockAt(lines, at, base, depth);
    nodes.push(node);
    at = end;
  }
  return nodes;
}

/** Tells readers of levels without gaps, whatever the document has left out. */
function outlined(nodes) {
  const box = h("div", {}, nodes);
  let before = 2;
  for (const heading of box.querySelectorAll("h3, h4, h5, h6")) {
    const level = Math.min(Number(heading.localName.slice(1)), before + 1);
    if (level !== Number(heading.localName.slice(1))) heading.setAttribute("aria-level", String(level));
    before = level;
  }
  return [...box.childNodes];
}

/** The nodes of a markdown document. `base` is the URL that its links are relative to. */
export const markdown = (source, base) => outlined(blocks(source.replaceAll("\r\n", "\n").split("\n"), base, 0));
