//! The options that stand for parameters, made from the rows.

use std::marker::PhantomData;
use std::path::{Path, PathBuf};

use anyhow::Context;
use clap::{Arg, ArgAction, ArgMatches, Args, Command, FromArgMatches, value_parser};
use serde_json::{Value, json};

use trawl_model::Nanodollars;
use trawl_model::money::PER_CREDIT;
use trawl_parameters::{CommandOption, OptionForm, Parameter, Shape};

use super::Given;
use super::help::{choices, count, first_count, option_help, row};

/// The parameters for which a command has options.
pub(in crate::cli) trait OptionList {
    /// Their names, in the order of the help.
    const NAMES: &'static [&'static str];
}

/// The options of a list, as they were given.
#[derive(Debug)]
pub(in crate::cli) struct Options<L> {
    sent: Vec<Sent>,
    list: PhantomData<L>,
}

/// An option and what was given with it.
#[derive(Debug)]
struct Sent {
    row: &'static Parameter,
    option: CommandOption,
    value: SentValue,
}

#[derive(Debug)]
enum SentValue {
    /// The value of the parameter; null if the option was not given.
    Json(Value),
    /// The file that has it.
    File(PathBuf),
}

impl<L: OptionList> Options<L> {
    /// The options with the parameters and values that they stand for.
    ///
    /// # Errors
    /// A file cannot be read or is not JSON.
    pub(in crate::cli) fn given(&self) -> anyhow::Result<Vec<Given>> {
        let given = self.sent.iter().map(|sent| {
            let value = match &sent.value {
                SentValue::Json(value) => value.clone(),
                SentValue::File(file) => read(file, sent.option)?,
            };
            Ok::<_, anyhow::Error>((sent.option.name, sent.row.name, value))
        });
        given.collect()
    }
}

impl<L: OptionList> FromArgMatches for Options<L> {
    fn from_arg_matches(matches: &ArgMatches) -> Result<Self, clap::Error> {
        let sent = described::<L>().map(|(row, option)| Sent {
            row,
            option,
            value: sent_value(row, option, matches),
        });
        Ok(Self {
            sent: sent.collect(),
            list: PhantomData,
        })
    }

    fn update_from_arg_matches(&mut self, matches: &ArgMatches) -> Result<(), clap::Error> {
        *self = Self::from_arg_matches(matches)?;
        Ok(())
    }
}

impl<L: OptionList> Args for Options<L> {
    fn augment_args(command: Command) -> Command {
        command.args(described::<L>().map(|(row, option)| arg(row, option)))
    }

    fn augment_args_for_update(command: Command) -> Command {
        Self::augment_args(command)
    }
}

/// The rows of a list, with their options.
fn described<L: OptionList>() -> impl Iterator<Item = (&'static Parameter, CommandOption)> {
    L::NAMES.iter().map(|name| {
        let row = row(name);
        let option = row.option;
        (row, option.expect("rows of listed options describe them"))
    })
}

fn arg(row: &'static Parameter, option: CommandOption) -> Arg {
    let arg = Arg::new(row.name)
        .long(option.long())
        .help(option_help(row, option));
    if option.value.is_empty() {
        return arg.action(ArgAction::SetTrue);
    }
    let arg = arg.value_name(option.value);
    match (option.form, &row.shape) {
        (OptionForm::File, _) => arg.value_parser(value_parser!(PathBuf)),
        (OptionForm::Dollars, _) => arg.value_parser(dollars),
        (_, Shape::Name(_)) => arg.value_parser(choices(row.name)).ignore_case(true),
        (_, Shape::List(_)) => arg.action(ArgAction::Append),
        (_, shape) if first_count(shape).is_some() => arg.value_parser(count(row.name)),
        _ => arg,
    }
}

