// What a person sees who has opened the console without a key.

import { h } from "../ui.js";
import { BASE } from "../api.js";

export const title = "Start";

export function render(container, context) {
  const command = [
    `curl -s ${new URL("scrape", BASE)}`,
    `-H "Authorization: Bearer $TRAWL_KEY"`,
    "-H 'Content-Type: application/json'",
    `-d '{"url": "http://sample.trawl.test/", "return_format": "markdown"}'`,
  ].join(" \\\n  ");
  const say = context.key() === ""
    ? "Programs use this server over HTTP with a key, which its operator issues. Give this tab a key with the button above."
    : "This tab has a key.";
  container.append(
    h("h1", {}, "Trawl"),
    h("p", {}, "This server fetches web pages and returns them as markdown, HTML, text or bytes, with links, metadata and extracted fields."),
    h("p", {}, say),
    h("pre", { tabindex: 0 }, command),
    h("p", {}, "The sample site is built into the server. ",
      h("a", { href: new URL("openapi.json", BASE).href }, "All endpoints and parameters"), "."),
  );
}
