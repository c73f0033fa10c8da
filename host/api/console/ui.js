// Small components. All text becomes text nodes: nothing here reads markup.

/** Names of properties that `h` sets as such; all others are attributes. */
const PROPERTIES = new Set(["value", "checked", "selected", "disabled", "readOnly", "indeterminate", "hidden", "open"]);

/**
 * Makes an element. `properties`: attributes, those named in `PROPERTIES` as properties, functions
 * `on…` as listeners; null, undefined and false are left out. Children: nodes, texts, numbers,
 * lists of them.
 */
export function h(tag, properties = {}, ...children) {
  const element = document.createElement(tag);
  for (const [name, value] of Object.entries(properties)) {
    if (name.startsWith("on")) element.addEventListener(name.slice(2), value);
    else if (PROPERTIES.has(name)) element[name] = value;
    else if (value !== null && value !== undefined && value !== false) {
      element.setAttribute(name, value === true ? "" : value);
    }
  }
  element.append(...children.flat(Infinity).filter((child) => child !== null && child !== undefined && child !== false));
  return element;
}

/** The same for an element of a drawing. */
export function svg(tag, attributes = {}, ...children) {
  const element = document.createElementNS("http://www.w3.org/2000/svg", tag);
  for (const [name, value] of Object.entries(attributes)) element.setAttribute(name, value);
  element.append(...children);
  return element;
}

// Numbers.

const grouped = new Intl.NumberFormat("en", { maximumFractionDigits: 0 });
const short = new Intl.NumberFormat("en", { maximumSignificantDigits: 3 });

/** 12,345. */
export const count = (value) => grouped.format(value);

/** Bytes in the largest unit that gives a number of at least 1: `1.5 MB`. */
export function bytes(value) {
  const units = ["B", "kB", "MB", "GB", "TB"];
  let at = 0;
  let rest = value;
  while (rest >= 999.5 && at < units.length - 1) {
    rest /= 1000;
    at += 1;
  }
  return `${short.format(rest)} ${units[at]}`;
}

/** Dollars, small amounts in full: `$0.00012`. */
export function dollars(value) {
  const size = Math.abs(value);
  // Sums of numbers with fractions are seldom exactly zero.
  if (size < 5e-10) return "$0.00";
  return `${value < 0 ? "−" : ""}$${size >= 1 ? size.toFixed(2) : size.toFixed(9).replace(/\.?0+$/, "")}`;
}

/** A duration given in milliseconds: `12 ms`, `3.4 s`, `5 min`. */
export function duration(milliseconds) {
  if (milliseconds < 1000) return `${short.format(milliseconds)} ms`;
  if (milliseconds < 120_000) return `${short.format(milliseconds / 1000)} s`;
  if (milliseconds < 7_200_000) return `${short.format(milliseconds / 60_000)} min`;
  return `${short.format(milliseconds / 3_600_000)} h`;
}

/** How long something took: never nothing, although whole milliseconds may be none. */
export const took = (milliseconds) => (milliseconds > 0 ? duration(milliseconds) : "< 1 ms");

/** A share between 0 and 1: `12.3 %`. */
export const percent = (share) => `${short.format(share * 100)} %`;

/** A moment (anything that `Date` reads) in the person's own time zone. */
export const time = (moment) =>
  new Intl.DateTimeFormat("en", { dateStyle: "medium", timeStyle: "medium" }).format(new Date(moment));

// States of a view.

/** Nothing is there: a sentence, and what to do about it (nodes). */
export const empty = (sentence, ...more) => h("div", { class: "state" }, h("p", {}, sentence), more);

/** Something is on its way. */
export const loading = (sentence = "Loading…") =>
  h("div", { class: "state", role: "status" }, h("span", { class: "spinner", "aria-hidden": "true" }), sentence);

/** It failed: why, and a button that tries again if there is a way to. */
export const failed = (sentence, again) =>
  h("div", { class: "state failed", role: "alert" }, h("p", {}, sentence),
    again && h("button", { type: "button", onclick: () => again() }, "Try again"));

// Input.

let lastId = 0;

/** An id that no other element of this document has. */
export const newId = (prefix = "e") => `${prefix}-${(lastId += 1)}`;

/** A text field with its label: `{element, input}`. Further options are attributes of the input. */
export function field({ label, help, ...attributes }) {
  const id = newId("field");
  const input = h("input", { id, autocomplete: "off", spellcheck: "false", ...attributes });
  const note = help && h("small", { id: `${id}-help` }, help);
  if (help) input.setAttribute("aria-describedby", `${id}-help`);
  return { input, element: h("div", { class: "field" }, h("label", { for: id }, label), input, note) };
}

