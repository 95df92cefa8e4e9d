#!/bin/bash
# SPDX-License-Identifier: LGPL-2.1-or-later
# windlass graph of a mount: as text, for graphviz and as a picture, with the counts; also when the
# mount is stuck.
. "$(dirname "$0")/../lib.sh"

need_command python3
graph () {
    "$WINDLASS" graph "$@"
}

# texts FILE: what a picture says. Fails on what is no XML.
texts () {
    python3 - "$1" <<'END'
import sys, xml.etree.ElementTree as tree
root = tree.parse(sys.argv[1]).getroot()
space = "{http://www.w3.org/2000/svg}"
assert root.tag == space + "svg" and float(root.get("width")) > 0
assert root.get("viewBox") == "0 0 %s %s" % (root.get("width"), root.get("height"))
boxes = []
for rect in root.iter(space + "rect"):
    if rect.get("class") not in ("good", "failed"):
        continue
    x, y, width, height = (float(rect.get(key)) for key in ("x", "y", "width", "height"))
    assert x >= 0 and x + width <= float(root.get("width"))
    assert y + height <= float(root.get("height"))
    assert all(x >= a + w or a >= x + width or y >= b + h or b >= y + height
               for a, b, w, h in boxes), "boxes overlap"
    boxes.append((x, y, width, height))
print("\n".join(text.text or "" for text in root.iter(space + "text")))
arrows = [path for path in root.iter(space + "path") if path.get("marker-end") and "C" in path.get("d")]
print(len(boxes), "boxes,", len(arrows), "arrows")
END
}

stack encryption/rot-13 debug/error-gen,failure=100%,enable=readlink,error-no=EIO test/pass
sed -i 's/rot-13-1/<ro\&t>/' "$VOL"
mount_volfile "$VOL"
expect "as text" "$("$WINDLASS" tell "$MNT" - graph)" "$(graph "$MNT")"

graph "$MNT" --svg >off.svg 2>said || fail "graph --svg"
expect_match "off" \
    "measuring is off, and nothing was measured yet; start with: windlass stats $MNT --on" "$(cat said)"
said=$(texts off.svg) || fail "this is no picture"
expect_match "boxes" '^4 boxes, 4 arrows$' "$said"
expect_match "a name" '^<ro&t>$' "$said"
expect_no_match "nothing was counted" 'call' "$said"
expect_match "the title" "^$MNT\$" "$said"
expect_match "the period" '^not measured; [-0-9]+ [0-9:]+$' "$said"

"$WINDLASS" stats "$MNT" --on >/dev/null
echo hello >"$MNT/file"
! cat "$MNT/missing" 2>/dev/null || fail "there is a file 'missing'"
expect_match "what isn't there was asked for" 'errno="ENOENT"' \
    "$("$WINDLASS" stats "$MNT" | grep _errors)"
graph "$MNT" --svg >calm.svg && graph "$MNT" --dot >calm.dot || fail "graph"
! grep -q 'class="failed"\|[0-9] failed' calm.svg || fail "what every program does is red"
! grep -q 'color=red\|[0-9] failed' calm.dot || fail "what every program does is red"
ln -s file "$MNT/link"
! readlink "$MNT/link" >/dev/null || fail "EIO was expected"
said=$(graph "$MNT" --svg >on.svg && texts on.svg) || fail "this is no picture: $said"
expect_match "an edge" '^[1-9][0-9]* calls, [0-9.]+.?s$' "$said"
expect_match "a failure" '^own [0-9.]+.?s, [1-9][0-9]* failed$' "$said"
expect_match "the period" '^measured for [0-9]+\.[0-9] s, until [-0-9]+ [0-9:]+$' "$said"
expect_match "the legend" '^own: the time in the translator alone' "$said"
grep -q 'prefers-color-scheme: dark' on.svg || fail "it has no dark colours"
grep -q "^readlink: 1 call, .*, 1 failed" on.svg || fail "a box does not tell its operations"
expect_ok "$WINDLASS" stats "$MNT" --off
"$WINDLASS" graph "$MNT" --svg 2>/dev/null | grep -Eq '>measured for [0-9.]+ s in all, not now; ' ||
    fail "the period of a measurement that has ended"
expect_ok "$WINDLASS" stats "$MNT" --on
grep -q 'class="failed"' on.svg || fail "what failed isn't red"
graph "$MNT" --dot >on.dot || fail "graph --dot"
expect_match "for graphviz" '^    n[0-9] -> n[0-9] \[label="[1-9][0-9]* calls?, [0-9.]+.?s"\];$' \
    "$(cat on.dot)"
expect_match "for graphviz" 'failed", color=red' "$(cat on.dot)"
expect_match "for graphviz" '<ro&t>.nencryption/rot-13' "$(cat on.dot)"
if command -v dot >/dev/null; then
    dot -Tsvg on.dot >/dev/null || fail "graphviz can't read it"
fi
unmount

# Volfiles too; children side by side, and one with two parents.
cat >two.vol <<END
volume low
    type storage/posix
    option directory $BACK
end-volume
volume left
    type encryption/rot-13
    subvolumes low
end-volume
volume right
    type debug/delay-gen
    subvolumes low
end-volume
volume top
    type defects/two
    subvolumes left right
end-volume
END
graph two.vol --svg >two.svg || fail "graph of a volfile"
expect_match "boxes" '^4 boxes, 5 arrows$' "$(texts two.svg)"
graph "$VOL" --svg >file.svg || fail "graph of a volfile"
expect_match "boxes" '^4 boxes, 4 arrows$' "$(texts file.svg)"

# A picture that nobody could look at is refused.
{
    cat "$VOL"
    for i in {1..5000}; do
        printf 'volume many%d\ntype test/pass\nsubvolumes %s\nend-volume\n' "$i" "${below:-pass-3}"
        below=many$i
    done
} >many.vol
expect_error "'many.vol' has 5004 volumes, and a picture has at most 5000; without --svg, .* text" \
    graph many.vol --svg

# What is wrong; and a mount that hangs can be asked.
expect_error "neither a volfile nor a mount point" graph "$BACK"
expect_error "only one of" graph "$VOL" --dot --svg
stack test/never
mount_volfile "$VOL"
df "$MNT" >/dev/null 2>&1 & # ends with the mount
disown
expect_ok timeout 5 "$WINDLASS" graph "$MNT" --svg
expect_ok timeout 5 "$WINDLASS" stats "$MNT" --on
