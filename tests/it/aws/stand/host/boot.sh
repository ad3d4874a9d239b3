# The first process of a machine: it has its own processes, network, mounts and names already, and gives it a root of its own.
# It says "up" on its output, reads what the machine is to run from its input, and ends with the machine. Words go to the console.
# $1 is the address of the metadata service, the other arguments are directories that no other machine has.
set -e
metadata=$1
shift

# What is written stays in memory, and ends with the machine.
mount -t tmpfs tmpfs /tmp
mkdir /tmp/upper /tmp/work /tmp/root
mount -t overlay overlay -o lowerdir=/,upperdir=/tmp/upper,workdir=/tmp/work /tmp/root
cd /tmp/root
mount -t proc proc proc
mount -t sysfs sysfs sys
mount -t tmpfs tmpfs dev
for node in null zero full random urandom tty; do
  : >"dev/$node"
  mount --bind "/dev/$node" "dev/$node"
done
mkdir dev/pts dev/shm
mount -t devpts -o newinstance,ptmxmode=0666,mode=620 devpts dev/pts
ln -s pts/ptmx dev/ptmx
ln -s /proc/self/fd dev/fd
mount -t tmpfs tmpfs dev/shm
for dir in /tmp /run /var/tmp /root /home "$@"; do
  if [ -d ".$dir" ]; then mount -t tmpfs tmpfs ".$dir"; fi
done
chmod 1777 tmp var/tmp
mkdir -p .before
pivot_root . .before
cd /
umount -l /.before
rmdir /.before

ip link set lo up
ip address add "$metadata/32" dev lo

# Whoever writes there switches the machine off.
mkfifo /run/power
for name in shutdown poweroff halt reboot; do
  rm -f "/usr/sbin/$name" "/sbin/$name"
  printf '#!/bin/sh\necho off >/run/power\n' >"/usr/sbin/$name"
  chmod 755 "/usr/sbin/$name"
done

echo up
mkdir -p /var/lib/cloud/instance/scripts
script=/var/lib/cloud/instance/scripts/part-001
cat >$script
chmod 700 $script
read -r first <$script || true
case $first in
  '#!'*)
    # As a service starts it: no home, no terminal, and a group of its own.
    setsid env -i PATH=/usr/local/sbin:/usr/local/bin:/usr/sbin:/usr/bin:/sbin:/bin LANG=C.UTF-8 \
      $script </dev/null >&2 &
    ;;
  *) echo "the user data is no script" >&2 ;;
esac

# Waiting for a child also takes care of those that lost their parent.
(read -r _ </run/power) &
wait $!
kill -TERM -1 2>/dev/null || true
tries=0
while [ "$(echo /proc/[0-9]*)" != /proc/1 ] && [ $tries -lt 50 ]; do
  tries=$((tries + 1))
  sleep 0.1
done
