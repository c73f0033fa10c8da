// The operator's page: the server's health and metrics, accounts, providers, plugins, the log.
//
// Address: `#/operator?tab=accounts&account=alice`.

import { h, tabs } from "../ui.js";
import { needsKey } from "../views.js";
import { accountsView } from "../operator/accounts.js";
import { logView } from "../operator/log.js";
import { overview } from "../operator/overview.js";
import { pluginsView } from "../operator/plugins.js";
import { providersView } from "../operator/providers.js";

export function render(container, context) {
  if (context.admin() === "") {
    container.append(h("h1", {}, "Operator"), needsKey(context, "This page is for the server's operator: give this tab the operator's key."));
    return undefined;
  }
  const stops = [];
  const onleave = (stop) => stops.push(stop);
  const views = [
    { name: "server", label: "Server", make: () => overview(context, onleave) },
    { name: "accounts", label: "Accounts", make: () => accountsView(context) },
    { name: "providers", label: "Providers", make: () => providersView(context) },
    { name: "plugins", label: "Plugins", make: () => pluginsView(context, onleave) },
    { name: "log", label: "Log", make: () => logView(context) },
  ];
  container.append(
    h("h1", {}, "Operator"),
    tabs("Views of the server", views, context.query.get("tab") ?? "server", (tab) => context.keep({ tab })),
  );
  return () => stops.forEach((stop) => stop());
}
