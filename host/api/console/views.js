// What the views of crawls, of the account and of the operator share: reading lists to their end,
// states of a view, polling, and small pieces of a page.

import { count, dialog, empty, failed, h, loading, newId } from "./ui.js";
import { failure } from "./api.js";

/** Sends a request and returns its response; throws its failure as a sentence. */
export async function ask(context, method, path, body, options) {
  const response = await context.api(method, path, body, options);
  if (!response.ok) throw new Error(failure(response));
  return response;
}

/** The JSON of a GET. */
export const read = async (context, path, options) => (await ask(context, "GET", path, undefined, options)).json;

/** A path with a query; parameters that are null, undefined or empty are left out. */
export function withQuery(path, parameters) {
  const given = Object.entries(parameters).filter(([, value]) => value !== null && value !== undefined && value !== "");
  return given.length === 0 ? path : `${path}?${new URLSearchParams(given)}`;
}

/** The rows of a list with `data` and `next_cursor`, at most `most`: `{rows, count}`. */
export async function list(context, path, parameters, most) {
  const rows = [];
  let [cursor, total] = ["", 0];
  do {
    const limit = Math.min(1000, most - rows.length);
    const page = await read(context, withQuery(path, { ...parameters, limit, cursor }));
    rows.push(...page.data);
    total = page.count;
    cursor = page.next_cursor ?? "";
  } while (cursor !== "" && rows.length < most);
  return { rows, count: total };
}

/** What each container waits for: a view of another thing may be in the same one. */
const readings = new WeakMap();

/**
 * Fills a container with what `show(await read())` returns, with the states before and instead of
 * it, unless it is filled with something else meanwhile. Returns a function that does it again.
 */
export function view(container, read, show) {
  const again = async () => {
    const mine = {};
    const isLatest = () => readings.get(container) === mine;
    readings.set(container, mine);
    container.replaceChildren(loading());
    try {
      const value = await read();
      if (isLatest()) container.replaceChildren(...[show(value)].flat(Infinity).filter(Boolean));
    } catch (error) {
      if (isLatest() && error.name !== "AbortError") container.replaceChildren(failed(error.message, again));
    }
  };
  again();
  return again;
}

/**
 * Calls `work()` at once and then every so many milliseconds while the tab is looked at, never
 * twice at a time, until it returns false or the returned function is called.
 */
export function poll(work, milliseconds) {
  let isOver = false;
  let timer;
  const turn = async () => {
    if (isOver) return;
    if (document.hidden) {
      document.addEventListener("visibilitychange", turn, { once: true });
      return;
    }
    let goes;
    try {
      goes = await work();
    } catch (error) {
      // What was read for a page that was left is ended.
      if (!isOver) throw error;
    }
    if (goes !== false && !isOver) timer = setTimeout(turn, milliseconds);
  };
  turn();
  return () => {
    isOver = true;
    clearTimeout(timer);
  };
}

/** Shows that a repeated look failed. The same failure is not drawn, and so not read out, again and again. */
export function failing(container, sentence, again) {
  if (container.querySelector(":scope > .failed > p")?.textContent !== sentence) container.replaceChildren(failed(sentence, again));
}

/** What a page shows without the key it needs. */
export const needsKey = (context, sentence) =>
  empty(sentence, h("button", { type: "button", class: "primary", onclick: () => context.askKey() }, "Add key"));

/** Names with values, as a list. Values are texts or nodes. */
export const facts = (pairs) =>
  h("dl", { class: "facts" }, pairs.filter(Boolean).map(([name, value]) =>
    h("div", {}, h("dt", {}, name), h("dd", {}, value ?? "–"))));

/**
 * A choice with its label: `{element, input}`. `options` are values, or pairs with a text. With
 * `isBeside` it stands by itself: as wide as its texts, beside its label.
 */
export function choice({ label, options, value, isBeside = false, ...attributes }) {
  const id = newId("choice");
  const input = h("select", { id, ...attributes }, options.map((option) => {
    const [of, text] = Array.isArray(option) ? option : [option, option];
    return h("option", { value: of, selected: of === value }, text);
  }));
  const place = isBeside ? "field beside" : "field";
  return { input, element: h("div", { class: place }, h("label", { for: id }, label), input) };
}

/** A note about a field, with an id. */
const noted = (id, help) => help && h("small", { id: `${id}-help` }, help);
const describedBy = (id, help) => (help ? { "aria-describedby": `${id}-help` } : {});

/** A box to tick with its label: `{element, input}`. */
export function tick({ label, help, checked = false, ...attributes }) {
  const id = newId("tick");
  const input = h("input", { id, type: "checkbox", checked, ...describedBy(id, help), ...attributes });
  return { input, element: h("div", { class: "tick" }, input, h("label", { for: id }, label), noted(id, help)) };
}

/** A text of several lines with its label: `{element, input}`. */
export function area({ label, help, ...attributes }) {
  const id = newId("area");
  const input = h("textarea", { id, spellcheck: "false", rows: 3, ...describedBy(id, help), ...attributes });
  return { input, element: h("div", { class: "field" }, h("label", { for: id }, label), input, noted(id, help)) };
}

/** Calls `act` once a person has stopped typing. */
export function settled(act, milliseconds = 150) {
  let timer;
  return () => {
    clearTimeout(timer);
    timer = setTimeout(act, milliseconds);
  };
}

/** A button that works: it cannot be clicked again until `act()` ends, and says what failed. */
export function worker(label, act, attributes = {}) {
  const said = h("span", { class: "bad", role: "alert" });
  const button = h("button", { type: "button", ...attributes, onclick: async () => {
    const hadFocus = document.activeElement === button;
    button.disabled = true;
    said.textContent = "";
    try {
      await act();
    } catch (error) {
      said.textContent = ` ${error.message}`;
    }
    button.disabled = false;
    // A button that is disabled loses the focus, and a dialog cannot give it back.
    if (hadFocus && document.activeElement === document.body) button.focus();
  } }, label);
  return [button, said];
}

/**
 * Asks in a dialog, and calls `send()` if the person agrees. Resolves when that has ended or the
 * dialog was closed without it; rejects if it fails.
 */
export const asking = (title, nodes, label, send) => new Promise((done, fail) => {
  let isSent = false;
  const agreed = () => {
    isSent = true;
    send().then(done, fail);
  };
  const element = dialog(title, nodes, { [label]: agreed, Cancel: () => undefined });
  element.addEventListener("close", () => { if (!isSent) done(); });
});

/** How much of something is used, as a bar with words. */
export function share(label, used, limit, unit = count) {
  const text = `${unit(used)} of ${limit === null ? "any" : unit(limit)}`;
  const part = limit ? Math.min(1, used / limit) : 0;
  return h("div", { class: "share" }, h("span", {}, label),
    h("meter", { min: 0, max: 1, value: String(part), high: "0.9", low: "0.7", optimum: "0", "aria-label": `${label}: ${text}` }),
    h("span", { class: "number" }, text));
}

/** A link to the playground with this URL filled in. */
export const inPlayground = (context, url, text = "Playground") =>
  h("a", { href: context.address("playground", { url }), onclick: (event) => event.stopPropagation() }, text);

/** A number of things: `1 host`, `2 hosts`. */
export const many = (n, thing) => `${count(n)} ${thing}${n === 1 ? "" : "s"}`;

/** The words of a text that is made by a program: `host_limit` is `host limit`. */
export const words = (name) => String(name ?? "").replaceAll("_", " ");
