// The plugins in effect: generation, calls, time and memory against their limits, traps, and why
// the last reload failed.

import { bytes, count, duration, failed, field, h, loading, table, time, took } from "../ui.js";
import { facts, failing, many, poll, read, settled, share } from "../views.js";

/** Milliseconds between two looks: a plugin author waits for his reload. */
const PERIOD = 3_000;
const MIB = 1 << 20;

const mean = (plugin) => (plugin.calls === 0 ? 0 : plugin.busy_ms / plugin.calls);
/** A share of a limit in words; marked from nine tenths on. */
const part = (used, limit) => {
  const text = `${((used / limit) * 100).toFixed(used / limit < 0.1 ? 1 : 0)} %`;
  return h("span", { class: used / limit >= 0.9 ? "bad" : null }, text);
};

const COLUMNS = [
  { label: "Kind", width: "7rem", cell: (row) => row.kind },
  { label: "Name", width: "minmax(8rem, 2fr)", cell: (row) => h("span", { title: row.summary }, row.name) },
  { label: "Version", width: "6rem", cell: (row) => row.version },
  { label: "Calls", width: "6rem", isNumber: true, cell: (row) => count(row.calls) },
  { label: "Failures", width: "6rem", isNumber: true, cell: (row) => count(row.failures) },
  { label: "Traps", width: "5rem", isNumber: true, cell: (row) => h("span", { class: row.traps > 0 ? "bad" : null }, count(row.traps)) },
  { label: "Mean time", width: "7rem", isNumber: true, cell: (row) => (row.calls === 0 ? "–" : took(mean(row))) },
  { label: "of its limit", width: "6rem", isNumber: true, cell: (row) => part(mean(row), row.limits.time_ms) },
  { label: "Most memory", width: "7rem", isNumber: true, cell: (row) => bytes(row.memory_peak_bytes) },
  { label: "of its limit", width: "6rem", isNumber: true, cell: (row) => part(row.memory_peak_bytes, row.limits.memory_mib * MIB) },
];

const shownPlugin = (plugin) => [
  h("h2", { class: "break" }, `${plugin.name} (${plugin.kind})`),
  h("p", {}, plugin.summary),
  share("Mean time of a call", mean(plugin), plugin.limits.time_ms, duration),
  share("Most memory of a call", plugin.memory_peak_bytes, plugin.limits.memory_mib * MIB, bytes),
  facts([
    ["Plugin", `${plugin.plugin} ${plugin.version}`],
    ["Contract", plugin.contract],
    ["File", `${bytes(plugin.size_bytes)}, ${plugin.source}${plugin.native ? ", native code" : ""}`],
    ["Hash", h("code", { class: "break" }, plugin.hash)],
    ["Calls", `${count(plugin.calls)}, ${duration(plugin.busy_ms)} in all`],
    ["Failures", count(plugin.failures)],
    ["Traps", count(plugin.traps)],
    ["Result at most", `${count(plugin.limits.output_mib)} MiB`],
    plugin.grants.length > 0 && ["Hosts", plugin.grants.join(", ")],
  ]),
  h("h3", {}, "Options"),
  h("pre", { class: "wrap tall", tabindex: 0 }, JSON.stringify(plugin.options_schema, null, 2)),
];

/** The view; `onleave` takes what is to be called when the page is left. */
export function pluginsView(context, onleave) {
  const top = h("div", {}, loading());
  const one = h("section", { "aria-label": "The plugin" });
  const search = field({ label: "Search", type: "search" });
  let [plugins, opened, said] = [[], null, ""];
  // The address names the plugin that is open.
  let named = context.query.get("plugin");
  const rows = table(COLUMNS, { label: "Plugins", height: 480, nothing: "No such plugins.", onopen: (plugin) => {
    show(plugin);
  } });
  const address = (plugin) => `${plugin.kind}/${plugin.name}`;
  function show(plugin) {
    [opened, named] = [plugin, null];
    one.replaceChildren(...shownPlugin(plugin));
    context.keep({ tab: "plugins", plugin: address(plugin) });
  }
  const draw = () => {
    const wanted = search.input.value.trim().toLowerCase();
    rows.set(plugins.filter((plugin) => `${plugin.kind} ${plugin.name} ${plugin.plugin}`.toLowerCase().includes(wanted)));
  };
  search.input.addEventListener("input", settled(draw));
  const same = (a, b) => a.kind === b.kind && a.name === b.name;
  const look = async () => {
    try {
      const found = await read(context, "/admin/plugins");
      plugins = found.plugins;
      draw();
      const error = found.last_error;
      // Drawn anew only if it changed: a reader reads a failure out each time.
      const text = JSON.stringify([found.generation, plugins.length, error]);
      if (text !== said) top.replaceChildren(
        h("p", { class: "note" }, `Generation ${count(found.generation)}, ${many(plugins.length, "plugin")}. Numbers begin anew with each generation.`),
        error ? failed(`The last reload failed (${time(error.time)}), so the plugins before it stay: ${error.reason}`) : "",
      );
      said = text;
      const wanted = named === null ? undefined : plugins.find((plugin) => address(plugin) === named);
      if (wanted !== undefined) show(wanted);
      const now = opened && plugins.find((plugin) => same(plugin, opened));
      // Drawn anew only if it changed: a person may be reading it.
      if (now && JSON.stringify(now) !== JSON.stringify(opened)) {
        opened = now;
        one.replaceChildren(...shownPlugin(now));
      }
    } catch (error) {
      said = "";
      failing(top, error.message, look);
    }
    return true;
  };
  onleave(poll(look, PERIOD));
  return [top, search.element, rows.element, one];
}
