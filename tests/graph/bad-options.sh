#!/bin/bash
# SPDX-License-Identifier: LGPL-2.1-or-later
# Invalid options are refused with their place in the volfile before anything starts, for every
# translator of the client's stack: out of range, more than another option or the machine's memory
# allows, no such operation, value or key.
. "$(dirname "$0")/../mount/lib.sh"

# bad TYPE OPTION VALUE MESSAGE [OPTION VALUE]: the first option is on line 7; a second one goes
# before it.
bad () {
    local vol=$TEST_DIR/bad.vol line=7 out
    { printf 'volume posix\n    type storage/posix\n    option directory %s\nend-volume\n' \
        "$TEST_DIR"
      printf 'volume top\n    type %s\n' "$1"
      [ $# -lt 5 ] || printf '    option %s %s\n' "$5" "$6"
      printf '    option %s %s\n    subvolumes posix\nend-volume\n' "$2" "$3"; } >"$vol"
    [ $# -lt 5 ] || line=8
    out=$("$WINDLASS" check "$vol" 2>&1) && fail "$1 takes $2=$3"
    expect_match "$1: $2=$3" "^$vol:$line:[0-9]+: error: volume 'top': .*$4" "$out"
    count=$((count + 1))
}
count=0


bad performance/write-behind cache-size 511KB \
    "option 'cache-size' must be 512KB to 1GB.*, got '511KB'"
bad performance/write-behind aggregate-size 2MB \
    "option 'aggregate-size' must be at most option 'cache-size', which is 1MB, got '2MB'"
bad performance/write-behind aggregate-size 2MB \
    "option 'aggregate-size' must be at most .* which is 600KB, got '2MB'" window-size 600KB
bad performance/write-behind flush-behind maybe \
    "option 'flush-behind' must be one of .*, got 'maybe'"
bad performance/write-behind cache_size 1MB "has no option 'cache_size'; did you mean 'cache-size'"
bad performance/md-cache md-cache-timeout 601 \
    "option 'md-cache-timeout' must be 0 to 600, got '601'"
bad performance/nl-cache nl-cache-limit 1PB \
    "option 'nl-cache-limit' must be at most the memory of this machine, .*, got '1PB'"
bad performance/nl-cache nl-cache-timeout later "option 'nl-cache-timeout' must be .*, got 'later'"
bad performance/open-behind lazy-open maybe "option 'lazy-open' must be .*, got 'maybe'"
bad performance/quick-read max-file-size 1001KB "option 'max-file-size' must be .* got '1001KB'"
bad performance/quick-read cache-size 1PB \
    "option 'cache-size' must be at most the memory of this machine, .*, got '1PB'"
bad performance/quick-read priority '*.html' "option 'priority' .*, got '[*].html'"
bad performance/read-ahead page-count 0 "option 'page-count' must be 1 to .*, got '0'"
bad performance/read-ahead page-size 3KB "option 'page-size' must be 4KB to 64MB.*, got '3KB'"
bad performance/read-ahead memory-limit 1PB \
    "option 'memory-limit' must be at most the memory of this machine, .*, got '1PB'"
bad performance/readdir-ahead rda-request-size 256KB \
    "option 'rda-request-size' must be 4KB to 128KB.*, got '256KB'"
bad performance/readdir-ahead rda-high-wmark 101MB "option 'rda-high-wmark' must be .*, got '101MB'"
bad performance/io-cache cache-size 3MB "option 'cache-size' must be .*, got '3MB'"
bad performance/io-cache cache-size 1PB \
    "option 'cache-size' must be at most the memory of this machine, .*, got '1PB'"
bad performance/io-cache cache-timeout 61 "option 'cache-timeout' must be 0 to 60, got '61'"
bad features/utime noatime maybe "option 'noatime' must be on or off, got 'maybe'"
bad system/posix-acl super-uid root "option 'super-uid' must be .*, got 'root'"
bad debug/io-stats ios-dump-format xml "option 'ios-dump-format' must be one of .*, got 'xml'"
bad debug/io-stats ios-dump-interval 3601 "option 'ios-dump-interval' must be 0 to 3600, got '3601'"
bad debug/delay-gen enable readv,wriet "wriet"
bad meta meta-dir-name a/b "must be a name of at most 255 bytes"

# Orders that would be wrong, with both places.
{ printf 'volume posix\n    type storage/posix\n    option directory %s\nend-volume\n' "$TEST_DIR"
  printf 'volume acl\n    type system/posix-acl\n    subvolumes posix\nend-volume\n'
  printf 'volume io-stats\n    type debug/io-stats\n    subvolumes acl\nend-volume\n'
  printf 'volume md\n    type performance/md-cache\n    subvolumes io-stats\nend-volume\n'
} >order.vol
expect_error \
    "order.vol:5:8: error: volume 'acl': type 'system/posix-acl' can't be below 'md' \(line 13\), type 'performance/md-cache', which answers" \
    "$WINDLASS" check order.vol

# Volumes of GlusterFS keep what they need on servers: a local directory below them is refused, also
# beside a server. The line is the directory's.
local_volume () {
    printf 'volume %s\n    type storage/posix\n    option directory %s\nend-volume\n' "$1" \
        "$TEST_DIR"
}
for type in cluster/replicate cluster/distribute; do
    { local_volume a
      local_volume b
      printf 'volume top\n    type %s\n    subvolumes a b\nend-volume\n' "$type"
    } >local.vol
    expect_error "local.vol:5:8: error: volume 'b': type 'storage/posix' can't be below 'top' \(line 9\), type '$type', which keeps .* must be of type 'protocol/client'" \
        "$WINDLASS" check local.vol
    { printf 'volume far\n    type protocol/client\n    option remote-host localhost\n'
      printf '    option remote-subvolume /far\nend-volume\n'
      local_volume near
      printf 'volume quick\n    type performance/io-threads\n    subvolumes near\nend-volume\n'
      printf 'volume top\n    type %s\n    subvolumes far quick\nend-volume\n' "$type"
    } >mixed.vol
    expect_error "mixed.vol:6:8: error: volume 'near': type 'storage/posix' can't be below 'top'" \
        "$WINDLASS" -f "$TEST_DIR/mixed.vol" "$MNT"
    is_mounted && fail "it is mounted all the same"
done

# Refused as well, and nothing is mounted, by what mounts.
expect_error "bad.vol:7:[0-9]+: error: .*meta-dir-name" "$WINDLASS" -f "$TEST_DIR/bad.vol" "$MNT"
is_mounted && fail "it is mounted all the same"
echo "$count options refused"
