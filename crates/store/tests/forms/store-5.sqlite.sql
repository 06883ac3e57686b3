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


-- Several projects may share a store: schedules, nights, messages and marks belong to one of them, named by its path; '' is the user's own
-- configuration. What was written before that is kept under '*', which no project is called: from it come only the times from which schedules
-- and marks go on. Messages that waited are not sent, because the keys of another project could sign them.
--
-- `id` tells this store from others that use the same folders and repositories.
alter table meta add column id text not null default '';
update meta set id = '5f3a09c1';

create table schedules_of (
    project text not null,
    name text not null,
    since integer not null,
    paused integer,
    primary key (project, name)
) strict, without rowid;
insert into schedules_of
    select '*', name, max(since, coalesce((select max(nominal) from nights where schedule = name), since)), paused from schedules;
drop table schedules;
alter table schedules_of rename to schedules;

create table nights_of (
    project text not null,
    schedule text not null,
    nominal integer not null,
    state text not null check (state in ('queued', 'running', 'over', 'skipped')),
    version integer not null check (version > 0),
    body text not null,
    primary key (project, schedule, nominal)
) strict, without rowid;
insert into nights_of select '*', schedule, nominal, state, version, body from nights;
drop table nights;
alter table nights_of rename to nights;
create index nights_open on nights (project, nominal) where state in ('queued', 'running');

create table outbox_of (
    id integer primary key autoincrement,
    project text not null,
    key text not null,
    channel text not null,
    payload text not null,
    state text not null check (state in ('waiting', 'sent', 'given_up')),
    due integer not null,
    attempts integer not null default 0 check (attempts >= 0),
    fence integer unique check (fence > 0),
    lease_until integer,
    error text,
    unique (project, key)
) strict;
insert into outbox_of select id, '*', key, channel, payload, state, due, attempts, fence, lease_until, error from outbox order by id;
update outbox_of set state = 'given_up', error = 'written before messages belonged to a project' where state = 'waiting';
drop table outbox;
alter table outbox_of rename to outbox;
create index outbox_waiting on outbox (project, due, id) where state = 'waiting';

create table marks_of (
    project text not null,
    name text not null,
    value integer not null,
    primary key (project, name)
) strict, without rowid;
insert into marks_of select '*', name, value from marks;
drop table marks;
alter table marks_of rename to marks;

-- What legs need of the machine that runs them, the workers that offer it, and what travels between them. `needs`, `offers` and `body` are JSON;
-- the needs of a task are a list for each of its stages.
alter table tasks add column needs text not null default '{}';
alter table legs add column needs text not null default '[]';

create table workers (
    name text primary key,
    process text not null,
    seen integer not null,
    offers text not null,
    body text not null
) strict;

-- A parcel without a task is one that tasks were made with.
create table parcels (
    id integer primary key autoincrement,
    repository text not null,
    kind text not null check (kind in ('objects', 'file')),
    task integer,
    leg integer check ((leg is null) = (task is null)),
    path text check ((path is not null) = (kind = 'file')),
    bytes integer not null check (bytes >= 0),
    body text not null,
    foreign key (task, leg) references legs (task, number),
    check (kind = 'objects' or task is not null)
) strict;
create index parcels_by_repository on parcels (repository, id) where kind = 'objects';
create unique index parcels_by_leg on parcels (task, leg, path) where kind = 'file';

create table parcel_parts (
    parcel integer not null references parcels (id) on delete cascade,
    part integer not null check (part >= 0),
    data blob not null,
    primary key (parcel, part)
) strict;

-- Projects take turns: a leg's `turn` is one more than the last turn of its project, or that of the first leg that is due, whichever is more. Legs are claimed in that order within a priority, so a project with a long queue does not keep the others waiting.
alter table legs add column turn integer not null default 0;
drop index legs_to_claim;
create index legs_to_claim on legs (priority desc, turn, task, number) where state = 'ready';

create table turns (
    project_path text not null,
    priority integer not null,
    turn integer not null,
    primary key (project_path, priority)
) strict;

-- Limits that legs share. `pools` of a leg are the names of its pools, those of a task a list for each of its stages; both are JSON.
alter table tasks add column pools text not null default '{}';
alter table legs add column pools text not null default '[]';

create table pools (
    name text primary key,
    at_once integer check (at_once > 0),
    paused_until integer not null default 0
) strict;

-- How often the lease of a leg was renewed.
alter table legs add column renewals integer not null default 0 check (renewals >= 0);

