-- Segments of the page logs in an object store. A page has none if its entry is in the file of its
-- crawl.
ALTER TABLE crawl_pages ADD COLUMN segment BIGINT;

-- A segment is noted before it is written, so that every object that exists is known here.
CREATE TABLE segments (
    id      BIGINT PRIMARY KEY CHECK (id >= 0),
    created BIGINT NOT NULL
);

CREATE INDEX segments_by_age ON segments (created);

-- The crawls that have pages in a segment. One without crawls is not needed any more.
CREATE TABLE segment_crawls (
    crawl   BIGINT NOT NULL,
    segment BIGINT NOT NULL,
    PRIMARY KEY (crawl, segment)
);

CREATE INDEX segment_crawls_of_segment ON segment_crawls (segment);
