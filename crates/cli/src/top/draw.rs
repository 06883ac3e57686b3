//! Draws `acquit top` as lines with exactly the width of the screen. Depends on neither a terminal nor a store.
//!
//! With less space, it omits in this order: the path, what a task does, the cost; in the lower part, the evidence and
//! older lines of the agent.

use std::time::Duration;

use acquit_app::board::{Board, Closer, Lane, Mark, Row};
use acquit_core::task::End;

use crate::report::{money, text};

/// What to draw.
pub struct View<'v> {
    /// The board.
    pub board: &'v Board,
    /// The visible rows: those that match the search and the project.
    pub rows: &'v [&'v Row],
    /// Index of the selected row.
    pub chosen: usize,
    /// Details of the selected task.
    pub closer: Option<&'v Closer>,
    /// The project to show; all if `None`.
    pub project: Option<&'v str>,
    /// The time of day.
    pub clock: &'v str,
    /// Text for the last line instead of the keys.
    pub prompt: Option<&'v str>,
    /// Whether to use colours.
    pub colour: bool,
    /// Whether the selected task takes the whole screen.
    pub open: bool,
}

/// Lanes shown row by row.
const LANES: [(Lane, &str); 3] =
    [(Lane::Needs, "NEEDS YOU"), (Lane::Running, "RUNNING"), (Lane::Waiting, "WAITING")];
/// Minimum widths for showing the path, what a task does, and its cost.
const WITH_PATH: usize = 72;
const WITH_DOING: usize = 56;
const WITH_COST: usize = 48;

fn sign(mark: Mark) -> (char, &'static str) {
    match mark {
        Mark::Passed => ('✓', "32"),
        Mark::Rejected => ('✗', "31"),
        Mark::Running => ('●', "34"),
        Mark::Needs => ('?', "33"),
        Mark::Waits => ('◌', "2"),
        Mark::ToCome => ('·', "2"),
    }
}

fn lane_sign(row: &Row) -> (char, &'static str) {
    match (row.lane, &row.end) {
        (Lane::Needs, _) => sign(Mark::Needs),
        (Lane::Running, _) => sign(Mark::Running),
        (Lane::Waiting, _) => sign(Mark::Waits),
        (Lane::Queued, _) => ('○', "2"),
        (Lane::Done, Some(End::Done) | None) => sign(Mark::Passed),
        (Lane::Done, Some(End::Failed { .. })) => sign(Mark::Rejected),
        (Lane::Done, Some(End::NoImprovement | End::Cancelled { .. })) => ('–', "2"),
    }
}

