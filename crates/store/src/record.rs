//! The content of rows. Structured values are JSON in text columns, read back as a whole. The plain columns next to
//! them are for the database: to search, order, check, and list without reading the rest.
//!
//! PostgreSQL does not allow NUL in text. JSON escapes it, so it survives there. In plain columns, which are only for
//! display, it becomes U+FFFD on both databases.

use acquit_core::agent::{Chunk, shorten};
use acquit_core::definition::Definition;
use acquit_core::event::{Body, Event, Level};
use acquit_core::ids::{Fence, LegId, TaskId};
use acquit_core::json::Json;
use acquit_core::leg::{Leg, State};
use acquit_core::sandbox::Mode;
use acquit_core::store::Filter;
use acquit_core::task::{Actor, End, State as TaskState, Summary, Task};
use acquit_core::time::Timestamp;

use crate::row::{read_row, written_row};
use crate::tx_error::{Result, TxError};

/// Maximum length of an event's summary in its own column. The event's data contains all of it.
const SUMMARY_LIMIT: usize = 500;

/// Characters of a search that the database looks for. SQLite refuses patterns over 50,000 bytes.
const SEARCH_LIMIT: usize = 500;

/// Selects tasks that wait for a task which no longer fixes their failure.
pub(crate) const RELEASED: &str = "select blocked.task from blocked left join roots
         on roots.project_path = blocked.project_path and roots.fingerprint = blocked.fingerprint
             and roots.task = blocked.root
     where roots.task is null order by blocked.task";

/// Condition of events that can be removed when a task's history is folded: all but changes. The tag is the first field.
macro_rules! is_no_change {
    () => {
        "data not like '{\"event\":\"change\"%'"
    };
}

