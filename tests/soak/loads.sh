# shellcheck shell=bash
# SPDX-License-Identifier: LGPL-2.1-or-later
# The loads of a soak. A load is a function load_NAME that does one iteration in its current folder,
# and fails if any step did; after a failure it begins anew in an empty folder. The same loads run
# with every trouble. What a failed load has printed is in the report, behind each step (set -x), so
# a load leaves its errors on stderr.

loads='keeper1 keeper2 race git tar build sqlite'
! command -v dbench >/dev/null || loads="$loads dbench"
loads=${LOADS:-$loads} # LOADS: only these

load_keeper1 () {
    keep 1
}

load_keeper2 () {
    keep 2
}

# What it did is in a log outside, which is checked when a second is over: through the mount.
keep () {
    local status
    "$programs/soak/keeper" write . "$work/confirmed/keeper$1" $((seed + $1)) 2
    status=$?
    [ $status = 0 ] || return 1
    keeper_check "$1" .
}

# What is wrong is a failure whenever it is seen; what can't be read just now says nothing.
keeper_check () {
    local said status
    said=$("$programs/soak/keeper" check "$2" "$work/confirmed/keeper$1" ${TOP:+synced} 2>&1)
    status=$?
    [ $status != 1 ] || echo "keeper$1: $said" >>"$failures"
    return $status
}

# Anew each time: the race nests folders in folders, and a remembered deep folder keeps all above it
# in memory.
load_race () {
    rm -rf race && mkdir race &&
        "$programs/mount/programs/race" race $RANDOM 2000
}

# When the daemon was killed, git reads its directory again and again, and warns each time: so the
# size of its output is limited.
load_git () {
    ulimit -f 102400
    rm -rf repo && git init -q repo && cd repo && git config user.email soak@localhost &&
        git config user.name soak || return 1
    for i in 1 2 3; do
        seq $((RANDOM % 3000)) >file$i && git add . && git commit -q -m "commit $i" || return 1
    done
    git gc -q && git fsck --no-progress --strict >/dev/null &&
        [ "$(git log --oneline | wc -l)" = 3 ] && cd .. && rm -rf repo
}

load_tar () {
    rm -rf unpacked && mkdir unpacked && tar -C "$work/sample" -cf all.tar . &&
        tar -C unpacked -xf all.tar &&
        diff -rq "$work/sample" unpacked
}

