-- Several projects may share a store: schedules, nights, messages and marks belong to one of them, named by its path; '' is the user's own
-- configuration. What was written before that is kept under '*', which no project is called: from it come only the times from which schedules
-- and marks go on. Messages that waited are not sent, because the keys of another project could sign them.
--
-- `id` tells this store from others that use the same folders and repositories.
alter table meta add column id text not null default '';
update meta set id = lower(hex(randomblob(4)));

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
