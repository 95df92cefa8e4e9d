#!/bin/bash
# SPDX-License-Identifier: LGPL-2.1-or-later
# On the client's stack common programs leave the same files as on the bare directory, byte for
# byte: git, tar, SQLite, a compiler, editors. The volfile that GlusterFS generates for its clients,
# as it is or with every option set, mounts as well.
. "$(dirname "$0")/../lib.sh"
need_command git sqlite3 gcc make python3
export GIT_CONFIG_GLOBAL=/dev/null GIT_CONFIG_SYSTEM=/dev/null GIT_AUTHOR_NAME=a \
    GIT_AUTHOR_EMAIL=a@b GIT_COMMITTER_NAME=a \
    GIT_COMMITTER_EMAIL=a@b GIT_AUTHOR_DATE='1700000000 +0000' \
    GIT_COMMITTER_DATE='1700000000 +0000' \
    GIT_CONFIG_COUNT=1 GIT_CONFIG_KEY_0=pack.threads GIT_CONFIG_VALUE_0=1

# A few hours of a user's work, in the current folder; it leaves the same files at any time.
work () {
    set -e
    git init -q -b main repository && cd repository
    for dir in {1..5}; do mkdir "$dir"; for file in {1..20}; do seq \
        "$((dir * file * 7))" >"$dir/$file"; done; done
    git add . && git commit -qm many
    git mv 3 moved && git rm -q 4/1 && seq 5000 >2/2 && git commit -qam changes
    git gc -q && git clone -q --no-hardlinks . ../clone && git -C ../clone fsck --full --strict
    git checkout -q HEAD~1 && git checkout -q main && [ -z "$(git status --porcelain)" ]
    cd ..
    tar -C repository -cf all.tar --sort=name --mtime=@0 --owner=0 --group=0 --exclude=.git . &&
        mkdir out && tar -C out -xmf all.tar
    tar -df all.tar -C out 2>&1 | grep -v 'time\|ID' && return 1
    for mode in delete wal truncate; do
        { echo "pragma journal_mode=$mode; create table t (a, b);"
          for i in {1..15}; do
              echo "insert into t values ($i, hex (zeroblob ($i * 100)));" \
                  "delete from t where a = $i / 2;"
          done
          echo "pragma wal_checkpoint(truncate); pragma integrity_check;"; } |
              sqlite3 -bail $mode.db | tail -n 1
        [ "$(sqlite3 $mode.db 'select count(*) from t')" = 8 ]
    done
    mkdir build && cd build
    for i in {1..6}; do echo "int f$i (void) { return $i; }" >f$i.c; done
    { for i in {1..6}; do echo "int f$i (void);"; done
      echo "int main (void) { return f1 () + f6 () - 7; }"; } >main.c
    printf 'CFLAGS = -O1\nprogram: main.o f1.o f2.o f3.o f4.o f5.o f6.o\n\t$(CC) -o $@ $^\n' \
        >Makefile
    make -s -j3 program && ./program && touch f3.c && make -s program && ./program
    cd ..
    # As editors save: in place, by a new file, with a backup, appended, cut off.
    for i in {1..30}; do
        printf '%0*d\n' "$i" "$i" >text.new && { [ ! -e text ] || cp -p text text~; } &&
            mv text.new text
        echo "$i" >>log.txt && [ "$(tail -n 1 log.txt)" = "$i" ] &&
            sed -i "s/0/$((i % 10))/" text && [ "$(wc -l <log.txt)" = "$i" ]
    done
    truncate -s 20 log.txt && printf 'x' | dd of=log.txt bs=1 seek=5000 conv=notrunc status=none &&
        [ "$(wc -c <log.txt)" = 5001 ]
}

# Compares names, kinds, modes, links, sizes, contents; not files that hold times, inode numbers, or
# their own path.
describe () {
    local but=(! -path '*/.git/index' ! -path '*/.git/config' ! -path '*/.git/logs/*')
    (cd "$1" && find . "${but[@]}" \( -type d -printf '%p %M\n' -o -printf '%p %M %n %s %l\n' \) |
        sort &&
        find . -type f "${but[@]}" -print0 | sort -z | xargs -0 md5sum)
}

mkdir bare
(cd bare && work) >bare.out 2>&1 || fail "the work itself fails: $(cat bare.out)"
sed "s|/srv/export|$BACK|" "$SOURCE_DIR/volfiles/client-stack.vol" >"$VOL"
mount_volfile "$VOL"
(cd "$MNT" && work) >mount.out 2>&1 || fail "the work fails on the mount: $(cat mount.out)"
expect "what was said" "$(cat bare.out)" "$(cat mount.out)"
describe bare >bare.txt
diff bare.txt <(describe "$MNT") || fail "the mount shows something else"
unmount
diff bare.txt <(describe "$BACK") || fail "the directory holds something else"
expect_no_match "the log" ' [CEW] \[' "$(cat "$LOG")"

# GlusterFS's own: storage in place of the network and of what distributes over it.
for generated in "$SOURCE_DIR"/tests/mount/generated/*.vol; do
    : >"$LOG"
    "$WINDLASS" help >types
    python3 - "$generated" "$BACK" >"$VOL" <<'END' || fail "${generated##*/} has no network"
import re, sys
text, known = open(sys.argv[1]).read(), re.findall(r"^  (\S+/\S+) ", open("types").read(), re.M)
below = "network"
print(f"volume {below}\n    type storage/posix\n    option directory {sys.argv[2]}\nend-volume")
for volume, kind in re.findall(r"(?sm)^(volume .*?    type (\S+)\n.*?^end-volume)", text):
    if kind not in known or kind in ("protocol/client", "cluster/distribute"):
        print(f"{kind} is left out", file=sys.stderr)
        continue
    print(re.sub(r"subvolumes \S+", f"subvolumes {below}", volume))
    below = re.match(r"volume (\S+)", volume)[1]
END
    mount_volfile "$VOL"
    expect "what is there through ${generated##*/}" "$(md5sum <"$BACK/all.tar")" \
        "$(md5sum <"$MNT/all.tar")"
    echo new >"$MNT/new" && mv "$MNT/new" "$MNT/newer"
    expect "what was written" new "$(cat "$BACK/newer")"
    expect_ok rm "$MNT/newer"
    unmount
    expect_no_match "the log" ' [CE] \[' "$(cat "$LOG")"
done
