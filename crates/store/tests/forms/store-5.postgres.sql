-- Times are milliseconds since 1970 (UTC); `body`, `definition`, `entry`, `owner`, `usage`, `actor`, `data` and `items` are JSON.

create table meta (
    only_row bigint primary key check (only_row = 1),
    version bigint not null check (version >= 0)
);
insert into meta values (1, 0);

create sequence task_ids;
-- Also across claims that are rolled back, a fence is never given twice.
create sequence fences;

create table tasks (
    id bigint primary key check (id > 0),
    version bigint not null check (version > 0),
    state text not null check (state in
        ('working', 'cancelling', 'waiting', 'blocked', 'done', 'failed', 'no_improvement', 'cancelled')),
    ended boolean not null check (ended = (state in ('done', 'failed', 'no_improvement', 'cancelled'))),
    stage text check (ended = (stage is null)),
    project_path text not null,
    project_name text not null,
    title text not null,
    workflow text not null,
    sandbox text not null check (sandbox in ('on', 'strict', 'off')),
    priority bigint not null,
    legs bigint not null check (legs >= 0),
    cost bigint check (cost >= 0),
    created bigint not null,
    updated bigint not null,
    body text not null,
    definition text not null
);
create index tasks_by_end on tasks (ended, id);
create index tasks_by_state on tasks (state, id);
create index tasks_by_project on tasks (project_path, ended, id);

create table legs (
    task bigint not null references tasks (id),
    number bigint not null check (number > 0),
    stage text not null,
    state text not null check (state in
        ('ready', 'running', 'passed', 'rejected', 'failed', 'timed_out', 'cancelled', 'lost', 'held')),
    entry text not null,
    not_before bigint not null,
    cancel boolean not null default false,
    fence bigint unique check (fence > 0),
    owner text,
    lease_until bigint check ((lease_until is not null) = (state = 'running')),
    started bigint,
    ended bigint check ((ended is not null) = (state not in ('ready', 'running'))),
    usage text not null default '{}',
    priority bigint not null,
    primary key (task, number),
    check (state <> 'running' or (fence is not null and owner is not null and started is not null))
);
-- A task has at most one leg that waits or runs.
create unique index legs_active on legs (task) where state in ('ready', 'running');
create index legs_to_claim on legs (priority desc, not_before, task, number) where state = 'ready';
create index legs_running on legs (task, number) where state = 'running';

create table events (
    seq bigint generated always as identity primary key,
    task bigint not null references tasks (id),
    leg bigint,
    at bigint not null,
    category text not null,
    kind text not null,
    level text not null check (level in ('debug', 'info', 'warning', 'error')),
    actor text not null,
    summary text not null,
    data text not null
);
create index events_by_task on events (task, seq);

create table transcripts (
    task bigint not null,
    leg bigint not null,
    from_byte bigint not null check (from_byte >= 0),
    to_byte bigint not null check (to_byte > from_byte),
    lines bigint not null check (lines >= 0),
    items text not null,
    omitted bigint not null check (omitted >= 0),
    primary key (task, leg, from_byte),
    foreign key (task, leg) references legs (task, number)
);

-- Failures that tasks mend, and tasks that wait for one of those. What both tables hold stands in the tasks' bodies too; here it
-- can be found.
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

-- Schedules that were seen, and their nights. Where they stand is here and not in the memory of whoever follows them.
create table schedules (
    name text primary key,
    since bigint not null,
    paused bigint
);

create table nights (
    schedule text not null,
    nominal bigint not null,
    state text not null check (state in ('queued', 'running', 'over', 'skipped')),
    version bigint not null check (version > 0),
    body text not null,
    primary key (schedule, nominal)
);
create index nights_open on nights (nominal) where state in ('queued', 'running');

-- Messages on their way out. Who sends one holds it until `lease_until`, and writes with its fence.
create table outbox (
    id bigint generated always as identity primary key,
    key text not null unique,
    channel text not null,
    payload text not null,
    state text not null check (state in ('waiting', 'sent', 'given_up')),
    due bigint not null,
    attempts bigint not null default 0 check (attempts >= 0),
    fence bigint unique check (fence > 0),
    lease_until bigint,
    error text
);
create index outbox_waiting on outbox (due, id) where state = 'waiting';

-- How far something was read.
create table marks (
    name text primary key,
    value bigint not null
);

-- What waits to be merged, and the leg at the head of each queue. A head or an entry counts while its leg runs under that fence.
create table merges (
    task bigint primary key references tasks (id),
    project_path text not null,
    branch text not null,
    leg bigint not null,
    fence bigint not null,
    place bigint not null,
    candidate text not null,
    planned text,
    settled text,
    foreign key (task, leg) references legs (task, number)
);
create index merges_by_queue on merges (project_path, branch, place);

