# shellcheck shell=bash
# SPDX-License-Identifier: LGPL-2.1-or-later
# The troubles of a soak. trouble_NAME SECONDS causes one, lasts about so long, and undoes it;
# $daemon may be another afterwards. begin_trouble and end_trouble tell the loads.

lru_limit=64
# TROUBLES: only these.
troubles=${TROUBLES:-'faults killed options full_disk few_descriptors little_memory caches_dropped'}

troubles_shuffled () {
    local trouble
    for trouble in $troubles; do
        echo "$RANDOM $trouble"
    done | sort -n | cut -d' ' -f2
}

begin_trouble () {
    echo "$((++troubles_so_far))" >"$state/troubles"
    touch "$state/trouble"
}
troubles_so_far=0

end_trouble () {
    rm -f "$state/trouble"
}

# --- the disk and the mount -----------------------------------------------------------------------

# A file system in a file: small enough to be filled, and with pages that can be written back when
# memory is short.
disk_make () {
    disk_mounted=''
    [ "$(id -u)" = 0 ] || return 0
    truncate -s 512M "$work/disk" && mkfs.ext4 -q "$work/disk" &&
        mount -o loop "$work/disk" "$work/back" 2>/dev/null &&
        disk_mounted=yes
    [ -n "$disk_mounted" ] ||
        echo "no loop device: the disk won't be full, and memory won't be short"
}

disk_gone () {
    [ -z "${disk_mounted:-}" ] || umount "$work/back" 2>/dev/null || umount -l "$work/back"
}

volfile_write () {
    cat >"$work/soak.vol" <<END
volume posix
    type storage/posix
    option directory $work/back
end-volume
volume fault
    type debug/fault
    option seed $seed
    subvolumes posix
end-volume
volume delay
    type debug/delay-gen
    option delay-percentage $1
    option delay-duration 2000
    option seed $seed
    subvolumes fault
end-volume
volume rot-13
    type encryption/rot-13
    subvolumes delay
end-volume
END
    # Of TOP: all but its storage, which is the first. features/trash would fill the disk.
    if [ -f "${TOP-}" ]; then
        sed '1,/^ *end-volume/d; s/subvolumes posix *$/subvolumes rot-13/' "$TOP" >>"$work/soak.vol"
    elif [ -n "${TOP-}" ]; then
        printf 'volume top\n    type %s\n    subvolumes rot-13\nend-volume\n' \
            "$TOP" >>"$work/soak.vol"
    fi
    grep -q min-free "$work/soak.vol" ||
        sed -i 's|type features/trash *$|&\n    option min-free 200MB|' "$work/soak.vol"
}

mount_again () {
    volfile_write 0%
    "$WINDLASS" -f "$work/soak.vol" --lru-limit=$lru_limit -l "$work/log" -p "$work/pid" \
        "$mnt" >"$work/said" 2>&1 </dev/null || {
        echo "can't mount: $(cat "$work/said")" | tee -a "$failures"
        return 1
    }
    daemon=$(cat "$work/pid")
    young=''
}

kill_daemon () {
    kill -9 "$daemon"
    while [ -e "/proc/$daemon" ]; do
        sleep 0.01
    done
    rm -f "$work/pid"
}

# --- troubles -------------------------------------------------------------------------------------

trouble_killed () {
    begin_trouble
    kill_daemon
    sleep 0.5
    mount_again || exit 1
    end_trouble
}

trouble_faults () {
    begin_trouble
    cat >"$work/rules" <<END
fsync every 7 -> error EIO
writev probability 2% seed $RANDOM -> short 100
writev probability 1% seed $RANDOM -> error ENOSPC
create,mkdir,rename,unlink probability 2% seed $RANDOM -> error EIO
lookup,stat probability 1% seed $RANDOM -> delay 20ms
readv probability 1% seed $RANDOM -> error EIO
END
    "$WINDLASS" fault "$mnt" "$work/rules" >>"$work/said" 2>&1 ||
        echo "faults: $(tail -n 2 "$work/said")" >>"$failures"
    sleep "$1"
    "$WINDLASS" fault "$mnt" --clear >>"$work/said" 2>&1 ||
        echo "faults: $(tail -n 2 "$work/said")" >>"$failures"
    end_trouble
}

# Not a trouble to anybody: other options while it runs.
trouble_options () {
    local percent
    for percent in 5% 0%; do
        volfile_write $percent
        "$WINDLASS" reload "$mnt" >>"$work/said" 2>&1 ||
            echo "reload: $(tail -n 2 "$work/said")" >>"$failures"
        sleep "$(($1 / 2))"
    done
}

trouble_full_disk () {
    [ -n "$disk_mounted" ] || return 0
    begin_trouble
    head -c 600M /dev/zero >"$work/back/filler" 2>/dev/null
    sleep "$(($1 / 2))"
    rm -f "$work/back/filler"
    sync -f "$work/back" # there is room only then
    end_trouble
}

trouble_few_descriptors () {
    begin_trouble
    prlimit --pid "$daemon" --nofile=48:20000
    sleep "$1"
    prlimit --pid "$daemon" --nofile=20000:20000
    end_trouble
}

# The daemon alone, in a cgroup (version 1 or 2) that has less than it would like.
trouble_little_memory () {
    local group limit=memory.max size=64M
    [ "${BUILD_NAME-release}" = release ] || size=512M # a sanitizer takes more
    [ -n "$disk_mounted" ] || return 0
    for group in /sys/fs/cgroup/memory /sys/fs/cgroup; do
        [ -w "$group/cgroup.procs" ] && [ "$(id -u)" = 0 ] && break
    done
    [ -e "$group/memory.limit_in_bytes" ] && limit=memory.limit_in_bytes
    mkdir "$group/windlass-soak.$$" 2>/dev/null || return 0
    if [ -e "$group/windlass-soak.$$/$limit" ] && echo $size >"$group/windlass-soak.$$/$limit"; then
        begin_trouble
        echo "$daemon" >"$group/windlass-soak.$$/cgroup.procs"
        sleep "$1"
        end_trouble
    fi
    ! [ -e "/proc/$daemon" ] || echo "$daemon" >"$group/cgroup.procs"
    rmdir "$group/windlass-soak.$$"
    [ -e "/proc/$daemon" ] || {
        echo "the daemon did not get by with $size" >>"$failures"
        mount_again || exit 1
    }
}

trouble_caches_dropped () {
    local end=$((SECONDS + $1))
    while [ $SECONDS -lt $end ]; do
        [ "$(id -u)" != 0 ] || env LIBMOUNT_FORCE_MOUNT2=always mount -i -o remount,rw "$mnt"
        sleep 0.3
    done
}

# --- the log --------------------------------------------------------------------------------------

# Nothing worse than a warning, and none of those that a defect gives.
log_check () {
    local lines
    lines=$(grep -E ' C \[| twice|never answered|leak|stuck' "$work/log" | head -n 5)
    [ -z "$lines" ] || echo "log: $lines" >>"$failures"
}
