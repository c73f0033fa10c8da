// The playground: one request, made with a form, and its answer in views.
//
// Its address has the request: `e` the endpoint, `b` the request object as JSON, `v` the view. Keys
// and what a request keeps secret are not in it, and an address alone sends nothing.

import { BASE, failure, openapi } from "../api.js";
import { answerView } from "../answer.js";
import { code, languages } from "../code.js";
import { form } from "../form.js";
import { formats, parameters } from "../schema.js";
import { copyButton, count, empty, failed, h, loading, tabs } from "../ui.js";

/** The built-in site that needs no network. */
const SAMPLE = "http://sample.trawl.test/";
/** Longest address that holds a request, in characters. */
const ADDRESS_MAX = 16_000;
/** Longest program that is shown, in characters. */
const PROGRAM_MAX = 100_000;

/** The endpoints, and what a form holds at first. */
const ENDPOINTS = {
  "/scrape": { url: SAMPLE, return_format: ["markdown", "text", "raw"], metadata: true, return_page_links: true, return_timing: true },
  "/screenshot": { url: SAMPLE, full_page: false },
  "/links": { url: SAMPLE, limit: 1 },
  "/map": { url: SAMPLE, limit: 100 },
  "/transform": { data: [{ html: "<h1>Hello</h1>\n<p>Paste a page here.</p>", url: "https://example.com/" }], return_format: ["markdown", "text", "raw"] },
};

/** Parameters that no link holds, whatever the interface says. URLs of webhooks are often secrets of their receivers. */
const SECRETS = new Set([
  "headers", "cookies", "router", "webhooks", "webhook", "automation_scripts", "execution_scripts", "evaluate_on_new_document",
]);
/** Names of members and of query parameters whose values are secrets, with a `_` before each capital. */
const SECRET =
  /(?:authorization|bearer|cookies?|credentials?|headers|jwt|key|passphrase|passw(?:or)?d|pwd|secrets?|session[-_.]?id|signature|tokens?)$|(?:^|[^a-z])(?:auth|pass|pw|session|sid|sig)$/i;