create table queue_heads (
    project_path text not null,
    branch text not null,
    task bigint not null,
    leg bigint not null,
    fence bigint not null,
    primary key (project_path, branch),
    foreign key (task, leg) references legs (task, number)
);


-- Several projects may share a store: schedules, nights, messages and marks belong to one of them, named by its path; '' is the user's own
-- configuration. What was written before that is kept under '*', which no project is called: from it come only the times from which schedules
-- and marks go on. Messages that waited are not sent, because the keys of another project could sign them.
--
-- `id` tells this store from others that use the same folders and repositories.
alter table meta add column id text not null default '';
update meta set id = '5f3a09c1';

alter table schedules add column project text not null default '*';
alter table schedules alter column project drop default;
alter table schedules drop constraint schedules_pkey, add primary key (project, name);
update schedules set since = greatest(since, coalesce((select max(nominal) from nights where schedule = name), since));

alter table nights add column project text not null default '*';
alter table nights alter column project drop default;
alter table nights drop constraint nights_pkey, add primary key (project, schedule, nominal);
drop index nights_open;
create index nights_open on nights (project, nominal) where state in ('queued', 'running');

alter table outbox add column project text not null default '*';
alter table outbox alter column project drop default;
alter table outbox drop constraint outbox_key_key, add unique (project, key);
update outbox set state = 'given_up', error = 'written before messages belonged to a project' where state = 'waiting';
drop index outbox_waiting;
create index outbox_waiting on outbox (project, due, id) where state = 'waiting';

alter table marks add column project text not null default '*';
alter table marks alter column project drop default;
alter table marks drop constraint marks_pkey, add primary key (project, name);

-- What legs need of the machine that runs them, the workers that offer it, and what travels between them. `needs`, `offers` and `body` are JSON;
-- the needs of a task are a list for each of its stages.
alter table tasks add column needs text not null default '{}';
alter table legs add column needs text not null default '[]';

create table workers (
    name text primary key,
    process text not null,
    seen bigint not null,
    offers text not null,
    body text not null
);

-- A parcel without a task is one that tasks were made with.
create table parcels (
    id bigint generated always as identity primary key,
    repository text not null,
    kind text not null check (kind in ('objects', 'file')),
    task bigint,
    leg bigint check ((leg is null) = (task is null)),
    path text check ((path is not null) = (kind = 'file')),
    bytes bigint not null check (bytes >= 0),
    body text not null,
    foreign key (task, leg) references legs (task, number),
    check (kind = 'objects' or task is not null)
);
create index parcels_by_repository on parcels (repository, id) where kind = 'objects';
create unique index parcels_by_leg on parcels (task, leg, path) where kind = 'file';

create table parcel_parts (
    parcel bigint not null references parcels (id) on delete cascade,
    part bigint not null check (part >= 0),
    data bytea not null,
    primary key (parcel, part)
);

-- Projects take turns: a leg's `turn` is one more than the last turn of its project, or that of the first leg that is due, whichever is more. Legs are claimed in that order within a priority, so a project with a long queue does not keep the others waiting.
alter table legs add column turn bigint not null default 0;
drop index legs_to_claim;
create index legs_to_claim on legs (priority desc, turn, task, number) where state = 'ready';

create table turns (
    project_path text not null,
    priority bigint not null,
    turn bigint not null,
    primary key (project_path, priority)
);

-- Limits that legs share. `pools` of a leg are the names of its pools, those of a task a list for each of its stages; both are JSON.
alter table tasks add column pools text not null default '{}';
alter table legs add column pools text not null default '[]';

create table pools (
    name text primary key,
    at_once bigint check (at_once > 0),
    paused_until bigint not null default 0
);

-- How often the lease of a leg was renewed.
alter table legs add column renewals bigint not null default 0 check (renewals >= 0);

