// Properties and methods of hostile documents. A form has the fields that are in it as properties,
// and a document its images: `form.attributes` may be an input. So they are taken from the
// prototypes, which a page without scripts cannot change.
"use strict";

/** The getter or the method of a prototype, as a function of a node and the method's arguments. */
const own = (prototype, name) => {
  const { get, value } = Object.getOwnPropertyDescriptor(prototype, name);
  return get === undefined ? (node, ...given) => value.apply(node, given) : (node) => get.call(node);
};

const dom = {
  attributes: own(Element.prototype, "attributes"),
  attribute: own(Element.prototype, "getAttribute"),
  setAttribute: own(Element.prototype, "setAttribute"),
  removeAttribute: own(Element.prototype, "removeAttribute"),
  hasAttribute: own(Element.prototype, "hasAttribute"),
  name: own(Element.prototype, "localName"),
  remove: own(Element.prototype, "remove"),
  children: own(Element.prototype, "children"),
  previous: own(Element.prototype, "previousElementSibling"),
  next: own(Element.prototype, "nextElementSibling"),
  all: own(Document.prototype, "querySelectorAll"),
  evaluate: own(Document.prototype, "evaluate"),
  head: own(Document.prototype, "head"),
  body: own(Document.prototype, "body"),
  root: own(Document.prototype, "documentElement"),
  create: own(Document.prototype, "createElement"),
  parent: own(Node.prototype, "parentElement"),
  text: own(Node.prototype, "textContent"),
  type: own(Node.prototype, "nodeType"),
  value: own(Node.prototype, "nodeValue"),
  nodes: own(Node.prototype, "childNodes"),
  position: own(Node.prototype, "compareDocumentPosition"),
};

/** Every element of a document in order. */
const elementsOf = (page) => [...dom.all(page, "*")];

/** HTML as a document in which nothing runs and nothing is loaded. */
const parsed = (html) => new DOMParser().parseFromString(html, "text/html");

/** Text with single spaces. */
const folded = (text) => text.replaceAll(/\s+/g, " ").trim();
