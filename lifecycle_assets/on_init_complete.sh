#!/usr/bin/env bash
# What HyperPod runs where it configures nodes itself (`api` mode), as root, when a node is configured or about
# to be. It does what on_create.sh does; which steps a node needs in which mode, the steps know themselves.
set -euo pipefail

# shellcheck source=lifecycle_assets/on_create.sh
source "$(dirname "${BASH_SOURCE[0]}")/on_create.sh"
main "$@"
