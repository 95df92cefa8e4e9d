# shellcheck shell=bash disable=SC2034
# SPDX-License-Identifier: LGPL-2.1-or-later
# Shared by the tests of storage/posix's `watch`: a mount in which the kernel trusts its caches for
# an hour.

HOUR=(--attribute-timeout=3600 --entry-timeout=3600 --negative-timeout=3600 --fopen-keep-cache=on \
    --auto-invalidation=off)

# counter NAME: from what storage says of itself.
counter () {
    sed -n "s/^$1 = //p" "$MNT/.meta/graphs/active/posix/private"
}

# sees WHAT 'COMMAND' EXPECTED: the command soon prints this. Within the hour only a notification
# makes it so.
sees () {
    local end=$((SECONDS + 10))
    until [ "$(eval "$2" 2>&1)" = "$3" ]; do
        [ $SECONDS -lt $end ] || expect "$1" "$3" "$(eval "$2" 2>&1)"
        sleep 0.02
    done
}

# One kind of change after the other, by another process; each time the kernel knows the state
# before it.
sees_changes () {
    mkdir -p "$BACK/d/sub" "$BACK/other"
    printf one >"$BACK/d/f"
    printf link >"$BACK/d/a"
    ln "$BACK/d/a" "$BACK/other/b"
    expect "the file" one "$(cat "$MNT/d/f")"
    expect "a missing name" no "$(test -e "$MNT/d/new" || echo no)"
    expect "the names" "a f sub" "$(ls "$MNT/d" | xargs)"
    expect "the mode" 644 "$(stat -c %a "$MNT/d/f")"
    expect "a file with two names" "link link" \
        "$(cat "$MNT/d/a" "$MNT/other/b" | sed 's/linklink/link link/')"

    printf two >"$BACK/d/f"
    sees "content of the same size" "cat '$MNT/d/f'" two
    printf more >>"$BACK/d/f"
    sees "content that grew" "cat '$MNT/d/f'" twomore
    truncate -s 1 "$BACK/d/f"
    sees "content that was cut" "stat -c %s '$MNT/d/f'; cat '$MNT/d/f'" $'1\nt'
    python3 -c 'import mmap, sys
f = open(sys.argv[1], "r+b"); m = mmap.mmap(f.fileno(), 1); m[0:1] = b"M"' "$BACK/d/f"
    sees "what was written through a mapping" "cat '$MNT/d/f'" M
    chmod 600 "$BACK/d/f"
    sees "a mode" "stat -c %a '$MNT/d/f'" 600
    touch -d @12345 "$BACK/d/f"
    sees "a time" "stat -c %Y '$MNT/d/f'" 12345
    printf new >"$BACK/d/new"
    sees "a name that was missing" "cat '$MNT/d/new'" new
    sees "the names again" "ls '$MNT/d' | xargs" "a f new sub"
    rm "$BACK/d/new"
    sees "a name that is gone" "test -e '$MNT/d/new' || echo no" no
    sees "the names without it" "ls '$MNT/d' | xargs" "a f sub"
    printf linked >"$BACK/other/b"
    sees "a file changed by its other name" "cat '$MNT/d/a'" linked
    ln "$BACK/d/f" "$BACK/other/more"
    sees "how many names it has" "stat -c %h '$MNT/d/f'" 2
    rm "$BACK/other/more"
    sees "that it has one again" "stat -c %h '$MNT/d/f'" 1
    printf inside >"$BACK/d/sub/x"
    sees "a file below" "cat '$MNT/d/sub/x'" inside
    mv "$BACK/d/sub" "$BACK/other/moved"
    sees "a directory that moved" "cat '$MNT/other/moved/x'; test -e '$MNT/d/sub' || echo gone" \
        insidegone
    printf moved >"$BACK/other/moved/x"
    sees "a file in it" "cat '$MNT/other/moved/x'" moved
    printf over >"$BACK/spare"
    mv "$BACK/spare" "$BACK/d/f"
    sees "a file that took another's name" "cat '$MNT/d/f'" over
    rmdir "$BACK/other/empty" 2>/dev/null
    : >"$BACK/at-the-top"
    sees "a name in the root" "ls '$MNT' | xargs" "at-the-top d other"
}
