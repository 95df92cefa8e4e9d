#!/bin/bash
# SPDX-License-Identifier: LGPL-2.1-or-later
# What `windlass help --json` and `windlass --dump-config` say: valid, complete, and the same as what
# people are told.
set -u
command -v python3 >/dev/null || { echo "needs python3"; exit 77; }
cd "$TEST_DIR" || exit 1
# The tests' own translators, some of which can't be loaded, are no part of the program.
export WINDLASS_XLATOR_PATH=$BUILD_DIR/xlators
cat >look.py <<'END'
import json
import re
import subprocess
import sys

PROGRAM, DESCRIBE = sys.argv[1:]
# cli_kinds in src/cli/describe.c
KINDS = set(re.findall(r'"([A-Z]+)"', re.search(r"cli_kinds\[\] = \{(.*?)\};",
                                                open(DESCRIBE).read(), re.S)[1]))


def windlass(*words):
    return subprocess.run([PROGRAM, *words], check=True, text=True, stdout=subprocess.PIPE).stdout


def kinds_are_known(about, words):
    for word in words:
        unknown = set(word["kinds"]) - KINDS
        assert not unknown, f"{about}: kinds that cli_kinds does not have: {unknown}"


def options_of_help(text):
    """The long options that --help lists, without --help itself."""
    return set(re.findall(r"^  (?:-., )?(--[a-z0-9-]+)", text, re.M)) - {"--help"}


everything = json.loads(windlass("help", "--json"))
assert everything["format"] == 1
text = windlass("help")
for command in everything["commands"]:
    name = command["name"]
    assert f"  {name} {command['synopsis']}" in text, name
    told = windlass(name, "--help")
    assert {option["name"] for option in command["options"]} == options_of_help(told), name
    kinds_are_known(name, command["arguments"] + command["options"])
    alone = json.loads(windlass("help", "--json", name))
    assert alone.pop("format") == 1 and alone == command, name
assert len(everything["commands"]) == len(re.findall(r"^  [a-z-]+ ", text.split("\nTr")[0], re.M))

mount = everything["mount"]
told = options_of_help(windlass("--help"))
assert {option["name"] for option in mount["options"]} == told, told
kinds_are_known("a mount", mount["options"] + mount["mount_options"])
acl = next(word for word in mount["mount_options"] if word["name"] == "acl")
assert acl["values"] == ["on", "off", "translator"] and acl["value_optional"], acl

for row in everything["types"]:
    told = windlass("help", row["type"])
    described = json.loads(windlass("help", row["type"], "--json"))
    assert described["type"] == row["type"] and described["about"] == row["about"]
    for option in described["options"] + described["common_options"]:
        names = ", ".join([option["name"], *option["aliases"]])
        assert f"\n  {names}\n" in told, names
        assert option["about"] in told and option["allowed"] in told, names
        assert option["default"] is None or option["required"] or option["default"] in told, names
assert "writev" in everything["operations"]
presets = {preset["name"]: preset for preset in everything["presets"]}
told = windlass("help", "presets")
assert presets and all(name in told and preset["about"] in told for name, preset in presets.items())
assert [flag["name"] for flag in presets["plain"]["flags"]] == ["--read-only"], presets["plain"]
commands = {command["name"] for command in everything["commands"]}
for name, preset in presets.items():
    if name in commands:
        continue # windlass help tells the commands of the translator, such as trash
    alone = json.loads(windlass("help", name, "--json"))
    assert alone.pop("format") == 1 and alone == preset, name
assert json.loads(windlass("help", "presets", "--json"))["presets"] == everything["presets"]
assert presets["brick"]["takes_host"] and not presets["plain"]["takes_host"]

# The arguments of a synopsis, without options and their values.
names = {command["name"]: [(argument["name"], argument["optional"], argument["repeats"])
                           for argument in command["arguments"]]
         for command in everything["commands"]}
assert names["check"] == [("VOLFILE", False, True)], names["check"]
assert names["errors"] == [("MOUNTPOINT", False, False)], names["errors"]
assert names["fault"] == [("MOUNTPOINT", False, False), ("FILE", True, False),
                          ("NAME", True, False)], names["fault"]
assert names["tell"] == [("MOUNTPOINT", True, False), ("TARGET", True, False),
                         ("COMMAND", True, False), ("FILE", True, False)], names["tell"]
assert names["timeline"][0] == ("start|stop|cat|clear", False, False), names["timeline"]

config = windlass("--dump-config").splitlines()
assert config == sorted(config) and all(re.match("[a-z_]+=", line) for line in config)
config = dict(line.split("=", 1) for line in config)
assert f"windlass {config['version']}\nlibfuse {config['libfuse']}\n" in windlass("--version")
assert config["version"] == everything["version"]
for key, option in (("xlatordir", "xlatordir"), ("logdir", "logdir"), ("rundir", "statedumpdir")):
    assert config[key] == windlass(f"--print-{option}").strip(), key
END
python3 look.py "$WINDLASS" "$SOURCE_DIR/src/cli/describe.c"
