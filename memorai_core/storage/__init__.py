"""The SQLite file: the only SQL of the project lives in this folder."""
