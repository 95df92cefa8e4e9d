#!/bin/bash
# SPDX-License-Identifier: LGPL-2.1-or-later
# Over each cache alone: a full disk, I/O errors, storage that no longer answers and names that
# vanish behind it are reported to the caller, or the caller gets correct data. Nothing is invented,
# nothing hangs, and afterwards the mount works. git and SQLite leave the same files as on the bare
# directory. The mount ends in the middle of requests, with a filled cache.
# timeout: 600
# longer
. "$(dirname "$0")/../lib.sh"
need_root
need_command python3 git sqlite3
need_fuse
export GIT_CONFIG_GLOBAL=/dev/null GIT_CONFIG_SYSTEM=/dev/null GIT_AUTHOR_NAME=a \
    GIT_AUTHOR_EMAIL=a@b GIT_COMMITTER_NAME=a \
    GIT_COMMITTER_EMAIL=a@b GIT_AUTHOR_DATE='1700000000 +0000' GIT_COMMITTER_DATE='1700000000 +0000'
mount -t tmpfs -o size=3m none "$BACK" || skip "needs to mount a tmpfs"

work () {
    git init -q -b main r && (
        cd r && for i in {1..12}; do seq $((i * 40)) >"$i"; done
        git add . && git commit -qm one && git mv 3 moved && git rm -q 4 && echo x >>2 &&
            git commit -qam two && git gc -q &&
            git checkout -q HEAD~1 && git checkout -q main && git status --porcelain &&
            git fsck --full --strict
    ) && for mode in delete wal; do
        { echo "pragma journal_mode=$mode; create table t (a, b);"
          for i in {1..8}; do
              echo "insert into t values ($i, hex (zeroblob ($i * 100)));" \
                  "delete from t where a = $i / 2;"
          done
          echo "pragma wal_checkpoint(truncate); pragma integrity_check;"; } |
              sqlite3 -bail $mode.db
        sqlite3 $mode.db 'select count(*), sum(length(b)) from t'
    done
}

describe () { # what hangs on times and numbers of inodes isn't compared
    (cd "$1" && find . -mindepth 1 ! -path '*/.git/index' ! -path '*/.git/logs/*' \( -type d \
        -printf '%p %M\n' -o -printf '%p %M %n %s %l\n' \) | sort &&
        find . -type f ! -path '*/.git/index' ! -path '*/.git/logs/*' -print0 | sort -z | xargs -0 \
        md5sum)
}

mkdir bare
(cd bare && work) >bare.out 2>&1 || fail "the work itself fails: $(cat bare.out)"
describe bare >bare.txt

over () { # TYPE...
    stack debug/fault "$@"
    : >"$LOG"
    mount_volfile "$VOL" --attribute-timeout=0 --entry-timeout=0
}

while read -r -a types; do
    over "${types[@]}"
    what="${types[*]##*/}"
    (cd "$MNT" && work) >mount.out 2>&1 || fail "$what: the work fails: $(cat mount.out)"
    expect "$what: what was said" "$(cat bare.out)" "$(cat mount.out)"
    diff bare.txt <(describe "$MNT") || fail "$what: the mount shows something else"
    diff bare.txt <(describe "$BACK") || fail "$what: the directory holds something else"
    rm -rf "${MNT:?}"/* || fail "$what: what the work left can't be removed"
    timeout 120 python3 "$SOURCE_DIR/tests/mount/faults/in-trouble.py" "$WINDLASS" "$MNT" \
        "$BACK" >trouble.out 2>&1 ||
        fail "$what: $(cat trouble.out)"

    # Readers of new and of known data, and a listing, wait for storage that is stuck, and the
    # daemon is told to end.
    echo '* -> hang' | "$WINDLASS" fault "$MNT" - >/dev/null || fail "no rules"
    for file in kept small new/1 missing; do
        timeout 60 cat "$MNT/$file" >"got.${file//\//-}" 2>/dev/null &
    done
    timeout 60 ls -l "$MNT/new" >/dev/null 2>&1 &
    timeout 60 sh -c "echo more >>'$MNT/small'" 2>/dev/null &
    wait_until '[ "$("$WINDLASS" counts "$MNT" | sed -n s/^requests=//p)" -ge 2 ]'
    kill "$DAEMON"
    wait_until "! is_running $DAEMON"
    DAEMON=''
    wait
    for file in kept small; do
        [ ! -s got.$file ] || cmp got.$file "$BACK/$file" ||
            fail "$what: what was read of $file in the end is invented"
    done
    expect "$what: how the log complains" '' "$(grep -E ' C \[|twice|never' "$LOG")"
    find "$BACK" -mindepth 1 -delete
done < <(sed -n "$(amount 7p p)" <<'END'
performance/io-cache
performance/read-ahead,page-size=4KB
performance/md-cache,xattr-cache-list=user.*
performance/nl-cache,nl-cache-positive-entry=on
performance/quick-read
performance/open-behind
performance/open-behind performance/quick-read
performance/readdir-ahead
END
)
