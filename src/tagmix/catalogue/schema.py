"""The tables of a catalogue: numbered migrations, each applied once.

``said`` holds what a human or the metadata of a file says of a pair (photo, tag), ``guess`` what a run of the
machine says; nothing overwrites anything of another source, so that each can be taken back. ``label`` is
derived from them: per tag the photos that have it, in blocks of photos (``labels.py``).

Places are bytes, because names of files need not be valid text. Photos, tags and runs are never deleted.
"""

# "tagM" as a number: what tells a catalogue from other SQLite files (offset 68 of the file).
APPLICATION_ID = 0x7461674D

_FIRST = (
    "CREATE TABLE fact (key TEXT PRIMARY KEY, value BLOB) WITHOUT ROWID",
    """CREATE TABLE photo (
        id INTEGER PRIMARY KEY,
        place BLOB NOT NULL,            -- relative to the root, '/' between levels
        digest BLOB NOT NULL CHECK (length(digest) = 32),
        size INTEGER NOT NULL,
        mtime INTEGER NOT NULL,         -- nanoseconds
        gone INTEGER,                   -- when it was missed first; its place may be another photo's now
        reviewed INTEGER                -- when a human said that its tags are complete
    )""",
    "CREATE UNIQUE INDEX photo_place ON photo(place) WHERE gone IS NULL",
    "CREATE INDEX photo_digest ON photo(digest)",
    "CREATE INDEX photo_order ON photo(place)",
    """CREATE TABLE tag (
        id INTEGER PRIMARY KEY,
        name TEXT UNIQUE,               -- canonical; NULL: merged
        merged INTEGER REFERENCES tag(id),
        CHECK ((name IS NULL) = (merged IS NOT NULL))
    )""",
    """CREATE TABLE name (
        name TEXT PRIMARY KEY,          -- names of tags and synonyms
        tag INTEGER NOT NULL REFERENCES tag(id),
        folded TEXT NOT NULL,           -- without capitals
        last TEXT NOT NULL              -- its last level, without capitals
    ) WITHOUT ROWID""",
    "CREATE INDEX name_tag ON name(tag)",
    "CREATE INDEX name_folded ON name(folded)",
    "CREATE INDEX name_last ON name(last)",
    """CREATE TABLE parent (
        child INTEGER NOT NULL REFERENCES tag(id),
        parent INTEGER NOT NULL REFERENCES tag(id),
        by_name INTEGER NOT NULL CHECK (by_name IN (0, 1)),
        PRIMARY KEY (child, parent)
    ) WITHOUT ROWID""",
    "CREATE INDEX parent_parent ON parent(parent)",
    """CREATE TABLE run (
        id INTEGER PRIMARY KEY,
        name TEXT NOT NULL UNIQUE,      -- what sidecars say: unique beyond this catalogue
        kind TEXT NOT NULL,
        model TEXT NOT NULL,
        arguments TEXT NOT NULL,        -- JSON
        started INTEGER NOT NULL,
        finished INTEGER,
        state TEXT NOT NULL CHECK (state IN ('running', 'finished', 'undoing', 'undone')),
        process TEXT NOT NULL           -- who works on it: recognises interrupted runs
    )""",
    """CREATE TABLE entry (
        run INTEGER NOT NULL REFERENCES run(id),
        photo INTEGER NOT NULL REFERENCES photo(id),
        state TEXT NOT NULL CHECK (state IN ('guessed', 'planned', 'written', 'removed')),
        tags TEXT NOT NULL,             -- JSON: the tags that were added to its sidecar
        PRIMARY KEY (run, photo)
    ) WITHOUT ROWID""",
    "CREATE INDEX entry_photo ON entry(photo)",
    """CREATE TABLE said (
        photo INTEGER NOT NULL REFERENCES photo(id),
        tag INTEGER NOT NULL REFERENCES tag(id),
        source INTEGER NOT NULL CHECK (source IN (2, 3)),   -- 2: metadata, 3: human
        value INTEGER NOT NULL CHECK (value IN (0, 1)),
        date INTEGER NOT NULL,
        PRIMARY KEY (photo, tag, source)
    ) WITHOUT ROWID""",
    """CREATE TABLE guess (
        photo INTEGER NOT NULL REFERENCES photo(id),
        tag INTEGER NOT NULL REFERENCES tag(id),
        run INTEGER NOT NULL REFERENCES run(id),
        value INTEGER NOT NULL CHECK (value IN (0, 1)),
        probability REAL,
        PRIMARY KEY (photo, tag, run)
    ) WITHOUT ROWID""",
    """CREATE TABLE label (
        block INTEGER NOT NULL,
        label INTEGER NOT NULL,
        members BLOB NOT NULL,
        PRIMARY KEY (block, label)
    ) WITHOUT ROWID""",
    """CREATE TABLE regions (
        photo INTEGER NOT NULL REFERENCES photo(id),
        run INTEGER NOT NULL REFERENCES run(id),
        content BLOB NOT NULL,          -- compressed JSON
        PRIMARY KEY (photo, run)
    )""",
    """CREATE TABLE region_said (
        id INTEGER PRIMARY KEY,
        photo INTEGER NOT NULL REFERENCES photo(id),
        tag INTEGER REFERENCES tag(id), -- NULL: none of the tags
        value INTEGER NOT NULL CHECK (value IN (0, 1)),
        content BLOB NOT NULL,          -- the region itself: it stays when its run is undone
        date INTEGER NOT NULL
    )""",
    "CREATE INDEX region_said_photo ON region_said(photo)",
)

_READINGS = (
    """CREATE TABLE reading (
        photo INTEGER PRIMARY KEY REFERENCES photo(id),
        stamp BLOB NOT NULL             -- size and time of the photo and of its sidecar
    )""",
    "ALTER TABLE entry ADD COLUMN digest BLOB",  # of the photo, when it was entered
)

# To change the tables, add a tuple of statements; never change one that was released.
MIGRATIONS: tuple[tuple[str, ...], ...] = (_FIRST, _READINGS)
VERSION = len(MIGRATIONS)
