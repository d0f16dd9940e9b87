# Runs a PostgreSQL server until stdin is closed.
# $1: folder of the server's programs, $2: port. Prints "ready" when it accepts connections.
set -eu
dir=$(mktemp -d)
trap 'rm -rf "$dir"' EXIT
"$1/initdb" -D "$dir/data" -U muster -A trust -E UTF8 --no-locale --no-sync >"$dir/log" 2>&1 ||
    { cat "$dir/log" >&2; exit 1; }
# Without fsync: these tests are about meaning; what PostgreSQL promises they take for granted.
"$1/postgres" -D "$dir/data" -h 127.0.0.1 -p "$2" -c unix_socket_directories= \
    -c max_connections=400 -c fsync=off -c max_wal_size=256MB >>"$dir/log" 2>&1 &
server=$!
tries=0
until "$1/pg_isready" -q -h 127.0.0.1 -p "$2"; do
    tries=$((tries + 1))
    if [ "$tries" -gt 300 ] || ! kill -0 "$server" 2>/dev/null; then
        cat "$dir/log" >&2
        exit 1
    fi
    sleep 0.1
done
echo ready
cat >/dev/null
kill -INT "$server"
wait "$server" || true
