//! Small components written as WebAssembly text, so that tests need no compiler for plugins: a
//! well-behaved one of each kind, and every way to misbehave.
//!
//! A [`Guest`] describes a component and [`Guest::build`] encodes it. Its function body is
//! WebAssembly text; [`hostile`] has misbehaving ones. Offsets belong to the contract's records
//! in the canonical ABI.

pub mod hostile;

use wit_component::{ComponentEncoder, StringEncoding, embed_component_metadata};
use wit_parser::Resolve;

const TYPES: &str = include_str!("../../../wit/types/1/types.wit");
const DOCUMENT: &str = include_str!("../../../wit/document/1/document.wit");
const FORMAT: &str = include_str!("../../../wit/format/1/format.wit");
const FILTER: &str = include_str!("../../../wit/filter/1/filter.wit");
const EXTRACTOR: &str = include_str!("../../../wit/extractor/1/extractor.wit");
const CHUNKER: &str = include_str!("../../../wit/chunker/1/chunker.wit");
const ANALYST: &str = include_str!("../../../wit/analyst/1/analyst.wit");
const DECODER: &str = include_str!("../../../wit/decoder/1/decoder.wit");

/// Address of the four text fields of `describe`, one after another.
const TEXT_AT: usize = 1024;
/// Start of the heap, after one page of constants.
const HEAP_AT: usize = 65536;

/// What builds a decoder's result: HTML, one title as metadata, 3 pages, no warnings, no
/// inner document.
const DECODED: &str = r#"
  (data (i32.const 896) "{\22title\22:\22from the guest\22}")
  (func $decoded (param $at i32) (param $length i32) (result i32)
    (i32.store8 (i32.const 16) (i32.const 0))
    (i32.store (i32.const 20) (local.get $at))
    (i32.store (i32.const 24) (local.get $length))
    (i32.store (i32.const 28) (i32.const 896))
    (i32.store (i32.const 32) (i32.const 26))
    (i32.store8 (i32.const 36) (i32.const 1))
    (i32.store (i32.const 40) (i32.const 3))
    (i32.store (i32.const 44) (i32.const 0))
    (i32.store (i32.const 48) (i32.const 0))
    (i32.store8 (i32.const 52) (i32.const 0))
    (i32.const 16))"#;

/// Description of a component.
#[derive(Clone, Debug)]
pub struct Guest {
    /// `format`, `filter`, `extractor`, `chunker`, `analyst` or `decoder`.
    pub kind: &'static str,
    /// Version of the contract it implements.
    pub contract: &'static str,
    /// Name returned by `describe`.
    pub name: String,
    /// Version returned by `describe`.
    pub version: String,
    /// Options schema returned by `describe`.
    pub schema: String,
    /// Needs returned by `describe`: bit 0 is the source, bit 1 the body.
    pub needs: u32,
    /// Instructions that `describe` runs first.
    pub on_describe: String,
    /// Body of its function: an expression that returns the address of the result. The parameters
    /// of a chunker and a decoder are `$text`, `$text_bytes`, `$options` and `$options_bytes`,
    /// those of the other kinds `$args`. `$ok`, `$ok_text` and `$fail` build results, `$ask` and
    /// `$done` an analyst's, `$decoded` a decoder's.
    pub body: String,
    /// Body of an analyst's `resume`, in the same way.
    pub resume: String,
    /// Additional functions, globals and data.
    pub extra: String,
    /// Imports of the core module.
    pub core_imports: String,
    /// Imports of the world, with their packages.
    pub imports: Imports,
}

/// Imports of a component.
#[derive(Clone, Debug, Default)]
pub struct Imports {
    /// WIT packages as text, dependencies first.
    pub packages: Vec<String>,
    /// Full names of the imported interfaces.
    pub interfaces: Vec<String>,
}

impl Guest {
    /// Creates a component of this kind with this function body.
    pub fn new(kind: &'static str, name: &str, body: &str) -> Self {
        Self {
            kind,
            contract: "1.0.0",
            name: name.to_owned(),
            version: "0.1.0".to_owned(),
            schema: "{}".to_owned(),
            needs: 0,
            on_describe: String::new(),
            body: body.to_owned(),
            resume: "unreachable".to_owned(),
            extra: String::new(),
            core_imports: String::new(),
            imports: Imports::default(),
        }
    }

