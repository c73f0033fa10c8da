//! Abstract syntax tree of an expression.

/// Static type of an expression. Without variables it is known before evaluation.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) enum Type {
    Nodes,
    String,
    Number,
    Boolean,
}

/// An expression. Consecutive operators of the same precedence form one flat chain, so that long
/// sums need no deep recursion.
#[derive(Clone, Debug)]
pub(super) enum Expr {
    Number(f64),
    Literal(Box<str>),
    /// An odd number of unary minuses.
    Negate(Box<Expr>),
    /// An even number of unary minuses: a conversion to a number.
    ToNumber(Box<Expr>),
    Chain(Box<Expr>, Vec<(Operator, Expr)>),
    Union(Vec<Expr>),
    Call(Function, Vec<Expr>),
    Path(Path),
}

/// An operator between two operands.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) enum Operator {
    Or,
    And,
    Equal,
    NotEqual,
    Less,
    LessOrEqual,
    Greater,
    GreaterOrEqual,
    Add,
    Subtract,
    Multiply,
    Divide,
    Modulo,
}

/// A location path, or an expression followed by predicates and steps.
#[derive(Clone, Debug)]
pub(super) struct Path {
    pub(super) start: Start,
    pub(super) steps: Vec<Step>,
}

/// Start of a path.
#[derive(Clone, Debug)]
pub(super) enum Start {
    /// The document. Such a path yields the same result everywhere, cached under this index.
    Root(usize),
    Context,
    Filter(Box<Expr>, Vec<Predicate>),
}

#[derive(Clone, Debug)]
pub(super) struct Step {
    pub(super) axis: Axis,
    pub(super) test: Test,
    pub(super) predicates: Vec<Predicate>,
}

#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) enum Axis {
    Ancestor,
    AncestorOrSelf,
    Attribute,
    Child,
    Descendant,
    DescendantOrSelf,
    Following,
    FollowingSibling,
    Namespace,
    Parent,
    Preceding,
    PrecedingSibling,
    SelfNode,
}

/// Node test of a step.
#[derive(Clone, Debug, PartialEq, Eq)]
pub(super) enum Test {
    /// `node()`.
    Any,
    Text,
    Comment,
    /// With the required target, if any.
    ProcessingInstruction(Option<Box<str>>),
    /// `*`.
    AnyName,
    /// A name, as an index into the expression's names.
    Name(usize),
}

/// A predicate.
#[derive(Clone, Debug)]
pub(super) struct Predicate {
    pub(super) expr: Expr,
    /// Whether the result depends on the node's position.
    pub(super) is_positional: bool,
}

/// A function of the core library.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) enum Function {
    Boolean,
    Ceiling,
    Concat,
    Contains,
    Count,
    False,
    Floor,
    Id,
    Lang,
    Last,
    LocalName,
    Name,
    NamespaceUri,
    NormalizeSpace,
    Not,
    Number,
    Position,
    Round,
    StartsWith,
    String,
    StringLength,
    Substring,
    SubstringAfter,
    SubstringBefore,
    Sum,
    Translate,
    True,
}

