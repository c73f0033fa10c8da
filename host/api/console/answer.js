// The answer of an endpoint in views: rendered, as text, as source, in a frame, what it cost.

import { BASE } from "./api.js";
import { link, markdown } from "./markdown.js";
import { bytes, copyButton, count, dollars, download, duration, empty, h, percent, table, tabs } from "./ui.js";

/** Longest text that is shown at once, in characters. */
const TEXT_MAX = 200_000;
/** Longest HTML that is shown in the frame, in characters. */
const FRAME_MAX = 5_000_000;

/** Other names of formats. */
const FORMATS = new Map([["html", "raw"], ["commonmark", "markdown"], ["html2text", "text"]]);
const formatName = (name) => {
  const lower = String(name).trim().toLowerCase();
  return FORMATS.get(lower) ?? lower;
};

/** The pages of an answer of `/transform`, which is one list a field. */
function transformed(json) {
  const { content = [], costs, error, ...fields } = json;
  return content.map((piece, at) => {
    const page = { content: piece, error: piece === null ? error : null, status: json.status, costs: content.length === 1 ? costs : undefined };
    for (const [name, column] of Object.entries(fields)) {
      if (Array.isArray(column)) page[name] = column[at];
    }
    return page;
  });
}

/** The pages of an answer. */
export function pagesOf(endpoint, json) {
  if (endpoint === "/map") return [];
  if (Array.isArray(json)) return json;
  return Array.isArray(json?.content) ? transformed(json) : [];
}

/** The contents of a page by the name of their format. */
export function contentsOf(endpoint, request, content) {
  if (content === null || content === undefined || content === "") return new Map();
  if (typeof content === "object" && !Array.isArray(content)) {
    return new Map(Object.entries(content).map(([name, piece]) => [formatName(name), piece]));
  }
  const asked = Array.isArray(request.return_format) ? request.return_format[0] : request.return_format;
  const name = endpoint === "/screenshot" ? "screenshot" : formatName(asked ?? "raw");
  return new Map([[name, content]]);
}

const isChunks = (piece) => Array.isArray(piece) && typeof piece[0] !== "number";
const isBytes = (piece) => Array.isArray(piece) && typeof piece[0] === "number";

/** A piece of content as text. */
function textOf(piece) {
  if (typeof piece === "string") return piece;
  if (isChunks(piece)) return piece.map((chunk) => (typeof chunk === "string" ? chunk : JSON.stringify(chunk, null, 2))).join("\n\n");
  return JSON.stringify(piece, null, 2) ?? "";
}

/** A text of which the rest is shown when it is asked for. `make(text)` returns its nodes. */
function long(text, make, most = TEXT_MAX) {
  if (text.length <= most) return make(text);
  const box = h("div", {});
  const rest = h("button", { type: "button", onclick: () => box.replaceChildren(...[make(text)].flat()) }, "Show all");
  box.append(h("p", { class: "note" }, `The first ${count(most)} of ${count(text.length)} characters. `, rest), ...[make(text.slice(0, most))].flat());
  return box;
}

const source = (text) => long(text, (shown) => h("pre", { class: "wrap", tabindex: 0 }, shown));

/** A value as JSON that is read by people. */
const json = (value) => source(JSON.stringify(value, null, 2));

function actions(text, name, mediaType) {
  return h("div", { class: "buttons" }, copyButton(() => text),
    h("button", { type: "button", onclick: () => download(name, mediaType, text) }, "Save"),
    h("small", {}, `${count(text.length)} characters, ${bytes(new Blob([text]).size)}`));
}

/** The frame of a page. It is as hostile as the page: see `frame.js`. */
function frame(html) {
  if (html.length > FRAME_MAX) return empty(`The page has ${count(html.length)} characters; the frame shows at most ${count(FRAME_MAX)}.`);
  const shown = h("iframe", {
    class: "frame", title: "The page", sandbox: "allow-scripts", referrerpolicy: "no-referrer",
    src: new URL("console/frame.html", BASE).href,
    onload: () => shown.contentWindow.postMessage({ html }, "*"),
  });
  return [h("p", { class: "note" }, "Without scripts and without anything that the page loads."), shown];
}

/** A screenshot: base64, or byte values. */
function picture(piece) {
  const alt = "Screenshot of the page";
  if (!isBytes(piece)) return h("img", { class: "screenshot", alt, src: `data:image/png;base64,${textOf(piece)}` });
  const src = URL.createObjectURL(new Blob([new Uint8Array(piece)], { type: "image/png" }));
  return h("img", { class: "screenshot", alt, src, onload: () => URL.revokeObjectURL(src) });
}