/**
 * Opens a dialog with a title, nodes, and buttons by label; each function is called after the
 * dialog has closed. Enter is the first button, Escape closes without any.
 */
export function dialog(title, nodes, buttons) {
  const id = newId("dialog");
  const close = (act) => () => {
    element.close();
    act();
  };
  const made = Object.entries(buttons).map(([label, act], at) =>
    h("button", { type: at === 0 ? "submit" : "button", class: at === 0 ? "primary" : null,
      onclick: at === 0 ? () => undefined : close(act) }, label));
  const form = h("form", { onsubmit: (event) => {
    event.preventDefault();
    close(Object.values(buttons)[0])();
  } }, h("h2", { id }, title), nodes, h("div", { class: "buttons" }, made));
  const element = h("dialog", { "aria-labelledby": id, onclose: () => element.remove() }, form);
  document.body.append(element);
  element.showModal();
  return element;
}

/** A button that copies the text that `text()` returns. */
export function copyButton(text, label = "Copy") {
  const button = h("button", { type: "button", onclick: async () => {
    try {
      await navigator.clipboard.writeText(text());
      button.textContent = "Copied";
    } catch {
      button.textContent = "Not allowed here";
    }
    setTimeout(() => { button.textContent = label; }, 1500);
  } }, label);
  return button;
}

/** Gives a file with this name and content to the person. */
export function download(name, media_type, content) {
  const url = URL.createObjectURL(new Blob([content], { type: media_type }));
  h("a", { href: url, download: name }).click();
  setTimeout(() => URL.revokeObjectURL(url), 60_000);
}

/**
 * Tabs: `views` are `{name, label, make}`, `make()` returns the nodes of a view when it is first
 * shown. `chosen` is the name of the first one, `onchoose(name)` is called for each choice.
 */
export function tabs(label, views, chosen, onchoose = () => undefined) {
  const made = new Map();
  const panel = h("div", { role: "tabpanel", id: newId("panel"), tabindex: 0 });
  const buttons = views.map((view) => {
    const id = newId("tab");
    return h("button", { type: "button", role: "tab", id, "aria-controls": panel.id, "data-view": view.name, onclick: () => choose(view, true) }, view.label);
  });
  function choose(view, isPersons) {
    if (!made.has(view.name)) made.set(view.name, h("div", {}, view.make()));
    views.forEach((other, at) => {
      const is = other === view;
      buttons[at].setAttribute("aria-selected", String(is));
      buttons[at].tabIndex = is ? 0 : -1;
      if (is) panel.setAttribute("aria-labelledby", buttons[at].id);
      if (is && isPersons) buttons[at].focus();
    });
    panel.replaceChildren(made.get(view.name));
    if (isPersons) onchoose(view.name);
  }
  const list = h("div", { role: "tablist", "aria-label": label, onkeydown: (event) => {
    const at = buttons.indexOf(document.activeElement);
    const steps = { ArrowRight: at + 1, ArrowLeft: at - 1, Home: 0, End: buttons.length - 1 };
    if (at < 0 || !(event.key in steps)) return;
    event.preventDefault();
    choose(views[(steps[event.key] + views.length) % views.length], true);
  } }, buttons);
  choose(views.find((view) => view.name === chosen) ?? views[0], false);
  return h("div", { class: "tabs" }, list, panel);
}

// Tables.

/** Height of a row in CSS pixels, the same as in `console.css`. */
const ROW = 32;

/** Replaces the rows of a table; a link in one of them keeps the focus. */
function redraw(box, body, rows) {
  const focused = document.activeElement?.closest("[role=row]");
  const place = focused && body.contains(focused) ? focused.getAttribute("aria-rowindex") : null;
  body.replaceChildren(...rows);
  if (place !== null) (body.querySelector(`[aria-rowindex="${place}"] a`) ?? box).focus({ preventScroll: true });
}

/**
 * A table of any number of rows, of which only those in view are in the document. `columns` are
 * `{label, cell, width, isNumber}`: `cell(row)` returns a text or a node, `width` is a CSS track
 * (`1fr`, `8rem`). Options: `label` for readers, `height` of the box in CSS pixels, `onopen(row)` for
 * a click or Enter on a row, which the arrow keys choose, `nothing`: the sentence of an empty table.
 *
 * Returns `{element, set(rows)}`; `set` keeps the position.
 */
