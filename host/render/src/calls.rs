//! Commands to a page, and calls of the functions that Trawl has in it.

use chromiumoxide::cdp::browser_protocol::page::CreateIsolatedWorldParams;
use chromiumoxide::cdp::js_protocol::runtime::{
    EvaluateParams, ExceptionDetails, ExecutionContextId, RemoteObject,
};
use chromiumoxide::types::Command;
use serde::Serialize;
use serde::de::DeserializeOwned;
use serde_json::Value;

use super::cdp::CallError;
use super::error::RenderError;
use super::load_error::thrown;
use super::page_setup::WORLD;
use super::tab::Tab;

/// The functions of `page.js`.
const FUNCTIONS: &str = include_str!("page.js");
/// Name of the isolated world in which scripts of the caller are parsed.
const SYNTAX_WORLD: &str = "trawl-syntax";

impl Tab<'_> {
    /// Sends a command to the page.
    pub(super) async fn call<T: Command>(&self, params: T) -> Result<T::Response, RenderError> {
        Ok(self.context.call(params).await?)
    }

    /// Sends a command to the page that it may refuse.
    pub(super) async fn try_call<T: Command>(&self, params: T) -> Result<T::Response, CallError> {
        self.context.call(params).await
    }

    /// Calls a function of `page.js` in its isolated world: its result, or what it threw.
    pub(super) async fn call_function<T: DeserializeOwned>(
        &self,
        function: &str,
        arguments: impl Serialize,
    ) -> Result<Result<T, String>, RenderError> {
        self.call_in_frame(self.watch.frame(), function, arguments)
            .await
    }

    /// Calls a function of `page.js` in its isolated world of a frame.
    pub(super) async fn call_in_frame<T: DeserializeOwned>(
        &self,
        frame: &str,
        function: &str,
        arguments: impl Serialize,
    ) -> Result<Result<T, String>, RenderError> {
        let arguments = serde_json::to_value(arguments)
            .map_err(|error| RenderError::Protocol(error.to_string()))?;
        let arguments = match arguments {
            Value::Array(arguments) => Value::Array(arguments).to_string(),
            _ => "[]".to_owned(),
        };
        let world = match self.world_of(frame, WORLD).await? {
            Ok(world) => world,
            Err(reason) => return Ok(Err(reason)),
        };
        let mut params = by_value(format!("({FUNCTIONS}).{function}(...{arguments})"));
        params.context_id = Some(world);
        let value = self.evaluate(params).await?;
        Ok(
            value
                .and_then(|value| serde_json::from_value(value).map_err(|error| error.to_string())),
        )
    }

    /// A world of the current document with this name, or why there is none.
    pub(super) async fn isolated_world(
        &self,
        name: &str,
    ) -> Result<Result<ExecutionContextId, String>, RenderError> {
        self.world_of(self.watch.frame(), name).await
    }

    /// A world of a frame's document with this name, or why there is none.
    pub(super) async fn world_of(
        &self,
        frame: &str,
        name: &str,
    ) -> Result<Result<ExecutionContextId, String>, RenderError> {
        let mut world = CreateIsolatedWorldParams::new(frame.to_owned());
        world.world_name = Some(name.to_owned());
        match self.context.call(world).await {
            Ok(world) => Ok(Ok(world.execution_context_id)),
            Err(CallError::Refused(reason)) => Ok(Err(reason)),
            Err(error) => Err(error.into()),
        }
    }

    /// Why a script cannot be parsed. It is not run: the expression throws before its first line,
    /// in a world of the empty document.
    pub(super) async fn syntax_error(&self, script: &str) -> Result<Option<String>, RenderError> {
        let Ok(world) = self.isolated_world(SYNTAX_WORLD).await? else {
            return Ok(None);
        };
        let mut params = EvaluateParams::new(format!("throw 0;\n{script}"));
        params.context_id = Some(world);
        let thrown = self.evaluate(params).await?.err();
        let reason = thrown.filter(|text| text.starts_with("SyntaxError"));
        Ok(reason.and_then(|text| text.lines().next().map(str::to_owned)))
    }

    /// Evaluates an expression: its result, or what it threw.
    pub(super) async fn evaluate(
        &self,
        params: EvaluateParams,
    ) -> Result<Result<Value, String>, RenderError> {
        let answer = self.try_call(params).await;
        let result = outcome(answer.map(|answer| (answer.result, answer.exception_details)))?;
        Ok(result.map(|object| object.value.unwrap_or_default()))
    }
}

/// What a call of JavaScript gave, or why it gave nothing: what it threw, or why it was refused.
pub(super) fn outcome(
    answer: Result<(RemoteObject, Option<ExceptionDetails>), CallError>,
) -> Result<Result<RemoteObject, String>, RenderError> {
    match answer {
        Ok((_, Some(details))) => Ok(Err(thrown(details))),
        Ok((result, None)) => Ok(Ok(result)),
        // The page navigated meanwhile, or the result cannot be serialised.
        Err(CallError::Refused(reason)) => Ok(Err(reason)),
        Err(error) => Err(error.into()),
    }
}

/// Evaluates an expression to its value, or its promise's, as if the user had caused it.
pub(super) fn by_value(expression: String) -> EvaluateParams {
    let mut params = EvaluateParams::new(expression);
    params.return_by_value = Some(true);
    params.await_promise = Some(true);
    params.user_gesture = Some(true);
    params
}