update meta set version = 5;
insert into tasks (id, version, state, ended, stage, project_path, project_name, title, workflow, sandbox, priority, legs, cost, created, updated, body, definition, needs) values
    (1, 1, 'working', false, 'plan', '/src/app', 'app', 'waits', 'feature', 'on', 0, 1, null, 1700000000000, 1700000000000, '{"seed":{"id":"T-1","wish":{"title":"waits","description":"","priority":0,"size":null,"complexity":null,"tags":[],"variables":{},"metadata":{}},"project":{"name":"app","path":"/src/app"},"workflow":"feature","base":{"branch":"main","commit":"bbbbbbbbbbbbbbbbbbbbbbbbbbbbbbbbbbbbbbbb"},"branch":"acquit/x-T-1","created":1700000000000},"state":{"type":"working","leg":1,"entry":{"stage":"plan","purpose":{"type":"work"}},"cancel":null},"tip":"bbbbbbbbbbbbbbbbbbbbbbbbbbbbbbbbbbbbbbbb","spent":{},"tried":[],"past":[],"artifacts":[],"learnings":[],"conversation":[],"legs":1,"requests":0,"version":1}',
        '{"form":1,"workflow":{"name":"feature","description":"plan, then code","start":"plan","stages":[{"name":"plan","work":{"kind":"agent","mode":"implement","agent":null,"instructions":[],"outputs":[]},"gates":[],"fix":null,"on":{"pr_ready":{"to":[{"stage":"code"}],"budget":null,"schema":null,"description":null}},"limits":{"time":1800000,"idle":null,"output":268435456},"consent":"not_needed"},{"name":"code","work":{"kind":"agent","mode":"implement","agent":null,"instructions":[],"outputs":[]},"gates":[],"fix":null,"on":{"pr_ready":{"to":["done"],"budget":null,"schema":null,"description":null}},"limits":{"time":1800000,"idle":null,"output":268435456},"consent":"not_needed"}],"gates":[],"budgets":{"agent":3,"limit":3,"lost":3},"variation":null,"variables":{}},"config":{"workflow":null,"agent":null,"base":null,"branch_prefix":"acquit/","setup":null,"agents":{},"variables":{}},"instructions":"be kind","author":{"name":"Jo","email":"jo@example.org"},"source":{"path":"/src/app"},"travel":{"repository":"https://host/app"}}', '{"code":["label:gpu","repository:https://host/app"],"plan":["label:gpu","repository:https://host/app"]}');
insert into tasks (id, version, state, ended, stage, project_path, project_name, title, workflow, sandbox, priority, legs, cost, created, updated, body, definition, needs) values
    (2, 1, 'working', false, 'plan', '/src/app', 'app', 'runs', 'feature', 'on', 0, 1, null, 1700000000000, 1700000000000, '{"seed":{"id":"T-2","wish":{"title":"runs","description":"","priority":0,"size":null,"complexity":null,"tags":[],"variables":{},"metadata":{}},"project":{"name":"app","path":"/src/app"},"workflow":"feature","base":{"branch":"main","commit":"bbbbbbbbbbbbbbbbbbbbbbbbbbbbbbbbbbbbbbbb"},"branch":"acquit/x-T-2","created":1700000000000},"state":{"type":"working","leg":1,"entry":{"stage":"plan","purpose":{"type":"work"}},"cancel":null},"tip":"bbbbbbbbbbbbbbbbbbbbbbbbbbbbbbbbbbbbbbbb","spent":{},"tried":[],"past":[],"artifacts":[],"learnings":[],"conversation":[],"legs":1,"requests":0,"version":1}',
        '{"form":1,"workflow":{"name":"feature","description":"plan, then code","start":"plan","stages":[{"name":"plan","work":{"kind":"agent","mode":"implement","agent":null,"instructions":[],"outputs":[]},"gates":[],"fix":null,"on":{"pr_ready":{"to":[{"stage":"code"}],"budget":null,"schema":null,"description":null}},"limits":{"time":1800000,"idle":null,"output":268435456},"consent":"not_needed"},{"name":"code","work":{"kind":"agent","mode":"implement","agent":null,"instructions":[],"outputs":[]},"gates":[],"fix":null,"on":{"pr_ready":{"to":["done"],"budget":null,"schema":null,"description":null}},"limits":{"time":1800000,"idle":null,"output":268435456},"consent":"not_needed"}],"gates":[],"budgets":{"agent":3,"limit":3,"lost":3},"variation":null,"variables":{}},"config":{"workflow":null,"agent":null,"base":null,"branch_prefix":"acquit/","setup":null,"agents":{},"variables":{}},"instructions":"be kind","author":{"name":"Jo","email":"jo@example.org"},"source":{"path":"/src/app"},"travel":{"repository":"https://host/app"}}', '{"code":["label:gpu","repository:https://host/app"],"plan":["label:gpu","repository:https://host/app"]}');
