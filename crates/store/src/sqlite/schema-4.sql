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