/// What was given with the option that [`arg`] makes.
fn sent_value(row: &'static Parameter, option: CommandOption, matches: &ArgMatches) -> SentValue {
    let id = row.name;
    if option.value.is_empty() {
        let is_on = option.form != OptionForm::Off;
        let value = matches.get_flag(id).then_some(is_on);
        return SentValue::Json(value.into());
    }
    let json = match (option.form, &row.shape) {
        (OptionForm::File, _) => match matches.get_one::<PathBuf>(id) {
            Some(file) => return SentValue::File(file.clone()),
            None => Value::Null,
        },
        (OptionForm::Dollars, _) => {
            let amount = matches.get_one::<Nanodollars>(id);
            json!(amount.map(|amount| amount.0 / PER_CREDIT))
        }
        (_, Shape::List(_)) => {
            let items = matches.get_many::<String>(id);
            json!(items.map(|items| items.collect::<Vec<_>>()))
        }
        (_, shape) if first_count(shape).is_some() => json!(matches.get_one::<u64>(id)),
        _ => json!(matches.get_one::<String>(id)),
    };
    SentValue::Json(json)
}

/// Dollars that are whole credits, at least one.
fn dollars(text: &str) -> Result<Nanodollars, String> {
    let is_whole = |amount: &Nanodollars| amount.0 % PER_CREDIT == 0;
    Nanodollars::parse_dollars(text)
        .filter(|amount| *amount > Nanodollars::ZERO && is_whole(amount))
        .ok_or_else(|| "write dollars such as 0.5, in steps of 0.0001".to_owned())
}

fn read(file: &Path, option: CommandOption) -> anyhow::Result<Value> {
    let context = || format!("cannot read the {} in `{}`", option.long(), file.display());
    let text = std::fs::read_to_string(file).with_context(context)?;
    serde_json::from_str(&text).with_context(context)
}

#[cfg(test)]
mod tests {
    use clap::Parser;

    use super::*;

    #[derive(Debug)]
    enum Several {}

    impl OptionList for Several {
        const NAMES: &'static [&'static str] = &[
            "return_format",
            "request",
            "delay",
            "max_credits_allowed",
            "sitemap",
            "respect_robots",
            "blacklist",
            "css_extraction_map",
        ];
    }

    #[derive(Debug, Parser)]
    struct Program {
        #[command(flatten)]
        options: Options<Several>,
    }

    fn given(words: &[&str]) -> Result<Vec<Given>, String> {
        let words = std::iter::once("x").chain(words.iter().copied());
        let program = Program::try_parse_from(words).map_err(|error| error.to_string())?;
        let given = program.options.given();
        given.map_err(|error| format!("{error:#}"))
    }

    #[test]
    fn each_kind_of_option_gives_the_value_of_its_parameter() {
        let folder = tempfile::tempdir().expect("a folder");
        let file = folder.path().join("map.json");
        std::fs::write(&file, r#"{"title": "h1"}"#).expect("a file");
        let file = file.to_string_lossy();
        let words = [
            &["--format", "text", "--request", "HTTP", "--delay", "250"][..],
            &["--max-cost", "0.5", "--sitemap", "--ignore-robots"],
            &["--exclude", "/a", "--exclude", "/b", "--selectors", &*file],
        ];
        let expected = vec![
            ("--format", "return_format", json!("text")),
            ("--request", "request", json!("HTTP")),
            ("--delay", "delay", json!(250)),
            ("--max-cost", "max_credits_allowed", json!(5_000)),
            ("--sitemap", "sitemap", json!(true)),
            ("--ignore-robots", "respect_robots", json!(false)),
            ("--exclude", "blacklist", json!(["/a", "/b"])),
            ("--selectors", "css_extraction_map", json!({"title": "h1"})),
        ];
        assert_eq!(given(&words.concat()), Ok(expected));
    }

    #[test]
    fn what_is_not_given_is_null() {
        let all = given(&[]).expect("no options");
        assert_eq!(all.len(), Several::NAMES.len());
        assert!(all.iter().all(|(.., value)| value.is_null()), "{all:?}");
    }

    #[test]
    fn wrong_values_are_refused() {
        let check = |words: &[&str], expected: &str| {
            let text = given(words).expect_err("refused");
            assert!(text.contains(expected), "{words:?}: {text}");
        };
        check(&["--request", "fast"], "smart");
        check(&["--delay", "60001"], "60000");
        check(&["--max-cost", "0.00005"], "in steps of 0.0001");
        check(
            &["--selectors", "no/such/file.json"],
            "cannot read the selectors in `no/such/file.json`",
        );
    }
}