impl View<'_> {
    /// Returns all lines of a screen of this size.
    pub fn lines(&self, width: usize, height: usize) -> Vec<String> {
        let rule = self.paint("2", &"─".repeat(width));
        let mut lines = vec![self.header(width), rule.clone()];
        let last = self.last(width, height);
        let below = height.saturating_sub(3 + last.len());
        if self.open {
            let mut lower = self.lower(width, below);
            lower.resize(below, String::new());
            lines.extend(lower);
        } else {
            let lower = self.lower(width, (below / 3).min(9));
            let mut rows = self.tasks(width, below - lower.len());
            rows.resize(below - lower.len(), String::new());
            lines.extend(rows);
            lines.extend(lower);
        }
        lines.push(rule);
        lines.extend(last);
        lines.truncate(height);
        lines
    }

    fn paint(&self, code: &str, text: &str) -> String {
        if self.colour && !code.is_empty() { format!("\x1b[{code}m{text}\x1b[0m") } else { text.to_owned() }
    }

    fn count(&self, lane: Lane) -> usize {
        self.rows.iter().filter(|row| row.lane == lane).count()
    }

    fn header(&self, width: usize) -> String {
        let failed = |row: &&&Row| matches!(row.end, Some(End::Failed { .. }));
        let bad = self.rows.iter().filter(failed).count();
        let done = self.rows.iter().filter(|row| matches!(row.end, Some(End::Done))).count();
        let counts = [
            (sign(Mark::Needs), self.count(Lane::Needs)),
            (sign(Mark::Running), self.count(Lane::Running)),
            (sign(Mark::Waits), self.count(Lane::Waiting)),
            (('○', "2"), self.count(Lane::Queued)),
            (sign(Mark::Passed), done),
            (sign(Mark::Rejected), bad),
        ];
        let gap = if width >= 80 { "  " } else { " " };
        let plain: Vec<String> = counts.iter().map(|((sign, _), count)| format!("{sign} {count}")).collect();
        let money =
            if width >= 60 { format!("  {}", money::cost(Some(self.board.spent))) } else { String::new() };
        let right = format!("{}{money}  {} ", plain.join(gap), self.clock);
        let left = format!(" acquit  {}", text::visible(self.project.unwrap_or("all projects")));
        let room = width.saturating_sub(shown(&right) + 1);
        let painted: Vec<String> =
            counts.iter().zip(&plain).map(|(((_, code), _), text)| self.paint(code, text)).collect();
        let right = format!("{}{money}  {} ", painted.join(gap), self.clock);
        format!("{} {right}", self.paint("1", &fit(&left, room)))
    }

    /// Returns the task rows, scrolled so that the selected one is visible.
    fn tasks(&self, width: usize, room: usize) -> Vec<String> {
        let summary = self.summary(width);
        let room = room.saturating_sub(summary.len());
        let mut lines = Vec::new();
        let mut at = 0;
        for (lane, name) in LANES {
            let count = self.count(lane);
            if count == 0 {
                continue;
            }
            lines.push(self.paint("1", &fit(&format!(" {name}  {count}"), width)));
            for (index, row) in self.rows.iter().enumerate().filter(|(_, row)| row.lane == lane) {
                if index == self.chosen {
                    at = lines.len();
                }
                lines.push(self.row(row, index == self.chosen, width));
            }
        }
        for (index, row) in self.rows.iter().enumerate().filter(|(_, row)| row.lane >= Lane::Queued) {
            // Lanes that only show a count also show their selected row.
            if index == self.chosen {
                at = lines.len();
                lines.push(self.row(row, true, width));
            }
        }
        if lines.is_empty() && summary.is_empty() {
            lines.push(fit(" no tasks; `acquit run \"…\"` adds one and runs it", width));
        }
        // Scroll to the selected row, and say how much is beyond the screen.
        let (from, whole) =
            ((at + 2).saturating_sub(room).min(lines.len().saturating_sub(room)), lines.len());
        let to = (from + room).min(whole);
        let more = |sign: char, count: usize| self.paint("2", &fit(&format!(" {sign} {count} more"), width));
        let mut lines: Vec<String> = lines.drain(from..to).collect();
        if room >= 3 && from > 0 {
            lines[0] = more('↑', from + 1);
        }
        if room >= 3 && to < whole {
            lines[room - 1] = more('↓', whole - to + 1);
        }
        lines.extend(summary);
        lines
    }

    /// Returns the summary lines for queued and done tasks.
    fn summary(&self, width: usize) -> Vec<String> {
        let list = |lane: Lane, name: &str, sign: char| {
            let rows: Vec<&&Row> = self.rows.iter().filter(|row| row.lane == lane).collect();
            if rows.is_empty() {
                return None;
            }
            let ids: Vec<String> = rows
                .iter()
                .map(|row| match lane {
                    Lane::Done => format!("{} {}", row.id, lane_sign(row).0),
                    _ => row.id.to_string(),
                })
                .collect();
            Some(fit(&format!(" {sign} {name}  {}   {}", rows.len(), ids.join("  ")), width))
        };
        [list(Lane::Queued, "QUEUED", '○'), list(Lane::Done, "DONE", '✓')].into_iter().flatten().collect()
    }

    fn row(&self, row: &Row, chosen: bool, width: usize) -> String {
        let (mark, code) = lane_sign(row);
        let bar = if chosen { '▌' } else { ' ' };
        let time = length(row.length);
        let mut right = format!(" {time:>7}");
        if width >= WITH_COST {
            right.push_str(&format!(
                " {:>8}",
                row.cost.map_or_else(|| "–".to_owned(), |cost| money::cost(Some(cost)))
            ));
        }
        let widest = self.rows.iter().map(|row| row.id.to_string().len()).max().unwrap_or(0);
        let id = format!("{:<widest$}", row.id.to_string());
        let mut room = width.saturating_sub(5 + shown(&id) + shown(&right) + 1);
        let doing = if width >= WITH_DOING { (room / 3).min(24) } else { 0 };
        let path = if width >= WITH_PATH { 12 } else { 0 };
        room = room.saturating_sub(doing + usize::from(doing > 0) + path + usize::from(path > 0));
        let title = fit(&text::line(&row.title, 500), room);
        let mut line = format!("{bar}{} {id} ", self.paint(code, &mark.to_string()));
        line.push_str(&if chosen { self.paint("1", &title) } else { title });
        if path > 0 {
            // Show the newest marks: drop the start of a long path.
            let skipped = row.path.len().saturating_sub(path);
            let marks: Vec<String> = row.path[skipped..]
                .iter()
                .map(|mark| {
                    let (mark, code) = sign(*mark);
                    self.paint(code, &mark.to_string())
                })
                .collect();
            line.push(' ');
            line.push_str(&marks.concat());
            line.push_str(&" ".repeat(path - (row.path.len() - skipped)));
        }
        if doing > 0 {
            line.push(' ');
            line.push_str(&fit(&text::line(&row.doing, 200), doing));
        }
        format!("{line}{right} ")
    }

    /// Draws the selected task: its stages, what it does, gate results, and the newest lines of its agent.
    fn lower(&self, width: usize, room: usize) -> Vec<String> {
        let (Some(row), Some(closer)) = (self.rows.get(self.chosen), self.closer) else { return Vec::new() };
        if room < 3 {
            return Vec::new();
        }
        let name = format!("── {} {} ", row.id, text::line(&row.title, width.saturating_sub(16)));
        let mut rule = fit(&format!("{name}{}", "─".repeat(width)), width);
        // The line is cut, and not the title.
        if rule.pop() == Some('…') {
            rule.push('─');
        }
        let mut lines = vec![self.paint("1", &rule)];
        let wide = width >= WITH_PATH;
        if wide && room >= 6 {
            let stage = |(name, marks): &(String, Vec<Mark>)| {
                format!("{} {name}", marks.iter().map(|mark| sign(*mark).0).collect::<String>())
            };
            let stages: Vec<String> = closer.stages.iter().map(stage).collect();
            lines.push(fit(&format!(" {}", stages.join(" → ")), width));
        }
        if let Some(leg) = &closer.leg {
            let model = leg.usage.model.as_deref().unwrap_or_default();
            let about = format!(
                " {} {}  leg {}  {}",
                lane_sign(row).0,
                text::line(&row.doing, 200),
                leg.id.number,
                text::line(model, 60)
            );
            lines.push(fit(&about, width));
        }
        if let Some(verdict) = &closer.rejected {
            let what =
                verdict.failure.as_ref().map_or(verdict.ended.as_str(), |failure| failure.message.as_str());
            let line = format!(" ✗ {}: {}", verdict.gate, text::line(what, 500));
            lines.push(self.paint("31", &fit(&line, width)));
        }
        let rest = room.saturating_sub(lines.len());
        let said = closer.lines.len().saturating_sub(rest);
        lines.extend(
            closer.lines[said..].iter().map(|line| fit(&format!(" │ {}", text::line(line, 500)), width)),
        );
        lines.truncate(room);
        lines
    }

    /// Returns the last lines: the keys, or a text that takes as many lines as it needs, up to a third of the screen.
    fn last(&self, width: usize, height: usize) -> Vec<String> {
        let Some(prompt) = self.prompt else { return vec![self.keys(width)] };
        let mut lines = wrapped(&text::visible(prompt), width.saturating_sub(2));
        // The end shows the text being typed.
        let surplus = lines.len().saturating_sub((height / 3).max(1));
        lines.drain(..surplus);
        lines.into_iter().map(|line| fit(&format!(" {line}"), width)).collect()
    }

    fn keys(&self, width: usize) -> String {
        let back = if self.open { "esc back" } else { "enter open" };
        let all = [
            format!(
                " ↑↓ move  {back}  a answer  s stop  r retry  f follow  / search  p project  ? keys  q quit"
            ),
            format!(" ↑↓ {back}  a answer  s stop  r retry  f follow  / search  ? keys  q quit"),
            format!(" ↑↓ {back}  a answer  s stop  r retry  ? keys  q quit"),
            " ↑↓ a answer  s stop  ? keys  q quit".to_owned(),
        ];
        let fits = all.iter().find(|keys| shown(keys) <= width).unwrap_or(&all[3]);
        fit(fits, width)
    }
}

