//! Which parameters of a request have no effect. Decision D37.

use trawl_model::Terms;
use trawl_parameters::{self as parameters, Route, nearest};
use trawl_plan::{
    Effect, Engine, FetchPlan, Format, Ignored, Needs, OutputPlan, Pipeline, RenderPlan,
    RequestFacts, RouteDependent, RouterMode, RouterPlan, is_within,
};

use super::check::SentFields;
use super::verb::Verb;

/// The route of a request, which decides about its parameters.
pub(crate) const fn route(verb: Verb, is_crawl: bool) -> Route {
    match verb {
        Verb::Scrape if is_crawl => Route::Crawl,
        Verb::Scrape => Route::Scrape,
        Verb::Links => Route::Links,
        Verb::Map => Route::Map,
        Verb::Batch => Route::Batch,
        Verb::Search => Route::Search,
        Verb::Screenshot => Route::Screenshot,
        Verb::Unblocker => Route::Unblocker,
        Verb::Pipeline(pipeline) => Route::Pipeline(pipeline),
    }
}

/// What is known of the outputs of a request.
pub(crate) fn outputs(output: &OutputPlan, route: Route, is_crawl: bool) -> RequestFacts {
    let plugins = || {
        let formats = output.formats.iter();
        formats.filter_map(|choice| match &choice.format {
            Format::Plugin(name) => Some(name.as_str()),
            Format::Empty | Format::Screenshot | Format::ScreenshotBytes => None,
        })
    };
    let has_text = plugins().any(|name| name != "bytes");
    let is_analysed = matches!(route, Route::Pipeline(pipeline) if pipeline.analyst().is_some());
    let has_fields = output.links
        || output.metadata
        || output.json_data
        || output.css_fields.is_some()
        || output.hidden_text
        || !output.extractors.is_empty();
    RequestFacts::default()
        .with(Needs::TEXT, has_text)
        .with(Needs::HTML, plugins().any(|name| name == "html"))
        .with(Needs::BODY, plugins().next().is_some())
        .with(Needs::DOCUMENT, has_text || has_fields || is_analysed)
        .with(Needs::LINKS, is_crawl || output.links)
        // Which plugins and pools are missing is known by the names of their parameters.
        .with(Needs::PLUGIN, true)
        .with(Needs::POOL, true)
}

/// What is known about how the pages of a request are served before they are.
pub(crate) struct ServingFacts<'a> {
    /// What fetches them.
    pub engine: Engine,
    /// How they are paid.
    pub terms: Terms,
    /// Whether a language model is configured.
    pub has_model: bool,
    /// How they are fetched.
    pub fetch: &'a FetchPlan,
    /// What a browser does with them.
    pub render: &'a RenderPlan,
    /// Whether a provider may serve them.
    pub router: &'a RouterPlan,
}

impl ServingFacts<'_> {
    /// Adds what is known to what is known of the outputs.
    pub(crate) fn facts(&self, outputs: RequestFacts, route: Route) -> RequestFacts {
        let render = self.render;
        let is_shaped = render.before_load.is_some()
            || !render.scripts.is_empty()
            || !render.automation.is_empty()
            || render.screenshot.is_some();
        let is_impersonal = self.fetch.headers.is_empty() && self.fetch.cookies.is_empty();
        let is_http = self.engine == Engine::Http;
        let needs_model = route == Route::Pipeline(Pipeline::ExtractContacts);
        let mut known = outputs
            .with(Needs::PAID, self.terms == Terms::PayAsYouGo)
            .with(Needs::PICTURE, render.screenshot.is_some())
            .with(Needs::MODEL, self.has_model || !needs_model)
            .with(Needs::STORABLE, is_impersonal && (is_http || !is_shaped))
            .with(Needs::BROWSER, !is_http)
            .with(Needs::PLAIN, self.engine != Engine::Browser);
        let is_own = self.router.mode == RouterMode::Off;
        if is_own {
            known = known.with(Needs::OWN_STACK, true);
        }
        match self.engine {
            Engine::Http => {
                known = known
                    .with(Needs::OWN_BROWSER, false)
                    .with(Needs::JAVASCRIPT, false);
                if is_own {
                    known = known.with(Needs::HTTP_ANSWER, true);
                }
            }
            Engine::Browser => {
                known = known.with(Needs::HTTP_ANSWER, false);
                if is_own {
                    known = known
                        .with(Needs::OWN_BROWSER, true)
                        .with(Needs::JAVASCRIPT, true);
                }
            }
            Engine::Smart => {}
        }
        known
    }
}

/// Adds the parameters of one request object that have no effect, known ones and unknown ones.
/// Returns those for which only the page will show it.
pub(crate) fn collect(
    fields: SentFields,
    route: Route,
    facts: RequestFacts,
    into: &mut Ignored,
) -> RouteDependent {
    let mut idle: Vec<&str> = Vec::new();
    // Parameters among them that would have an effect on the route with another value.
    let mut lacking: Vec<&str> = Vec::new();
    let mut open = Vec::new();
    for present in &fields.present {
        if idle.iter().any(|object| is_within(&present.path, object)) {
            continue;
        }
        let mut inert = fields.without_effect.iter();
        let is_inert = inert.any(|path| *path == present.row.name || *path == present.path);
        if is_inert && present.row.routes.has(route) {
            lacking.push(&present.path);
        }
        let effect = if is_inert || fields.is_overridden(present) || !present.row.routes.has(route)
        {
            Effect::No
        } else {
            facts.effect(present.row.needs)
        };
        match effect {
            Effect::Yes => {}
            Effect::No => {
                idle.push(&present.path);
                into.add(present.path.as_str());
            }
            Effect::Open => open.push((present.path.clone(), present.row.needs)),
        }
    }
    let of_route = || parameters::all().filter(|row| row.routes.has(route));
    for unknown in &fields.unknown {
        // A misspelt event may be why webhooks name none, so it is listed, too.
        let hides = |object: &&str| is_within(&unknown.path, object) && !lacking.contains(object);
        if idle.iter().any(hides) {
            continue;
        }
        into.add_unknown(&unknown.path, || match &unknown.nearest {
            Some(nearest) => Some(nearest.as_str()),
            None if unknown.is_nested() => None,
            None => nearest(&unknown.path, of_route()).map(|row| row.name),
        });
    }
    RouteDependent::new(open)
}
