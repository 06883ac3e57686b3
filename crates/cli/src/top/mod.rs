//! `acquit top`: the board live in the terminal, with keys to open, answer, stop and retry tasks.
//!
//! Draws with plain escape codes: a terminal library would add two dozen crates to the build for one screen of text.

mod draw;

use std::io::IsTerminal;
use std::time::{Duration, Instant};

use acquit_app::board::{self, Board, Closer, Row};
use acquit_app::index::TaskIndex;
use acquit_app::reload::Renewal;
use acquit_core::decide::Input;
use acquit_core::event::Level;
use acquit_core::ids::TaskId;
use acquit_core::store::Store;
use acquit_core::task::State;
use acquit_core::time::Timestamp;
use acquit_run::process::Interrupt;
use jiff::tz::TimeZone;

use crate::cli::Cli;
use crate::exit::Exit;
use crate::foreground::{self, Part};
use crate::report::screen::{Key, Screen};
use crate::verbs::walk;
use acquit_app::Error;
use draw::View;

/// Interval for reading the store.
const LOOK: Duration = Duration::from_secs(1);
/// Timeout for a key, in milliseconds.
const WAIT: u32 = 200;
/// Maximum number of requests to answer before the board is shown again.
const MOST: u32 = 200;
/// Help for the keys.
const HELP: &str = "↑↓ or j k: move · enter: open · a: answer · s: stop · r: retry with a note · f: follow · /: search · p: project · q: quit";

/// The content of the last line.
enum Mode {
    /// Keys are commands.
    Keys,
    /// The user types a search.
    Search,
    /// The user types a note for a retry.
    Note(String),
    /// Asks before stopping a task.
    Stop,
    /// A message, until the next key.
    Told(String),
}

/// State of the screen.
struct Top<'c> {
    cli: &'c Cli,
    board: Board,
    index: TaskIndex,
    closer: Option<(TaskId, Closer)>,
    chosen: Option<TaskId>,
    project: Option<String>,
    search: String,
    mode: Mode,
    open: bool,
}

/// Runs until the user quits.
pub fn top(cli: &Cli) -> Result<Exit, Error> {
    if !std::io::stdin().is_terminal() || !std::io::stdout().is_terminal() || cli.printer.json {
        return Err(Error::NoTerminal);
    }
    let interrupt = Interrupt::listen().map_err(Error::Signals)?;
    let mut store = cli.app.store()?;
    let store = store.as_mut();
    let mut top = Top {
        cli,
        board: Board::default(),
        index: TaskIndex::default(),
        closer: None,
        chosen: None,
        project: None,
        search: String::new(),
        mode: Mode::Keys,
        open: false,
    };
    let screen = Screen::take().map_err(terminal)?;
    let mut looked: Option<Instant> = None;
    while interrupt.count() == 0 {
        if looked.is_none_or(|at| at.elapsed() >= LOOK) {
            top.look(store)?;
            looked = Some(Instant::now());
        }
        let (width, height) = Screen::size();
        let clock = time_of_day(store.now()?);
        screen.draw(&top.lines(width, height, &clock)).map_err(terminal)?;
        let keys = screen.keys(WAIT).map_err(terminal)?;
        for key in keys {
            if !top.press(key, &screen, store)? {
                return Ok(Exit::Done);
            }
            looked = None;
        }
    }
    Ok(Exit::Done)
}

fn terminal(source: std::io::Error) -> Error {
    Error::File { doing: "use", path: "the terminal".into(), source }
}

fn zoned(at: Timestamp) -> Option<jiff::Zoned> {
    jiff::Timestamp::from_millisecond(at.0).ok().map(|at| at.to_zoned(TimeZone::system()))
}

fn time_of_day(at: Timestamp) -> String {
    zoned(at).map(|at| at.strftime("%H:%M").to_string()).unwrap_or_default()
}

