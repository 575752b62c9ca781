#!/usr/bin/env bash
# Checks the protocol in bridge.pml by trying every interleaving: bash docs/model/check.sh [--all]. Needs spin and gcc.
#
# The protocol as it is must hold in every run, and the search must be complete. With one rule broken, Spin must find the
# promise broken that stands beside it: a model that cannot fail shows nothing. --all adds the runs that take longest.
set -euo pipefail
export LC_ALL=C
model=$(cd "$(dirname "$0")" && pwd)/bridge.pml
at_once=2

# What is checked, and what may happen in that run.
right='
assertions  -DMESSAGES=2 -DFAULTS=2
assertions  -DMESSAGES=3
assertions  -DMESSAGES=2 -DREFUSE=1
assertions  -DMESSAGES=2 -DPRUNE -DREQUEUE=1
assertions  -DMESSAGES=2 -DFAULTS=2 -DFAR_RESTORE
assertions  -DMESSAGES=1 -DMORE=1 -DRESTORES=1 -DPRUNE
assertions  -DMESSAGES=2 -DMORE=1 -DFAULTS=0 -DRESTORES=1
assertions  -DMESSAGES=1 -DMORE=1 -DRESTORES=1 -DUNTOLD -DPRUNE
assertions  -DMESSAGES=1 -DEXPIRE=2 -DRESTORES=1 -DPRUNE -DREQUEUE=1
assertions  -DMESSAGES=1 -DEXPIRE=2 -DRESTORES=1 -DUNTOLD -DPRUNE -DREQUEUE=1
assertions  -DMESSAGES=1 -DRESTORES=2 -DPRUNE -DREQUEUE=1
drained     -DMESSAGES=2 -DFAULTS=2
drained     -DMESSAGES=2 -DREFUSE=1
drained     -DMESSAGES=2 -DFAULTS=0 -DRESTORES=1
drained     -DMESSAGES=1 -DRESTORES=1 -DPRUNE -DREQUEUE=1
drained     -DMESSAGES=1 -DFAULTS=0 -DRESTORES=1 -DPRUNE -DFAR_RESTORE'

right_but_long='
assertions  -DMESSAGES=2 -DRESTORES=1 -DPRUNE
assertions  -DMESSAGES=1 -DMORE=1 -DFAULTS=0 -DRESTORES=1 -DPRUNE -DREFUSE=1
assertions  -DMESSAGES=1 -DMORE=1 -DFAULTS=0 -DRESTORES=1 -DPRUNE -DFAR_RESTORE
drained     -DMESSAGES=2 -DFAR_RESTORE
drained     -DMESSAGES=1 -DMORE=1 -DFAULTS=0 -DRESTORES=1 -DPRUNE'

# The promise that falls, the rule that is broken, and what may happen in that run.
broken='
both    ANSWER_FIRST         -DMESSAGES=1
lost    ANSWER_FIRST         -DMESSAGES=1 -DEXPIRE=0
lost    EARLY_DUPLICATE      -DMESSAGES=1
drained SILENT_DUPLICATE     -DMESSAGES=1
lost    SETTLE_AS_SHIPPED    -DMESSAGES=1 -DEXPIRE=0
twice   DECIDE_OUTSIDE       -DMESSAGES=1 -DEXPIRE=0
lost    LEDGER_APART         -DMESSAGES=1
both    QUEUE_APART          -DMESSAGES=1
lost    NO_PREV              -DMESSAGES=2
lost    CLOSE_WITHOUT_PREV   -DMESSAGES=2
order   PREV_OF_STREAM       -DMESSAGES=2
drained KEPT_PREV            -DMESSAGES=2 -DFAR_RESTORE
both    MARK_IN_MEMORY       -DMESSAGES=1
both    NO_CLOSE             -DMESSAGES=1
both    EXPIRY_WINS          -DMESSAGES=1
lost    REFUSED_ADVANCES     -DMESSAGES=1 -DREFUSE=1
lost    CLOSED_FORGOTTEN     -DMESSAGES=1
both    SAME_GENERATION      -DMESSAGES=1 -DREQUEUE=1
lost    OLD_ANSWERS          -DMESSAGES=1 -DFAR_RESTORE
report  REPORT_FROM_FLOOR    -DMESSAGES=2 -DFAR_RESTORE
lost    SAME_EPOCH           -DMESSAGES=1 -DMORE=1 -DFAULTS=0 -DRESTORES=1
lost    BELOW_SETTLES        -DMESSAGES=1 -DFAULTS=0 -DRESTORES=1
order   SESSION_GOES_ON      -DMESSAGES=1 -DMORE=1 -DFAULTS=0 -DRESTORES=1
twice   SESSION_GOES_ON      -DMESSAGES=1 -DFAULTS=0 -DRESTORES=1 -DPRUNE -DREQUEUE=1
order   ORDER_ALWAYS         -DMESSAGES=2 -DRESTORES=1
both    UNTOLD_EXPIRES       -DMESSAGES=1 -DFAULTS=0 -DRESTORES=1 -DUNTOLD
twice   YOUNG_BY_SENDER      -DMESSAGES=1 -DFAULTS=0 -DRESTORES=1 -DPRUNE
twice   CLOSED_IS_SURE       -DMESSAGES=1 -DFAULTS=0 -DRESTORES=2 -DPRUNE
twice   CLOSED_BEFORE_ROW    -DMESSAGES=1 -DFAULTS=0 -DRESTORES=2 -DPRUNE
twice   NO_AGAIN             -DMESSAGES=1 -DFAULTS=0 -DRESTORES=1 -DPRUNE -DREQUEUE=1
both    CLOSE_WITHOUT_LEDGER -DMESSAGES=1 -DFAULTS=0 -DRESTORES=1 -DPRUNE -DREQUEUE=1 -DEXPIRE=2'

