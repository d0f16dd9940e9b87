//! Rows of JSON as columns of text.

use muster_api::client::printable;
use serde_json::Value;

/// Title and members of each column; the first member that is there is shown.
pub type Columns = &'static [(&'static str, &'static [&'static str])];

/// Longest text of a cell but the last.
const LONGEST: usize = 80;

/// A table.
pub struct Table {
    rows: Vec<Vec<String>>,
}

impl Table {
    /// Takes the members of the columns out of every row.
    pub fn of(columns: Columns, rows: &[Value]) -> Self {
        let head = columns.iter().map(|(title, _)| (*title).to_owned());
        let body = rows.iter().map(|row| {
            columns
                .iter()
                .map(|(_, members)| cell(row, members))
                .collect()
        });
        Self {
            rows: std::iter::once(head.collect()).chain(body).collect(),
        }
    }

    /// The lines.
    pub fn text(&self) -> String {
        let count = self.rows[0].len();
        let width = |column: usize| {
            let cells = self.rows.iter().map(|row| row[column].chars().count());
            cells.max().unwrap_or(0).min(LONGEST)
        };
        let widths: Vec<usize> = (0..count).map(width).collect();
        let mut text = String::new();
        for row in &self.rows {
            let mut line = String::new();
            for (column, cell) in row.iter().enumerate() {
                let last = column + 1 == count;
                let shown: String = match last {
                    true => cell.clone(),
                    false => cell.chars().take(LONGEST).collect(),
                };
                line += &format!("{shown:<0$}  ", if last { 0 } else { widths[column] });
            }
            text += line.trim_end();
            text.push('\n');
        }
        text
    }
}

/// The first of the members that has a value; paths go through objects.
fn cell(row: &Value, members: &[&str]) -> String {
    let found = members.iter().find_map(|path| {
        let value = path.split('.').try_fold(row, |value, key| value.get(key))?;
        let text = match value {
            Value::Null => return None,
            Value::String(text) => printable(text),
            other => other.to_string(),
        };
        (!text.is_empty()).then_some(text)
    });
    found.unwrap_or_else(|| "-".to_owned())
}

#[cfg(test)]
mod tests {
    use serde_json::json;

    use super::*;

    const COLUMNS: Columns = &[("NAME", &["name", "id"]), ("STAGE", &["progress.stage"])];

    #[test]
    fn columns_are_aligned_and_missing_members_are_dashes() {
        let rows = [
            json!({"id": "1", "name": "steel", "progress": {"stage": "Done"}}),
            json!({"id": "22", "name": ""}),
        ];
        let expected = "NAME   STAGE\nsteel  Done\n22     -\n";
        assert_eq!(Table::of(COLUMNS, &rows).text(), expected);
    }

    #[test]
    fn names_from_hosts_cannot_drive_the_terminal() {
        let rows = [json!({"name": "a\u{1b}[2Jb\nc"})];
        let text = Table::of(COLUMNS, &rows).text();
        assert_eq!(text.lines().count(), 2, "{text:?}");
        assert!(!text.contains('\u{1b}'));
    }
}
