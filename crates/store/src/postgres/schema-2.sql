-- Failures that tasks mend, and tasks that wait for one of those. What both tables hold stands in the tasks' bodies too; here it
-- can be found.

alter table tasks drop constraint tasks_state_check;
alter table tasks add constraint tasks_state_check check (state in
    ('working', 'cancelling', 'waiting', 'blocked', 'done', 'failed', 'no_improvement', 'cancelled'));

create table roots (
    project_path text not null,
    fingerprint text not null,
    task bigint not null references tasks (id),
    primary key (project_path, fingerprint)
);
create index roots_by_task on roots (task);

create table blocked (
    task bigint primary key references tasks (id),
    root bigint not null references tasks (id) check (root <> task),
    project_path text not null,
    fingerprint text not null
);