/** Rows with a field that finds some of them. */
function found(label, columns, rows, onopen) {
  const { element, set } = table(columns, { label, onopen, nothing: "No row has this text." });
  set(rows);
  const said = h("small", { role: "status" }, count(rows.length));
  const search = h("input", { type: "search", placeholder: "Find", "aria-label": `Find in ${label}`, spellcheck: "false", oninput: () => {
    const wanted = search.value.toLowerCase();
    const some = rows.filter((row) => JSON.stringify(row).toLowerCase().includes(wanted));
    said.textContent = `${count(some.length)} of ${count(rows.length)}`;
    set(some);
  } });
  return h("div", {}, h("div", { class: "find" }, search, said), element);
}

function linksView(links, open) {
  const rows = links.map((url) => ({ url }));
  return found("Links", [{ label: "URL", cell: (row) => row.url }], rows, (row) => open(row.url));
}

function mapView(lines, open) {
  const columns = [
    { label: "URL", cell: (row) => row.url, width: "minmax(16rem, 3fr)" },
    { label: "Anchor", cell: (row) => row.anchor ?? "", width: "minmax(8rem, 2fr)" },
    { label: "Found in", cell: (row) => row.found ?? "", width: "6rem" },
    { label: "Changed", cell: (row) => row.lastmod ?? "", width: "7rem" },
    { label: "Score", cell: (row) => row.score?.toFixed(2) ?? "", width: "4rem", isNumber: true },
  ];
  return found("URLs of the site", columns, lines.filter((line) => line.url !== undefined), (row) => open(row.url));
}

const PARTS = [
  ["bytes_transferred_cost", "Bytes transferred"],
  ["compute_cost", "Computing"],
  ["transform_cost", "Plugins"],
  ["ai_cost", "Language model"],
  ["file_cost", "Files"],
];

/** What a page cost, by part. */
function costView(costs) {
  const total = costs.total_cost;
  const vendor = costs.vendor;
  const parts = PARTS.map(([name, label]) => [label, costs[name] ?? 0]);
  if (vendor) parts.push([`Provider ${vendor.provider}`, vendor.billed_cost]);
  const share = (value) => (total > 0 ? value / total : 0);
  const rows = parts.map(([label, value]) => h("tr", {},
    h("th", { scope: "row" }, label), h("td", { class: "number" }, dollars(value)), h("td", { class: "number" }, percent(share(value))),
    h("td", {}, h("meter", { min: 0, max: 1, value: share(value), "aria-label": label }))));
  const sum = h("tr", {}, h("th", { scope: "row" }, "Total"), h("td", { class: "number" }, dollars(total)), h("td"), h("td"));
  const head = h("tr", {}, ["Part", "Cost"].map((name) => h("th", { scope: "col" }, name)), h("th", { scope: "colgroup", colspan: 2 }, "Share"));
  return [
    h("table", { class: "costs" }, h("thead", {}, head), h("tbody", {}, rows, sum)),
    total > 0 && h("p", { class: "note" }, `${count(Math.floor(1 / total))} such pages cost a dollar.`),
    vendor && h("p", {}, `Served by ${vendor.provider} on ${vendor.route} after ${vendor.attempts} attempts; it charged ${dollars(vendor.vendor_cost)}.`),
  ];
}

function chunksView(chunks) {
  const columns = [
    { label: "#", cell: (row) => count(row.at + 1), width: "4rem", isNumber: true },
    { label: "Characters", cell: (row) => count(row.text.length), width: "6rem", isNumber: true },
    { label: "Begins with", cell: (row) => row.text.slice(0, 300).replaceAll(/\s+/g, " ") },
  ];
  const rows = chunks.map((chunk, at) => ({ at, text: typeof chunk === "string" ? chunk : JSON.stringify(chunk, null, 2) }));
  const shown = h("div", {});
  const show = (row) => shown.replaceChildren(h("h3", {}, `Chunk ${count(row.at + 1)}`), source(row.text));
  return [found("Chunks", columns, rows, show), shown];
}

/** Ends of the names of files by format. */
const ENDINGS = new Map([["markdown", "md"], ["raw", "html"], ["xml", "xml"]]);

function sourceView(contents) {
  const names = [...contents.keys()].filter((name) => name !== "screenshot" && name !== "empty");
  const box = h("div", {});
  const select = h("select", { "aria-label": "Format", onchange: () => show(select.value) }, names.map((name) => h("option", { value: name }, name)));
  const show = (name) => {
    const text = textOf(contents.get(name));
    box.replaceChildren(actions(text, `page.${ENDINGS.get(name) ?? "txt"}`, "text/plain"), source(text));
  };
  select.value = names.includes("raw") ? "raw" : names[0];
  show(select.value);
  return [h("div", { class: "find" }, select), box];
}

