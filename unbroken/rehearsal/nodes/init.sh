#!/bin/sh
# First process of a node: started in its own namespaces by machine.py, ends as systemd, pid 1.
# Arguments: the node's root (an overlay already mounted), its name, the directory of Lustre file systems,
# GiB of NVMe (0: none), MiB that NVMe may really hold, GPUs, EFA interfaces, the cgroup hierarchies there are,
# the directory that plays the second EBS volume (empty: none).
set -eu
root=$1 name=$2 lustre=$3 nvme_gib=$4 nvme_mib=$5 gpus=$6 efa=$7 hierarchies=$8 ebs=$9

# Our own pid as the server sees it: /proc is still the server's. The shell itself must open the file.
read -r pid _ </proc/self/stat
echo "$pid"
# The server now moves us into our control groups and plugs in the network cable.
read -r _

hostname "$name"
cd "$root"

mount -t tmpfs -o mode=755,size=16m tmpfs dev
device() { mknod -m 666 "dev/$1" c "$2" "$3"; }
device null 1 3
device zero 1 5
device full 1 7
device random 1 8
device urandom 1 9
device tty 5 0
# Device nodes of the emulated hardware: they exist, and reading them is reading /dev/null.
i=0
while [ "$i" -lt "$gpus" ]; do
    device "nvidia$i" 1 3
    i=$((i + 1))
done
[ "$gpus" -eq 0 ] || device nvidiactl 1 3
[ "$efa" -eq 0 ] || mkdir dev/infiniband
i=0
while [ "$i" -lt "$efa" ]; do
    device "infiniband/uverbs$i" 1 3
    i=$((i + 1))
done
mkdir dev/pts dev/shm dev/mqueue
mount -t devpts -o newinstance,ptmxmode=0666,mode=620,gid=5 devpts dev/pts
ln -s pts/ptmx dev/ptmx
ln -s /proc/self/fd dev/fd
ln -s /proc/self/fd/0 dev/stdin
ln -s /proc/self/fd/1 dev/stdout
ln -s /proc/self/fd/2 dev/stderr
mount -t tmpfs -o mode=1777,size=512m tmpfs dev/shm
mount -t mqueue mqueue dev/mqueue

mount -t tmpfs -o mode=755,size=128m tmpfs run
mount -t tmpfs -o mode=1777,size=512m tmpfs tmp
mount -t proc proc proc
mount -t sysfs -o ro sysfs sys
# Kernel settings belong to the host.
for path in proc/sys proc/sysrq-trigger; do
    [ -e "$path" ] || continue
    mount --bind "$path" "$path"
    mount -o remount,bind,ro "$path"
done
mkdir -p run/lock run/sshd opt/rehearsal/lustre
mount --rbind "$lustre" opt/rehearsal/lustre
if [ "$nvme_gib" -gt 0 ]; then
    mkdir -p opt/dlami/nvme
    mount -t tmpfs -o "mode=755,size=${nvme_mib}m" /dev/vg.01/lv_ephemeral opt/dlami/nvme
fi

if [ -n "$ebs" ]; then
    mkdir -p opt/sagemaker
    mount --bind "$ebs" opt/sagemaker
fi

export hierarchies
# shellcheck disable=SC2016 # the inner shell expands it
exec unshare --cgroup sh -c '
    set -eu
    if [ "$hierarchies" = unified ]; then
        mount -t cgroup2 cgroup2 sys/fs/cgroup
    else
        mount -t tmpfs -o mode=755,size=1m tmpfs sys/fs/cgroup
        for hierarchy in $hierarchies; do
            mkdir "sys/fs/cgroup/$hierarchy"
            options=$hierarchy
            [ "$hierarchy" != systemd ] || options=none,name=systemd
            mount -t cgroup -o "$options" cgroup "sys/fs/cgroup/$hierarchy"
        done
        # Read-only, so that systemd does not mount the other hierarchies, where it would write at the host'"'"'s
        # root.
        mount -o remount,ro sys/fs/cgroup
    fi
    pivot_root . mnt
    cd /
    umount -l /mnt
    exec env -i container=unbroken PATH=/usr/sbin:/usr/bin:/sbin:/bin \
        /lib/systemd/systemd --system --log-target=kmsg --show-status=no
'
