//! Request parameters on the command line: the options that stand for one, `--set` and `--data` for
//! any of them, and their help. All of it comes from the tables of [`trawl_parameters`]; a command
//! only lists the parameters for which it has options.
//! Decision D223.

mod assign;
mod help;
mod notices;
mod options;

use std::borrow::Cow;
use std::collections::BTreeMap;

use anyhow::{Context, bail, ensure};
use clap::Args;
use serde_json::{Map, Value};

use trawl_parameters::{self as parameters, Object, Parameter, Route, Shape};

pub(super) use help::{count, help, section, with_tip};
pub(super) use notices::{PageNotices, ignored, print};
pub(super) use options::{OptionList, Options};

/// How a command takes request parameters.
pub(super) struct CommandParameters {
    /// The route of the HTTP interface with the same parameters.
    pub(super) route: Route,
    /// The parameter that is the argument of the command.
    pub(super) argument: &'static str,
    /// Parameters without effect on the command line, and why.
    pub(super) idle: &'static [(&'static str, &'static str)],
}

impl CommandParameters {
    /// Whether the parameter has an effect on the command, and is not its argument.
    fn takes(&self, row: &Parameter) -> bool {
        let is_idle = self.idle.iter().any(|(name, _)| *name == row.name);
        row.routes.has(self.route) && row.name != self.argument && !is_idle
    }
}

/// An option, the parameter that it stands for, and its value: null if it was not given.
pub(super) type Given = (&'static str, &'static str, Value);

/// The options for any parameter.
#[derive(Debug, Args)]
pub(super) struct ParameterArgs {
    /// Set a request parameter, or a key of one (`viewport.width=390`); may be repeated. `--help`
    /// lists all parameters.
    #[arg(long, value_name = "NAME=VALUE")]
    set: Vec<String>,
    /// Request parameters as a JSON object, as in the HTTP API, or `@FILE`. Options and `--set`
    /// take precedence.
    #[arg(short, long, value_name = "JSON")]
    data: Option<String>,
}

/// The request object of a command.
#[derive(Debug, Default)]
pub(super) struct Request {
    /// The parameters that were given.
    pub(super) object: Map<String, Value>,
    /// What gave each of them: `--limit`, `--set limit`, `--data`.
    pub(super) sources: BTreeMap<String, String>,
    /// A sentence for each parameter that was removed because it has no effect on the command line.
    pub(super) idle: Vec<String>,
}

impl ParameterArgs {
    /// The parameters that were given by `--data`, by these options, and by `--set`.
    ///
    /// # Errors
    /// `--data` is not a JSON object, `--set` names no parameter, or an option and `--set` set the
    /// same one.
    pub(super) fn request(
        &self,
        options: impl IntoIterator<Item = Given>,
        command: &CommandParameters,
    ) -> anyhow::Result<Request> {
        let mut request = Request::default();
        for (name, value) in self
            .data
            .as_deref()
            .map(object)
            .transpose()?
            .unwrap_or_default()
        {
            request.put(name, value, "--data".to_owned());
        }
        let sets = assign::all(&self.set, command.route)?;
        for (option, name, value) in options {
            if value.is_null() {
                continue;
            }
            ensure!(
                !sets.contains_key(name),
                "`{option}` and `--set {name}` set the same parameter, give one of them"
            );
            request.put(name.to_owned(), value, option.to_owned());
        }
        for (name, value) in sets {
            let source = format!("--set {name}");
            let value = merged(request.object.remove(&name), value);
            request.put(name, value, source);
        }
        request.remove_idle(command);
        Ok(request)
    }
}

impl Request {
    /// The body of the request.
    pub(super) fn body(&self) -> Vec<u8> {
        Value::Object(self.object.clone()).to_string().into_bytes()
    }

    /// The value of a parameter; null if it is not set.
    pub(super) fn get(&self, name: &str) -> &Value {
        self.object.get(name).unwrap_or(&Value::Null)
    }

    /// Sets a parameter, unless it is set.
    pub(super) fn set_default(&mut self, name: &str, value: Value) {
        if self.get(name).is_null() {
            self.object.insert(name.to_owned(), value);
        }
    }

