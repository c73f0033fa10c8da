//! Evaluates expressions.

use std::cell::{OnceCell, RefCell};
use std::collections::{HashMap, HashSet};
use std::rc::Rc;

use super::XPathError;
use super::ast::{Expr, Function, Operator, Path, Predicate, Start, Step, Type};
use super::axes::sort_and_dedup;
use super::pool::{Keys, Set, Text};
use super::tree::{Key, Tree};
use super::values;

/// Evaluates expressions on one tree; each method returns the result as the type it is named after.
pub(super) struct Evaluator<'a> {
    pub(super) tree: Tree<'a>,
    /// Cached results of the paths that start at the document.
    roots: RefCell<Vec<Option<Rc<[Key]>>>>,
    /// First element with each id.
    ids: OnceCell<HashMap<&'a str, u32>>,
}

/// Sets of up to this size are compared without a hash table.
const SMALL_SET: usize = 16;

/// Evaluation context of an expression.
#[derive(Clone, Copy, Debug)]
pub(super) struct Focus {
    pub(super) key: Key,
    pub(super) position: usize,
    pub(super) size: usize,
}

impl Focus {
    /// A context of one node.
    pub(super) fn only(key: Key) -> Self {
        Self {
            key,
            position: 1,
            size: 1,
        }
    }
}

impl<'a> Evaluator<'a> {
    pub(super) fn new(tree: Tree<'a>, n_roots: usize) -> Self {
        Self {
            tree,
            roots: RefCell::new(vec![None; n_roots]),
            ids: OnceCell::new(),
        }
    }

