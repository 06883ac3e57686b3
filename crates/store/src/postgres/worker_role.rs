//! Rights of a database role for workers: those that running legs needs, and no others.
//!
//! The password of a worker is on many machines. With it, anyone can run legs and end them in any way. But the server
//! refuses to add a task, change what a task does, rewrite history, remove data of others, or send messages. The owner
//! of the tables grants the rights, and again after an upgrade that changed the tables.

use postgres::Client;

use super::connect;
use crate::location::Address;
use crate::{GrantError, OpenError};

/// Rights on tables. A worker cannot even read the others; see [`NONE`].
const RIGHTS: &[(&str, &str)] = &[
    ("meta", "select"),
    // Not `definition`, `needs`, `pools` and `sandbox`: only the machine that created a task decides what it does.
    ("tasks", "select, update (version, state, ended, stage, title, legs, cost, updated, body)"),
    ("legs", "select, insert, update"),
    ("events", "select, insert"),
    ("transcripts", "select, insert"),
    ("roots", "select, insert, delete"),
    ("blocked", "select, insert, delete"),
    ("turns", "select, insert, update"),
    ("pools", "select, insert, update"),
    ("workers", "select, insert, update, delete"),
    ("parcels", "select, insert"),
    ("parcel_parts", "select, insert"),
];

/// Tables of the daemon and of deliveries, which no worker needs. A test compares both lists with the schema.
#[cfg(test)]
const NONE: &[&str] = &["schedules", "nights", "outbox", "marks", "merges", "queue_heads"];

/// Gives a role the rights of a worker, and takes all others on acquit's tables from it.
pub(crate) fn grant(address: &Address, role: &str) -> Result<(), GrantError> {
    let mut client = connect::client(address)?;
    if let Some(place) = connect::moved(&mut client)? {
        return Err(OpenError::Moved { location: address.to_string(), place }.into());
    }
    connect::bring_forward(&mut client)
        .map_err(|error| OpenError::from(error.while_doing("let its tables be made")))?;
    // Checks the role before the transaction, which a failed statement would end.
    let name = grantee(&mut client, role)?;
    let mut transaction = client.transaction()?;
    let schema: String = transaction.query_one("select quote_ident(current_schema())", &[])?.get(0);
    let mut statements = format!(
        "revoke all on all tables in schema {schema} from {name};
         revoke all on all sequences in schema {schema} from {name};
         grant usage on schema {schema} to {name};
         grant usage on sequence {schema}.fences to {name};"
    );
    for (table, rights) in RIGHTS {
        statements.push_str(&format!("grant {rights} on {schema}.{table} to {name};"));
    }
    transaction.batch_execute(&statements)?;
    Ok(transaction.commit()?)
}

/// Returns the quoted name of a role that grants can restrict.
fn grantee(client: &mut Client, role: &str) -> Result<String, GrantError> {
    const ROLE: &str = "select quote_ident(rolname), rolsuper,
            pg_has_role(oid, (select relowner from pg_class where oid = 'meta'::regclass), 'member')
         from pg_roles where rolname = $1";
    let Some(row) = client.query_opt(ROLE, &[&role])? else {
        return Err(GrantError::NoRole { role: role.to_owned() });
    };
    if row.get(1) || row.get(2) {
        return Err(GrantError::Unlimited { role: role.to_owned() });
    }
    Ok(row.get(0))
}

#[cfg(test)]
mod tests {
    use acquit_testkit::postgres::{Role, database_or_skip};
    use postgres::NoTls;
    use postgres::error::SqlState;

    use super::*;
    use crate::{Clock, Location, open};

    fn address(url: &str) -> Address {
        let Location::Postgres(address) = Location::parse(url) else { panic!("{url} is not a server") };
        address
    }

