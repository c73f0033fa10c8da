//! Values of wrong types and out of range are refused, with their path.

use super::*;

#[test]
fn ranges_are_those_of_the_tables() {
    fn range(shape: &Shape) -> Option<parameters::Range> {
        match shape {
            Shape::Count(range) => Some(*range),
            Shape::Either(shapes) => shapes.iter().find_map(range),
            _ => None,
        }
    }
    let mut n_bounded = 0;
    for row in parameters::all() {
        let Some(range) = range(&row.shape).filter(|range| range.most < u64::MAX) else {
            continue;
        };
        let route = ROUTES.into_iter().find(|route| row.routes.has(*route));
        let route = route.expect("a route");
        let check = |value: u64, is_fine: bool| {
            let body = with(base(route, row), row.name, value.into());
            let planned = on(route, Terms::PayAsYouGo, &body);
            assert_eq!(planned.is_ok(), is_fine, "{body}: {:?}", planned.err());
        };
        check(range.most, true);
        check(range.most + 1, !range.is_refused);
        check(range.least, true);
        if let Some(below) = range.least.checked_sub(1) {
            check(below, !range.is_refused);
        }
        n_bounded += 1;
    }
    assert_eq!(n_bounded, 9);
}

#[test]
fn times_are_numbers_or_objects() {
    let same = |route: Route, name: &str, forms: &[Value]| {
        let plan = |form: &Value| {
            let body = json!({"url": "a.com", name: form});
            on(route, Terms::PayAsYouGo, &body).unwrap_or_else(|error| panic!("{body}: {error}"))
        };
        let first = plan(&forms[0]);
        assert!(first.names().is_empty(), "{name}: {:?}", first.names());
        let unset = on(route, Terms::PayAsYouGo, &json!({"url": "a.com"})).expect("a request");
        assert_ne!(first.plan, unset.plan, "{name}");
        for form in forms {
            assert_eq!(plan(form).plan, first.plan, "{name}: {form}");
        }
    };
    let of_two_seconds = |number: u64| {
        let exact = json!({"secs": 2, "nanos": 0});
        let wrapped = json!({ "timeout": exact });
        [
            json!(number),
            exact,
            json!({"secs": 2}),
            wrapped,
            json!({ "timeout": number }),
        ]
    };
    let millis = of_two_seconds(2_000);
    let seconds = of_two_seconds(2);
    same(Route::Crawl, "crawl_timeout", &seconds);
    same(Route::Crawl, "delay", &millis);
    same(Route::Scrape, "scroll", &millis);
    same(Route::Scrape, "wait_for", &millis);
    same(Route::Scrape, "request_timeout", &millis);
    for condition in [
        "delay",
        "idle_network",
        "idle_network0",
        "almost_idle_network0",
    ] {
        let form = |time: &Value| json!({ (condition): time });
        same(Route::Scrape, "wait_for", &millis.each_ref().map(form));
    }
    let of_selector = |time: &Value| json!({"selector": {"selector": "a", "timeout": time}});
    same(
        Route::Scrape,
        "wait_for",
        &[of_selector(&millis[0]), of_selector(&millis[1])],
    );
    let cache = |time: &Value| json!({ "max_age": time });
    same(Route::Scrape, "cache", &millis.each_ref().map(cache));
    let step = |time: &Value| json!({"*": [{"WaitFor": {"selector": "a", "timeout": time}}]});
    same(
        Route::Scrape,
        "automation_scripts",
        &millis.each_ref().map(step),
    );
    // Zero is not a bound, and an object without a time is not set.
    for form in [
        json!(0),
        json!({}),
        json!({"timeout": {}}),
        json!({"secs": 0}),
    ] {
        let body = json!({"url": "a.com", "crawl_timeout": form});
        let planned = on(Route::Crawl, Terms::PayAsYouGo, &body).expect("a request");
        assert!(planned.plan.contains("timeout: None"), "{body}");
    }
    let long = json!({"url": "a.com", "delay": {"secs": 61}});
    let refusal = on(Route::Crawl, Terms::PayAsYouGo, &long).err();
    assert_eq!(
        refusal.as_deref(),
        Some("delay: must be 0 to 60000 milliseconds")
    );
}