/** Parameters with URLs: texts, lists of them, or objects with a `url`. */
const URLS = new Set(["url", "data", "sitemaps", "sitemap_path", "proxy"]);
/** User name and password of a URL, which may have no scheme. They may contain an `@`. */
const USER = /(^\s*(?:https?:)?[/\\]*|\/\/)[^/\\?#\s]*@/gi;
/** The same within any text: only after a scheme. */
const USER_AMONG_WORDS = /(:\/\/)[^/\\?#\s]*@/g;
/** A parameter of a query or of a fragment, and its value. */
const QUERY = /([?&;#])([\w.[\]%$-]{1,100})=[^&;#\s"'<>]+/g;
/** Members that are a page, which stays as it is. */
const PAGES = new Set(["html", "base64"]);

/** Whether a member of this name holds a secret; numbers and switches are none. */
const isSecret = (name, value) =>
  (typeof value === "string" || typeof value === "object") && SECRET.test(name.trim().replaceAll(/([a-z\d])([A-Z])/g, "$1_$2"));

/** A value without passwords and keys, at any depth. */
function cleaned(value, isUrl) {
  if (typeof value === "string") {
    if (!isUrl && !value.includes("://")) return value;
    return value.replaceAll(isUrl ? USER : USER_AMONG_WORDS, "$1")
      .replaceAll(QUERY, (all, mark, name) => (isSecret(name, "") ? `${mark}${name}=` : all));
  }
  if (Array.isArray(value)) return value.map((item) => cleaned(item, isUrl));
  if (value === null || typeof value !== "object") return value;
  const open = Object.entries(value).filter(([name, item]) => !isSecret(name, item));
  return Object.fromEntries(open.map(([name, item]) => [name, PAGES.has(name) && typeof item === "string" ? item : cleaned(item, name === "url")]));
}

/** A request without what a link must not hold: secrets, and passwords and keys within URLs and objects. */
export function withoutSecrets(request, secret) {
  const open = Object.entries(request).filter(([name, value]) => !secret.has(name) && !SECRETS.has(name) && !isSecret(name, value));
  return Object.fromEntries(open.map(([name, value]) => [name, cleaned(value, URLS.has(name))]));
}

/** The request object in the address; the first one of the endpoint if there is none. */
function given(endpoint, query) {
  const text = query.get("b");
  if (text === null) {
    const url = query.get("url");
    const first = ENDPOINTS[endpoint];
    return url !== null && "url" in first ? { ...first, url } : first;
  }
  try {
    const body = JSON.parse(text);
    return body !== null && typeof body === "object" && !Array.isArray(body) ? body : ENDPOINTS[endpoint];
  } catch {
    return ENDPOINTS[endpoint];
  }
}

export async function render(container, context) {
  container.append(loading("Reading the interface…"));
  const described = await openapi();
  const endpoint = Object.hasOwn(ENDPOINTS, context.query.get("e") ?? "") ? context.query.get("e") : "/scrape";
  return playground(container, context, described, endpoint);
}

/** Whether the answer is below the request and not beside it, as in `console.css`. */
const isBelow = () => matchMedia("(max-width: 60rem)").matches;

/** Fills the answer; the focus stays in it although its element is no longer there. */
function fill(answer, ...nodes) {
  const hadFocus = answer.contains(document.activeElement);
  answer.replaceChildren(...nodes);
  if (hadFocus) answer.focus({ preventScroll: true });
}

/**
 * Scrolls the answer into view where it is below the request. The focus moves to it if its element
 * would be out of the window then. `block` is what `scrollIntoView` takes.
 */
function reveal(answer, block) {
  if (!isBelow()) return;
  const [focused, root] = [document.activeElement, document.documentElement];
  const head = document.getElementById("header").offsetHeight + 8;
  const { top, bottom } = answer.getBoundingClientRect();
  const wanted = block === "start" ? top - head : Math.max(0, bottom - root.clientHeight);
  const by = Math.min(wanted, root.scrollHeight - root.clientHeight - root.scrollTop);
  const behavior = matchMedia("(prefers-reduced-motion: reduce)").matches ? "instant" : "smooth";
  answer.style.scrollMarginTop = `${head}px`;
  answer.scrollIntoView({ behavior, block });
  const isOut = focused.getBoundingClientRect().bottom - by < head;
  if (isOut && !answer.contains(focused)) answer.focus({ preventScroll: true });
}

/** Whether the endpoint was just chosen: its control is drawn anew, and has the focus again. */
let isChosen = false;

/** The page for one endpoint; returns what is done when it is left. */
function playground(container, context, described, endpoint) {
  const all = parameters(described, endpoint);
  const state = { view: context.query.get("v") ?? undefined, aborter: undefined, timer: undefined };
  const made = form(all, given(endpoint, context.query), formats(described), () => changed());
  const answer = h("section", { class: "answer", "aria-label": "Answer", tabindex: -1 });
  const wrong = h("p", { class: "bad", role: "alert" });
  const note = h("small", { role: "status" });
  const sample = h("div", {});
  const choose = h("select", { id: "endpoint", "aria-label": "Endpoint", onchange: () => {
    isChosen = true;
    context.open("playground", { e: choose.value });
  } },
    Object.keys(ENDPOINTS).map((path) => h("option", { value: path, selected: path === endpoint }, `POST ${path}`)));
  const send = h("button", { type: "submit", class: "primary", title: "Ctrl+Enter" }, "Send");
  const stop = h("button", { type: "button", hidden: true, onclick: () => state.aborter?.abort() }, "Stop");
  // Made anew: what the address was opened with may hold secrets, and what was just typed is not in it yet.
  const share = copyButton(() => new URL(context.address("playground", address(made.body().value)), location.href).href, "Copy link");

  /** The parameters of the page's address, without secrets. */
  function address(request) {
    const open = withoutSecrets(request, new Set(all.filter((one) => one.isSecret).map((one) => one.name)));
    const left = Object.keys(request).filter((name) => JSON.stringify(open[name]) !== JSON.stringify(request[name]))
      .map((name) => (name in open ? `what is secret in ${name}` : name));
    const query = { e: endpoint, b: JSON.stringify(open), ...(state.view && { v: state.view }) };
    const isLong = query.b.length > ADDRESS_MAX;
    share.disabled = isLong;
    note.textContent = isLong ? "The request is too long for a link." : left.length > 0 ? `The link leaves out ${left.join(", ")}.` : "";
    if (isLong) delete query.b;
    return query;
  }
  /** After a pause, since a request may be a large page. */
  function changed() {
    clearTimeout(state.timer);
    state.timer = setTimeout(update, 150);
  }
  function update() {
    const { value } = made.body();
    context.keep(address(value));
    programs(sample, endpoint, value);
  }
  /** Sends the request; `more` has parameters that the form does not. */
  async function run(more = {}) {
    const { value, errors } = made.body();
    wrong.textContent = errors.join("; ");
    if (errors.length > 0) return;
    if (context.key() === "") {
      fill(answer, withoutKey(context));
      reveal(answer, "start");
      return;
    }
    state.aborter?.abort();
    const aborter = new AbortController();
    state.aborter = aborter;
    stop.hidden = false;
    answer.setAttribute("aria-busy", "true");
    const waiting = loading("Waiting for the page…");
    // The other button that stops it may be out of the window.
    if (isBelow()) waiting.append(" ", h("button", { type: "button", onclick: () => aborter.abort() }, "Stop"));
    fill(answer, waiting);
    reveal(answer, "nearest");
    const from = document.activeElement;
    try {
      const request = { ...value, ...more };
      const response = await context.api("POST", endpoint, request, { signal: aborter.signal });
      if (state.aborter !== aborter) return;
      const now = document.activeElement;
      show(request, response, () => run(more));
      // A person who went elsewhere meanwhile stays there.
      if ([from, send, stop, document.body].includes(now) || answer.contains(document.activeElement)) reveal(answer, "start");
    } catch (error) {
      if (state.aborter === aborter) fill(answer, empty(error.name === "AbortError" ? "Stopped." : error.message));
    } finally {
      if (state.aborter === aborter) {
        answer.removeAttribute("aria-busy");
        if (document.activeElement === stop) send.focus();
        stop.hidden = true;
      }
    }
  }
  function show(request, response, again) {
    if (!response.ok || response.json === undefined) {
      fill(answer, failed(failure(response), again));
      return;
    }
    const onchoose = (name) => {
      state.view = name;
      changed();
    };
    const open = (url) => context.open("playground", { e: "/scrape", b: JSON.stringify({ ...ENDPOINTS["/scrape"], url }) });
    const turn = (pages) => run({ pages: pages === "" ? undefined : pages });
    const nodes = answerView({ endpoint, request, response, chosen: state.view, context, onchoose, open, turn, use: made.set });
    fill(answer, ...nodes.flat(Infinity).filter(Boolean));
  }
  const keyed = () => {
    if (answer.querySelector(".keyless") !== null) answer.replaceChildren(first(context));
  };
  const pressed = (event) => {
    if (event.key === "Enter" && (event.ctrlKey || event.metaKey)) {
      event.preventDefault();
      run();
    } else if (event.key === "/" && !/^(INPUT|TEXTAREA|SELECT)$/.test(event.target.tagName)) {
      event.preventDefault();
      made.search.focus();
    }
  };
  addEventListener("keys", keyed);
  document.addEventListener("keydown", pressed);
  const asked = h("form", { class: "request", "aria-label": "Request", onsubmit: (event) => {
    event.preventDefault();
    run();
  } }, h("div", { class: "bar" }, choose, send, stop, share, note), wrong, made.element);
  answer.append(first(context));
  container.replaceChildren(h("h1", {}, "Playground"), h("div", { class: "playground" },
    h("div", {}, asked, h("details", { class: "programs", open: true }, h("summary", {}, "The same request in a program"), sample)), answer));
  programs(sample, endpoint, made.body().value);
  // A link of others may hold secrets: they are in the form now, and need not stay in the address.
  if (context.query.has("b") || context.query.has("url")) context.keep(address(made.body().value));
  if (isChosen) choose.focus();
  isChosen = false;
  return () => {
    removeEventListener("keys", keyed);
    document.removeEventListener("keydown", pressed);
    clearTimeout(state.timer);
    const { aborter } = state;
    state.aborter = undefined;
    aborter?.abort();
  };
}

/** What stands in place of an answer. */
const first = (context) => (context.key() === ""
  ? withoutKey(context)
  : empty("Send the request to see what it returns. Ctrl+Enter sends it from any field, / finds a parameter."));

const withoutKey = (context) => h("div", { class: "keyless" }, empty(
  "Requests need the key of an account, which the operator of this server issues.",
  h("button", { type: "button", class: "primary", onclick: () => context.askKey() }, "Add key")));

/** Writes the request as programs, in the language that was chosen before. */
function programs(box, endpoint, request) {
  const chosen = box.querySelector("[aria-selected=true]")?.dataset.view;
  const url = new URL(endpoint.slice(1), BASE).href;
  box.replaceChildren(tabs("Language", languages.map((language) => ({
    name: language,
    label: language,
    make: () => {
      const text = code(language, url, request);
      const shown = text.length > PROGRAM_MAX
        ? h("p", { class: "note" }, `The program has ${count(text.length)} characters, which are too many to show: copy it.`)
        : h("pre", { tabindex: 0 }, text);
      return [h("div", { class: "buttons" }, copyButton(() => text)), shown];
    },
  })), chosen));
}
