// Shows the HTML of a page of others, which its parent posts as {html}. The document of this script
// has an origin of its own, and the page another. The policy of this document, which the page
// inherits, lets it load nothing. What would be refused is taken out before, so that it does not
// fill the log of the browser.
//
// Messages of the console: `{html, hidden, kept, isPicking}` shows a page: with `hidden`, the list of
// `metadata.hidden_text`, and `kept`, the HTML that `readability` left, drawn over it. Of a page with
// `isPicking`, elements are picked by a click: only then its document runs scripts, which are
// `inside.js` alone. `{find: [selector]}` looks selectors up, `{walk}` picks the element beside the
// picked one. Answers: `{picked}`, `{found}`.
"use strict";

/** Elements that load or run something, or change where links lead. */
const REMOVED =
  "script, noscript, link, base, meta, iframe, frame, frameset, object, embed, applet, portal, fencedframe, template";
/** Attributes whose value is loaded or followed, or that ask for the focus. */
const LOADED = new Set([
  "src", "srcset", "href", "xlink:href", "poster", "background", "data", "action", "formaction",
  "ping", "manifest", "imagesrcset", "codebase", "srcdoc", "lowsrc", "dynsrc", "archive", "classid", "autofocus",
]);
/** Elements that are marked for one selector. */
const SHOWN_MAX = 1000;

/** The only script that a page may run while elements are picked. */
const INSIDE = new URL(document.getElementById("inside").content.firstElementChild.getAttribute("src"), location.href).href;

/** The script as a source of a policy, which has no IPv6 addresses: then the policy of this document decides. */
const SOURCE = location.hostname.startsWith("[") ? "http: https:" : INSIDE.replaceAll(",", "%2C").replaceAll(";", "%3B");

/** Whether a URL is a picture within the page. */
const isPicture = (url) => /^\s*data:image\//i.test(url);

/**
 * Style without what it would load, other than pictures within it. What has no end reaches to that
 * of the style, so that no part is looked at twice.
 */
const withoutRequests = (style) =>
  style
    .replace(/@import\b[^;]*;?/gi, "")
    .replace(/@font-face\s*\{[^}]*\}?/gi, "")
    .replace(/(?:-webkit-)?image-set\s*\(/gi, "none(")
    .replace(/\burl\(\s*(?!["']?data:image\/)[^)]*\)?/gi, "none");

function clean(element) {
  for (const { name, value } of [...dom.attributes(element)]) {
    const lower = name.toLowerCase();
    if (lower === "style") {
      dom.setAttribute(element, name, withoutRequests(value));
    } else if (lower.startsWith("on") || (LOADED.has(lower) && !isPicture(value))) {
      dom.removeAttribute(element, name);
      // Links look like links.
      if (lower === "href" && dom.name(element) === "a") dom.setAttribute(element, "data-href", value);
    }
  }
  if (dom.name(element) === "style") element.textContent = withoutRequests(dom.text(element));
}

/** The page as a document that asks for nothing, with what is drawn over it. */
function still({ html, hidden, kept, isPicking }) {
  const page = parsed(html);
  elementsOf(page).forEach((element, number) => {
    for (const name of [MARK, REASON, NUMBER]) dom.removeAttribute(element, name);
    if (isPicking) dom.setAttribute(element, NUMBER, String(number));
  });
  if (Array.isArray(hidden)) markHidden(page, hidden);
  if (typeof kept === "string") markKept(page, kept);
  for (const element of dom.all(page, REMOVED)) dom.remove(element);
  for (const element of elementsOf(page)) clean(element);
  const made = (name, attributes, text = "") => {
    const element = dom.create(page, name);
    for (const [attribute, value] of Object.entries(attributes)) element.setAttribute(attribute, value);
    element.textContent = text;
    return element;
  };
  const script = isPicking ? `; script-src ${SOURCE}` : "";
  const policy = made("meta", {
    "http-equiv": "Content-Security-Policy",
    content: `default-src 'none'; style-src 'unsafe-inline'; img-src data:${script}`,
  });
  const styles = made("style", {}, `a[data-href] { color: #0645ad; text-decoration: underline } ${MARKS}`);
  const head = [policy, styles, ...(isPicking ? [made("script", { src: INSIDE, defer: "" })] : [])];
  Element.prototype.prepend.apply(dom.head(page), head);
  return `<!DOCTYPE html>${dom.root(page).outerHTML}`;
}

/** The page that is shown: its frame, and for picking its elements as they were before. */
const shown = { frame: null, page: null, elements: [], picked: null, marks: {} };

function show(data) {
  const frame = document.createElement("iframe");
  frame.setAttribute("sandbox", data.isPicking === true ? "allow-scripts" : "");
  frame.title = "The page";
  frame.style.cssText = "position:fixed;inset:0;width:100%;height:100%;border:0;background:#fff";
  frame.srcdoc = still(data);
  document.body.replaceChildren(frame);
  // The same HTML has the same elements, so that a number is one element in both documents.
  const page = data.isPicking === true ? parsed(data.html) : null;
  Object.assign(shown, { frame, page, elements: page === null ? [] : elementsOf(page), picked: null, marks: {} });
}

/** Marks elements of the page by their numbers; its script may not be there yet. */
function mark(marks) {
  Object.assign(shown.marks, marks);
  shown.frame.contentWindow.postMessage(marks, "*");
}

/** Picks an element, and says what it is. */
function pick(element) {
  if (element === undefined) return;
  shown.picked = element;
  mark({ picked: [shown.elements.indexOf(element)] });
  parent.postMessage({ picked: described(shown.page, element) }, "*");
}

/** Looks selectors up, and shows what they find. */
function look(selectors) {
  const found = selectors.map((selector) => find(shown.page, String(selector)));
  const numbers = new Map(shown.elements.map((element, number) => [element, number]));
  const all = found.flatMap(({ elements = [] }) => elements.slice(0, SHOWN_MAX).map((element) => numbers.get(element)));
  mark({ shown: all.filter((number) => number !== undefined) });
  parent.postMessage({ found: found.map(({ count, values, error }) => ({ count, values, error })) }, "*");
}

addEventListener("message", ({ source, data }) => {
  if (source === parent) {
    if (typeof data?.html === "string") show(data);
    else if (shown.page !== null && Array.isArray(data?.find)) look(data.find);
    else if (shown.page !== null && ["parent", "child", "previous", "next"].includes(data?.walk)) {
      pick(shown.picked === null ? dom.body(shown.page) : beside(shown.picked, data.walk));
    }
  } else if (shown.page !== null && source === shown.frame.contentWindow) {
    if (data?.isReady === true) shown.frame.contentWindow.postMessage(shown.marks, "*");
    else pick(shown.elements[data?.picked]);
  }
});
