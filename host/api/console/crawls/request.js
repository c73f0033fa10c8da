// The form of a new crawl, and the request object that it stands for.

import { field } from "../ui.js";
import { area, choice, tick } from "../views.js";

const lines = (text) => text.split("\n").map((line) => line.trim()).filter((line) => line !== "");

/** `/blog 20` on each line as `{"/blog": 20}`. */
function budgetOf(text) {
  const budget = {};
  for (const line of lines(text)) {
    const [, path, pages] = /^(\S+)\s+(\d+)$/.exec(line) ?? [];
    if (path === undefined) throw new Error(`budget: write a path and a number of pages, like \`/blog 20\`, not \`${line}\``);
    budget[path] = Number(pages);
  }
  return budget;
}

const whole = (name) => (text) => {
  if (!/^\d+$/.test(text)) throw new Error(`${name}: write a whole number`);
  return Number(text);
};

/** Parameters with a field, by name: how the field is made, and how its text is read. */
const FIELDS = {
  url: { make: () => field({ label: "Seed URL", type: "text", inputmode: "url", required: true, placeholder: "https://example.com/" }), of: (text) => text },
  limit: { make: () => field({ label: "Pages at most", type: "number", min: 1, value: "100", help: "Empty for no limit." }), of: whole("limit") },
  depth: { make: () => field({ label: "Hops from the seed", type: "number", min: 0, placeholder: "25" }), of: whole("depth") },
  max_credits_allowed: { make: () => field({ label: "Credits at most", type: "number", min: 1, help: "10,000 credits are $1." }), of: whole("max_credits_allowed") },
  delay: { make: () => field({ label: "Milliseconds between requests", type: "number", min: 0, placeholder: "0" }), of: whole("delay") },
  return_format: { make: () => choice({ label: "Content", options: ["markdown", "text", "raw", "xml", "empty"], value: "markdown" }), of: (text) => text },
  request: { make: () => choice({ label: "Engine", options: ["smart", "http", "browser"], value: "smart" }), of: (text) => text },
  whitelist: { make: () => area({ label: "Only these paths", help: "A path prefix or a regular expression on each line." }), of: lines },
  blacklist: { make: () => area({ label: "Not these paths", help: "They win over the ones to crawl." }), of: lines },
  budget: { make: () => area({ label: "Pages by path", help: "A path and a number of pages on each line, like /blog 20; * is all." }), of: budgetOf },
  external_domains: { make: () => area({ label: "Other hosts that belong to it", help: "A host or a regular expression on each line." }), of: lines },
};

const TICKS = {
  subdomains: "Links to subdomains",
  tld: "Links to the same name under other suffixes",
  below_seed: "Only below the directory of the seed",
  sitemap: "Pages of the sitemap, too",
  metadata: "Title, description and other metadata",
  readability: "Main content without navigation and advertisements",
};
const TICKED = new Set(["metadata"]);

/**
 * The form: `{basic, more, request(), set(parameters)}`. `basic` and `more` are its elements;
 * `request()` is the object that it stands for, and throws what is wrong with a field.
 */
export function form() {
  const fields = Object.fromEntries(Object.entries(FIELDS).map(([name, one]) => [name, one.make()]));
  const ticks = Object.fromEntries(Object.entries(TICKS).map(([name, label]) => [name, tick({ label, checked: TICKED.has(name) })]));
  const other = area({ label: "Further parameters", help: "A JSON object with any parameter of /crawl; it wins over the fields." });
  const elements = (...names) => names.map((name) => (fields[name] ?? ticks[name]).element);

  function request() {
    const made = {};
    for (const [name, { input }] of Object.entries(fields)) {
      const text = input.value.trim();
      if (text !== "") made[name] = FIELDS[name].of(text);
    }
    if (made.url === undefined) throw new Error("url: write the URL where the crawl begins");
    for (const [name, { input }] of Object.entries(ticks)) if (input.checked) made[name] = true;
    const text = other.input.value.trim();
    if (text === "") return made;
    let given;
    try {
      given = JSON.parse(text);
    } catch (error) {
      throw new Error(`Further parameters: ${error.message}`);
    }
    if (given === null || typeof given !== "object" || Array.isArray(given)) throw new Error("Further parameters: write one JSON object");
    return { ...made, ...given };
  }

  function set(parameters) {
    for (const [name, value] of parameters) {
      if (fields[name]) fields[name].input.value = value;
      else if (ticks[name]) ticks[name].input.checked = value === "true";
    }
  }

  return {
    basic: elements("url", "limit", "depth", "return_format", "request", "whitelist", "blacklist"),
    more: [...elements("budget", "external_domains", "max_credits_allowed", "delay", ...Object.keys(TICKS)), other.element],
    request,
    set,
    /** Calls `act` whenever a field changes. */
    onchange: (act) => {
      for (const { input } of [...Object.values(fields), ...Object.values(ticks), other]) input.addEventListener("input", act);
    },
  };
}
