// The statement with search: of the key's account, or of one that the operator looks at.

import { count, dollars, download, failed, field, h, table, time } from "../ui.js";
import { ask, choice, read, settled, tick, withQuery, words, worker } from "../views.js";
import { period } from "./period.js";

/** Entries that are kept in the tab. */
const ENTRIES_MAX = 200_000;

const KINDS = ["", "top_up", "bonus", "reserve", "post", "void", "seats"];

const COLUMNS = [
  { label: "Time", width: "12rem", cell: (entry) => time(entry.at) },
  { label: "Kind", width: "5rem", cell: (entry) => words(entry.kind) },
  { label: "Amount", width: "8rem", isNumber: true, cell: (entry) => h("span", { class: entry.amount > 0 ? "good" : null }, dollars(entry.amount)) },
  { label: "URL", width: "minmax(12rem, 3fr)", cell: (entry) => h("span", { title: entry.url }, entry.url) },
  { label: "Reason", width: "minmax(8rem, 2fr)", cell: (entry) => h("span", { title: entry.reason }, entry.reason) },
  { label: "Request or crawl", width: "10rem", cell: (entry) => h("code", { title: entry.run }, entry.run) },
  { label: "Key", width: "8rem", cell: (entry) => h("code", {}, entry.key) },
];

/** The nodes of the view; `path` is the endpoint. */
export function statementView(context, path) {
  let [entries, latest] = [[], 0];
  const chosen = period("7");
  const search = field({ label: "Search in URL, reason, request and key", type: "search", value: context.query.get("search") ?? "" });
  const kind = choice({ label: "Kind", options: KINDS.map((name) => [name, words(name) || "All"]), value: "" });
  const reserves = tick({ label: "Reservations, too" });
  const said = h("p", { class: "note", role: "status" });
  const wrong = h("div");
  const rows = table(COLUMNS, { label: "Statement", height: 520, nothing: "No such entries." });

  const draw = () => {
    const wanted = search.input.value.trim().toLowerCase();
    const of = kind.input.value;
    const has = (entry) =>
      (of === "" ? entry.kind !== "reserve" || reserves.input.checked : entry.kind === of) &&
      `${entry.url} ${entry.reason} ${entry.run} ${entry.key}`.toLowerCase().includes(wanted);
    const found = entries.filter(has);
    const sum = found.reduce((total, entry) => total + entry.amount, 0);
    said.textContent = `${count(found.length)} of ${count(entries.length)} entries, ${dollars(sum)} in all${entries.length >= ENTRIES_MAX ? "; the first ones of the period, choose a shorter one" : ""}.`;
    rows.set(found.reverse());
  };

  async function look() {
    const mine = (latest += 1);
    entries = [];
    wrong.replaceChildren();
    said.textContent = "Loading…";
    try {
      const from = chosen.from();
      let cursor = "";
      do {
        const page = await read(context, withQuery(path, { from, limit: 1000, cursor }));
        if (mine !== latest) return;
        for (const entry of page.entries) entries.push(entry);
        cursor = page.next_cursor ?? "";
        said.textContent = `Loading… ${count(entries.length)} entries`;
      } while (cursor !== "" && entries.length < ENTRIES_MAX);
      draw();
    } catch (error) {
      if (mine !== latest) return;
      draw();
      said.textContent = "";
      wrong.replaceChildren(failed(error.message, look));
    }
  }
  search.input.addEventListener("input", settled(draw));
  kind.input.addEventListener("input", draw);
  reserves.input.addEventListener("input", draw);
  chosen.input.addEventListener("input", look);
  look();
  const csv = worker("Download as CSV", async () => {
    const { text } = await ask(context, "GET", withQuery(path, { from: chosen.from(), format: "csv" }));
    download("statement.csv", "text/csv", text);
  });
  return [
    h("div", { class: "fields" }, chosen.element, kind.element, search.element), reserves.element,
    h("div", { class: "buttons" }, csv), wrong, said, rows.element,
  ];
}