    #[test]
    fn a_workers_role_cannot_change_what_tasks_do_nor_what_happened_nor_the_daemons_tables() {
        let Some(database) = database_or_skip("rights of roles") else { return };
        let role = Role::new(&database);
        open(&Location::parse(&database.url), Clock::System).expect("a store");
        let id = "insert into tasks (id, version, state, ended, stage, project_path, project_name, title, workflow, \
                  sandbox, priority, legs, created, updated, body, definition) \
                  values (1, 1, 'working', false, 's', '/p', 'p', 't', 'w', 'on', 0, 0, 1, 1, '{}', '{}')";
        assert_eq!(database.execute(id), 1);
        grant(&address(&database.url), &role.name).expect("the rights");
        // Repeating it is harmless.
        grant(&address(&database.url), &role.name).expect("the rights");

        let mut client = Client::connect(&role.url, NoTls).expect("a connection");
        for allowed in [
            "select id from meta",
            "select nextval('fences')",
            "update tasks set state = 'waiting' where id = 1",
            "select body, definition from tasks for no key update",
            "insert into legs (task, number, stage, state, entry, not_before, priority) values (1, 1, 's', 'ready', '{}', 0, 0)",
            "insert into events (task, at, category, kind, level, actor, summary, data) values (1, 1, 'c', 'k', 'info', '{}', 's', '{}')",
            "insert into parcels (repository, kind, bytes, body) values ('r', 'objects', 0, '{}')",
            "insert into pools (name, paused_until) values ('p', 1) on conflict (name) do update set paused_until = 2",
        ] {
            client.batch_execute(allowed).unwrap_or_else(|error| panic!("{allowed}: {error:?}"));
        }
        let mut refused = vec![
            "update tasks set definition = '{}'".to_owned(),
            "update tasks set needs = '{}'".to_owned(),
            "update tasks set sandbox = 'off'".to_owned(),
            "update tasks set project_path = '/other'".to_owned(),
            id.replace("(1, 1, 'working'", "(2, 1, 'working'"),
            "delete from tasks".to_owned(),
            "delete from legs".to_owned(),
            "update events set summary = ''".to_owned(),
            "delete from events".to_owned(),
            "truncate events".to_owned(),
            "update transcripts set items = ''".to_owned(),
            "delete from parcels".to_owned(),
            "update parcel_parts set data = ''".to_owned(),
            "update meta set version = 0".to_owned(),
            "select nextval('task_ids')".to_owned(),
            "drop table events".to_owned(),
            "alter table tasks disable trigger all".to_owned(),
        ];
        refused.extend(NONE.iter().map(|table| format!("select * from {table}")));
        for statement in refused {
            let error = client.batch_execute(&statement).expect_err(&statement);
            assert_eq!(error.code(), Some(&SqlState::INSUFFICIENT_PRIVILEGE), "{statement}: {error:?}");
        }
    }

    #[test]
    fn every_table_is_granted_or_left_out_on_purpose() {
        let Some(database) = database_or_skip("the tables") else { return };
        open(&Location::parse(&database.url), Clock::System).expect("a store");
        let mut client = Client::connect(&database.url, NoTls).expect("a connection");
        let names = "select relname::text from pg_class where relnamespace = current_schema()::regnamespace \
                     and relkind = 'r' order by 1";
        let rows = client.query(names, &[]).expect("the tables");
        let found: Vec<String> = rows.iter().map(|row| row.get(0)).collect();
        let mut known: Vec<&str> =
            RIGHTS.iter().map(|(table, _)| *table).chain(NONE.iter().copied()).collect();
        known.sort_unstable();
        assert_eq!(found, known);
    }

    #[test]
    fn a_role_that_is_not_there_or_that_no_grant_restricts_is_refused() {
        let Some(database) = database_or_skip("rights of roles") else { return };
        let nobody = grant(&address(&database.url), "acquit no such role");
        assert!(matches!(nobody, Err(GrantError::NoRole { .. })), "{nobody:?}");
        let owner = Client::connect(&database.url, NoTls)
            .expect("a connection")
            .query_one("select current_user::text", &[]);
        let owner: String = owner.expect("a name").get(0);
        let owner = grant(&address(&database.url), &owner);
        assert!(matches!(owner, Err(GrantError::Unlimited { .. })), "{owner:?}");
    }

    #[test]
    fn a_role_that_may_not_change_the_tables_is_told_to_let_their_owner_migrate_them() {
        let Some(database) = database_or_skip("rights of roles") else { return };
        let role = Role::new(&database);
        open(&Location::parse(&database.url), Clock::System).expect("a store");
        grant(&address(&database.url), &role.name).expect("the rights");
        open(&Location::parse(&role.url), Clock::System).expect("a worker needs no more to open it");
        database.execute("update meta set version = version - 1");
        let error = open(&Location::parse(&role.url), Clock::System).err();
        assert!(matches!(error, Some(OpenError::Rights { .. })), "{error:?}");
    }
}