insert into tasks (id, version, state, ended, stage, project_path, project_name, title, workflow, sandbox, priority, legs, cost, created, updated, body, definition, needs) values
    (3, 3, 'done', true, null, '/src/app', 'app', 'is over', 'feature', 'on', 0, 2, 3000, 1700000000000, 1700000000000, '{"seed":{"id":"T-3","wish":{"title":"is over","description":"","priority":0,"size":null,"complexity":null,"tags":[],"variables":{},"metadata":{}},"project":{"name":"app","path":"/src/app"},"workflow":"feature","base":{"branch":"main","commit":"bbbbbbbbbbbbbbbbbbbbbbbbbbbbbbbbbbbbbbbb"},"branch":"acquit/x-T-3","created":1700000000000},"state":{"type":"ended","end":{"type":"done"}},"tip":"bbbbbbbbbbbbbbbbbbbbbbbbbbbbbbbbbbbbbbbb","spent":{},"tried":[],"past":[{"number":1,"entry":{"stage":"plan","purpose":{"type":"work"}},"ending":{"type":"passed","outcome":{"name":"pr_ready","payload":{"summary":"done"},"source":"handoff_file"}},"usage":{"input":10,"output":0,"cache_read":0,"cache_write_5m":0,"cache_write_1h":0,"cost_micros":1500}},{"number":2,"entry":{"stage":"code","purpose":{"type":"work"}},"ending":{"type":"passed","outcome":{"name":"pr_ready","payload":{"summary":"done"},"source":"handoff_file"}},"usage":{"input":10,"output":0,"cache_read":0,"cache_write_5m":0,"cache_write_1h":0,"cost_micros":1500}}],"artifacts":[],"learnings":[],"conversation":[],"legs":2,"requests":0,"version":3}',
        '{"form":1,"workflow":{"name":"feature","description":"plan, then code","start":"plan","stages":[{"name":"plan","work":{"kind":"agent","mode":"implement","agent":null,"instructions":[],"outputs":[]},"gates":[],"fix":null,"on":{"pr_ready":{"to":[{"stage":"code"}],"budget":null,"schema":null,"description":null}},"limits":{"time":1800000,"idle":null,"output":268435456},"consent":"not_needed"},{"name":"code","work":{"kind":"agent","mode":"implement","agent":null,"instructions":[],"outputs":[]},"gates":[],"fix":null,"on":{"pr_ready":{"to":["done"],"budget":null,"schema":null,"description":null}},"limits":{"time":1800000,"idle":null,"output":268435456},"consent":"not_needed"}],"gates":[],"budgets":{"agent":3,"limit":3,"lost":3},"variation":null,"variables":{}},"config":{"workflow":null,"agent":null,"base":null,"branch_prefix":"acquit/","setup":null,"agents":{},"variables":{}},"instructions":"be kind","author":{"name":"Jo","email":"jo@example.org"},"source":{"path":"/src/app"},"travel":{"repository":"https://host/app"}}', '{"code":["label:gpu","repository:https://host/app"],"plan":["label:gpu","repository:https://host/app"]}');
insert into legs (task, number, stage, state, entry, not_before, cancel, fence, owner, lease_until, started, ended, usage, priority, needs) values
    (1, 1, 'plan', 'ready', '{"stage":"plan","purpose":{"type":"work"}}', 1700000000000, false, null, null, null, null, null, '{}', 0, '["label:gpu","repository:https://host/app"]'),
    (2, 1, 'plan', 'running', '{"stage":"plan","purpose":{"type":"work"}}', 1700000000000, false, 3, '{"host":"here","boot":"today","pid":7,"started":7}', 1700000060000, 1700000000000, null, '{}', 0, '["label:gpu","repository:https://host/app"]'),
    (3, 1, 'plan', 'passed', '{"stage":"plan","purpose":{"type":"work"}}', 1700000000000, false, 1, '{"host":"here","boot":"today","pid":7,"started":7}', null, 1700000000000, 1700000000005, '{"input":10,"output":0,"cache_read":0,"cache_write_5m":0,"cache_write_1h":0,"cost_micros":1500}', 0, '["label:gpu","repository:https://host/app"]'),
    (3, 2, 'code', 'passed', '{"stage":"code","purpose":{"type":"work"}}', 1700000000000, false, 2, '{"host":"here","boot":"today","pid":7,"started":7}', null, 1700000000000, 1700000000009, '{"input":10,"output":0,"cache_read":0,"cache_write_5m":0,"cache_write_1h":0,"cost_micros":1500}', 0, '["label:gpu","repository:https://host/app"]');
select setval('task_ids', 3), setval('fences', 3);
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
insert into parcel_parts (parcel, part, data) values (1, 0, '\x5041434b'), (1, 1, '\x6d6f7265'), (2, 0, '\x706c616e');
update legs set turn = task, pools = '["project:/src/app"]' where state in ('ready', 'running');
insert into turns (project_path, priority, turn) values ('/src/app', 0, 2);
insert into pools (name, at_once, paused_until) values ('project:/src/app', 2, 0), ('account:team', null, 1700000900000);
update legs set renewals = 2 where state = 'running';
