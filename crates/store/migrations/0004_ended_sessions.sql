-- Logins that were ended before their time, until they would have ended by themselves.

CREATE TABLE ended_sessions (
    id         TEXT PRIMARY KEY,
    expires_at BIGINT NOT NULL
);
