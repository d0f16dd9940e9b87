-- Whom a host reaches is by far its largest report, and in a large cluster every new peer makes a
-- new one. It lives beside the host, so that a change of the host does not write it again.

CREATE TABLE host_connectivity (
    infra_env_id TEXT NOT NULL,
    host_id      TEXT NOT NULL,
    report       TEXT NOT NULL,
    PRIMARY KEY (infra_env_id, host_id)
);

INSERT INTO host_connectivity (infra_env_id, host_id, report)
    SELECT infra_env_id, id, {{connectivity}} FROM hosts WHERE {{connectivity}} IS NOT NULL;
