// Fields picked by clicking on the page: selectors that last are proposed, looked up on the page as
// they are written, and become the request's `css_extraction_map`.

import { count, dollars, h, newId } from "../ui.js";
import { ask, many, worker } from "../views.js";
import { frame, tooLong } from "./page.js";
import { json } from "./text.js";

/** Whether the server takes a selector for XPath. */
const isXPath = (selector) => /^(?:\/|\.\/|\.\.|\(|[a-z-]+\()/.test(selector);

/** What makes a selector last, in words. */
const KINDS = {
  id: "id", attribute: "attribute", class: "class", text: "text beside or in it", name: "name of the element",
  place: "place: breaks when the page changes", "within id": "within an id", "within attribute": "within an attribute", "within class": "within a class",
};

/** A name for a field with this selector that no other one has. */
function nameOf(selector, tag, taken) {
  const last = isXPath(selector) ? selector : selector.replace(/@[\w.:-]+$/, "").replace(/^.*\s/s, "");
  const [, id, text] = /[#.]([\w-]+)$|["']([^"']+)["']/.exec(last) ?? [];
  const words = (id ?? text ?? tag).toLowerCase().replaceAll(/[^a-z0-9]+/g, "_").replaceAll(/^_+|_+$/g, "").slice(0, 40) || tag;
  let [name, n] = [words, 1];
  while (taken.includes(name)) name = `${words}_${(n += 1)}`;
  return name;
}

/** The fields of a map, and whether each has every match; null if it has more than fields with one selector. */
export function fieldsOf(map) {
  if (map === undefined) return { fields: [], isList: false };
  if (map === null || typeof map !== "object") return null;
  const values = Object.values(map);
  if (values.every((value) => typeof value === "string")) {
    return { fields: Object.entries(map).map(([name, selector]) => ({ name, selector })), isList: false };
  }
  const own = values.length === 1 && Array.isArray(map["*"]) ? map["*"] : [];
  const isPlain = own.length > 0 && own.every((field) => Array.isArray(field?.selectors) && field.selectors.length === 1);
  return isPlain ? { fields: own.map(({ name, selectors }) => ({ name, selector: selectors[0] })), isList: true } : null;
}

/** The map of fields. */
export const mapOf = (fields, isList) => (isList
  ? { "*": fields.map(({ name, selector }) => ({ name, selectors: [selector] })) }
  : Object.fromEntries(fields.map(({ name, selector }) => [name, selector])));

/** The number of matches and the first of them in words. */
function saidFound({ count: n, values = [], error } = {}) {
  if (error !== undefined) return h("span", { class: "bad" }, String(error));
  if (n === undefined) return "";
  return n === 0 ? h("span", { class: "bad" }, "nothing") : `${count(n)}: ${String(values[0])}`;
}

/** A selector of an attribute, or of the text if there is none. */
const withAttribute = (selector, name) => (name === "" ? selector : `${selector}${isXPath(selector) ? "/" : ""}@${name}`);

/** The element that was picked, and the selectors that are proposed for it. `onadd(selector, tag)` adds a field. */
function pickedView(picked, onadd, onlook) {
  const group = newId("proposals");
  const attributes = picked.attributes.map(([name]) => name);
  const value = h("select", { "aria-label": "What the field is made of", onchange: () => onlook(chosen()) },
    h("option", { value: "" }, "text"), attributes.map((name) => h("option", { value: name }, `@${name}`)));
  if (["img", "source"].includes(picked.tag) && attributes.includes("src")) value.value = "src";
  const radios = picked.proposals.map(({ selector }, at) =>
    h("input", { type: "radio", name: group, value: selector, checked: at === 0, onchange: () => onlook(chosen()) }));
  const chosen = () => withAttribute(radios.find((radio) => radio.checked)?.value ?? picked.tag, value.value);
  const lines = picked.proposals.map(({ selector, kind, count: n }, at) => h("label", { class: "proposal" }, radios[at],
    h("code", {}, selector), h("small", {}, `${KINDS[kind] ?? kind}; ${n === 1 ? "only this element" : `${count(n)} elements`}`)));
  return {
    chosen,
    nodes: [
      h("p", {}, h("code", {}, `<${picked.tag}>`), ` ${picked.text.slice(0, 120)}`),
      h("fieldset", {}, h("legend", {}, "Selectors, the ones that last longest first"), lines),
      h("div", { class: "buttons" }, value, h("button", { type: "button", class: "primary", onclick: () => onadd(chosen(), picked.tag) }, "Add field")),
    ],
  };
}

/** The view. `context` has `api`; `use(name, value)` puts a parameter into the form of the request. */
export function pickView(context, request, page, html, use) {
  const long = tooLong(html);
  if (long !== null) return long;
  const given = fieldsOf(request.css_extraction_map);
  const state = { fields: given?.fields ?? [], isList: given?.isList ?? false, found: [], candidate: undefined };
  const rows = h("div", { class: "fields-picked" });
  const one = h("section", { "aria-label": "The picked element", "aria-live": "polite" },
    h("p", { class: "note" }, "Click on the page, or walk through it with the buttons."));
  const said = h("p", { role: "status", class: "note" });
  const result = h("div");
  const live = h("p", { class: "note", role: "status" });

  const look = () => post({ find: [...state.fields.map(({ selector }) => selector), ...(state.candidate === undefined ? [] : [state.candidate])] });
  const onlook = (selector) => {
    state.candidate = selector;
    look();
  };
  const onadd = (selector, tag) => {
    state.fields.push({ name: nameOf(selector, tag, state.fields.map(({ name }) => name)), selector });
    state.candidate = undefined;
    draw();
    rows.lastElementChild?.querySelector("input")?.focus();
  };
  const { element, post } = frame(() => ({ html, isPicking: true }), {
    onload: look,
    onmessage: (data) => {
      if (Array.isArray(data?.found)) {
        state.found = data.found;
        tell();
      } else if (typeof data?.picked === "object" && data.picked !== null) {
        const { nodes, chosen } = pickedView(data.picked, onadd, onlook);
        one.replaceChildren(...nodes);
        onlook(chosen());
      }
    },
  });
  /** Says what the selectors find, without drawing the fields anew while a person types. */
  function tell() {
    state.fields.forEach((_, at) => rows.children[at]?.querySelector(".matches").replaceChildren(saidFound(state.found[at])));
    live.replaceChildren(...(state.candidate === undefined ? [] : ["Finds ", saidFound(state.found.at(-1))]));
  }
  const row = (field) => h("div", { class: "field-picked" },
    h("input", { value: field.name, "aria-label": "Name of the field", spellcheck: "false", oninput: (event) => { field.name = event.target.value; } }),
    h("input", { class: "mono", value: field.selector, "aria-label": `Selector of ${field.name}`, spellcheck: "false", oninput: (event) => {
      field.selector = event.target.value;
      look();
    } }),
    h("span", { class: "matches", "aria-live": "polite" }),
    h("button", { type: "button", "aria-label": `Remove ${field.name}`, onclick: () => {
      state.fields = state.fields.filter((other) => other !== field);
      draw();
    } }, h("span", { "aria-hidden": "true" }, "✕")));
  function draw() {
    rows.replaceChildren(...state.fields.map(row));
    buttons.hidden = state.fields.length === 0;
    look();
  }
  const complete = () => state.fields.filter(({ name, selector }) => name !== "" && selector !== "");
  const map = () => mapOf(complete(), state.isList);
  const put = h("button", { type: "button", class: "primary", onclick: () => {
    use("css_extraction_map", map());
    said.textContent = `The request has ${many(complete().length, "field")} in css_extraction_map.`;
  } }, "Use in the request");
  const attempt = worker("Try on the server", async () => {
    const body = { data: [{ html, url: page.url }], return_format: "empty", css_extraction_map: map() };
    const answer = (await ask(context, "POST", "/transform", body)).json;
    result.replaceChildren(json(answer.css_extracted?.[0] ?? {}), h("p", { class: "note" }, `It cost ${dollars(answer.costs?.total_cost ?? 0)}.`));
  });
  const every = h("label", { class: "box" }, h("input", { type: "checkbox", checked: state.isList, onchange: (event) => { state.isList = event.target.checked; } }),
    " every match, as lists");
  const buttons = h("div", { class: "buttons" }, put, attempt, every);
  const walks = [["parent", "↑ around"], ["child", "↓ inside"], ["previous", "← before"], ["next", "→ after"]].map(([walk, label]) =>
    h("button", { type: "button", onclick: () => post({ walk }) }, label));
  draw();
  return [
    given === null && h("p", { class: "note" }, "The map of the request has fields with several selectors or paths: fields picked here replace it."),
    h("div", { class: "picker" }, element, h("div", {},
      h("div", { class: "buttons", role: "group", "aria-label": "Pick the element" }, walks), one, live,
      h("h3", {}, "Fields"), rows, buttons, said, result)),
  ].filter(Boolean);
}
