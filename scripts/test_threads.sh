#!/usr/bin/env bash
# The library under the thread sanitizer (preset tsan): sessions and plans on eight threads, the first call on eight,
# releases in any order, hundreds of sessions, trainings, the thread that reads
# streamed weights. Builds these test programs only; scripts/test.sh tsan builds
# and runs all of them.
# Usage: scripts/test_threads.sh
set -euo pipefail
cd "$(dirname "$0")/.."
scripts/install_packages.sh
scripts/configure.sh tsan
cmake --build --preset tsan --target library_test library_opened_test runtime_session_test
ctest --preset tsan -R '^library_(opened_)?test'
build/tsan/runtime_session_test --gtest_filter='StreamedWeightsTest.*'