case $* in
'') ;;
--all) right+=$right_but_long ;;
*)
    echo "usage: check.sh [--all]" >&2
    exit 2
    ;;
esac

missing=()
for tool in spin gcc; do
    command -v "$tool" >/dev/null || missing+=("$tool")
done
if ((${#missing[@]})); then
    echo "needs spin and gcc; not found: ${missing[*]}. On Debian: apt-get install spin gcc libc6-dev" >&2
    exit 1
fi

# Spin writes its program and its counter-examples where it stands.
work=$(mktemp -d)
trap 'rm -rf "$work"' EXIT

# search PROMISE OPTIMIZATION SWITCH...: tries everything, in the present directory. What Spin says goes to the file said.
# The program ends with 0 whether a promise holds or not; anything else is a search that did not take place.
search() {
    local promise=$1 optimization=$2
    shift 2
    spin -a "$@" "$model" >said 2>&1 || return
    if [[ $promise == drained ]]; then
        gcc "$optimization" -w -DCOLLAPSE -DNFAIR=3 -o pan pan.c >>said 2>&1 &&
            timeout 600 ./pan -a -f -m1000000 >>said 2>&1
    else
        gcc "$optimization" -w -DCOLLAPSE -DSAFETY -DNOCLAIM -o pan pan.c >>said 2>&1 &&
            timeout 600 ./pan -m300000 >>said 2>&1
    fi
}

# A depth that was cut short, or memory that ran out, leaves interleavings untried.
holds() {
    grep -q 'errors: 0$' said && ! grep -q -e 'not completed' -e 'too small' -e 'reached -DMEMLIM' said
}

# falls PROMISE: the counter-example is about that promise, not about another one.
falls() {
    if [[ $1 == drained ]]; then
        grep -q 'acceptance cycle (at' said
    else
        grep -q "assertion violated.*||$1)" said
    fi
}

# check PLACE KIND PROMISE RULE SWITCH...: one line of the table, in the file result. A surprise also leaves a file surprise.
check() {
    local place=$1 kind=$2 promise=$3 rule=$4 began=${EPOCHREALTIME/./} result=SURPRISE tenths
    shift 4
    mkdir "$work/$place" && cd "$work/$place"
    # A counter-example is found in a moment: there most of the time would go into optimizing.
    if [[ $kind == right ]]; then
        if search "$promise" -O1 "$@" && holds; then result=holds; fi
    else
        if search "$promise" -O0 "-D$rule" "$@" && falls "$promise"; then result=found; fi
    fi
    tenths=$(((${EPOCHREALTIME/./} - began) / 100000))
    printf '%-10s %-20s %-8s %9s %4d.%d s  %s\n' "$promise" "$rule" "$result" "$(states)" \
        $((tenths / 10)) $((tenths % 10)) "$*" >result
    [[ $result != SURPRISE ]] || head -n 20 said >surprise
    rm -f pan pan.?
}

states() {
    awk '/states, stored/ { n = $1 } END { print n ? n : "-" }' said
}

begun=0 running=0

# begin KIND PROMISE RULE SWITCH...: as soon as fewer than at_once are running.
begin() {
    while ((running >= at_once)); do
        wait -n || true # what became of it is in its directory
        running=$((running - 1))
    done
    begun=$((begun + 1)) running=$((running + 1))
    check "$begun" "$@" &
}

while read -r promise switches; do
    [[ -z $promise ]] && continue
    # shellcheck disable=SC2086 # the switches are words
    begin right "$promise" - $switches
done <<<"$right"
while read -r promise rule switches; do
    [[ -z $promise ]] && continue
    # shellcheck disable=SC2086
    begin broken "$promise" "$rule" $switches
done <<<"$broken"
wait

failed=0
printf '%-10s %-20s %-8s %9s %8s  %s\n' promise 'rule broken' result states time switches
for ((place = 1; place <= begun; place++)); do
    cat "$work/$place/result" || failed=$((failed + 1))
    [[ ! -e $work/$place/surprise ]] || failed=$((failed + 1))
done
for ((place = 1; place <= begun; place++)); do
    [[ -e $work/$place/surprise ]] || continue
    printf '\n== what Spin said of this run:\n'
    cat "$work/$place/result" "$work/$place/surprise"
done
printf '\n%d runs, %d surprises, %d s\n' "$begun" "$failed" "$SECONDS"
((failed == 0))
