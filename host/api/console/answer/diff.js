// What differs between two lists of lines (Myers, An O(ND) Difference Algorithm, 1986).

/** Lines that may differ; beyond that, all of the middle counts as replaced. */
const CHANGES_MAX = 600;

/** The steps from one list to another: the furthest places of each number of changes. */
function trace(before, after) {
  const most = Math.min(before.length + after.length, CHANGES_MAX);
  const reached = new Map([[1, 0]]);
  const history = [];
  for (let changes = 0; changes <= most; changes += 1) {
    history.push(new Map(reached));
    for (let k = -changes; k <= changes; k += 2) {
      const isDown = k === -changes || (k !== changes && reached.get(k - 1) < reached.get(k + 1));
      let x = isDown ? reached.get(k + 1) : reached.get(k - 1) + 1;
      while (x < before.length && x - k < after.length && before[x] === after[x - k]) x += 1;
      reached.set(k, x);
      if (x >= before.length && x - k >= after.length) return history;
    }
  }
  return undefined;
}

/** The lines between the equal beginnings and ends. */
function middle(before, after) {
  const history = trace(before, after);
  const of = (kind) => (text) => ({ kind, text });
  if (history === undefined) return [...before.map(of("removed")), ...after.map(of("added"))];
  const lines = [];
  let [x, y] = [before.length, after.length];
  for (let changes = history.length - 1; changes >= 0; changes -= 1) {
    const reached = history[changes];
    const k = x - y;
    const isDown = k === -changes || (k !== changes && reached.get(k - 1) < reached.get(k + 1));
    const last = isDown ? k + 1 : k - 1;
    const [fromX, fromY] = [reached.get(last), reached.get(last) - last];
    while (x > fromX && y > fromY && x > 0 && y > 0) {
      lines.push({ kind: "same", text: before[x - 1] });
      [x, y] = [x - 1, y - 1];
    }
    if (changes > 0) lines.push(isDown ? { kind: "added", text: after[y - 1] } : { kind: "removed", text: before[x - 1] });
    [x, y] = [fromX, fromY];
  }
  return lines.reverse();
}

/** Two lists of lines as one: `{kind, text}`, where `kind` is `same`, `removed` or `added`. */
export function diff(before, after) {
  let from = 0;
  while (from < before.length && from < after.length && before[from] === after[from]) from += 1;
  let end = 0;
  while (end < before.length - from && end < after.length - from && before.at(-1 - end) === after.at(-1 - end)) end += 1;
  const same = (text) => ({ kind: "same", text });
  return [
    ...before.slice(0, from).map(same),
    ...middle(before.slice(from, before.length - end), after.slice(from, after.length - end)),
    ...before.slice(before.length - end).map(same),
  ];
}
