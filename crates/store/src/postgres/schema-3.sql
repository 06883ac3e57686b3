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
