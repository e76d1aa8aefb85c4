#!/usr/bin/env bash
# Ours and the peers, one after another on the same array; writes bench/results/DATE-NAME.{md,jsonl}.
#   bench/run.sh NAME ARRAY.npy ["words about the machine"]        NAME: neighbors, spectral, pca, quality, tsne, lvm, mapit, tsm or growth
# PEERS_PYTHON: a Python that has the peers (else one is made under target/peers). RESULTS: another folder. THREADS: 2.
set -euo pipefail
name=${1:?usage: run.sh NAME ARRAY.npy [MACHINE]}
array=$(realpath -e "${2:?usage: run.sh NAME ARRAY.npy [MACHINE]}")
machine=${3:-$(nproc) cores, $(lscpu | sed -n 's/^Model name: *//p'), load $(cut -d' ' -f1 /proc/loadavg) at the start.}
results=$(realpath -m "${RESULTS:-$(dirname "$0")/results}")/$(date +%F)-$name
cd "$(dirname "$0")/.."

python=${PEERS_PYTHON:-target/peers/bin/python}
if [ -z "${PEERS_PYTHON:-}" ] && [ ! -e target/peers/installed ]; then
    python3 -m venv target/peers
    target/peers/bin/pip install --quiet --requirement bench/scoreboard/requirements.txt
    cp bench/scoreboard/requirements.txt target/peers/installed
fi
cargo build --release --quiet --package lowland-bench --bin "$name"

scratch=$(mktemp -d)
trap 'rm -r "$scratch"' EXIT
export GRAPH=$scratch/graph.npz MAP=$scratch/map.npy THREADS=${THREADS:-2} OMP_WAIT_POLICY=PASSIVE
export OMP_NUM_THREADS=$THREADS OPENBLAS_NUM_THREADS=$THREADS MKL_NUM_THREADS=$THREADS NUMBA_NUM_THREADS=$THREADS

# Every case of a program in a process of its own.
measure() {
    "$@" cases | while read -r setting way; do
        "$@" "$array" "$setting" "$way" < /dev/null
    done | tee -a "$scratch/lines"
}

# A peer that fails is a result; if ours fails, the run does.
peer() {
    "$python" "bench/peers/$name.py" "$@" ||
        echo "{\"setting\": \"$2\", \"program\": \"$3\", \"failed\": $?}"
}

measure "target/release/$name"
[ ! -e "bench/peers/$name.py" ] || measure peer
"$python" bench/peers/report.py "lowland and peers: $name, $(date +%F)" "$machine Commit $(git rev-parse --short HEAD)." \
    < "$scratch/lines" > "$scratch/page"

# Only now, so that a run cut short leaves the results of an earlier one alone.
mkdir -p "$(dirname "$results")"
cp "$scratch/lines" "$results.jsonl"
cp "$scratch/page" "$results.md"
