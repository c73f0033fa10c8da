// An answer next to an earlier one of this tab: with and without a parameter, from plain HTTP and
// from the browser, of yesterday and of today.

import { count, dollars, h, took } from "../ui.js";
import { choice } from "../views.js";
import { diff } from "./diff.js";
import { textNames, textOf } from "./text.js";

/** Answers that are kept in the tab, and characters of one that are. */
const [ANSWERS_MAX, ANSWER_MAX] = [8, 5_000_000];
/** Lines around a change, and lines that are shown at most. */
const [AROUND, LINES_MAX] = [3, 5_000];

/** Answers of before, newest first: `{at, endpoint, request, page, contents, took}`. */
const earlier = [];

/** Keeps an answer for those that follow. */
export function remember(answer) {
  const length = [...answer.contents.values()].reduce((sum, piece) => sum + textOf(piece).length, 0);
  if (length > ANSWER_MAX) return;
  earlier.unshift({ ...answer, at: new Date() });
  earlier.length = Math.min(earlier.length, ANSWERS_MAX);
}

/** The answers of before, newest first. */
export const remembered = () => [...earlier];

/** The parameters that differ, with both values. */
export function changedParameters(before, after) {
  const names = [...new Set([...Object.keys(before), ...Object.keys(after)])];
  const text = (value) => (value === undefined ? "not set" : JSON.stringify(value));
  return names.filter((name) => text(before[name]) !== text(after[name])).map((name) => [name, text(before[name]), text(after[name])]);
}

/** Lines with a sign before each; long stretches without a change are one line. */
function lines(all) {
  const isNear = new Uint8Array(all.length);
  all.forEach(({ kind }, at) => {
    if (kind !== "same") isNear.fill(1, Math.max(0, at - AROUND), at + AROUND + 1);
  });
  const nodes = [];
  for (let at = 0; at < all.length && nodes.length < LINES_MAX; at += 1) {
    if (isNear[at] === 0) {
      const from = at;
      while (at + 1 < all.length && isNear[at + 1] === 0) at += 1;
      nodes.push(h("span", { class: "equal" }, `  … ${count(at - from + 1)} equal lines\n`));
      continue;
    }
    const { kind, text } = all[at];
    if (kind === "same") nodes.push(`  ${text}\n`);
    else nodes.push(kind === "added" ? h("ins", {}, `+ ${text}\n`) : h("del", {}, `- ${text}\n`));
  }
  return nodes;
}

function shown(before, now, format) {
  const [old, fresh] = [before, now].map(({ contents }) => textOf(contents.get(format) ?? "").split("\n"));
  const all = diff(old, fresh);
  const [added, removed] = ["added", "removed"].map((kind) => all.filter((line) => line.kind === kind).length);
  const changed = changedParameters(before.request, now.request);
  const cost = ({ page }) => dollars(page.costs?.total_cost ?? 0);
  return [
    changed.length === 0 ? h("p", { class: "note" }, "Both requests are the same.") : h("ul", {}, changed.map(([name, was, is]) =>
      h("li", { class: "break" }, h("code", {}, name), ": ", h("del", {}, was.slice(0, 200)), " ", h("ins", {}, is.slice(0, 200))))),
    h("p", {}, `${count(removed)} lines less, ${count(added)} lines more; ${took(before.took)} and ${cost(before)} then, ${took(now.took)} and ${cost(now)} now.`),
    added + removed === 0 ? h("p", { class: "good" }, "The content is the same.") : h("pre", { class: "wrap diff", tabindex: 0 }, lines(all)),
  ];
}

/** The view of an answer next to those that were remembered before it. */
export function compareView(now, others) {
  const label = ({ at, endpoint, page }) => `${at.toLocaleTimeString("en")}  ${endpoint}  ${page.url ?? ""}`;
  const which = choice({ label: "Earlier answer", options: others.map((one, at) => [String(at), label(one)]), value: "0" });
  const formats = textNames(now.contents);
  const format = choice({ label: "Format", options: formats, value: formats[0] });
  const body = h("div");
  const draw = () => body.replaceChildren(...shown(others[Number(which.input.value)], now, format.input.value));
  for (const { input } of [which, format]) input.addEventListener("input", draw);
  draw();
  return [h("div", { class: "fields" }, which.element, format.element), body];
}
