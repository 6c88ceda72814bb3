"""The schema, as numbered steps; a file's `user_version` says how many it has had.

Rows point at each other by integers (turn, segment, ...); the ids that users see stand beside them. A row of `texts` is a
text that was embedded, once a user, with its windows' vectors. Derived rows are never updated: a segment that is analysed
anew gets new rows, so "rows after N" is all that a reader needs to catch up. What points at `texts` is not declared as a
foreign key: checking it would need four more indexes, and `sweep` is the one place that deletes texts.
"""

MIGRATIONS: tuple[tuple[str, ...], ...] = (
    (
        """CREATE TABLE users (
            user INTEGER PRIMARY KEY AUTOINCREMENT,
            user_id TEXT NOT NULL UNIQUE,
            revision INTEGER NOT NULL DEFAULT 0,
            generation INTEGER NOT NULL DEFAULT 0,
            probe BLOB
        )""",
        """CREATE TABLE sessions (
            session INTEGER PRIMARY KEY,
            user INTEGER NOT NULL REFERENCES users,
            session_id TEXT NOT NULL,
            next_position INTEGER NOT NULL DEFAULT 0,
            UNIQUE (user, session_id)
        )""",
        """CREATE TABLE texts (
            text INTEGER PRIMARY KEY AUTOINCREMENT,
            user INTEGER NOT NULL REFERENCES users,
            key BLOB NOT NULL,
            body TEXT NOT NULL,
            vectors BLOB NOT NULL,
            UNIQUE (user, key)
        )""",
        """CREATE TABLE segments (
            segment INTEGER PRIMARY KEY AUTOINCREMENT,
            user INTEGER NOT NULL REFERENCES users,
            session INTEGER NOT NULL REFERENCES sessions,
            segment_id TEXT NOT NULL,
            text INTEGER,
            summary TEXT NOT NULL,
            made_by TEXT NOT NULL,
            open INTEGER NOT NULL,
            UNIQUE (user, segment_id)
        )""",
        "CREATE INDEX segments_of_session ON segments (session)",
        """CREATE TABLE turns (
            turn INTEGER PRIMARY KEY AUTOINCREMENT,
            user INTEGER NOT NULL REFERENCES users,
            session INTEGER NOT NULL REFERENCES sessions,
            position INTEGER NOT NULL,
            turn_id TEXT NOT NULL,
            source_id TEXT,
            role TEXT NOT NULL,
            speaker TEXT NOT NULL,
            body TEXT NOT NULL,
            timestamp INTEGER,
            inferred INTEGER NOT NULL,
            term_hashes BLOB NOT NULL,
            term_counts BLOB NOT NULL,
            revision INTEGER NOT NULL,
            segment INTEGER REFERENCES segments,
            kept INTEGER,
            text INTEGER,
            UNIQUE (session, position),
            UNIQUE (session, source_id),
            UNIQUE (user, turn_id)
        )""",
        "CREATE INDEX turns_by_revision ON turns (user, revision)",
        "CREATE INDEX turns_of_segment ON turns (segment)",
        "CREATE INDEX pending_turns ON turns (user, session) WHERE segment IS NULL",
        "CREATE INDEX dated_turns ON turns (session, position) WHERE timestamp IS NOT NULL",
        """CREATE TABLE entities (
            entity INTEGER PRIMARY KEY AUTOINCREMENT,
            user INTEGER NOT NULL REFERENCES users,
            entity_id TEXT NOT NULL,
            name TEXT NOT NULL,
            UNIQUE (user, entity_id)
        )""",
        """CREATE TABLE descriptions (
            description INTEGER PRIMARY KEY AUTOINCREMENT,
            user INTEGER NOT NULL REFERENCES users,
            segment INTEGER NOT NULL REFERENCES segments,
            entity INTEGER NOT NULL REFERENCES entities,
            text INTEGER NOT NULL
        )""",
        "CREATE INDEX descriptions_of_user ON descriptions (user)",
        "CREATE INDEX descriptions_of_segment ON descriptions (segment)",
        "CREATE INDEX descriptions_of_entity ON descriptions (entity)",
        """CREATE TABLE description_turns (
            description INTEGER NOT NULL REFERENCES descriptions ON DELETE CASCADE,
            turn INTEGER NOT NULL REFERENCES turns,
            PRIMARY KEY (description, turn)
        ) WITHOUT ROWID""",
        "CREATE INDEX descriptions_citing ON description_turns (turn)",
        """CREATE TABLE triplets (
            triplet INTEGER PRIMARY KEY AUTOINCREMENT,
            user INTEGER NOT NULL REFERENCES users,
            segment INTEGER NOT NULL REFERENCES segments,
            triplet_id TEXT NOT NULL,
            subject INTEGER NOT NULL REFERENCES entities,
            relation TEXT NOT NULL,
            object INTEGER NOT NULL REFERENCES entities,
            text INTEGER NOT NULL,
            origin TEXT NOT NULL,
            made_by TEXT NOT NULL,
            UNIQUE (user, triplet_id)
        )""",
        "CREATE INDEX triplets_of_user ON triplets (user)",
        "CREATE INDEX triplets_of_segment ON triplets (segment)",
        "CREATE INDEX triplets_of_subject ON triplets (subject)",
        "CREATE INDEX triplets_of_object ON triplets (object)",
        """CREATE TABLE triplet_turns (
            triplet INTEGER NOT NULL REFERENCES triplets ON DELETE CASCADE,
            turn INTEGER NOT NULL REFERENCES turns,
            PRIMARY KEY (triplet, turn)
        ) WITHOUT ROWID""",
        "CREATE INDEX triplets_citing ON triplet_turns (turn)",
    ),
)
