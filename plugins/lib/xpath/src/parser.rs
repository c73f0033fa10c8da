//! Parses tokens into an expression (XPath 1.0, chapters 2 and 3).

use super::XPathError;
use super::ast::{
    Axis, Expr, FUNCTIONS, Function, Operator, Path, Predicate, Start, Step, Test, Type,
};
use super::lexer::{Kind, Token, tokens};

/// Maximum nesting depth of parentheses, brackets and calls.
pub(super) const NESTING_MAX: usize = 40;

/// A parsed expression with the data that evaluation needs.
pub(super) struct Parsed {
    pub(super) expr: Expr,
    /// Names in node tests; [`Test::Name`] indexes them.
    pub(super) names: Vec<Box<str>>,
    /// Number of paths that start at the document.
    pub(super) n_roots: usize,
}

/// Operators by precedence, lowest first.
const LEVELS: [&[(&str, Operator)]; 6] = [
    &[("or", Operator::Or)],
    &[("and", Operator::And)],
    &[("=", Operator::Equal), ("!=", Operator::NotEqual)],
    &[
        ("<", Operator::Less),
        ("<=", Operator::LessOrEqual),
        (">", Operator::Greater),
        (">=", Operator::GreaterOrEqual),
    ],
    &[("+", Operator::Add), ("-", Operator::Subtract)],
    &[
        ("*", Operator::Multiply),
        ("div", Operator::Divide),
        ("mod", Operator::Modulo),
    ],
];

/// Parses an expression.
pub(super) fn parse(text: &str) -> Result<Parsed, XPathError> {
    let mut parser = Parser {
        text,
        tokens: tokens(text)?,
        next: 0,
        depth: 0,
        names: Vec::new(),
        n_roots: 0,
    };
    let expr = parser.expr()?;
    if parser.peek() != Kind::End {
        return Err(parser.unexpected("an operator or the end"));
    }
    Ok(Parsed {
        expr,
        names: parser.names,
        n_roots: parser.n_roots,
    })
}

struct Parser<'a> {
    text: &'a str,
    tokens: Vec<Token<'a>>,
    /// Index of the next token; never moves past the last one.
    next: usize,
    depth: usize,
    names: Vec<Box<str>>,
    n_roots: usize,
}