impl Top<'_> {
    /// Returns the rows that match the project and the search.
    fn rows(&self) -> Vec<&Row> {
        let search = self.search.to_lowercase();
        let fits = |row: &&Row| {
            self.project.as_ref().is_none_or(|project| row.project == *project)
                && (row.title.to_lowercase().contains(&search)
                    || row.id.to_string().to_lowercase().contains(&search))
        };
        self.board.rows.iter().filter(fits).collect()
    }

    /// Returns the index of the selected row; 0 if it is gone.
    fn place(&self, rows: &[&Row]) -> usize {
        rows.iter().position(|row| Some(row.id) == self.chosen).unwrap_or(0)
    }

    /// Reads the board and the selected task from the store.
    fn look(&mut self, store: &mut dyn Store) -> Result<(), Error> {
        let now = store.now()?;
        self.board = board::board(store, &mut self.index, acquit_app::figures::midnight(now))?;
        let rows = self.rows();
        let chosen = rows.get(self.place(&rows)).map(|row| row.id);
        self.chosen = chosen;
        self.closer = match chosen {
            Some(id) => Some((id, board::closer(&self.cli.app, store, id)?)),
            None => None,
        };
        Ok(())
    }

    fn lines(&self, width: usize, height: usize, clock: &str) -> Vec<String> {
        let rows = self.rows();
        let prompt = match &self.mode {
            Mode::Keys if self.search.is_empty() => None,
            Mode::Keys => Some(format!("search: {}   esc: show all", self.search)),
            Mode::Search => Some(format!("/{}▏", self.search)),
            Mode::Note(text) => Some(format!("note for the agent (enter: retry, esc: leave): {text}▏")),
            Mode::Stop => Some("stop this task and end it? y/n".to_owned()),
            Mode::Told(text) => Some(text.clone()),
        };
        let closer =
            self.closer.as_ref().filter(|(id, _)| Some(*id) == self.chosen).map(|(_, closer)| closer);
        let view = View {
            board: &self.board,
            rows: &rows,
            chosen: self.place(&rows),
            closer,
            project: self.project.as_deref(),
            clock,
            prompt: prompt.as_deref(),
            colour: self.cli.printer.colour(),
            open: self.open,
        };
        view.lines(width, height)
    }

    /// Handles a key. Returns false to quit.
    fn press(&mut self, key: Key, screen: &Screen, store: &mut dyn Store) -> Result<bool, Error> {
        match std::mem::replace(&mut self.mode, Mode::Keys) {
            Mode::Search => self.type_search(key),
            Mode::Note(text) => self.type_note(key, text, store),
            Mode::Stop => {
                if let (Key::Letter('y'), Some(id)) = (key, self.chosen) {
                    let done = self.cli.app.cancel(store, id);
                    self.tell(done.map(|task| format!("{id} {}", task.state.word())));
                }
            }
            Mode::Keys | Mode::Told(_) => return self.command(key, screen, store),
        }
        Ok(true)
    }

    fn command(&mut self, key: Key, screen: &Screen, store: &mut dyn Store) -> Result<bool, Error> {
        match key {
            Key::Letter('q') => return Ok(false),
            Key::Escape if self.open => self.open = false,
            Key::Escape => self.search.clear(),
            Key::Enter => self.open = !self.open,
            Key::Up | Key::Letter('k') => self.step(-1),
            Key::Down | Key::Letter('j') => self.step(1),
            Key::PageUp => self.step(-10),
            Key::PageDown => self.step(10),
            Key::Letter('/') => self.mode = Mode::Search,
            Key::Letter('?') => self.mode = Mode::Told(HELP.to_owned()),
            Key::Letter('p') => self.next_project(),
            Key::Letter('s') if self.chosen.is_some() => self.mode = Mode::Stop,
            Key::Letter('r') if self.chosen.is_some() => self.mode = Mode::Note(String::new()),
            Key::Letter('a') => self.answer(screen, store)?,
            Key::Letter('f') => self.follow(screen, store)?,
            Key::Letter(_) | Key::Back => {}
        }
        Ok(true)
    }

    fn step(&mut self, by: isize) {
        let rows = self.rows();
        let place = self.place(&rows).saturating_add_signed(by).min(rows.len().saturating_sub(1));
        self.chosen = rows.get(place).map(|row| row.id);
    }

    fn next_project(&mut self) {
        let mut all: Vec<&str> = self.board.rows.iter().map(|row| row.project.as_str()).collect();
        all.sort_unstable();
        all.dedup();
        let next = match &self.project {
            None => all.first(),
            Some(project) => all.iter().find(|other| **other > project.as_str()),
        };
        self.project = next.map(|&name| name.to_owned());
    }

    fn type_search(&mut self, key: Key) {
        self.mode = Mode::Search;
        match key {
            Key::Enter => self.mode = Mode::Keys,
            Key::Escape => {
                self.search.clear();
                self.mode = Mode::Keys;
            }
            Key::Back => {
                self.search.pop();
            }
            Key::Letter(letter) => self.search.push(letter),
            Key::Up | Key::Down | Key::PageUp | Key::PageDown => {}
        }
    }

    fn type_note(&mut self, key: Key, mut text: String, store: &mut dyn Store) {
        match key {
            Key::Escape => return,
            Key::Enter => {
                let Some(id) = self.chosen else { return };
                let note = Some(text).filter(|text| !text.trim().is_empty());
                let input = Input::Retry { by: self.cli.app.person(), stage: None, note };
                let done = self.cli.app.decide_with(store, id, Some(&input), &Renewal::default());
                self.tell(done.map(|_| format!("{id} is ready again; a worker of `acquit serve` takes it")));
                return;
            }
            Key::Back => {
                text.pop();
            }
            Key::Letter(letter) => text.push(letter),
            Key::Up | Key::Down | Key::PageUp | Key::PageDown => {}
        }
        self.mode = Mode::Note(text);
    }

    /// Leaves the screen to answer the selected task, or else all tasks that need input.
    fn answer(&mut self, screen: &Screen, store: &mut dyn Store) -> Result<(), Error> {
        let chosen = self.chosen.map(|id| store.task(id)).transpose()?;
        let tasks = match chosen {
            Some(task) if matches!(task.state, State::Waiting { .. }) => vec![task],
            _ => walk::waiting(self.cli, store, None, MOST)?.0,
        };
        if tasks.is_empty() {
            self.mode = Mode::Told("nothing waits for you".to_owned());
            return Ok(());
        }
        screen.leave().map_err(terminal)?;
        let done = walk::walk(self.cli, store, &tasks);
        screen.back().map_err(terminal)?;
        done.map(|_| ())
    }

    /// Leaves the screen to follow the selected task until it ends or Ctrl-C.
    fn follow(&mut self, screen: &Screen, store: &mut dyn Store) -> Result<(), Error> {
        let Some(id) = self.chosen else { return Ok(()) };
        if !matches!(store.task(id)?.state, State::Working { .. }) {
            self.mode = Mode::Told(format!("{id} does not run"));
            return Ok(());
        }
        screen.leave().map_err(terminal)?;
        let done =
            foreground::follow(&self.cli.app, self.cli.printer, store, id, Part::Watches, Level::Info, 0);
        screen.back().map_err(terminal)?;
        done.map(|_| ())
    }

    fn tell(&mut self, done: Result<String, Error>) {
        let words = done.unwrap_or_else(|error| format!("failed to {}", acquit_run::harness::chain(&error)));
        self.mode = Mode::Told(words);
    }
}
