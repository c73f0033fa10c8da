-- Until when the process that writes is taken for alive, by the clock of the database. It moves
-- this time forward while it runs.
ALTER TABLE claim ADD COLUMN expires TIMESTAMPTZ NOT NULL DEFAULT '-infinity';

-- Where the others reach that process by HTTP, once it serves: `IP:PORT` or `name:PORT`.
ALTER TABLE claim ADD COLUMN address TEXT;
