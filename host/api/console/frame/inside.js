// Says which element of a page is clicked. It runs in the document of the page, which has no other
// script, and changes nothing but the attributes by which elements are marked.
"use strict";

(() => {
  const { getAttribute, setAttribute, removeAttribute, closest } = Element.prototype;
  const NUMBER = "data-trawl-element";
  // Names of images and forms are properties of the document, so that its methods are taken from here.
  const all = (selector) => Document.prototype.querySelectorAll.call(document, selector);
  let over = null;

  /** The element of an event that has a number. */
  const element = ({ target }) => (target instanceof Element ? closest.call(target, `[${NUMBER}]`) : null);

  function mark(name, numbers) {
    for (const one of all(`[${name}]`)) removeAttribute.call(one, name);
    for (const number of numbers) {
      for (const one of all(`[${NUMBER}="${Number(number)}"]`)) setAttribute.call(one, name, "");
    }
  }

  addEventListener("mouseover", (event) => {
    if (over !== null) removeAttribute.call(over, "data-trawl-over");
    over = element(event);
    if (over !== null) setAttribute.call(over, "data-trawl-over", "");
  }, true);
  for (const name of ["mousedown", "mouseup", "click", "dblclick", "auxclick", "submit", "keydown"]) {
    addEventListener(name, (event) => {
      if (name === "keydown" && event.key !== "Enter" && event.key !== " ") return;
      event.preventDefault();
      event.stopImmediatePropagation();
      const picked = name === "click" ? element(event) : null;
      if (picked !== null) parent.postMessage({ picked: Number(getAttribute.call(picked, NUMBER)) }, "*");
    }, true);
  }
  addEventListener("message", ({ source, data }) => {
    if (source !== parent) return;
    if (Array.isArray(data?.shown)) mark("data-trawl-shown", data.shown);
    if (Array.isArray(data?.picked)) {
      mark("data-trawl-picked", data.picked);
      const [first] = all("[data-trawl-picked]");
      if (first !== undefined) Element.prototype.scrollIntoView.call(first, { block: "nearest" });
    }
  });
  // Asks for the messages that were sent before it was loaded.
  parent.postMessage({ isReady: true }, "*");
})();
