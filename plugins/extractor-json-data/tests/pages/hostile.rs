//! Hostile pages: extraction succeeds, still finds what stands before the hostile part, and takes
//! time linear in the page size; otherwise these tests would not finish.

use extractor_json_data::JsonData;
use serde_json::{Value, json};
use trawl_sdk::testkit::{self, Random};

fn json_data(html: &str) -> Value {
    let page = testkit::page(html);
    page.extract::<JsonData>(json!({}))
        .expect("json_data never fails")
}

/// A page whose first element states data, followed by `rest`: whatever follows must not take it
/// away.
fn marked(rest: &str) -> Value {
    const MARK: &str =
        "<script type=application/ld+json>{\"@type\":\"Thing\",\"name\":\"mark\"}</script>";
    let found = json_data(&format!("{MARK}{rest}"));
    let first = found["json_ld"].get(0).unwrap_or(&found["json_ld"]);
    assert_eq!(first["name"], "mark", "{rest:.200}");
    found
}

#[test]
fn repeated_code_is_scanned_to_its_end() {
    const BYTES: usize = 1 << 20;
    let pieces = "{¦(¦[¦a=¦a={¦a=(¦a=[¦a=(function(){¦a=(function(a){return {¦(function(a){return{a:a}}(¦\
        x=(a=>¦window.a=JSON.parse(\"¦a=JSON.parse(¦a=\"{¦'¦/[¦a=/¦`¦window['¦a||¦a=a||¦\
        a={b:function(){¦self.__next_f.push([1,\"¦__next_f.push(¦enqueue(\"¦\
        streamController.enqueue(¦kit.start(¦kit.start({¦return ¦\u{e9}=¦a.¦a={a:a,¦\
        window.a={x:function(){¦var a={a:1};¦=({¦a=((((((((((¦a=atob(¦a='%7B";
    for piece in pieces.split('¦') {
        marked(&format!(
            "<script>{}</script>",
            piece.repeat(BYTES / piece.len())
        ));
    }
}

#[test]
fn large_states_are_read_or_left_out_whole() {
    let rows = "{\"name\":\"some name\",\"price\":12.5,\"tags\":[\"a\",\"b\"]},".repeat(20_000);
    let found = json_data(&format!(
        "<script>window.A = [{rows}]; window.B = {{b: 1}}</script>"
    ));
    assert_eq!(
        found["window_state"]["A"].as_array().map(Vec::len),
        Some(20_000)
    );
    let text = "x".repeat(5 << 20);
    let found = json_data(&format!(
        "<script>window.A = {{a: '{text}'}}; window.B = {{b: 1}}</script><script type=application/ld+json>{{\"a\":\"{text}\"}}</script>"
    ));
    assert_eq!(found["window_state"], json!({"B": {"b": 1}}));
    assert!(found.get("json_ld").is_some());
}

#[test]
fn state_that_would_take_too_much_memory_is_left_out() {
    let found = json_data(&format!(
        "<script>window.A = [{}]; window.B = {{b: 1}}</script>",
        "{a:1},".repeat(1_000_000)
    ));
    assert_eq!(
        found.get("window_state").and_then(|state| state.get("A")),
        None
    );
}

#[test]
fn items_in_each_other_and_referring_to_each_other_end() {
    let nested = "<div itemscope itemprop=a>".repeat(500) + "x";
    marked(&format!("<div itemscope>{nested}"));
    marked(&("<div typeof=A property=b>".repeat(500) + "x"));
    marked(
        &("<div itemprop=a>".repeat(500) + &"x".repeat(1 << 20)).replacen(
            "<div",
            "<div itemscope><div",
            1,
        ),
    );
    let items: String = (0..2_000)
        .map(|n| {
            format!(
                "<div itemscope id=i{n} itemprop=p itemref='i{} i{} i{}'></div>",
                (n + 1) % 2_000,
                (n + 2) % 2_000,
                (n * 7) % 2_000
            )
        })
        .collect();
    marked(&format!("<div itemscope itemref=i0></div>{items}"));
    marked(&format!(
        "<div id=x>{}</div>{}",
        "<b itemprop=a>1</b>".repeat(5_000),
        "<p itemscope itemref=x></p>".repeat(5_000)
    ));
}

