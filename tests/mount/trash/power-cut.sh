#!/bin/bash
# SPDX-License-Identifier: LGPL-2.1-or-later
# A power cut while files are removed: each synced file is where it was, or in the trash once the
# next daemon has made entries of what it finds; none is lost.
. "$(dirname "$0")/lib.sh"
need_fuse
need_root

for model in posix ext4-ordered; do
    for seed in 1 2 3; do
        rm -rf "$BACK"/* "$BACK"/.[!.]*
        stack debug/power-cut,model=$model,seed=$seed features/trash,settle=50ms
        mount_volfile "$VOL"
        mkdir "$MNT/dir"
        for i in {1..40}; do echo "text $i" >"$MNT/dir/$i"; done
        sync "$MNT"/dir/* "$MNT/dir" "$MNT"
        rm "$MNT"/dir/{1..20}
        [ $seed = 1 ] || wait_until '[ -e "$BACK/.Trash-0/files/20" ]'
        rm "$MNT"/dir/{21..29}
        "$WINDLASS" power-cut "$MNT" >/dev/null || fail "no power cut"
        is_mounted && umount "$MNT"
        wait_until "! is_running $DAEMON"
        DAEMON=''
        stack features/trash
        mount_volfile "$VOL"
        settled # by the recovery, a job that an unmount would stop
        unmount
        expect "files with $model, $seed" 40 \
            "$(cat "$BACK"/dir/* "$BACK"/.Trash-0/files/* 2>/dev/null | sort -u | grep -c text)"
        expect "what lies alone in info/, or in files/, with $model, $seed" "" \
            "$(cd "$BACK/.Trash-0" 2>/dev/null &&
                comm -3 <(ls files | sort) <(ls info | sed 's/\.trashinfo$//' | sort))"
        [ ! -e "$BACK/.windlass-trash" ] ||
            fail "$model, $seed: a stage is left: $(find "$BACK/.windlass-trash")"
    done
done
