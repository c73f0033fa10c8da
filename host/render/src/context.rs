//! The browser context of a page: opened for it alone, and disposed of whatever becomes of it.

use std::net::SocketAddr;
use std::sync::Arc;

use chromiumoxide::cdp::browser_protocol::browser::{
    BrowserContextId, SetDownloadBehaviorBehavior, SetDownloadBehaviorParams,
};
use chromiumoxide::cdp::browser_protocol::target::{
    AttachToTargetParams, CreateBrowserContextParams, CreateTargetParams, TargetId,
};
use chromiumoxide::types::Command;

use super::cdp::CallError;
use super::error::RenderError;
use super::events::Events;
use super::pool::TabSlot;

/// A page's browser context and its session, in a tab. On drop the context is disposed of with
/// everything in it, and then the tab is released.
pub(super) struct OpenContext {
    slot: Arc<TabSlot>,
    context: BrowserContextId,
    pub(super) session: String,
    pub(super) target: TargetId,
}

impl Drop for OpenContext {
    fn drop(&mut self) {
        let (slot, context) = (Arc::clone(&self.slot), self.context.clone());
        let connection = slot.browser.connection();
        if !self.session.is_empty() {
            connection.forget_all(&self.session);
        }
        connection.forget_all(context.inner());
        if let Ok(runtime) = tokio::runtime::Handle::try_current() {
            runtime.spawn(async move {
                slot.browser.dispose(context).await;
                drop(slot);
            });
        }
    }
}

impl OpenContext {
    /// Opens a browser context with an empty page behind the proxy at this socket address. It is
    /// disposed of, and the tab released, when the guard or this future is dropped: the browser
    /// creates what it was asked to create, also if no call waits for it.
    pub(super) async fn open(slot: &Arc<TabSlot>, proxy: SocketAddr) -> Result<Self, RenderError> {
        let slot = Arc::clone(slot);
        let opening = tokio::spawn(async move { Self::create(slot, proxy).await });
        opening.await.unwrap_or(Err(RenderError::Crashed))
    }

    async fn create(slot: Arc<TabSlot>, proxy: SocketAddr) -> Result<Self, RenderError> {
        let browser = &slot.browser;
        let context = CreateBrowserContextParams {
            dispose_on_detach: Some(true),
            proxy_server: Some(format!("http://{proxy}")),
            proxy_bypass_list: Some("<-loopback>".to_owned()),
            ..CreateBrowserContextParams::default()
        };
        let context = browser.command(context).await?.browser_context_id;
        let mut open = Self {
            slot: Arc::clone(&slot),
            context: context.clone(),
            session: String::new(),
            target: TargetId::new(""),
        };
        let mut target = CreateTargetParams::new("about:blank");
        target.browser_context_id = Some(context.clone());
        let target = browser.command(target).await?.target_id;
        let mut attach = AttachToTargetParams::new(target.clone());
        attach.flatten = Some(true);
        let mut downloads = SetDownloadBehaviorParams::new(SetDownloadBehaviorBehavior::Deny);
        downloads.browser_context_id = Some(context);
        let (attached, denied) = tokio::join!(browser.command(attach), browser.command(downloads));
        open.session = attached?.session_id.into();
        open.target = target;
        denied?;
        Ok(open)
    }

    /// The browser's name of the context.
    pub(super) fn id(&self) -> BrowserContextId {
        self.context.clone()
    }

    /// The events of the page, and those of its workers. Called once.
    pub(super) fn listen(&self) -> Events {
        let names = [self.session.as_str(), self.context.inner().as_str()];
        self.slot.browser.connection().listen_as(&names)
    }

    /// Sends a command to the page.
    ///
    /// # Errors
    /// [`CallError`].
    pub(super) async fn call<T: Command>(&self, params: T) -> Result<T::Response, CallError> {
        let connection = self.slot.browser.connection();
        connection.call(Some(&self.session), params).await
    }
}
