// The frame of the console: keys, navigation, theme, and the router by `location.hash`.
//
// An address is `#/NAME?a=b`: the page NAME with its own parameters. Keys in it sign the tab in and
// are taken out of it before anything else: see `signing.js`.

import * as server from "./api.js";
import { linkNotice, signIn } from "./signing.js";
import { dialog, failed, field, h, loading } from "./ui.js";
import { pages } from "./pages/index.js";

const THEMES = ["auto", "light", "dark"];
const first = Object.keys(pages)[0];
/** What the page that is shown has to do when it is left. */
let leave;
/** Ends what is read for that page. */
let reading = new AbortController();

/** The page of the address and its parameters. */
function route() {
  const [path, query = ""] = location.hash.replace(/^#\/?/, "").split(/\?(.*)/s);
  const name = Object.hasOwn(pages, path) ? path : first;
  return { name, isKnown: path === "" || name === path, query: new URLSearchParams(query) };
}

/** The address of a page with parameters (an object or URLSearchParams). */
function address(name, parameters = {}) {
  const query = new URLSearchParams(parameters).toString();
  return `#/${name}${query === "" ? "" : `?${query}`}`;
}

const context = {
  api: server.api,
  key: server.key,
  setKey: server.setKey,
  admin: server.admin,
  setAdmin: server.setAdmin,
  address,
  /** Shows another page. */
  open: (name, parameters) => {
    location.hash = address(name, parameters);
  },
  /** Changes the parameters of the shown page's address without showing it anew. */
  keep: (parameters) => history.replaceState(null, "", address(route().name, parameters)),
  /** Asks for a key. */
  askKey: () => askKeys(),
};

async function show() {
  leave?.();
  leave = undefined;
  reading.abort();
  reading = new AbortController();
  const { signal } = reading;
  const { name, isKnown, query } = route();
  const page = pages[name];
  const container = h("div", { class: "page" });
  document.title = `${page.title} – Trawl`;
  document.getElementById("main").replaceChildren(container);
  for (const link of document.querySelectorAll("nav a")) {
    if (link.dataset.page === name) link.setAttribute("aria-current", "page");
    else link.removeAttribute("aria-current");
  }
  if (!isKnown) {
    container.append(h("h1", {}, "No such page"), failed("This address names no page of the console: choose one above."));
    return;
  }
  try {
    // What a page does a while after a key press must not change the address of the next one.
    const keep = (parameters) => { if (container.isConnected) context.keep(parameters); };
    // What is changed on the server is waited for also by those who leave.
    const api = (method, path, body, options) =>
      server.api(method, path, body, method === "GET" ? { signal, ...options } : options);
    container.append(loading());
    const { render } = await page.load();
    // Another page may be shown by now.
    if (!container.isConnected) return;
    container.replaceChildren();
    const left = await render(container, { ...context, api, keep, query });
    if (typeof left !== "function") return;
    if (container.isConnected) leave = left;
    else left();
  } catch (error) {
    container.replaceChildren(h("h1", {}, page.title), failed(`This page cannot be shown: ${error.message}`, show));
  }
}

function askKeys() {
  const key = field({ label: "Key of an account", type: "password", value: server.key(), name: "key" });
  const admin = field({ label: "Operator's key", type: "password", value: server.admin(), name: "admin" });
  const note = h("p", { class: "note" }, "Keys are kept in this tab until it is closed. Empty a field to forget its key.");
  dialog("Keys", [key.element, admin.element, note], {
    Keep: () => {
      server.setKey(key.input.value);
      server.setAdmin(admin.input.value);
    },
    Cancel: () => undefined,
  });
}

function setTheme(theme) {
  if (theme === "auto") delete document.documentElement.dataset.theme;
  else document.documentElement.dataset.theme = theme;
  sessionStorage.setItem("trawl.theme", theme);
}

function header() {
  const links = Object.entries(pages).map(([name, page]) =>
    h("a", { href: `#/${name}`, "data-page": name }, page.title));
  const key = h("button", { type: "button", id: "keys", onclick: askKeys });
  const label = () => {
    const has = server.key() !== "" || server.admin() !== "";
    key.textContent = has ? "Key ✓" : "Add key";
    key.classList.toggle("primary", !has);
  };
  addEventListener("keys", label);
  label();
  const kept = sessionStorage.getItem("trawl.theme") ?? "auto";
  const theme = h("select", { "aria-label": "Theme", onchange: () => setTheme(theme.value) },
    THEMES.map((name) => h("option", { value: name, selected: name === kept }, name)));
  setTheme(kept);
  document.getElementById("header").append(
    h("nav", { "aria-label": "Pages" }, links), theme, key,
  );
  document.getElementById("header").after(linkNotice());
}

signIn(first);
header();
document.querySelector(".skip").addEventListener("click", (event) => {
  // The hash is the router's.
  event.preventDefault();
  document.getElementById("main").focus();
});
addEventListener("hashchange", () => {
  signIn(first);
  show();
});
addEventListener("keys", () => {
  if (!pages[route().name].followsKeys) show();
});
show();