    pub(super) fn nodes(&self, expr: &'a Expr, focus: Focus) -> Result<Set<'a>, XPathError> {
        match expr {
            Expr::Path(path) => self.path(path, focus),
            Expr::Union(operands) => {
                let mut all = self.tree.pool.keys();
                for operand in operands {
                    all.extend_from_slice(&self.nodes(operand, focus)?);
                }
                self.tree.spend(all.len())?;
                sort_and_dedup(&mut all);
                Ok(Set::Owned(all))
            }
            Expr::Call(Function::Id, arguments) => self.elements_by_id(&arguments[0], focus),
            // No other expression is a node-set; the parser rejects them here.
            _ => Ok(Set::Owned(self.tree.pool.keys())),
        }
    }

    pub(super) fn boolean(&self, expr: &'a Expr, focus: Focus) -> Result<bool, XPathError> {
        match expr.type_of() {
            Type::Nodes => self.any(expr, focus, |_| Ok(true)),
            Type::String => Ok(!self.string(expr, focus)?.is_empty()),
            Type::Number => Ok(values::number_to_boolean(self.number(expr, focus)?)),
            Type::Boolean => match expr {
                Expr::Chain(first, rest) => self.logic(first, rest, focus),
                Expr::Call(function, arguments) => self.call_boolean(*function, arguments, focus),
                _ => Ok(false),
            },
        }
    }

    pub(super) fn number(&self, expr: &'a Expr, focus: Focus) -> Result<f64, XPathError> {
        match expr {
            Expr::Number(number) => Ok(*number),
            Expr::Negate(operand) => Ok(-self.number(operand, focus)?),
            Expr::ToNumber(operand) => self.number(operand, focus),
            _ => match expr.type_of() {
                Type::Number => match expr {
                    Expr::Chain(first, rest) => self.arithmetic(first, rest, focus),
                    Expr::Call(function, arguments) => {
                        self.call_number(*function, arguments, focus)
                    }
                    _ => Ok(f64::NAN),
                },
                Type::Boolean => Ok(f64::from(u8::from(self.boolean(expr, focus)?))),
                Type::String | Type::Nodes => Ok(values::to_number(&self.string(expr, focus)?)),
            },
        }
    }

    pub(super) fn string(&self, expr: &'a Expr, focus: Focus) -> Result<Text<'a>, XPathError> {
        match expr.type_of() {
            Type::Nodes => match self.first(expr, focus)? {
                Some(key) => self.tree.string_value(key),
                None => Ok("".into()),
            },
            Type::String => match expr {
                Expr::Literal(text) => Ok((&**text).into()),
                Expr::Call(function, arguments) => self.call_string(*function, arguments, focus),
                _ => Ok("".into()),
            },
            Type::Number => {
                let mut text = self.tree.pool.text();
                values::write_number(&mut text, self.number(expr, focus)?);
                Ok(text.into())
            }
            Type::Boolean => Ok(if self.boolean(expr, focus)? {
                "true"
            } else {
                "false"
            }
            .into()),
        }
    }

    fn path(&self, path: &'a Path, focus: Focus) -> Result<Set<'a>, XPathError> {
        let mut keys = self.tree.pool.keys();
        match &path.start {
            Start::Context => keys.push(focus.key),
            Start::Root(slot) => match &self.roots.borrow()[*slot] {
                Some(cached) => return Ok(Set::Shared(Rc::clone(cached))),
                None => keys.push(Key::node(self.tree.root)),
            },
            Start::Filter(expr, predicates) => {
                let nodes = self.nodes(expr, focus)?;
                if path.steps.is_empty() && predicates.is_empty() {
                    return Ok(nodes);
                }
                keys.extend_from_slice(&nodes);
                self.filter(&mut keys, predicates)?;
            }
        }
        for step in &path.steps {
            keys = self.step(step, &keys)?;
        }
        let Start::Root(slot) = path.start else {
            return Ok(Set::Owned(keys));
        };
        let keys: Rc<[Key]> = Rc::from(keys.as_slice());
        self.roots.borrow_mut()[slot] = Some(Rc::clone(&keys));
        Ok(Set::Shared(keys))
    }

    fn step(&self, step: &'a Step, contexts: &[Key]) -> Result<Keys<'a>, XPathError> {
        let Step {
            axis,
            test,
            predicates,
        } = step;
        if !predicates.iter().any(|predicate| predicate.is_positional) {
            let mut keys = self.tree.collect(*axis, test, contexts)?;
            self.filter(&mut keys, predicates)?;
            return Ok(keys);
        }
        // Positions restart at each context node. A number as the first predicate ends the search
        // early.
        let limit = match predicates.first().map(|predicate| &predicate.expr) {
            Some(Expr::Number(number)) => *number as usize,
            _ => usize::MAX,
        };
        let (mut all, mut keys) = (self.tree.pool.keys(), self.tree.pool.keys());
        for &context in contexts {
            keys.clear();
            self.tree.walk(*axis, test, context, &mut |key| {
                keys.push(key);
                Ok(keys.len() >= limit)
            })?;
            self.filter(&mut keys, predicates)?;
            all.extend_from_slice(&keys);
        }
        self.tree.spend(all.len())?;
        if axis.is_reverse() {
            all.reverse();
        }
        sort_and_dedup(&mut all);
        Ok(all)
    }

    /// Retains the nodes that satisfy all predicates; positions refer to `keys`.
    fn filter(&self, keys: &mut Vec<Key>, predicates: &'a [Predicate]) -> Result<(), XPathError> {
        for predicate in predicates {
            if let Expr::Number(number) = predicate.expr {
                let only = values::nth(keys, number);
                keys.clear();
                keys.extend(only);
                continue;
            }
            let (size, mut n_passed) = (keys.len(), 0);
            for at in 0..size {
                let focus = Focus {
                    key: keys[at],
                    position: at + 1,
                    size,
                };
                if self.holds(predicate, focus)? {
                    keys[n_passed] = keys[at];
                    n_passed += 1;
                }
            }
            keys.truncate(n_passed);
        }
        Ok(())
    }

    fn holds(&self, predicate: &'a Predicate, focus: Focus) -> Result<bool, XPathError> {
        self.tree.spend(1)?;
        match predicate.expr.type_of() {
            Type::Number => Ok(self.number(&predicate.expr, focus)? == focus.position as f64),
            _ => self.boolean(&predicate.expr, focus),
        }
    }

    /// Whether any node of a set passes. Evaluates a single-step path lazily.
    fn any(
        &self,
        expr: &'a Expr,
        focus: Focus,
        mut passes: impl FnMut(Key) -> Result<bool, XPathError>,
    ) -> Result<bool, XPathError> {
        if let Some(step) = single_step(expr) {
            return self
                .tree
                .walk(step.axis, &step.test, focus.key, &mut |key| {
                    for predicate in &step.predicates {
                        if !self.holds(predicate, Focus::only(key))? {
                            return Ok(false);
                        }
                    }
                    passes(key)
                });
        }
        for &key in self.nodes(expr, focus)?.iter() {
            self.tree.spend(1)?;
            if passes(key)? {
                return Ok(true);
            }
        }
        Ok(false)
    }

    /// First node of a set in document order.
    pub(super) fn first(&self, expr: &'a Expr, focus: Focus) -> Result<Option<Key>, XPathError> {
        if single_step(expr).is_none_or(|step| step.axis.is_reverse()) {
            return Ok(self.nodes(expr, focus)?.first().copied());
        }
        let mut first = None;
        self.any(expr, focus, |key| {
            first = Some(key);
            Ok(true)
        })?;
        Ok(first)
    }

    fn arithmetic(
        &self,
        first: &'a Expr,
        rest: &'a [(Operator, Expr)],
        focus: Focus,
    ) -> Result<f64, XPathError> {
        let mut value = self.number(first, focus)?;
        for (operator, operand) in rest {
            let operand = self.number(operand, focus)?;
            value = match operator {
                Operator::Add => value + operand,
                Operator::Subtract => value - operand,
                Operator::Multiply => value * operand,
                Operator::Divide => value / operand,
                _ => value % operand,
            };
        }
        Ok(value)
    }

    fn logic(
        &self,
        first: &'a Expr,
        rest: &'a [(Operator, Expr)],
        focus: Focus,
    ) -> Result<bool, XPathError> {
        let mut value = None;
        for (operator, operand) in rest {
            let left = match value {
                None if matches!(operator, Operator::And | Operator::Or) => {
                    Some(self.boolean(first, focus)?)
                }
                value => value,
            };
            value = Some(match (operator, left) {
                (Operator::Or, Some(left)) => left || self.boolean(operand, focus)?,
                (Operator::And, Some(left)) => left && self.boolean(operand, focus)?,
                (_, None) => self.compare(first, *operator, operand, focus)?,
                (_, Some(left)) => self.compare_boolean(left, *operator, operand, focus)?,
            });
        }
        Ok(value.unwrap_or_default())
    }

    /// XPath 1.0, 3.4 "Booleans".
    fn compare(
        &self,
        left: &'a Expr,
        operator: Operator,
        right: &'a Expr,
        focus: Focus,
    ) -> Result<bool, XPathError> {
        let is_equality = matches!(operator, Operator::Equal | Operator::NotEqual);
        match (left.type_of(), right.type_of()) {
            (Type::Nodes, Type::Nodes) => {
                let (left, right) = (self.nodes(left, focus)?, self.nodes(right, focus)?);
                if is_equality {
                    return self.any_pair(&left, &right, operator == Operator::Equal);
                }
                Ok(values::any_compare(
                    operator,
                    self.range_of(&left)?,
                    self.range_of(&right)?,
                ))
            }
            (Type::Boolean, _) => {
                self.compare_boolean(self.boolean(left, focus)?, operator, right, focus)
            }
            (_, Type::Boolean) => {
                let right = self.boolean(right, focus)?;
                self.compare_boolean(right, values::swapped(operator), left, focus)
            }
            (Type::Nodes, _) => self.compare_nodes(left, operator, right, focus),
            (_, Type::Nodes) => self.compare_nodes(right, values::swapped(operator), left, focus),
            (Type::String, Type::String) if is_equality => {
                let is_equal = self.string(left, focus)? == self.string(right, focus)?;
                Ok(is_equal == (operator == Operator::Equal))
            }
            _ => Ok(values::compare(
                operator,
                self.number(left, focus)?,
                self.number(right, focus)?,
            )),
        }
    }

    fn compare_boolean(
        &self,
        left: bool,
        operator: Operator,
        right: &'a Expr,
        focus: Focus,
    ) -> Result<bool, XPathError> {
        let left = f64::from(u8::from(left));
        let is_equality = matches!(operator, Operator::Equal | Operator::NotEqual);
        let right = if is_equality || right.type_of() == Type::Nodes {
            f64::from(u8::from(self.boolean(right, focus)?))
        } else {
            self.number(right, focus)?
        };
        Ok(values::compare(operator, left, right))
    }

    /// Whether any node of a set satisfies the comparison with a string or a number.
    fn compare_nodes(
        &self,
        nodes: &'a Expr,
        operator: Operator,
        other: &'a Expr,
        focus: Focus,
    ) -> Result<bool, XPathError> {
        let is_equality = matches!(operator, Operator::Equal | Operator::NotEqual);
        if is_equality && other.type_of() == Type::String {
            let other = self.string(other, focus)?;
            return self.any(nodes, focus, |key| {
                let is_equal = self.tree.string_value(key)? == other;
                Ok(is_equal == (operator == Operator::Equal))
            });
        }
        let other = self.number(other, focus)?;
        self.any(nodes, focus, |key| {
            let own = values::to_number(&self.tree.string_value(key)?);
            Ok(values::compare(operator, own, other))
        })
    }

    /// Whether there is a pair of nodes from the two sets with equal, or with different, text.
    #[expect(
        clippy::mutable_key_type,
        reason = "the hash of a text does not depend on its pool"
    )]
    fn any_pair(&self, left: &[Key], right: &[Key], equal: bool) -> Result<bool, XPathError> {
        let mut seen: HashSet<Text<'a>> = HashSet::with_capacity(left.len().min(SMALL_SET));
        for &key in left {
            self.tree.spend(1)?;
            seen.insert(self.tree.string_value(key)?);
            if !equal && seen.len() > 1 {
                // Every node of the other set differs from one of these two.
                return Ok(!right.is_empty());
            }
        }
        for &key in right {
            self.tree.spend(1)?;
            let is_known = seen.contains(&*self.tree.string_value(key)?);
            if is_known == equal && !left.is_empty() {
                return Ok(true);
            }
        }
        Ok(false)
    }

    /// Minimum and maximum of the nodes' numeric values; `None` if no value is a number.
    fn range_of(&self, keys: &[Key]) -> Result<Option<(f64, f64)>, XPathError> {
        let mut range: Option<(f64, f64)> = None;
        for &key in keys {
            self.tree.spend(1)?;
            let number = values::to_number(&self.tree.string_value(key)?);
            if !number.is_nan() {
                let (least, greatest) = range.unwrap_or((number, number));
                range = Some((least.min(number), greatest.max(number)));
            }
        }
        Ok(range)
    }

    fn elements_by_id(&self, argument: &'a Expr, focus: Focus) -> Result<Set<'a>, XPathError> {
        let mut wanted = self.tree.pool.text();
        match argument.type_of() {
            Type::Nodes => {
                for &key in self.nodes(argument, focus)?.iter() {
                    wanted.push_str(&self.tree.string_value(key)?);
                    wanted.push(' ');
                }
            }
            _ => wanted.push_str(&self.string(argument, focus)?),
        }
        self.tree
            .spend(wanted.len() / super::tree::BYTES_PER_STEP)?;
        let ids = self.ids()?;
        let words = wanted.split(super::lexer::is_space);
        let mut found = self.tree.pool.keys();
        found.extend(
            words
                .filter_map(|word| ids.get(word))
                .map(|&node| Key::node(node)),
        );
        sort_and_dedup(&mut found);
        Ok(Set::Owned(found))
    }

    fn ids(&self) -> Result<&HashMap<&'a str, u32>, XPathError> {
        if let Some(ids) = self.ids.get() {
            return Ok(ids);
        }
        let mut ids = HashMap::new();
        let root = Key::node(self.tree.root);
        self.tree.walk(
            super::ast::Axis::Descendant,
            &super::ast::Test::AnyName,
            root,
            &mut |key| {
                if let Some(id) = self.tree.id(key.node).filter(|id| !id.is_empty()) {
                    ids.entry(id).or_insert(key.node);
                }
                Ok(false)
            },
        )?;
        Ok(self.ids.get_or_init(|| ids))
    }
}

/// The step of a path that has a single step from the context node and no positional predicates.
fn single_step(expr: &Expr) -> Option<&Step> {
    match expr {
        Expr::Path(Path {
            start: Start::Context,
            steps,
        }) => match steps.as_slice() {
            [step]
                if step
                    .predicates
                    .iter()
                    .all(|predicate| !predicate.is_positional) =>
            {
                Some(step)
            }
            _ => None,
        },
        _ => None,
    }
}
