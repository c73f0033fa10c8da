-- The whole store: accounts, ledger, crawls, webhook events, contacts. Equal in meaning to schema
-- version 14 of SQLite. A released file is never edited: a change is a new file with the next
-- number.
--
-- Amounts are nanodollars, times are Unix milliseconds. Texts that are compared by order or found
-- by key have the collation "C", so that an order is one of bytes, whatever the database's locale.
-- A text of any length has no place in an index, whose rows are bounded: its BLAKE3 hash has.
--
-- Triggers keep the sums, once a statement, from the rows that it changed. Each locks the rows that
-- it updates in the order of their keys, so that transactions wait for each other and never in a
-- circle. Rows that are updated often leave space in their pages and have no index on what changes.

-- The process that writes to this database: no other one has its nonce.
CREATE TABLE claim (
    is_the_only BOOLEAN PRIMARY KEY DEFAULT TRUE CHECK (is_the_only),
    nonce       BYTEA NOT NULL
);

INSERT INTO claim (nonce) VALUES ('');

CREATE TABLE accounts (
    id           TEXT COLLATE "C" PRIMARY KEY,
    name         TEXT COLLATE "C" NOT NULL UNIQUE,
    created      BIGINT NOT NULL,
    balance      BIGINT NOT NULL DEFAULT 0 CHECK (balance >= 0),
    held         BIGINT NOT NULL DEFAULT 0,
    notice_to    TEXT,
    notice_below BIGINT NOT NULL DEFAULT 0 CHECK (notice_below >= 0),
    low_count    BIGINT NOT NULL DEFAULT 0,
    low_told     BOOLEAN NOT NULL DEFAULT FALSE,
    empty_count  BIGINT NOT NULL DEFAULT 0,
    empty_told   BOOLEAN NOT NULL DEFAULT FALSE,
    CHECK (held BETWEEN 0 AND balance)
) WITH (fillfactor = 50);

-- `month` is the beginning of the month (UTC) of the last charge, `month_spent` the charges of it.
CREATE TABLE keys (
    prefix      TEXT COLLATE "C" PRIMARY KEY,
    account     TEXT COLLATE "C" NOT NULL REFERENCES accounts (id),
    hash        BYTEA NOT NULL UNIQUE,
    created     BIGINT NOT NULL,
    revoked     BIGINT,
    name        TEXT NOT NULL,
    last_used   BIGINT,
    budget      BIGINT CHECK (budget >= 0),
    month       BIGINT NOT NULL DEFAULT 0,
    month_spent BIGINT NOT NULL DEFAULT 0
) WITH (fillfactor = 50);

CREATE INDEX keys_of_account ON keys (account, created);

-- The account's row is locked while its entries get their numbers: what is committed later has
-- higher numbers, for each account.
CREATE TABLE entries (
    seq               BIGINT GENERATED ALWAYS AS IDENTITY PRIMARY KEY,
    id                TEXT COLLATE "C" NOT NULL UNIQUE,
    account           TEXT COLLATE "C" NOT NULL REFERENCES accounts (id),
    kind              TEXT COLLATE "C" NOT NULL
        CHECK (kind IN ('top_up', 'bonus', 'reserve', 'post', 'void', 'seats')),
    amount            BIGINT NOT NULL,
    held              BIGINT NOT NULL,
    hold              TEXT COLLATE "C" NOT NULL,
    run               TEXT COLLATE "C" NOT NULL,
    url               TEXT NOT NULL,
    ai                BIGINT NOT NULL,
    compute           BIGINT NOT NULL,
    file              BIGINT NOT NULL,
    bytes_transferred BIGINT NOT NULL,
    transform         BIGINT NOT NULL,
    vendor_billed     BIGINT NOT NULL,
    reason            TEXT NOT NULL,
    at                BIGINT NOT NULL,
    n_bytes           BIGINT NOT NULL,
    cpu               BIGINT NOT NULL,
    key               TEXT COLLATE "C" NOT NULL
);

CREATE INDEX entries_of_account ON entries (account, seq);
CREATE INDEX entries_of_allotment ON entries (hold) WHERE hold >= 'p:' AND hold < 'p;';

