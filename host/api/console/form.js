// A form made from the parameters of an endpoint.

import { bytes, empty, h, newId } from "./ui.js";
import { textOf, valueOf } from "./schema.js";

/** Parameters that stand first. */
const FIRST = ["url", "data", "return_format", "request", "query", "limit"];

/** Bytes as base64. */
function base64(bytes) {
  let text = "";
  for (let at = 0; at < bytes.length; at += 8192) {
    text += String.fromCharCode(...bytes.subarray(at, at + 8192));
  }
  return btoa(text);
}

/** A file as a page of `/transform`. */
async function pageOf(file) {
  if (/\.(x?html?|txt|md)$/i.test(file.name)) return { html: await file.text() };
  const page = { base64: base64(new Uint8Array(await file.arrayBuffer())) };
  return file.type === "" ? page : { ...page, content_type: file.type };
}

/** The control of a parameter: `{element, get(), set(text)}`. */
function control(parameter, id, formats, onchange) {
  const about = { id, name: parameter.name, "aria-describedby": `${id}-help` };
  const plain = (element) => ({
    element,
    get: () => element.value,
    set: (text) => { element.value = text; },
  });
  const fallback = parameter.fallback === undefined ? "default" : `default: ${parameter.fallback}`;
  const select = (names) => plain(h("select", { ...about, onchange },
    h("option", { value: "" }, fallback), names.map((name) => h("option", { value: name }, name))));
  const area = (rows, placeholder) => plain(h("textarea", { ...about, rows, placeholder, spellcheck: "false", oninput: onchange }));
  const example = parameter.example === undefined ? "" : textOf(parameter, parameter.example);
  switch (parameter.kind) {
    case "switch":
      return select(["true", "false"]);
    case "choice":
      return select(parameter.choices);
    case "number":
      return plain(h("input", { ...about, type: "number", step: "any", placeholder: fallback, min: parameter.minimum, max: parameter.maximum, oninput: onchange }));
    case "formats":
      return formatControl(about, formats, onchange);
    case "document":
      return documentControl(about, onchange);
    case "lines":
      return area(2, `one a line, such as ${example.split("\n")[0]}`);
    case "json":
      return area(2, example);
    default:
      if (/script|html|text|evaluate|prompt/.test(parameter.name)) return area(3, example);
      return plain(h("input", { ...about, type: "text", autocomplete: "off", spellcheck: "false", placeholder: parameter.fallback ?? example, oninput: onchange }));
  }
}

/** Several formats, each with a box. */
function formatControl(about, formats, onchange) {
  const boxes = formats.map((name) => h("input", { type: "checkbox", value: name, onchange }));
  const other = h("input", { ...about, type: "text", placeholder: "others, with commas", spellcheck: "false", autocomplete: "off", oninput: onchange });
  const labels = formats.map((name, at) => h("label", { class: "box" }, boxes[at], ` ${name}`));
  const names = (text) => text.split(",").map((name) => name.trim()).filter((name) => name !== "");
  return {
    element: h("div", {}, h("div", { class: "boxes", role: "group", "aria-label": "Formats" }, labels), other),
    get: () => [...boxes.filter((box) => box.checked).map((box) => box.value), ...names(other.value)].join(", "),
    set: (text) => {
      const given = names(text);
      for (const box of boxes) box.checked = given.includes(box.value);
      other.value = given.filter((name) => !formats.includes(name)).join(", ");
    },
  };
}

/** The first page of a list as JSON; an empty one if there is none, as in a link of others. */
function firstPage(text) {
  try {
    const [page] = JSON.parse(text);
    return page !== null && typeof page === "object" ? page : {};
  } catch {
    return {};
  }
}

/** A page that is sent: HTML, or a file of any type, and its URL. */
function documentControl(about, onchange) {
  /** What is sent in place of HTML, and the file that is being read. */
  let [sent, wanted] = [{}, undefined];
  const html = h("textarea", { ...about, rows: 8, placeholder: "<h1>Paste HTML, or drop a file here</h1>", spellcheck: "false", oninput: () => {
    [sent, wanted] = [{}, undefined];
    said.textContent = "";
    onchange();
  } });
  const url = h("input", { type: "text", placeholder: "URL of the page, for its links", "aria-label": "URL of the page", spellcheck: "false", oninput: onchange });
  const said = h("small", { role: "status" });
  const take = async (file) => {
    if (file === undefined) return;
    wanted = file;
    try {
      const { html: text = "", ...rest } = await pageOf(file);
      if (wanted !== file) return;
      html.value = text;
      sent = rest;
      said.textContent = `${file.name}, ${bytes(file.size)}`;
    } catch (error) {
      if (wanted !== file) return;
      said.textContent = `${file.name} cannot be read: ${error.message}`;
    }
    onchange();
  };
  const file = h("input", { type: "file", "aria-label": "A file in place of HTML", onchange: () => take(file.files[0]) });
  const element = h("div", {
    class: "document",
    ondragover: (event) => event.preventDefault(),
    ondrop: (event) => {
      event.preventDefault();
      take(event.dataTransfer.files[0]);
    },
  }, html, h("div", { class: "buttons" }, file, said), url);
  return {
    element,
    get: () => {
      const page = { ...sent };
      if (html.value !== "") page.html = html.value;
      if (url.value.trim() !== "") page.url = url.value.trim();
      return page.html === undefined && page.base64 === undefined ? "" : JSON.stringify([page]);
    },
    set: (text) => {
      const { html: own = "", url: address = "", ...rest } = firstPage(text);
      html.value = own;
      url.value = address;
      // The same file can be chosen again.
      file.value = "";
      said.textContent = "";
      [sent, wanted] = [rest, undefined];
    },
  };
}

