// Runs a caller's script in the page's own world and returns at most `most` characters of its result. The page may have replaced any
// function, so that sizes are measured by syntax alone: by the length of primitive strings, and by counting what is copied. Where it has
// replaced `eval`, that is what is returned, unless `run` does without.
async (run, most, withoutEval) => {
  const TEXT_MAX = 1000, DEPTH_MAX = 64;
  const cut = (text) => {
    let start = "";
    for (let at = 0; at < text.length && at < TEXT_MAX; at += 1) start += text[at];
    return start;
  };
  let left = most, size = 0;
  const take = (count) => {
    left -= count;
    if (left < 0) throw take;
  };
  const copy = (value, depth) => {
    switch (typeof value) {
      case "string":
        size = value.length;
        take(size + 3);
        return value;
      case "number": take(20); return value;
      case "boolean": take(6); return value;
      case "object": break;
      default: take(5); return null;
    }
    take(5);
    if (value === null) return null;
    if (depth > DEPTH_MAX) throw "the result is nested too deeply";
    if (Array.isArray(value)) {
      const list = [], count = +value.length;
      for (let at = 0; at < count; at += 1) list[at] = copy(value[at], depth + 1);
      return list;
    }
    // Own properties only, and none that is inherited.
    const own = { __proto__: null, ...value }, record = { __proto__: null };
    for (const key in own) {
      take(key.length + 4);
      record[key] = copy(own[key], depth + 1);
    }
    return record;
  };
  let value;
  try {
    if (!withoutEval && (0, eval)("1 + 1") !== 2) return { __proto__: null, replaced: true };
  } catch {
    return { __proto__: null, replaced: true };
  }
  try {
    value = await run();
    // A function is meant to be called, as other tools do.
    if (typeof value === "function") value = await value();
  } catch (error) {
    let text = "an error that cannot be read";
    try {
      // Without its stack, whose frames are those of this wrapper.
      const { name, message } = typeof error === "object" && error !== null ? error : { message: error };
      const described = typeof message === "symbol" || typeof message === "object" ? "" : cut(`${message ?? ""}`);
      const kind = typeof name === "string" ? cut(name) : "";
      if (kind && described) text = cut(`${kind}: ${described}`);
      else if (kind || described) text = kind || described;
    } catch {}
    return { __proto__: null, thrown: text };
  }
  try {
    return { __proto__: null, value: copy(value, 0) };
  } catch (error) {
    if (error === take) return { __proto__: null, size: typeof value === "string" ? size : -1 };
    return { __proto__: null, thrown: typeof error === "string" ? cut(error) : "the result cannot be read" };
  }
}
