//! One page to extract, and its outputs with what they took.

use std::sync::Arc;
use std::time::Instant;

use trawl_model::PageFailure;
use trawl_plan::OutputPlan;
use trawl_plugins::Registry;

use super::output_cache::{OutputCache, OutputCacheWrite};
use super::remote::RemotePage;
use super::{CpuTime, Input, Outputs, cpu, run};

/// Longest page whose links are read where other tasks wait: in some 20 microseconds, which is what
/// a thread and its caller take to wake.
pub(super) const LIGHT_BYTES_MAX: usize = 16 * 1024;

/// Largest body that is hashed for the output cache where other tasks wait.
pub(super) const HASHED_BYTES_MAX: usize = 256 * 1024;

/// The outputs of a page, and what they took.
#[derive(Clone, Debug, Default)]
pub struct Extraction {
    /// Its outputs.
    pub outputs: Outputs,
    /// The CPU time they took; if they were cached, the CPU time of the look-up.
    pub cpu: CpuTime,
    /// Stores them in the output cache once the page is paid for.
    pub write: Option<OutputCacheWrite>,
}

/// One page to extract.
pub(super) struct ExtractJob {
    pub(super) registry: Arc<Registry>,
    pub(super) input: Input,
    pub(super) plan: Arc<OutputPlan>,
    pub(super) deadline: Instant,
}

impl Extraction {
    /// No outputs, with the reason.
    pub(crate) fn failed(failure: PageFailure) -> Self {
        Self::of((Outputs::failed(failure), CpuTime::default()))
    }

    pub(super) fn of((outputs, cpu): (Outputs, CpuTime)) -> Self {
        Self {
            outputs,
            cpu,
            write: None,
        }
    }
}

impl ExtractJob {
    /// Whether only the links of a short page are read, by no code but ours.
    pub(super) fn is_light(&self) -> bool {
        let Input {
            body,
            content_type,
            screenshot,
            ..
        } = &self.input;
        body.len() <= LIGHT_BYTES_MAX
            && screenshot.is_none()
            && self.plan.link_rewrite.is_none()
            && is_html(content_type)
            && !self.plan.calls_plugins()
    }

    /// The page for another node, if one may extract it.
    pub(super) fn for_node<'a>(&'a self, owner: &'a str) -> Option<RemotePage<'a>> {
        RemotePage::new(
            &self.registry,
            &self.input,
            &self.plan,
            (owner, self.deadline),
        )
    }

    pub(super) fn run(&self) -> Extraction {
        let outputs = run(&self.registry, &self.input, &self.plan, self.deadline);
        Extraction::of(outputs)
    }

    /// The key of the page's outputs, and the outputs if they are cached. Those cost the look-up.
    pub(super) fn find(
        &self,
        cache: &OutputCache,
        body: &blake3::Hash,
    ) -> (Option<blake3::Hash>, Option<Extraction>) {
        let started = cpu::thread_time();
        let Some(key) = self.key(body) else {
            return (None, None);
        };
        let found = cache.find(&key).map(|outputs| {
            let outputs = Outputs::clone(&outputs);
            let parse = cpu::thread_time().saturating_sub(started);
            let cpu = CpuTime {
                parse,
                ..CpuTime::default()
            };
            Extraction::of((outputs, cpu))
        });
        (Some(key), found)
    }

    /// Makes the outputs, unless only the hash of the body was missing to find them.
    fn find_or_run(&self, cache: &OutputCache, body_hash: Option<blake3::Hash>) -> Extraction {
        let started = cpu::thread_time();
        let key = match body_hash {
            Some(body) => self.key(&body),
            None => match self.find(cache, &blake3::hash(&self.input.body)) {
                (_, Some(found)) => return found,
                (key, None) => key,
            },
        };
        let looked_up = cpu::thread_time().saturating_sub(started);
        let mut made = self.run();
        made.cpu.parse += looked_up;
        made.write = key.and_then(|key| cache.write(key, &made.outputs));
        made
    }

    fn key(&self, body: &blake3::Hash) -> Option<blake3::Hash> {
        OutputCache::key(&self.registry, &self.input, &self.plan, body)
    }
}

/// Whether outputs are found in the output cache, and stored there.
pub(super) enum Caching {
    Off,
    /// With the hash of the body, if it is known.
    On(Arc<OutputCache>, Option<blake3::Hash>),
}

impl Caching {
    pub(super) fn run(&self, job: &ExtractJob) -> Extraction {
        match self {
            Self::Off => job.run(),
            Self::On(cache, body_hash) => job.find_or_run(cache, *body_hash),
        }
    }

    /// Outputs that were made elsewhere, with their write to the cache if the hash of the body is
    /// known.
    pub(super) fn add(&self, job: &ExtractJob, made: Extraction) -> Extraction {
        let Self::On(cache, body_hash) = self else {
            return made;
        };
        let key = body_hash.and_then(|body| job.key(&body));
        let write = key.and_then(|key| cache.write(key, &made.outputs));
        Extraction { write, ..made }
    }
}

/// Whether a header says that a page is HTML, without another value after it.
fn is_html(content_type: &str) -> bool {
    let rest = content_type.strip_prefix("text/html");
    rest.is_some_and(|rest| (rest.is_empty() || rest.starts_with(';')) && !rest.contains(','))
}