/** Help with code in backticks. */
const written = (text) => text.split("`").map((part, at) => (at % 2 === 1 ? h("code", {}, part) : part));

/** Whether a parameter is what these words look for. */
function isFound(parameter, words) {
  const text = [parameter.name, ...parameter.aliases, parameter.help, ...parameter.keys].join(" ").toLowerCase();
  return words.every((word) => text.includes(word));
}

/**
 * The form of these parameters with `values` (an object) in it. `onchange()` is called after each
 * change.
 *
 * Returns `{element, body(), set(name, value), search}`: `body()` is `{value, errors}`, the request
 * object and, in sentences, what is wrong; `set` gives a parameter another value; `search` is the
 * field that finds parameters.
 */
export function form(parameters, values, formats, onchange) {
  const place = ({ name }) => (FIRST.includes(name) ? FIRST.indexOf(name) : FIRST.length);
  const sorted = [...parameters].sort((a, b) => place(a) - place(b));
  // A link of others may have another name of a parameter.
  const given = ({ name, aliases }) => [name, ...aliases].map((one) => values[one]).find((value) => value !== undefined);
  const rows = sorted.map((parameter) => row(parameter, given(parameter), formats, changed));
  const search = h("input", { type: "search", placeholder: "Find a parameter ( / )", "aria-label": "Find a parameter", spellcheck: "false", oninput: filter });
  const onlySet = h("input", { type: "checkbox", onchange: filter });
  const none = empty("No parameter has these words.");
  const found = h("small", { role: "status" });

  function filter() {
    const words = search.value.toLowerCase().split(/\s+/).filter((word) => word !== "");
    const shown = rows.filter((one) => {
      const is = isFound(one.parameter, words) && (!onlySet.checked || one.isSet());
      one.element.hidden = !is;
      return is;
    });
    none.hidden = shown.length > 0;
    found.textContent = `${shown.length} of ${rows.length}`;
  }
  function changed() {
    for (const one of rows) one.check();
    onchange();
  }
  filter();
  const element = h("div", { class: "form" },
    h("div", { class: "find" }, search, h("label", { class: "box" }, onlySet, " only set"), found),
    rows.map((one) => one.element), none);
  const body = () => {
    const value = {};
    const errors = [];
    for (const one of rows) {
      try {
        const own = one.value();
        if (own !== undefined) value[one.parameter.name] = own;
        else if (one.parameter.isRequired) errors.push(`\`${one.parameter.name}\` is missing`);
      } catch (error) {
        errors.push(error.message);
      }
    }
    return { value, errors };
  };
  const set = (name, value) => rows.find((one) => one.parameter.name === name)?.set(value);
  return { element, body, set, search };
}

function row(parameter, value, formats, onchange) {
  const id = newId("parameter");
  const input = control(parameter, id, formats, onchange);
  input.set(textOf(parameter, value));
  const wrong = h("small", { class: "bad", role: "status" });
  const clear = h("button", { type: "button", class: "link", "aria-label": `Clear ${parameter.name}`, onclick: () => {
    input.set("");
    onchange();
  } }, "clear");
  const names = parameter.keys.length > 0 && ["json"].includes(parameter.kind)
    ? [" Keys: ", parameter.keys.join(", "), "."] : [];
  const element = h("div", { class: "parameter", "data-name": parameter.name },
    h("div", { class: "name" }, h("label", { for: id }, parameter.name), parameter.isRequired && h("small", {}, "required"), clear),
    input.element, h("small", { class: "help", id: `${id}-help` }, written(parameter.help), names), wrong);
  const set = (value) => {
    input.set(textOf(parameter, value));
    onchange();
  };
  const own = () => valueOf(parameter, input.get());
  const isSet = () => input.get().trim() !== "";
  const check = () => {
    clear.hidden = !isSet();
    element.classList.toggle("set", isSet());
    try {
      own();
      wrong.textContent = "";
    } catch (error) {
      wrong.textContent = error.message;
    }
  };
  check();
  return { parameter, element, value: own, set, isSet, check };
}
