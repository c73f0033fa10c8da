use serde_json::json;

use super::*;

fn object(value: Value) -> Option<Map<String, Value>> {
    value.as_object().cloned()
}

fn steps_of(list: Value) -> Result<Vec<Step>, PlanError> {
    let plan = RenderPlan::new(RenderOptions {
        automation_scripts: object(json!({ "*": list })),
        ..RenderOptions::default()
    })?;
    Ok(plan.automation.find("/").cloned().unwrap_or_default())
}

#[test]
fn steps_have_two_forms_that_mean_the_same() {
    let check = |short: Value, long: Value| {
        let (short, long) = (steps_of(json!([short])), steps_of(json!([long])));
        assert!(short.is_ok(), "{short:?}");
        assert_eq!(short, long);
    };
    check(
        json!({"Click": "#a"}),
        json!({"type": "Click", "selector": "#a"}),
    );
    check(
        json!({"Evaluate": "1"}),
        json!({"type": "Evaluate", "script": "1"}),
    );
    check(json!({"Wait": 5}), json!({"type": "wait", "value": 5}));
    check(
        json!("WaitForNavigation"),
        json!({"type": "WaitForNavigation"}),
    );
    check(
        json!({"WaitForNavigation": true}),
        json!("WaitForNavigation"),
    );
    check(
        json!({"ScrollY": -20}),
        json!({"type": "ScrollY", "value": -20}),
    );
    check(
        json!({"Fill": {"selector": "#a", "value": "b"}}),
        json!({"type": "Fill", "selector": "#a", "value": "b"}),
    );
    check(
        json!({"WaitForDom": "main"}),
        json!({"type": "WaitForDom", "selector": "main"}),
    );
    check(json!("WaitForDom"), json!({"type": "WaitForDom"}));
    check(
        json!({"WaitForDom": {"timeout": 70_000}}),
        json!({"type": "WaitForDom", "timeout": 60_000}),
    );
    check(
        json!({"Type": {"value": "x"}}),
        json!({"type": "Type", "value": "x"}),
    );
    check(
        json!({"Screenshot": {"full_page": true}}),
        json!({"type": "Screenshot", "full_page": true}),
    );
}

#[test]
fn steps_that_wait_have_a_time_of_their_own() {
    let check = |step: Value, expected: Step| {
        assert_eq!(steps_of(json!([step])), Ok(vec![expected]));
    };
    let (selector, timeout) = ("#a".to_owned(), Duration::from_secs(3));
    let waits = Step::WaitFor {
        selector: selector.clone(),
        timeout,
    };
    check(
        json!({"type": "WaitFor", "selector": "#a", "timeout": 3_000}),
        waits.clone(),
    );
    check(
        json!({"WaitFor": {"selector": "#a", "timeout": {"secs": 3, "nanos": 0}}}),
        waits,
    );
    check(
        json!({"WaitForAndClick": {"selector": "#a", "timeout": 3_000}}),
        Step::WaitForAndClick {
            selector: selector.clone(),
            timeout,
        },
    );
    check(
        json!({"WaitForAndClick": "#a"}),
        Step::WaitForAndClick {
            selector,
            timeout: WAIT_DEFAULT,
        },
    );
    check(
        json!({"WaitForNavigation": {"timeout": 3_000}}),
        Step::WaitForNavigation(timeout),
    );
    check(
        json!("WaitForNavigation"),
        Step::WaitForNavigation(WAIT_DEFAULT),
    );
    check(json!({"Wait": {"secs": 3}}), Step::Wait(timeout));
    // It waits for nothing, and later steps have the numbers that they have in the request.
    let nothing = Step::Wait(Duration::ZERO);
    assert_eq!(
        steps_of(json!([{"WaitForNavigation": false}])),
        Ok(vec![nothing])
    );
}

