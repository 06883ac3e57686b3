-- How often the lease of a leg was renewed.
alter table legs add column renewals bigint not null default 0 check (renewals >= 0);