    /// A format that returns the text of the whole document.
    pub fn echo_format(name: &str) -> Self {
        Self::new(
            "format",
            name,
            "(call $ok_text (i32.load offset=124 (local.get $args)) (i32.load offset=128 (local.get $args)))",
        )
    }

    /// A format that returns this text.
    pub fn constant_format(name: &str, text: &str) -> Self {
        let mut guest = Self::new(
            "format",
            name,
            &format!("(call $ok_text (i32.const 512) (i32.const {}))", text.len()),
        );
        guest.extra = format!("(data (i32.const 512) {text:?})");
        guest
    }

    /// A filter that removes nothing.
    pub fn keeping_filter(name: &str) -> Self {
        Self::new(
            "filter",
            name,
            "(call $ok (i32.load offset=132 (local.get $args)) (i32.load offset=136 (local.get $args)))",
        )
    }

    /// An extractor that returns its options.
    pub fn echo_extractor(name: &str) -> Self {
        Self::new(
            "extractor",
            name,
            "(call $ok (i32.load offset=172 (local.get $args)) (i32.load offset=176 (local.get $args)))",
        )
    }

    /// A chunker that returns the whole text as one span.
    pub fn whole_chunker(name: &str) -> Self {
        Self::new(
            "chunker",
            name,
            "(i32.store (i32.const 256) (i32.const 0)) (i32.store (i32.const 260) (local.get $text_bytes)) \
             (call $ok (i32.const 256) (i32.const 1))",
        )
    }

    /// A decoder that takes the text of a document for its HTML.
    pub fn echo_decoder(name: &str) -> Self {
        let mut guest = Self::new(
            "decoder",
            name,
            "(call $decoded (local.get $text) (local.get $text_bytes))",
        );
        guest.needs = 1;
        guest
    }

    /// An analyst. With a model it asks `who?` and returns the model's answer, or `"no reply"`;
    /// without a model it returns `"no model"`. It joins findings by returning the first one.
    pub fn asking_analyst(name: &str) -> Self {
        let mut guest = Self::new(
            "analyst",
            name,
            "(if (i32.load8_u (local.get $args)) (then (return (call $done \
               (i32.load offset=8 (i32.load offset=4 (local.get $args))) \
               (i32.load offset=12 (i32.load offset=4 (local.get $args))))))) \
             (if (i32.eqz (i32.load8_u offset=184 (local.get $args))) \
               (then (return (call $done (i32.const 832) (i32.const 10))))) \
             (call $ask (i32.const 864) (i32.const 4))",
        );
        guest.resume = "(if (i32.ne (i32.load offset=200 (local.get $args)) (i32.const 4)) (then unreachable)) \
             (if (i32.load8_u offset=204 (local.get $args)) \
               (then (return (call $done (i32.const 848) (i32.const 10))))) \
             (call $done (i32.load offset=208 (local.get $args)) (i32.load offset=212 (local.get $args)))"
            .to_owned();
        guest
    }

    /// Runs `fault` when the analyst receives a reply.
    pub fn when_resumed(mut self, fault: &str) -> Self {
        self.resume = format!("{fault} {}", self.resume);
        self
    }

    /// Offset of the options in `$args`, unless they are separate parameters.
    fn options_at(&self) -> Option<u32> {
        match self.kind {
            "filter" => Some(140),
            "analyst" => Some(176),
            "chunker" | "decoder" => None,
            _ => Some(172),
        }
    }

    /// Runs `fault` first if the options are not `{}`, so that the component passes the host's
    /// initial call.
    pub fn when_asked(mut self, fault: &str) -> Self {
        let length = match self.options_at() {
            Some(at) => format!("(i32.load offset={} (local.get $args))", at + 4),
            None => "(local.get $options_bytes)".to_owned(),
        };
        self.body = format!(
            "(if (i32.gt_u {length} (i32.const 2)) (then {fault})) {}",
            self.body
        );
        self
    }

