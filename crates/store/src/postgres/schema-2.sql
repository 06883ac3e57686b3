-- Several projects may share a store: schedules, nights, messages and marks belong to one of them, named by its path; '' is the user's own
-- configuration. What was written before that is kept under '*', which no project is called: from it come only the times from which schedules
-- and marks go on. Messages that waited are not sent, because the keys of another project could sign them.
--
-- `id` tells this store from others that use the same folders and repositories.
alter table meta add column id text not null default '';
update meta set id = substr(replace(gen_random_uuid()::text, '-', ''), 1, 8);

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
