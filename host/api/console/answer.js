// The answer of an endpoint in views: rendered, as text, as source, in a frame, what it cost.

import { chunksView } from "./answer/chunks.js";
import { compareView, remember, remembered } from "./answer/compare.js";
import { pageView } from "./answer/page.js";
import { pickView } from "./answer/pick.js";
import { servedView } from "./answer/served.js";
import { actions, found, isBytes, isChunks, json, long, source, textNames, textOf } from "./answer/text.js";
import { link, markdown } from "./markdown.js";
import { count, dollars, empty, h, percent, tabs, took } from "./ui.js";

/** Most pages of a document that are listed. */
const DOCUMENT_PAGES_MAX = 2_000;

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

/** A screenshot: base64, or byte values. */
function picture(piece) {
  const alt = "Screenshot of the page";
  if (!isBytes(piece)) return h("img", { class: "screenshot", alt, src: `data:image/png;base64,${textOf(piece)}` });
  const src = URL.createObjectURL(new Blob([new Uint8Array(piece)], { type: "image/png" }));
  return h("img", { class: "screenshot", alt, src, onload: () => URL.revokeObjectURL(src) });
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
    h("div", { class: "scroll", tabindex: 0, role: "region", "aria-label": "Cost by part" },
      h("table", { class: "costs" }, h("thead", {}, head), h("tbody", {}, rows, sum))),
    total > 0 && h("p", { class: "note" }, `${count(Math.floor(1 / total))} such pages cost a dollar.`),
    vendor && h("p", {}, `Served by ${vendor.provider} on ${vendor.route} after ${vendor.attempts} attempts; it charged ${dollars(vendor.vendor_cost)}.`),
  ];
}

/** Ends of the names of files by format. */
const ENDINGS = new Map([["markdown", "md"], ["raw", "html"], ["xml", "xml"]]);