    /// Encodes the component.
    ///
    /// # Panics
    /// If its text is invalid, which is a bug in the test.
    pub fn build(&self) -> Vec<u8> {
        let mut resolve = Resolve::default();
        let world = self.world(&mut resolve);
        let mut module = wat::parse_str(self.module()).expect("the guest's text is valid");
        embed_component_metadata(&mut module, &resolve, world, StringEncoding::UTF8)
            .expect("the world can be embedded");
        ComponentEncoder::default()
            .module(&module)
            .expect("the module fits the world")
            .validate(true)
            .encode()
            .expect("the component can be made")
    }

    fn world(&self, resolve: &mut Resolve) -> wit_parser::WorldId {
        let contract = match self.kind {
            "format" => FORMAT,
            "filter" => FILTER,
            "extractor" => EXTRACTOR,
            "chunker" => CHUNKER,
            "analyst" => ANALYST,
            "decoder" => DECODER,
            kind => panic!("no contract for {kind}"),
        };
        let kind = self.kind;
        let contract = contract.replace(
            &format!("package trawl:{kind}@1.0.0;"),
            &format!("package trawl:{kind}@{};", self.contract),
        );
        let imports: String = self
            .imports
            .interfaces
            .iter()
            .map(|name| format!("import {name};"))
            .collect();
        let world = format!(
            "package test:guest; world guest {{ {imports} include trawl:{kind}/plugin@{}; }}",
            self.contract
        );
        let fixed = [TYPES, DOCUMENT, &contract];
        let packages = fixed
            .into_iter()
            .chain(self.imports.packages.iter().map(String::as_str));
        for (index, package) in packages.enumerate() {
            resolve
                .push_str(format!("{index}.wit"), package)
                .expect("the package is valid");
        }
        let main = resolve
            .push_str("guest.wit", &world)
            .expect("the world is valid");
        resolve
            .select_world(&[main], Some("guest"))
            .expect("the world is there")
    }