update meta set version = 5;
insert into tasks (id, version, state, ended, stage, project_path, project_name, title, workflow, sandbox, priority, legs, cost, created, updated, body, definition, needs) values
    (1, 1, 'working', 0, 'plan', '/src/app', 'app', 'waits', 'feature', 'on', 0, 1, null, 1700000000000, 1700000000000, '{"seed":{"id":"T-1","wish":{"title":"waits","description":"","priority":0,"size":null,"complexity":null,"tags":[],"variables":{},"metadata":{}},"project":{"name":"app","path":"/src/app"},"workflow":"feature","base":{"branch":"main","commit":"bbbbbbbbbbbbbbbbbbbbbbbbbbbbbbbbbbbbbbbb"},"branch":"acquit/x-T-1","created":1700000000000},"state":{"type":"working","leg":1,"entry":{"stage":"plan","purpose":{"type":"work"}},"cancel":null},"tip":"bbbbbbbbbbbbbbbbbbbbbbbbbbbbbbbbbbbbbbbb","spent":{},"tried":[],"past":[],"artifacts":[],"learnings":[],"conversation":[],"legs":1,"requests":0,"version":1}',
        '{"form":1,"workflow":{"name":"feature","description":"plan, then code","start":"plan","stages":[{"name":"plan","work":{"kind":"agent","mode":"implement","agent":null,"instructions":[],"outputs":[]},"gates":[],"fix":null,"on":{"pr_ready":{"to":[{"stage":"code"}],"budget":null,"schema":null,"description":null}},"limits":{"time":1800000,"idle":null,"output":268435456},"consent":"not_needed"},{"name":"code","work":{"kind":"agent","mode":"implement","agent":null,"instructions":[],"outputs":[]},"gates":[],"fix":null,"on":{"pr_ready":{"to":["done"],"budget":null,"schema":null,"description":null}},"limits":{"time":1800000,"idle":null,"output":268435456},"consent":"not_needed"}],"gates":[],"budgets":{"agent":3,"limit":3,"lost":3},"variation":null,"variables":{}},"config":{"workflow":null,"agent":null,"base":null,"branch_prefix":"acquit/","setup":null,"agents":{},"variables":{}},"instructions":"be kind","author":{"name":"Jo","email":"jo@example.org"},"source":{"path":"/src/app"},"travel":{"repository":"https://host/app"}}', '{"code":["label:gpu","repository:https://host/app"],"plan":["label:gpu","repository:https://host/app"]}');
insert into tasks (id, version, state, ended, stage, project_path, project_name, title, workflow, sandbox, priority, legs, cost, created, updated, body, definition, needs) values
    (2, 1, 'working', 0, 'plan', '/src/app', 'app', 'runs', 'feature', 'on', 0, 1, null, 1700000000000, 1700000000000, '{"seed":{"id":"T-2","wish":{"title":"runs","description":"","priority":0,"size":null,"complexity":null,"tags":[],"variables":{},"metadata":{}},"project":{"name":"app","path":"/src/app"},"workflow":"feature","base":{"branch":"main","commit":"bbbbbbbbbbbbbbbbbbbbbbbbbbbbbbbbbbbbbbbb"},"branch":"acquit/x-T-2","created":1700000000000},"state":{"type":"working","leg":1,"entry":{"stage":"plan","purpose":{"type":"work"}},"cancel":null},"tip":"bbbbbbbbbbbbbbbbbbbbbbbbbbbbbbbbbbbbbbbb","spent":{},"tried":[],"past":[],"artifacts":[],"learnings":[],"conversation":[],"legs":1,"requests":0,"version":1}',
        '{"form":1,"workflow":{"name":"feature","description":"plan, then code","start":"plan","stages":[{"name":"plan","work":{"kind":"agent","mode":"implement","agent":null,"instructions":[],"outputs":[]},"gates":[],"fix":null,"on":{"pr_ready":{"to":[{"stage":"code"}],"budget":null,"schema":null,"description":null}},"limits":{"time":1800000,"idle":null,"output":268435456},"consent":"not_needed"},{"name":"code","work":{"kind":"agent","mode":"implement","agent":null,"instructions":[],"outputs":[]},"gates":[],"fix":null,"on":{"pr_ready":{"to":["done"],"budget":null,"schema":null,"description":null}},"limits":{"time":1800000,"idle":null,"output":268435456},"consent":"not_needed"}],"gates":[],"budgets":{"agent":3,"limit":3,"lost":3},"variation":null,"variables":{}},"config":{"workflow":null,"agent":null,"base":null,"branch_prefix":"acquit/","setup":null,"agents":{},"variables":{}},"instructions":"be kind","author":{"name":"Jo","email":"jo@example.org"},"source":{"path":"/src/app"},"travel":{"repository":"https://host/app"}}', '{"code":["label:gpu","repository:https://host/app"],"plan":["label:gpu","repository:https://host/app"]}');
