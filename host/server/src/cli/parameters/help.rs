//! What `--help` says of request parameters, from their rows.

use std::fmt::{self, Write};

use clap::builder::{PossibleValue, PossibleValuesParser, RangedU64ValueParser, StyledStr};
use clap::error::{ContextKind, ContextValue, ErrorKind};

use trawl_parameters::{
    self as parameters, CommandOption, GROUPS, Parameter, Range, Routes, STEPS, Shape, condition,
    nearest,
};
use trawl_plan::Needs;

use super::{CommandParameters, object_of};

/// Columns of the section of parameters, and of an option's description next to its name.
const COLUMNS: usize = 100;
const OPTION_COLUMNS: usize = 72;
/// Columns before a name, and before its description.
const NAME_INDENT: usize = 2;
const TEXT_INDENT: usize = 10;

/// Commands that take any parameter.
const COMMANDS: [&str; 6] = ["scrape", "crawl", "batch", "map", "search", "transform"];

const INTRODUCTION: &str = "\
Parameters:
  Each is set with `--set NAME=VALUE`: texts as they are, everything else as JSON. Keys of objects
  follow a dot, `--set` once more adds an item to a list, and a switch needs no value. `--data`
  takes all of them as one JSON object. `docs/reference.md` describes them, too.
";

/// The row of a parameter that an option stands for.
pub(super) fn row(name: &str) -> &'static Parameter {
    parameters::find(name).expect("options stand for parameters of the tables")
}

/// The help of an option that stands for this parameter: what it does, its range and its default.
pub(in crate::cli) fn help(name: &str) -> OptionHelp {
    help_of(row(name))
}

/// The help of the option that the row of a parameter describes.
pub(super) fn option_help(row: &'static Parameter, option: CommandOption) -> OptionHelp {
    let mut help = help_of(row).note(option.note);
    if let Some(default) = option.default {
        help = help.default(default);
    }
    if option.long().replace('-', "_") != row.name {
        help = help.named();
    }
    help
}

fn help_of(row: &'static Parameter) -> OptionHelp {
    OptionHelp {
        row,
        note: "",
        default: match row.shape {
            // A switch that is off by default is switched on.
            Shape::Switch | Shape::Either([Shape::Switch, _]) if row.default == "false" => "",
            _ => row.default,
        },
        is_named: false,
    }
}

/// The help of an option.
#[derive(Debug)]
pub(in crate::cli) struct OptionHelp {
    row: &'static Parameter,
    note: &'static str,
    default: &'static str,
    is_named: bool,
}

impl OptionHelp {
    /// Adds what is different on the command line.
    fn note(self, note: &'static str) -> Self {
        Self { note, ..self }
    }

    /// Replaces the default by the command's own. An empty one is not shown.
    pub(in crate::cli) fn default(self, default: &'static str) -> Self {
        Self { default, ..self }
    }

    /// Adds the name of the parameter, which differs from the option's.
    pub(in crate::cli) fn named(self) -> Self {
        Self {
            is_named: true,
            ..self
        }
    }
}

impl fmt::Display for OptionHelp {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        let Self { row, .. } = self;
        f.write_str(&sentences(row.doc))?;
        if !self.note.is_empty() {
            write!(f, ". {}", self.note)?;
        }
        if let Some(range) = first_count(&row.shape).filter(|range| is_bounded(*range)) {
            write!(f, " [{}]", count_text(range))?;
        }
        let default = clauses(self.default);
        if !default.is_empty() && default != "not set" {
            write!(f, " [default: {default}]")?;
        }
        if self.is_named {
            write!(f, " [parameter: {}]", row.name)?;
        }
        Ok(())
    }
}

impl From<OptionHelp> for StyledStr {
    fn from(help: OptionHelp) -> Self {
        let mut text = String::new();
        add_wrapped(&mut text, &help.to_string(), 0, OPTION_COLUMNS);
        text.trim_end().to_owned().into()
    }
}

/// The values of an option that stands for a parameter with choices.
pub(super) fn choices(name: &str) -> PossibleValuesParser {
    let choices = match row(name).shape {
        Shape::Name(choices) => choices,
        _ => &[],
    };
    let values = choices.iter().map(|choice| {
        let aliases = choice.aliases.iter().copied();
        PossibleValue::new(choice.name).aliases(aliases)
    });
    PossibleValuesParser::new(values)
}

