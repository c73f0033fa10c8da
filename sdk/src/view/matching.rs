//! Adapts elements to the `selectors` crate.

use selectors::OpaqueElement;
use selectors::attr::{AttrSelectorOperation, CaseSensitivity, NamespaceConstraint};
use selectors::bloom::BloomFilter;
use selectors::context::{
    MatchingContext, MatchingForInvalidation, MatchingMode, NeedsSelectorFlags, QuirksMode,
};
use selectors::matching::{ElementSelectorFlags, SelectorCaches, matches_selector};

use super::selector::{Css, PseudoClass, PseudoElement, Word};
use super::{Element, Namespace, Node, Selector, Steps, Tag};

impl Selector {
    /// Whether an element matches.
    pub fn matches(&self, element: Element<'_>) -> bool {
        let steps = Steps::new(u64::MAX);
        self.matches_in(element, None, &mut SelectorCaches::default(), &steps)
    }

    /// Whether an element matches with `scope` as `:scope`. The caches must belong to this
    /// selector. If the steps are used up, the result is meaningless.
    pub(super) fn matches_in<'a>(
        &self,
        element: Element<'a>,
        scope: Option<Element<'a>>,
        caches: &mut SelectorCaches,
        steps: &'a Steps,
    ) -> bool {
        let quirks = if element.document().is_quirks() {
            QuirksMode::Quirks
        } else {
            QuirksMode::NoQuirks
        };
        let mut context = MatchingContext::new(
            MatchingMode::Normal,
            None,
            caches,
            quirks,
            NeedsSelectorFlags::No,
            MatchingForInvalidation::No,
        );
        context.scope_element = scope.map(identity);
        self.0.slice().iter().any(|selector| {
            let element = Matched { element, steps };
            matches_selector(selector, 0, None, &element, &mut context)
        })
    }
}

/// A unique address for each element: that of its entry in the array of kinds.
fn identity(element: Element<'_>) -> OpaqueElement {
    let node = element.node();
    OpaqueElement::new(&node.document.arrays.kinds[node.index as usize])
}

const fn namespace_url(namespace: Namespace) -> &'static str {
    match namespace {
        Namespace::Html => "http://www.w3.org/1999/xhtml",
        Namespace::Svg => "http://www.w3.org/2000/svg",
        Namespace::MathMl => "http://www.w3.org/1998/Math/MathML",
        Namespace::Other => "",
    }
}

/// An element as the `selectors` crate needs it; a separate type hides that crate's methods from
/// authors. Once the steps are used up it has no neighbours and no attributes, which ends any
/// search soon.
#[derive(Clone, Copy, Debug)]
struct Matched<'a> {
    element: Element<'a>,
    steps: &'a Steps,
}

/// Bytes of an attribute's value that count as one step.
const BYTES_PER_STEP: usize = 32;

/// Steps for moving to another element, which is then matched against a part of the selector.
const NEIGHBOUR_STEPS: u64 = 3;

impl<'a> Matched<'a> {
    fn at(self, element: Element<'a>) -> Self {
        Self { element, ..self }
    }

    /// The first element among these nodes.
    fn first_of(self, nodes: impl IntoIterator<Item = Node<'a>>) -> Option<Self> {
        let may_go = self.steps.spend(NEIGHBOUR_STEPS);
        let mut nodes = nodes
            .into_iter()
            .take_while(|_| may_go && self.steps.spend(1));
        nodes
            .find_map(Node::as_element)
            .map(|element| self.at(element))
    }

    /// Whether there are enough steps left to read this value.
    fn may_read(self, value: &str) -> bool {
        self.steps.spend(1 + (value.len() / BYTES_PER_STEP) as u64)
    }
}

impl<'a> std::ops::Deref for Matched<'a> {
    type Target = Element<'a>;

    fn deref(&self) -> &Element<'a> {
        &self.element
    }
}

