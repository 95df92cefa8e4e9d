#!/bin/bash
# SPDX-License-Identifier: LGPL-2.1-or-later
# `windlass explain` tells which layer a file comes from, what a change would do, that a close after
# reads sends no flush, and whether the kernel reads the file by itself: only where the mount can't
# be changed.
. "$(dirname "$0")/lib.sh"

need_root
PASSTHROUGH=auto
mkdir -p "$UPPER" "$BACK/dir" below/dir
cat >"$VOL" <<EOF_VOL
volume changes
    type storage/posix
    option directory "$UPPER"
end-volume
volume back
    type storage/posix
    option directory "$BACK"
end-volume
volume below
    type storage/posix
    option directory "$TEST_DIR/below"
end-volume
volume overlay
    type cluster/overlay
    subvolumes changes back below
end-volume
EOF_VOL
echo lower >"$BACK/file"
echo lowest >below/low

# explained PATH: what the overlay says.
explained () {
    "$WINDLASS" explain "$MNT/$1" | sed -n '/^overlay /,/^[a-z0-9]/p' | sed 's/^ *//'
}

why () {
    "$WINDLASS" explain "$MNT/$1" | sed -n 's/^kernel passthrough: //p'
}

calls () {
    "$WINDLASS" trace cat "$MNT" --depth 1 | grep -E '  fuse_(open|flush|release)'
}

mount_volfile "$VOL"
expect_ok "$WINDLASS" trace start "$MNT"
cat "$MNT/low" >/dev/null
wait_until 'calls | grep -q fuse_release'
expect_no_match "the calls of a program that reads" fuse_flush "$(calls)"
"$WINDLASS" trace stop "$MNT"
expect_match "its close" "a file that was only read is closed without a flush" \
    "$("$WINDLASS" explain "$MNT/low")"

expect_match "a lower's file" "comes from lower 1 of 2, volume 'back'" "$(explained file)"
expect_match "its change" "a change copies it to 'layers/0' of volume 'changes' first \(upper\)" \
    "$(explained file)"
expect_match "another lower's file" "comes from lower 2 of 2, volume 'below'" "$(explained low)"
expect_match "a merged directory" "merged with that of volume 'below'" "$(explained dir)"
echo more >>"$MNT/file"
expect_match "a copy" "comes from the upper, 'layers/0' of volume 'changes'" "$(explained file)"
expect_match "its original" "covers, and leaves as it was, that of volume 'back'" \
    "$(explained file)"
expect_match "its next change" "a change is made there" "$(explained file)"
why file | grep -q "doesn't offer it" && skip "the rest needs Linux 6.9 with FUSE passthrough"
for file in file low; do
    expect_match "passthrough of $file" \
        "^no, volume 'overlay' gives an open file the bytes of another layer once it is changed" \
        "$(why $file)"
done
unmount

# The kernel reads the files of all layers.
mount_volfile "$VOL" -o ro
for file in file low; do
    expect_match "passthrough of $file, read-only" '^yes, when it is opened' "$(why $file)"
    exec 3<"$MNT/$file"
    expect_match "$file, open" '^yes, open once by passthrough' "$(why $file)"
    expect "the bytes of $file" "$(cat "$UPPER/layers/0/$file" 2>/dev/null || cat below/$file)" \
        "$(cat <&3)"
    exec 3>&-
done
expect_error "Read-only" touch "$MNT/file"