load_build () {
    local i
    rm -rf build && mkdir build && cd build || return 1
    for i in 1 2 3; do
        printf '#include <stdio.h>\nint part%d (void) { return %d; }\n' $i $i >part$i.c || return 1
    done
    printf '%s\n' 'int part1 (void), part2 (void), part3 (void);' \
        'int main (void) { return part1 () + part2 () + part3 (); }' >main.c || return 1
    gcc -O1 -o program ./*.c || return 1
    ./program
    [ $? = 6 ]
}

# A row counts as confirmed when sqlite3 has ended well; all confirmed rows must be there, whatever
# happened in between.
load_sqlite () {
    local db=db confirmed=$work/confirmed/sqlite i
    [ -e "$confirmed" ] || : >"$confirmed"
    sqlite3 "$db" 'PRAGMA journal_mode=WAL; PRAGMA synchronous=FULL;
        CREATE TABLE IF NOT EXISTS t (n INTEGER PRIMARY KEY, text);' >/dev/null || return 1
    for i in 1 2 3 4 5; do
        i=1$RANDOM$RANDOM$i # an integer is printed without zeros before it
        sqlite3 "$db" \
            "PRAGMA synchronous=FULL; INSERT OR IGNORE INTO t VALUES ($i, hex(randomblob(200)));" \
            >/dev/null || return 1
        echo "$i" >>"$confirmed"
    done
    sqlite_check "$db"
}

sqlite_check () {
    local said
    said=$(sqlite3 "$1" 'PRAGMA integrity_check') || return 1
    if [ "$said" != ok ] && ! is_trouble; then
        echo "sqlite: integrity_check says $said" >>"$failures"
        return 1
    fi
    # A failing read says nothing of the content, and the trouble that caused it may be over by now.
    said=$(sqlite3 "$1" 'SELECT n FROM t') || return 1
    is_trouble && return 0
    sort <<<"$said" >"$work/rows"
    said=$(sort -u "$work/confirmed/sqlite" | comm -23 - "$work/rows" | head -n 3 | paste -sd' ')
    [ -z "$said" ] && return 0
    echo "sqlite: confirmed rows are gone: $said" >>"$failures"
    return 1
}

load_dbench () {
    mkdir -p dbench && timeout 20 dbench -D dbench -t 2 -c /usr/share/dbench/client.txt 2
}

# --- all of them ----------------------------------------------------------------------------------

is_trouble () {
    [ -e "$state/trouble" ]
}

# Between the end of a killed daemon's mount and the next mount, the mount point is a bare directory
# for a moment. Files written there are no loss when they are covered; so a load stays in the folder
# it came to, and that has to be one of the mount's.
is_on_mount () {
    [ "$(stat -f -c %t . 2>/dev/null)" = 65735546 ]
}

# last_words FILE: the last steps of a load, and what they have printed, in a line.
last_words () {
    tail -n 8 "$1" | cut -c 1-200 | paste -sd'|'
}

# Nothing is said of an iteration that trouble touched; whether it did is asked before and after it.
load_iterate () {
    local name=$1 before after
    before=$(cat "$state/troubles" 2>/dev/null)
    is_trouble && before=$before+
    # A subshell, so that the next iteration begins in the same folder, and a folder that is gone
    # harms no later one.
    (set -x && cd "$mnt" && mkdir -p "$name" && cd "$name" && is_on_mount &&
        "load_$name"
        exit_status=$? # the trace tells it
        exit $exit_status) >"$work/$name.said" 2>&1 && {
        echo >>"$state/done.$name"
        return 0
    }
    after=$(cat "$state/troubles" 2>/dev/null)
    is_trouble && after=$after+
    case $name in keeper* | sqlite) ;; *) rm -rf "${mnt:?}/$name" 2>/dev/null ;; esac
    if [ "$before" = "$after" ] && [[ $after != *+ ]] && [ ! -e "$state/stop" ]; then
        echo "$name failed although there was no trouble, at $((SECONDS - begin)) s" \
            "($(cat "$state/doing")): $(last_words "$work/$name.said")" >>"$failures"
    else
        echo >>"$state/touched.$name"
    fi
    sleep 0.2
}

load_run () {
    RANDOM=$((seed % 30000 + ${#1} * 7))
    while [ ! -e "$state/stop" ]; do
        if [ -e "$state/pause" ]; then
            rm -f "$state/busy.$1"
            sleep 0.05
            continue
        fi
        touch "$state/busy.$1"
        load_iterate "$1"
    done
    rm -f "$state/busy.$1"
}

loads_start () {
    local name
    mkdir "$work/sample"
    seq 40 | while read -r name; do
        head -c $((name * 997)) /dev/urandom >"$work/sample/file$name"
    done
    ln -s file1 "$work/sample/link"
    load_pids=()
    for name in $loads; do
        load_run "$name" &
        load_pids+=($!)
    done
}

loads_stop () {
    touch "$state/stop"
    wait "${load_pids[@]}"
}

# The last word on what was confirmed: through the mount, and on the directory behind it.
loads_check () {
    local i
    for i in 1 2; do
        [ ! -e "$work/confirmed/keeper$i" ] || "$programs/soak/keeper" check "$mnt/keeper$i" \
            "$work/confirmed/keeper$i" >>"$work/last" 2>&1 || {
            echo "keeper$i, at the end:" && cat "$work/last"
        } >>"$failures"
    done
    [ ! -e "$work/confirmed/sqlite" ] || (set -x && sqlite_check "$mnt/sqlite/db") >"$work/last" 2>&1 ||
        echo "sqlite: the last check failed: $(last_words "$work/last")" >>"$failures"
}

# "git 12 (3 in trouble), ..."; a load that never got through is a failure.
loads_report () {
    local name n touched line=''
    for name in $loads; do
        n=$(wc -l 2>/dev/null <"$state/done.$name" || echo 0)
        touched=$(wc -l 2>/dev/null <"$state/touched.$name" || echo 0)
        line="$line${line:+, }$name $n ($touched failed in trouble)"
        [ "$n" -gt 0 ] || echo "$name never got through an iteration:" \
            "$(last_words "$work/$name.said")" >>"$failures"
    done
    echo "$line"
}
