#!/bin/bash
# SPDX-License-Identifier: LGPL-2.1-or-later
# windlass run: the command sees the directory through the preset, at the directory's own path, and
# nobody else does, not even where the mounts around it are shared with other namespaces. The status
# is the command's, the current folder stays where it was, and nothing is left. So it is for root,
# and for an ordinary user.
. "$(dirname "$0")/../lib.sh"
need_fuse
let_users_mount
need_user_namespaces
need_command unshare pgrep
chmod 755 "$TEST_DIR"
mkdir -m 777 home logs
mkfifo -m 666 end
export HOME=$TEST_DIR/home XDG_RUNTIME_DIR=
unset SHELL WINDLASS_MOUNT

# The mounts around are shared, as systemd has them. (Root's view would appear in both.)
mkdir shared
mount --bind shared shared
mount --make-shared shared

# as WHO COMMAND...
as () {
    local who=$1
    shift
    if [ "$who" = root ]; then "$@"; else user env "HOME=$HOME" "$@"; fi
}

# run WHO ARGUMENT...: windlass run, by root or by an ordinary user.
run () {
    as "$1" "$WINDLASS" run "${@:2}"
}

# of_threads FIELD: what it is in all threads of the daemon whose status was taken.
of_threads () {
    awk -v "field=$1:" '$1 == field { print $2 }' status | sort -u
}

filter=0
if "$WINDLASS" --dump-config | grep -q '^seccomp=yes'; then
    [[ $BUILD_NAME == @(debug|tsan) ]] || filter=2 # a sanitizer needs the system calls
fi

for who in root user; do
    echo "as $who"
    dir=$TEST_DIR/shared/$who
    mkdir -m 777 "$dir" "$dir/sub"
    before=$(cat /proc/self/mountinfo)

    # What is written goes through the preset, and is seen beside the view as it is stored.
    expect "what it prints" hello \
        "$(run $who rot-13 "$dir" -- sh -c 'echo hello >"$0/file"; cat "$0/file"' "$dir")"
    expect "what is stored" uryyb "$(cat "$dir/file")"
    run $who rot-13 "$dir" -- sh -c 'touch "$0/begun"; read -r _ <"$1"' "$dir" "$TEST_DIR/end" &
    wait_until "[ -e '$dir/begun' ]"
    expect "what another program sees meanwhile" uryyb "$(cat "$dir/file")"
    echo >end
    wait $!
    rm "$dir/begun"
    run $who rot-13 "$dir" -- grep -q " $dir .* fuse.windlass " /proc/self/mountinfo ||
        fail "the view isn't mounted over the directory"
    expect "the mounts of the machine" "$before" "$(cat /proc/self/mountinfo)"

    # What the daemon may do besides: doc/security.md.
    run $who rot-13 "$dir" -- sh -c 'cat /proc/"$(pgrep -P $PPID -f "$0")"/task/*/status' \
        '[-]-captive=' >status
    for field in CapPrm CapEff CapInh CapAmb; do
        [ $who = root ] && [[ $field = Cap[PE]* ]] && continue # mount/rights/privileges-dropped
        expect "$field of the daemon, in all threads" 0000000000000000 "$(of_threads $field)"
    done
    expect "whether capabilities can't be gained" 1 "$(of_threads NoNewPrivs)"
    expect "the filter of system calls" "$filter" "$(of_threads Seccomp)"

    # Flags, options, and the words around them.
    expect "a flag" uryyb "$(run $who rot-13 "$dir" --stored -- cat "$dir/file")"
    expect "an option" uryyb "$(run $who rot-13 "$dir" decrypt-read=off -- cat "$dir/file")"
    expect "an option by volume" uryyb \
        "$(run $who rot-13 "$dir" rot-13.decrypt-read=off -- cat "$dir/file")"
    expect "what is set by name counts more" hello \
        "$(run $who rot-13 "$dir" --stored decrypt-read=on -- cat "$dir/file")"
    expect_error 'Read-only file system' run $who plain "$dir" --read-only -- touch "$dir/new"

    # The current folder.
    expect "in the directory" "$dir/sub hello" \
        "$(cd "$dir/sub" && run $who rot-13 .. -- sh -c 'echo "$(pwd)" "$(cat ../file)"')"
    expect "elsewhere" "$TEST_DIR $dir" \
        "$(run $who rot-13 "$dir" -- sh -c 'echo "$(pwd)" "$WINDLASS_MOUNT"')"

    # The status.
    for status in 0 1 42; do
        run $who plain "$dir" -- sh -c "exit $status"
        expect "the status" $status $?
    done
    run $who plain "$dir" -- sh -c 'kill -TERM $$'
    expect "of a command that was ended by SIGTERM" 143 $?
    expect_match "no such command" "'no-such-program' can't be executed" \
        "$(run $who plain "$dir" -- no-such-program 2>&1; echo $?)"
    run $who plain "$dir" -- no-such-program 2>/dev/null
    expect "its status" 127 $?
    run $who plain "$dir" -- "$dir/file" 2>/dev/null
    expect "that of a file that is no program" 126 $?

    # In the view: none of the same directory, but of one in it.
    expect_match "a view of a view" "'$dir' is a view already" \
        "$(run $who plain "$dir" -- "$WINDLASS" run rot-13 "$dir" -- true 2>&1; echo $?)"
    expect "a view in a view" hello "$(run $who rot-13 "$dir" -- "$WINDLASS" run rot-13 "$dir/sub" \
        -- sh -c 'echo hello >"$0/inner"; cat "$0/inner"' "$dir/sub")"
    expect "what is stored through both" hello "$(cat "$dir/sub/inner")"
    rm "$dir/sub/inner"

    # A shell, where no command is named.
    expect "a shell" hello "$(echo 'cat file' | (cd "$dir" && run $who rot-13 . 2>errors.$$))"
    mv "$dir/errors.$$" errors 2>/dev/null
    expect_no_match "what is said to who is in the directory" 'outside' "$(cat errors)"
    expect_match "what is said elsewhere" "'$dir' is seen .*; the current folder is outside of" \
        "$(run $who rot-13 "$dir" 2>&1 </dev/null)"
    expect "what it leaves" "$(printf 'file\nsub')" "$(ls "$dir")"
    expect "what it leaves in the run folder" "" "$(ls -A /run/windlass; ls -A /tmp/windlass-65534)"
    expect "the mounts of the machine" "$before" "$(cat /proc/self/mountinfo)"
done

# What an ordinary user has to know of such a view.
dir=$TEST_DIR/shared/user
echo root >"$dir/of-root"
expect "files of other owners" "65534 65534" "$(run user plain "$dir" -- stat -c '%u %g' "$dir/of-root")"
expect_error 'not permitted' run user plain "$dir" -- chmod 600 "$dir/of-root"
expect_match "the kernel's passthrough" 'by the daemon|not in a user namespace' \
    "$(run user plain "$dir" -- "$WINDLASS" explain "$dir/file")"