insert into tasks (id, version, state, ended, stage, project_path, project_name, title, workflow, sandbox, priority, legs, cost, created, updated, body, definition, needs) values
    (3, 3, 'done', 1, null, '/src/app', 'app', 'is over', 'feature', 'on', 0, 2, 3000, 1700000000000, 1700000000000, '{"seed":{"id":"T-3","wish":{"title":"is over","description":"","priority":0,"size":null,"complexity":null,"tags":[],"variables":{},"metadata":{}},"project":{"name":"app","path":"/src/app"},"workflow":"feature","base":{"branch":"main","commit":"bbbbbbbbbbbbbbbbbbbbbbbbbbbbbbbbbbbbbbbb"},"branch":"acquit/x-T-3","created":1700000000000},"state":{"type":"ended","end":{"type":"done"}},"tip":"bbbbbbbbbbbbbbbbbbbbbbbbbbbbbbbbbbbbbbbb","spent":{},"tried":[],"past":[{"number":1,"entry":{"stage":"plan","purpose":{"type":"work"}},"ending":{"type":"passed","outcome":{"name":"pr_ready","payload":{"summary":"done"},"source":"handoff_file"}},"usage":{"input":10,"output":0,"cache_read":0,"cache_write_5m":0,"cache_write_1h":0,"cost_micros":1500}},{"number":2,"entry":{"stage":"code","purpose":{"type":"work"}},"ending":{"type":"passed","outcome":{"name":"pr_ready","payload":{"summary":"done"},"source":"handoff_file"}},"usage":{"input":10,"output":0,"cache_read":0,"cache_write_5m":0,"cache_write_1h":0,"cost_micros":1500}}],"artifacts":[],"learnings":[],"conversation":[],"legs":2,"requests":0,"version":3}',
        '{"form":1,"workflow":{"name":"feature","description":"plan, then code","start":"plan","stages":[{"name":"plan","work":{"kind":"agent","mode":"implement","agent":null,"instructions":[],"outputs":[]},"gates":[],"fix":null,"on":{"pr_ready":{"to":[{"stage":"code"}],"budget":null,"schema":null,"description":null}},"limits":{"time":1800000,"idle":null,"output":268435456},"consent":"not_needed"},{"name":"code","work":{"kind":"agent","mode":"implement","agent":null,"instructions":[],"outputs":[]},"gates":[],"fix":null,"on":{"pr_ready":{"to":["done"],"budget":null,"schema":null,"description":null}},"limits":{"time":1800000,"idle":null,"output":268435456},"consent":"not_needed"}],"gates":[],"budgets":{"agent":3,"limit":3,"lost":3},"variation":null,"variables":{}},"config":{"workflow":null,"agent":null,"base":null,"branch_prefix":"acquit/","setup":null,"agents":{},"variables":{}},"instructions":"be kind","author":{"name":"Jo","email":"jo@example.org"},"source":{"path":"/src/app"},"travel":{"repository":"https://host/app"}}', '{"code":["label:gpu","repository:https://host/app"],"plan":["label:gpu","repository:https://host/app"]}');
insert into legs (task, number, stage, state, entry, not_before, cancel, fence, owner, lease_until, started, ended, usage, priority, needs) values
    (1, 1, 'plan', 'ready', '{"stage":"plan","purpose":{"type":"work"}}', 1700000000000, 0, null, null, null, null, null, '{}', 0, '["label:gpu","repository:https://host/app"]'),
    (2, 1, 'plan', 'running', '{"stage":"plan","purpose":{"type":"work"}}', 1700000000000, 0, 3, '{"host":"here","boot":"today","pid":7,"started":7}', 1700000060000, 1700000000000, null, '{}', 0, '["label:gpu","repository:https://host/app"]'),
    (3, 1, 'plan', 'passed', '{"stage":"plan","purpose":{"type":"work"}}', 1700000000000, 0, 1, '{"host":"here","boot":"today","pid":7,"started":7}', null, 1700000000000, 1700000000005, '{"input":10,"output":0,"cache_read":0,"cache_write_5m":0,"cache_write_1h":0,"cost_micros":1500}', 0, '["label:gpu","repository:https://host/app"]'),
    (3, 2, 'code', 'passed', '{"stage":"code","purpose":{"type":"work"}}', 1700000000000, 0, 2, '{"host":"here","boot":"today","pid":7,"started":7}', null, 1700000000000, 1700000000009, '{"input":10,"output":0,"cache_read":0,"cache_write_5m":0,"cache_write_1h":0,"cost_micros":1500}', 0, '["label:gpu","repository:https://host/app"]');
