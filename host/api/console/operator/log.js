// The last lines of the log, by the id of a request or any other text.

import { count, empty, field, h, table, time } from "../ui.js";
import { many, read, settled, view, withQuery } from "../views.js";

/** Lines that are asked for. */
const LINES_MAX = 10_000;

/** A line as an object; one that is no JSON, as on a terminal, is its own message. */
function parsed({ at, line }) {
  try {
    const { level, message, target, timestamp: _timestamp, span: _span, spans, ...fields } = JSON.parse(line);
    return { at, line, level: level ?? "", message: message ?? "", target: target ?? "", spans: spans ?? [], fields };
  } catch {
    return { at, line, level: "", message: line, target: "", spans: [], fields: {} };
  }
}

const isBad = (row) => row.level === "ERROR" || row.level === "WARN";

const text = (fields) => Object.entries(fields).map(([name, value]) => `${name}=${typeof value === "object" ? JSON.stringify(value) : value}`).join(" ");

/** The id of the request that a line is of, or of the crawl. */
const owner = (row) => {
  const span = row.spans.find((one) => one.request_id || one.crawl);
  return span?.request_id ?? span?.crawl ?? row.fields.crawl ?? "";
};

const COLUMNS = [
  { label: "Time", width: "12rem", cell: (row) => time(row.at) },
  { label: "Level", width: "5rem", cell: (row) => h("span", { class: isBad(row) ? "bad" : null }, row.level) },
  { label: "Message", width: "minmax(10rem, 2fr)", cell: (row) => h("span", { title: row.message }, row.message) },
  { label: "Fields", width: "minmax(10rem, 2fr)", cell: (row) => h("span", { title: text(row.fields) }, text(row.fields)) },
  { label: "Request or crawl", width: "13rem", cell: (row) => h("code", { title: owner(row) }, owner(row)) },
];

/** A line with all that it says. */
const whole = (row) => {
  try {
    return JSON.stringify(JSON.parse(row.line), null, 2);
  } catch {
    return row.line;
  }
};

/** The view. */
export function logView(context) {
  const search = field({ label: "Lines with this text", type: "search", value: context.query.get("text") ?? "",
    help: "The X-Request-Id of a response, the id of a crawl or an account, a host." });
  const body = h("div");
  const again = view(body, () => read(context, withQuery("/admin/logs", { text: search.input.value.trim(), limit: LINES_MAX })), ({ data, count: total }) => {
    if (data.length === 0) {
      return empty(search.input.value.trim() === ""
        ? "The log has no lines yet." : "No line has this text. Lines of what went well are written at the level debug only.");
    }
    const one = h("section", { "aria-live": "polite" });
    const rows = table(COLUMNS, { label: "Lines of the log, newest first", height: 520,
      onopen: (row) => one.replaceChildren(h("pre", { class: "wrap", tabindex: 0 }, whole(row))) });
    rows.set(data.map(parsed));
    return [h("p", { class: "note" }, `${many(total, "line")}${total > data.length ? `, of which the newest ${count(data.length)} are here` : ""}; the server keeps the last 20,000.`), rows.element, one];
  });
  search.input.addEventListener("input", settled(() => {
    context.keep({ tab: "log", text: search.input.value.trim() });
    again();
  }, 400));
  return [search.element, h("div", { class: "buttons" }, h("button", { type: "button", onclick: again }, "Read again")), body];
}