CREATE FUNCTION refuse_to_change() RETURNS trigger LANGUAGE plpgsql AS $$
BEGIN
    RAISE EXCEPTION '%', TG_ARGV[0];
END $$;

CREATE TRIGGER entries_are_final BEFORE UPDATE OR DELETE OR TRUNCATE ON entries
    FOR EACH STATEMENT EXECUTE FUNCTION refuse_to_change('ledger entries are final');

CREATE FUNCTION entries_move_sums() RETURNS trigger LANGUAGE plpgsql AS $$
BEGIN
    PERFORM 1 FROM accounts WHERE id IN (SELECT account FROM added) ORDER BY id FOR NO KEY UPDATE;
    UPDATE accounts SET balance = balance + sums.amount, held = accounts.held + sums.held
        FROM (SELECT account, SUM(amount)::BIGINT AS amount, SUM(held)::BIGINT AS held
              FROM added GROUP BY account) AS sums
        WHERE id = sums.account AND (sums.amount <> 0 OR sums.held <> 0);
    RETURN NULL;
END $$;

CREATE TRIGGER entries_move_sums AFTER INSERT ON entries REFERENCING NEW TABLE AS added
    FOR EACH STATEMENT EXECUTE FUNCTION entries_move_sums();

-- The charges in order: one of a later month than the key's begins that month with nothing spent,
-- and one of an earlier month counts in the key's.
CREATE FUNCTION entries_count_for_keys() RETURNS trigger LANGUAGE plpgsql AS $$
BEGIN
    PERFORM 1 FROM keys WHERE prefix IN
        (SELECT key FROM added WHERE kind = 'post' AND amount <> 0 AND key <> '')
        ORDER BY prefix FOR NO KEY UPDATE;
    WITH charges AS (
        SELECT key, seq, -amount AS amount,
            EXTRACT(EPOCH FROM date_trunc('month', to_timestamp(at / 1000) AT TIME ZONE 'UTC'))::BIGINT * 1000
                AS month
        FROM added WHERE kind = 'post' AND amount <> 0 AND key <> ''
    ), latest AS (
        SELECT key, MAX(month) AS month FROM charges GROUP BY key
    ), begun AS (
        SELECT charges.key, charges.month, MIN(seq) AS seq
        FROM charges JOIN latest ON latest.key = charges.key AND latest.month = charges.month
        GROUP BY charges.key, charges.month
    ), sums AS (
        SELECT begun.key, begun.month, SUM(amount)::BIGINT AS whole,
            (SUM(amount) FILTER (WHERE charges.seq >= begun.seq))::BIGINT AS since
        FROM charges JOIN begun ON begun.key = charges.key
        GROUP BY begun.key, begun.month
    )
    UPDATE keys SET month = GREATEST(keys.month, sums.month),
        month_spent = CASE WHEN keys.month < sums.month THEN sums.since ELSE month_spent + sums.whole END
        FROM sums WHERE prefix = sums.key;
    RETURN NULL;
END $$;

CREATE TRIGGER entries_count_for_keys AFTER INSERT ON entries REFERENCING NEW TABLE AS added
    FOR EACH STATEMENT EXECUTE FUNCTION entries_count_for_keys();

CREATE TABLE subscriptions (
    account     TEXT COLLATE "C" PRIMARY KEY REFERENCES accounts (id),
    seats       BIGINT NOT NULL CHECK (seats >= 0),
    next_seats  BIGINT NOT NULL CHECK (next_seats >= 0),
    begun       BIGINT NOT NULL,
    period_from BIGINT NOT NULL,
    period_to   BIGINT NOT NULL CHECK (period_to > period_from),
    price       BIGINT NOT NULL,
    state       TEXT NOT NULL CHECK (state IN ('active', 'suspended', 'lapsed'))
);

-- `status` is 0 for a request that has not ended.
CREATE TABLE answers (
    account      TEXT COLLATE "C" NOT NULL REFERENCES accounts (id),
    key          TEXT COLLATE "C" NOT NULL,
    body_hash    BYTEA NOT NULL,
    status       BIGINT,
    content_type TEXT,
    headers      TEXT,
    body         BYTEA,
    at           BIGINT NOT NULL,
    PRIMARY KEY (account, key)
);

