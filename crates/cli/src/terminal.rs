//! What the terminal behind a stream can do, with `NO_COLOR` and `TERM=dumb` respected.

use std::io::{self, IsTerminal};

/// What may be written to a stream.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Ability {
    /// Whole lines only: a file, a pipe or a dumb terminal.
    Lines,
    /// A cursor that moves, but no colours.
    Cursor,
    /// A cursor and colours.
    Colours,
}

impl Ability {
    /// A line may be drawn over.
    pub fn has_cursor(self) -> bool {
        self != Self::Lines
    }

    /// Colours may be used.
    pub fn has_colours(self) -> bool {
        self == Self::Colours
    }
}

/// What standard output can do.
pub fn stdout() -> Ability {
    ability(io::stdout().is_terminal())
}

/// What standard error can do.
pub fn stderr() -> Ability {
    ability(io::stderr().is_terminal())
}

fn ability(terminal: bool) -> Ability {
    let variable = |name: &str| std::env::var(name).ok();
    decide(terminal, variable("TERM"), variable("NO_COLOR"))
}

/// See <https://no-color.org>: any value but an empty one counts.
fn decide(terminal: bool, term: Option<String>, no_color: Option<String>) -> Ability {
    if !terminal || term.as_deref() == Some("dumb") {
        Ability::Lines
    } else if no_color.is_some_and(|value| !value.is_empty()) {
        Ability::Cursor
    } else {
        Ability::Colours
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn the_environment_takes_abilities_away_and_adds_none() {
        let text = |text: &str| Some(text.to_owned());
        for (terminal, term, no_color, expected) in [
            (false, text("xterm"), None, Ability::Lines),
            (true, text("dumb"), None, Ability::Lines),
            (true, text("xterm"), text("1"), Ability::Cursor),
            (true, text("xterm"), text(""), Ability::Colours),
            (true, None, None, Ability::Colours),
        ] {
            assert_eq!(decide(terminal, term, no_color), expected);
        }
    }
}
