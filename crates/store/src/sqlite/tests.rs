//! Tests specific to SQLite: files and their modes, and full disks.

use std::os::unix::fs::PermissionsExt;
use std::path::Path;

use acquit_core::store::{Error, Store};

use super::*;
use crate::database::Database;
use crate::record::DefinitionRow;

fn open(path: &Path) -> std::result::Result<Database<Sqlite>, OpenError> {
    Sqlite::open(path, Clock::System).map(Database)
}

fn mode(path: &Path) -> u32 {
    std::fs::metadata(path).expect("a file").permissions().mode() & 0o777
}

#[test]
fn the_file_is_for_its_owner_alone() {
    let folder = tempfile::tempdir().expect("a folder");
    let path = folder.path().join("a b/ü/store.db");
    let mut store = open(&path).expect("a store");
    store.reserve().expect("an id");
    assert_eq!(mode(&path), 0o600);
    assert_eq!(mode(&path.with_extension("db-wal")), 0o600);
    assert_eq!(mode(path.parent().expect("its folder")), 0o700);
}

#[test]
fn an_open_file_is_as_durable_as_promised() {
    let folder = tempfile::tempdir().expect("a folder");
    let path = folder.path().join("store.db");
    drop(open(&path).expect("a store"));
    let store = open(&path).expect("a store");
    let asked = |pragma: &str| -> String {
        let value = store.0.connection.query_row(&format!("pragma {pragma}"), [], |row| row.get(0));
        let value: rusqlite::types::Value = value.expect("a pragma");
        format!("{value:?}")
    };
    assert_eq!(asked("journal_mode"), "Text(\"wal\")");
    assert_eq!(asked("synchronous"), "Integer(2)");
    assert_eq!(asked("foreign_keys"), "Integer(1)");
}

#[test]
fn what_is_not_a_store_is_told_and_left_alone() {
    let folder = tempfile::tempdir().expect("a folder");
    let text = folder.path().join("notes.txt");
    let words = "dear diary, ".repeat(500);
    std::fs::write(&text, &words).expect("a file");
    assert!(matches!(open(&text).err(), Some(OpenError::NotAStore { .. })));
    assert_eq!(std::fs::read_to_string(&text).expect("the file"), words);

    let foreign = folder.path().join("foreign.db");
    let other = Connection::open(&foreign).expect("a database");
    other.execute_batch("create table birds (name text)").expect("a table");
    drop(other);
    let before = std::fs::read(&foreign).expect("the file");
    assert!(matches!(open(&foreign).err(), Some(OpenError::NotAStore { .. })));
    assert_eq!(std::fs::read(&foreign).expect("the file"), before);

    assert!(matches!(open(folder.path()).err(), Some(OpenError::Create { .. })), "a folder");
    assert!(matches!(open(&text.join("store.db")).err(), Some(OpenError::Create { .. })), "below a file");
    let nowhere = Path::new("/proc/self/acquit/store.db");
    assert!(matches!(open(nowhere).err(), Some(OpenError::Create { .. })), "where nothing can be made");
}

#[test]
fn a_file_name_is_never_read_as_a_uri() {
    let folder = tempfile::tempdir().expect("a folder");
    let path = folder.path().join("file:x?mode=memory");
    open(&path).expect("a store").reserve().expect("an id");
    assert!(path.exists());
}

#[test]
fn a_full_disk_is_told_and_loses_nothing() {
    let folder = tempfile::tempdir().expect("a folder");
    let path = folder.path().join("store.db");
    let mut store = open(&path).expect("a store");
    let fill = |store: &mut Database<Sqlite>, bytes: usize| {
        store.0.write(|tables| {
            tables.reserve()?;
            tables.insert_task(
                &row(bytes),
                &DefinitionRow {
                    definition: "{}".to_owned(),
                    sandbox: "on",
                    needs: "{}".to_owned(),
                    pools: "{}".to_owned(),
                },
            )
        })
    };
    // The smallest limit that SQLite accepts is the current size of the file.
    store.0.connection.pragma_update_and_check(None, "max_page_count", 1, |_| Ok(())).expect("a limit");
    let refusal = fill(&mut store, 100_000).expect_err("no room").while_doing("take it");
    let Error::Full { source, .. } = refusal else { panic!("{refusal:?}") };
    assert_eq!(source.to_string(), "database or disk is full");
    assert_eq!(store.0.read(|tables| tables.task(1)).expect("readable"), None);

    store
        .0
        .connection
        .pragma_update_and_check(None, "max_page_count", 1_000_000, |_| Ok(()))
        .expect("no limit");
    fill(&mut store, 100_000).expect("room again");
    assert_eq!(store.reserve().expect("an id").0, 2, "the id that was refused was not lost");
}

fn row(bytes: usize) -> crate::record::TaskRow {
    crate::record::TaskRow {
        id: 1,
        version: 1,
        state: "working",
        ended: false,
        stage: Some("plan".to_owned()),
        project_path: "/p".to_owned(),
        project_name: "p".to_owned(),
        title: "large".to_owned(),
        workflow: "feature".to_owned(),
        priority: 0,
        legs: 0,
        cost: None,
        created: 0,
        updated: 0,
        body: "x".repeat(bytes),
    }
}

#[test]
fn a_locked_file_is_told_as_such() {
    let folder = tempfile::tempdir().expect("a folder");
    let path = folder.path().join("store.db");
    let mut store = open(&path).expect("a store");
    let other = Connection::open(&path).expect("a connection");
    other.execute_batch("begin immediate").expect("a lock");
    store.0.connection.busy_timeout(Duration::ZERO).expect("no patience");
    let error = store.reserve().expect_err("somebody else writes");
    assert!(
        matches!(&error, Error::Database { source, .. } if source.to_string().contains("locked")),
        "{error:?}"
    );
    other.execute_batch("rollback").expect("no lock");
    store.reserve().expect("an id");
}

#[test]
fn lists_and_claims_walk_an_index() {
    let folder = tempfile::tempdir().expect("a folder");
    let store = open(&folder.path().join("store.db")).expect("a store");
    let plan = |sql: &str, values: &[&str]| -> String {
        let mut statement = store.0.connection.prepare(&format!("explain query plan {sql}")).expect("a plan");
        let values = rusqlite::params_from_iter(values);
        let lines = statement.query_map(values, |row| row.get::<_, String>(3)).expect("rows");
        lines.map(|line| line.expect("a line")).collect::<Vec<_>>().join("; ")
    };
    for (project, state, ended) in [
        (None, None, false),
        (None, Some("working"), false),
        (Some("/p"), None, false),
        (None, None, true),
        (Some("/p"), None, true),
        (Some("/p"), Some("done"), true),
    ] {
        let filter = acquit_core::store::Filter {
            project: project.map(str::to_owned),
            state: state.map(str::to_owned),
            ended,
            limit: 10,
            ..acquit_core::store::Filter::default()
        };
        let (query, values) = crate::record::list_query(&filter, '?');
        let values: Vec<&str> = values.iter().map(String::as_str).collect();
        let plan = plan(&query, &values);
        assert!(!plan.contains("TEMP B-TREE"), "{query}: {plan}");
        assert!(ended || plan.contains("USING INDEX"), "{query}: {plan}");
    }
    let claim = plan(rows::CLAIM_ANY, &["0"]);
    assert!(claim.contains("legs_to_claim") && !claim.contains("TEMP B-TREE"), "{claim}");
}
