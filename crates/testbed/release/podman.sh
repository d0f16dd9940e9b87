#!/usr/bin/env bash
# Runs the programs of a bootstrap in a copy of their image instead of in a container: podman takes
# some twenty seconds each time on an emulated processor, and the story of a single node shows that
# all of them run with it. Whatever is not `podman run --rm` with the options of bootkube.sh goes to
# podman itself.
set -euo pipefail

podman=/usr/bin/podman
given=("$@")
[[ ${1:-} == run && " $* " == *' --rm '* ]] || exec "$podman" "$@"
shift
volumes=() program=() image=''
while (($#)) && [[ -z $image ]]; do
  case $1 in
    --rm | --quiet | --net=host | --net=none | --log-driver=*) ;;
    --user) shift ;;
    --volume) volumes+=("$2"); shift ;;
    --entrypoint) program=("$2"); shift ;;
    -*) exec "$podman" "${given[@]}" ;;
    *) image=$1 ;;
  esac
  shift
done

root=/run/release/$(sha256sum <<<"$image" | cut -c1-16)
if [[ ! -d $root ]]; then
  "$podman" image exists "$image" || "$podman" pull --quiet "$image" >/dev/null
  mkdir -p /run/release
  cp --archive "$("$podman" image mount "$image")" "$root.part"
  mv "$root.part" "$root"
fi
# shellcheck disable=SC2016 # the inner shell expands these
exec unshare --mount bash -euc '
  root=$1 count=$2
  shift 2
  for ((; count > 0; count--)); do
    IFS=: read -r from to _ <<<"$1"
    mkdir -p "$root$to"
    mount --bind "$from" "$root$to"
    shift
  done
  exec chroot "$root" "$@"' run "$root" "${#volumes[@]}" "${volumes[@]}" "${program[@]}" "$@"
