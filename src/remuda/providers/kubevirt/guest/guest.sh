#!/bin/sh
# Makes this machine a CircleCI machine runner that takes one task and powers off.
#
#   guest.sh start [SERIAL]   install the runner (from the disk with that serial, if given), configure it, start it
#   guest.sh ended            say on the console how the runner ended; systemd calls it
#
# One line on the console per step; a failure is one line too, and ends in power-off, so that the machine is replaced:
#   remuda-guest: step=install seconds=12.3
#   remuda-guest: FAILED step=install reason=apt-get failed 5 times: E: Unable to locate package circleci-runner
set -eu
PATH=/usr/local/sbin:/usr/local/bin:/usr/sbin:/usr/bin:/sbin:/bin
LC_ALL=C
DEBIAN_FRONTEND=noninteractive
export PATH LC_ALL DEBIAN_FRONTEND

state=/var/lib/remuda
config=/etc/circleci-runner/circleci-runner-config.yaml
drop_in=/etc/systemd/system/circleci-runner.service.d/remuda.conf
repository=https://packagecloud.io/install/repositories/circleci/runner
unit=circleci-runner.service
log=$state/output.log
step=boot
reason=

say() {
  { printf 'remuda-guest: %s\n' "$1" >>/dev/console; } 2>/dev/null || printf 'remuda-guest: %s\n' "$1" >&2
}

# The first failure of a boot is the one that is told: a unit that does not start would be told by `ended` as well.
say_failed() {
  if mkdir /run/remuda-guest-failed 2>/dev/null || [ ! -d /run/remuda-guest-failed ]; then
    say "FAILED step=$step reason=$(printf '%s' "$1" | tr -c '[:print:]' ' ' | cut -c 1-300)"
  fi
}

fail() {
  reason=$1
  exit 1
}

power_off() {
  for command in 'systemctl --no-block poweroff' 'shutdown -P now' 'poweroff -f'; do
    # shellcheck disable=SC2086  # a command and its arguments
    if $command >/dev/null 2>&1; then return; fi
  done
}

on_exit() {
  status=$?
  trap - EXIT
  if [ "$status" -ne 0 ]; then
    say_failed "${reason:-unexpected exit status $status}"
    power_off
  fi
  exit "$status"
}

# Tenths of a second since the machine was started.
uptime_tenths() {
  read -r up _ </proc/uptime
  tenth=${up#*.}
  echo "$((${up%.*} * 10 + ${tenth%"${tenth#?}"}))"
}

# done_with STEP: say how long the step took. `boot` is what came before this script.
done_with() {
  now=$(uptime_tenths)
  took=$((now - since))
  since=$now
  say "step=$1 seconds=$((took / 10)).$((took % 10))"
}

# The last line that says something in what a command printed.
last_words() {
  words=$(grep -a '[^[:space:]]' "$log" | tail -n 1) || true
  printf '%s' "${words:-it said nothing}"
}

# retry WHAT COMMAND...: at most five attempts, a minute of waiting in all.
retry() {
  what=$1
  shift
  attempt=1
  until "$@" >"$log" 2>&1 </dev/null; do
    if [ "$attempt" -ge 5 ]; then fail "$what failed $attempt times: $(last_words)"; fi
    sleep $((attempt * attempt * 2))
    attempt=$((attempt + 1))
  done
}

installed() {
  systemctl daemon-reload >/dev/null 2>&1 || true
  systemctl cat "$unit" >/dev/null 2>&1
}

detect() {
  step=detect
  # shellcheck source=/dev/null
  ids=$( (. /etc/os-release && printf '%s %s' "${ID:-}" "${ID_LIKE:-}") 2>/dev/null) || ids=
  family=
  for id in $ids; do
    case $id in
      debian | ubuntu) family=deb ;;
      rhel | centos | fedora | almalinux | rocky) family=rpm ;;
      *) continue ;;
    esac
    break
  done
  if [ -z "$family" ]; then
    fail "the distribution '${ids:-unknown}' is neither of the Debian nor of the RHEL family: use an image that is"
  fi
  if ! command -v systemctl >/dev/null; then fail "systemd is missing: use an image that has it"; fi
  done_with detect
}

fetch() {
  if command -v curl >/dev/null; then
    curl -fsSL --connect-timeout 10 --max-time 60 -o "$2" "$1"
  elif command -v wget >/dev/null; then
    wget -nv --tries=1 --timeout=60 -O "$2" "$1"
  else
    echo "neither curl nor wget is there: bake one of them or the runner into the image"
    return 1
  fi
}

# The package manager's own command; a lock that another one holds at first boot is waited for. The repository's script
# lists the packages and ignores whether it could: what is not found at once is looked for in a new list.
install_packages() {
  if [ "$family" = deb ]; then
    if [ "$attempt" -gt 1 ]; then timeout 300 apt-get -o DPkg::Lock::Timeout=300 update || true; fi
    timeout 600 apt-get -y -o DPkg::Lock::Timeout=300 --no-install-recommends install "$@"
  elif command -v dnf >/dev/null; then
    timeout 600 dnf -y install "$@"
  else
    timeout 600 yum -y install "$@"
  fi
}

