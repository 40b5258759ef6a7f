#!/usr/bin/env bash
# Brings the controller, which runs, to the job of the bundle that this file lies in: the training code and the
# Python of its ranks, and nothing else of the node. As root; nothing of the folder is needed afterwards.
set -euo pipefail

here=$(cd "$(dirname "${BASH_SOURCE[0]}")" && pwd)
# shellcheck source=lifecycle_assets/on_create.sh
source "$here/on_create.sh"
bundle::run "$here" "$here" job
