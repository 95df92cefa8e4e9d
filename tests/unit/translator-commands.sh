#!/bin/bash
# SPDX-License-Identifier: LGPL-2.1-or-later
# windlass NAME COMMAND MOUNTPOINT: NAME is the last part of a translator's type. No such name is that
# of a built-in command, and no two translators with commands share one.
set -u
command -v python3 >/dev/null || { echo "needs python3"; exit 77; }
export WINDLASS_XLATOR_PATH=$BUILD_DIR/xlators
exec python3 - "$WINDLASS" "$SOURCE_DIR/src/cli/cli.c" <<'END'
import json
import re
import subprocess
import sys

PROGRAM, TABLE = sys.argv[1:]


def described(*words):
    text = subprocess.run([PROGRAM, "help", "--json", *words], check=True, text=True,
                          stdout=subprocess.PIPE).stdout
    return json.loads(text)


built_in = set(re.findall(r'^    { "([a-z-]+)",', open(TABLE).read(), re.M))
assert {"jobs", "heal", "fault"} <= built_in, built_in
everything = described()
names = [command["name"] for command in everything["commands"]]
assert len(names) == len(set(names)), "two commands have the same name"
seen = {}
for row in everything["types"]:
    commands = [one for one in described(row["type"])["commands"] if one["arguments"] is not None] \
        if row["type"] != "mount/fuse" else []
    if not commands:
        continue
    name = row["type"].split("/")[1]
    assert name not in built_in, f"{row['type']}: windlass {name} is a built-in command"
    assert name not in seen, f"{row['type']} and {seen[name]} have commands of the same name"
    seen[name] = row["type"]
    about = next(one for one in everything["commands"] if one["name"] == name)
    verbs = about["synopsis"].split(" ")[0].split("|")
    assert verbs == [one["name"] for one in commands], (name, verbs)
    assert about["arguments"][1]["kinds"] == ["MOUNTPOINT"], about
assert seen["io-stats"] == "debug/io-stats" and seen["replicate"] == "cluster/replicate", seen
END