CREATE INDEX answers_by_age ON answers (at);

CREATE TABLE price_history (
    seq    BIGINT GENERATED ALWAYS AS IDENTITY PRIMARY KEY,
    at     BIGINT NOT NULL,
    prices TEXT NOT NULL
);

CREATE TRIGGER past_prices_are_final BEFORE UPDATE OR DELETE OR TRUNCATE ON price_history
    FOR EACH STATEMENT EXECUTE FUNCTION refuse_to_change('past prices are final');

-- `content` of a page is a hash of 16 bytes. `state` of a URL: 0 waiting, 1 done, from 16 on 16
-- plus the skip reason.
CREATE TABLE crawls (
    number        BIGINT GENERATED ALWAYS AS IDENTITY PRIMARY KEY,
    id            TEXT COLLATE "C" NOT NULL UNIQUE,
    account       TEXT COLLATE "C" NOT NULL REFERENCES accounts (id),
    key           TEXT COLLATE "C" NOT NULL,
    request       TEXT NOT NULL,
    verb          TEXT COLLATE "C" NOT NULL,
    terms         TEXT NOT NULL CHECK (terms IN ('pay_as_you_go', 'unlimited')),
    needs_secrets BOOLEAN NOT NULL,
    in_background BOOLEAN NOT NULL,
    state         TEXT COLLATE "C" NOT NULL CHECK (state IN ('queued', 'running', 'parked', 'ended')),
    stop          TEXT,
    created       BIGINT NOT NULL,
    ended         BIGINT,
    n_pages       BIGINT NOT NULL,
    n_failed      BIGINT NOT NULL,
    n_bytes       BIGINT NOT NULL,
    spent         BIGINT NOT NULL,
    left_out      TEXT,
    stored_bytes  BIGINT NOT NULL
) WITH (fillfactor = 50);

CREATE INDEX crawls_of_account ON crawls (account, created, number);
CREATE INDEX batches_of_account ON crawls (account, created, number) WHERE verb = 'batch';
CREATE INDEX other_crawls_of_account ON crawls (account, created, number) WHERE verb <> 'batch';
CREATE INDEX crawls_by_end ON crawls (ended);
CREATE INDEX crawls_unfinished ON crawls (number) WHERE state <> 'ended';

CREATE TABLE crawl_urls (
    crawl    BIGINT NOT NULL,
    n        BIGINT NOT NULL,
    url      TEXT NOT NULL,
    depth    BIGINT NOT NULL,
    state    BIGINT NOT NULL,
    referrer BIGINT,
    anchor   TEXT,
    target   TEXT,
    PRIMARY KEY (crawl, n)
) WITH (fillfactor = 80);

CREATE TABLE crawl_pages (
    crawl     BIGINT NOT NULL,
    seq       BIGINT NOT NULL,
    n         BIGINT NOT NULL,
    status    BIGINT NOT NULL,
    is_failed BOOLEAN NOT NULL,
    place     BIGINT NOT NULL,
    length    BIGINT NOT NULL,
    at        BIGINT,
    cost      BIGINT NOT NULL,
    cause     TEXT,
    error     TEXT,
    content   BYTEA,
    PRIMARY KEY (crawl, seq)
);

-- `digest` is the hash of the destination.
CREATE TABLE outbox (
    seq         BIGINT GENERATED ALWAYS AS IDENTITY PRIMARY KEY,
    id          TEXT COLLATE "C" NOT NULL UNIQUE,
    account     TEXT COLLATE "C" NOT NULL REFERENCES accounts (id),
    digest      BYTEA NOT NULL,
    destination TEXT NOT NULL,
    event       TEXT NOT NULL,
    body        TEXT NOT NULL,
    created     BIGINT NOT NULL,
    due         BIGINT NOT NULL,
    n_attempts  BIGINT NOT NULL
) WITH (fillfactor = 80);

CREATE INDEX outbox_of_account ON outbox (account, seq);
CREATE INDEX outbox_of_channel ON outbox (account, digest, seq);

