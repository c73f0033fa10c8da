//! Each data source on its own page.

use extractor_json_data::JsonData;
use serde_json::{Value, json};
use trawl_sdk::testkit;

fn json_data(html: &str) -> Value {
    let page = testkit::page(html).url("https://example.com/a/");
    page.extract::<JsonData>(json!({}))
        .expect("json_data never fails")
}

#[track_caller]
fn check(html: &str, expected: Value) {
    assert_eq!(json_data(html), expected, "{html}");
}

#[test]
fn a_page_without_data_gives_an_empty_object() {
    check("", json!({}));
    check(
        "<title>t</title><p>x<script src=a.js></script><script>f({a: 1})</script>",
        json!({}),
    );
    check(
        "<script type=text/template><b>{{a}}</b></script><script type=importmap>{\"imports\":{}}</script>",
        json!({}),
    );
}

#[test]
fn json_ld_is_a_list_of_values_as_they_stand() {
    check(
        r#"<script type="application/ld+json">{"@graph": [{"@type": "A"}]}</script>
           <script type="application/ld+json">{"@type": "B",} {"@type": "C"}</script>"#,
        json!({"json_ld": [{"@graph": [{"@type": "A"}]}, {"@type": "B"}, {"@type": "C"}]}),
    );
}

#[test]
fn only_valid_json_in_a_string_is_data() {
    check(
        r#"<script>var A='[SMART FILE URL]'; var B="{'a':1}"; var C='{"a":1}'; D = JSON.parse("{'a':1}")</script>"#,
        json!({"window_state": {"C": {"a": 1}}}),
    );
}

#[test]
fn values_that_code_computes_are_null() {
    check(
        "<script>window.A={a:'x'+y, b:1, c:[,2]}; window.B={b:1}.b; window.C={c:1}</script>",
        json!({"window_state": {"A": {"a": null, "b": 1, "c": [null, 2]}, "C": {"c": 1}}}),
    );
}

#[test]
fn microdata_items_have_types_and_lists_of_values() {
    check(
        r#"<div itemscope itemtype="https://schema.org/Movie https://schema.org/X" itemid="/m/1">
             <h1 itemprop="name headline"> A <b>film</b> </h1>
             <div itemprop=director itemscope itemtype=https://schema.org/Person><span itemprop=name>D</span></div>
             <a itemprop=url href=x>l</a><img itemprop=image src=/i.png><time itemprop=date datetime=2024-05-17>May</time>
             <meta itemprop=n content=5><data itemprop=n value=6>six</data><span itemprop=n content=7>seven</span>
           </div>"#,
        json!({"microdata": [{
            "type": ["https://schema.org/Movie", "https://schema.org/X"], "id": "https://example.com/m/1",
            "properties": {
                "name": ["A film"], "headline": ["A film"],
                "director": [{"type": ["https://schema.org/Person"], "properties": {"name": ["D"]}}],
                "url": ["https://example.com/a/x"], "image": ["https://example.com/i.png"], "date": ["2024-05-17"], "n": ["5", "6", "7"],
            },
        }]}),
    );
}

#[test]
fn microdata_items_may_refer_to_elements_elsewhere() {
    check(
        "<div itemscope itemref='a b none'></div><p id=a>Name: <span itemprop=name>N</span></p><p id=b itemprop=note>x</p>",
        json!({"microdata": [{"type": [], "properties": {"name": ["N"], "note": ["x"]}}]}),
    );
    // An item that refers to itself, directly or through another item.
    check(
        "<div itemscope id=a itemref=a><i itemprop=x>1</i></div>",
        json!({"microdata": [{"type": [], "properties": {"x": ["1"]}}]}),
    );
    check(
        "<div itemscope itemref=b></div><div id=b itemprop=p itemscope itemref=b><i itemprop=x>1</i></div>",
        json!({"microdata": [{"type": [], "properties": {"p": [{"type": [], "properties": {"x": ["1"]}}]}}]}),
    );
}

#[test]
fn names_of_microdata_are_a_set_and_each_gets_the_value() {
    check(
        "<div itemscope><b itemprop='author creator author' itemscope itemtype='A A'><i itemprop='name name'>N</i></b></div>",
        json!({"microdata": [{"type": [], "properties": {
            "author": [{"type": ["A"], "properties": {"name": ["N"]}}],
            "creator": [{"type": ["A"], "properties": {"name": ["N"]}}],
        }}]}),
    );
}

