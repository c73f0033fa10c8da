//! Canonical bytes of an output plan, for the key of its outputs.

use super::OutputPlan;

impl OutputPlan {
    /// The whole plan as bytes: equal for plans that request the same outputs. A new field is
    /// included automatically.
    pub fn canonical(&self) -> Vec<u8> {
        serde_json::to_vec(self).expect("a plan has no map whose keys are not strings")
    }
}

#[cfg(test)]
mod tests {
    use std::collections::BTreeMap;

    use serde_json::{Map, Value, json};

    use super::*;
    use crate::{Allowance, AnalystChoice, Chunking, Format, FormatChoice, LinkRewrite, PageRange};

    fn map(value: Value) -> Map<String, Value> {
        value.as_object().cloned().unwrap_or_default()
    }

    /// A plan with every field set to what no other plan here has.
    fn set() -> OutputPlan {
        let rule = json!({"type": "regex", "pattern": "a", "replace": "b"});
        OutputPlan {
            formats: vec![FormatChoice {
                name: "text".to_owned(),
                format: Format::Plugin("text".to_owned()),
                options: json!({"a": 1}),
            }],
            single_format: false,
            filters: vec![("mine".to_owned(), json!({}))],
            readability: Some(json!({})),
            extractors: BTreeMap::from([("mine".to_owned(), json!({}))]),
            metadata: true,
            rights: true,
            links: true,
            json_data: true,
            css_fields: Some(json!({"map": {}})),
            hidden_text: true,
            link_rewrite: Some(
                LinkRewrite::read(&map(rule), &mut Allowance::default()).expect("a rule"),
            ),
            discover: true,
            anchors: true,
            headers: true,
            cookies: true,
            timing: true,
            pages: vec![PageRange { first: 2, last: 3 }],
            decoder_options: BTreeMap::from([("mine".to_owned(), json!({}))]),
            chunking: Some(Chunking {
                chunker: "words".to_owned(),
                options: json!({"value": 1}),
                overlap: None,
            }),
            max_size: Some(1),
            analyst: Some(AnalystChoice {
                name: "mine".to_owned(),
                options: json!({}),
                model: None,
            }),
        }
    }

    #[test]
    fn every_field_is_part_of_the_canonical_form() {
        let usual = || {
            OutputPlan::of(FormatChoice {
                name: "markdown".to_owned(),
                format: Format::Plugin("markdown".to_owned()),
                options: json!({}),
            })
        };
        let mut forms = vec![usual().canonical(), set().canonical()];
        macro_rules! each_alone {
            ($($field:ident),*) => {{
                // Names every field: one that is added has to be added here.
                let OutputPlan { $($field: _),* } = usual();
                $(forms.push(OutputPlan { $field: set().$field, ..usual() }.canonical());)*
            }};
        }
        each_alone!(
            formats,
            single_format,
            filters,
            readability,
            extractors,
            metadata,
            rights,
            links,
            json_data,
            css_fields,
            hidden_text,
            link_rewrite,
            discover,
            anchors,
            headers,
            cookies,
            timing,
            pages,
            decoder_options,
            chunking,
            max_size,
            analyst
        );
        let n_forms = forms.len();
        forms.sort();
        forms.dedup();
        assert_eq!((forms.len(), n_forms), (24, 24));
        assert_eq!(usual().canonical(), usual().canonical());
    }

    #[test]
    fn numbers_and_texts_that_look_alike_are_different_plans() {
        let with = |options: Value| {
            OutputPlan::of(FormatChoice {
                name: "markdown".to_owned(),
                format: Format::Plugin("markdown".to_owned()),
                options: json!({"n": options}),
            })
            .canonical()
        };
        let alike = [
            json!(1),
            json!(1.0),
            json!("1"),
            json!([1]),
            // The bits of 1.0, and all ones, as -1 has them.
            json!(1.0_f64.to_bits()),
            json!(-1),
            json!(u64::MAX),
            json!(true),
            json!(null),
        ];
        let mut forms: Vec<_> = alike.into_iter().map(with).collect();
        forms.sort();
        forms.dedup();
        assert_eq!(forms.len(), 9);
    }
}