CREATE TABLE outbox_channels (
    account     TEXT COLLATE "C" NOT NULL,
    digest      BYTEA NOT NULL,
    destination TEXT NOT NULL,
    due         BIGINT NOT NULL,
    n_events    BIGINT NOT NULL,
    last_error  TEXT,
    last_failed BIGINT,
    PRIMARY KEY (account, digest)
) WITH (fillfactor = 50);

CREATE INDEX outbox_channels_by_time ON outbox_channels (due);

CREATE TABLE webhook_secrets (
    account  TEXT COLLATE "C" PRIMARY KEY REFERENCES accounts (id),
    secret   TEXT NOT NULL,
    previous TEXT,
    renewed  BIGINT
);

-- `digest` is the hash of kind and value, `details` a JSON object, `pages` an array of URLs.
CREATE TABLE contacts (
    seq        BIGINT GENERATED ALWAYS AS IDENTITY PRIMARY KEY,
    account    TEXT COLLATE "C" NOT NULL REFERENCES accounts (id),
    domain     TEXT COLLATE "C" NOT NULL,
    kind       TEXT NOT NULL,
    value      TEXT NOT NULL,
    digest     BYTEA NOT NULL,
    details    TEXT NOT NULL,
    pages      TEXT NOT NULL,
    first_seen BIGINT NOT NULL,
    last_seen  BIGINT NOT NULL,
    UNIQUE (account, domain, digest)
);

CREATE INDEX contacts_by_time ON contacts (account, last_seen, seq);
CREATE INDEX contacts_of_domain ON contacts (account, domain, last_seen, seq);

-- What each account has stored. A row of each kind counts as a flat number of bytes plus its texts.
CREATE TABLE account_totals (
    account            TEXT COLLATE "C" PRIMARY KEY,
    n_crawls           BIGINT NOT NULL DEFAULT 0,
    n_batches          BIGINT NOT NULL DEFAULT 0,
    n_pages            BIGINT NOT NULL DEFAULT 0,
    n_background_pages BIGINT NOT NULL DEFAULT 0,
    crawl_bytes        BIGINT NOT NULL DEFAULT 0,
    n_answers          BIGINT NOT NULL DEFAULT 0,
    answer_bytes       BIGINT NOT NULL DEFAULT 0,
    n_contacts         BIGINT NOT NULL DEFAULT 0,
    contact_bytes      BIGINT NOT NULL DEFAULT 0,
    n_events           BIGINT NOT NULL DEFAULT 0,
    event_bytes        BIGINT NOT NULL DEFAULT 0
) WITH (fillfactor = 50);

CREATE FUNCTION accounts_have_totals() RETURNS trigger LANGUAGE plpgsql AS $$
BEGIN
    INSERT INTO account_totals (account) SELECT id FROM added;
    RETURN NULL;
END $$;

CREATE TRIGGER accounts_have_totals AFTER INSERT ON accounts REFERENCING NEW TABLE AS added
    FOR EACH STATEMENT EXECUTE FUNCTION accounts_have_totals();

-- Each of the following functions serves an insert (`sign` 1) or a delete (-1) of rows, which its
-- trigger calls `changed`.
CREATE FUNCTION count_crawls() RETURNS trigger LANGUAGE plpgsql AS $$
DECLARE
    sign BIGINT := TG_ARGV[0];
BEGIN
    PERFORM 1 FROM account_totals WHERE account IN (SELECT account FROM changed)
        ORDER BY account FOR NO KEY UPDATE;
    UPDATE account_totals AS totals SET n_crawls = totals.n_crawls + sign * sums.n_crawls,
        n_batches = totals.n_batches + sign * sums.n_batches,
        n_pages = totals.n_pages + sign * sums.n_pages,
        n_background_pages = totals.n_background_pages + sign * sums.n_background_pages,
        crawl_bytes = totals.crawl_bytes + sign * sums.crawl_bytes
        FROM (SELECT account, COUNT(*) AS n_crawls, COUNT(*) FILTER (WHERE verb = 'batch') AS n_batches,
                  SUM(n_pages)::BIGINT AS n_pages,
                  COALESCE(SUM(n_pages) FILTER (WHERE in_background), 0)::BIGINT AS n_background_pages,
                  SUM(stored_bytes)::BIGINT AS crawl_bytes
              FROM changed GROUP BY account) AS sums
        WHERE totals.account = sums.account;
    RETURN NULL;
