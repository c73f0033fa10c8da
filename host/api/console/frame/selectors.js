// Selectors: what they find on a page, and which ones find an element again after the page has
// changed. A page is a document that the frame has parsed and nobody sees.
"use strict";

/** Matches of a selector, as many as the server takes; values of it that are shown, and characters of each. */
const [MATCHES_MAX, VALUES_MAX, VALUE_MAX] = [10_000, 20, 300];
/** Longest text by which an element is found, in characters. */
const TEXT_MAX = 40;
/** Ancestors that a proposal looks at. */
const ANCESTORS_MAX = 12;

/** Whether the server takes a selector for XPath. */
const isXPath = (selector) => /^(?:\/|\.\/|\.\.|\(|[a-z-]+\()/.test(selector);

/** The nodes that a selector finds, in order. Throws if it is none. */
function matches(page, selector) {
  if (!isXPath(selector)) return [...dom.all(page, selector)];
  const found = dom.evaluate(page, selector, page, null, XPathResult.ANY_TYPE, null);
  if (found.resultType === XPathResult.NUMBER_TYPE) return [String(found.numberValue)];
  if (found.resultType === XPathResult.STRING_TYPE) return [found.stringValue];
  if (found.resultType === XPathResult.BOOLEAN_TYPE) return [String(found.booleanValue)];
  const nodes = [];
  for (let node = found.iterateNext(); node !== null; node = found.iterateNext()) nodes.push(node);
  return nodes;
}

/** A selector and the attribute at its end: `a.more@href`. */
function parts(text) {
  const given = text.trim();
  const [, selector, attribute] = isXPath(given) ? [null, given, undefined] : /^([^]*?)(?:@([\w.:-]+))?$/.exec(given);
  return { selector: selector.trim(), attribute };
}

/** The value of a match, null for an element without the attribute. */
function valueOf(node, attribute) {
  if (typeof node === "string") return node;
  if (dom.type(node) !== Node.ELEMENT_NODE) return dom.value(node) ?? "";
  if (attribute !== undefined) return dom.attribute(node, attribute);
  return dom.name(node) === "meta" ? dom.attribute(node, "content") : folded(dom.text(node));
}

/** The element of a match, for an attribute or a text the one that has it; null if there is none. */
function elementOf(node) {
  if (typeof node === "string") return null;
  if (dom.type(node) === Node.ELEMENT_NODE) return node;
  return dom.type(node) === Node.ATTRIBUTE_NODE ? node.ownerElement : dom.parent(node);
}

/** What a selector of a map finds: `{count, values, elements}`, or `{error}`. */
function find(page, text) {
  const { selector, attribute } = parts(text);
  try {
    const nodes = matches(page, selector).slice(0, MATCHES_MAX);
    const found = nodes.map((node) => [node, valueOf(node, attribute)]).filter(([, value]) => value !== null && value !== "");
    const values = found.slice(0, VALUES_MAX).map(([, value]) => value.slice(0, VALUE_MAX));
    const elements = found.map(([node]) => elementOf(node)).filter((element) => element !== null);
    return { count: found.length, values, elements };
  } catch {
    return { error: isXPath(selector) ? "no valid XPath" : "no valid CSS selector" };
  }
}

/** Prefixes of names that tools generate, and ends that are hashes. */
const GENERATED = /^(?:css|sc|jsx|jss|svelte|emotion|ember|radix|headlessui|yui|ext|mantine|chakra)[-_:]|\d{3,}|[-_](?=[a-z]*\d)[a-z\d]{5,}$|^_|[a-z]\d+[a-z]+\d/i;

/** Whether a name is one that people wrote, which the next build of the site leaves as it is. */
const isLasting = (name) => /^[a-z][\w-]{0,39}$/i.test(name) && !GENERATED.test(name);

/** A text within quotes of CSS. */
const quoted = (text) => `"${text.replaceAll("\\", "\\\\").replaceAll('"', '\\"')}"`;

/** A text within an XPath, which has no escapes; null if it has both kinds of quotes. */
const xpathText = (text) => (!text.includes('"') ? `"${text}"` : !text.includes("'") ? `'${text}'` : null);

/** Attributes that are made for programs, or say what an element is. */
const MEANT = /^(?:data-(?:test|testid|test-id|qa|cy|hook|automation|component|role|type|name|field|key|label|element)|itemprop|property|name|rel|role|aria-label|for|headers|scope|itemtype)$/;
/** Attributes that say what state an element has, or belong to this frame. */
const FLEETING = /^data-(?:react|v-|ng-|trawl-|src|href|index|state|id$|value$|time|ts$|position|ved|track|analytics|gtm)/;

/** The simple selectors of an element, `{text, kind}`, the ones that last longest first. */
function steps(element) {
  const tag = CSS.escape(dom.name(element));
  const made = [];
  const id = dom.attribute(element, "id");
  if (id && isLasting(id)) made.push({ text: `#${CSS.escape(id)}`, kind: "id" });
  const named = [...dom.attributes(element)].filter(({ name, value }) => value !== "" && value.length <= TEXT_MAX && !/\d{3,}|[\n\r\f]/.test(value));
  for (const { name, value } of named.filter((one) => MEANT.test(one.name))) {
    made.push({ text: `${tag}[${CSS.escape(name)}=${quoted(value)}]`, kind: "attribute" });
  }
  for (const { name, value } of named.filter((one) => one.name.startsWith("data-") && !MEANT.test(one.name) && !FLEETING.test(one.name))) {
    made.push({ text: `${tag}[${CSS.escape(name)}=${quoted(value)}]`, kind: "attribute" });
  }
  const classes = (dom.attribute(element, "class") ?? "").split(/\s+/).filter(isLasting);
  for (const name of classes.slice(0, 6)) made.push({ text: `${tag}.${CSS.escape(name)}`, kind: "class" });
  if (classes.length > 1) made.push({ text: `${tag}${classes.slice(0, 4).map((name) => `.${CSS.escape(name)}`).join("")}`, kind: "class" });
  made.push({ text: tag, kind: "name" });
  return made;
}

/** The ancestors of an element below the root, the nearest first. */
function ancestors(element) {
  const all = [];
  for (let at = dom.parent(element); at !== null && dom.parent(at) !== null && all.length < ANCESTORS_MAX; at = dom.parent(at)) all.push(at);
  return all;
}

/** Where an element stands among the children of its parent: `li:nth-of-type(2)`. */
function place(element) {
  const name = dom.name(element);
  const parent = dom.parent(element);
  const same = parent === null ? [] : [...dom.children(parent)].filter((one) => dom.name(one) === name);
  return same.length < 2 ? CSS.escape(name) : `${CSS.escape(name)}:nth-of-type(${same.indexOf(element) + 1})`;
}

/** The way to an element from the nearest ancestor with an id. */
function way(element) {
  const names = [place(element)];
  for (const one of ancestors(element)) {
    const id = dom.attribute(one, "id");
    if (id && isLasting(id)) return [`#${CSS.escape(id)}`, ...names].join(" > ");
    names.unshift(place(one));
  }
  return names.join(" > ");
}

/** XPaths that find an element by what a reader sees: a label before it, or the text of a control. */
function byText(element) {
  const name = dom.name(element);
  const isShort = (text) => text !== "" && text.length <= TEXT_MAX && xpathText(text) !== null;
  const made = [];
  for (let at = dom.previous(element), n = 0; at !== null && n < 3; at = dom.previous(at), n += 1) {
    const label = folded(dom.text(at));
    // A heading is the label of what follows it at once.
    const isLabel = /^(?:dt|th|label|b|strong)$/.test(dom.name(at)) || label.endsWith(":") || (n === 0 && /^h[2-6]$/.test(dom.name(at)));
    if (isLabel && isShort(label)) {
      made.push(`//${dom.name(at)}[normalize-space()=${xpathText(label)}]/following-sibling::${name}[1]`);
      break;
    }
  }
  const text = folded(dom.text(element));
  if (/^(?:a|button|label|summary)$/.test(name) && isShort(text)) {
    made.push(`//${name}[normalize-space()=${xpathText(text)}]`);
  }
  return made;
}

/**
 * Selectors for an element, those first that find it again after the page has changed: `{selector,
 * kind, count}`, where `count` is how many elements it finds.
 */
function proposals(page, element) {
  const made = new Map();
  /** Whether the selector finds the element, and nothing else if it has to be the only one. */
  const add = (selector, kind, isOnly = false) => {
    let found = [];
    try {
      found = matches(page, selector);
    } catch {
      // A name that a hostile page gives an element may be none in XPath.
    }
    // The XPath of a label may lead to another cell of a table.
    const isFound = found.includes(element) && (!isOnly || found.length === 1);
    if (isFound && !made.has(selector)) made.set(selector, { selector, kind, count: found.length });
    return isFound;
  };
  const own = steps(element);
  for (const { text, kind } of own) if (kind !== "name") add(text, kind);
  for (const text of byText(element)) add(text, "text");
  // Within an ancestor that is known, the first that makes it the only one.
  for (const one of ancestors(element)) {
    const known = steps(one).filter(({ kind }) => kind === "id" || kind === "attribute" || kind === "class").slice(0, 3);
    if (known.some((outer) => own.some(({ text }) => add(`${outer.text} ${text}`, `within ${outer.kind}`, true)))) break;
  }
  // All that are like it, for a list.
  const outer = ancestors(element).find((one) => steps(one).some(({ kind }) => kind === "class"));
  if (outer !== undefined) for (const { text } of own.slice(-2)) add(`${steps(outer).find(({ kind }) => kind === "class").text} ${text}`, "within class");
  for (const { text, kind } of own) if (kind === "name") add(text, kind);
  add(way(element), "place");
  const order = ["id", "attribute", "text", "class", "within id", "within attribute", "within class", "name", "place"];
  const rank = ({ kind, count }) => (count === 1 ? 0 : 100) + (kind === "place" ? 50 : 0) + order.indexOf(kind);
  return [...made.values()].sort((a, b) => rank(a) - rank(b)).slice(0, 12);
}

/** Attributes that a field may be made of. */
const VALUES = ["href", "src", "srcset", "alt", "title", "datetime", "content", "value", "data-src", "action"];

/** An element as the console shows it. */
function described(page, element) {
  const attributes = [...dom.attributes(element)].filter(({ name, value }) => value !== "" && (VALUES.includes(name) || name.startsWith("data-")));
  return {
    tag: dom.name(element),
    text: folded(dom.text(element)).slice(0, VALUE_MAX),
    attributes: attributes.slice(0, 20).map(({ name, value }) => [name, value.slice(0, VALUE_MAX)]),
    proposals: proposals(page, element),
  };
}

/** The element next to another one in a direction, the same if there is none. */
function beside(element, direction) {
  const next = {
    parent: () => dom.parent(element),
    child: () => dom.children(element)[0],
    previous: () => dom.previous(element),
    next: () => dom.next(element),
  }[direction]();
  return next ?? element;
}
