# shellcheck shell=bash
# SPDX-License-Identifier: LGPL-2.1-or-later
# For tests that replay a section of doc/debugging.md: "replay LETTER" types the section's commands
# and expects its output.

need_fuse
need_root # the text unmounts with umount
# REPLAY_VERBOSE=1 shows all that was said.
need_command gdb python3

replay () {
    mkdir -p "$TEST_DIR/t"
    rmdir "$MNT" "$BACK"
    BACK=$TEST_DIR/t/export MNT=$TEST_DIR/t/import
    # The source tree's paths are relative in the text.
    WINDLASS_XLATOR_PATH=$BUILD_DIR/xlators timeout 150 python3 \
        "$SOURCE_DIR/tests/mount/replay.py" \
        "$SOURCE_DIR/doc/debugging.md" "$1" "/tmp/=$TEST_DIR/t/" "./windlass=$WINDLASS" \
        "src/gdb/=$SOURCE_DIR/src/gdb/" \
        "-Isrc=-I$SOURCE_DIR/src" "tests/xlators/=$SOURCE_DIR/tests/xlators/" \
        "src/trace/=$SOURCE_DIR/src/trace/" ||
        fail "section ($1) of doc/debugging.md doesn't happen as it is written"
}
