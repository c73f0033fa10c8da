//! The steps of a page that is timed.

use super::*;

/// The steps that a page has noted; `None` if it was not timed.
fn steps(produced: &Produced) -> Option<Vec<String>> {
    let metadata = produced.outcome.fields.metadata.as_ref()?;
    let steps = metadata.get("timing")?.as_array()?.iter();
    let names = steps.filter_map(|step| step["step"].as_str());
    Some(names.map(str::to_owned).collect())
}

#[tokio::test]
async fn a_timed_page_notes_its_steps_and_another_one_none() {
    let answers = vec![
        loopback::page(200, "", "text"),
        loopback::page(200, "", "text"),
    ];
    let site = LoopbackSite::start(&[("/", answers)]).await;
    let (run, plain) = (run_context(), page_plan(site.url("/").as_str()));
    let timed = PagePlan {
        output: Arc::new(OutputPlan {
            timing: true,
            ..(*plain.output).clone()
        }),
        ..plain.clone()
    };
    let admission = Arc::new(run.admission(&timed));
    let produced = produce_unbilled(&run, &timed, &admission).await;
    assert_eq!(produced.outcome.error, None);
    let noted = steps(&produced).expect("a timed page");
    for expected in ["host_wait", "first_byte", "connect", "body", "parse"] {
        let is_noted = noted.iter().any(|step| step == expected);
        assert!(is_noted, "{expected} in {noted:?}");
    }
    let produced = produce_unbilled(&run, &plain, &admission).await;
    assert_eq!(steps(&produced), None);
}