/// The values of an option that stands for a parameter with a number.
pub(in crate::cli) fn count(name: &str) -> RangedU64ValueParser<u64> {
    let any = RangedU64ValueParser::new();
    match first_count(&row(name).shape) {
        Some(range) if range.is_refused => any.range(range.least..=range.most),
        _ => any,
    }
}

/// All parameters of a command.
pub(in crate::cli) fn section(command: &CommandParameters) -> String {
    let mut text = INTRODUCTION.to_owned();
    for group in GROUPS {
        let mut rows = group
            .rows
            .iter()
            .filter(|row| command.takes(row))
            .peekable();
        if rows.peek().is_some() {
            // Writing to a string cannot fail.
            let _ = writeln!(text, "\n{}:", group.title);
        }
        rows.for_each(|row| add(&mut text, "", row));
    }
    text
}

/// Adds a parameter and the keys of its object.
fn add(text: &mut String, place: &str, row: &Parameter) {
    let path = format!("{place}{}", row.name);
    let aliases = row.aliases.iter().map(|alias| format!(", or `{alias}`"));
    let default = clauses(row.default);
    let mut head = format!(
        "{path}  {}{}",
        accepted(&row.shape),
        aliases.collect::<String>()
    );
    if default != "not set" {
        let _ = write!(head, " [default: {default}]");
    }
    add_wrapped(text, &head, NAME_INDENT, COLUMNS);
    let mut said = format!("{}.", sentences(row.doc));
    let needs = needs(row);
    if !needs.is_empty() {
        let _ = write!(said, " Has an effect {needs}.");
    }
    if has_a_form(&row.shape) {
        let _ = write!(said, " Example: {}", row.example);
    }
    add_wrapped(text, &said, TEXT_INDENT, COLUMNS);
    // The keys of a time are the same everywhere.
    let is_of_time = |row: &Parameter| ["secs", "nanos", "timeout"].contains(&row.name);
    let object = object_of(&row.shape).filter(|object| !object.rows.iter().all(is_of_time));
    for key in object.into_iter().flat_map(|object| object.rows) {
        add(text, &format!("{path}."), key);
    }
}

/// What a parameter needs to have an effect, on the command line.
fn needs(row: &Parameter) -> String {
    let paid = condition(Needs::PAID);
    let needs = row.condition();
    let needs = needs.split(", ").filter(|need| *need != paid);
    needs.collect::<Vec<_>>().join(", ")
}

/// What a value looks like, with its range or choices.
fn accepted(shape: &Shape) -> String {
    match shape {
        Shape::Switch => "true or false".to_owned(),
        Shape::Count(range) => count_text(*range),
        Shape::Number(range) => format!("a number, {range}"),
        Shape::Text(what) => format!("a text: {what}"),
        Shape::Name(choices) => {
            let names: Vec<_> = choices.iter().map(|choice| choice.name).collect();
            format!("one of {}", names.join(", "))
        }
        Shape::Scalar => "a text, a number or a boolean".to_owned(),
        Shape::List(item) => format!("a list, each item {}", accepted(item)),
        Shape::Bytes => shape.phrase(),
        Shape::Object(_) => "an object".to_owned(),
        Shape::Map(keys, of) => format!(
            "an object whose keys are {keys}, each with {}",
            accepted(of)
        ),
        Shape::Either(shapes) => {
            let shapes: Vec<_> = shapes.iter().map(accepted).collect();
            shapes.join(", or ")
        }
        Shape::Steps => {
            let names: Vec<_> = STEPS.iter().map(|step| step.name).collect();
            format!("a list of steps ({})", names.join(", "))
        }
        Shape::Options(what) => format!("an object: {what}"),
        Shape::Any(what, _) => (*what).to_owned(),
    }
}

/// Whether an example says more about a value than its shape does.
fn has_a_form(shape: &Shape) -> bool {
    match shape {
        Shape::List(_) | Shape::Map(..) | Shape::Steps | Shape::Options(_) | Shape::Any(..) => true,
        Shape::Either(shapes) => shapes.iter().any(has_a_form),
        _ => false,
    }
}