END $$;

CREATE TRIGGER crawls_are_counted AFTER INSERT ON crawls REFERENCING NEW TABLE AS changed
    FOR EACH STATEMENT EXECUTE FUNCTION count_crawls('1');
CREATE TRIGGER crawls_are_discounted AFTER DELETE ON crawls REFERENCING OLD TABLE AS changed
    FOR EACH STATEMENT EXECUTE FUNCTION count_crawls('-1');

-- A row at a time: no statement changes the numbers of many crawls.
CREATE FUNCTION count_crawl_again() RETURNS trigger LANGUAGE plpgsql AS $$
BEGIN
    UPDATE account_totals SET crawl_bytes = crawl_bytes + NEW.stored_bytes - OLD.stored_bytes,
        n_pages = n_pages + NEW.n_pages - OLD.n_pages,
        n_background_pages = n_background_pages
            + CASE WHEN NEW.in_background THEN NEW.n_pages - OLD.n_pages ELSE 0 END
        WHERE account = NEW.account;
    RETURN NULL;
END $$;

CREATE TRIGGER crawls_are_counted_again AFTER UPDATE ON crawls FOR EACH ROW
    WHEN (NEW.n_pages <> OLD.n_pages OR NEW.stored_bytes <> OLD.stored_bytes)
    EXECUTE FUNCTION count_crawl_again();

CREATE FUNCTION count_answers() RETURNS trigger LANGUAGE plpgsql AS $$
DECLARE
    sign BIGINT := TG_ARGV[0];
BEGIN
    PERFORM 1 FROM account_totals WHERE account IN (SELECT account FROM changed)
        ORDER BY account FOR NO KEY UPDATE;
    UPDATE account_totals AS totals SET n_answers = totals.n_answers + sign * sums.n_answers,
        answer_bytes = totals.answer_bytes + sign * sums.answer_bytes
        FROM (SELECT account, COUNT(*) AS n_answers,
                  SUM(COALESCE(octet_length(body), 0) + COALESCE(octet_length(headers), 0) + 256)::BIGINT
                      AS answer_bytes
              FROM changed GROUP BY account) AS sums
        WHERE totals.account = sums.account;
    RETURN NULL;
END $$;

CREATE TRIGGER answers_are_counted AFTER INSERT ON answers REFERENCING NEW TABLE AS changed
    FOR EACH STATEMENT EXECUTE FUNCTION count_answers('1');
CREATE TRIGGER answers_are_discounted AFTER DELETE ON answers REFERENCING OLD TABLE AS changed
    FOR EACH STATEMENT EXECUTE FUNCTION count_answers('-1');

CREATE FUNCTION count_answers_again() RETURNS trigger LANGUAGE plpgsql AS $$
BEGIN
    UPDATE account_totals AS totals SET answer_bytes = totals.answer_bytes + sums.n_bytes
        FROM (SELECT account, SUM(n_bytes)::BIGINT AS n_bytes FROM
                  (SELECT account, COALESCE(octet_length(body), 0) + COALESCE(octet_length(headers), 0)
                       AS n_bytes FROM rows_after
                   UNION ALL
                   SELECT account, -COALESCE(octet_length(body), 0) - COALESCE(octet_length(headers), 0)
                       FROM rows_before) AS both_sides
              GROUP BY account HAVING SUM(n_bytes) <> 0) AS sums
        WHERE totals.account = sums.account;
    RETURN NULL;
END $$;

CREATE TRIGGER answers_are_counted_again AFTER UPDATE ON answers
    REFERENCING OLD TABLE AS rows_before NEW TABLE AS rows_after
    FOR EACH STATEMENT EXECUTE FUNCTION count_answers_again();