/// Breaks a text into lines of at most this width, between words where that is possible.
fn wrapped(text: &str, width: usize) -> Vec<String> {
    let mut lines = vec![String::new()];
    for word in text.split_inclusive(' ') {
        let line = lines.last().map_or(0, |line| shown(line));
        if line > 0 && line + shown(word.trim_end()) > width {
            lines.push(String::new());
        }
        for letter in word.chars() {
            if lines.last().is_some_and(|line| shown(line) + columns(letter) > width) {
                lines.push(String::new());
            }
            if let Some(line) = lines.last_mut() {
                line.push(letter);
            }
        }
    }
    lines
}

/// Formats a duration in at most seven columns.
pub fn length(length: Duration) -> String {
    let seconds = length.as_secs();
    match seconds {
        0..60 => format!("{seconds}s"),
        60..3_600 => format!("{}m {:02}s", seconds / 60, seconds % 60),
        3_600..86_400 => format!("{}h {:02}m", seconds / 3_600, seconds % 3_600 / 60),
        _ => format!("{}d {:02}h", seconds / 86_400, seconds % 86_400 / 3_600),
    }
}

/// Returns the columns a character takes: none for combining marks, two for East Asian characters and emoji.
fn columns(letter: char) -> usize {
    match u32::from(letter) {
        0x300..=0x36f | 0x200b..=0x200f | 0xfe00..=0xfe0f | 0x20d0..=0x20ff => 0,
        0x1100..=0x115f
        | 0x2e80..=0x303e
        | 0x3041..=0xa4cf
        | 0xac00..=0xd7a3
        | 0xf900..=0xfaff
        | 0xfe30..=0xfe6f
        | 0xff00..=0xff60
        | 0xffe0..=0xffe6
        | 0x1f300..=0x1faff
        | 0x20000..=0x3fffd => 2,
        _ => 1,
    }
}

