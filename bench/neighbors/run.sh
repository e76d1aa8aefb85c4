#!/usr/bin/env bash
# All neighbour searches side by side on one array; writes bench/results/DATE-neighbors.{md,jsonl}.
#   bench/neighbors/run.sh ARRAY.npy ["words about the machine"]
# PEERS_PYTHON names a Python with numpy, scikit-learn, faiss-cpu, hnswlib and pynndescent; without it one is made.
set -euo pipefail
array=$(realpath "${1:?usage: run.sh ARRAY.npy [MACHINE]}")
machine=${2:-$(nproc) cores, $(lscpu | sed -n 's/^Model name: *//p').}
cd "$(dirname "$0")/../.."
python=${PEERS_PYTHON:-}
if [ -z "$python" ]; then
    python3 -m venv target/peers
    target/peers/bin/pip install --quiet numpy scikit-learn faiss-cpu hnswlib pynndescent
    python=target/peers/bin/python
fi
cargo build --release --quiet --package bench-neighbors
name=bench/results/$(date +%F)-neighbors
mkdir -p bench/results
: > "$name.jsonl"
for k in 15 90; do
    for search in exact approximate; do
        RAYON_NUM_THREADS=2 target/release/bench-neighbors "$array" "$k" "$search" | tee -a "$name.jsonl"
    done
    for peer in faiss hnswlib pynndescent pynndescent-again scikit-learn; do
        "$python" bench/neighbors/peers.py "$array" "$k" "$peer" | tee -a "$name.jsonl"
    done
done
"$python" bench/neighbors/report.py "Nearest neighbours, $(date +%F)" "$machine" < "$name.jsonl" > "$name.md"
