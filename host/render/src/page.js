// Functions that Trawl runs in a page, in an isolated world so that the page's scripts cannot change them.
({
  // Serialises the document as HTML: shadow roots flattened, same-origin frames inlined, without `noscript`. Returns its length and its
  // first `piece` characters, and keeps it for `piece()`; null when it has more than `limit` characters.
  serialise(limit, piece) {
    const VOID = new Set("area base br col embed hr img input link meta source track wbr".split(" "));
    const RAW = new Set("style script xmp iframe noembed noframes plaintext".split(" "));
    const FRAMES_MAX = 50, DEPTH_MAX = 5;
    const out = [];
    let size = 0, frames = 0;
    const put = (text) => {
      size += text.length;
      if (size > limit) throw put;
      out.push(text);
    };
    const attribute = (text) => text.replace(/&/g, "&amp;").replace(/\u00a0/g, "&nbsp;").replace(/"/g, "&quot;").replace(/</g, "&lt;").replace(/>/g, "&gt;");
    const text = (text) => text.replace(/&/g, "&amp;").replace(/\u00a0/g, "&nbsp;").replace(/</g, "&lt;").replace(/>/g, "&gt;");
    // The HTML is UTF-8, but queries are in the character set of the document: they leave it percent-encoded.
    const probe = document.characterSet === "UTF-8" ? null : document.createElement("a");
    const URLS = new Set("action background cite data data-original data-src formaction href icon longdesc poster src xlink:href".split(" "));
    const LISTS = new Set("data-srcset imagesrcset ping srcset".split(" "));
    const encoded = (url) => {
      const hash = url.indexOf("#"), end = hash < 0 ? url.length : hash, start = url.indexOf("?");
      if (start < 0 || start > end || !/[^\x00-\x7f]/.test(url.slice(start, end))) return url;
      probe.setAttribute("href", url);
      return /^(https?|ftp|file):$/.test(probe.protocol) ? url.slice(0, start) + probe.search + url.slice(end) : url;
    };
    const written = (name, value) => {
      if (!probe) return value;
      return URLS.has(name) ? encoded(value) : LISTS.has(name) ? value.replace(/\S+/g, encoded) : value;
    };
    const inner = (frame) => {
      try { const document = frame.contentDocument; return document && document.body && document.body.childNodes.length ? document : null; } catch { return null; }
    };
    // Elements that need more than their own outerHTML, and all of their ancestors.
    const special = new Set();
    const look = (root) => {
      for (const element of root.querySelectorAll("*")) {
        const name = element.localName;
        if (element.shadowRoot || name === "noscript" || name === "iframe" || name === "frame" || name === "slot") {
          for (let at = element; at && !special.has(at); at = at.parentNode) special.add(at);
          if (element.shadowRoot) look(element.shadowRoot);
        }
      }
    };
    const open = (element, name) => {
      let tag = "<" + name;
      for (const { name, value } of element.attributes) tag += " " + name + '="' + attribute(written(name, value)) + '"';
      put(tag + ">");
    };
    const children = (nodes, depth, shadow) => { for (const node of nodes) write(node, depth, shadow); };
    const write = (node, depth, shadow) => {
      switch (node.nodeType) {
        case 3: {
          const parent = node.parentNode && node.parentNode.localName;
          put(RAW.has(parent) ? node.data : text(node.data));
          return;
        }
        case 8: put("<!--" + node.data + "-->"); return;
        case 10: put("<!DOCTYPE " + node.name + ">"); return;
        case 1: break;
        default: return;
      }
      const name = node.prefix ? node.prefix + ":" + node.localName : node.localName;
      // Styles of a shadow root apply to its own tree only; noscript is for browsers without scripts.
      if (name === "noscript" || (shadow && (name === "style" || name === "link"))) return;
      if (name === "slot" && shadow) {
        const assigned = node.assignedNodes();
        if (assigned.length) children(assigned, depth, false);
        else children(node.childNodes, depth, true);
        return;
      }
      if (!probe && !special.has(node) && !shadow) { put(node.outerHTML); return; }
      if (name === "iframe" || name === "frame") {
        const document = depth < DEPTH_MAX && frames < FRAMES_MAX ? inner(node) : null;
        if (!document) { put(node.outerHTML); return; }
        frames += 1;
        look(document);
        put('<div data-frame="' + attribute(document.URL) + '">');
        children(document.body.childNodes, depth + 1, false);
        put("</div>");
        return;
      }
      open(node, name);
      if (VOID.has(name)) return;
      if (node.shadowRoot) children(node.shadowRoot.childNodes, depth, true);
      else children((name === "template" ? node.content : node).childNodes, depth, shadow);
      put("</" + name + ">");
    };
    look(document);
    try {
      children(document.childNodes, 0, false);
    } catch (error) {
      if (error === put) return null;
      throw error;
    }
    // Well-formed as a whole, so that no piece ends with half of a character that JSON cannot hold.
    const html = out.join("").toWellFormed();
    if (html.length > piece) globalThis.trawlHtml = html;
    return [html.length, this.cut(html, 0, piece)];
  },
  // The characters of a piece; a pair of surrogates belongs to the piece of its first half.
  cut(html, from, length) {
    const isLow = (at) => at > 0 && at < html.length && (html.charCodeAt(at) & 0xfc00) === 0xdc00;
    const end = from + length;
    return html.slice(isLow(from) ? from + 1 : from, isLow(end) ? end + 1 : end);
  },
  // Another piece of the document that `serialise` kept.
  piece(from, length) {
    if (globalThis.trawlHtml === undefined) throw new Error("the page navigated meanwhile");
    return this.cut(globalThis.trawlHtml, from, length);
  },
  // Resolves when the page's main thread is idle and its own idle callbacks have run.
  idle() { return new Promise((resolve) => requestIdleCallback(() => setTimeout(() => resolve(true), 0))); },
  url() { return location.href; },
  has(selector) { return document.querySelector(selector) !== null; },
  // The centre of an element after scrolling it into view; null when there is none, [] when it has no size.
  point(selector) {
    const element = document.querySelector(selector);
    if (!element) return null;
    element.scrollIntoView({ block: "center", inline: "center", behavior: "instant" });
    const { x, y, width, height } = element.getBoundingClientRect();
    return width && height ? [x + width / 2, y + height / 2] : [];
  },
  click(selector) { document.querySelector(selector).click(); },
  clickAll(selector, most) {
    const elements = [...document.querySelectorAll(selector)].slice(0, most);
    for (const element of elements) element.click();
    return elements.length;
  },
  // Focuses an element for typed text; "done" when its value was set directly.
  fill(selector, value) {
    const element = document.querySelector(selector);
    if (!element) return "missing";
    if (element.localName === "select") {
      element.value = value;
      element.dispatchEvent(new Event("input", { bubbles: true }));
      element.dispatchEvent(new Event("change", { bubbles: true }));
      return "done";
    }
    element.focus();
    if (element.select) element.select();
    else document.getSelection().selectAllChildren(element);
    return "typed";
  },
  changed(selector) { document.querySelector(selector)?.dispatchEvent(new Event("change", { bubbles: true })); },
  // Resolves once nothing below `selector` has changed for `windowMs` ms; false when no element matches.
  isStable(selector, windowMs) {
    const root = selector ? document.querySelector(selector) : document;
    if (!root) return false;
    return new Promise((resolve) => {
      let timer;
      const watch = new MutationObserver(() => { clearTimeout(timer); timer = setTimeout(end, windowMs); });
      const end = () => { watch.disconnect(); resolve(true); };
      watch.observe(root, { subtree: true, childList: true, attributes: true, characterData: true });
      timer = setTimeout(end, windowMs);
    });
  },
  height() { return Math.max(document.documentElement?.scrollHeight ?? 0, document.body?.scrollHeight ?? 0); },
  scrollBy(x, y) { window.scrollBy({ left: x, top: y, behavior: "instant" }); },
  scrollToEnd() { window.scrollTo({ top: this.height(), behavior: "instant" }); return this.height(); },
})