/// The range of a number, alone or as one of several forms.
pub(super) fn first_count(shape: &Shape) -> Option<Range> {
    match shape {
        Shape::Count(range) => Some(*range),
        Shape::Either(shapes) => shapes.iter().find_map(first_count),
        _ => None,
    }
}

fn is_bounded(range: Range) -> bool {
    range.least > 0 || range.most < u64::MAX
}

fn count_text(range: Range) -> String {
    let Range {
        least, most, unit, ..
    } = range;
    match most {
        u64::MAX if least == 0 => format!("a whole number of {unit}"),
        u64::MAX => format!("a whole number of {unit}, at least {least}"),
        most => format!("{least} to {most} {unit}"),
    }
}

/// The text without its full stop, and without sentences about other routes of the HTTP interface.
pub(super) fn sentences(text: &str) -> String {
    without_routes(text, ". ").trim_end_matches('.').to_owned()
}

/// The same for a default, which has clauses.
fn clauses(text: &str) -> String {
    without_routes(text, "; ")
}

fn without_routes(text: &str, between: &str) -> String {
    let parts = text.split(between).filter(|part| !names_route(part));
    parts.collect::<Vec<_>>().join(between)
}

fn names_route(text: &str) -> bool {
    let routes = [
        Routes::SCRAPE,
        Routes::UNBLOCKER,
        Routes::SCREENSHOT,
        Routes::CRAWL,
        Routes::LINKS,
        Routes::MAP,
        Routes::BATCH,
        Routes::SEARCH,
        Routes::TRANSFORM,
        Routes::CONTACTS,
        Routes::QA,
        Routes::LABEL,
        Routes::FILTER_LINKS,
        Routes::CRAWL_TEXT,
    ];
    text.contains("`/") && routes.iter().any(|route| text.contains(&route.to_string()))
}

/// Adds a text in lines of at most this many columns, unless a word is longer.
fn add_wrapped(page: &mut String, text: &str, indent: usize, columns: usize) {
    let mut column = 0;
    for word in text.split(' ') {
        let width = word.chars().count();
        if column > 0 && column + 1 + width > columns {
            page.push('\n');
            column = 0;
        }
        if column == 0 {
            page.extend(std::iter::repeat_n(' ', indent));
            column = indent;
        } else {
            page.push(' ');
            column += 1;
        }
        page.push_str(word);
        column += width;
    }
    page.push('\n');
}

/// Adds to the refusal of an unknown option how the parameter of that name is set.
pub(in crate::cli) fn with_tip(mut error: clap::Error, command: Option<&str>) -> clap::Error {
    let takes_parameters = command.is_some_and(|command| COMMANDS.contains(&command));
    let (ErrorKind::UnknownArgument, true) = (error.kind(), takes_parameters) else {
        return error;
    };
    let Some(ContextValue::String(option)) = error.get(ContextKind::InvalidArg) else {
        return error;
    };
    let Some(name) = option.strip_prefix("--") else {
        return error;
    };
    let name = name.split('=').next().unwrap_or_default().replace('-', "_");
    let row = match error.get(ContextKind::SuggestedArg) {
        None => nearest(&name, parameters::all()),
        // Another option may be meant, unless the parameter has exactly this name.
        Some(_) => parameters::find(&name),
    };
    if let Some(row) = row {
        let tip = format!(
            "set the parameter `{}` with '--set {}=VALUE'",
            row.name, row.name
        );
        let tips = ContextValue::StyledStrs(vec![tip.into()]);
        error.insert(ContextKind::Suggested, tips);
    }
    error
}

#[cfg(test)]
mod tests {
    use clap::{Arg, Command};

    use trawl_parameters::Route;

    use super::*;

    const CRAWL: CommandParameters = CommandParameters {
        route: Route::Crawl,
        argument: "url",
        idle: &[("webhooks", "no events are sent")],
    };

    /// The text with single spaces.
    fn folded(text: &str) -> String {
        text.split_whitespace().collect::<Vec<_>>().join(" ")
    }