#[test]
fn properties_of_microdata_are_in_page_order_each_once() {
    check(
        "<p id=b itemprop=x>1<i id=c itemprop=x>2</i></p><div itemscope itemref='c d b b'><i itemprop=x>3</i><u id=d itemprop=x>4</u></div>",
        json!({"microdata": [{"type": [], "properties": {"x": ["12", "2", "3", "4"]}}]}),
    );
    // What lies in another item of the element is reached by its id alone.
    check(
        "<div itemscope itemref=a><p itemprop=p itemscope><i id=a itemprop=x>1</i></p></div>",
        json!({"microdata": [{"type": [], "properties": {
            "p": [{"type": [], "properties": {"x": ["1"]}}], "x": ["1"],
        }}]}),
    );
    check(
        "<template><i id=r itemprop=x>1</i></template><div itemscope itemref=r></div>",
        json!({"microdata": [{"type": [], "properties": {}}]}),
    );
}

#[test]
fn values_of_items_are_what_a_reader_sees() {
    check(
        "<div itemscope><p itemprop=p>$<!-- -->19<b>.99</b><div>now</div>on&nbsp;sale<svg><title>x</title></svg></p></div>
         <div vocab=http://schema.org/ typeof=A><table property=t><tr><td>a<td>b</table></div>",
        json!({
            "microdata": [{"type": [], "properties": {"p": ["$19.99"]}}],
            "rdfa": [{"type": ["http://schema.org/A"], "properties": {"t": ["a b"]}}],
        }),
    );
    check(
        "<div itemscope><div itemprop=p><div>a</div>b<br>c&nbsp;d</div></div>",
        json!({"microdata": [{"type": [], "properties": {"p": ["a b c\u{a0}d"]}}]}),
    );
}

#[test]
fn the_subject_of_rdfa_is_set_by_resource_and_about() {
    let vocab = "vocab='http://schema.org/'";
    check(
        &format!("<div {vocab} resource='/x'><b property=name>N</b></div>"),
        json!({"rdfa": [{"type": [], "id": "https://example.com/x", "properties": {"name": ["N"]}}]}),
    );
    check(
        &format!(
            "<div {vocab} typeof=A resource='/x'><p resource='/y'><b property=name>Y</b></p><p resource='/x'><b property=name>X</b></p><b property=name about='/z'>Z</b></div>"
        ),
        json!({"rdfa": [
            {"type": ["http://schema.org/A"], "id": "https://example.com/x", "properties": {"name": ["X"]}},
            {"type": [], "id": "https://example.com/y", "properties": {"name": ["Y"]}},
            {"type": [], "id": "https://example.com/z", "properties": {"name": ["Z"]}},
        ]}),
    );
    // Beside a property it is the value; what is inside still belongs to the outer item.
    check(
        &format!(
            "<div {vocab} typeof=Event><div property=location resource='/v'><b property=name>N</b></div></div>"
        ),
        json!({"rdfa": [{"type": ["http://schema.org/Event"], "properties": {"location": ["https://example.com/v"], "name": ["N"]}}]}),
    );
    check(
        &format!("<div {vocab} typeof=A><meta property=name resource='/v' content=V></div>"),
        json!({"rdfa": [
            {"type": ["http://schema.org/A"], "properties": {}},
            {"type": [], "id": "https://example.com/v", "properties": {"name": ["V"]}},
        ]}),
    );
    check(&format!("<div {vocab} resource='/x'>x</div>"), json!({}));
}

#[test]
fn rdfa_items_are_in_page_order_and_prefixes_ignore_case() {
    check(
        "<div prefix='S: http://schema.org/' typeof=s:A><p typeof=S:B></p></div>",
        json!({"rdfa": [
            {"type": ["http://schema.org/A"], "properties": {}},
            {"type": ["http://schema.org/B"], "properties": {}},
        ]}),
    );
}

