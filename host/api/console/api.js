// Requests to the server that served this console, and the keys for them. A key is kept for the
// tab alone, in its session storage, and sent in a header, never in a URL.

/** The folder of the server's endpoints: the console may be behind a proxy with a path of its own. */
export const BASE = new URL("..", import.meta.url);

const KEY = "trawl.key";
const ADMIN = "trawl.admin";

/** The key of an account, or an empty text. */
export const key = () => sessionStorage.getItem(KEY) ?? "";

/** The operator's key, or an empty text. */
export const admin = () => sessionStorage.getItem(ADMIN) ?? "";

const keep = (name, value) => {
  const trimmed = value.trim();
  if (trimmed === "") sessionStorage.removeItem(name);
  else sessionStorage.setItem(name, trimmed);
  dispatchEvent(new CustomEvent("keys"));
};

/** Keeps the key of an account until the tab is closed; an empty text forgets it. */
export const setKey = (value) => keep(KEY, value);

/** The same for the operator's key. */
export const setAdmin = (value) => keep(ADMIN, value);

/** Whether an endpoint needs the operator's key rather than the key of an account. */
const isOperators = (path) => /^\/(admin|providers|metrics)(\/|\?|$)/.test(path);

/** The response as JSON, or undefined if it is something else. */
function parsed(text) {
  try {
    return JSON.parse(text);
  } catch {
    return undefined;
  }
}

/**
 * Sends a request. `path` begins with `/`, `body` becomes JSON if it is not undefined. Options:
 * `signal` (an AbortSignal), `headers` (an object), `key` (another key than the one that is kept).
 *
 * Returns `{status, ok, json, text, headers, milliseconds}`; `json` is undefined if the response
 * is none. A server that cannot be reached is a response with status 0, whose `json.error` says so;
 * an aborted request throws what `fetch` throws.
 */
export async function api(method, path, body, options = {}) {
  const headers = new Headers({ Accept: "application/json", ...options.headers });
  const secret = options.key ?? (isOperators(path) ? admin() : key());
  if (secret !== "") headers.set("Authorization", `Bearer ${secret}`);
  if (body !== undefined) headers.set("Content-Type", "application/json");
  const began = performance.now();
  try {
    const response = await fetch(new URL(path.slice(1), BASE), {
      method,
      headers,
      body: body === undefined ? undefined : JSON.stringify(body),
      signal: options.signal,
      credentials: "omit",
      cache: "no-cache",
    });
    const text = await response.text();
    const { status, ok } = response;
    const milliseconds = performance.now() - began;
    return { status, ok, json: parsed(text), text, headers: response.headers, milliseconds };
  } catch (error) {
    if (error.name === "AbortError") throw error;
    const json = { error: `the server cannot be reached: ${error.message}` };
    return { status: 0, ok: false, json, text: "", headers: new Headers(), milliseconds: 0 };
  }
}

/** What is wrong with a response, in a sentence. */
export function failure({ status, json, text }) {
  const said = json?.error ?? json?.detail ?? text.slice(0, 500);
  return status === 0 ? String(said) : `${status}: ${said || "no reason given"}`;
}

let schema;

/** The interface as an OpenAPI document, read once. Throws if it cannot be read. */
export function openapi() {
  schema ??= api("GET", "/openapi.json").then((response) => {
    if (response.ok) return response.json;
    schema = undefined;
    throw new Error(failure(response));
  });
  return schema;
}