/// Name, minimum and maximum number of arguments, and result type of each function.
pub(super) const FUNCTIONS: [(&str, Function, usize, usize, Type); 27] = [
    ("boolean", Function::Boolean, 1, 1, Type::Boolean),
    ("ceiling", Function::Ceiling, 1, 1, Type::Number),
    ("concat", Function::Concat, 2, usize::MAX, Type::String),
    ("contains", Function::Contains, 2, 2, Type::Boolean),
    ("count", Function::Count, 1, 1, Type::Number),
    ("false", Function::False, 0, 0, Type::Boolean),
    ("floor", Function::Floor, 1, 1, Type::Number),
    ("id", Function::Id, 1, 1, Type::Nodes),
    ("lang", Function::Lang, 1, 1, Type::Boolean),
    ("last", Function::Last, 0, 0, Type::Number),
    ("local-name", Function::LocalName, 0, 1, Type::String),
    ("name", Function::Name, 0, 1, Type::String),
    ("namespace-uri", Function::NamespaceUri, 0, 1, Type::String),
    (
        "normalize-space",
        Function::NormalizeSpace,
        0,
        1,
        Type::String,
    ),
    ("not", Function::Not, 1, 1, Type::Boolean),
    ("number", Function::Number, 0, 1, Type::Number),
    ("position", Function::Position, 0, 0, Type::Number),
    ("round", Function::Round, 1, 1, Type::Number),
    ("starts-with", Function::StartsWith, 2, 2, Type::Boolean),
    ("string", Function::String, 0, 1, Type::String),
    ("string-length", Function::StringLength, 0, 1, Type::Number),
    ("substring", Function::Substring, 2, 3, Type::String),
    (
        "substring-after",
        Function::SubstringAfter,
        2,
        2,
        Type::String,
    ),
    (
        "substring-before",
        Function::SubstringBefore,
        2,
        2,
        Type::String,
    ),
    ("sum", Function::Sum, 1, 1, Type::Number),
    ("translate", Function::Translate, 3, 3, Type::String),
    ("true", Function::True, 0, 0, Type::Boolean),
];

impl Expr {
    /// Static type of the expression.
    pub(super) fn type_of(&self) -> Type {
        match self {
            Self::Number(_) | Self::Negate(_) | Self::ToNumber(_) => Type::Number,
            Self::Literal(_) => Type::String,
            Self::Chain(_, rest) => rest
                .first()
                .map_or(Type::Number, |(operator, _)| operator.result_type()),
            Self::Union(_) | Self::Path(_) => Type::Nodes,
            Self::Call(function, _) => function.result_type(),
        }
    }

    /// Whether the expression depends on the position or size of its context. Nested predicates
    /// have a context of their own.
    fn depends_on_position(&self) -> bool {
        match self {
            Self::Number(_) | Self::Literal(_) => false,
            Self::Negate(operand) | Self::ToNumber(operand) => operand.depends_on_position(),
            Self::Chain(first, rest) => {
                first.depends_on_position()
                    || rest
                        .iter()
                        .any(|(_, operand)| operand.depends_on_position())
            }
            Self::Union(operands) => operands.iter().any(Self::depends_on_position),
            Self::Call(function, arguments) => {
                matches!(function, Function::Position | Function::Last)
                    || arguments.iter().any(Self::depends_on_position)
            }
            Self::Path(path) => match &path.start {
                Start::Filter(expr, _) => expr.depends_on_position(),
                Start::Root(_) | Start::Context => false,
            },
        }
    }
}

impl Predicate {
    pub(super) fn new(expr: Expr) -> Self {
        let is_positional = expr.type_of() == Type::Number || expr.depends_on_position();
        Self {
            expr,
            is_positional,
        }
    }
}

impl Operator {
    fn result_type(self) -> Type {
        match self {
            Self::Add | Self::Subtract | Self::Multiply | Self::Divide | Self::Modulo => {
                Type::Number
            }
            _ => Type::Boolean,
        }
    }
}

impl Function {
    fn result_type(self) -> Type {
        let row = FUNCTIONS.iter().find(|row| row.1 == self);
        row.map_or(Type::String, |row| row.4)
    }
}

impl Axis {
    pub(super) fn of(name: &str) -> Option<Self> {
        Some(match name {
            "ancestor" => Self::Ancestor,
            "ancestor-or-self" => Self::AncestorOrSelf,
            "attribute" => Self::Attribute,
            "child" => Self::Child,
            "descendant" => Self::Descendant,
            "descendant-or-self" => Self::DescendantOrSelf,
            "following" => Self::Following,
            "following-sibling" => Self::FollowingSibling,
            "namespace" => Self::Namespace,
            "parent" => Self::Parent,
            "preceding" => Self::Preceding,
            "preceding-sibling" => Self::PrecedingSibling,
            "self" => Self::SelfNode,
            _ => return None,
        })
    }

    /// Whether this is a reverse axis, on which positions count against document order.
    pub(super) fn is_reverse(self) -> bool {
        matches!(
            self,
            Self::Ancestor | Self::AncestorOrSelf | Self::Preceding | Self::PrecedingSibling
        )
    }
}
