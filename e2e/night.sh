#!/usr/bin/env bash
# Looks for faults for a night: messages in doubt, a broken rule at a time, then weeks of whole agents in simulated trouble, from
# another first seed in each round:
#
#     bash e2e/night.sh [HOURS [LOG]]          (default: 8 night.log)
#
# TRIAL_SECONDS is the length of a round, 600 if it is not set. All goes into LOG, one line a round to the terminal. The first
# failure ends the night with the commands that repeat it.
set -euo pipefail

log=$(realpath "${2:-night.log}")
cd "$(dirname "$0")/.."
unset DRAWBRIDGE_SEED DRAWBRIDGE_SEEDS
ends=$((SECONDS + ${1:-8} * 3600)) round=${TRIAL_SECONDS:-600}

# Runs one command into the log; if it fails, prints how to repeat what failed: its own words if it has some, else the command.
run() {
    printf '\n== %s  %s\n' "$(date -u +%FT%TZ)" "$*" >>"$log"
    if "$@" >"$log.part" 2>&1; then
        cat "$log.part" >>"$log"
        grep -oE '[0-9]+ seeds from .*' "$log.part" || echo "passed: $*"
        return
    fi
    cat "$log.part" >>"$log"
    echo "FAILED, see $log; repeat it with:" >&2
    grep -oE '(repeat it with|again): .*' "$log.part" >&2 || printf '%q ' "$@" >&2
    exit 1
}
trap 'rm -f "$log.part"' EXIT

: >"$log"
run env DRAWBRIDGE_TRIAL=long go test ./link -run '^TestMessageInDoubtEndsOnOneSide$' -count=1 -v -timeout 60m
run bash e2e/mutants/run.sh
while ((SECONDS < ends)); do
    run env DRAWBRIDGE_SEED=$((SRANDOM + 1)) TRIAL_SECONDS="$round" go test ./agent/agenttest -run '^TestTrials$' -count=1 -v -timeout $((round + 600))s
done
