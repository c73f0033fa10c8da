//! Carries out an operator's request on billing: behind the socket, in the command line without a
//! server, and in the HTTP interface.

mod accounts;
mod reports;
mod seats;
mod views;

use trawl_billing::Billing;

use crate::error::ControlError;
use crate::reply::Reply;
use crate::request::Request;

/// Carries out a request and turns an error into a reply.
pub(crate) async fn perform_to_reply(billing: &Billing, request: Request) -> Reply {
    match perform(billing, request).await {
        Ok(reply) => reply,
        Err(error) => Reply::Error(with_causes(&error)),
    }
}

/// Carries out a request. One that changes something is carried out to its end, even if its reply
/// is not awaited any more.
///
/// # Errors
/// [`ControlError::Billing`] for what billing refuses, [`ControlError::Field`] for an invalid
/// value, [`ControlError::Refused`] for requests that need a running server.
pub async fn perform(billing: &Billing, request: Request) -> Result<Reply, ControlError> {
    if request.only_reads() {
        return carry_out(billing, request).await;
    }
    let own = billing.clone();
    let change = async move { carry_out(&own, request).await };
    billing.to_its_end(change).await
}

async fn carry_out(billing: &Billing, request: Request) -> Result<Reply, ControlError> {
    match request {
        Request::CreateAccount { name, top_up } => accounts::create(billing, &name, top_up).await,
        Request::Accounts {} => Ok(accounts::list(billing)),
        Request::Account { account } => accounts::show(billing, &account),
        Request::TopUp {
            account,
            amount,
            id,
        } => accounts::top_up(billing, &account, amount, id.as_deref()).await,
        Request::CreateKey {
            account,
            name,
            budget,
        } => accounts::create_key(billing, &account, &name, budget).await,
        Request::SetKeyBudget {
            account,
            key,
            budget,
        } => accounts::set_key_budget(billing, &account, &key, budget).await,
        Request::Keys { account, all } => accounts::keys(billing, &account, all).await,
        Request::RevokeKey { account, key } => accounts::revoke_key(billing, &account, &key).await,
        Request::WebhookSecret { account, renew } => {
            accounts::webhook_secret(billing, &account, renew).await
        }
        Request::SetNotices {
            account,
            destination,
            below,
        } => accounts::set_notices(billing, &account, destination.as_deref(), below).await,
        Request::SetSeats { account, seats } => seats::set(billing, &account, seats).await,
        Request::SuspendSeats { account } => seats::suspend(billing, &account).await,
        Request::ResumeSeats { account } => seats::resume(billing, &account).await,
        Request::Statement {
            account,
            from,
            to,
            after,
        } => reports::statement(billing, &account, (from, to), after).await,
        Request::Prices {} => reports::prices(billing).await,
        Request::PriceHistory {} => reports::price_history(billing).await,
        Request::Usage { from, to, by_key } => reports::usage(billing, (from, to), by_key).await,
        Request::Verify {} => reports::audit(billing).await,
        Request::Plugins {} => {
            let reason = "no server is running: plugins are loaded by a running server only";
            Err(ControlError::Refused(reason.to_owned()))
        }
    }
}

fn with_causes(error: &dyn std::error::Error) -> String {
    let causes = std::iter::successors(Some(error), |error| error.source());
    let texts: Vec<String> = causes.map(ToString::to_string).collect();
    texts.join(": ")
}
