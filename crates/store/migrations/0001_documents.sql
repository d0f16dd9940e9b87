-- The nouns as documents: key, version, the columns look-ups need, and the JSON itself.
-- Types are those both databases know; {{identity}} is the only word that differs.

CREATE TABLE clusters (
    id         TEXT   NOT NULL PRIMARY KEY,
    version    BIGINT NOT NULL,
    created_at BIGINT NOT NULL,
    deleted_at BIGINT,
    doc        TEXT   NOT NULL
);

CREATE TABLE infra_envs (
    id         TEXT   NOT NULL PRIMARY KEY,
    version    BIGINT NOT NULL,
    created_at BIGINT NOT NULL,
    cluster_id TEXT,
    doc        TEXT   NOT NULL
);
CREATE INDEX infra_envs_by_cluster ON infra_envs (cluster_id);

CREATE TABLE hosts (
    infra_env_id TEXT   NOT NULL,
    id           TEXT   NOT NULL,
    version      BIGINT NOT NULL,
    created_at   BIGINT NOT NULL,
    deleted_at   BIGINT,
    cluster_id   TEXT,
    doc          TEXT   NOT NULL,
    PRIMARY KEY (infra_env_id, id)
);
CREATE INDEX hosts_by_cluster ON hosts (cluster_id);
CREATE INDEX hosts_by_id ON hosts (id);

CREATE TABLE events (
    seq            {{identity}},
    at             BIGINT NOT NULL,
    cluster_id     TEXT,
    infra_env_id   TEXT,
    host_id        TEXT,
    name           TEXT   NOT NULL,
    severity       TEXT   NOT NULL,
    category       TEXT   NOT NULL,
    folded_message TEXT   NOT NULL,
    doc            TEXT   NOT NULL
);
CREATE INDEX events_by_time ON events (at, seq);
-- The last two let the counts of a cluster be read from the index alone.
CREATE INDEX events_by_cluster ON events (cluster_id, at, seq, category, severity)
    WHERE cluster_id IS NOT NULL;
CREATE INDEX events_by_infra_env ON events (infra_env_id, at, seq) WHERE infra_env_id IS NOT NULL;
CREATE INDEX events_by_host ON events (host_id, at, seq) WHERE host_id IS NOT NULL;

CREATE TABLE settings (
    key   TEXT NOT NULL PRIMARY KEY,
    value TEXT NOT NULL
);

CREATE TABLE heartbeats (
    infra_env_id  TEXT   NOT NULL,
    host_id       TEXT   NOT NULL,
    checked_in_at BIGINT NOT NULL,
    agent_clock   BIGINT,
    PRIMARY KEY (infra_env_id, host_id)
);
