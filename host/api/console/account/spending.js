// What was spent by day, by host and by key.

import { bytes, count, curve, dollars, duration, h, table } from "../ui.js";
import { read, view, withQuery } from "../views.js";
import { hostsView } from "./hosts.js";
import { period } from "./period.js";

const ofPages = [
  { label: "Pages", width: "6rem", isNumber: true, cell: (row) => count(row.pages) },
  { label: "Failed", width: "6rem", isNumber: true, cell: (row) => count(row.failed_pages) },
  { label: "Size", width: "6rem", isNumber: true, cell: (row) => bytes(row.bytes) },
  { label: "CPU", width: "6rem", isNumber: true, cell: (row) => duration(row.cpu_seconds * 1000) },
  { label: "Cost", width: "8rem", isNumber: true, cell: (row) => dollars(row.costs.total_cost) },
];

const DAYS = [
  { label: "Day (UTC)", width: "8rem", cell: (row) => row.day },
  ...ofPages,
  { label: "Seats", width: "6rem", isNumber: true, cell: (row) => dollars(row.seats) },
  { label: "Paid in", width: "7rem", isNumber: true, cell: (row) => dollars(row.top_ups + row.bonuses) },
];

const KEYS = [
  { label: "Key", width: "10rem", cell: (row) => h("code", {}, row.key ?? "not recorded") },
  { label: "Name", width: "minmax(6rem, 1fr)", cell: (row) => row.name ?? "" },
  ...ofPages,
];

/** Days without entries are days on which nothing was spent. */
function points(days, of) {
  if (days.length === 0) return [];
  const known = new Map(days.map((day) => [day.day, of(day)]));
  const [from, to] = [Date.parse(days[0].day), Math.max(Date.parse(days.at(-1).day), Date.now())];
  const all = [];
  for (let at = from; at <= to; at += 86_400_000) all.push([at, known.get(new Date(at).toISOString().slice(0, 10)) ?? 0]);
  return all;
}

function shownUsage({ days, keys }) {
  const byDay = table(DAYS, { label: "Usage by day", height: 320, nothing: "Nothing happened in this period." });
  byDay.set([...days].reverse());
  const byKey = table(KEYS, { label: "Usage by key", height: 220, nothing: "No key was used in this period." });
  byKey.set(keys ?? []);
  return [
    h("div", { class: "curves" },
      curve("Spent by day", [
        { label: "pages", points: points(days, (day) => day.costs.total_cost) },
        { label: "seats", points: points(days, (day) => day.seats) },
      ], dollars),
      curve("Pages by day", [
        { label: "charged", points: points(days, (day) => day.pages) },
        { label: "failed", points: points(days, (day) => day.failed_pages) },
      ])),
    h("h2", {}, "By day"), byDay.element,
    h("h2", {}, "By key"), byKey.element,
  ];
}

export function spending(context) {
  const chosen = period("30", { isBeside: true });
  const [body, hosts] = [h("div"), h("div")];
  const look = () => {
    const from = chosen.from();
    view(body, () => read(context, withQuery("/account/usage", { from, by: "key" })), shownUsage);
    hosts.replaceChildren(...hostsView(context, "/account/hosts", from));
  };
  chosen.input.addEventListener("input", look);
  look();
  return [chosen.element, body, h("h2", {}, "By host"), hosts];
}