fn shown(text: &str) -> usize {
    text.chars().map(columns).sum()
}

/// Pads or cuts a text to exactly this width, with an ellipsis.
fn fit(text: &str, width: usize) -> String {
    let whole = shown(text);
    if whole <= width {
        return format!("{text}{}", " ".repeat(width - whole));
    }
    let (mut cut, mut used) = (String::new(), 0);
    for letter in text.chars() {
        if used + columns(letter) + 1 > width {
            break;
        }
        used += columns(letter);
        cut.push(letter);
    }
    if width > used {
        cut.push('…');
        used += 1;
    }
    format!("{cut}{}", " ".repeat(width - used))
}

#[cfg(test)]
mod tests {
    use super::*;
    use acquit_core::ids::TaskId;

    fn row(lane: Lane, id: u64, title: &str) -> Row {
        Row {
            lane,
            id: TaskId(id),
            title: title.to_owned(),
            project: "ledger".to_owned(),
            path: vec![Mark::Passed, Mark::Rejected, Mark::Running, Mark::ToCome],
            doing: "fix for test".to_owned(),
            length: Duration::from_secs(760),
            cost: Some(840_000),
            end: (lane == Lane::Done).then_some(End::Done),
        }
    }

    fn rows() -> Vec<Row> {
        let titles = [
            "Stream large exports instead of buffering",
            "口座を数える方法で並べる",
            "evil \x1b[31m\u{202e}title",
        ];
        let lanes = [Lane::Needs, Lane::Running, Lane::Waiting, Lane::Queued, Lane::Done];
        let all = lanes.iter().enumerate().flat_map(|(at, lane)| {
            titles
                .iter()
                .enumerate()
                .map(move |(index, title)| row(*lane, (at * 10 + index + 1) as u64, title))
        });
        all.collect()
    }