export function table(columns, { label, height = 480, onopen, nothing = "No rows." } = {}) {
  let rows = [];
  let current = 0;
  const id = newId("table");
  // Readers pass arrow keys on to a grid, and say which row is the active one.
  const [role, cellRole] = onopen ? ["grid", "gridcell"] : ["table", "cell"];
  const tracks = columns.map((column) => column.width ?? "1fr").join(" ");
  const line = (properties, cells) => {
    const element = h("div", { role: "row", ...properties }, cells);
    element.style.gridTemplateColumns = tracks;
    return element;
  };
  const head = line({ class: "head" }, columns.map((column) =>
    h("div", { role: "columnheader", class: column.isNumber ? "number" : null }, column.label)));
  const body = h("div", { class: "rows", role: "rowgroup" });
  const box = h("div", { class: "table", role, tabindex: 0, "aria-label": label, onscroll: () => draw(), onkeydown: keyed },
    h("div", { role: "rowgroup", class: "heads" }, head), body);
  box.style.maxHeight = `${height}px`;

  function draw() {
    const from = Math.max(0, Math.floor(box.scrollTop / ROW) - 5);
    const to = Math.min(rows.length, from + Math.ceil(height / ROW) + 10);
    body.style.height = `${rows.length * ROW}px`;
    box.setAttribute("aria-rowcount", String(rows.length + 1));
    if (rows.length === 0) {
      box.removeAttribute("aria-activedescendant");
      body.replaceChildren(line({ class: "none" }, h("div", { role: cellRole }, nothing)));
      body.style.height = `${ROW}px`;
      return;
    }
    redraw(box, body, rows.slice(from, to).map((row, offset) => drawn(row, from + offset)));
    if (onopen) mark();
  }
  /** Shows which row is the current one, if it is in view. */
  function mark() {
    body.querySelector(".current")?.classList.remove("current");
    const row = body.querySelector(`[aria-rowindex="${current + 2}"]`);
    row?.classList.add("current");
    if (row) box.setAttribute("aria-activedescendant", row.id);
    else box.removeAttribute("aria-activedescendant");
  }
  function drawn(row, at) {
    const cells = columns.map((column) => h("div", { role: cellRole, class: column.isNumber ? "number" : null }, column.cell(row)));
    const element = line({ "aria-rowindex": at + 2, id: `${id}-${at}` }, cells);
    element.style.top = `${at * ROW}px`;
    if (onopen) element.addEventListener("click", () => {
      current = at;
      mark();
      onopen(row);
    });
    return element;
  }
  function keyed(event) {
    if (!onopen || rows.length === 0) return;
    const page = Math.max(1, Math.floor(height / ROW) - 2);
    const steps = { ArrowDown: 1, ArrowUp: -1, PageDown: page, PageUp: -page, Home: -rows.length, End: rows.length };
    if (event.key === "Enter" && event.target === box) {
      onopen(rows[current]);
    } else if (event.key in steps) {
      event.preventDefault();
      current = Math.min(rows.length - 1, Math.max(0, current + steps[event.key]));
      const top = current * ROW;
      if (top < box.scrollTop) box.scrollTop = top;
      if (top + 2 * ROW > box.scrollTop + box.clientHeight) box.scrollTop = top + 2 * ROW - box.clientHeight;
      draw();
    }
  }
  const set = (given) => {
    rows = given;
    current = Math.min(current, Math.max(0, rows.length - 1));
    draw();
  };
  set(rows);
  return { element: box, set };
}

// Curves.

const WIDTH = 600;
const HEIGHT = 140;

/**
 * Curves over time. `series` are `{label, points}`, `points` a list of `[milliseconds, value]`;
 * `unit(value)` writes a value. The largest and the last value are said in words, too.
 */
export function curve(title, series, unit = count) {
  const all = series.flatMap((one) => one.points);
  if (all.length < 2) return empty(`${title}: no values yet.`);
  const times = all.map(([at]) => at);
  const [from, to] = [Math.min(...times), Math.max(...times)];
  const top = Math.max(...all.map(([, value]) => value)) || 1;
  const x = (at) => (to === from ? 0 : ((at - from) / (to - from)) * WIDTH).toFixed(1);
  const y = (value) => (HEIGHT - (value / top) * HEIGHT).toFixed(1);
  const lines = series.map((one, at) => svg("polyline", {
    class: `series-${at % 6}`,
    points: one.points.map(([when, value]) => `${x(when)},${y(value)}`).join(" "),
  }));
  const legend = series.map((one, at) => h("li", { class: `series-${at % 6}` },
    `${one.label}: ${one.points.length === 0 ? "–" : unit(one.points.at(-1)[1])}`));
  const drawing = svg("svg", { viewBox: `0 0 ${WIDTH} ${HEIGHT}`, preserveAspectRatio: "none", role: "img", "aria-label": title }, ...lines);
  return h("figure", { class: "curve" },
    h("figcaption", {}, `${title}, at most ${unit(top)}`), drawing,
    h("div", { class: "axis" }, h("span", {}, time(from)), h("span", {}, time(to))), h("ul", {}, legend));
}
