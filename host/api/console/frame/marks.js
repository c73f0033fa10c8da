// What is drawn over a page: text that is hidden from its readers, and what `readability` kept.
"use strict";

/** The attribute with the number of an element, and those with what is drawn over it. */
const [NUMBER, MARK, REASON] = ["data-trawl-element", "data-trawl-mark", "data-trawl-reason"];

/** Elements whose text is none of the page. */
const TEXTLESS = new Set(["script", "style", "template", "noscript", "select", "textarea", "svg", "head"]);

/** Characters from which on a hidden text may be the beginning of a longer one. */
const CUT_MIN = 500;

/** Text without white space: the server puts spaces between blocks. */
const tight = (text) => text.replaceAll(/\s+/g, "");

/**
 * The text of a page without white space, and where each element's part of it begins and ends:
 * `{whole, spans}`. Elements without a text of the page have no span.
 */
function measured(page) {
  const pieces = [];
  const spans = new Map();
  let at = 0;
  const walk = (element) => {
    const from = at;
    for (const node of dom.nodes(element)) {
      if (dom.type(node) === Node.ELEMENT_NODE && !TEXTLESS.has(dom.name(node))) walk(node);
      if (dom.type(node) !== Node.TEXT_NODE) continue;
      const text = tight(dom.value(node));
      pieces.push(text);
      at += text.length;
    }
    spans.set(element, [from, at]);
  };
  walk(dom.root(page));
  return { whole: pieces.join(""), spans };
}

/**
 * The outermost elements with these texts, in the order of both. `texts` are `{text, by}`, as
 * `metadata.hidden_text` has them. Returns `[element, by]` for each that was found.
 */
function hiddenElements(page, texts) {
  const { whole, spans } = measured(page);
  const elements = elementsOf(page).filter((element) => spans.has(element));
  const found = [];
  let [at, last] = [0, null];
  for (const { text, by } of texts) {
    const wanted = tight(String(text));
    for (let n = at; n < elements.length; n += 1) {
      const [from, to] = spans.get(elements[n]);
      // The server cuts long texts.
      const isLength = to - from === wanted.length || (to - from > wanted.length && wanted.length > CUT_MIN);
      if (!isLength || !whole.startsWith(wanted, from) || (last !== null && isWithin(elements[n], last))) continue;
      found.push([elements[n], String(by)]);
      [at, last] = [n + 1, elements[n]];
      break;
    }
  }
  return found;
}

const isWithin = (element, outer) => (dom.position(outer, element) & Node.DOCUMENT_POSITION_CONTAINED_BY) !== 0;

/** The texts of a page, `{text, parent, key}`: `key` is the text with the names of the elements around it. */
function textsOf(page) {
  const texts = [];
  const walk = (element, path) => {
    const around = `${path}>${dom.name(element)}.${dom.attribute(element, "class") ?? ""}#${dom.attribute(element, "id") ?? ""}`;
    for (const node of dom.nodes(element)) {
      if (dom.type(node) === Node.ELEMENT_NODE && !TEXTLESS.has(dom.name(node))) walk(node, around);
      const text = dom.type(node) === Node.TEXT_NODE ? tight(dom.value(node)) : "";
      if (text !== "") texts.push({ text, parent: element, key: `${around} ${text}` });
    }
  };
  walk(dom.body(page), "");
  return texts;
}

/**
 * Which elements of a page have text that a reduced copy of it has, too: those elements and all
 * around them. The texts of the copy are some of those of the page, in the same order.
 */
function keptElements(page, reduced) {
  const [all, kept] = [textsOf(page), textsOf(reduced)];
  const walked = (of) => {
    const found = [];
    let next = 0;
    for (const one of all) if (next < kept.length && of(one) === of(kept[next])) {
      found.push(one.parent);
      next += 1;
    }
    return found;
  };
  // A link of the navigation may have the text of a heading, but not its place. Where the copy has
  // other elements around its texts, the texts alone count.
  const exact = walked((one) => one.key);
  const parents = exact.length === kept.length ? exact : walked((one) => one.text);
  const elements = new Set();
  for (const parent of parents) for (let at = parent; at !== null && !elements.has(at); at = dom.parent(at)) elements.add(at);
  return elements;
}

/** Marks what the reduced copy left out: the outermost elements without a kept text. */
function markKept(page, reduced) {
  const kept = keptElements(page, parsed(reduced));
  const { spans } = measured(page);
  for (const element of elementsOf(page)) {
    const parent = dom.parent(element);
    const [from, to] = spans.get(element) ?? [0, 0];
    // What stands within a kept text without a text of its own, as an image, belongs to it.
    if (from < to && !kept.has(element) && kept.has(parent) && !dom.hasAttribute(element, MARK)) dom.setAttribute(element, MARK, "left");
  }
}

/** Marks what is hidden, and shows it. */
function markHidden(page, texts) {
  for (const [element, by] of hiddenElements(page, texts)) {
    dom.setAttribute(element, MARK, "hidden");
    dom.setAttribute(element, REASON, by);
    dom.removeAttribute(element, "hidden");
    dom.removeAttribute(element, "style");
  }
}

/** How marks are drawn. */
const MARKS = `
[${MARK}=hidden] { all: revert !important; display: revert !important; visibility: visible !important; opacity: 1 !important;
  outline: 2px dashed #b3261e !important; background: #ffe3e0 !important; color: #16202a !important; }
[${MARK}=hidden]::before { content: "hidden: " attr(${REASON}) " "; font: 11px system-ui, sans-serif; color: #b3261e; }
[${MARK}=left] { opacity: .25 !important; filter: grayscale(1) !important; outline: 1px dashed #50606f !important; }
[data-trawl-over] { outline: 3px solid #0b6480 !important; outline-offset: -1px !important; cursor: crosshair !important; }
[data-trawl-shown] { box-shadow: inset 0 0 0 2px #8a4b00 !important; background-color: #fff1b8 !important; color: #16202a !important; }
[data-trawl-picked] { box-shadow: inset 0 0 0 3px #0b6480 !important; }
`;
