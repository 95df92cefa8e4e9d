#!/bin/bash
# SPDX-License-Identifier: LGPL-2.1-or-later
# A translator's module exports one symbol, and keeps no state outside its instances.
# builds: debug release
set -u
status=0
modules=0
for module in "$BUILD_DIR"/xlators/*/.libs/*.so; do
    modules=$((modules + 1))
    exported=$(nm -D --defined-only "$module" | awk '{ print $3 }' | tr '\n' ' ')
    if [ "$exported" != 'xlator_api ' ]; then
        echo "$module: exports $exported, must export xlator_api alone"
        status=1
    fi
    # The compiler's start-up files have a few of their own.
    variables=$(nm --defined-only "$module" | awk '$2 ~ /^[bBdD]$/ { print $3 }' |
        grep -vE '^(completed\.[0-9]+|_.*)$')
    for variable in $variables; do
        # Tables that hold addresses are constant, though the loader has to fill them in: .data.rel.ro.
        section=$(objdump -t "$module" | awk -v name="$variable" '$NF == name { print $(NF - 2) }' | sort -u)
        case $section in
            .data.rel.ro* | .dynamic | .got*) continue ;;
            # What is the thread's own, such as the ids that it acts with, is no translator's.
            .tbss | .tdata) continue ;;
        esac
        echo "$module: '$variable' in $section is state outside of this->private"
        status=1
    done
done
[ $modules -gt 0 ] || { echo "no module was built"; status=1; }
exit $status