    fn drawn(width: usize, height: usize, chosen: usize, open: bool) -> Vec<String> {
        let (rows, board) = (rows(), Board { rows: Vec::new(), spent: 18_460_000 });
        let rows: Vec<&Row> = rows.iter().collect();
        let lines = (0..40).map(|number| format!("line {number}\x1b[2J")).collect();
        let stages = vec![("plan".to_owned(), vec![Mark::Passed]), ("code".to_owned(), vec![Mark::Running])];
        let closer = Closer { stages, leg: None, rejected: None, lines };
        let view = View {
            board: &board,
            rows: &rows,
            chosen,
            closer: Some(&closer),
            project: None,
            clock: "08:14",
            prompt: None,
            colour: false,
            open,
        };
        view.lines(width, height)
    }

    #[test]
    fn every_line_fits_every_screen_and_the_chosen_task_is_seen() {
        for width in [40, 60, 80, 100, 200] {
            for height in [12, 24, 50] {
                for chosen in 0..rows().len() {
                    let lines = drawn(width, height, chosen, false);
                    assert!(lines.len() <= height, "{width}×{height}");
                    for line in &lines {
                        assert!(shown(line) <= width, "{width}: {} {line:?}", shown(line));
                        assert!(!line.contains('\x1b') && !line.contains('\u{202e}'), "{line:?}");
                    }
                    assert!(
                        lines.iter().any(|line| line.starts_with('▌')),
                        "{width}×{height} {chosen}: {lines:#?}"
                    );
                }
                let lines = drawn(width, height, 0, true);
                assert!(lines.len() <= height && lines.iter().any(|line| line.contains("line 39")));
            }
        }
    }

    #[test]
    fn a_screen_of_eighty_columns_shows_it_as_designed() {
        insta::assert_snapshot!(drawn(80, 24, 3, false).join("\n"));
    }

    #[test]
    fn a_screen_of_forty_columns_keeps_what_matters() {
        insta::assert_snapshot!(drawn(40, 20, 0, false).join("\n"));
    }

    #[test]
    fn a_text_is_shown_whole_and_its_end_stays_in_sight() {
        let shown_at = |prompt: &str, width| {
            let view = View { prompt: Some(prompt), ..unpainted() };
            let lines = view.lines(width, 24);
            assert!(lines.len() <= 24 && lines.iter().all(|line| shown(line) <= width), "{lines:#?}");
            lines.iter().map(|line| line.trim()).collect::<Vec<_>>().join(" ")
        };
        let help = crate::top::HELP;
        assert!(shown_at(help, 80).contains(help), "every key is named");
        assert!(shown_at(help, 40).ends_with("q: quit"));
        let long = "word ".repeat(400) + "the end▏";
        assert!(shown_at(&long, 80).ends_with("the end▏"));
        assert!(shown_at(&"x".repeat(100), 80).contains(&"x".repeat(20)));
    }

    #[test]
    fn what_is_beyond_the_screen_is_counted() {
        let all: Vec<Row> = (1..=30).map(|id| row(Lane::Needs, id, "Title")).collect();
        let rows: Vec<&Row> = all.iter().collect();
        let at = |chosen| {
            let mut lines = View { rows: &rows, chosen, ..unpainted() }.lines(80, 24);
            // The line of keys has arrows too.
            lines.pop();
            lines.join("\n")
        };
        // 31 lines with the heading, in 20: one of them shows how many are hidden.
        assert!(!at(0).contains('↑') && at(0).contains("↓ 12 more"), "{}", at(0));
        assert!(
            at(22).contains("▌? T-23") && at(22).contains("↑ 6 more") && at(22).contains("↓ 7 more"),
            "{}",
            at(22)
        );
        assert!(at(29).contains("↑ 12 more") && !at(29).contains('↓'), "{}", at(29));
        assert!(at(29).contains("▌? T-30"), "{}", at(29));
    }

    #[test]
    fn colours_repeat_the_signs() {
        let painted = View { colour: true, ..unpainted() }.paint("33", "?");
        assert_eq!(painted, "\x1b[33m?\x1b[0m");
    }

    fn unpainted() -> View<'static> {
        const EMPTY: Board = Board { rows: Vec::new(), spent: 0 };
        static BOARD: Board = EMPTY;
        View {
            board: &BOARD,
            rows: &[],
            chosen: 0,
            closer: None,
            project: None,
            clock: "",
            prompt: None,
            colour: false,
            open: false,
        }
    }
}
