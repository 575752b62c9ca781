#!/usr/bin/env bash
# Breaks one rule of the protocol at a time, in a copy of the tree, and looks whether the tests notice:
#
#     bash e2e/mutants/run.sh [NAME ...]
#
# Each NAME.patch says above its diff which rule it breaks, what then comes about, and the test that must fail:
#
#     # rule: the answer leaves only after the commit
#     # falls: lost
#     # catch: go test ./link -run '^TestMessageInDoubtEndsOnOneSide$'
#
# A trial that goes by seeds has twenty of them, and must say what the patch says. First the tree as it is must pass all of these
# tests. A patch that does not apply or does not build, and one that is not caught in two minutes, fail the run.
#
# That each commit is synced has no patch: a program that is killed loses nothing it has written, only a disk without power does.
set -euo pipefail

here=$(cd "$(dirname "$0")" && pwd)
# Paths out of what is built: else nothing that is built in one copy is of use in another.
export GOFLAGS="${GOFLAGS:-} -trimpath" DRAWBRIDGE_SEEDS=20
unset DRAWBRIDGE_SEED DRAWBRIDGE_TRIAL

head_of() { sed -n "s/^# $2: //p" "$1"; }

# What a trial says when the promise falls. Other tests say it in their own words.
said() {
    case $1 in
    lost) echo ' is lost$' ;;
    doubled) echo ' arrived twice$' ;;
    both) echo ' has ended elsewhere, and died of ' ;;
    'out of order') echo ' out of order$' ;;
    stranded) echo ' messages are stranded' ;;
    *) return 1 ;;
    esac
}

# A command of a header is run as it stands, so that it can be repeated by hand.
run_catcher() { timeout 120 bash -c "$1 -count=1"; }

# Prints how a mutant ended: caught, or why not; a tab; after how many seeds.
verdict() {
    local patch=$1 tree=$2 out=$3 catch falls seed
    catch=$(head_of "$patch" catch) falls=$(head_of "$patch" falls)
    [[ -n $catch && -n $(head_of "$patch" rule) ]] && said "$falls" >/dev/null || { printf 'NO HEADER\t-'; return; }
    (cd "$tree" && git apply "$patch") >"$out" 2>&1 || { printf 'DOES NOT APPLY\t-'; return; }
    # The order in which goroutines run is not drawn from the seed, and the rarest fault comes about in a fifth of the seeds only:
    # one in a hundred runs of twenty would miss it.
    if (cd "$tree" && run_catcher "$catch") >"$out" 2>&1 && (cd "$tree" && run_catcher "$catch") >"$out" 2>&1; then
        printf 'SURVIVED\t-'
        return
    fi
    if grep -qE '\[(build|setup) failed\]' "$out"; then
        printf 'DOES NOT BUILD\t-'
    elif ! grep -q '^ *--- FAIL: ' "$out"; then
        printf 'TOO SLOW\t-'
    elif seed=$(grep -oE '^seed [0-9]+|seed=[0-9]+' "$out" | grep -oEm1 '[0-9]+'); then
        grep -qE "$(said "$falls")" "$out" && printf 'caught\t%s' "$seed" || printf 'ANOTHER FALLS\t%s' "$seed"
    else
        printf 'caught\t-'
    fi
}

# Tries one mutant and prints its line of the table; what its test said goes with it if it was not caught.
try() {
    local patch=$1 work=$2 name began=$SECONDS result seeds
    name=$(basename "$patch" .patch)
    cp -r "$work/tree" "$work/$name"
    IFS=$'\t' read -r result seeds < <(verdict "$patch" "$work/$name" "$work/$name.out"; echo)
    rm -rf "${work:?}/$name"
    printf '%-28s %-14s %-12s %5s %4d s  %s\n' "$name" "$result" "$(head_of "$patch" falls)" "$seeds" $((SECONDS - began)) \
        "$(head_of "$patch" catch | grep -oE 'Test[A-Za-z]+')"
    [[ $result == caught ]] || { tail -n 40 "$work/$name.out" | sed 's/^/    /'; return 1; }
}

if [[ ${1:-} == --try ]]; then
    try "$3" "$2"
    exit
fi

work=$(mktemp -d)
trap 'rm -rf "$work"' EXIT
mkdir "$work/tree"
(cd "$here/../.." && git ls-files -z --cached --others --exclude-standard -- '*.go' go.mod go.sum '*/testdata/*' |
    tar --null --ignore-failed-read -T - -c 2>/dev/null) | tar -x -C "$work/tree"

patches=("$here"/*.patch)
if (($# > 0)); then
    patches=("${@/#/$here/}")
    patches=("${patches[@]/%/.patch}")
fi

for patch in "${patches[@]}"; do head_of "$patch" catch; done | sort -u >"$work/catchers"
while read -r catch; do
    (cd "$work/tree" && run_catcher "$catch") >"$work/out" 2>&1 </dev/null || {
        cat "$work/out"
        echo "the tree as it is does not pass: $catch" >&2
        exit 1
    }
done <"$work/catchers"

printf '%-28s %-14s %-12s %5s %6s  %s\n' mutant result falls seeds took test
printf '%s\0' "${patches[@]}" | xargs -0 -P 2 -n 1 bash "$here/run.sh" --try "$work" || {
    echo "not every mutant was caught" >&2
    exit 1
}
