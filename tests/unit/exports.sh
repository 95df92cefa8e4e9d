#!/bin/bash
# SPDX-License-Identifier: LGPL-2.1-or-later
# A translator's module exports one symbol, and keeps no state outside its instances.
set -u
status=0
modules=0

# variables MODULE: the variables that are written to. Tables that hold addresses are constant,
# though the loader has to fill them in: .data.rel.ro. Thread-local variables, such as the ids that
# a thread acts with, are no translator's state; and the compiler's start-up files have a few.
variables () {
    objdump -t "$1" |
        awk 'NF >= 5 && $(NF - 2) ~ /^\.(data|bss)/ && $(NF - 2) !~ /^\.data\.rel\.ro/ \
            && $(NF - 1) ~ /[1-9a-f]/ && $NF !~ /^(completed\.[0-9]+|_.*|\..*)$/ {
                print $NF, "in", $(NF - 2) }'
}

for module in "$BUILD_DIR"/xlators/*/*.so; do
    modules=$((modules + 1))
    exported=$(nm -D --defined-only "$module" | awk '{ print $3 }' | tr '\n' ' ')
    if [ "$exported" != 'xlator_api ' ]; then
        echo "$module: exports $exported, must export xlator_api alone"
        status=1
    fi
    found=$(variables "$module")
    if [ -n "$found" ]; then
        echo "$module: state outside of this->private: $found"
        status=1
    fi
done
[ $modules -gt 0 ] || { echo "no module was built"; status=1; }
exit $status
