// The account of the key: its balance and limits, what was spent, its statement, keys and webhooks.
//
// Address: `#/account?tab=statement&search=…`.

import { h, tabs } from "../ui.js";
import { needsKey } from "../views.js";
import { keysView } from "../account/keys.js";
import { overview } from "../account/overview.js";
import { spending } from "../account/spending.js";
import { statementView } from "../account/statement.js";
import { webhooksView } from "../account/webhooks.js";

export function render(container, context) {
  if (context.key() === "") {
    container.append(h("h1", {}, "Account"), needsKey(context, "An account is shown to those who have a key of it."));
    return;
  }
  const views = [
    { name: "balance", label: "Balance", make: () => overview(context) },
    { name: "spending", label: "Spending", make: () => spending(context) },
    { name: "statement", label: "Statement", make: () => statementView(context, "/account/statement") },
    { name: "keys", label: "Keys", make: () => keysView(context) },
    { name: "webhooks", label: "Webhooks", make: () => webhooksView(context) },
  ];
  container.append(
    h("h1", {}, "Account"),
    tabs("Views of the account", views, context.query.get("tab") ?? "balance", (tab) => context.keep({ tab })),
  );
}