    /// Adds the argument of the command, which sets the parameter `name`.
    ///
    /// # Errors
    /// The parameter was given in another way, too.
    pub(super) fn put_argument(
        &mut self,
        name: &str,
        argument: Option<Value>,
    ) -> anyhow::Result<()> {
        let Some(argument) = argument else {
            return Ok(());
        };
        if let Some(source) = self.sources.get(name) {
            bail!("`{name}` is given twice: by the argument and by `{source}`");
        }
        self.object.insert(name.to_owned(), argument);
        Ok(())
    }

    fn put(&mut self, name: String, value: Value, source: String) {
        self.sources.insert(name.clone(), source);
        self.object.insert(name, value);
    }

    /// Removes what has no effect on the command line, with a sentence for each.
    fn remove_idle(&mut self, command: &CommandParameters) {
        for (name, reason) in command.idle {
            let is_idle = |written: &String| {
                let row = parameters::find(written);
                row.is_some_and(|row| row.name == *name)
            };
            self.sources.retain(|written, _| !is_idle(written));
            self.object.retain(|written, value| {
                if is_idle(written) && !value.is_null() {
                    let sentence = format!("`{written}` has no effect here: {reason}.");
                    self.idle.push(sentence);
                }
                !is_idle(written)
            });
        }
    }
}

/// The object of `--data`.
fn object(text: &str) -> anyhow::Result<Map<String, Value>> {
    let json = match text.strip_prefix('@') {
        Some(file) => Cow::Owned(
            std::fs::read_to_string(file)
                .with_context(|| format!("cannot read the file `{file}` of `--data`"))?,
        ),
        None => Cow::Borrowed(text),
    };
    match serde_json::from_str(json.trim_start_matches('\u{feff}')) {
        Ok(Value::Object(object)) => Ok(object),
        Ok(_) => bail!("`--data` is not an object, write {{\"NAME\": VALUE}}"),
        Err(error) => bail!("`--data` is not JSON, write {{\"NAME\": VALUE}} or @FILE: {error}"),
    }
}

/// A value of `--data` with one of `--set` over it: objects are merged key by key.
fn merged(known: Option<Value>, new: Value) -> Value {
    match (known, new) {
        (Some(Value::Object(mut known)), Value::Object(new)) => {
            for (key, value) in new {
                let value = merged(known.remove(&key), value);
                known.insert(key, value);
            }
            Value::Object(known)
        }
        (_, new) => new,
    }
}

/// The nested object of a shape.
fn object_of(shape: &Shape) -> Option<&'static Object> {
    match shape {
        Shape::Object(object) => Some(object),
        Shape::Either(shapes) => shapes.iter().find_map(object_of),
        _ => None,
    }
}

/// The row at a path such as `viewport.width`.
fn row_at(path: &str) -> Option<&'static Parameter> {
    let mut names = path.split('.');
    let row = parameters::find(names.next()?)?;
    names.try_fold(row, |row, name| object_of(&row.shape)?.find(name))
}

#[cfg(test)]
pub(super) mod tests {
    use clap::Command;
    use serde_json::json;

    use super::*;

    /// Checks that the help of a command comes from the tables: of the options that stand for
    /// parameters, and the section of all parameters. `own` are the other options, without those of
    /// all commands that fetch pages.
    pub(in crate::cli) fn check_help(
        mut command: Command,
        given: &[Given],
        own: &[&str],
        of: &CommandParameters,
    ) {
        const COMMON: [&str; 6] = [
            "set",
            "data",
            "plugins",
            "config",
            "allow-private",
            "browser",
        ];
        let options: Vec<&str> = command
            .get_arguments()
            .filter_map(|arg| arg.get_long())
            .collect();
        for option in &options {
            let is_given = given.iter().any(|(known, ..)| known[2..] == **option);
            let is_own = COMMON.contains(option) || own.contains(option);
            assert!(is_given != is_own, "--{option}");
        }
        for (option, name, _) in given {
            let mut all = command.get_arguments();
            let arg = all.find(|arg| arg.get_long() == Some(&option[2..]));
            let said = arg.and_then(|arg| arg.get_help()).expect("help");
            // It is wrapped.
            let said = said.to_string().replace('\n', " ");
            let words = help::sentences(parameters::find(name).expect("a row").doc);
            assert!(said.starts_with(&words), "{option}: {said}");
            let is_named = said.contains(&format!("[parameter: {name}]"));
            assert_eq!(is_named, option[2..].replace('-', "_") != *name, "{option}");
        }
        let long = command.render_long_help().to_string();
        let all = section(of);
        assert!(long.contains(all.trim()), "{long}");
        assert!(!command.render_help().to_string().contains(all.trim()));
    }

