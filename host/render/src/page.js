// Functions that Trawl runs in a page, in an isolated world so that the page's scripts cannot change them. A form's fields and a document's
// images can hide properties of the DOM by their names even here: what is read of elements is read by the getters of their prototypes.
(() => {
  const getter = (type, name) => {
    const { get } = Object.getOwnPropertyDescriptor(type.prototype, name);
    return (node) => get.call(node);
  };
  const nodeType = getter(Node, "nodeType"), parentOf = getter(Node, "parentNode"), childrenOf = getter(Node, "childNodes");
  const localName = getter(Element, "localName"), prefix = getter(Element, "prefix"), attributesOf = getter(Element, "attributes");
  const shadowOf = getter(Element, "shadowRoot"), outerHTML = getter(Element, "outerHTML"), bodyOf = getter(Document, "body");
  const charsetOf = getter(Document, "characterSet"), urlOf = getter(Document, "URL");
  // The shadow root of an element, also a closed one of a custom element: its internals have it, and can be asked for once.
  const anyShadow = (element) => {
    const open = shadowOf(element);
    if (open || !localName(element).includes("-")) return open;
    const closed = (globalThis.trawlClosed ??= new WeakMap());
    if (!closed.has(element)) {
      let root = null;
      try { root = HTMLElement.prototype.attachInternals.call(element).shadowRoot; } catch {}
      closed.set(element, root);
    }
    return closed.get(element);
  };
  const isElement = (node) => nodeType(node) === 1;
  const type = (root) => (nodeType(root) === 9 ? Document : nodeType(root) === 11 ? DocumentFragment : Element).prototype;
  const all = (root, selector) => type(root).querySelectorAll.call(root, selector);
  const first = (root, selector) => type(root).querySelector.call(root, selector);
  // The document of a frame of the same origin; null for any other.
  const within = (frame) => {
    try { return frame.contentDocument; } catch { return null; }
  };
  // The trees inside a tree that a reader sees as one: open shadow roots and frames of the same origin.
  const trees = function* (root) {
    yield root;
    for (const element of all(root, "*")) {
      const shadow = shadowOf(element), name = localName(element);
      if (shadow) yield* trees(shadow);
      if (name === "iframe" || name === "frame") {
        const inner = within(element);
        if (inner) yield* trees(inner);
      }
    }
  };
  // The first element that matches, in the document, else in the trees inside it.
  const find = (selector) => {
    const plain = first(document, selector);
    if (plain) return plain;
    for (const root of trees(document)) {
      const found = first(root, selector);
      if (found) return found;
    }
    return null;
  };
  const styleOf = (element) => element.ownerDocument.defaultView.getComputedStyle(element);
  // Where a frame's window is in the window of the page.
  const offset = (element) => {
    let x = 0, y = 0;
    for (let frame = element.ownerDocument.defaultView.frameElement; frame; frame = frame.ownerDocument.defaultView.frameElement) {
      const box = frame.getBoundingClientRect();
      x += box.left + frame.clientLeft;
      y += box.top + frame.clientTop;
    }
    return [x, y];
  };
  // The element at a point of the window that an element is in, through open shadow roots.
  const at = (element, x, y) => {
    let root = element.ownerDocument, hit = root.elementFromPoint(x, y);
    while (hit && shadowOf(hit)) {
      const inner = shadowOf(hit).elementFromPoint(x, y);
      if (!inner || inner === hit) break;
      hit = inner;
    }
    return hit;
  };
  const includes = (element, other) => {
    for (let node = other; node; node = parentOf(node) ?? node.host) if (node === element) return true;
    return false;
  };
  const named = (element) => {
    let name = localName(element);
    const id = element.getAttribute("id"), kind = element.getAttribute("class");
    if (id) name += "#" + id;
    else if (kind) name += "." + kind.trim().split(/\s+/)[0];
    return name.slice(0, 100);
  };
  const change = (element) => {
    element.dispatchEvent(new Event("input", { bubbles: true }));
    element.dispatchEvent(new Event("change", { bubbles: true }));
  };
  // Fields whose text a reader sees: a password is not one of them. Sliders and colours have a value even where the source has none.
  const LEGIBLE = new Set("color date datetime-local email month number range search tel text time url week".split(" "));
  const hasOwnValue = (element, type) => element.hasAttribute("value") || (type !== "color" && type !== "range");
  // Notes what a field shows where its source says something else: by `set` an attribute of an element, null for one that it no longer has;
  // by `write` the text of a `textarea`. The options of a `select` are noted with it.
  const noteState = (element, set, write) => {
    const name = localName(element);
    if (name === "input") {
      const { type, value, checked } = element;
      if (type === "checkbox" || type === "radio") {
        if (checked !== element.defaultChecked) set(element, "checked", checked ? "" : null);
      } else if (LEGIBLE.has(type) && value !== element.defaultValue && hasOwnValue(element, type)) {
        set(element, "value", value);
      }
    } else if (name === "textarea") {
      if (element.value !== element.defaultValue?.replace(/\r\n?/g, "\n")) write(element, element.value);
    } else if (name === "select" && element.options) {
      const options = [...element.options], marked = options.filter((option) => option.defaultSelected);
      // What it shows by its source: of a drop-down without a mark the first option that is not disabled.
      const isList = element.multiple || element.size > 1;
      const first = () => options.filter((option) => !isList && !option.matches(":disabled")).slice(0, 1);
      const usual = element.multiple ? marked : marked.length > 0 ? marked.slice(-1) : first();
      if (options.every((option) => option.selected === usual.includes(option))) return;
      for (const option of options) if (option.selected !== option.defaultSelected) set(option, "selected", option.selected ? "" : null);
    }
  };
  const URLS = new Set("action background cite data data-original data-src formaction href icon longdesc poster src xlink:href".split(" "));
  const SETS = new Set("data-srcset imagesrcset srcset".split(" "));
  // A `srcset` with `each` of its URLs replaced: they end at white space, or at the commas before it.
  const inSet = (value, each) => {
    let out = "", rest = value;
    for (;;) {
      const [space] = /^[\s,]*/.exec(rest);
      rest = rest.slice(space.length);
      const [word] = /^\S*/.exec(rest);
      if (word === "") return out + space;
      let end = word.length;
      while (word[end - 1] === ",") end -= 1;
      const url = word.slice(0, end);
      // What follows a URL up to the next comma, outside parentheses.
      const [size] = url === word ? /^(?:\([^)]*\)?|[^(,]+)*/.exec(rest.slice(word.length)) : [""];
      out += space + each(url) + word.slice(url.length) + size;
      rest = rest.slice(word.length + size.length);
    }
  };
  // How the URLs of a document leave it. The HTML is UTF-8 and belongs to the page, but queries are in the character set of the document
  // that they are in, and URLs of a frame are relative to the frame: queries are percent-encoded, and those of a frame are absolute.
  const placeOf = (document, isFrame) => {
    const probe = Document.prototype.createElementNS.call(document, "http://www.w3.org/1999/xhtml", "a");
    const isUtf8 = charsetOf(document) === "UTF-8";
    const absolute = (url) => {
      probe.setAttribute("href", url);
      return probe.href;
    };
    const encoded = (url) => {
      const hash = url.indexOf("#"), end = hash < 0 ? url.length : hash, start = url.indexOf("?");
      if (start < 0 || start > end || !/[^\x00-\x7f]/.test(url.slice(start, end))) return url;
      probe.setAttribute("href", url);
      return /^(https?|ftp|file):$/.test(probe.protocol) ? url.slice(0, start) + probe.search + url.slice(end) : url;
    };
    const url = isFrame ? absolute : encoded;
    const written = (name, value) => {
      if (value === "") return value;
      if (URLS.has(name)) return url(value);
      if (SETS.has(name)) return inSet(value, url);
      return name === "ping" ? value.replace(/\S+/g, url) : value;
    };
    const isPlain = !isFrame && isUtf8;
    return { isPlain, absolute, written: isPlain ? (name, value) => value : written };
  };
  // What is not there yet, by the signs that pages give to their readers.
  const LOADING = /^\W*(loading|please wait|one moment|laden|lädt|chargement|cargando|caricamento|carregando|загрузка|加载中|載入中|読み込み中|로딩)/i;
  const PLACEHOLDER = '[aria-busy="true"],[role="progressbar"],progress:not([value]),[class*="skeleton" i],[class*="spinner" i],[class*="loading" i],[class*="placeholder" i]';
  const EMPTY = "main:empty,article:empty,section:empty,ul:empty,ol:empty,dl:empty,tbody:empty,table:empty,[id]:is(div,p,span,output,pre,strong,b,td,li):empty";
  // Texts of fewer characters are a heading or a name.
  const TEXT_FEW = 40;
  // A page whose last long task ended less than so many milliseconds ago is not done with its work.
  const BETWEEN_TASKS = 150;
  // A click waits for an animation of its element that ends within so many milliseconds.
  const ENDS_SOON = 2000;
  // Properties of CSS that move or resize an element.
  const MOVING = /^(?:transform|translate|scale|rotate|offset|top|right|bottom|left|inset|margin|padding|(?:min|max)?(?:width|height)|zoom)/i;
  // The text that a body shows.
  const textOf = (body) => (body.innerText ?? "").trim();
  // Whether the document, which shows this text, waits for something: it has next to no text, or says that it is loading.
  const waits = (text) => {
    const isSeen = (element) => { const box = element.getBoundingClientRect(); return box.width > 0 && box.height > 0; };
    const isLoading = (element) => LOADING.test(element.textContent.trim().slice(0, 60)) && isSeen(element);
    return text.length < TEXT_FEW || LOADING.test(text)
      || [...all(document, PLACEHOLDER)].slice(0, 200).some(isSeen)
      || [...all(document, "p,div,span,li,td,h1,h2,h3,output,strong,em,b,section,main")].slice(0, 2000).some((element) => element.childElementCount === 0 && isLoading(element));
  };
  return {
    // Serialises the document as HTML, or what its body shows: shadow roots flattened, frames of the same origin inlined, without `noscript`,
    // fields in the state that they have now. A frame in `trawlFrames` is its name between two U+0000. Returns its length and its first `piece`
    // characters, and keeps it for `piece()`; null when it has more than `limit` characters.
    serialise(limit, piece, bodyOnly) {
      const VOID = new Set("area base br col embed hr img input link meta source track wbr".split(" "));
      const RAW = new Set("style script xmp iframe noembed noframes plaintext".split(" "));
      const out = [];
      let size = 0, isFramed = false;
      const put = (text) => {
        size += text.length;
        if (size > limit) throw put;
        out.push(text.replaceAll("\0", ""));
      };
      const attribute = (text) => text.replace(/&/g, "&amp;").replace(/\u00a0/g, "&nbsp;").replace(/"/g, "&quot;").replace(/</g, "&lt;").replace(/>/g, "&gt;");
      const text = (text) => text.replace(/&/g, "&amp;").replace(/\u00a0/g, "&nbsp;").replace(/</g, "&lt;").replace(/>/g, "&gt;");
      const inner = (frame) => {
        const document = within(frame), body = document && bodyOf(document);
        return body && childrenOf(body).length ? document : null;
      };
      // What fields show now: attributes by their names, and the texts of `textarea`.
      const states = new Map(), typed = new Map();
      const setState = (element, name, value) => states.set(element, { name, value });
      const setText = (element, text) => typed.set(element, text);
      // Elements that need more than their own outerHTML, and all of their ancestors.
      const special = new Set(), SPECIAL = new Set("noscript iframe frame frameset slot".split(" "));
      const look = (root) => {
        for (const element of all(root, "*")) {
          const shadow = anyShadow(element);
          noteState(element, setState, setText);
          if (shadow || SPECIAL.has(localName(element)) || states.has(element) || typed.has(element)) {
            for (let at = element; at && !special.has(at); at = parentOf(at)) special.add(at);
            if (shadow) look(shadow);
          }
        }
      };
      const open = (element, name, place) => {
        const state = states.get(element);
        let tag = "<" + name;
        for (const { name, value } of attributesOf(element)) if (name !== state?.name) tag += " " + name + '="' + attribute(place.written(name, value)) + '"';
        if (state && state.value !== null) tag += " " + state.name + '="' + attribute(state.value) + '"';
        put(tag + ">");
      };
      const inShadow = (node) => node.getRootNode() instanceof ShadowRoot;
      const children = (nodes, place, shadow) => { for (const node of nodes) write(node, place, shadow); };
      // `place` is the document that a node is in; a part of it is `shadow`, a tree of its own.
      const write = (node, place, shadow) => {
        switch (nodeType(node)) {
          case 3: {
            const parent = parentOf(node);
            put(parent && isElement(parent) && RAW.has(localName(parent)) ? node.data : text(node.data));
            return;
          }
          case 4: put(text(node.data)); return;
          case 8: put("<!--" + node.data.replace(/--(!?)>/g, "-- $1>") + "-->"); return;
          case 10: {
            const ids = node.publicId ? ' PUBLIC "' + node.publicId + '"' + (node.systemId ? ' "' + node.systemId + '"' : "") : node.systemId ? ' SYSTEM "' + node.systemId + '"' : "";
            put("<!DOCTYPE " + node.name + ids + ">");
            return;
          }
          case 1: break;
          default: return;
        }
        const local = localName(node), before = prefix(node);
        let name = before ? before + ":" + local : local;
        // Styles of a shadow root apply to its own tree only; noscript is for browsers without scripts.
        if (name === "noscript" || (shadow && (name === "style" || name === "link"))) return;
        if (name === "slot" && shadow) {
          // Also what another component's slot hands on.
          for (const assigned of HTMLSlotElement.prototype.assignedNodes.call(node, { flatten: true })) write(assigned, place, inShadow(assigned));
          return;
        }
        if (!special.has(node) && !shadow && place.isPlain && !isXml) { put(outerHTML(node)); return; }
        if (name === "iframe" || name === "frame") {
          const document = inner(node);
          const foreign = document ? undefined : globalThis.trawlFrames?.get(node);
          if (foreign !== undefined) {
            put('<div data-frame="' + attribute(place.absolute(node.getAttribute("src") ?? "")) + '">');
            out.push("\0" + foreign + "\0");
            put("</div>");
            return;
          }
          if (!document) { put(outerHTML(node)); return; }
          look(document);
          put('<div data-frame="' + attribute(urlOf(document)) + '">');
          children(childrenOf(bodyOf(document)), placeOf(document, true), false);
          put("</div>");
          return;
        }
        if (name === "frameset") {
          // HTML has no place for what the frames show but a body.
          name = isFramed ? "div" : "body";
          isFramed = true;
          put("<" + name + ">");
        } else {
          open(node, name, place);
        }
        if (VOID.has(name)) return;
        const shadowRoot = anyShadow(node), own = typed.get(node);
        if (own !== undefined) put(text(own));
        else if (shadowRoot) children(childrenOf(shadowRoot), place, true);
        else children(childrenOf(name === "template" && node.content ? node.content : node), place, shadow);
        put("</" + name + ">");
      };
      const isXml = !(document instanceof HTMLDocument) || document.contentType !== "text/html";
      look(document);
      try {
        if (bodyOnly) children(bodyOf(document) ? childrenOf(bodyOf(document)) : [], placeOf(document, true), false);
        else children(childrenOf(document), placeOf(document, false), false);
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
    // Resolves when the page's own idle callbacks have run, or after `most` ms: whether a timer then came on time, so that the main thread
    // is free. An idle page that neither paints nor runs anything may never get an idle callback without a limit. A page that waits for
    // something and works for it in one long task after the other is not idle between two of them.
    async idle(most, late) {
      // A frame is followed by idle time; without one the shell may find none.
      requestAnimationFrame(() => {});
      await new Promise((resolve) => requestIdleCallback(resolve, { timeout: most }));
      const start = performance.now();
      await new Promise((resolve) => setTimeout(resolve, 0));
      const now = performance.now(), body = bodyOf(document);
      if (now - start > late) return false;
      return !body || now - (globalThis.trawlWorked ?? -Infinity) > BETWEEN_TASKS || !waits(textOf(body));
    },
    // Whether the page has grown since the last look, whether it shows signs that something is still to come (`isUnfinished`: also parts that
    // are empty) or waits for it (`isWaiting`), whether it shows nothing else, and how many milliseconds ago it changed.
    look() {
      const body = bodyOf(document);
      if (!body) return { hasGrown: false, isUnfinished: false, isWaiting: false, isBare: false, unchangedMs: null };
      const now = [all(document, "*").length, body.textContent.length];
      // A clock that ticks does not grow.
      const most = globalThis.trawlMost ?? [0, 0];
      const hasGrown = now[0] > most[0] || now[1] > most[1] + 8;
      globalThis.trawlMost = [Math.max(now[0], most[0]), Math.max(now[1], most[1])];
      const text = textOf(body), isWaiting = waits(text);
      const isUnfinished = isWaiting || all(document, EMPTY).length > 0;
      const unchangedMs = globalThis.trawlChanged === undefined ? null : performance.now() - globalThis.trawlChanged;
      return { hasGrown, isUnfinished, isWaiting, isBare: text === "" || LOADING.test(text), unchangedMs };
    },
    url() { return location.href; },
    has(selector) { return find(selector) !== null; },
    // Where to click an element, after scrolling it into view: a point of one of its line boxes. Null when there is none; [] when it has no
    // size; a text that says why it cannot be clicked yet.
    async point(selector) {
      const element = find(selector);
      if (!element) return null;
      if (element.matches(":disabled")) return "it is disabled";
      element.scrollIntoView({ block: "center", inline: "center", behavior: "instant" });
      const place = () => [...element.getClientRects()].find((box) => box.width > 0 && box.height > 0);
      let box = place();
      if (!box) return [];
      const before = box;
      // Animations move on with frames, and of those that the compositor runs a page has none by itself.
      await new Promise((resolve) => {
        setTimeout(resolve, 500);
        requestAnimationFrame(() => requestAnimationFrame(() => requestAnimationFrame(resolve)));
      });
      box = place();
      if (!box) return [];
      // Until the first frame of an animation is shown, nothing has moved; many slow down near their end and then jump back.
      const ends = (animation) => {
        const { endTime } = animation.effect.getComputedTiming();
        return animation.playState === "running" && endTime - (animation.currentTime ?? 0) < ENDS_SOON;
      };
      const moves = ({ effect }) => effect?.target?.contains(element) && effect.getKeyframes().some((frame) => Object.keys(frame).some((name) => MOVING.test(name)));
      const animations = element.ownerDocument.getAnimations().filter(moves);
      const isAnimated = animations.some((animation) => animation.pending || ends(animation));
      if (isAnimated || Math.abs(box.x - before.x) > 1 || Math.abs(box.y - before.y) > 1) return "it moves";
      // The part of the box that is in the window.
      const view = element.ownerDocument.defaultView;
      const left = Math.max(box.left, 0), right = Math.min(box.right, view.innerWidth), top = Math.max(box.top, 0), bottom = Math.min(box.bottom, view.innerHeight);
      const [x, y] = right > left && bottom > top ? [(left + right) / 2, (top + bottom) / 2] : [box.x + box.width / 2, box.y + box.height / 2];
      const hit = at(element, x, y);
      const label = element.closest("label");
      const isHit = !hit || includes(element, hit) || includes(hit, element) || (label && includes(label, hit));
      if (!isHit) return "`" + named(hit) + "` lies over it";
      const [dx, dy] = offset(element);
      return [x + dx, y + dy];
    },
    click(selector) { HTMLElement.prototype.click.call(find(selector)); },
    clickAll(selector, most) {
      let elements = [...all(document, selector)];
      if (elements.length === 0) for (const root of trees(document)) elements.push(...all(root, selector));
      elements = elements.slice(0, most);
      for (const element of elements) if (element.click) element.click(); else element.dispatchEvent(new MouseEvent("click", { bubbles: true, cancelable: true }));
      return elements.length;
    },
    // Makes a field ready for typed text ("typed"), or sets its value directly ("done"); otherwise says why it cannot.
    fill(selector, value) {
      const element = find(selector);
      if (!element) return "missing";
      if (element.matches(":disabled")) return "it is disabled";
      const name = localName(element);
      if (name === "select") {
        const options = [...element.options];
        const option = options.find((option) => option.value === value) ?? options.find((option) => option.label.trim() === value.trim());
        if (!option) return "it has no option with this value or label";
        option.selected = true;
        change(element);
        return "done";
      }
      if (name === "input") {
        const kind = element.type;
        if (kind === "checkbox" || kind === "radio") {
          const wanted = { true: true, on: true, yes: true, 1: true, false: false, off: false, no: false, 0: false, "": false }[value.trim().toLowerCase()] ?? (value === element.value ? true : undefined);
          if (wanted === undefined) return "a " + kind + " is filled with `true` or `false`";
          if (element.checked !== wanted) element.click();
          return element.checked === wanted ? "done" : "the page did not accept the value";
        }
        if (["date", "time", "datetime-local", "month", "week", "color", "range"].includes(kind)) {
          if (element.readOnly) return "it is read-only";
          const set = Object.getOwnPropertyDescriptor(HTMLInputElement.prototype, "value").set;
          element.focus();
          set.call(element, value);
          if (element.value !== value) return "a field of type `" + kind + "` does not take this value";
          change(element);
          return "done";
        }
        if (["file", "submit", "button", "image", "reset", "hidden"].includes(kind)) return "a field of type `" + kind + "` cannot be filled";
      } else if (name !== "textarea" && !element.isContentEditable) {
        return "`" + named(element) + "` is no field";
      }
      if (element.readOnly) return "it is read-only";
      element.focus();
      if (element.select) element.select();
      else element.ownerDocument.getSelection().selectAllChildren(element);
      return "typed";
    },
    changed(selector) { find(selector)?.dispatchEvent(new Event("change", { bubbles: true })); },
    // Resolves once nothing below `selector` has changed for `windowMs` ms; false when no element matches.
    isStable(selector, windowMs) {
      const root = selector ? find(selector) : document;
      if (!root) return false;
      return new Promise((resolve) => {
        let timer;
        const watch = new MutationObserver(() => { clearTimeout(timer); timer = setTimeout(end, windowMs); });
        const end = () => { watch.disconnect(); resolve(true); };
        watch.observe(root, { subtree: true, childList: true, attributes: true, characterData: true });
        timer = setTimeout(end, windowMs);
      });
    },
    scrollBy(x, y) { window.scrollBy({ left: x, top: y, behavior: "instant" }); },
    // What scrolls: the window, or if it does not, the largest element with a scroll bar of its own.
    scroller() {
      const root = document.scrollingElement ?? document.documentElement;
      if (!root || root.scrollHeight > root.clientHeight + 1) return root;
      let best = root, area = 0;
      for (const element of all(document, "*")) {
        if (element.scrollHeight <= element.clientHeight + 1 || element.clientHeight === 0) continue;
        const kind = styleOf(element).overflowY, size = element.clientWidth * element.clientHeight;
        if ((kind === "auto" || kind === "scroll" || kind === "overlay") && size > area) [best, area] = [element, size];
      }
      return best;
    },
    // Scrolls down by most of a window's height, so that each part comes into view: whether the end is reached, and the height of it all.
    scrollOn() {
      const scroller = this.scroller();
      if (!scroller) return [true, 0];
      const before = scroller.scrollTop;
      scroller.scrollBy({ top: Math.max(scroller.clientHeight * 0.8, 100), behavior: "instant" });
      const isEnd = scroller.scrollTop === before || scroller.scrollTop + scroller.clientHeight >= scroller.scrollHeight - 1;
      return [isEnd, scroller.scrollHeight];
    },
    // Whether pictures load only when they come into view.
    isLazy() { return first(document, 'img[loading="lazy"],iframe[loading="lazy"],img[data-src],[data-bg],[data-background]') !== null; },
    scrollToStart() { window.scrollTo({ top: 0, left: 0, behavior: "instant" }); },
    // The height of all that can be scrolled to.
    height() { return this.scroller()?.scrollHeight ?? 0; },
  };
})()
