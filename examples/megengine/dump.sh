#!/usr/bin/env bash
# Compares the memory layout recorded in a profile dump of MegEngine with Ashlar's plan.
# Usage: dump.sh profile.json FOLDER      -> FOLDER/recorded.html, FOLDER/planned.html
set -euo pipefail
mkdir -p "$2"
ashlar inspect "$1" --recorded-plan "$2/recorded.html" --own-plan "$2/planned.html"