#[test]
fn structured_properties_belong_to_their_image() {
    check(
        "<meta property=og:image content=/1><meta property=og:image:width content=200><meta property=og:image:alt content=a>
         <meta property=og:image content=/2><meta property=og:image:width content=200>
         <meta property=og:image content=/3><meta property=og:video content=/v><meta property=og:video:type content=t>
         <template><meta property=og:image content=/4></template>",
        json!({"open_graph": {
            "og:image": ["/1", "/2", "/3"], "og:image:width": ["200", "200", null], "og:image:alt": ["a", null, null],
            "og:video": "/v", "og:video:type": "t",
        }}),
    );
    check(
        "<meta property=og:image:secure_url content=/1><meta property=og:images content=/2>",
        json!({"open_graph": {"og:image:secure_url": "/1", "og:images": "/2"}}),
    );
}

#[test]
fn rdfa_items_have_types_and_lists_of_values() {
    check(
        r#"<div vocab="https://schema.org/" typeof="Movie" resource="/m"><h1 property="name">A <i>film</i></h1>
             <div property="director" typeof="Person"><b property="name">D</b></div><a property=url href=x>l</a>
             <meta property="datePublished" content="2024"></div>"#,
        json!({"rdfa": [{
            "type": ["https://schema.org/Movie"], "id": "https://example.com/m",
            "properties": {
                "name": ["A film"], "url": ["https://example.com/a/x"], "datePublished": ["2024"],
                "director": [{"type": ["https://schema.org/Person"], "properties": {"name": ["D"]}}],
            },
        }]}),
    );
}

#[test]
fn rdfa_prefixes_are_expanded_where_they_are_declared() {
    check(
        r#"<article prefix="s: http://schema.org/ x: http://x.example/#" typeof="s:Article x:Y z:Z"><b property="s:name">N</b><b property="x:y">Y</b></article>
           <p typeof="schema:Thing" about="/t"><meta property="og:title" content="t"></p>"#,
        json!({
            "rdfa": [
                {"type": ["http://schema.org/Article", "http://x.example/#Y", "z:Z"], "properties": {"name": ["N"], "x:y": ["Y"]}},
                {"type": ["http://schema.org/Thing"], "id": "https://example.com/t", "properties": {"og:title": ["t"]}},
            ],
            "open_graph": {"og:title": "t"},
        }),
    );
}

#[test]
fn preview_metadata_is_grouped_by_property() {
    check(
        "<meta property=og:title content=' T '><meta name=OG:image content=/1.png><meta property=og:image content=/2.png>
         <meta property=og:image content=/2.png><meta property='article:tag' content=a><meta name=twitter:card content=summary>
         <meta property=twitter:site content=@s><meta property=og:empty content=''><meta name=description content=d>",
        json!({
            "open_graph": {"og:title": "T", "og:image": ["/1.png", "/2.png"], "article:tag": "a"},
            "twitter": {"twitter:card": "summary", "twitter:site": "@s"},
        }),
    );
}

#[test]
fn the_state_of_next_is_read_in_both_forms() {
    check(
        r#"<script id="__NEXT_DATA__" type="application/json">{"props":{"a":1}}</script>"#,
        json!({"next_data": {"props": {"a": 1}}}),
    );
    check(
        r#"<script>(self.__next_f=self.__next_f||[]).push([0])</script><script>self.__next_f.push([1,"0:{\"a\":\"$L1\"}\n1:I[5,[]]\n2:[1"])</script>
           <script>self.__next_f.push([1,",2]\n3:T4,a\nbc4:\"s\"\n"])</script>"#,
        json!({"next_flight": {"0": {"a": "$L1"}, "2": [1, 2], "3": "a\nbc", "4": "s"}}),
    );
}

#[test]
fn the_state_of_nuxt_is_read_in_all_three_forms() {
    check(
        "<script>window.__NUXT__={data:[{a:1}],state:null,error:void 0}</script>",
        json!({"nuxt": {"data": [{"a": 1}], "state": null, "error": null}}),
    );
    check(
        r#"<script>window.__NUXT__=(function(a,b){return {data:[{t:a,u:[a,b]}],serverRendered:b}}("x",true));</script>"#,
        json!({"nuxt": {"data": [{"t": "x", "u": ["x", true]}], "serverRendered": true}}),
    );
    check(
        r#"<script type="application/json" id="__NUXT_DATA__" data-ssr="true">[["ShallowReactive",1],{"data":2},{"k":3},"v"]</script>
           <script>window.__NUXT__={};window.__NUXT__.config={public:{x:1}}</script>"#,
        json!({"nuxt": {"data": {"k": "v"}, "config": {"public": {"x": 1}}}}),
    );
}

