# shellcheck shell=bash
# SPDX-License-Identifier: LGPL-2.1-or-later
# For tests that replay a section of a document: "replay doc/NAME.md LETTER [FROM=TO...]" types the
# section's commands and expects its output. FROM in the text is TO here.

need_fuse
need_root # the texts unmount with umount
# REPLAY_VERBOSE=1 shows all that was said.
need_command python3

replay () {
    local doc=$1 section=$2
    shift 2
    mkdir -p "$TEST_DIR/t"
    rmdir "$MNT" "$BACK"
    BACK=$TEST_DIR/t/export MNT=$TEST_DIR/t/import
    # The source tree's paths are relative in the text.
    WINDLASS_XLATOR_PATH=$BUILD_DIR/xlators timeout 150 python3 \
        "$SOURCE_DIR/tests/mount/debugging/replay.py" \
        "$SOURCE_DIR/$doc" "$section" "/tmp/=$TEST_DIR/t/" "./windlass=$WINDLASS" \
        "src/gdb/=$SOURCE_DIR/src/gdb/" \
        "-Isrc=-I$SOURCE_DIR/src" "tests/xlators/=$SOURCE_DIR/tests/xlators/" \
        "src/trace/=$SOURCE_DIR/src/trace/" "$@" ||
        fail "section ($section) of $doc doesn't happen as it is written"
}