impl<'a> Parser<'a> {
    fn peek(&self) -> Kind<'a> {
        self.tokens[self.next].kind
    }

    fn peek_second(&self) -> Kind<'a> {
        self.tokens
            .get(self.next + 1)
            .map_or(Kind::End, |token| token.kind)
    }

    fn advance(&mut self) {
        self.next = (self.next + 1).min(self.tokens.len() - 1);
    }

    /// Consumes the next token if it is this mark.
    fn take(&mut self, mark: &'static str) -> bool {
        let is_next = self.peek() == Kind::Mark(mark);
        if is_next {
            self.advance();
        }
        is_next
    }

    fn expect(&mut self, mark: &'static str) -> Result<(), XPathError> {
        if self.take(mark) {
            Ok(())
        } else {
            Err(self.unexpected(&format!("`{mark}`")))
        }
    }

    fn unexpected(&self, expected: &str) -> XPathError {
        let found = match self.peek() {
            Kind::Name(name) => format!("`{name}`"),
            Kind::Literal(_) => "a quoted string".to_owned(),
            Kind::Number(_) => "a number".to_owned(),
            Kind::Mark(mark) => format!("`{mark}`"),
            Kind::Star => "`*`".to_owned(),
            Kind::End => "the end".to_owned(),
        };
        self.error(self.next, format!("expected {expected}, found {found}"))
    }

    fn error(&self, token: usize, reason: impl Into<String>) -> XPathError {
        XPathError::at(self.text, self.tokens[token].at, reason)
    }

    fn expr(&mut self) -> Result<Expr, XPathError> {
        self.depth += 1;
        if self.depth > NESTING_MAX {
            let reason = format!("the expression is nested more than {NESTING_MAX} levels deep");
            return Err(self.error(self.next, reason));
        }
        let expr = self.level(0)?;
        self.depth -= 1;
        Ok(expr)
    }

    /// Parses operands and operators of one precedence.
    fn level(&mut self, level: usize) -> Result<Expr, XPathError> {
        let Some(operators) = LEVELS.get(level) else {
            return self.unary();
        };
        let first = self.level(level + 1)?;
        let mut rest = Vec::new();
        while let Some((mark, operator)) = operators
            .iter()
            .find(|(mark, _)| self.peek() == Kind::Mark(mark))
        {
            self.expect(mark)?;
            rest.push((*operator, self.level(level + 1)?));
        }
        if rest.is_empty() {
            return Ok(first);
        }
        Ok(Expr::Chain(Box::new(first), rest))
    }

    fn unary(&mut self) -> Result<Expr, XPathError> {
        let mut n_minuses = 0_usize;
        while self.take("-") {
            n_minuses += 1;
        }
        let operand = self.union()?;
        Ok(match n_minuses {
            0 => operand,
            _ if n_minuses.is_multiple_of(2) => Expr::ToNumber(Box::new(operand)),
            _ => Expr::Negate(Box::new(operand)),
        })
    }

    fn union(&mut self) -> Result<Expr, XPathError> {
        let start = self.next;
        let first = self.path()?;
        if self.peek() != Kind::Mark("|") {
            return Ok(first);
        }
        self.require_nodes(&first, start, "an operand of `|`")?;
        let mut operands = vec![first];
        while self.take("|") {
            let start = self.next;
            let operand = self.path()?;
            self.require_nodes(&operand, start, "an operand of `|`")?;
            operands.push(operand);
        }
        Ok(Expr::Union(operands))
    }

    fn require_nodes(&self, expr: &Expr, token: usize, place: &str) -> Result<(), XPathError> {
        match expr.type_of() {
            Type::Nodes => Ok(()),
            _ => Err(self.error(
                token,
                format!("{place} must be a node-set, not a string, number or boolean"),
            )),
        }
    }

    fn path(&mut self) -> Result<Expr, XPathError> {
        match self.peek() {
            Kind::Mark("/") => {
                self.advance();
                let start = self.root();
                let steps = if self.begins_step() {
                    self.steps(Vec::new())?
                } else {
                    Vec::new()
                };
                Ok(Expr::Path(Path { start, steps }))
            }
            Kind::Mark("//") => {
                self.advance();
                let start = self.root();
                let steps = self.steps(vec![descendant_or_self()])?;
                Ok(Expr::Path(Path { start, steps }))
            }
            _ if self.begins_primary() => self.filter(),
            _ => {
                let steps = self.steps(Vec::new())?;
                Ok(Expr::Path(Path {
                    start: Start::Context,
                    steps,
                }))
            }
        }
    }

    fn root(&mut self) -> Start {
        self.n_roots += 1;
        Start::Root(self.n_roots - 1)
    }

    fn begins_step(&self) -> bool {
        matches!(
            self.peek(),
            Kind::Name(_) | Kind::Star | Kind::Mark("@" | "." | "..")
        )
    }

    fn begins_primary(&self) -> bool {
        match self.peek() {
            Kind::Literal(_) | Kind::Number(_) | Kind::Mark("(") => true,
            Kind::Name(name) => self.peek_second() == Kind::Mark("(") && !is_node_type(name),
            _ => false,
        }
    }

    /// Parses a primary expression with optional predicates and steps.
    fn filter(&mut self) -> Result<Expr, XPathError> {
        let start = self.next;
        let primary = self.primary()?;
        let has_more = matches!(self.peek(), Kind::Mark("[" | "/" | "//"));
        if !has_more {
            return Ok(primary);
        }
        self.require_nodes(&primary, start, "the expression before `[` or `/`")?;
        let predicates = self.predicates()?;
        let steps = match self.peek() {
            Kind::Mark("/") => {
                self.advance();
                self.steps(Vec::new())?
            }
            Kind::Mark("//") => {
                self.advance();
                self.steps(vec![descendant_or_self()])?
            }
            _ => Vec::new(),
        };
        let start = Start::Filter(Box::new(primary), predicates);
        Ok(Expr::Path(Path { start, steps }))
    }

    fn primary(&mut self) -> Result<Expr, XPathError> {
        let start = self.next;
        let kind = self.peek();
        self.advance();
        match kind {
            Kind::Literal(text) => Ok(Expr::Literal(text.into())),
            Kind::Number(number) => Ok(Expr::Number(number)),
            Kind::Name(name) => self.call(name, start),
            _ => {
                let expr = self.expr()?;
                self.expect(")")?;
                Ok(expr)
            }
        }
    }

    fn call(&mut self, name: &str, start: usize) -> Result<Expr, XPathError> {
        self.expect("(")?;
        let Some(&(_, function, least, most, _)) = FUNCTIONS.iter().find(|row| row.0 == name)
        else {
            return Err(self.error(start, format!("XPath 1.0 has no function `{name}`")));
        };
        let mut arguments = Vec::new();
        if !self.take(")") {
            arguments.push(self.expr()?);
            while self.take(",") {
                arguments.push(self.expr()?);
            }
            self.expect(")")?;
        }
        if !(least..=most).contains(&arguments.len()) {
            let reason = format!(
                "`{name}` takes {}, not {}",
                takes(least, most),
                arguments.len()
            );
            return Err(self.error(start, reason));
        }
        if let (Function::Count, [argument]) = (function, arguments.as_slice()) {
            self.require_nodes(argument, start, "the argument of `count`")?;
        }
        Ok(Expr::Call(function, arguments))
    }

    /// Parses the remaining steps and appends them to `steps`.
    fn steps(&mut self, mut steps: Vec<Step>) -> Result<Vec<Step>, XPathError> {
        loop {
            let step = self.step()?;
            add_step(&mut steps, step);
            if self.take("//") {
                steps.push(descendant_or_self());
            } else if !self.take("/") {
                return Ok(steps);
            }
        }
    }

    fn step(&mut self) -> Result<Step, XPathError> {
        if self.take(".") {
            return Ok(bare(Axis::SelfNode));
        }
        if self.take("..") {
            return Ok(bare(Axis::Parent));
        }
        let axis = self.axis()?;
        let test = self.test()?;
        let predicates = self.predicates()?;
        Ok(Step {
            axis,
            test,
            predicates,
        })
    }

    fn axis(&mut self) -> Result<Axis, XPathError> {
        if self.take("@") {
            return Ok(Axis::Attribute);
        }
        let (Kind::Name(name), Kind::Mark("::")) = (self.peek(), self.peek_second()) else {
            return Ok(Axis::Child);
        };
        let axis = Axis::of(name)
            .ok_or_else(|| self.error(self.next, format!("unknown axis `{name}`")))?;
        self.advance();
        self.advance();
        Ok(axis)
    }

    fn test(&mut self) -> Result<Test, XPathError> {
        let name = match self.peek() {
            Kind::Star => {
                self.advance();
                return Ok(Test::AnyName);
            }
            Kind::Name(name) => name,
            _ => return Err(self.unexpected("a step")),
        };
        if !(is_node_type(name) && self.peek_second() == Kind::Mark("(")) {
            self.advance();
            return Ok(self.name_test(name));
        }
        self.advance();
        self.advance();
        let test = match (name, self.peek()) {
            ("processing-instruction", Kind::Literal(target)) => {
                self.advance();
                Test::ProcessingInstruction(Some(target.into()))
            }
            ("processing-instruction", _) => Test::ProcessingInstruction(None),
            ("text", _) => Test::Text,
            ("comment", _) => Test::Comment,
            _ => Test::Any,
        };
        self.expect(")")?;
        Ok(test)
    }

    fn name_test(&mut self, name: &str) -> Test {
        let known = self.names.iter().position(|known| **known == *name);
        Test::Name(known.unwrap_or_else(|| {
            self.names.push(name.into());
            self.names.len() - 1
        }))
    }

    fn predicates(&mut self) -> Result<Vec<Predicate>, XPathError> {
        let mut predicates = Vec::new();
        while self.take("[") {
            predicates.push(Predicate::new(self.expr()?));
            self.expect("]")?;
        }
        Ok(predicates)
    }
}