update counters set value = 3;
insert into events (task, leg, at, category, kind, level, actor, summary, data) values
    (1, null, 1700000000000, 'task', 'task_created', 'info', '{"type":"person","name":"me"}', 'created: waits', '{"event":"change","change":{"change":"created","seed":{"id":"T-1","wish":{"title":"waits","description":"","priority":0,"size":null,"complexity":null,"tags":[],"variables":{},"metadata":{}},"project":{"name":"app","path":"/src/app"},"workflow":"feature","base":{"branch":"main","commit":"bbbbbbbbbbbbbbbbbbbbbbbbbbbbbbbbbbbbbbbb"},"branch":"acquit/x-T-1","created":1700000000000}}}'),
    (1, 1, 1700000000000, 'leg', 'leg_readied', 'info', '{"type":"person","name":"me"}', 'leg 1 ready: plan', '{"event":"change","change":{"change":"leg_readied","leg":1,"entry":{"stage":"plan","purpose":{"type":"work"}},"delay":0}}'),
    (2, null, 1700000000000, 'task', 'task_created', 'info', '{"type":"person","name":"me"}', 'created: runs', '{"event":"change","change":{"change":"created","seed":{"id":"T-2","wish":{"title":"runs","description":"","priority":0,"size":null,"complexity":null,"tags":[],"variables":{},"metadata":{}},"project":{"name":"app","path":"/src/app"},"workflow":"feature","base":{"branch":"main","commit":"bbbbbbbbbbbbbbbbbbbbbbbbbbbbbbbbbbbbbbbb"},"branch":"acquit/x-T-2","created":1700000000000}}}'),
    (2, 1, 1700000000000, 'leg', 'leg_readied', 'info', '{"type":"person","name":"me"}', 'leg 1 ready: plan', '{"event":"change","change":{"change":"leg_readied","leg":1,"entry":{"stage":"plan","purpose":{"type":"work"}},"delay":0}}');
insert into transcripts (task, leg, from_byte, to_byte, lines, items, omitted) values (3, 1, 0, 6, 1, '[]', 0);
insert into schedules (project, name, since, paused) values ('/src/app', 'nightly', 1700000000000, null), ('', 'weekly', 1700000000000, 1700000200000);
insert into nights (project, schedule, nominal, state, version, body) values
    ('/src/app', 'nightly', 1700000500000, 'running', 1, '{"project":"/src/app","schedule":"nightly","nominal":1700000500000,"state":{"type":"running"},"cause":"clock","category":null,"jobs":[{"repository":".","progress":{"type":"todo"}}],"began":1700000500500,"ended":null,"version":1}');
insert into outbox (project, key, channel, payload, state, due, attempts) values
    ('/src/app', 'event/7/phone', 'phone', '{"title":"T-1 is done"}', 'sent', 1700000000000, 1),
    ('/src/app', 'event/9/phone', 'phone', '{"title":"T-2 needs you"}', 'waiting', 1700000000000, 0);
insert into marks (project, name, value) values ('/src/app', 'notify', 9);
insert into workers (name, process, seen, offers, body) values ('forge', 'today/1/1', 1700000000000, '["label:gpu","repository:https://host/app"]', '{"name":"forge","process":"today/1/1","host":"there","version":"0.1.0","slots":2,"state":"working","offers":["label:gpu","repository:https://host/app"],"lacks":{}}');
insert into parcels (repository, kind, task, leg, path, bytes, body) values
    ('https://host/app', 'objects', null, null, null, 8, '{"repository":"https://host/app","leg":null,"content":{"kind":"objects","tips":["bbbbbbbbbbbbbbbbbbbbbbbbbbbbbbbbbbbbbbbb"],"format":"sha1"}}'),
    ('https://host/app', 'file', 3, 1, 'out/plan.md', 4, '{"repository":"https://host/app","leg":"T-3.1","content":{"kind":"file","path":"out/plan.md"}}');
insert into parcel_parts (parcel, part, data) values (1, 0, x'5041434b'), (1, 1, x'6d6f7265'), (2, 0, x'706c616e');
update legs set turn = task, pools = '["project:/src/app"]' where state in ('ready', 'running');
insert into turns (project_path, priority, turn) values ('/src/app', 0, 2);
insert into pools (name, at_once, paused_until) values ('project:/src/app', 2, 0), ('account:team', null, 1700000900000);
update legs set renewals = 2 where state = 'running';
