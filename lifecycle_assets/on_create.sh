#!/usr/bin/env bash
# What HyperPod runs on a new node, as root, from wherever it unpacked the bundle. It verifies the bundle,
# copies it to where it can stay, finds a Python and runs the steps. Everything else is in unbroken_node/.
# For tests: UNBROKEN_ROOT puts another folder in place of /, UNBROKEN_FLUSH_SECONDS another wait.
set -euo pipefail

# bundle::fail MESSAGE: the last line of the log, in the shape of the steps' own. 2: it could not run.
bundle::fail() {
    printf '{"step": "00-bundle", "result": "failed", "exit_code": 2, "error": "%s"}\n' "$1"
    return 2
}

bundle::python() {
    local name
    for name in python3 python3.13 python3.12 python3.11 python3.10; do
        if "$name" -I -S -c 'import sys; sys.exit(sys.version_info < (3, 10))' 2>/dev/null; then
            command -v "$name"
            return
        fi
    done
    return 1
}

# bundle::install FOLDER TARGET: copy the bundle whole or not at all; its own folder may vanish.
bundle::install() {
    [[ $1 -ef $2 ]] && return
    rm -rf "$2.new" && mkdir -p "$2.new" && cp -R "$1/." "$2.new/" && rm -rf "$2" && mv -T "$2.new" "$2" &&
        ln -sfn "${2##*/}" "${2%/*}/current"
}

# bundle::run FOLDER TARGET [ARGUMENT...]. Every command names its own failure: `set -e` does not reach into a pipe.
bundle::run() {
    local here=$1 target=$2 python
    (cd "$here" && sha256sum --check --quiet --strict SHA256SUMS) ||
        bundle::fail "the bundle is damaged or incomplete (lines above); upload it again" || return
    python=$(bundle::python) ||
        bundle::fail "no Python 3.10 or newer on this node; use an image that has one" || return
    bundle::install "$here" "$target" ||
        bundle::fail "the bundle cannot be copied to $target (lines above)" || return
    "$python" -I -S -B "$target" "${@:3}"
}

main() {
    local -r root=${UNBROKEN_ROOT:-} here=$(cd "$(dirname "${BASH_SOURCE[0]}")" && pwd)
    local -r log=$root/var/log/provision/provisioning.log
    local -r target=$root/opt/unbroken/$(sha256sum "$here/SHA256SUMS" 2>/dev/null | cut -c1-16)
    local status=0
    mkdir -p "${log%/*}" && touch "$log"
    if [[ /dev/stdout -ef $log ]]; then # the caller writes the log already
        bundle::run "$here" "$target" 2>&1 || status=$?
    else
        bundle::run "$here" "$target" 2>&1 | tee -a "$log" || status=${PIPESTATUS[0]}
    fi
    sync "$log"
    # A node that fails is given up at once. Its log's shipper gets the minute that AWS's own scripts give it.
    ((status == 0)) || sleep "${UNBROKEN_FLUSH_SECONDS:-60}"
    return "$status"
}

if [[ ${BASH_SOURCE[0]} == "$0" ]]; then main "$@"; fi