#[test]
fn stores_are_keyed_by_kind_and_other_variables_by_name() {
    check(
        r#"<script>window.__APOLLO_STATE__ = {"ROOT_QUERY": {"a": 1}}; window.__PRELOADED_STATE__ = JSON.parse("{\"b\":2}");
           window.__INITIAL_STATE__ = {c: 3}; var ytData = {"d": 4}; window["e"] = {f: 5}; dataLayer = [{g: 6}]</script>"#,
        json!({
            "apollo_state": {"ROOT_QUERY": {"a": 1}}, "redux_state": {"b": 2},
            "window_state": {"__INITIAL_STATE__": {"c": 3}, "ytData": {"d": 4}, "e": {"f": 5}, "dataLayer": [{"g": 6}]},
        }),
    );
    check(
        r#"<script id="__APOLLO_STATE__" type="application/json">{"a": 1}</script><script id="__INITIAL_STATE__" type="application/json">{"b": 1}</script>"#,
        json!({"apollo_state": {"a": 1}, "redux_state": {"b": 1}}),
    );
}

#[test]
fn variables_of_a_module_are_local() {
    check(
        "<script type=module>const a = {b: 1}; window.C = {d: 1}</script>",
        json!({"window_state": {"C": {"d": 1}}}),
    );
}

#[test]
fn the_data_of_sveltekit_is_read() {
    check(
        r#"<script type="application/json" data-sveltekit-fetched data-url="/api/a">{"status":200,"statusText":"OK","headers":{},"body":"{\"a\":[1]}"}</script>
           <script>{ __sveltekit_1abc = { base: new URL("..", location).pathname, env: {"PUBLIC_A": "x"} };
             Promise.all([import("./a.js"), import("./b.js")]).then(([kit, app]) => { kit.start(app, element, { node_ids: [0, 2], data: [null, {type:"data",data:{t:"x"},uses:{}}], form: null }); }); }</script>"#,
        json!({"sveltekit": {
            "fetched": [{"url": "/api/a", "status": 200, "body": {"a": [1]}}],
            "data": [null, {"type": "data", "data": {"t": "x"}, "uses": {}}],
        }}),
    );
}

#[test]
fn the_context_of_remix_is_read_in_both_forms() {
    check(
        r#"<script>window.__remixContext = {"state":{"loaderData":{"root":{"a":1}}}};__remixContext.p = function(v) {};</script>"#,
        json!({"remix": {"state": {"loaderData": {"root": {"a": 1}}}}}),
    );
    check(
        r#"<script>window.__remixContext = {"basename":"/"};</script>
           <script>window.__remixContext.streamController.enqueue("[{\"_1\":2},\"loaderData\",{\"_3\":4},\"root\",\"v\"]\n");</script>"#,
        json!({"remix": {"basename": "/", "state": {"loaderData": {"root": "v"}}}}),
    );
}

#[test]
fn the_page_object_of_inertia_is_read() {
    check(
        r#"<div id="app" data-page="{&quot;component&quot;:&quot;A&quot;,&quot;props&quot;:{&quot;b&quot;:1}}"></div>"#,
        json!({"inertia": {"component": "A", "props": {"b": 1}}}),
    );
}

#[test]
fn other_scripts_are_listed_if_they_are_json() {
    check(
        r#"<script type="application/json" id=x>{"a":1,}</script><script type="text/x-json">[2]</script><script type="text/x-magento-init">{"*":{"m":{}}}</script>
           <script type="text/x-handlebars">{"a": {{b}}}</script><script type="application/json"></script>
           <script type="application/json" id="ng-state">{&q;a&q;:&q;b &a; c&q;}</script>"#,
        json!({"other_scripts": [{"a": 1}, [2], {"*": {"m": {}}}, {"a": "b & c"}]}),
    );
}

#[test]
fn scripts_in_the_body_of_a_filtered_page_are_read_unless_removed() {
    let page = testkit::page(
        "<body><nav><script>window.A={a:1}</script></nav><main><script>window.B={b:1}</script></main>",
    );
    let found = page.without("nav").extract::<JsonData>(json!({}));
    assert_eq!(found, Ok(json!({"window_state": {"B": {"b": 1}}})));
}

