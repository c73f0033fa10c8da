//! The table: the medians of what is compared, their ratio, and its goal.

/// The goal of a figure.
#[derive(Clone, Copy, Debug)]
pub(super) enum Goal {
    AtLeast(f64),
    AtMost(f64),
    None,
}

impl Goal {
    fn text(self, figure: f64) -> String {
        let (text, is_reached) = match self {
            Self::AtLeast(least) => (format!("goal: at least {least}"), figure >= least),
            Self::AtMost(most) => (format!("goal: at most {most}"), figure <= most),
            Self::None => return String::new(),
        };
        let missed = if is_reached { "" } else { ", MISSED" };
        format!("{text}{missed}")
    }
}

/// The table that is being printed.
pub(super) struct Report {
    notes: Vec<String>,
}

impl Report {
    /// Prints the head of the table.
    pub(super) fn begin() -> Self {
        println!(
            "{:<58} {:>9} {:>9} {:>8}",
            "a, b (medians)", "a", "b", "b / a"
        );
        Self { notes: Vec::new() }
    }

    /// Prints a line that compares the medians of two measurements by their ratio.
    pub(super) fn compare(&self, name: &str, [a, b]: [Vec<f64>; 2], goal: Goal) {
        let (a, b) = (median(a), median(b));
        let ratio = b / a;
        let goal = goal.text(ratio);
        println!("{name:<58} {a:>9.1} {b:>9.1} {ratio:>8.2} {goal}");
    }

    /// Prints a line with the median of one measurement.
    pub(super) fn figure(&self, name: &str, figures: Vec<f64>, goal: Goal) {
        let figure = median(figures);
        let goal = goal.text(figure);
        println!("{name:<58} {:>9} {figure:>9.3} {:>8} {goal}", "", "");
    }

    /// Keeps a line for the end of the table.
    pub(super) fn note(&mut self, note: String) {
        self.notes.push(note);
    }

    /// Prints the notes.
    pub(super) fn end(self) {
        for note in self.notes {
            println!("{note}");
        }
    }
}

/// What `measure` returns for 0 and for 1 in each of so many rounds. Every other round begins with
/// 1, so that neither is always the second one.
pub(super) fn in_turn(
    n_rounds: usize,
    mut measure: impl FnMut(usize) -> anyhow::Result<f64>,
) -> anyhow::Result<[Vec<f64>; 2]> {
    let mut figures = [Vec::new(), Vec::new()];
    for round in 0..n_rounds {
        let order = if round % 2 == 0 { [0, 1] } else { [1, 0] };
        for which in order {
            figures[which].push(measure(which)?);
        }
    }
    Ok(figures)
}

/// The median; the upper of the two middle ones if their number is even.
fn median(mut figures: Vec<f64>) -> f64 {
    figures.sort_by(f64::total_cmp);
    figures[figures.len() / 2]
}
