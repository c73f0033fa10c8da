//! The request objects: which tables each of them has.

use super::define::RequestObject;
use super::row::Parameter;
use super::tables::Pipelines;

/// What a pipeline's request object has in addition to a crawl's.
#[derive(Default)]
pub struct PipelineRequest {
    /// The parameters that only pipelines have.
    pub pipelines: Pipelines,
}

impl RequestObject for PipelineRequest {
    fn row(name: &str) -> Option<&'static Parameter> {
        Pipelines::row(name).filter(|row| row.is_of_pipelines())
    }

    fn set(&mut self, name: &str, json: &str) -> serde_json::Result<bool> {
        self.pipelines.set(name, json)
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::all;

    /// Whether a request object has the parameter, under all of its names. Then its field reads the
    /// example of the row.
    fn has<T: RequestObject>(row: &Parameter) -> bool {
        for name in std::iter::once(&row.name).chain(row.aliases) {
            if T::row(name).map(|known| known.name) != Some(row.name) {
                return false;
            }
            let set = T::default().set(name, row.example);
            assert!(matches!(set, Ok(true)), "{name}: {set:?}");
        }
        true
    }

    #[test]
    fn pipelines_read_what_only_they_have() {
        for row in all() {
            let is_read = has::<PipelineRequest>(row);
            assert_eq!(is_read, row.is_of_pipelines(), "{}", row.name);
        }
    }

    #[test]
    fn a_field_takes_null_and_its_type() {
        let mut request = PipelineRequest::default();
        assert!(matches!(request.set("prompt", "\"a\""), Ok(true)));
        assert_eq!(request.pipelines.prompt.as_deref(), Some("a"));
        assert_eq!(request.pipelines.custom_prompt, None, "a field of its own");
        assert!(matches!(request.set("prompt", "null"), Ok(true)));
        assert_eq!(request.pipelines.prompt, None);
        assert!(request.set("prompt", "3").is_err());
        assert!(matches!(request.set("no_such_field", "3"), Ok(false)));
    }
}