fn is_node_type(name: &str) -> bool {
    matches!(name, "comment" | "node" | "processing-instruction" | "text")
}

fn takes(least: usize, most: usize) -> String {
    match (least, most) {
        (0, 0) => "no arguments".to_owned(),
        (1, 1) => "1 argument".to_owned(),
        (_, usize::MAX) => format!("at least {least} arguments"),
        _ if least == most => format!("{least} arguments"),
        _ => format!("{least} to {most} arguments"),
    }
}

fn bare(axis: Axis) -> Step {
    Step {
        axis,
        test: Test::Any,
        predicates: Vec::new(),
    }
}

/// The step that `//` abbreviates.
fn descendant_or_self() -> Step {
    bare(Axis::DescendantOrSelf)
}

/// Appends a step. Merges `//` and a child step into one descendant step, unless positions matter,
/// which count among the children of each parent.
fn add_step(steps: &mut Vec<Step>, mut step: Step) {
    let after_any_below = steps.last().is_some_and(|last| {
        last.axis == Axis::DescendantOrSelf && last.test == Test::Any && last.predicates.is_empty()
    });
    let asks_positions = step
        .predicates
        .iter()
        .any(|predicate| predicate.is_positional);
    if after_any_below && step.axis == Axis::Child && !asks_positions {
        steps.pop();
        step.axis = Axis::Descendant;
    }
    steps.push(step);
}