/// Sees a place in a request: its path, its shape, and how a value there becomes a request.
type Visit<'a> = &'a mut dyn FnMut(&str, &Shape, &dyn Fn(Value) -> Value);

/// Calls `visit` with every place in a request.
fn each_place(visit: Visit<'_>) {
    fn keys(object: &'static Object, path: &str, wrap: &dyn Fn(Value) -> Value, visit: Visit<'_>) {
        for row in object.rows {
            let wrap = |value: Value| {
                wrap(Value::Object(Map::from_iter([(
                    row.name.to_owned(),
                    value,
                )])))
            };
            place(&row.shape, &format!("{path}.{}", row.name), &wrap, visit);
        }
    }
    fn place(shape: &'static Shape, path: &str, wrap: &dyn Fn(Value) -> Value, visit: Visit<'_>) {
        visit(path, shape, wrap);
        match shape {
            Shape::Object(object) => keys(object, path, wrap, visit),
            Shape::List(item) => {
                let wrap = |value: Value| wrap(json!([null, value]));
                place(item, &format!("{path}[1]"), &wrap, visit);
            }
            Shape::Map(_, of) => {
                let wrap = |value: Value| wrap(json!({ "/a": value }));
                place(of, &format!("{path}./a"), &wrap, visit);
            }
            Shape::Either(shapes) => {
                for shape in shapes.iter() {
                    if !matches!(shape, Shape::Object(_) | Shape::List(_)) {
                        continue;
                    }
                    // The whole was visited.
                    match shape {
                        Shape::Object(object) => keys(object, path, wrap, visit),
                        other => place(other, path, wrap, &mut |at, shape, wrap| {
                            if at != path {
                                visit(at, shape, wrap);
                            }
                        }),
                    }
                }
            }
            _ => {}
        }
    }
    for row in parameters::all() {
        let wrap = |value: Value| json!({ (row.name): value });
        place(&row.shape, row.name, &wrap, visit);
    }
}

#[test]
fn a_wrong_type_is_refused_with_its_path_at_every_level() {
    let values = [
        json!(true),
        json!(1.5),
        json!(-1),
        json!("x"),
        json!([[]]),
        json!({"a": [[]]}),
    ];
    let may_be = |shape: &Shape, value: &Value| -> bool {
        fn fits(shape: &Shape, value: &Value) -> bool {
            match shape {
                Shape::Switch => value.is_boolean(),
                Shape::Count(_) => value.is_u64(),
                Shape::Number(_) => value.is_number(),
                Shape::Text(_) | Shape::Name(_) => value.is_string(),
                Shape::Scalar => !value.is_array() && !value.is_object(),
                // What is in it has a path of its own.
                Shape::List(_) | Shape::Bytes => value.is_array(),
                Shape::Object(_) | Shape::Map(..) | Shape::Options(_) => value.is_object(),
                Shape::Either(shapes) => shapes.iter().any(|shape| fits(shape, value)),
                Shape::Steps | Shape::Any(..) => true,
            }
        }
        fits(shape, value)
    };
    let mut n_refused = 0;
    each_place(&mut |path, shape, wrap| {
        for value in &values {
            if may_be(shape, value) {
                continue;
            }
            let mut body = wrap(value.clone());
            let row = path.split(['.', '[']).next().and_then(parameters::find);
            let row = row.expect("a row");
            let route = ROUTES.into_iter().find(|route| row.routes.has(*route));
            let route = route.expect("a route");
            if route != Route::Transform && body.get("url").is_none() {
                body["url"] = json!("a.com");
            }
            let refusal = on(route, Terms::PayAsYouGo, &body).err();
            let refusal = refusal.unwrap_or_else(|| panic!("{body} was accepted"));
            let expected = format!("Deserialization error: {path}: ");
            assert!(refusal.starts_with(&expected), "{body}: {refusal}");
            n_refused += 1;
        }
    });
    assert!(n_refused > 500, "{n_refused}");
}
