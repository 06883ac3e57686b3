-- Failures that tasks mend, and tasks that wait for one of those. What both tables hold stands in the tasks' bodies too; here it
-- can be found.

-- A word more in a check leaves all rows as they are, so the table need not be made anew.
pragma writable_schema = on;
update sqlite_schema set sql = replace(sql, '''waiting'', ''done''', '''waiting'', ''blocked'', ''done''')
    where type = 'table' and name = 'tasks';
pragma writable_schema = reset;

create table roots (
    project_path text not null,
    fingerprint text not null,
    task integer not null references tasks (id),
    primary key (project_path, fingerprint)
) strict, without rowid;
create index roots_by_task on roots (task);

create table blocked (
    task integer primary key references tasks (id),
    root integer not null references tasks (id) check (root <> task),
    project_path text not null,
    fingerprint text not null
) strict;