#[test]
fn many_attributes_siblings_and_properties_are_read_to_their_end() {
    marked(&"<i itemscope><b itemprop=a>1</b></i>".repeat(100_000));
    marked(&format!(
        "<div vocab=http://schema.org/ typeof=A>{}</div>",
        "<b property=a>1</b>".repeat(200_000)
    ));
    marked(&"<meta property=og:image content=x><meta property=og:image content=y>".repeat(100_000));
    marked(&format!(
        "<div prefix='{}'>{}",
        "a: b ".repeat(100_000),
        "<i typeof=a:b></i>".repeat(100_000)
    ));
    marked(&format!(
        "<div itemscope><p itemprop='{}'>{}",
        "a ".repeat(500_000),
        "x".repeat(100_000)
    ));
    marked(&"<script type=application/ld+json>{\"a\":[1,]}</script>".repeat(50_000));
    marked(&"<script>self.__next_f.push([1,\"1:[1]\\n\"])</script>".repeat(50_000));
}

#[test]
fn the_depth_of_an_answer_is_bounded() {
    fn depth(value: &Value) -> usize {
        match value {
            Value::Array(values) => 1 + values.iter().map(depth).max().unwrap_or(0),
            Value::Object(map) => 1 + map.values().map(depth).max().unwrap_or(0),
            _ => 0,
        }
    }
    let nested = "[".repeat(1_000);
    for html in [
        format!("<script>window.a={nested}</script>"),
        format!("<script type=application/json>{nested}</script>"),
        format!(
            "<script type=application/json>{}{}</script>",
            "[".repeat(120),
            "]".repeat(120)
        ),
        "<div itemscope itemprop=a>"
            .repeat(500)
            .replacen("itemprop=a", "", 1),
        "<div typeof=a property=b>".repeat(500),
        format!(
            "<script id=__NUXT_DATA__ type=application/json>[{}1]</script>",
            (1..1000).map(|n| format!("[{n}],")).collect::<String>()
        ),
        format!("<script>a=(function(x){{return {nested}x}}({nested}</script>"),
    ] {
        let found = json_data(&html);
        assert!(depth(&found) < 120, "{} for {html:.60}", depth(&found));
    }
}

#[test]
fn mutated_pages_lose_nothing_that_came_before() {
    const PAGE: &str = r#"<script type="application/ld+json">{"@graph":[{"@type":"Product","name":"é","offers":{"price":"1"}}]}</script>
        <script>window.__NUXT__=(function(a,b){return {x:a,y:[b,"é"]}}("1",{}));window.A=JSON.parse("{\"a\":1}");self.__next_f.push([1,"0:T3,abc1:[1]\n"])</script>
        <script id=__NUXT_DATA__ type=application/json>[["Ref",1],{"a":2},["Map",3,3],"x"]</script><div itemscope itemtype=a itemref=b><i itemprop=c>d</i></div>
        <p id=b vocab=http://schema.org/ typeof=E property=f><meta property=og:title content=g><script>window.__remixContext.streamController.enqueue("[{\"_1\":0},\"é\"]\n");
        kit.start(a,b,{data:[1]}); B = decodeURIComponent("%7B"); C = atob("eyJhIjoiYiJ9")</script>"#;
    const PIECES: [&str; 24] = [
        "{", "}", "[", "]", "(", ")", "\"", "'", "\\", "/", "*/", "é", "=", ",", ":", "<", ">",
        "%", "`", "\u{2028}", "T", "_9", "-1", "return",
    ];
    let mut random = Random::new(7);
    for _ in 0..3_000 {
        marked(&random.mutated(PAGE, &PIECES, 8));
    }
}