# `set -e` does not hold inside what `retry` runs.
add_repository() {
  fetch "$repository/script.$family.sh?any=true" "$state/repository.sh" &&
    timeout 600 bash "$state/repository.sh"
}

from_network() {
  retry "adding the package repository" add_repository
  retry "installing circleci-runner" install_packages circleci-runner
}

# from_bundle SERIAL: every package for this machine's architecture that is on the disk, and nothing from elsewhere
# unless the package manager must.
from_bundle() {
  for disk in /dev/disk/by-id/*[-_]"$1"-part1 /dev/disk/by-id/*[-_]"$1" ''; do
    if [ -e "$disk" ]; then break; fi
  done
  if [ -z "$disk" ]; then fail "no disk has the serial $1: attach the bundle disk with it"; fi
  mkdir -p "$state/bundle"
  if ! mount -o ro "$disk" "$state/bundle" >"$log" 2>&1; then
    fail "the bundle disk cannot be mounted: $(last_words)"
  fi
  if [ "$family" = deb ]; then
    arch=$(dpkg --print-architecture)
    set -- "*_$arch.deb" '*_all.deb'
  else
    arch=$(uname -m)
    set -- "*.$arch.rpm" '*.noarch.rpm'
  fi
  packages=$(find "$state/bundle" -type f \( -name "$1" -o -name "$2" \) | sort)
  case $packages in
    *circleci-runner*) ;;
    *) fail "the bundle disk holds no circleci-runner package for $arch" ;;
  esac
  IFS='
'
  # shellcheck disable=SC2086  # one package per line
  set -- $packages
  unset IFS
  retry "installing circleci-runner from the bundle disk" install_packages "$@"
  umount "$state/bundle" >/dev/null 2>&1 || true
}

install_runner() {
  step=install
  if ! installed; then
    if [ -n "$1" ]; then from_bundle "$1"; else from_network; fi
    if ! installed; then fail "the package circleci-runner brought no $unit"; fi
  fi
  if ! id circleci >/dev/null 2>&1; then fail "the user circleci is missing: the package circleci-runner makes it"; fi
  if ! command -v sudo >/dev/null; then fail "sudo is missing: bake it into the image"; fi
  done_with install
}

# A dot and the beginning of this boot's own id, from the disk that tells it; nothing where there is none.
boot_suffix() {
  for disk in /dev/disk/by-id/*[-_]remuda-boot ''; do
    if [ -e "$disk" ]; then break; fi
  done
  if [ -z "$disk" ]; then return; fi
  mkdir -p "$state/boot"
  if mount -o ro "$disk" "$state/boot" >"$log" 2>&1; then
    id=
    { read -r id <"$state/boot/boot"; } 2>/dev/null || true
    umount "$state/boot" >/dev/null 2>&1 || true
    id=$(printf '%.8s' "$id")
    case $id in
      *[!0-9a-f]*) ;;
      ????????) printf '.%s' "$id" ;;
    esac
  fi
}

configure() {
  step=configure
  # A package or an image may have started the runner. It ends before the drop-in is there, which would power off.
  if ! timeout 120 systemctl stop "$unit" >"$log" 2>&1; then fail "$unit cannot be stopped: $(last_words)"; fi
  systemctl disable "$unit" >/dev/null 2>&1 || true
  name=$(cat /proc/sys/kernel/hostname)
  name=${name%%.*}
  case $name in
    '' | localhost | -* | *- | *[!a-z0-9-]*)
      fail "the hostname '$name' is not the machine's name: cloud-init must set it from the machine's metadata"
      ;;
  esac
  mkdir -p /var/lib/circleci-runner/workdir "$state/task-agent" "${config%/*}" "${drop_in%/*}"
  chown circleci /var/lib/circleci-runner/workdir
  (
    umask 077
    cat "$state/runner.yaml" >"$config.new"
    printf '  name: "%s"\n' "$name$(boot_suffix)" >>"$config.new"
  )
  mv -f "$config.new" "$config"
  rm -f "$state/runner.yaml"
  cat "$state/runner.conf" >"$drop_in"
  done_with configure
}

start() {
  step=start
  systemctl daemon-reload >/dev/null 2>&1 || true
  if ! timeout 120 systemctl start "$unit" >"$log" 2>&1; then fail "$unit does not start: $(last_words)"; fi
  done_with start
}

umask 022
case ${1:-} in
  start)
    trap on_exit EXIT
    trap 'reason="stopped before the runner was started"; exit 143' HUP INT TERM
    if [ -e "$state/started" ]; then fail "the machine was started again: a runner's machine runs once"; fi
    : >"$state/started"
    since=0
    done_with boot
    detect
    install_runner "${2:-}"
    configure
    start
    ;;
  ended)
    step=run
    if [ "${SERVICE_RESULT:-success}" = success ]; then
      since=0
      done_with ended
    else
      say_failed "the runner ended: $SERVICE_RESULT ${EXIT_CODE:-} ${EXIT_STATUS:-}"
    fi
    ;;
  *)
    echo "usage: guest.sh start [SERIAL] | ended" >&2
    exit 2
    ;;
esac
