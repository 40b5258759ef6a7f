#!/usr/bin/env bash
# Turns a Debian root with this tree laid over it into the emulated machine image.
# Run once, as root, inside that root (chroot); running it again changes nothing.
set -euo pipefail

readonly SLURM=/opt/slurm
readonly USER_COMMANDS="sacct sacctmgr salloc sattach sbatch sbcast scancel scontrol sdiag sinfo sprio squeue sreport srun sshare sstat strigger"
readonly DAEMONS="slurmctld slurmd slurmdbd slurmstepd"

# Units that belong to hardware, to a console or to a whole machine; none of them works, or is wanted, in a namespace.
readonly MASKED="
  systemd-sysctl.service systemd-udevd.service systemd-udev-trigger.service systemd-modules-load.service
  systemd-udevd-control.socket systemd-udevd-kernel.socket
  systemd-tmpfiles-setup.service systemd-tmpfiles-setup-dev.service systemd-tmpfiles-clean.timer
  systemd-binfmt.service proc-sys-fs-binfmt_misc.automount proc-sys-fs-binfmt_misc.mount
  dev-hugepages.mount dev-mqueue.mount sys-kernel-debug.mount sys-kernel-tracing.mount sys-kernel-config.mount
  sys-fs-fuse-connections.mount systemd-remount-fs.service systemd-random-seed.service systemd-hwdb-update.service
  systemd-pcrphase.service systemd-pcrphase-sysinit.service systemd-pstore.service systemd-repart.service
  systemd-firstboot.service systemd-machine-id-commit.service systemd-sysusers.service kmod-static-nodes.service
  systemd-journal-flush.service systemd-update-utmp.service systemd-update-utmp-runlevel.service
  systemd-logind.service systemd-ask-password-console.path systemd-ask-password-wall.path
  systemd-networkd.service systemd-networkd-wait-online.service networking.service ifupdown-pre.service
  keyboard-setup.service console-setup.service getty.target e2scrub_reap.service timers.target
  mariadb.socket mariadb-extra.socket
"

setup::programs() {
    local name
    mkdir -p "$SLURM"/{bin,sbin,lib,etc}
    for name in $USER_COMMANDS; do ln -sfn "/usr/bin/$name" "$SLURM/bin/$name"; done
    for name in $DAEMONS; do ln -sfn "/usr/sbin/$name" "$SLURM/sbin/$name"; done
}

setup::configuration() {
    rm -rf /etc/slurm
    ln -s "$SLURM/etc" /etc/slurm
    mkdir -p /opt/sagemaker_cluster /opt/ml/config /var/log/aws/clusters /var/log/provision
    install -d -o slurm -g slurm /var/log/slurm /var/spool/slurmctld
    install -d /var/spool/slurmd
}

setup::plugin() {
    gcc -Wall -Wextra -Werror -O2 -shared -fPIC \
        -o "$SLURM/lib/auto_resume.so" /opt/rehearsal/src/auto_resume.c
}

# Where each unit stands when a machine first boots: munge and the agent run, the rest waits for the lifecycle script.
setup::units() {
    local unit
    for unit in $MASKED; do ln -sfn /dev/null "/etc/systemd/system/$unit"; done
    for unit in slurmctld slurmd slurmdbd mariadb; do rm -f "/etc/systemd/system/multi-user.target.wants/$unit.service"; done
    for unit in munge sagemaker-cluster-agent; do
        ln -sfn "$(setup::unit_file "$unit")" "/etc/systemd/system/multi-user.target.wants/$unit.service"
    done
    ln -sfn /lib/systemd/system/multi-user.target /etc/systemd/system/default.target
}

setup::unit_file() {
    local -r own="/etc/systemd/system/$1.service"
    if [[ -e $own ]]; then echo "$own"; else echo "/lib/systemd/system/$1.service"; fi
}

main() {
    setup::programs
    setup::configuration
    setup::plugin
    setup::units
}

main "$@"