#[test]
fn a_wrong_step_is_named() {
    let check = |list: Value, reason: &str| {
        let error = steps_of(list).expect_err("a wrong step");
        assert_eq!(error.to_string(), format!("automation_scripts.*{reason}"));
    };
    let all = "Evaluate, Click, ClickAll, ClickPoint, Type, Fill, Wait, WaitFor, WaitForWithTimeout, \
        WaitForAndClick, WaitForDom, WaitForNavigation, ScrollX, ScrollY, InfiniteScroll, Screenshot";
    check(
        json!([{"Click": "#a"}, {"Fly": 1}]),
        &format!("[1]: unknown step `Fly`, the steps are {all}"),
    );
    check(
        json!([{"Click": 1}]),
        "[0].Click: `selector` is missing or not a string",
    );
    check(
        json!([{"Wait": 1}, {"type": "fill", "selector": 3, "value": "x"}]),
        "[1]: `selector` is missing or not a string",
    );
    check(json!([7]), "[0]: is neither an object nor a name");
    check(
        json!([[{"Click": "#a"}]]),
        "[0]: is neither an object nor a name",
    );
    check(
        json!([{"Clik": "#a"}]),
        &format!("[0]: unknown step `Clik`, did you mean `Click`? The steps are {all}"),
    );
    check(
        json!([{"Screenshot": {"full_page": 1}}]),
        "[0].Screenshot: `full_page` is not a boolean",
    );
    check(
        json!([{"Screenshot": 5}]),
        "[0].Screenshot: is neither `true` nor an object with `full_page`",
    );
    check(
        json!([{"WaitForDom": 5_000}]),
        "[0].WaitForDom: is neither a selector nor an object with `timeout`",
    );
    check(
        json!([{"WaitForNavigation": 3}]),
        "[0].WaitForNavigation: is neither a boolean nor an object with `timeout`",
    );
    check(
        json!([{"WaitFor": {"selector": "#a", "timeout": "x"}}]),
        "[0].WaitFor: `timeout` is neither a number nor an object with `secs` and `nanos`",
    );
    check(json!("x"), ": is not a list of steps");
    let plan = RenderPlan::new(RenderOptions {
        execution_scripts: object(json!({"/a": 1})),
        ..RenderOptions::default()
    });
    let error = plan.expect_err("a wrong script").to_string();
    assert_eq!(error, "execution_scripts./a: is not a string");
}

#[test]
fn a_path_has_its_own_value_before_its_prefix_and_before_all() {
    let scripts = json!({"*": "all", "/a": "short", "/a/b": "long", "/a/b/c": "exact"});
    let plan = RenderPlan::new(RenderOptions {
        execution_scripts: object(scripts),
        ..RenderOptions::default()
    });
    let plan = plan.expect("a plan");
    let check = |path: &str, expected: &str| {
        assert_eq!(
            plan.scripts.find(path).map(String::as_str),
            Some(expected),
            "{path}"
        );
    };
    check("/", "all");
    check("/a/x", "short");
    check("/a/b/x", "long");
    check("/a/b/c", "exact");
}

#[test]
fn keys_that_fit_no_path_are_found() {
    let scripts = json!({"*": "1", "/a": "1", "/b": "1", "login": "1", "": "1"});
    let plan = RenderPlan::new(RenderOptions {
        execution_scripts: object(scripts),
        ..RenderOptions::default()
    });
    let scripts = plan.expect("a plan").scripts;
    assert_eq!(scripts.unused(&["/a/x", "/c"]), ["/b", "login"]);
    assert_eq!(scripts.unused(&["/b", "/a"]), ["login"]);
    assert_eq!(scripts.unusable(), ["login"]);
}

