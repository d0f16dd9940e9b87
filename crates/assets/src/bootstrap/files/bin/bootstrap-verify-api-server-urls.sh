#!/usr/bin/env bash
# Notes whether names and ports of the API work. Sourced; a failure here is a hint, never the end.

# lookup_name STAGE MARKER HOST: does the name mean anything?
lookup_name() {
  [[ ! -e $2.done ]] || return 0
  stage_start "$1"
  if getent ahosts "$3" >/dev/null; then
    @TOUCH_DNS_MARKER@
    stage_success
  else
    echo "the name $3 cannot be resolved; nodes will not find the API" >&2
    stage_failure
  fi
}

# check_url STAGE MARKER HOST: does the API answer there?
check_url() {
  local answer
  [[ ! -e $2.done ]] || return 0
  stage_start "$1"
  answer=$(curl --silent --insecure --output /dev/null --max-time 20 --write-out '%{http_code}' \
    "https://$3:6443/readyz") || true
  if [[ $answer == 200 ]]; then
    touch "$2.done"
    stage_success
  else
    echo "https://$3:6443/readyz answers with '$answer', not 200" >&2
    stage_failure
  fi
}
