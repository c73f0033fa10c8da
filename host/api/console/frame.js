// Shows the HTML of a page of others, which its parent posts as {html}. The document of this script
// has an origin of its own, and the page another: its frame is sandboxed without scripts. The policy
// of this document, which the page inherits, lets it load nothing. What would be refused is taken
// out before, so that it does not fill the log of the browser.
"use strict";

/** Elements that load or run something, or change where links lead. */
const REMOVED =
  "script, noscript, link, base, meta, iframe, frame, frameset, object, embed, applet, portal, fencedframe, template";
/** Attributes whose value is loaded, or followed. */
const LOADED = new Set([
  "src", "srcset", "href", "xlink:href", "poster", "background", "data", "action", "formaction",
  "ping", "manifest", "imagesrcset", "codebase", "srcdoc", "lowsrc", "dynsrc", "archive", "classid",
]);

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
  for (const { name, value } of [...element.attributes]) {
    const lower = name.toLowerCase();
    if (lower === "style") {
      element.setAttribute(name, withoutRequests(value));
    } else if (lower.startsWith("on") || (LOADED.has(lower) && !isPicture(value))) {
      element.removeAttribute(name);
      // Links look like links.
      if (lower === "href" && element.localName === "a") element.setAttribute("data-href", value);
    }
  }
  if (element.localName === "style") element.textContent = withoutRequests(element.textContent);
}

/** The page as a document that asks for nothing. */
function still(html) {
  const page = new DOMParser().parseFromString(html, "text/html");
  for (const element of page.querySelectorAll(REMOVED)) element.remove();
  for (const element of page.querySelectorAll("*")) clean(element);
  const policy = page.createElement("meta");
  policy.httpEquiv = "Content-Security-Policy";
  policy.content = "default-src 'none'; style-src 'unsafe-inline'; img-src data:";
  const links = page.createElement("style");
  links.textContent = "a[data-href] { color: #0645ad; text-decoration: underline }";
  page.head.prepend(policy, links);
  return `<!DOCTYPE html>${page.documentElement.outerHTML}`;
}

addEventListener("message", ({ source, data }) => {
  if (source !== parent || typeof data?.html !== "string") return;
  const frame = document.createElement("iframe");
  frame.setAttribute("sandbox", "");
  frame.title = "The page";
  frame.style.cssText = "position:fixed;inset:0;width:100%;height:100%;border:0;background:#fff";
  frame.srcdoc = still(data.html);
  document.body.replaceChildren(frame);
});