    fn module(&self) -> String {
        let (function, parameters) = match self.kind {
            "format" => ("render", "(param $args i32)"),
            "filter" => ("keep", "(param $args i32)"),
            "extractor" => ("extract", "(param $args i32)"),
            "analyst" => ("start", "(param $args i32)"),
            "decoder" => (
                "decode",
                "(param $text i32) (param $text_bytes i32) (param $body i32) (param $body_bytes i32) \
                 (param $type i32) (param $type_bytes i32) (param $header i32) (param $header_bytes i32) \
                 (param $url i32) (param $url_bytes i32) (param $pages i32) (param $pages_count i32) \
                 (param $options i32) (param $options_bytes i32)",
            ),
            _ => (
                "chunk",
                "(param $text i32) (param $text_bytes i32) (param $options i32) (param $options_bytes i32)",
            ),
        };
        let interface = format!("trawl:{0}/{0}@{1}", self.kind, self.contract);
        let Self {
            core_imports,
            extra,
            on_describe,
            body,
            ..
        } = self;
        let (info_stores, info_data) = self.info();
        let more = match self.kind {
            "analyst" => self.conversation(&interface),
            "decoder" => DECODED.to_owned(),
            _ => String::new(),
        };
        format!(
            r#"(module
  {core_imports}
  (memory (export "memory") 2)
  (global $heap (mut i32) (i32.const {HEAP_AT}))
  {info_data}
  {extra}
  (func (export "cabi_realloc") (param $old i32) (param $old_size i32) (param $align i32) (param $size i32) (result i32)
    (local $at i32) (local $end i32)
    (local.set $at (i32.and (i32.add (global.get $heap) (i32.const 15)) (i32.const -16)))
    (local.set $end (i32.add (local.get $at) (local.get $size)))
    (if (i32.gt_u (local.get $end) (i32.shl (memory.size) (i32.const 16)))
      (then (if (i32.eq (memory.grow (i32.add (i32.shr_u (local.get $size) (i32.const 16)) (i32.const 1))) (i32.const -1))
        (then unreachable))))
    (global.set $heap (local.get $end))
    (local.get $at))
  ;; A result that is a list or a string.
  (func $ok (param $at i32) (param $length i32) (result i32)
    (i32.store8 (i32.const 16) (i32.const 0))
    (i32.store (i32.const 20) (local.get $at))
    (i32.store (i32.const 24) (local.get $length))
    (i32.const 16))
  ;; A format's result: the output `text`.
  (func $ok_text (param $at i32) (param $length i32) (result i32)
    (i32.store8 (i32.const 16) (i32.const 0))
    (i32.store8 (i32.const 20) (i32.const 0))
    (i32.store (i32.const 24) (local.get $at))
    (i32.store (i32.const 28) (local.get $length))
    (i32.const 16))
  ;; A failure: its case and its text.
  (func $fail (param $case i32) (param $at i32) (param $length i32) (result i32)
    (i32.store8 (i32.const 16) (i32.const 1))
    (i32.store8 (i32.const 20) (local.get $case))
    (i32.store (i32.const 24) (local.get $at))
    (i32.store (i32.const 28) (local.get $length))
    (i32.const 16))
  (func (export "{interface}#describe") (result i32)
    {on_describe}
    {info_stores}
    (i32.const 64))
  (func (export "{interface}#{function}") {parameters} (result i32)
    {body})
  {more}
)"#
        )
    }

    /// Additional functions of an analyst: `resume`, and builders for its steps.
    fn conversation(&self, interface: &str) -> String {
        let resume = &self.resume;
        format!(
            r#"
  (data (i32.const 784) "who?")
  (data (i32.const 800) "{{\"type\":\"string\"}}")
  (data (i32.const 832) "\"no model\"")
  (data (i32.const 848) "\"no reply\"")
  (data (i32.const 864) "memo")
  ;; An answer.
  (func $done (param $at i32) (param $length i32) (result i32)
    (i32.store8 (i32.const 16) (i32.const 0))
    (i32.store8 (i32.const 20) (i32.const 1))
    (i32.store (i32.const 24) (local.get $at))
    (i32.store (i32.const 28) (local.get $length))
    (i32.const 16))
  ;; A question with a memo: one message of the caller's words, and a schema.
  (func $ask (param $at i32) (param $length i32) (result i32)
    (i32.store8 (i32.const 768) (i32.const 1))
    (i32.store (i32.const 772) (i32.const 784))
    (i32.store (i32.const 776) (i32.const 4))
    (i32.store8 (i32.const 16) (i32.const 0))
    (i32.store8 (i32.const 20) (i32.const 0))
    (i32.store (i32.const 24) (i32.const 768))
    (i32.store (i32.const 28) (i32.const 1))
    (i32.store (i32.const 32) (i32.const 800))
    (i32.store (i32.const 36) (i32.const 17))
    (i32.store (i32.const 40) (i32.const 9))
    (i32.store (i32.const 44) (local.get $at))
    (i32.store (i32.const 48) (local.get $length))
    (i32.const 16))
  (func (export "{interface}#resume") (param $args i32) (result i32)
    {resume})"#
        )
    }

    /// The record `info`: instructions that write it to address 64, and the data it points to.
    fn info(&self) -> (String, String) {
        let fields = [&self.name, &self.version, "A guest for tests", &self.schema];
        let (mut stores, mut text, mut at) = (String::new(), String::new(), TEXT_AT);
        for (index, field) in fields.into_iter().enumerate() {
            let slot = 64 + index * 8;
            stores += &format!(
                "(i32.store (i32.const {slot}) (i32.const {at})) (i32.store (i32.const {}) (i32.const {}))",
                slot + 4,
                field.len()
            );
            text += field;
            at += field.len();
        }
        stores += &format!("(i32.store8 (i32.const 96) (i32.const {}))", self.needs);
        let escaped: String = text.bytes().map(|byte| format!("\\{byte:02x}")).collect();
        (
            stores,
            format!("(data (i32.const {TEXT_AT}) \"{escaped}\")"),
        )
    }
}