impl selectors::Element for Matched<'_> {
    type Impl = Css;

    fn opaque(&self) -> OpaqueElement {
        identity(self.element)
    }

    fn parent_element(&self) -> Option<Self> {
        let may_go = self.steps.spend(NEIGHBOUR_STEPS);
        let parent = self.element.parent_element().filter(|_| may_go)?;
        Some(self.at(parent))
    }

    fn parent_node_is_shadow_root(&self) -> bool {
        false
    }

    fn containing_shadow_host(&self) -> Option<Self> {
        None
    }

    fn is_pseudo_element(&self) -> bool {
        false
    }

    fn prev_sibling_element(&self) -> Option<Self> {
        let siblings =
            std::iter::successors(self.previous_sibling(), |node| node.previous_sibling());
        self.first_of(siblings)
    }

    fn next_sibling_element(&self) -> Option<Self> {
        let siblings = std::iter::successors(self.next_sibling(), |node| node.next_sibling());
        self.first_of(siblings)
    }

    fn first_element_child(&self) -> Option<Self> {
        self.first_of(self.children())
    }

    fn is_html_element_in_html_document(&self) -> bool {
        self.namespace() == Namespace::Html
    }

    fn has_local_name(&self, name: &Word) -> bool {
        self.name() == &*name.0
    }

    fn has_namespace(&self, url: &Word) -> bool {
        namespace_url(self.namespace()) == &*url.0
    }

    fn is_same_type(&self, other: &Self) -> bool {
        // A name-table entry identifies a name in one namespace.
        self.name_entry() == other.name_entry()
            || (self.name() == other.name() && self.namespace() == other.namespace())
    }

    fn attr_matches(
        &self,
        namespace: &NamespaceConstraint<&Word>,
        name: &Word,
        operation: &AttrSelectorOperation<&Word>,
    ) -> bool {
        let any_namespace = matches!(namespace, NamespaceConstraint::Any);
        self.attrs().any(|(own, value)| {
            let same = own == &*name.0
                || (any_namespace
                    && own
                        .split_once(':')
                        .is_some_and(|(_, local)| local == &*name.0));
            self.steps.spend(1) && same && self.may_read(value) && operation.eval_str(value)
        })
    }

    fn match_non_ts_pseudo_class(
        &self,
        class: &PseudoClass,
        _: &mut MatchingContext<'_, Css>,
    ) -> bool {
        match class {
            PseudoClass::Link => is_link(self.element),
            PseudoClass::Checked => is_checked(self.element),
            PseudoClass::Disabled => {
                can_be_disabled(self.element) && is_disabled(self.element, self.steps)
            }
            PseudoClass::Enabled => {
                can_be_disabled(self.element) && !is_disabled(self.element, self.steps)
            }
            PseudoClass::Required => can_be_required(self.element) && self.has_attr("required"),
            PseudoClass::Optional => can_be_required(self.element) && !self.has_attr("required"),
            PseudoClass::Lang(language) => is_in_language(self.element, language),
            PseudoClass::Never(_) => false,
        }
    }

    fn match_pseudo_element(
        &self,
        element: &PseudoElement,
        _: &mut MatchingContext<'_, Css>,
    ) -> bool {
        match *element {}
    }

    fn apply_selector_flags(&self, _: ElementSelectorFlags) {}

    fn is_link(&self) -> bool {
        is_link(self.element)
    }

    fn is_html_slot_element(&self) -> bool {
        false
    }

    fn has_id(&self, id: &Word, case: CaseSensitivity) -> bool {
        self.id()
            .is_some_and(|own| case.eq(own.as_bytes(), id.0.as_bytes()))
    }

    fn has_class(&self, name: &Word, case: CaseSensitivity) -> bool {
        self.attr("class").is_some_and(|class| self.may_read(class))
            && self
                .classes()
                .any(|own| case.eq(own.as_bytes(), name.0.as_bytes()))
    }

    fn has_custom_state(&self, _: &Word) -> bool {
        false
    }

    fn imported_part(&self, _: &Word) -> Option<Word> {
        None
    }

    fn is_part(&self, _: &Word) -> bool {
        false
    }

    fn is_empty(&self) -> bool {
        self.children().all(|child| {
            self.steps.spend(1)
                && child.as_element().is_none()
                && child.as_text().is_none_or(str::is_empty)
        })
    }

    fn is_root(&self) -> bool {
        self.parent() == Some(self.document().root())
    }

    fn add_element_unique_hashes(&self, _: &mut BloomFilter) -> bool {
        false
    }
}

fn is_link(element: Element<'_>) -> bool {
    matches!(element.tag(), Tag::A | Tag::Area) && element.has_attr("href")
}

fn is_checked(element: Element<'_>) -> bool {
    match element.tag() {
        Tag::Option => element.has_attr("selected"),
        Tag::Input => {
            let kind = element.attr("type").unwrap_or_default();
            element.has_attr("checked")
                && (kind.eq_ignore_ascii_case("checkbox") || kind.eq_ignore_ascii_case("radio"))
        }
        _ => false,
    }
}

fn can_be_disabled(element: Element<'_>) -> bool {
    matches!(
        element.tag(),
        Tag::Button
            | Tag::Input
            | Tag::Select
            | Tag::Textarea
            | Tag::Optgroup
            | Tag::Option
            | Tag::Fieldset
    )
}

fn can_be_required(element: Element<'_>) -> bool {
    matches!(element.tag(), Tag::Input | Tag::Select | Tag::Textarea)
}

/// Whether the element is disabled as defined by HTML: by its own attribute, by a disabled
/// `optgroup` around an option, or by a disabled `fieldset` around it, unless it is inside that
/// fieldset's first legend.
fn is_disabled(element: Element<'_>, steps: &Steps) -> bool {
    if element.has_attr("disabled") {
        return true;
    }
    if element.tag() == Tag::Option {
        return element
            .parent_element()
            .is_some_and(|parent| parent.tag() == Tag::Optgroup && parent.has_attr("disabled"));
    }
    if element.tag() == Tag::Optgroup {
        return false;
    }
    let mut inner = element;
    for outer in element.ancestors() {
        let shuts_off = outer.tag() == Tag::Fieldset && outer.has_attr("disabled");
        let first_legend = || {
            outer
                .child_elements()
                .take_while(|_| steps.spend(1))
                .find(|child| child.tag() == Tag::Legend)
        };
        if shuts_off && first_legend() != Some(inner) {
            return true;
        }
        inner = outer;
    }
    false
}

/// Whether the nearest `lang` is this language or a variant of it (`en-GB` for `en`).
fn is_in_language(element: Element<'_>, language: &str) -> bool {
    let own = std::iter::once(element)
        .chain(element.ancestors())
        .find_map(|element| element.attr("lang"));
    own.is_some_and(|own| {
        let own = own.to_ascii_lowercase();
        !own.is_empty()
            && own
                .strip_prefix(language)
                .is_some_and(|rest| rest.is_empty() || rest.starts_with('-'))
    })
}

impl<'a> Node<'a> {
    /// Whether this node is, or is inside, the contents of a `<template>`.
    pub fn is_in_template(self) -> bool {
        std::iter::successors(Some(self), |node| node.parent())
            .any(|node| node.kind() == super::Kind::TemplateContents)
    }
}
