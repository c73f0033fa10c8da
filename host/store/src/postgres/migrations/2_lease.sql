-- Until when the process that writes is taken for alive, by the clock of the database. It moves this
-- time forward while it runs.
ALTER TABLE claim ADD COLUMN expires TIMESTAMPTZ NOT NULL DEFAULT '-infinity';
