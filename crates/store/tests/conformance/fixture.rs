//! A fresh store for each test, with a clock that the test sets, and the few moves that all tests make.

use std::path::PathBuf;
use std::sync::Arc;
use std::sync::atomic::{AtomicI64, Ordering};
use std::time::Duration;

use acquit_core::agent::Usage;
use acquit_core::change::Change;
use acquit_core::decide::{Input, decide};
use acquit_core::definition::Definition;
use acquit_core::ids::{Name, TaskId};
use acquit_core::leg::{Ending, Owner, Report};
use acquit_core::outcome::{Outcome, Source};
use acquit_core::store::{Claim, Commit, Result, Store, Wanted};
use acquit_core::task::{Actor, Base, Project, Seed, Task, Wish};
use acquit_core::time::Timestamp;
use acquit_store::{Clock, Location};
use acquit_testkit::postgres::{Database, database_or_skip};

/// The time that every test begins at.
pub const START: Timestamp = Timestamp(1_700_000_000_000);

/// A lease that no test outlives without meaning to.
pub const LEASE: Duration = Duration::from_mins(1);

/// Where a test's store is.
pub struct Place {
    pub location: Location,
    clock: Arc<AtomicI64>,
    kind: Kind,
}

enum Kind {
    Sqlite { folder: tempfile::TempDir },
    Postgres { database: Database },
}

impl Place {
    pub fn sqlite() -> Self {
        let folder = tempfile::tempdir().expect("a temporary folder");
        let location = Location::Sqlite(folder.path().join("store.db"));
        Self { location, clock: clock(), kind: Kind::Sqlite { folder } }
    }

    #[track_caller]
    pub fn postgres_or_skip(reason: &str) -> Option<Self> {
        let database = database_or_skip(reason)?;
        let location = Location::parse(&database.url);
        Some(Self { location, clock: clock(), kind: Kind::Postgres { database } })
    }

    pub fn open(&self) -> Box<dyn Store> {
        self.try_open().expect("the store opens")
    }

    pub fn try_open(&self) -> std::result::Result<Box<dyn Store>, acquit_store::OpenError> {
        acquit_store::open(&self.location, Clock::Set(Arc::clone(&self.clock)))
    }

    /// Lets time pass.
    pub fn later(&self, by: Duration) {
        self.clock.fetch_add(i64::try_from(by.as_millis()).expect("a short time"), Ordering::SeqCst);
    }

    /// Makes a store as a version with this schema left it.
    pub fn make_of_schema(&self, schema: usize) {
        macro_rules! forms {
            ($($schema:literal),+) => {
                [$((
                    include_str!(concat!("../forms/store-", $schema, ".sqlite.sql")),
                    include_str!(concat!("../forms/store-", $schema, ".postgres.sql")),
                )),+]
            };
        }
        let (sqlite, postgres) = forms!(1, 2, 3, 4, 5)[schema - 1];
        let sql = match self.kind {
            Kind::Sqlite { .. } => sqlite,
            Kind::Postgres { .. } => postgres,
        };
        self.raw(sql).expect("a store of this schema");
    }

    /// Changes rows behind the store's back.
    pub fn raw(&self, sql: &str) -> std::result::Result<(), String> {
        match &self.kind {
            Kind::Sqlite { folder } => {
                let path: PathBuf = folder.path().join("store.db");
                let connection = rusqlite::Connection::open(path).map_err(|error| error.to_string())?;
                connection.execute_batch(sql).map_err(|error| error.to_string())
            }
            Kind::Postgres { database } => {
                let mut client = postgres::Client::connect(&database.url, postgres::NoTls)
                    .map_err(|error| format!("{error:?}"))?;
                client.batch_execute(sql).map_err(|error| format!("{error:?}"))
            }
        }
    }
}

fn clock() -> Arc<AtomicI64> {
    Arc::new(AtomicI64::new(START.0))
}

/// A workflow of two stages, one after the other, with a budget for each kind of failure.
pub fn definition() -> Definition {
    serde_json::from_str(include_str!("../forms/definition-1.json")).expect("a definition")
}

pub fn wish(title: &str, priority: i32) -> Wish {
    Wish { priority, ..Wish::titled(title) }
}

pub fn me() -> Actor {
    Actor::Person("me".to_owned())
}

pub fn owner(pid: u32) -> Owner {
    Owner { host: "here".to_owned(), boot: "today".to_owned(), pid, started: 7, worker: None }
}

/// The changes that make a task.
pub fn beginning(id: TaskId, wish: Wish) -> Vec<Change> {
    let seed = Seed {
        id,
        wish,
        project: Project { name: "app".to_owned(), path: "/src/app".to_owned() },
        workflow: Name::literal("feature"),
        base: Base { branch: Some("main".to_owned()), commit: "b".repeat(40), work: None },
        branch: format!("acquit/x-{id}"),
        created: START,
    };
    let mut changes = vec![Change::Created { seed: Box::new(seed.clone()) }];
    changes.extend(decide(&Task::new(seed), &definition().workflow, Input::Begin).expect("a task can begin"));
    changes
}

/// A new task whose first leg is ready.
pub fn create(store: &mut dyn Store, title: &str, priority: i32) -> Task {
    let id = store.reserve().expect("an id");
    store.create(&definition(), &beginning(id, wish(title, priority)), &me()).expect("a task")
}

pub fn try_claim(store: &mut dyn Store) -> Option<Claim> {
    store.claim(Wanted::Any, &owner(1), LEASE).expect("no error in claiming")
}

pub fn claim(store: &mut dyn Store) -> Claim {
    try_claim(store).expect("a leg to claim")
}

pub fn passed() -> Ending {
    let outcome = Outcome {
        name: Name::literal("pr_ready"),
        payload: serde_json::json!({ "summary": "done" }),
        source: Source::HandoffFile,
    };
    Ending::Passed { outcome }
}

/// What follows when the claimed leg ends so.
pub fn ending(task: &Task, leg: u32, ending: Ending) -> Vec<Change> {
    let usage = Usage { input: 10, cost_micros: Some(1_500), ..Usage::default() };
    let report = Report { usage, ..Report::bare(ending) };
    decide(task, &definition().workflow, Input::LegEnded { leg, report: Box::new(report) })
        .expect("a leg can end")
}

/// Ends the claimed leg, as its harness would.
pub fn end(store: &mut dyn Store, claim: &Claim, how: Ending) -> Result<Task> {
    let changes = ending(&claim.task, claim.leg.id.number, how);
    let by = Actor::Harness(claim.leg.id);
    store.commit(Commit {
        before: &claim.task,
        changes: &changes,
        by: &by,
        hold: Some(claim.hold),
        notes: &[],
    })
}

/// Declares the claimed leg lost, as a supervisor would.
pub fn lose(store: &mut dyn Store, claim: &Claim) -> Task {
    let changes = ending(&claim.task, claim.leg.id.number, Ending::Lost { why: "silent".to_owned() });
    let by = Actor::Supervisor;
    store
        .commit(Commit {
            before: &claim.task,
            changes: &changes,
            by: &by,
            hold: Some(claim.hold),
            notes: &[],
        })
        .expect("a lost leg is declared")
}

/// Writes what a person's input leads to.
pub fn input(store: &mut dyn Store, task: &Task, input: Input) -> Result<Task> {
    let changes = decide(task, &definition().workflow, input).expect("a possible input");
    store.commit(Commit { before: task, changes: &changes, by: &me(), hold: None, notes: &[] })
}
