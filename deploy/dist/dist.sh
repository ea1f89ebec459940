#!/usr/bin/env bash
# `make dist`: what a release consists of, in .build/dist. dist.sh [PART...], all of them without a word.
set -euo pipefail
. "$(dirname "$0")/environment.sh"
parts=(wheels packages chart images)
wanted=("$@")
[ ${#wanted[@]} -gt 0 ] || wanted=("${parts[@]}")
for part in "${wanted[@]}"; do
    [[ " ${parts[*]} " == *" $part "* ]] || die "no part is called '$part'" "use one of: ${parts[*]}"
done
for part in "${wanted[@]}"; do
    from=$SECONDS
    echo "==> $part"
    "deploy/dist/$part.sh"
    echo "    $part: $((SECONDS - from)) s"
done
(cd "$OUT" && find . -type f ! -name SHA256SUMS -printf '%P\n' | sort | xargs sha256sum >SHA256SUMS)
echo "==> $(wc -l <"$OUT/SHA256SUMS") files in ${OUT#"$PWD/"}, their hashes in SHA256SUMS"
