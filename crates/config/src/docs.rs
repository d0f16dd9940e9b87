//! The table of settings as a page of the manual.

use std::fmt::Write as _;

use crate::sections::Config;
use crate::table::settings;
use crate::unused::{WITHOUT_EFFECT, is_idle};

/// All settings as Markdown tables, one per section, and the variables without effect.
pub fn markdown() -> String {
    let defaults = Config::default();
    let mut page = String::new();
    let mut section = None;
    for setting in settings() {
        let this = setting
            .key
            .split_once('.')
            .map_or("", |(section, _)| section);
        if section != Some(this) {
            section = Some(this);
            let title = if this.is_empty() {
                String::new()
            } else {
                format!("\n### {this}\n\n")
            };
            page.push_str(&title);
            page.push_str(
                "| Key | Variables | Value | Default | Meaning |\n|---|---|---|---|---|\n",
            );
        }
        let field = setting.of(&defaults);
        let default = match (setting.rule, field.show()) {
            (Some(rule), _) => rule.to_string(),
            (None, shown) if shown.is_empty() => String::new(),
            (None, shown) => format!("`{shown}`"),
        };
        let variables: Vec<_> = setting
            .env
            .iter()
            .map(|name| (*name).to_string())
            .chain([setting.own_env()])
            .map(|name| format!("`{name}`"))
            .collect();
        let meaning = match is_idle(setting.key) {
            true => format!("{} *(no effect yet)*", setting.help),
            false => setting.help.to_owned(),
        };
        let row = [
            &format!("`{}`", setting.key),
            &variables.join(", "),
            field.kind(),
            &default,
            &meaning,
        ];
        let row = row.map(|cell| cell.replace('|', "\\|")).join(" | ");
        page.push_str(&format!("| {row} |\n"));
    }
    page.push_str("\n### Accepted, without effect\n\n| Why | Variables |\n|---|---|\n");
    for (reason, names) in WITHOUT_EFFECT {
        let names: Vec<_> = names.iter().map(|name| format!("`{name}`")).collect();
        // Writing to a String cannot fail.
        let _ = writeln!(page, "| {reason} | {} |", names.join(", "));
    }
    page
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn the_manual_has_a_row_for_every_setting() {
        let page = markdown();
        for setting in settings() {
            assert!(
                page.contains(&format!("| `{}` | ", setting.key)),
                "{}",
                setting.key
            );
        }
        assert!(page.contains("| `auth.mode` | `AUTH_TYPE`, `MUSTER_AUTH_MODE` | "));
    }
}
