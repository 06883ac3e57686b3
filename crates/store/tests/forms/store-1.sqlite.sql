-- Times are milliseconds since 1970 (UTC); `body`, `definition`, `entry`, `owner`, `usage`, `actor`, `data` and `items` are JSON.

create table meta (
    only_row integer primary key check (only_row = 1),
    version integer not null check (version >= 0)
) strict;
insert into meta values (1, 0);

create table counters (
    name text primary key,
    value integer not null check (value >= 0)
) strict, without rowid;
insert into counters values ('task', 0), ('fence', 0);

create table tasks (
    id integer primary key check (id > 0),
    version integer not null check (version > 0),
    state text not null check (state in
        ('working', 'cancelling', 'waiting', 'blocked', 'done', 'failed', 'no_improvement', 'cancelled')),
    ended integer not null check (ended = (state in ('done', 'failed', 'no_improvement', 'cancelled'))),
    stage text check (ended = (stage is null)),
    project_path text not null,
    project_name text not null,
    title text not null,
    workflow text not null,
    sandbox text not null check (sandbox in ('on', 'strict', 'off')),
    priority integer not null,
    legs integer not null check (legs >= 0),
    cost integer check (cost >= 0),
    created integer not null,
    updated integer not null,
    body text not null,
    definition text not null
) strict;
create index tasks_by_end on tasks (ended, id);
create index tasks_by_state on tasks (state, id);
create index tasks_by_project on tasks (project_path, ended, id);

create table legs (
    task integer not null references tasks (id),
    number integer not null check (number > 0),
    stage text not null,
    state text not null check (state in
        ('ready', 'running', 'passed', 'rejected', 'failed', 'timed_out', 'cancelled', 'lost', 'held')),
    entry text not null,
    not_before integer not null,
    cancel integer not null default 0 check (cancel in (0, 1)),
    fence integer unique check (fence > 0),
    owner text,
    lease_until integer check ((lease_until is not null) = (state = 'running')),
    started integer,
    ended integer check ((ended is not null) = (state not in ('ready', 'running'))),
    usage text not null default '{}',
    priority integer not null,
    primary key (task, number),
    check (state <> 'running' or (fence is not null and owner is not null and started is not null))
) strict, without rowid;
-- A task has at most one leg that waits or runs.
create unique index legs_active on legs (task) where state in ('ready', 'running');
create index legs_to_claim on legs (priority desc, not_before, task, number) where state = 'ready';
create index legs_running on legs (task, number) where state = 'running';

create table events (
    seq integer primary key autoincrement,
    task integer not null references tasks (id),
    leg integer,
    at integer not null,
    category text not null,
    kind text not null,
    level text not null check (level in ('debug', 'info', 'warning', 'error')),
    actor text not null,
    summary text not null,
    data text not null
) strict;
create index events_by_task on events (task, seq);

create table transcripts (
    task integer not null,
    leg integer not null,
    from_byte integer not null check (from_byte >= 0),
    to_byte integer not null check (to_byte > from_byte),
    lines integer not null check (lines >= 0),
    items text not null,
    omitted integer not null check (omitted >= 0),
    primary key (task, leg, from_byte),
    foreign key (task, leg) references legs (task, number)
) strict;

-- Failures that tasks mend, and tasks that wait for one of those. What both tables hold stands in the tasks' bodies too; here it
-- can be found.
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

-- Schedules that were seen, and their nights. Where they stand is here and not in the memory of whoever follows them.
create table schedules (
    name text primary key,
    since integer not null,
    paused integer
) strict, without rowid;

create table nights (
    schedule text not null,
    nominal integer not null,
    state text not null check (state in ('queued', 'running', 'over', 'skipped')),
    version integer not null check (version > 0),
    body text not null,
    primary key (schedule, nominal)
) strict, without rowid;
create index nights_open on nights (nominal) where state in ('queued', 'running');

-- Messages on their way out. Who sends one holds it until `lease_until`, and writes with its fence.
create table outbox (
    id integer primary key autoincrement,
    key text not null unique,
    channel text not null,
    payload text not null,
    state text not null check (state in ('waiting', 'sent', 'given_up')),
    due integer not null,
    attempts integer not null default 0 check (attempts >= 0),
    fence integer unique check (fence > 0),
    lease_until integer,
    error text
) strict;
create index outbox_waiting on outbox (due, id) where state = 'waiting';

-- How far something was read.
create table marks (
    name text primary key,
    value integer not null
) strict, without rowid;

-- What waits to be merged, and the leg at the head of each queue. A head or an entry counts while its leg runs under that fence.
create table merges (
    task integer primary key references tasks (id),
    project_path text not null,
    branch text not null,
    leg integer not null,
    fence integer not null,
    place integer not null,
    candidate text not null,
    planned text,
    settled text,
    foreign key (task, leg) references legs (task, number)
) strict;
create index merges_by_queue on merges (project_path, branch, place);

create table queue_heads (
    project_path text not null,
    branch text not null,
    task integer not null,
    leg integer not null,
    fence integer not null,
    primary key (project_path, branch),
    foreign key (task, leg) references legs (task, number)
) strict, without rowid;

update meta set version = 1;
insert into schedules (name, since, paused) values ('nightly', 1700000000000, null), ('weekly', 1700000000000, 1700000200000);
insert into nights (schedule, nominal, state, version, body) values
    ('nightly', 1700000100000, 'over', 3,
        '{"schedule":"nightly","nominal":1700000100000,"state":"over","cause":"clock","category":null,"jobs":[],"began":1700000100500,"ended":1700000110000,"version":3}'),
    ('nightly', 1700000500000, 'running', 1,
        '{"schedule":"nightly","nominal":1700000500000,"state":"running","cause":"clock","category":null,"jobs":[{"repository":".","progress":"todo"}],"began":1700000500500,"ended":null,"version":1}');
insert into outbox (key, channel, payload, state, due, attempts) values
    ('event/7/phone', 'phone', '{"title":"T-1 is done"}', 'sent', 1700000000000, 1),
    ('event/9/phone', 'phone', '{"title":"T-2 needs you"}', 'waiting', 1700000000000, 0);
insert into marks (name, value) values ('notify', 9);
