//! Adapts elements to the `selectors` crate.

use selectors::OpaqueElement;
use selectors::attr::{AttrSelectorOperation, CaseSensitivity, NamespaceConstraint};
use selectors::bloom::BloomFilter;
use selectors::context::{
    MatchingContext, MatchingForInvalidation, MatchingMode, NeedsSelectorFlags, QuirksMode,
};
use selectors::matching::{ElementSelectorFlags, SelectorCaches, matches_selector};

use super::selector::{Css, PseudoClass, PseudoElement, Word};
use super::{Element, Namespace, Node, Selector, Steps, states};

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
        let mut attributes = self.attrs();
        while let Some(has_namespace) = attributes.next_has_namespace() {
            let Some((own, value)) = attributes.next() else {
                break;
            };
            // Names of attributes in a namespace are written with a prefix.
            let same = match own.split_once(':').filter(|_| has_namespace) {
                Some((_, local)) => any_namespace && local == &*name.0,
                None => own == &*name.0,
            };
            if !self.steps.spend(1) {
                return false;
            }
            if same && self.may_read(value) && operation.eval_str(value) {
                return true;
            }
        }
        false
    }

    fn match_non_ts_pseudo_class(
        &self,
        class: &PseudoClass,
        _: &mut MatchingContext<'_, Css>,
    ) -> bool {
        match class {
            PseudoClass::Link => is_link(self.element),
            PseudoClass::Checked => states::is_checked(self.element, self.steps),
            PseudoClass::Disabled => {
                states::can_be_disabled(self.element)
                    && states::is_disabled(self.element, self.steps)
            }
            PseudoClass::Enabled => {
                states::can_be_disabled(self.element)
                    && !states::is_disabled(self.element, self.steps)
            }
            PseudoClass::Required => {
                states::can_be_required(self.element) && self.has_attr("required")
            }
            PseudoClass::Optional => {
                states::can_be_required(self.element) && !self.has_attr("required")
            }
            PseudoClass::ReadWrite => states::is_editable(self.element, self.steps),
            PseudoClass::ReadOnly => !states::is_editable(self.element, self.steps),
            PseudoClass::Default => states::is_default(self.element, self.steps),
            PseudoClass::Indeterminate => states::is_indeterminate(self.element, self.steps),
            PseudoClass::PlaceholderShown => states::shows_placeholder(self.element),
            PseudoClass::InRange => states::is_in_range(self.element, self.steps) == Some(true),
            PseudoClass::OutOfRange => states::is_in_range(self.element, self.steps) == Some(false),
            PseudoClass::Open => states::is_open(self.element),
            PseudoClass::Defined => states::is_defined(self.element),
            PseudoClass::Dir { is_right_to_left } => {
                states::is_right_to_left(self.element, self.steps) == *is_right_to_left
            }
            PseudoClass::Lang(ranges) => {
                let language = states::language(self.element, self.steps);
                states::matches_language(language, ranges)
            }
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
    element.link().is_some()
}
