// Health now, and metrics of the last day as curves.

import { failure } from "../api.js";
import { bytes, count, curve, duration, empty, h, loading, took } from "../ui.js";
import { choice, facts, failing, poll, read, share, withQuery, words } from "../views.js";

/** Milliseconds between two looks at the health, and at the metrics. */
const [SOON, LATER] = [5_000, 60_000];

const perSecond = (value) => `${value.toFixed(value < 10 ? 2 : 0)}/s`;
const seconds = (value) => duration(value * 1000);

/**
 * Curves: a title, metrics, how values are written, and what is drawn of them. `rate` is the change
 * per second of what only grows; `each` is a sum divided by its count, which is a mean.
 */
const CURVES = [
  { title: "Pages per second", metrics: ["trawl_pages_total"], draw: "rate", unit: perSecond },
  { title: "Requests per second by status", metrics: ["trawl_requests_total"], draw: "rate", unit: perSecond },
  { title: "Mean time to the first byte of an answer", metrics: ["trawl_request_duration_seconds"], draw: "each", unit: seconds },
  { title: "Bytes of pages per second", metrics: ["trawl_page_bytes_total"], draw: "rate", unit: (value) => `${bytes(value)}/s` },
  { title: "Browser tabs", metrics: ["trawl_browser_tabs", "trawl_browser_tabs_max"], draw: "value", unit: count },
  { title: "Mean wait for a tab", metrics: ["trawl_browser_tab_wait_duration_seconds"], draw: "each", unit: seconds },
  { title: "Browsers started, lost and replaced", metrics: ["trawl_browser_launches_total", "trawl_browser_crashes_total", "trawl_browser_recycles_total"], draw: "growth", unit: count },
  { title: "Pages that needed a browser, by rule", metrics: ["trawl_smart_total"], draw: "rate", unit: perSecond },
  { title: "Pages behind bot walls, by rule", metrics: ["trawl_walls_total"], draw: "rate", unit: perSecond },
  { title: "Crawls", metrics: ["trawl_crawls"], draw: "value", unit: count },
  { title: "Webhook events per second", metrics: ["trawl_webhooks_total"], draw: "rate", unit: perSecond },
  { title: "Oldest webhook event that waits", metrics: ["trawl_webhook_oldest_seconds"], draw: "value", unit: seconds },
  { title: "Memory budget by kind", metrics: ["trawl_memory_held_bytes"], draw: "value", unit: bytes },
  { title: "Memory of the process", metrics: ["process_resident_memory_bytes"], draw: "value", unit: bytes },
  { title: "Pages that wait for memory", metrics: ["trawl_memory_waiting"], draw: "value", unit: count },
  { title: "Processors in use", metrics: ["process_cpu_seconds_total"], draw: "rate", unit: (value) => value.toFixed(2) },
  { title: "Look-ups of the output cache per second", metrics: ["trawl_outputs_total"], draw: "rate", unit: perSecond },
  { title: "Caches", metrics: ["trawl_page_cache_bytes", "trawl_outputs_bytes"], draw: "value", unit: bytes },
  { title: "Connections of callers", metrics: ["trawl_connections"], draw: "value", unit: count },
  { title: "Free space of the disk", metrics: ["trawl_disk_free_bytes"], draw: "value", unit: bytes },
];

/** The change between two values of what only grows; after a restart it began at zero. */
const change = (before, now) => (now >= before ? now - before : now);

/** The points of a series: `[milliseconds, value]`. */
function points(times, { first, values }, draw) {
  const at = (index) => times[first + index] * 1000;
  if (draw === "value") return values.map((value, index) => [at(index), value]);
  if (draw === "growth") return values.map((value, index) => [at(index), value - values[0]]);
  return values.slice(1).map((value, index) => {
    const span = Math.max(1, (at(index + 1) - at(index)) / 1000);
    return [at(index + 1), change(values[index], value) / span];
  });
}

/** The mean of each minute: how much a sum grew by how much its count did. Nothing has no mean. */
export function means(times, sum, n) {
  return sum.values.slice(1).flatMap((value, index) => {
    const counted = change(n.values[index], n.values[index + 1]);
    return counted === 0 ? [] : [[times[sum.first + index + 1] * 1000, change(sum.values[index], value) / counted]];
  });
}