    #[test]
    fn an_option_has_the_words_range_and_default_of_its_row() {
        let depth = row("depth");
        let text = help("depth").to_string();
        assert!(text.starts_with(&sentences(depth.doc)), "{text}");
        let range = first_count(&depth.shape).expect("a number");
        assert!(text.contains(&format!("[{}]", count_text(range))), "{text}");
        assert!(text.ends_with(&format!("[default: {}]", clauses(depth.default))));
        let text = help("return_format")
            .note("In words")
            .default("markdown")
            .named();
        let text = text.to_string();
        let end = ". In words [default: markdown] [parameter: return_format]";
        assert!(text.ends_with(end), "{text}");
        let text = help("readability").to_string();
        assert_eq!(text, sentences(row("readability").doc), "a switch");
    }

    #[test]
    fn other_routes_are_not_mentioned() {
        assert_eq!(clauses("25; 0 on `/pipeline/crawl-text`"), "25");
        assert_eq!(
            clauses("as it says, else `/sitemap.xml`"),
            "as it says, else `/sitemap.xml`"
        );
        assert_eq!(
            sentences("A list. On `/screenshot` only `bytes`."),
            "A list"
        );
        assert_eq!(sentences("One. Two, as in `url`."), "One. Two, as in `url`");
    }

    #[test]
    fn values_are_those_of_the_table() {
        let command = Command::new("x")
            .arg(
                Arg::new("request")
                    .long("request")
                    .value_parser(choices("request")),
            )
            .arg(
                Arg::new("at_once")
                    .long("at-once")
                    .value_parser(count("concurrency_limit")),
            )
            .arg(Arg::new("depth").long("depth").value_parser(count("depth")));
        let parse = |words: &[&str]| {
            let words = std::iter::once("x").chain(words.iter().copied());
            command.clone().try_get_matches_from(words)
        };
        let Shape::Name(modes) = row("request").shape else {
            panic!("choices");
        };
        for mode in modes {
            let names = std::iter::once(&mode.name).chain(mode.aliases);
            for name in names {
                assert!(parse(&["--request", name]).is_ok(), "{name}");
            }
        }
        let text = parse(&["--request", "x"]).expect_err("refused").to_string();
        assert!(text.contains(modes[0].name), "{text}");
        let most = first_count(&row("concurrency_limit").shape)
            .expect("a number")
            .most;
        let (most, more) = (most.to_string(), (most + 1).to_string());
        assert!(parse(&["--at-once", &most]).is_ok());
        let text = parse(&["--at-once", &more])
            .expect_err("refused")
            .to_string();
        assert!(text.contains(&format!("={most}")), "{text}");
        // What is out of range here is set to the nearest bound.
        assert!(parse(&["--depth", "70000"]).is_ok());
    }

    #[test]
    fn the_section_has_every_parameter_of_the_command() {
        let text = section(&CRAWL);
        for line in text.lines() {
            let is_word = line.split_whitespace().count() == 1;
            assert!(line.chars().count() <= COLUMNS || is_word, "{line}");
        }
        let text = folded(&text);
        for row in parameters::all() {
            let head = format!(" {} {}", row.name, folded(&accepted(&row.shape)));
            let is_there = text.contains(&head) && text.contains(&folded(&sentences(row.doc)));
            assert_eq!(is_there, CRAWL.takes(row), "{}", row.name);
        }
        assert!(text.contains(" viewport.width "), "keys of objects");
        assert!(
            text.contains(" wait_for.selector.selector "),
            "at any depth"
        );
        assert!(!text.contains(" delay.secs "), "but not the keys of a time");
        assert!(!text.contains(" webhooks "), "it has no effect");
    }

    #[test]
    fn an_unknown_option_with_the_name_of_a_parameter_is_explained() {
        let refusal = |option: &str, command: &str| {
            let parser = Command::new("x").arg(Arg::new("limit").long("limit"));
            let error = parser
                .try_get_matches_from(["x", option])
                .expect_err("refused");
            with_tip(error, Some(command)).to_string()
        };
        let text = refusal("--wait-for=1000", "crawl");
        assert!(text.contains("'--set wait_for=VALUE'"), "{text}");
        let text = refusal("--user-agnet", "scrape");
        assert!(text.contains("'--set user_agent=VALUE'"), "{text}");
        let text = refusal("--limt", "crawl");
        assert!(
            text.contains("'--limit'") && !text.contains("--set"),
            "{text}"
        );
        let text = refusal("--wait-for", "account");
        assert!(!text.contains("--set"), "{text}");
    }
}