function sourceView(contents) {
  const names = textNames(contents);
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
function contentViews({ context, request, use }, page, contents) {
  const views = [];
  const add = (name, label, make) => views.push({ name, label, make });
  const of = (name) => contents.get(name);
  if (of("markdown")) {
    add("rendered", "Rendered", () => long(textOf(of("markdown")), (text) => h("article", { class: "rendered" }, markdown(text, page.url))));
  }
  if (of("text")) add("text", "Text", () => [actions(textOf(of("text")), "page.txt", "text/plain"), source(textOf(of("text")))]);
  if (textNames(contents).length > 0) add("source", "Source", () => sourceView(contents));
  if (of("raw") && !isBytes(of("raw"))) {
    const html = textOf(of("raw"));
    add("page", "Page", () => pageView(context, request, page, html));
    add("fields", "Pick fields", () => pickView(context, request, page, html, use));
  }
  if (of("screenshot")) add("screenshot", "Screenshot", () => picture(of("screenshot")));
  const chunked = [...contents.values()].find(isChunks);
  if (chunked) add("chunks", `Chunks (${count(chunked.length)})`, () => chunksView(chunked));
  return views;
}

const DATA = ["json_data", "css_extracted", "extracted", "contacts", "labels"];

function pageViews(asked, page, contents) {
  const { open, response } = asked;
  const views = contentViews(asked, page, contents);
  if (page.links) views.push({ name: "links", label: `Links (${count(page.links.length)})`, make: () => linksView(page.links, open) });
  if (page.metadata) views.push({ name: "metadata", label: "Metadata", make: () => json(page.metadata) });
  const data = Object.fromEntries(DATA.filter((name) => page[name]).map((name) => [name, page[name]]));
  if (Object.keys(data).length > 0) views.push({ name: "data", label: "Data", make: () => json(data) });
  const wire = Object.fromEntries(["headers", "cookies", "redirects"].filter((name) => page[name]).map((name) => [name, page[name]]));
  if (Object.keys(wire).length > 0) views.push({ name: "headers", label: "Headers", make: () => json(wire) });
  if (page.costs) views.push({ name: "cost", label: "Cost", make: () => costView(page.costs) });
  views.push({ name: "served", label: "Served", make: () => servedView(page, response) });
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
  parts.push(took(page.duration_elasped_ms ?? response.milliseconds));
  if (page.costs) parts.push(dollars(page.costs.total_cost));
  if (page.url) parts.push(link(page.url, undefined, page.url));
  return h("p", { class: "summary" }, parts.flatMap((part, at) => (at === 0 ? [part] : [" · ", part])));
}

/** The pages of a document, of which one is asked for by itself: `turn(pages)` sends the request again. */
function documentPages(page, request, turn) {
  const total = page.metadata?.page_count;
  if (!(total > 1)) return null;
  const asked = String(request.pages ?? "");
  const listed = Array.from({ length: Math.min(total, DOCUMENT_PAGES_MAX) }, (_, at) => String(at + 1));
  const select = h("select", { "aria-label": "Page of the document", onchange: () => turn(select.value) },
    h("option", { value: "" }, "All pages"),
    asked !== "" && !listed.includes(asked) && h("option", { value: asked }, `Pages ${asked}`),
    listed.map((number) => h("option", { value: number }, `Page ${number}`)));
  select.value = asked;
  return h("div", { class: "find" }, select, h("small", {}, `of ${count(total)}`));
}

/** Parameters of the request that had no effect. */
function ignored(response) {
  const names = response.headers.get("x-ignored-parameters");
  if (!names) return null;
  const hints = response.headers.get("x-parameter-hints");
  return h("p", { class: "note" }, `Without effect: ${names}.`, hints && ` Perhaps meant: ${hints}.`);
}

/** The URLs of a site. */
function mapAnswer({ response, chosen, onchoose, open }, last) {
  const lines = Array.isArray(response.json) ? response.json : [];
  const { start_page: start, ...end } = lines.findLast((line) => line.url === undefined) ?? {};
  const said = `${count(end.n_urls ?? lines.length)} of ${count(end.n_found ?? lines.length)} URLs in ${took(response.milliseconds)}, ${dollars(end.total_cost ?? 0)}`;
  return [h("p", { class: "summary" }, said), tabs("Views of the map", [
    { name: "links", label: "URLs", make: () => mapView(lines, open) },
    { name: "sitemaps", label: "Sources", make: () => json({ start_page: start, ...end }) }, last,
  ], chosen, onchoose)];
}

/**
 * The views of an answer. `asked` is `{endpoint, request, response, chosen, context, onchoose, open,
 * turn, use}`: `chosen` is the name of the view to begin with; `onchoose(name)` is called for another,
 * `open(url)` of a URL to look at, `turn(pages)` of pages of a document, `use(name, value)` of a
 * parameter for the next request; `context` has `api`.
 */
export function answerView(asked) {
  const { endpoint, request, response, onchoose, turn } = asked;
  const last = { name: "response", label: "Response", make: () => responseView(response) };
  const heading = h("h2", { class: "hidden-label" }, "Answer");
  if (endpoint === "/map") return [heading, ignored(response), mapAnswer(asked, last)];
  const pages = pagesOf(endpoint, response.json);
  if (pages.length === 0) return [heading, empty("The answer has no pages."), responseView(response)];
  const others = remembered();
  const of = (page) => ({
    endpoint, request, page, contents: contentsOf(endpoint, request, page.content), took: page.duration_elasped_ms ?? response.milliseconds,
  });
  let view = asked.chosen;
  const box = h("div", {});
  const turner = (page) => (pages.length === 1 && documentPages(page, request, turn)) || "";
  const show = (page) => {
    const answer = of(page);
    const compare = others.length > 0 && textNames(answer.contents).length > 0 && { name: "compare", label: "Compare", make: () => compareView(answer, others) };
    const views = [...pageViews(asked, page, answer.contents), compare, last].filter(Boolean);
    box.replaceChildren(summary(page, response), turner(page), tabs("Views of the page", views, view, (name) => {
      view = name;
      onchoose(name);
    }));
  };
  const select = h("select", { "aria-label": "Page", onchange: () => show(pages[Number(select.value)]) },
    pages.map((page, at) => h("option", { value: at }, `${at + 1}. ${page.url ?? "page"}`)));
  show(pages[0]);
  remember(of(pages[0]));
  return [heading, ignored(response), pages.length > 1 && h("div", { class: "find" }, select), box];
}
