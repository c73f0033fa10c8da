//! `/admin`: administration over HTTP, with the admin key. Each endpoint performs a `control`
//! request, as the command line does.

mod accounts;
mod history;
mod hosts;
mod keys;
mod logs;
mod money;
mod plugins;
mod prices;
mod seats;

use utoipa::OpenApi;

use crate::http::methods::{Endpoint, delete, get, get_with_query, post, put};

/// Documentation of the endpoints of this folder.
#[derive(OpenApi)]
#[openapi(paths(
    accounts::list,
    accounts::create,
    accounts::show,
    accounts::set_notices,
    keys::list,
    keys::create,
    keys::set_budget,
    keys::revoke,
    keys::webhook_secret,
    keys::renew_webhook_secret,
    money::top_up,
    money::statement,
    money::usage,
    money::verify,
    seats::set,
    seats::suspend,
    seats::resume,
    prices::prices,
    prices::history,
    hosts::hosts,
    history::history,
    logs::logs,
    plugins::plugins,
))]
pub(crate) struct Operators;

/// Routes that need the admin key. `{account}` is an identifier or a name.
pub(crate) fn routes() -> Vec<Endpoint> {
    vec![
        (
            "/admin/accounts",
            get_with_query(accounts::list).post(accounts::create),
        ),
        ("/admin/accounts/{account}", get(accounts::show)),
        (
            "/admin/accounts/{account}/notices",
            put(accounts::set_notices),
        ),
        (
            "/admin/accounts/{account}/keys",
            get_with_query(keys::list).post(keys::create),
        ),
        (
            "/admin/accounts/{account}/keys/{prefix}",
            delete(keys::revoke),
        ),
        (
            "/admin/accounts/{account}/keys/{prefix}/budget",
            put(keys::set_budget),
        ),
        (
            "/admin/accounts/{account}/webhook-secret",
            get(keys::webhook_secret).post(keys::renew_webhook_secret),
        ),
        ("/admin/accounts/{account}/top-ups", post(money::top_up)),
        (
            "/admin/accounts/{account}/statement",
            get_with_query(money::statement),
        ),
        (
            "/admin/accounts/{account}/hosts",
            get_with_query(hosts::hosts),
        ),
        ("/admin/accounts/{account}/seats", put(seats::set)),
        (
            "/admin/accounts/{account}/seats/suspend",
            post(seats::suspend),
        ),
        (
            "/admin/accounts/{account}/seats/resume",
            post(seats::resume),
        ),
        ("/admin/prices", get(prices::prices)),
        ("/admin/prices/history", get(prices::history)),
        ("/admin/usage", get_with_query(money::usage)),
        ("/admin/verify", get(money::verify)),
        ("/admin/history", get_with_query(history::history)),
        ("/admin/logs", get_with_query(logs::logs)),
        ("/admin/plugins", get(plugins::plugins)),
    ]
}
