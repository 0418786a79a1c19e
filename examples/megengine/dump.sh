#!/usr/bin/env bash
# A profile dump of MegEngine: where its vars lay when it was recorded, beside where Ashlar puts them.
# Usage: dump.sh profile.json FOLDER      -> FOLDER/recorded.html, FOLDER/planned.html
set -euo pipefail
mkdir -p "$2"
ashlar inspect "$1" --recorded-plan "$2/recorded.html" --own-plan "$2/planned.html"