    const CRAWL: CommandParameters = CommandParameters {
        route: Route::Crawl,
        argument: "url",
        idle: &[("webhooks", "no events are sent")],
    };

    fn request(data: Option<&str>, set: &[&str], options: Vec<Given>) -> anyhow::Result<Request> {
        let args = ParameterArgs {
            set: set.iter().map(|&text| text.to_owned()).collect(),
            data: data.map(str::to_owned),
        };
        args.request(options, &CRAWL)
    }

    fn refusal(data: Option<&str>, set: &[&str], options: Vec<Given>) -> String {
        let refusal = request(data, set, options).expect_err("refused");
        refusal.to_string()
    }

    #[test]
    fn options_and_set_take_precedence_over_data() {
        let data = r#"{"limit": 1, "depth": 2, "viewport": {"width": 300, "height": 400}}"#;
        let options = vec![
            ("--depth", "depth", json!(3)),
            ("--delay", "delay", Value::Null),
        ];
        let set = ["limit=4", "viewport.width=390"];
        let request = request(Some(data), &set, options).expect("a request");
        let expected = json!({"limit": 4, "depth": 3, "viewport": {"width": 390, "height": 400}});
        assert_eq!(Value::Object(request.object), expected);
        let sources: Vec<_> = request.sources.into_iter().collect();
        let expected = [
            ("depth", "--depth"),
            ("limit", "--set limit"),
            ("viewport", "--set viewport"),
        ];
        let expected = expected.map(|(name, source)| (name.to_owned(), source.to_owned()));
        assert_eq!(sources, expected);
    }

    #[test]
    fn what_contradicts_itself_is_refused() {
        let options = vec![("--limit", "limit", json!(3))];
        let text = refusal(None, &["limit=4"], options);
        assert!(text.contains("`--limit` and `--set limit`"), "{text}");
        let mut request = request(Some(r#"{"url": "a.example"}"#), &[], vec![]).expect("a request");
        let twice = request.put_argument("url", Some("b.example".into()));
        let text = twice.expect_err("refused").to_string();
        assert!(text.contains("by `--data`"), "{text}");
        request.put_argument("url", None).expect("it is there");
        assert_eq!(request.get("url"), "a.example");
    }

    #[test]
    fn data_is_an_object_or_a_file_with_one() {
        let folder = tempfile::tempdir().expect("a folder");
        let file = folder.path().join("request.json");
        std::fs::write(&file, "\u{feff}{\"limit\": 3}\n").expect("a file");
        let named = format!("@{}", file.display());
        let request = request(Some(&named), &[], vec![]).expect("a request");
        assert_eq!(request.get("limit"), 3);
        let check = |data: &str, expected: &str| {
            let text = refusal(Some(data), &[], vec![]);
            assert!(text.contains(expected), "{data}: {text}");
        };
        check("[]", "is not an object");
        check("limit=3", "is not JSON");
        check("@no/such/file.json", "`no/such/file.json`");
    }

    #[test]
    fn what_has_no_effect_on_the_command_line_is_removed_and_named() {
        let data = r#"{"webhook": {"destination": "x"}, "webhooks": null, "limit": 3}"#;
        let request = request(Some(data), &[], vec![]).expect("a request");
        assert_eq!(Value::Object(request.object), json!({"limit": 3}));
        assert_eq!(
            request.idle,
            ["`webhook` has no effect here: no events are sent."]
        );
    }

    #[test]
    fn rows_are_found_by_their_path() {
        let name = |path: &str| row_at(path).map(|row| row.name);
        assert_eq!(name("limit"), Some("limit"));
        assert_eq!(name("webhook.url"), Some("destination"));
        assert_eq!(name("wait_for.selector.timeout"), Some("timeout"));
        assert_eq!((name("limit.x"), name("viewport.wdth")), (None, None));
    }
}