/// Selects ended tasks that have not changed since a time, with the size of what folding their history removes. Its
/// markers are those of PostgreSQL and of SQLite.
pub(crate) const FOLDABLE: &str = concat!(
    "select id, bytes from (select id,
         (select coalesce(sum(length(items)), 0) from transcripts where transcripts.task = tasks.id)
         + (select coalesce(sum(length(data)), 0) from events where events.task = tasks.id and ",
    is_no_change!(),
    ") as bytes from tasks where ended and updated < $1) as old where bytes > 0 order by id limit $2"
);

/// Removes the events of a task that are no changes.
pub(crate) const FOLD_EVENTS: &str = concat!("delete from events where task = $1 and ", is_no_change!());

written_row! {
    /// Row of a task, without its definition.
    TaskRow {
        key { id: i64 }
        fixed {
            project_path: String,
            project_name: String,
            workflow: String,
            priority: i64,
            created: i64,
        }
        changing {
            version: i64,
            state: &'static str,
            ended: bool,
            stage: Option<String>,
            title: String,
            legs: i64,
            cost: Option<i64>,
            updated: i64,
            body: String,
        }
    }
}

impl TaskRow {
    /// Creates the row of a task that changed at `updated`.
    pub(crate) fn of(task: &Task, updated: Timestamp) -> Result<Self> {
        let seed = &task.seed;
        Ok(Self {
            id: key(task.id()),
            version: number(task.version),
            state: task.state.word(),
            ended: is_over(&task.state),
            stage: task.state.stage().map(ToString::to_string),
            project_path: plain(&seed.project.path),
            project_name: plain(&seed.project.name),
            title: plain(&task.listed_title()),
            workflow: seed.workflow.to_string(),
            priority: i64::from(seed.wish.priority),
            legs: i64::from(task.legs),
            cost: task.usage().paid().map(number),
            created: seed.created.0,
            updated: updated.0,
            body: json("task", task)?,
        })
    }
}

read_row! {
    /// A task with its definition, as stored.
    WholeRow, whole_columns {
        id: i64,
        body: String,
        definition: String,
    }
}

/// Columns of a task's definition.
pub(crate) struct DefinitionRow {
    pub(crate) definition: String,
    pub(crate) sandbox: &'static str,
    pub(crate) needs: String,
    pub(crate) pools: String,
}

impl DefinitionRow {
    /// The columns, for an insert.
    pub(crate) const COLUMNS: &[&str] = &["definition", "sandbox", "needs", "pools"];

    pub(crate) fn of(definition: &Definition) -> Result<Self> {
        Ok(Self {
            definition: json("definition", definition)?,
            sandbox: mode_word(definition.config.sandbox),
            needs: json("needs", &acquit_core::fleet::needs(definition))?,
            pools: json("pools", &acquit_core::fleet::pools(definition))?,
        })
    }
}

fn is_over(state: &TaskState) -> bool {
    match state {
        TaskState::New
        | TaskState::Working { .. }
        | TaskState::Waiting { .. }
        | TaskState::Blocked { .. } => false,
        TaskState::Ended {
            end: End::Done | End::Failed { .. } | End::NoImprovement | End::Cancelled { .. },
        } => true,
    }
}

read_row! {
    /// A task in a list, as stored.
    SummaryRow, summary_columns {
        id: i64,
        title: String,
        project_name: String,
        workflow: String,
        state: String,
        stage: Option<String>,
        priority: i64,
        legs: i64,
        cost: Option<i64>,
        created: i64,
        updated: i64,
        sandbox: String,
    }
}

impl SummaryRow {
    /// Returns whether the title contains this text in any case, or the text is the id.
    pub(crate) fn found_by(&self, text: &str) -> bool {
        self.title.to_lowercase().contains(&plain(text).to_lowercase())
            || task_id(self.id).to_string().eq_ignore_ascii_case(text)
    }

    pub(crate) fn summary(self) -> Result<Summary> {
        let bad = |error| TxError::corrupt(format!("summary of task {}", self.id), error);
        Ok(Summary {
            id: task_id(self.id),
            title: self.title,
            project: self.project_name,
            workflow: self.workflow.parse().map_err(bad)?,
            state: self.state,
            stage: self.stage.map(|stage| stage.parse()).transpose().map_err(bad)?,
            priority: i32::try_from(self.priority).unwrap_or(i32::MAX),
            legs: small(self.legs),
            cost_micros: self.cost.map(natural),
            created: Timestamp(self.created),
            updated: Timestamp(self.updated),
            sandbox: mode(&self.sandbox),
        })
    }
}

/// Returns the query of a list and its text parameters, written as `{marker}1`, `{marker}2` in it. A given state is
/// listed whether it is final or not; without one, `ended` decides. Every variant walks an index from its newest end.
pub(crate) fn list_query(filter: &Filter, marker: char) -> (String, Vec<String>) {
    let mut conditions = Vec::new();
    let mut values = Vec::new();
    let texts = [
        ("project_path", &filter.project),
        ("state", &filter.state),
        ("project_name", &filter.name),
        ("workflow", &filter.workflow),
    ];
    for (column, wanted) in texts {
        if let Some(wanted) = wanted {
            values.push(plain(wanted));
            conditions.push(format!("{column} = {marker}{}", values.len()));
        }
    }
    // A record is JSON text, in which a string has its quotes. This finds all tasks with the tag, and few others.
    let find = if marker == '$' { "strpos" } else { "instr" };
    for tag in &filter.tags {
        values.push(serde_json::Value::from(tag.as_str()).to_string());
        conditions.push(format!("{find}(body, {marker}{}) > 0", values.len()));
    }
    conditions.extend(filter.running.map(|running| {
        let not = if running { "" } else { "not " };
        format!("{not}exists (select 1 from legs where legs.task = tasks.id and legs.state = 'running')")
    }));
    if let Some(text) = &filter.search {
        values.push(title_pattern(text));
        let title = if marker == '$' { "lower(title collate \"C\")" } else { "lower(title)" };
        let id = text.parse::<TaskId>().map_or(String::new(), |id| format!(" or id = {}", id.0));
        conditions.push(format!("({title} like {marker}{} escape '\\'{id})", values.len()));
    }
    conditions.extend(filter.before.map(|moment| format!("created <= {}", moment.0)));
    conditions.extend(filter.since.map(|moment| format!("created >= {}", moment.0)));
    conditions.extend(filter.below.map(|id| format!("id < {}", id.0)));
    let part = |also: &str| {
        let conditions: Vec<&str> =
            conditions.iter().map(String::as_str).chain([also]).filter(|one| !one.is_empty()).collect();
        let conditions = conditions.join(" and ");
        let condition = if conditions.is_empty() { String::new() } else { format!(" where {conditions}") };
        format!("select {} from tasks{condition}", summary_columns!())
    };
    let (open, ended) = ("ended = false", "ended = true");
    let parts = match (filter.state.is_none(), filter.ended) {
        (true, false) => part(open),
        // The index of a project has its open tasks apart from the others. Together they would have to be sorted.
        (true, true) if filter.project.is_some() => format!("{} union all {}", part(open), part(ended)),
        (true, true) | (false, _) => part(""),
    };
    (format!("{parts} order by id desc limit {}", filter.limit), values)
}

/// Returns a pattern that fits every title with this text, in any case. Databases agree on the case of ASCII letters
/// only, so any other character fits any text, and [`SummaryRow::found_by`] decides.
fn title_pattern(text: &str) -> String {
    let mut pattern = "%".to_owned();
    for character in text.to_lowercase().chars().take(SEARCH_LIMIT) {
        match character {
            '%' | '_' | '\\' => pattern.extend(['\\', character]),
            '\x01'..='\x7f' => pattern.push(character),
            _ => pattern.push('%'),
        }
    }
    pattern.push('%');
    pattern
}

read_row! {
    /// A leg as stored.
    LegRow, leg_columns {
        task: i64,
        number: i64,
        state: String,
        entry: String,
        not_before: i64,
        cancel: bool,
        fence: Option<i64>,
        owner: Option<String>,
        lease_until: Option<i64>,
        started: Option<i64>,
        ended: Option<i64>,
        usage: String,
    }
}

impl LegRow {
    pub(crate) fn leg(self) -> Result<Leg> {
        let id = LegId { task: task_id(self.task), number: small(self.number) };
        let what = format!("leg {id}");
        let state = State::from_name(&self.state)
            .ok_or_else(|| TxError::corrupt(&what, format!("unknown state `{}`", self.state)))?;
        Ok(Leg {
            id,
            entry: read(&what, &self.entry)?,
            state,
            not_before: Timestamp(self.not_before),
            cancel: self.cancel,
            fence: self.fence.map(Fence),
            owner: self.owner.map(|owner| read(&what, &owner)).transpose()?,
            lease_until: self.lease_until.map(Timestamp),
            started: self.started.map(Timestamp),
            ended: self.ended.map(Timestamp),
            usage: read(&what, &self.usage)?,
        })
    }
}

/// An event to store.
pub(crate) struct NewEvent {
    pub(crate) task: i64,
    pub(crate) leg: Option<i64>,
    pub(crate) at: i64,
    pub(crate) category: &'static str,
    pub(crate) kind: &'static str,
    pub(crate) level: &'static str,
    pub(crate) actor: String,
    pub(crate) summary: String,
    pub(crate) data: String,
}

impl NewEvent {
    pub(crate) fn of(task: TaskId, leg: Option<u32>, at: Timestamp, by: &Actor, body: &Body) -> Result<Self> {
        Ok(Self {
            task: key(task),
            leg: leg.map(i64::from),
            at: at.0,
            category: body.category(),
            kind: body.kind(),
            level: match body.level() {
                Level::Debug => "debug",
                Level::Info => "info",
                Level::Warning => "warning",
                Level::Error => "error",
            },
            actor: json("actor", by)?,
            summary: plain(&shorten(&body.summary(), SUMMARY_LIMIT)),
            data: json("event", body)?,
        })
    }
}

read_row! {
    /// An event as stored.
    EventRow, event_columns {
        seq: i64,
        task: i64,
        leg: Option<i64>,
        at: i64,
        actor: String,
        data: String,
    }
}

impl EventRow {
    pub(crate) fn event(self) -> Result<Event> {
        let what = format!("event {}", self.seq);
        Ok(Event {
            seq: self.seq,
            task: task_id(self.task),
            leg: self.leg.map(small),
            at: Timestamp(self.at),
            actor: read(&what, &self.actor)?,
            body: read(&what, &self.data)?,
        })
    }
}

read_row! {
    /// A chunk of a transcript, read and written.
    ChunkRow, chunk_columns {
        from_byte: i64,
        to_byte: i64,
        lines: i64,
        items: String,
        omitted: i64,
    }
}

impl ChunkRow {
    pub(crate) fn of(chunk: &Chunk) -> Result<Self> {
        Ok(Self {
            from_byte: number(chunk.from),
            to_byte: number(chunk.to),
            lines: number(chunk.lines),
            items: json("transcript", &chunk.items)?,
            omitted: number(chunk.omitted),
        })
    }

    pub(crate) fn chunk(self) -> Result<Chunk> {
        Ok(Chunk {
            from: natural(self.from_byte),
            to: natural(self.to_byte),
            lines: natural(self.lines),
            items: read("transcript", &self.items)?,
            omitted: natural(self.omitted),
        })
    }
}

/// Converts a task id for the databases. An id that is too large becomes 0, which no task has.
pub(crate) fn key(id: TaskId) -> i64 {
    i64::try_from(id.0).unwrap_or(0)
}

/// Converts a stored task id.
pub(crate) fn task_id(key: i64) -> TaskId {
    TaskId(natural(key))
}

/// Converts a number for the databases. None of our counters reaches the limit.
pub(crate) fn number(value: u64) -> i64 {
    i64::try_from(value).unwrap_or(i64::MAX)
}

/// Converts a stored number. The schema excludes negative ones.
pub(crate) fn natural(value: i64) -> u64 {
    u64::try_from(value).unwrap_or(0)
}

pub(crate) fn small(value: i64) -> u32 {
    u32::try_from(value).unwrap_or(u32::MAX)
}

/// Converts a text for a plain column.
pub(crate) fn plain(text: &str) -> String {
    text.replace('\0', "\u{fffd}")
}

/// Converts a value to JSON.
pub(crate) fn json(what: &str, value: &impl Json) -> Result<String> {
    value.to_json().map_err(|error| TxError::corrupt(what, error))
}

/// Parses a value from JSON.
pub(crate) fn read<T: Json>(what: &str, text: &str) -> Result<T> {
    T::from_json(text).map_err(|error| TxError::corrupt(what, error))
}

/// Returns the word of a mode in the table of tasks. The words are those of schema 1, where `strict` meant today's
/// `on`, and `on` meant today's `reduced`.
pub(crate) fn mode_word(mode: Mode) -> &'static str {
    match mode {
        Mode::On => "strict",
        Mode::Reduced => "on",
        Mode::Off => "off",
    }
}

/// Parses the word of a mode in the table of tasks.
fn mode(word: &str) -> Mode {
    let known = [Mode::On, Mode::Reduced, Mode::Off];
    known.into_iter().find(|mode| mode_word(*mode) == word).unwrap_or_default()
}
