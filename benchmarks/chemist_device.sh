#!/usr/bin/env bash
# The large sets of the chemist's table on a machine with a GPU, 16 cores and ten minutes: members of a run are divided
# among processes of one thread, whose files are joined afterwards. Two seeds of ToxCast and MUV and one of Tox21 took 516 s.
#
#   python -m benchmarks.packed_assays .carry/assays toxcast muv hiv --seeds 0            # here: needs RDKit
#   OUT=out bash benchmarks/chemist_device.sh COMMIT SECONDS "toxcast:2,3 muv:2,3"       # there: carry those files
#   OUT=out bash benchmarks/chemist_device.sh COMMIT SECONDS "hiv:2" "finetuned ecfp-forest"    # some of the members
#   cat out/members.tar.* | tar xf - -C parts                                            # here again
#   for part in parts/*; do python -m benchmarks.chemist_members members --join "$part"; done
#   python -m benchmarks.chemist_members members --table
set -euo pipefail
# Threads of several processes that wait for one another finish nothing: one each, and forests as many as they are given.
export GRAPHMAE_COMMIT=$1 PYTHONPATH=src OMP_NUM_THREADS=1
seconds=$2 runs=$3 folder=$(mktemp -d)
mkdir -p "$OUT" && OUT=$(realpath "$OUT")
# What is affordable for so many values: see finetuning/members.py
declare -A members=(
  [toxcast]="finetuned,frozen-linear ecfp-linear ecfp-forest descriptors-forest"
  [muv]="finetuned,frozen-linear ecfp-linear ecfp-forest descriptors-forest descriptors-boosting"
  [tox21]="finetuned,frozen-linear ecfp-linear ecfp-forest descriptors-forest descriptors-boosting ecfp-descriptors-forest"
)
members[hiv]=${members[tox21]}

job() { # SET SEED MEMBERS THREADS
  local name="$1-$2-${3%%,*}"
  LOKY_MAX_CPU_COUNT=$4 timeout "$seconds" python -m benchmarks.chemist_members "$folder/$name" "$1" --seeds "$2" \
    --packed .carry/assays --device cuda --members "$3" >"$folder/$name.log" 2>&1 || echo "$name did not finish"
}

for run in $runs; do
  name=${run%%:*}
  for seed in $(tr , ' ' <<<"${run#*:}"); do
    for group in ${members[$name]-auto}; do # small sets: all members in one process
      case " ${4-${group%%,*}} " in *" ${group%%,*} "*) ;; *) continue ;; esac
      case $group in *ecfp*forest) threads=3 ;; *) threads=1 ;; esac
      job "$name" "$seed" "$group" $threads &
    done
  done
done
wait
tail -qn 1 "$folder"/*.log
cd "$folder"
find . -name '*.npz' -print0 | tar cf - --null -T - | split -b 15m - "$OUT/members.tar." # what comes back: at most 64 MiB
