"""Everything memorai raises on purpose.

MemoraiError
├── ConfigurationError        a setting or an extra is wrong or missing  (also ValueError)
├── FormatError               a file is not what its reader can read     (also ValueError)
├── UnknownUserError          no such user, session, turn or other id    (also LookupError)
├── UnknownSessionError
├── UnknownTurnError
├── UnknownIdError
└── StoreError                the database file cannot be used
    ├── SchemaVersionError    it was written by a newer memorai
    └── EmbedderMismatchError it was built with another embedder
"""


class MemoraiError(Exception):
    """Base of every error memorai raises on purpose."""


class ConfigurationError(MemoraiError, ValueError):
    """A setting, an argument or an extra is wrong or missing; the message says the fix."""


class FormatError(MemoraiError, ValueError):
    """A file or record is not in the form its reader expects; nothing of it was stored."""


class UnknownUserError(MemoraiError, LookupError):
    """The store holds nothing of this user."""


class UnknownSessionError(MemoraiError, LookupError):
    """The user has no such session."""


class UnknownTurnError(MemoraiError, LookupError):
    """The user, or the evidence at hand, has no such turn."""


class UnknownIdError(MemoraiError, LookupError):
    """No turn, segment, entity or triplet has this id, or a prefix of it is ambiguous."""


class StoreError(MemoraiError):
    """The database file cannot be opened, read or written."""


class SchemaVersionError(StoreError):
    """The file was written by a newer memorai than this one."""


class EmbedderMismatchError(StoreError):
    """The file's vectors come from another embedder than the one in use."""