#[test]
fn another_site_gets_only_what_names_it() {
    let scripts = json!({"*": "all", "/a": "short", "https://login.example/": "any login",
        "https://login.example/form": "the form", "http://": "none"});
    let plan = RenderPlan::new(RenderOptions {
        evaluate_on_new_document: Some("before".to_owned()),
        execution_scripts: object(scripts),
        ..RenderOptions::default()
    });
    let plan = plan.expect("a plan");
    let other = plan.for_other_site();
    let url = |text: &str| Url::parse(text).expect("a URL");
    let requested = url("http://home.example/a/b");
    for (at, found, of_others) in [
        ("http://home.example/a/b", Some("short"), None),
        ("https://www.home.example/elsewhere", Some("short"), None),
        ("http://home.example:8080/a/b", None, None),
        ("https://evil.example/a/b", None, None),
        ("https://login.example.evil.example/form", None, None),
        ("http://login.example/form", None, None),
        (
            "https://login.example/",
            Some("any login"),
            Some("any login"),
        ),
        (
            "https://login.example/form/1",
            Some("the form"),
            Some("the form"),
        ),
    ] {
        let find = |plan: &RenderPlan| plan.scripts.find_at(&requested, &url(at)).cloned();
        assert_eq!(find(&plan).as_deref(), found, "{at}");
        assert_eq!(find(&other).as_deref(), of_others, "{at}");
    }
    assert_eq!(other.before_load, None);
    let origins = plan.before_load_origins(&url("https://home.example/a"));
    let own = ["https://home.example", "https://www.home.example"];
    assert_eq!(origins[..2], own);
    let mut named = origins[2..].iter();
    assert!(named.all(|origin| origin == "https://login.example"));
    assert_eq!(origins.len(), 4);
    assert_eq!(plan.scripts.unusable(), ["http://"]);
    assert_eq!(plan.scripts.unused(&["/"]), ["/a", "http://"]);
}

#[test]
fn waits_combine_and_end() {
    let check = |form: Value, expected: WaitPlan| assert_eq!(wait(form), Ok(expected));
    let seconds = Duration::from_secs;
    check(
        json!(250),
        WaitPlan {
            delay: Some(Duration::from_millis(250)),
            ..WaitPlan::default()
        },
    );
    let form = json!({
        "idle_network": {"timeout": {"secs": 5, "nanos": 0}},
        "almost_idle_network0": {},
        "selector": {"selector": "#a", "timeout": {"secs": 600, "nanos": 0}},
        "dom": {"selector": "#b", "timeout": {"secs": 1}},
        "delay": null,
        "page_navigations": true,
    });
    check(
        form,
        WaitPlan {
            idle: Some(seconds(5)),
            almost_idle: Some(WAIT_DEFAULT),
            selector: Some(("#a".to_owned(), WAIT_MAX)),
            dom: Some((Some("#b".to_owned()), seconds(1))),
            delay: None,
            navigation: true,
        },
    );
    assert_eq!(
        wait(json!({"selector": {}})),
        Err("`selector`: `selector` is missing or not a string".to_owned())
    );
    check(json!({"idle": {}}), WaitPlan::default());
    assert!(wait(json!("soon")).is_err());
}

#[test]
fn a_window_has_bounds() {
    let check = |value: Value| window(object(value).expect("an object"));
    assert_eq!(check(json!({})), Ok(Window::default()));
    let phone = check(
        json!({"width": 390, "height": 844, "emulating_mobile": true, "has_touch": true, "device_scale_factor": 3}),
    );
    let phone = phone.expect("a window");
    assert!((phone.width, phone.height, phone.mobile, phone.touch) == (390, 844, true, true));
    for bad in [
        json!({"width": 0}),
        json!({"height": 100_000}),
        json!({"device_scale_factor": 50}),
        json!({"has_touch": 1}),
    ] {
        assert!(check(bad.clone()).is_err(), "{bad}");
    }
}

#[test]
fn only_some_parameters_need_a_browser() {
    let plan = |fields| RenderPlan::new(fields).expect("a plan").needs_browser();
    assert!(!plan(RenderOptions::default()));
    let load = LoadPlan {
        block_ads: true,
        ..LoadPlan::default()
    };
    assert!(!plan(RenderOptions {
        load,
        ..RenderOptions::default()
    }));
    assert!(plan(RenderOptions {
        scroll: Some(Duration::from_millis(1)),
        ..RenderOptions::default()
    }));
    assert!(plan(RenderOptions {
        wait_for: Some(json!(1)),
        ..RenderOptions::default()
    }));
}
