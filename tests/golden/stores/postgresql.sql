create schema if not exists discreet;
create table if not exists task (number integer generated always as identity primary key, id text not null unique,
  description text not null, closed boolean not null default false);
create table if not exists seen (task integer, key bytea, checked bigint, age bigint, primary key (task, key));
create table if not exists log (id bigint generated always as identity primary key, task integer, period integer,
  reports bytea);
create table if not exists state (task integer, period integer, content bytea, primary key (task, period));
create table if not exists refused (task integer, reason text, n bigint, primary key (task, reason));
create table if not exists fact (name text primary key, value double precision);
insert into fact values ('format', 1), ('ran', 0) on conflict do nothing;
delete from fact;
insert into task overriding system value values (1, '67177908ade055557a8134c170816f59e60ac934e4ff2c8ca5d8c522594980fc', '{"candidates":null,"client":1,"closes":"2099-01-01T00:00:00Z","coins":{"keep":"a616d0e45055c32477d75a5cbd32cbc3"},"epsilon":"2","format":"discreet.task","key_window":604800,"mechanism":{"domain":["red","green","blue","pink","grey"],"epsilon":"2","mechanism":"direct-response"},"minimum":10,"name":"favourite colour","opens":"2026-01-01T00:00:00Z","per_day":"2","period":86400,"version":1,"wanted":1000}', false);
insert into seen values (1, '\x00000000000000000000000000000000'::bytea, 211092446, 0);
insert into seen values (1, '\x01010101010101010101010101010101'::bytea, 2795971182, 0);
insert into seen values (1, '\x02020202020202020202020202020202'::bytea, 702299893, 0);
insert into seen values (1, '\x03030303030303030303030303030303'::bytea, 1756858062, 0);
insert into log overriding system value values (2, 1, 0, '\x0101040304'::bytea);
insert into state values (1, 0, '\x4453434c010200005b0000007b22646f6d61696e223a5b22726564222c22677265656e222c22626c7565222c2270696e6b222c2267726579225d2c22657073696c6f6e223a2232222c226d656368616e69736d223a226469726563742d726573706f6e7365227d0f0000000000000030000000000000000000000000000000020000000000000003000000000000000200000000000000030000000000000005000000000000002d161b76f40c7ae625755bed487ce33768de2dde3a2342c8641770876a6786d1'::bytea);
insert into fact values ('format', 1.0);
insert into fact values ('ran', 0.0);
