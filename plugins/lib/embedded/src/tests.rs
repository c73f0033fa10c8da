use serde_json::{Value, json};

use super::{
    Budget, DEPTH_MAX, first_of_type, has_type, items, json_ld, prefix, prefix_with, read, string,
    types,
};
use trawl_sdk::testkit::{self, Random};

#[track_caller]
fn check(text: &str, expected: Value) {
    let Value::Array(expected) = expected else {
        panic!("expectations are lists");
    };
    assert_eq!(read(text), expected, "{text}");
}

#[test]
fn valid_json_is_read_unchanged() {
    check(
        r#" {"a": [1, "x\u00e9", null, true]} "#,
        json!([{"a": [1, "x\u{e9}", null, true]}]),
    );
    check("\"text\"", json!(["text"]));
    check("", json!([]));
    check("no json at all", json!([]));
}

#[test]
fn extra_and_missing_commas_are_tolerated() {
    check(r#"{"a": 1, "b": [1,2,],}"#, json!([{"a": 1, "b": [1, 2]}]));
    check(r#"{"a": 1,, "b": [,1,,2]}"#, json!([{"a": 1, "b": [1, 2]}]));
    check(
        "{\"a\": \"x\"\n\"b\": 2 \"c\": {} }",
        json!([{"a": "x", "b": 2, "c": {}}]),
    );
    check("[{\"a\":1}{\"a\":2}]", json!([[{"a": 1}, {"a": 2}]]));
}

#[test]
fn comments_are_left_out() {
    check(
        "{ // first\n \"a\": /* inline */ \"http://x\",\n \"b\": 2 // last\n}",
        json!([{"a": "http://x", "b": 2}]),
    );
}

#[test]
fn raw_control_characters_may_stand_in_strings() {
    check(
        "{\"a\": \"line\none\ttab\u{1}\"}",
        json!([{"a": "line\none\ttab\u{1}"}]),
    );
}

#[test]
fn object_literals_of_javascript_are_json_too() {
    check(
        "{a: 'it\\'s', $b: undefined, 'c-d': NaN, e: -Infinity, f: \"\\x3cb\\x3e\", 1: .5, g: !0}",
        json!([{"a": "it's", "$b": null, "c-d": null, "e": null, "f": "<b>", "1": 0.5, "g": true}]),
    );
}

#[test]
fn character_references_instead_of_quotes_are_decoded() {
    check(
        "{&quot;a&quot;: &quot;Tom &amp;amp; Jerry&quot;, &quot;b&quot;: [1,]}",
        json!([{"a": "Tom &amp; Jerry", "b": [1]}]),
    );
    check("[{&#34;a&#34;:1}]", json!([[{"a": 1}]]));
    check(
        r#"{"a": "&quot;b&quot;",}"#,
        json!([{"a": "&quot;b&quot;"}]),
    );
}

#[test]
fn wrappers_are_removed() {
    for text in [
        "<!-- {\"a\": 1} -->",
        "<![CDATA[{\"a\": 1}]]>",
        "//<![CDATA[\n{\"a\": 1}\n//]]>",
        "// <![CDATA[ {\"a\": 1} // ]]>",
        "/*<![CDATA[*/{\"a\": 1}/*]]>*/",
        "\u{feff}{\"a\": 1};",
        "var data = {\"a\": 1};",
        "{\"a\": 1}}",
    ] {
        check(text, json!([{"a": 1}]));
    }
}

#[test]
fn several_values_of_a_script_are_all_read() {
    check("{\"a\":1}\n{\"b\":2}", json!([{"a": 1}, {"b": 2}]));
    check("{\"a\":1},[{\"b\":2}];", json!([{"a": 1}, [{"b": 2}]]));
}

#[test]
fn truncated_values_are_completed() {
    check(
        r#"{"a": {"b": [1, {"c": "text"#,
        json!([{"a": {"b": [1, {"c": "text"}]}}]),
    );
    check(r#"{"a": 1, "b"#, json!([{"a": 1}]));
    check(r#"{"a": 1, "b":"#, json!([{"a": 1}]));
    check(r#"{"a": [1, 2}, "b": 3"#, json!([{"a": [1, 2]}, ]));
    check(
        r#"{"a": [{"b": 1], "c": 2}"#,
        json!([{"a": [{"b": 1}], "c": 2}]),
    );
}

#[test]
fn unquoted_values_stay_whole() {
    check(
        r#"{"a": "a 5" screen", "b": 1}"#,
        json!([{"a": "a 5\" screen", "b": 1}]),
    );
    check(
        r#"{"a": 2024-05-17, "b": some words, "c": 1}"#,
        json!([{"a": "2024-05-17", "b": "some words", "c": 1}]),
    );
}

#[test]
fn depth_is_bounded_in_both_readers() {
    let nested = |n: usize| "[".repeat(n) + "1" + &"]".repeat(n);
    let depth = |mut value: &Value| {
        let mut depth = 0;
        while let Value::Array(values) = value {
            depth += 1;
            match values.first() {
                Some(inner) => value = inner,
                None => break,
            }
        }
        depth
    };
    assert_eq!(depth(&read(&nested(DEPTH_MAX + 10))[0]), DEPTH_MAX);
    assert_eq!(depth(&read(&nested(100_000))[0]), DEPTH_MAX);
    assert_eq!(depth(&read(&("[".repeat(100_000)))[0]), DEPTH_MAX);
}

#[test]
fn a_value_that_does_not_fit_the_budget_is_dropped() {
    let text = format!("[{}1]", "1,".repeat(100_000));
    assert_eq!(
        super::read_within(&text, &mut Budget::of(1 << 20)),
        [] as [Value; 0]
    );
    assert_eq!(super::read_within(&text, &mut Budget::default()).len(), 1);
    let broken = text.replace("]", ",]");
    assert_eq!(
        super::read_within(&broken, &mut Budget::of(1 << 20)),
        [] as [Value; 0]
    );
}

#[test]
fn the_value_at_the_start_of_code_is_read_with_its_end() {
    let text = " {a: [1, 'x'], b: function () { return {c: '}'} }, d: e.f(g, h), i: /[}]/, j: 1 + 2, k: \"a\" + 'b'} ; more({})";
    let found = prefix(text, &mut Budget::default()).unwrap();
    let expected = json!({"a": [1, "x"], "b": null, "d": null, "i": null, "j": null, "k": "ab"});
    assert_eq!(found.value, expected);
    assert_eq!(&text[found.end..], " ; more({})");
    assert_eq!((found.n_values, found.n_opaque), (9, 4));
}

#[test]
fn methods_computed_keys_and_spreads_are_skipped() {
    let text = "{a() { return 1 }, async b() {}, get c() { return {} }, [d]: 1, ...e, f, g: (x) => ({y: 1}), h: new Date(\"2024-05-17\"), i: void 0, j: `t`}";
    let found = prefix(text, &mut Budget::default()).unwrap();
    assert_eq!(
        found.value,
        json!({"g": null, "h": "2024-05-17", "i": null, "j": "t"})
    );
    assert_eq!(found.end, text.len());
}

#[test]
fn strings_and_numbers_are_values_at_the_start_of_code() {
    let read = |text| prefix(text, &mut Budget::default()).map(|found| (found.value, found.end));
    assert_eq!(read("'a\\u0022' rest"), Some((json!("a\""), 9)));
    assert_eq!(read("12;"), Some((json!(12), 2)));
    assert_eq!(read("  "), None);
}

#[test]
fn identifiers_have_the_given_values() {
    let names = [("a", json!(null)), ("b", json!("x")), ("c", json!([]))];
    let found = prefix_with("{v: b, w: [a, b, c, d]}", &names, &mut Budget::default()).unwrap();
    assert_eq!(found.value, json!({"v": "x", "w": [null, "x", [], null]}));
    let long = [("a", json!("x".repeat(1000)))];
    let many = format!("[{}]", "a,".repeat(100_000));
    assert_eq!(prefix_with(&many, &long, &mut Budget::default()), None);
}

#[test]
fn json_ld_is_found_by_its_type_in_any_spelling() {
    let page = testkit::page(
        "<script type='application/ld+json'>{\"@type\": \"A\"}</script><body>
         <script type=' Application/LD+JSON; charset=utf-8'>[{\"@type\": \"B\",}]</script>
         <script>{\"@type\": \"C\"}</script><template><script type='application/ld+json'>{\"d\":1}</script></template>
         <script type='application/ld+json'></script>",
    );
    assert_eq!(
        json_ld(&page.document()),
        [json!({"@type": "A"}), json!({"@type": "B"})]
    );
}

#[track_caller]
fn check_code(text: &str, expected: Value) {
    let found = prefix(text, &mut Budget::default()).map(|found| found.value);
    assert_eq!(found, Some(expected), "{text}");
}

#[test]
fn what_code_computes_is_null() {
    for (text, expected) in [
        ("{a:'x'+y, b:1}", json!({"a": null, "b": 1})),
        ("{a:y+'x', b:1}", json!({"a": null, "b": 1})),
        ("{a:'x'+'y'+z, b:1}", json!({"a": null, "b": 1})),
        ("{a:`x${y}`, b:1}", json!({"a": null, "b": 1})),
        (
            "{a:`x${`}${b}`}`, b:`\\${x}`}",
            json!({"a": null, "b": "${x}"}),
        ),
        ("{a:[1,2].length, b:1}", json!({"a": null, "b": 1})),
        ("{a:{c:1}.c, b:1}", json!({"a": null, "b": 1})),
        ("{a:[1,2,3].map(f), b:1}", json!({"a": null, "b": 1})),
        ("{a:1 + 2, b:1 / 2}", json!({"a": null, "b": null})),
        (
            "{a:'x' ? 1 : 2, b:true && c}",
            json!({"a": null, "b": null}),
        ),
        (
            "{a:new Date('2024').getTime(), b:1}",
            json!({"a": null, "b": 1}),
        ),
        ("{b:1}.b", json!(null)),
        ("[1,2]\n.map(f)", json!(null)),
        ("'x' + y", json!(null)),
        ("{a: 1} && b", json!(null)),
    ] {
        check_code(text, expected);
    }
}

#[test]
fn a_value_stays_where_its_expression_ends() {
    for (text, expected) in [
        (
            "{a:'x' || y, b:{c:1} ?? d, e:'' || f}",
            json!({"a": "x", "b": {"c": 1}, "e": null}),
        ),
        ("{a:'x' /* b */, // c\n b:1\n}", json!({"a": "x", "b": 1})),
        ("{a:1} || {}", json!({"a": 1})),
        ("{a:1}\n(function () {})()", json!({"a": 1})),
        ("{a:1}\n++b", json!({"a": 1})),
        ("[1];b", json!([1])),
        ("[1])", json!([1])),
        ("[1]</script>", json!([1])),
    ] {
        check_code(text, expected);
    }
}

#[test]
fn holes_of_an_array_are_null() {
    check_code("{a:[,1,,2]}", json!({"a": [null, 1, null, 2]}));
    check_code("[1,2,]", json!([1, 2]));
    check_code("[[,],{},[ ,, ]]", json!([[null], {}, [null, null]]));
}

#[track_caller]
fn check_json_ld(text: &str, expected: Value) {
    let found = super::read_json_ld(text, &mut Budget::default());
    assert_eq!(Value::Array(found), expected, "{text}");
}

#[test]
fn items_of_json_ld_are_one_flat_list() {
    let expected = json!([{"@type": "A"}, {"@type": "B"}]);
    check_json_ld(r#"[{"@type": "A"}, {"@type": "B"}]"#, expected.clone());
    check_json_ld(r#"{"@type": "A"} {"@type": "B"}"#, expected.clone());
    check_json_ld(r#"{"@type": "A"}, [[{"@type": "B"}], 1,]"#, expected);
    check_json_ld(
        r#"{"@graph": [{"@type": "A"}]}"#,
        json!([{"@graph": [{"@type": "A"}]}]),
    );
    check_json_ld(r#""text""#, json!([]));
}

#[test]
fn an_item_of_json_ld_that_is_cut_off_is_dropped() {
    for cut in [
        r#"{"@type": "A", "name": "Nam"#,
        r#"{"@type": "A", "na"#,
        r#"{"@type": "A", "name":"#,
        r#"{"@type": "A","#,
        r#"{"@type": "A", "price": 19"#,
        r#"{"@type": "A", "offers": {"price": 19"#,
    ] {
        check_json_ld(cut, json!([]));
        check_json_ld(
            &format!("[{{\"@type\": \"B\"}}, {cut}"),
            json!([{"@type": "B"}]),
        );
        check_json_ld(
            &format!("{{\"@type\": \"B\"}} {cut}"),
            json!([{"@type": "B"}]),
        );
    }
    // Brackets alone are a slip.
    let item = json!([{"@type": "A", "offers": {"price": "19"}}]);
    check_json_ld(r#"{"@type": "A", "offers": {"price": "19"}"#, item.clone());
    check_json_ld(r#"[{"@type": "A", "offers": {"price": "19""#, item);
}

#[test]
fn items_are_found_in_graphs_lists_and_each_other() {
    let values = [
        json!({"@graph": [{"@type": "WebPage", "mainEntity": {"@type": ["Thing", "https://schema.org/Product"]}}]}),
        json!([[{"@type": "schema:Offer"}]]),
    ];
    let found: Vec<String> = items(&values)
        .map(|item| types(item).collect::<Vec<_>>().join("+"))
        .collect();
    assert_eq!(found, ["", "WebPage", "Thing+Product", "Offer"]);
    assert!(first_of_type(&values, &["product"]).is_some_and(|item| has_type(item, &["Thing"])));
}

#[test]
fn the_text_of_a_property_is_found_in_its_forms() {
    for value in [
        json!(" x "),
        json!(["", "x"]),
        json!({"@value": "x", "@language": "en"}),
        json!([[{"@value": "x"}]]),
    ] {
        assert_eq!(string(&value), Some("x"), "{value}");
    }
    assert_eq!(string(&json!({"name": "x"})), None);
}

#[test]
fn any_text_is_read_to_its_end() {
    const BYTES: usize = 4 << 20;
    let pieces = "{¦[¦[{¦}¦\"¦'¦`¦\\¦{\"a\":¦{\"a\",¦/[¦/¦//¦/*¦a¦a:¦<!--¦ ¦\" ¦\", ¦{'¦&quot;¦{&quot;¦-¦\
        1¦new ¦(¦{(¦\u{e9}¦\\u¦{a(¦[1 + ¦{\"a\":\"b\" ";
    for piece in pieces.split('¦') {
        for head in ["", "{", "[", "{a:", "[\""] {
            let text = head.to_owned() + &piece.repeat(BYTES / piece.len() / 8);
            read(&text);
            prefix(&text, &mut Budget::default());
        }
    }
}

#[test]
fn arbitrary_bytes_do_not_panic() {
    let pieces = "{¦}¦[¦]¦\"¦'¦`¦:¦,¦\\¦/¦*¦//¦/*¦*/¦<!--¦-->¦]]>¦<![CDATA[¦&quot;¦a¦new Date(¦(¦)¦1¦-¦+¦\
        .¦e¦!0¦void¦\u{e9}¦\u{feff}¦\n¦ ¦\\u{¦\\ud83d¦\\x¦null¦function(){";
    let pieces: Vec<&str> = pieces.split('¦').collect();
    let mut random = Random::new(1);
    for _ in 0..50_000 {
        let n_pieces = random.below(24);
        let text = random.text(&pieces, n_pieces);
        read(&text);
        if let Some(found) = prefix(&text, &mut Budget::default()) {
            assert!(text.is_char_boundary(found.end), "{text}");
        }
    }
}
