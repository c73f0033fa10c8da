// Crawls: the list of them, a new one, and one of them while it runs or after it has ended.
//
// Addresses: `#/crawls`, `#/crawls?new=1&url=…`, `#/crawls?id=ID&tab=live`.

import { h } from "../ui.js";
import { needsKey } from "../views.js";
import { show as showList } from "../crawls/list.js";
import { show as showNew } from "../crawls/new.js";
import { show as showOne } from "../crawls/one.js";

export function render(container, context) {
  if (context.key() === "") {
    container.append(h("h1", {}, "Crawls"), needsKey(context, "Crawls belong to an account: give this tab a key of one."));
    return undefined;
  }
  if (context.query.has("id")) return showOne(container, context, context.query.get("id"));
  if (context.query.has("new")) return showNew(container, context);
  return showList(container, context);
}
