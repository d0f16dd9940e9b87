-- A checksum of each document, to notice damage. Rows from before have none until they are written.

ALTER TABLE clusters ADD COLUMN checksum TEXT;
ALTER TABLE infra_envs ADD COLUMN checksum TEXT;
ALTER TABLE hosts ADD COLUMN checksum TEXT;
ALTER TABLE events ADD COLUMN checksum TEXT;