/** The name of a metric without what all have. */
const plain = (metric) => words(metric.replace(/^(trawl|process)_/, "").replace(/_(total|bytes|seconds)$/, ""));

/** The series of a curve. */
function seriesOf({ times, series }, { metrics, draw }) {
  if (draw === "each") {
    const [sum, n] = ["_sum", "_count"].map((ending) => series.find((one) => one.metric === metrics[0] + ending));
    return sum && n ? [{ label: "mean", points: means(times, sum, n) }] : [];
  }
  const found = series.filter((one) => metrics.includes(one.metric));
  return found.map((one) => ({ label: one.label ?? plain(one.metric), points: points(times, one, draw) }));
}

function shownHistory(history) {
  const curves = CURVES.map((one) => {
    const series = seriesOf(history, one).filter((made) => made.points.length > 0);
    // What has never happened has no curve yet.
    return series.length === 0 ? null : curve(one.title, series, one.unit);
  }).filter(Boolean);
  return curves.length > 0 ? curves : [empty("No values yet: they are sampled once a minute.")];
}

const well = (isWell, text) => h("span", { class: isWell ? "good" : "bad" }, text);

function shownHealth(health) {
  const engine = ({ ok, milliseconds, error }) => well(ok, ok ? `works${typeof milliseconds === "number" ? `, ${took(milliseconds)}` : ""}` : `does not work: ${error}`);
  const { memory, pages, connections, disk } = health;
  return [
    facts([
      ["Server", well(health.status === "ok", health.status)],
      ["Version", health.version],
      ["Running for", health.uptime_seconds < 1 ? "< 1 s" : duration(health.uptime_seconds * 1000)],
      ["Plain HTTP", engine(health.engines.http)],
      ["Browser", engine(health.engines.browser)],
      ["Ledger", well(health.ledger.ok, health.ledger.ok ? "writes" : "cannot be written")],
      ["Plugins", well(health.plugins.ok, health.plugins.ok ? `generation ${health.plugins.generation}` : "the last reload failed")],
      ["Disk", well(disk.ok, disk.free_bytes === null ? "not known" : `${bytes(disk.free_bytes)} free`)],
    ]),
    share("Memory budget", memory.bytes, memory.bytes_max, bytes),
    share("Pages in flight", pages.in_flight, pages.max),
    share("Connections to sites", connections.open, connections.max),
    h("p", { class: "note" }, `Waiting: ${count(memory.waiting)} for memory, ${count(pages.waiting)} pages for their turn, ${count(connections.waiting)} for a connection.`),
    h("h2", {}, "Memory by kind"),
    Object.entries(memory.held).map(([kind, held]) => share(words(kind), held, memory.bytes_max, bytes)),
  ].flat();
}

/** The view; `onleave` takes what is to be called when the page is left. */
export function overview(context, onleave) {
  const [now, past] = [h("div", {}, loading()), h("div", { class: "curves" }, loading())];
  const hours = choice({ label: "Curves of the last", options: [["60", "hour"], ["360", "6 hours"], ["1440", "day"]], value: "60", isBeside: true });
  onleave(poll(async () => {
    const response = await context.api("GET", "/health");
    const { json } = response;
    // A server that is not well answers 503, and says why.
    if (json?.engines) now.replaceChildren(...shownHealth(json));
    else failing(now, failure(response));
    return true;
  }, SOON));
  let latest = 0;
  const look = async () => {
    const mine = (latest += 1);
    try {
      const history = await read(context, withQuery("/admin/history", { minutes: hours.input.value }));
      if (mine === latest) past.replaceChildren(...shownHistory(history));
    } catch (error) {
      if (mine === latest) failing(past, error.message, look);
    }
    return true;
  };
  onleave(poll(look, LATER));
  hours.input.addEventListener("input", look);
  return [now, h("h2", {}, "Over time"), hours.element,
    h("p", { class: "note" }, "Sampled once a minute, in the server's memory since its start."), past];
}
