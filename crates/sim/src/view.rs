//! What a person sees while it runs: on a terminal a table that is redrawn in place, otherwise
//! a line per change, or a line of JSON per change.

use std::{collections::BTreeMap, fmt::Write, io, sync::Arc, time::Instant};

use muster_api::client::printable;
use tokio::sync::watch;

use crate::{
    observer::{Observed, Snapshot},
    report::{Change, Moment, Report},
};

/// Hosts that are shown one by one; more are counted.
const MOST_ROWS: usize = 16;
const BAR: usize = 24;
const NO_WRAP: &str = "\x1b[?7l";
const WRAP: &str = "\x1b[?7h";

/// How it is shown.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Style {
    /// A table, redrawn.
    Table,
    /// A line per change.
    Lines,
    /// A JSON object per change.
    Json,
    /// Nothing.
    Silent,
}

/// A view of any number of clusters.
#[derive(Debug)]
pub struct View {
    style: Style,
    report: Arc<Report>,
    clusters: Vec<watch::Receiver<Arc<Snapshot>>>,
    began: Instant,
    /// Moments shown so far.
    shown: usize,
    /// Lines of the table on screen.
    drawn: usize,
}

impl View {
    /// A view; show it with [`View::show`] as often as you like.
    #[must_use]
    pub fn new(
        style: Style,
        report: Arc<Report>,
        clusters: Vec<watch::Receiver<Arc<Snapshot>>>,
    ) -> Self {
        Self {
            style,
            report,
            clusters,
            began: Instant::now(),
            shown: 0,
            drawn: 0,
        }
    }

    /// Shows what is new. A table takes at most `height` lines of the terminal: what has left it
    /// at the top cannot be drawn over.
    ///
    /// # Errors
    /// Writing failed.
    pub fn show(&mut self, out: &mut impl io::Write, height: Option<usize>) -> io::Result<()> {
        let moments = self.report.since(self.shown);
        self.shown += moments.len();
        let text = match self.style {
            Style::Silent => return Ok(()),
            Style::Json => moments
                .iter()
                .filter_map(|moment| serde_json::to_string(moment).ok())
                .map(|line| line + "\n")
                .collect(),
            Style::Lines => self.lines(&moments),
            Style::Table => self.table(&moments, height),
        };
        out.write_all(text.as_bytes())?;
        out.flush()
    }

    fn lines(&self, moments: &[Moment]) -> String {
        let crowd = self.clusters.len() > 1;
        let about = |moment: &Moment| match (&moment.host, crowd) {
            (Some(host), true) => format!("{}/{host}", moment.cluster),
            (Some(host), false) => host.clone(),
            (None, _) => moment.cluster.clone(),
        };
        moments
            .iter()
            .filter_map(|moment| Some((moment, words(&moment.what)?)))
            .map(|(moment, words)| {
                let at = moment.at_ms as f64 / 1000.0;
                let line = format!("{at:>7.1}s  {:<16} {words}", about(moment));
                printable(&line) + "\n"
            })
            .collect()
    }

    /// The last deeds scroll by above, the table stays below.
    fn table(&mut self, moments: &[Moment], height: Option<usize>) -> String {
        // Long lines are cut by the terminal: a wrapped one would be counted as one and stay.
        let mut text = String::from(NO_WRAP);
        if self.drawn > 0 {
            // Up to the first line of the old table, and clear everything below.
            let _ = write!(text, "\x1b[{}F\x1b[J", self.drawn);
        }
        for moment in moments {
            if let Change::Act { what } = &moment.what {
                let at = moment.at_ms as f64 / 1000.0;
                let host = moment
                    .host
                    .as_deref()
                    .map_or(String::new(), |h| format!("{h}: "));
                let line = printable(&format!("{at:>7.1}s  {host}{what}"));
                let _ = writeln!(text, "{line}");
            }
        }
        let table = self.rows();
        // The cursor stands below the last line and needs a line too.
        let most = height.map_or(usize::MAX, |height| height.saturating_sub(1));
        self.drawn = 0;
        for line in table.lines().take(most) {
            let _ = writeln!(text, "{}", printable(line));
            self.drawn += 1;
        }
        text + WRAP
    }

