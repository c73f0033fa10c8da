// The parameters of an endpoint as the interface's own document describes them, and the text that a
// person types for each.

/** A schema with its references followed; what is next to a reference wins. */
function resolved(document, schema) {
  let own = schema;
  for (let hops = 0; own?.$ref !== undefined && hops < 20; hops += 1) {
    const { $ref, ...next } = own;
    const target = $ref.replace(/^#\//, "").split("/").reduce((part, name) =>
      part?.[name.replaceAll("~1", "/").replaceAll("~0", "~")], document);
    own = { ...target, ...next };
  }
  return own ?? {};
}

/** The forms that a value may have, each with one type; none for `null`. */
function forms(document, schema, depth = 0) {
  const own = resolved(document, schema);
  const parts = own.oneOf ?? own.anyOf;
  if (parts && depth < 20) return parts.flatMap((part) => forms(document, part, depth + 1));
  const types = [own.type].flat().filter((type) => type !== undefined && type !== "null");
  return types.map((type) => ({ ...own, type }));
}

/** How a value is typed in: the kind of its control. */
function kind(document, name, all) {
  const types = new Set(all.map((form) => form.type));
  const is = (...wanted) => types.size > 0 && [...types].every((type) => wanted.includes(type));
  const isListOfTexts = (form) => form.type === "array" && resolved(document, form.items).type === "string";
  if (name === "return_format") return "formats";
  if (name === "data" && types.has("array")) return "document";
  if (is("boolean")) return "switch";
  if (all.length === 1 && Array.isArray(all[0].enum)) return "choice";
  if (is("integer", "number")) return "number";
  if (is("string")) return "text";
  if (all.length === 1 && isListOfTexts(all[0])) return "lines";
  return "json";
}

/** The description without what the control says, and the default in it. */
function split(description) {
  const found = /\s*Default: (.*?)\.(?=\s+It has an effect|$)/s.exec(description);
  if (found === null) return { help: description, fallback: undefined };
  return { help: description.replace(found[0], ""), fallback: found[1].replaceAll("`", "") };
}

/** The request object of an endpoint: one of the forms of its body, which may be an array, too. */
function requestObject(document, path) {
  const body = document.paths?.[path]?.post?.requestBody?.content?.["application/json"]?.schema;
  return forms(document, body).find((form) => form.type === "object") ?? {};
}

/**
 * The parameters of an endpoint: `{name, aliases, kind, types, help, fallback, example, choices,
 * keys, minimum, maximum, isRequired, isSecret}`. `kind` is `switch`, `choice`, `number`, `text`,
 * `lines`, `formats`, `document` or `json`; `keys` are the names that an object may have.
 */
export function parameters(document, path) {
  const object = requestObject(document, path);
  const required = new Set(object.required);
  // What a crawl that waits for its secrets takes.
  const secrets = new Set(Object.keys(document.components?.schemas?.ResumeRequest?.properties ?? {}));
  const all = new Map();
  const aliases = [];
  for (const [name, schema] of Object.entries(object.properties ?? {})) {
    const description = schema.description ?? "";
    const same = /^The same as `(\w+)`, which wins\.$/.exec(description);
    if (same !== null) {
      aliases.push([same[1], name]);
      continue;
    }
    const own = forms(document, schema);
    const example = schema.examples?.[0];
    all.set(name, {
      name,
      aliases: [],
      kind: kind(document, name, own),
      types: own.map((form) => form.type),
      ...split(description),
      example,
      choices: own.flatMap((form) => form.enum ?? []),
      keys: own.flatMap((form) => Object.keys(form.properties ?? {})),
      minimum: own[0]?.minimum,
      maximum: own[0]?.maximum,
      isRequired: required.has(name),
      isSecret: secrets.has(name),
    });
  }
  for (const [name, alias] of aliases) all.get(name)?.aliases.push(alias);
  return [...all.values()];
}

/** The names of the formats of pages: those that are built in, and the loaded plugins'. */
export function formats(document) {
  const loaded = Object.keys(document.components?.schemas?.FormatOptions?.properties ?? {});
  // `html` is another name of `raw`.
  const named = loaded.filter((name) => name !== "html");
  return [...new Set(["markdown", "text", "raw", ...named, "screenshot", "empty"])];
}

const typeName = { array: "a list", object: "an object", string: "a text", boolean: "true or false", integer: "a whole number", number: "a number" };

function fromJson(parameter, text) {
  const { name, types } = parameter;
  if (/^[[{"]/.test(text)) {
    try {
      return JSON.parse(text);
    } catch (error) {
      // A text may begin like JSON, such as a selector.
      if (types.includes("string") && text.startsWith("[")) return text;
      throw new Error(`\`${name}\` is no valid JSON: ${error.message}`);
    }
  }
  const isNumber = types.includes("integer") || types.includes("number");
  if (isNumber && /^-?\d+(\.\d+)?$/.test(text)) return Number(text);
  if (types.includes("boolean") && /^(true|false)$/.test(text)) return text === "true";
  if (types.includes("string") || types.length === 0) return text;
  const wanted = [...new Set(types)].map((type) => typeName[type] ?? type).join(" or ");
  throw new Error(`\`${name}\` has to be ${wanted}, as JSON`);
}

/** The value that a text stands for, undefined for an empty one. Throws what is wrong with it. */
export function valueOf(parameter, text) {
  const trimmed = text.trim();
  if (trimmed === "") return undefined;
  switch (parameter.kind) {
    case "switch":
      return trimmed === "true";
    case "number": {
      const value = Number(trimmed);
      if (!Number.isFinite(value)) throw new Error(`\`${parameter.name}\` has to be a number`);
      return value;
    }
    case "lines":
      return trimmed.split("\n").map((line) => line.trim()).filter((line) => line !== "");
    case "formats": {
      const names = trimmed.split(",").map((name) => name.trim()).filter((name) => name !== "");
      return names.length === 1 ? names[0] : names;
    }
    case "document":
      return JSON.parse(trimmed);
    case "json":
      return fromJson(parameter, trimmed);
    default:
      return text;
  }
}

/** The text that stands for a value. */
export function textOf(parameter, value) {
  if (value === undefined || value === null) return "";
  if (parameter.kind === "lines" && Array.isArray(value)) return value.join("\n");
  if (parameter.kind === "formats" && Array.isArray(value)) return value.join(", ");
  if (typeof value === "string") {
    // A text that reads as something else is written as JSON.
    return parameter.kind === "json" && fromText(parameter, value) !== value ? JSON.stringify(value) : value;
  }
  if (typeof value === "object" && parameter.kind !== "document") return JSON.stringify(value, null, 2);
  return JSON.stringify(value);
}

function fromText(parameter, text) {
  try {
    return valueOf(parameter, text);
  } catch {
    return undefined;
  }
}
