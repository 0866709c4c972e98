# Formats empty disks, copies what is at their paths and mounts them there: disks SERIAL PATH TYPE [SERIAL PATH TYPE]...
# It runs early at boot, before services that keep their data there are started. A failure is one line on the console and
# ends in power-off, as in guest.sh.
set -eu
PATH=/usr/local/sbin:/usr/local/bin:/usr/sbin:/usr/bin:/sbin:/bin
LC_ALL=C
export PATH LC_ALL
log=/run/remuda-disks.log

fail() {
  mkdir -p /run/remuda-guest-failed
  words=$(tail -n 1 "$log" 2>/dev/null | tr -c '[:print:]' ' ' | cut -c 1-300) || words=
  line="remuda-guest: FAILED step=disks reason=$1${words:+: $words}"
  { printf '%s\n' "$line" >>/dev/console; } 2>/dev/null || printf '%s\n' "$line" >&2
  systemctl --no-block poweroff || poweroff -f
  exit 1
}

# find_disk SERIAL: udev may be a moment behind.
find_disk() {
  for _ in 1 2 3 4 5 6 7 8 9 10 11 12 13 14 15 16 17 18 19 20; do
    for disk in /dev/disk/by-id/*[-_]"$1"; do
      if [ -e "$disk" ]; then return; fi
    done
    sleep 1
  done
  fail "no disk has the serial $1: name it in the disks of the spec"
}

while [ $# -ge 3 ]; do
  : >"$log"
  find_disk "$1"
  mkdir -p "$2" /run/remuda-disk
  mkfs."$3" "$disk" >"$log" 2>&1 </dev/null || fail "disk $1 cannot be formatted as $3"
  mount "$disk" /run/remuda-disk >"$log" 2>&1 || fail "disk $1 cannot be mounted"
  cp -a "$2/." /run/remuda-disk/ >"$log" 2>&1 || fail "what is in $2 does not fit on disk $1"
  umount /run/remuda-disk >"$log" 2>&1 || fail "disk $1 cannot be moved to $2"
  mount "$disk" "$2" >"$log" 2>&1 || fail "disk $1 cannot be mounted at $2"
  shift 3
done