    fn rows(&self) -> String {
        let mut text = format!("\n  {:.0} s\n", self.began.elapsed().as_secs_f64());
        if let [only] = self.clusters.as_slice() {
            let snapshot = only.borrow();
            let cluster = &snapshot.cluster;
            let _ = writeln!(
                text,
                "  cluster {:<12} {:<32} {}",
                cluster.name,
                state(cluster),
                bar(cluster.percent)
            );
            if snapshot.hosts.len() <= MOST_ROWS {
                let mut hosts: Vec<&Observed> = snapshot.hosts.values().collect();
                hosts.sort_by(|a, b| a.name.cmp(&b.name));
                for host in hosts {
                    let _ = writeln!(
                        text,
                        "  {:<12} {:<9} {:<50} {}",
                        host.name,
                        short(&host.role),
                        cut(&state(host), 50),
                        bar(host.percent)
                    );
                    if let Some((id, message)) = host.failing.iter().next() {
                        let _ = writeln!(text, "      {}", cut(&format!("{id}: {message}"), 100));
                    }
                }
                return text;
            }
        }
        let (mut clusters, mut hosts) = (BTreeMap::new(), BTreeMap::new());
        for snapshot in &self.clusters {
            let snapshot = snapshot.borrow();
            *clusters.entry(snapshot.cluster.status.clone()).or_insert(0) += 1;
            for host in snapshot.hosts.values() {
                *hosts.entry(host.status.clone()).or_insert(0) += 1;
            }
        }
        for (what, counts) in [("clusters", clusters), ("hosts", hosts)] {
            let all: usize = counts.values().sum();
            let _ = writeln!(text, "  {all} {what}");
            for (status, count) in counts {
                let status = if status.is_empty() {
                    "to come"
                } else {
                    &status
                };
                let _ = writeln!(text, "    {status:<34} {count:>6}");
            }
        }
        text
    }
}

/// Status, and the stage if that says more.
fn state(seen: &Observed) -> String {
    if seen.stage.is_empty() || matches!(seen.status.as_str(), "installed" | "error") {
        seen.status.clone()
    } else {
        format!("{}: {}", seen.status, seen.stage)
    }
}

fn short(role: &str) -> &str {
    if role == "auto-assign" { "" } else { role }
}

fn bar(percent: i64) -> String {
    let percent = usize::try_from(percent.clamp(0, 100)).unwrap_or(0);
    if percent == 0 {
        return String::new();
    }
    let full = percent * BAR / 100;
    format!(
        "{}{} {percent:>3} %",
        "█".repeat(full),
        "░".repeat(BAR - full)
    )
}

fn cut(text: &str, most: usize) -> String {
    match text.char_indices().nth(most) {
        Some(_) => text.chars().take(most - 1).chain(['…']).collect(),
        None => text.to_owned(),
    }
}

/// A change in words; events are not shown, as their effect was.
fn words(change: &Change) -> Option<String> {
    match change {
        Change::Act { what } => Some(what.clone()),
        Change::Status { status, info } => Some(format!("is {status}: {}", cut(info, 120))),
        Change::Stage { stage, percent } => Some(format!("at {stage:?}, {percent} %")),
        Change::Failing { id, message } => Some(format!("{id} fails: {message}")),
        Change::Passing { id } => Some(format!("{id} passes")),
        Change::Event { .. } => None,
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_bar_is_as_full_as_the_percentage_and_never_overflows() {
        assert_eq!(bar(0), "");
        assert_eq!(bar(50).chars().filter(|c| *c == '█').count(), BAR / 2);
        assert_eq!(bar(1000), bar(100));
        assert_eq!(cut("abcdef", 4), "abc…");
        assert_eq!(cut("abcd", 4), "abcd");
    }

    #[test]
    fn the_table_is_drawn_over_the_old_one() {
        let report = Arc::new(Report::default());
        let snapshot = watch::Sender::new(Arc::new(Snapshot::default()));
        let mut view = View::new(Style::Table, report, vec![snapshot.subscribe()]);
        let mut screen = Vec::new();
        view.show(&mut screen, None).unwrap();
        assert!(
            !String::from_utf8(screen.clone())
                .unwrap()
                .contains("\x1b[J")
        );
        let lines = screen.iter().filter(|byte| **byte == b'\n').count();
        screen.clear();
        view.show(&mut screen, None).unwrap();
        let again = String::from_utf8(screen).unwrap();
        assert!(again.contains(&format!("\x1b[{lines}F\x1b[J")), "{again:?}");
    }
    #[test]
    fn a_small_terminal_gets_what_fits_and_words_of_the_service_cannot_drive_it() {
        let report = Arc::new(Report::default());
        let hostile = Observed {
            status: "ready\x1b[2J\n\n\n".to_owned(),
            ..Observed::default()
        };
        let hosts = (0..9).map(|number| (uuid::Uuid::from_u128(number), hostile.clone()));
        let snapshot = Snapshot {
            hosts: hosts.collect(),
            ..Snapshot::default()
        };
        let snapshot = watch::Sender::new(Arc::new(snapshot));
        let mut view = View::new(Style::Table, report, vec![snapshot.subscribe()]);
        for height in [5, 1, 0, 40] {
            let mut screen = Vec::new();
            view.show(&mut screen, Some(height)).unwrap();
            let text = String::from_utf8(screen).unwrap();
            assert!(
                text.matches('\n').count() < height.max(1),
                "{height}: {text:?}"
            );
            let drawn = text.replace(NO_WRAP, "").replace(WRAP, "");
            assert!(!drawn.contains("\x1b[2J"), "{text:?}");
        }
        assert!(view.drawn > 10);
    }
}
