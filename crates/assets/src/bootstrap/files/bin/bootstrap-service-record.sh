#!/usr/bin/env bash
# Keeps a record of what a service did, to find the reason of a failure.
#
# Sourced by the scripts of the bootstrap host. The record of a service is a JSON array in
# /var/log/openshift/<service>.json; each entry says when a service, a stage or a command before or
# after it started or ended, and how. A script that is such a command sets PRE_COMMAND or
# POST_COMMAND before it sources this file.

RECORDS=/var/log/openshift
PRE_COMMAND=${PRE_COMMAND:-}
POST_COMMAND=${POST_COMMAND:-}
record_stage=

# The unit we run in, without its ending; by hand, the name of the script.
record_service() {
  local unit
  unit=$(sed -n 's|^.*:/system\.slice/\(.*/\)\?\([^/]*\)\.service\(/.*\)\?$|\2|p' /proc/self/cgroup | head -n 1)
  echo "${unit:-$(basename "$0" .sh)}"
}

record_kind() {
  if [[ -n $PRE_COMMAND ]]; then
    echo pre-command
  elif [[ -n $POST_COMMAND ]]; then
    echo post-command
  else
    echo service
  fi
}

# record PHASE [RESULT [ERROR_LINE [ERROR_MESSAGE]]]
record() {
  local file next
  mkdir -p "$RECORDS"
  file=$RECORDS/$(record_service).json
  [[ -s $file ]] || echo '[]' >"$file"
  next=$(mktemp "$file.XXXXXX")
  jq --arg timestamp "$(date --utc +%Y-%m-%dT%H:%M:%SZ)" \
    --arg phase "$1" --arg result "${2:-}" --arg stage "$record_stage" \
    --arg preCommand "$PRE_COMMAND" --arg postCommand "$POST_COMMAND" \
    --arg errorLine "${3:-}" --arg errorMessage "${4:-}" \
    '. + [$ARGS.named | with_entries(select(.value != ""))]' "$file" >"$next"
  mv "$next" "$file"
}

# The last words of the unit.
record_last_words() {
  journalctl --unit "$(record_service)" --lines 3 --output cat 2>/dev/null || true
}

stage_start() {
  if [[ -n $record_stage ]]; then
    echo "stage $1 starts inside stage $record_stage" >&2
    exit 1
  fi
  record_stage=$1
  record "stage start"
}

stage_success() {
  record "stage end" success
  record_stage=
}

# Ends a stage whose failure is worth a note and nothing more.
stage_failure() {
  record "stage end" failure "${BASH_LINENO[0]} ${BASH_SOURCE[1]:-}" "$(record_last_words)"
  record_stage=
}

record_exit() {
  local code=$? line
  line="${BASH_LINENO[0]} ${BASH_SOURCE[1]:-}"
  trap - EXIT
  if ((code == 0)); then
    [[ -z $record_stage ]] || stage_success
    record "$(record_kind) end" success
  else
    if [[ -n $record_stage ]]; then
      record "stage end" failure "$line" "$(record_last_words)"
      record_stage=
    fi
    record "$(record_kind) end" failure "$line" "$(record_last_words)"
  fi
  exit "$code"
}

trap record_exit EXIT
record "$(record_kind) start"