CREATE FUNCTION count_contacts() RETURNS trigger LANGUAGE plpgsql AS $$
BEGIN
    PERFORM 1 FROM account_totals WHERE account IN (SELECT account FROM changed)
        ORDER BY account FOR NO KEY UPDATE;
    UPDATE account_totals AS totals SET n_contacts = totals.n_contacts + sums.n_contacts,
        contact_bytes = totals.contact_bytes + sums.contact_bytes
        FROM (SELECT account, COUNT(*) AS n_contacts,
                  SUM(octet_length(value) + octet_length(details) + octet_length(pages) + 128)::BIGINT
                      AS contact_bytes
              FROM changed GROUP BY account) AS sums
        WHERE totals.account = sums.account;
    RETURN NULL;
END $$;

CREATE TRIGGER contacts_are_counted AFTER INSERT ON contacts REFERENCING NEW TABLE AS changed
    FOR EACH STATEMENT EXECUTE FUNCTION count_contacts();

CREATE FUNCTION count_contacts_again() RETURNS trigger LANGUAGE plpgsql AS $$
BEGIN
    UPDATE account_totals AS totals SET contact_bytes = totals.contact_bytes + sums.n_bytes
        FROM (SELECT account, SUM(n_bytes)::BIGINT AS n_bytes FROM
                  (SELECT account, octet_length(details) + octet_length(pages) AS n_bytes FROM rows_after
                   UNION ALL
                   SELECT account, -octet_length(details) - octet_length(pages) FROM rows_before) AS both_sides
              GROUP BY account HAVING SUM(n_bytes) <> 0) AS sums
        WHERE totals.account = sums.account;
    RETURN NULL;
END $$;

CREATE TRIGGER contacts_are_counted_again AFTER UPDATE ON contacts
    REFERENCING OLD TABLE AS rows_before NEW TABLE AS rows_after
    FOR EACH STATEMENT EXECUTE FUNCTION count_contacts_again();

CREATE FUNCTION count_events() RETURNS trigger LANGUAGE plpgsql AS $$
DECLARE
    sign BIGINT := TG_ARGV[0];
BEGIN
    IF sign = 1 THEN
        INSERT INTO outbox_channels AS channel (account, digest, destination, due, n_events)
            SELECT account, digest, MIN(destination), (array_agg(due ORDER BY seq))[1], COUNT(*)
            FROM changed GROUP BY account, digest ORDER BY account, digest
            ON CONFLICT (account, digest) DO UPDATE SET n_events = channel.n_events + excluded.n_events;
    ELSE
        PERFORM 1 FROM outbox_channels WHERE (account, digest) IN (SELECT account, digest FROM changed)
            ORDER BY account, digest FOR UPDATE;
        UPDATE outbox_channels AS channel SET n_events = channel.n_events - sums.n_events
            FROM (SELECT account, digest, COUNT(*) AS n_events FROM changed GROUP BY account, digest) AS sums
            WHERE channel.account = sums.account AND channel.digest = sums.digest;
        DELETE FROM outbox_channels WHERE n_events = 0
            AND (account, digest) IN (SELECT account, digest FROM changed);
    END IF;
    PERFORM 1 FROM account_totals WHERE account IN (SELECT account FROM changed)
        ORDER BY account FOR NO KEY UPDATE;
    UPDATE account_totals AS totals SET n_events = totals.n_events + sign * sums.n_events,
        event_bytes = totals.event_bytes + sign * sums.event_bytes
        FROM (SELECT account, COUNT(*) AS n_events,
                  SUM(octet_length(body) + octet_length(destination) + 256)::BIGINT AS event_bytes
              FROM changed GROUP BY account) AS sums
        WHERE totals.account = sums.account;
    RETURN NULL;
END $$;

CREATE TRIGGER outbox_is_counted AFTER INSERT ON outbox REFERENCING NEW TABLE AS changed
    FOR EACH STATEMENT EXECUTE FUNCTION count_events('1');
CREATE TRIGGER outbox_is_discounted AFTER DELETE ON outbox REFERENCING OLD TABLE AS changed
    FOR EACH STATEMENT EXECUTE FUNCTION count_events('-1');