#[track_caller]
fn check_product(html: &str, expected: Value) {
    assert_eq!(json_data(html)["product"], expected, "{html}");
}

#[test]
fn a_json_ld_product_is_normalized() {
    check_product(
        r#"<script type="application/ld+json">{"@graph": [{"@type": "WebPage"}, {"@type": ["Product"], "name": "Tom &amp; co", "description": "d",
            "image": [{"@type": "ImageObject", "url": "https://x.example/1.png"}, "2.png"], "brand": {"@type": "Brand", "name": "B"}, "sku": 12, "gtin13": "400",
            "offers": [{"@type": "Offer", "price": "19.90", "priceCurrency": "EUR", "availability": "http://schema.org/InStock", "itemCondition": "https://schema.org/NewCondition"}],
            "aggregateRating": {"ratingValue": "4.5", "reviewCount": 7, "bestRating": "5"}, "url": "https://x.example/p"}]}</script>"#,
        json!({
            "name": "Tom & co", "description": "d", "image": ["https://x.example/1.png", "2.png"], "brand": "B", "sku": "12", "gtin": "400",
            "url": "https://x.example/p",
            "offers": {"price": 19.9, "currency": "EUR", "availability": "InStock", "condition": "NewCondition"},
            "rating": {"value": 4.5, "count": 7, "best": 5},
        }),
    );
}

#[test]
fn a_product_with_an_offer_is_preferred() {
    check_product(
        r#"<script type="application/ld+json">[{"@type": "ItemList", "itemListElement": [{"@type": "ListItem", "item": {"@type": "Product", "name": "other"}}]},
            {"@type": "WebPage", "mainEntity": {"@type": "Product", "name": "this", "offers": {"@type": "AggregateOffer", "lowPrice": 5, "highPrice": "9", "priceCurrency": "USD"}}}]</script>"#,
        json!({"name": "this", "offers": {"low_price": 5, "high_price": 9, "currency": "USD"}}),
    );
}

#[test]
fn a_product_group_has_the_offer_of_its_variants() {
    check_product(
        r#"<script type="application/ld+json">{"@type": "ProductGroup", "name": "g", "hasVariant": [{"@type": "Product", "name": "v", "offers": {"price": 3, "priceCurrency": "EUR"}}]}</script>"#,
        json!({"name": "g", "offers": {"price": 3, "currency": "EUR"}}),
    );
}

#[test]
fn products_are_found_in_microdata_rdfa_previews_and_state() {
    let expected = json!({"name": "n", "offers": {"price": 5, "currency": "EUR"}});
    check_product(
        "<div itemscope itemtype=http://schema.org/Product><b itemprop=name>n</b><p itemprop=offers itemscope itemtype=http://schema.org/Offer>
           <b itemprop=price content=5>5 EUR</b><meta itemprop=priceCurrency content=EUR></p></div>",
        expected.clone(),
    );
    check_product(
        "<div vocab=http://schema.org/ typeof=Product><b property=name>n</b><p property=offers typeof=Offer>
           <b property=price>5</b><meta property=priceCurrency content=EUR></p></div>",
        expected.clone(),
    );
    check_product(
        "<meta property=og:title content=n><meta property=product:price:amount content=5><meta property=product:price:currency content=EUR>",
        expected.clone(),
    );
    check_product(
        r#"<script>window.state = {page: {seo: {"@type": "Product", name: "n", offers: {price: 5, priceCurrency: "EUR"}}}}</script>"#,
        expected,
    );
}

#[test]
fn missing_fields_are_filled_in_from_other_sources() {
    check_product(
        r#"<script type="application/ld+json">{"@type": "Product", "name": "n"}</script><meta property=og:title content=other>
           <meta property=og:image content=/i.png><meta property=product:price:amount content="1.299,00">"#,
        json!({"name": "n", "image": ["/i.png"], "offers": {"price": "1.299,00"}}),
    );
}

#[test]
fn an_article_is_not_a_product() {
    let found = json_data(
        r#"<meta property=og:type content=article><meta property=og:title content=t><script type="application/ld+json">{"@type": "Article", "name": "a"}</script>"#,
    );
    assert_eq!(found.get("product"), None);
}