/** The views that the contents of a page have. */
function contentViews(page, contents) {
  const views = [];
  const add = (name, label, make) => views.push({ name, label, make });
  const of = (name) => contents.get(name);
  if (of("markdown")) {
    add("rendered", "Rendered", () => long(textOf(of("markdown")), (text) => h("article", { class: "rendered" }, markdown(text, page.url))));
  }
  if (of("text")) add("text", "Text", () => [actions(textOf(of("text")), "page.txt", "text/plain"), source(textOf(of("text")))]);
  if ([...contents.keys()].some((name) => name !== "screenshot" && name !== "empty")) add("source", "Source", () => sourceView(contents));
  if (of("raw") && !isBytes(of("raw"))) add("page", "Page", () => frame(textOf(of("raw"))));
  if (of("screenshot")) add("screenshot", "Screenshot", () => picture(of("screenshot")));
  const chunked = [...contents.values()].find(isChunks);
  if (chunked) add("chunks", `Chunks (${count(chunked.length)})`, () => chunksView(chunked));
  return views;
}

const DATA = ["json_data", "css_extracted", "extracted", "contacts", "labels"];

function pageViews(endpoint, request, page, open) {
  const views = contentViews(page, contentsOf(endpoint, request, page.content));
  if (page.links) views.push({ name: "links", label: `Links (${count(page.links.length)})`, make: () => linksView(page.links, open) });
  if (page.metadata) views.push({ name: "metadata", label: "Metadata", make: () => json(page.metadata) });
  const data = Object.fromEntries(DATA.filter((name) => page[name]).map((name) => [name, page[name]]));
  if (Object.keys(data).length > 0) views.push({ name: "data", label: "Data", make: () => json(data) });
  const wire = Object.fromEntries(["headers", "cookies", "redirects"].filter((name) => page[name]).map((name) => [name, page[name]]));
  if (Object.keys(wire).length > 0) views.push({ name: "headers", label: "Headers", make: () => json(wire) });
  if (page.costs) views.push({ name: "cost", label: "Cost", make: () => costView(page.costs) });
  return views;
}

/** What the response says of itself. */
function responseView(response) {
  const text = response.text;
  const headers = Object.fromEntries(response.headers);
  return [json(headers), actions(text, "response.json", "application/json"), response.json === undefined ? source(text) : json(response.json)];
}

/** One line about a page. */
function summary(page, response) {
  const good = page.error ? "bad" : "good";
  const parts = [h("span", { class: good }, `${page.status ?? ""} ${page.error ?? "OK"}`)];
  if (page.cause) parts.push(h("code", {}, page.cause));
  const took = page.duration_elasped_ms ?? response.milliseconds;
  parts.push(duration(took));
  if (page.costs) parts.push(dollars(page.costs.total_cost));
  if (page.url) parts.push(link(page.url, undefined, page.url));
  return h("p", { class: "summary" }, parts.flatMap((part, at) => (at === 0 ? [part] : [" · ", part])));
}

/** Parameters of the request that had no effect. */
function ignored(response) {
  const names = response.headers.get("x-ignored-parameters");
  if (!names) return null;
  const hints = response.headers.get("x-parameter-hints");
  return h("p", { class: "note" }, `Without effect: ${names}.`, hints && ` Perhaps meant: ${hints}.`);
}

/**
 * The views of an answer. `asked` is `{endpoint, request, response, chosen}`: `chosen` is the name of
 * the view to begin with; `onchoose(name)` is called for another one, `open(url)` for a URL to look at.
 */
export function answerView({ endpoint, request, response, chosen }, onchoose, open) {
  const last = { name: "response", label: "Response", make: () => responseView(response) };
  const box = h("div", {});
  if (endpoint === "/map") {
    const lines = Array.isArray(response.json) ? response.json : [];
    const { start_page: start, ...end } = lines.findLast((line) => line.url === undefined) ?? {};
    const said = `${count(end.n_urls ?? lines.length)} of ${count(end.n_found ?? lines.length)} URLs in ${duration(response.milliseconds)}, ${dollars(end.total_cost ?? 0)}`;
    box.append(h("p", { class: "summary" }, said), tabs("Views of the map", [
      { name: "links", label: "URLs", make: () => mapView(lines, open) },
      { name: "sitemaps", label: "Sources", make: () => json({ start_page: start, ...end }) }, last,
    ], chosen, onchoose));
    return [ignored(response), box];
  }
  const pages = pagesOf(endpoint, response.json);
  if (pages.length === 0) return [empty("The answer has no pages."), responseView(response)];
  let view = chosen;
  const show = (page) => box.replaceChildren(summary(page, response),
    tabs("Views of the page", [...pageViews(endpoint, request, page, open), last], view, (name) => {
      view = name;
      onchoose(name);
    }));
  const select = h("select", { "aria-label": "Page", onchange: () => show(pages[Number(select.value)]) },
    pages.map((page, at) => h("option", { value: at }, `${at + 1}. ${page.url ?? "page"}`)));
  show(pages[0]);
  return [ignored(response), pages.length > 1 && h("div", { class: "find" }, select), box];
}
