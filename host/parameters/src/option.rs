//! Options of the command line that stand for parameters.

/// The format of content on the command line, unless another one is given.
pub const COMMAND_FORMAT: &str = "markdown";

/// An option of the command line that stands for a parameter.
#[derive(Clone, Copy, Debug)]
pub struct CommandOption {
    /// Its name with dashes: `--format`.
    pub name: &'static str,
    /// What the help shows for its value: `FORMAT`. Empty for a switch.
    pub value: &'static str,
    /// How what is given becomes the value of the parameter.
    pub form: OptionForm,
    /// What is different on the command line, for people. Empty if nothing is.
    pub note: &'static str,
    /// The default on the command line if it has one of its own. An empty one is not shown.
    pub default: Option<&'static str>,
}

/// How what is given with an option becomes the value of its parameter.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum OptionForm {
    /// As the shape of the parameter says.
    Plain,
    /// A switch that sets it to `false`.
    Off,
    /// A file that has it as JSON.
    File,
    /// An amount in dollars, which is sent in credits.
    Dollars,
}

impl CommandOption {
    /// An option with a value, for which the help shows `value`.
    pub(crate) const fn new(name: &'static str, value: &'static str) -> Self {
        Self {
            name,
            value,
            form: OptionForm::Plain,
            note: "",
            default: None,
        }
    }

    /// A switch.
    pub(crate) const fn switch(name: &'static str) -> Self {
        Self::new(name, "")
    }

    pub(crate) const fn form(self, form: OptionForm) -> Self {
        Self { form, ..self }
    }

    pub(crate) const fn note(self, note: &'static str) -> Self {
        Self { note, ..self }
    }

    pub(crate) const fn default(self, default: &'static str) -> Self {
        Self {
            default: Some(default),
            ..self
        }
    }

    /// Its name without dashes: `format`.
    pub fn long(&self) -> &'static str {
        self.name.trim_start_matches('-')
    }
}
