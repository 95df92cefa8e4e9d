#!/bin/bash
# SPDX-License-Identifier: LGPL-2.1-or-later
# md-cache: attributes from a listing are known, changes through the mount are seen at once, changes
# behind it when the timeout is over.
# builds: debug tsan
. "$(dirname "$0")/../lib.sh"
need_fuse
need_command setfattr getfattr git
cache=performance/md-cache,md-cache-timeout=600,cache-invalidation=on,xattr-cache-list=user.\*
ask=(--attribute-timeout=0 --entry-timeout=0)

count () { # NAME: of the translator's counters
    sed -n "s/^$1 = //p" "$MNT/.meta/graphs/active/md-cache-1/private"
}

# After one listing, no request asks storage again.
mkdir "$BACK/d"
for i in {1..50}; do echo "$i" >"$BACK/d/$i"; done
stack "$cache"
mount_volfile "$VOL" "${ask[@]}"
ls -l "$MNT/d" >/dev/null
before=$(($(count stat_miss_count) + $(count lookup_miss_count)))
expect "sizes" "$(stat -c '%n %s %i %h %a %Y' "$BACK"/d/* | sed "s|$BACK||")" \
    "$(stat -c '%n %s %i %h %a %Y' "$MNT"/d/* | sed "s|$MNT||")"
[ $(($(count stat_miss_count) + $(count lookup_miss_count) - before)) -lt 10 ] ||
    fail "storage was asked for more than the directory"

# Changes through the mount, by whichever name.
cd "$MNT/d" || exit 1
sees () { expect "$1 of $2" "$3" "$(stat -c "$1" "$2")"; }
sees %s 1 2
echo more >>1; sees %s 1 7
ln 1 other; sees %h 1 2; sees %h other 2
truncate -s 100 other; sees %s 1 100
rm other; sees %h 1 1
chmod 640 1; sees %a 1 640
touch -d @1000 1; sees %Y 1 1000
exec 5<>2
mv 1 2; sees %s 2 100
[ ! -e 1 ] || fail "a name that was renamed is still there"
expect "links of what was replaced" 0 "$(stat -L -c %h /dev/fd/5)"
exec 5>&-
cp --sparse=never 3 2; sees %s 2 2
mkdir new; sees %h . 3
rmdir new; sees %h . 2
[ ! -e new ] || fail "a directory that was removed is still there"
expect "an attribute that isn't there" '' "$(getfattr --only-values -n user.x 3 2>/dev/null)"
expect "nor now" '' "$(getfattr --only-values -n user.x 3 2>/dev/null)"
[ "$(count negative_xattr_hit_count)" -gt 0 ] || fail "that it isn't there was not remembered"
setfattr -n user.x -v one 3
expect "it is there" one "$(getfattr --only-values -n user.x 3)"
expect "still" one "$(getfattr --only-values -n user.x 3)"
[ "$(count xattr_hit_count)" -gt 0 ] || fail "it was not remembered"
setfattr -x user.x 3
expect_error 'No such attribute' getfattr -n user.x 3
cd "$TEST_DIR" || exit 1

# Programs.
(cd "$MNT" && git init -q g && cd g && git config user.email a@b && git config user.name a &&
    cp "$SOURCE_DIR"/src/core/data/*.h . && git add . &&
    git commit -qm one && git rm -q iatt.h && echo x >>dict.h && git commit -qam two && git \
    checkout -q HEAD~1 && git status --porcelain) >out 2>&1 ||
    fail "git: $(cat out)"
expect "what git finds changed" '' "$(cat out)"
tar cf - -C "$SOURCE_DIR/src" core | tar xf - -C "$MNT"
expect "a tree" '' "$(diff -r "$SOURCE_DIR/src/core" "$MNT/core")"

# Changes behind the mount are seen when the timeout is over, which a reload shortens; and an
# inode's number is then another file's.
stat "$MNT/d/5" >/dev/null # so much was known since that it may have been forgotten
echo behind >>"$BACK/d/5"
expect "a size that storage was not asked for" 2 "$(stat -c %s "$MNT/d/5")"
sed -i 's/md-cache-timeout "600"/md-cache-timeout "0"/' "$VOL"
expect_ok "$WINDLASS" reload "$MNT"
expect "the size" 9 "$(stat -c %s "$MNT/d/5")"
expect_match "what it says" "remembers nothing" "$("$WINDLASS" explain "$MNT/d/5")"
unmount

# At once where storage watches.
POSIX_OPTIONS='watch=auto' stack "$cache"
mount_volfile "$VOL" "${ask[@]}"
ls -l "$MNT/d" >/dev/null
echo more >>"$BACK/d/6"
wait_until '[ "$(stat -c %s "$MNT/d/6")" = 7 ]'
mv "$BACK/d/6" "$BACK/d/7"
wait_until '[ ! -e "$MNT/d/6" ] && [ "$(stat -c %s "$MNT/d/7")" = 7 ]'
unmount

# Errors are not kept as attributes.
echo 'lookup path /d/8 times 2 -> error EIO' >"$TEST_DIR/rules"
stack "debug/fault,rules=$TEST_DIR/rules" "performance/md-cache,md-cache-statfs=on"
mount_volfile "$VOL" "${ask[@]}"
expect_error 'Input/output error' stat "$MNT/d/8"
expect_error 'Input/output error' stat "$MNT/d/8"
expect_ok stat "$MNT/d/8"
expect "blocks" "$(stat -f -c %b "$BACK")" "$(stat -f -c %b "$MNT")"
unmount

# What can't be.
stack performance/md-cache,md-cache-timeout=601
expect_error "test.vol:7.*'md-cache-timeout' must be .*0 to 600.*'601'" "$WINDLASS" -f "$VOL" "$MNT"
stack performance/md-cache,xattr-cache-list=capability
expect_error "test.vol:7.*'xattr-cache-list' must be names .*'capability' has none" "$WINDLASS" \
    -f "$VOL" "$MNT"
