# SPDX-License-Identifier: LGPL-2.1-or-later
"""A target of tests/fuzz under libFuzzer, from the files of tests/fuzz/corpus on.

Runs for FUZZ_SECONDS, with the seed FUZZ_SEED. Findings are printed, and with FUZZ_DIR kept there,
with all new inputs."""

import base64
import glob
import os
import re

from .listing import TESTS

SECONDS = int(os.environ.get("FUZZ_SECONDS", 20))
SEED = int(os.environ.get("FUZZ_SEED", 1))


def options(target):
    some = [f"-seed={SEED}", f"-max_total_time={SECONDS}", "-timeout=20", "-rss_limit_mb=2048",
            "-print_final_stats=1", "-print_funcs=0"]
    words = f"{TESTS}/fuzz/{target}.dict"
    return some + ([f"-dict={words}"] if os.path.exists(words) else [])


def summary(log):
    """How many inputs it tried, and what they reached."""
    text = "\n".join(log)
    covered = re.findall(r" cov: (\d+)", text)
    tried = re.findall(r"stat::number_of_executed_units: (\d+)", text)
    return (f"{tried[-1] if tried else 0} inputs in {SECONDS} seconds, "
            f"{covered[-1] if covered else 0} places covered, seed {SEED}")


def found(program, folder):
    lines = []
    for path in glob.glob(f"{folder}/found-*"):
        with open(path, "rb") as file:
            data = file.read()
        lines += ["found, in base64:", base64.b64encode(data).decode(), "in hexadecimal:",
                  data.hex(" ", 1),
                  f"to repeat it: base64 -d >input, then G_SLICE=always-malloc {program} input"]
    return lines


def fuzz(call, program, run, folder):
    """call (FOLDER, COMMAND, TIMEOUT, ENVIRONMENT...): runs it. Returns its results and further
    lines to print."""
    from .running import Result
    target = run.test.name.split("/")[1]
    learnt = os.path.join(os.environ.get("FUZZ_DIR", folder), target)
    os.makedirs(f"{learnt}/corpus", exist_ok=True)
    for old in glob.glob(f"{learnt}/found-*"):
        os.unlink(old)
    command = [program, *options(target), f"-artifact_prefix={learnt}/found-", f"{learnt}/corpus",
               run.test.path]
    status = call(folder, command, SECONDS + 120, TMPDIR=folder)
    with open(folder + ".log", encoding="utf-8", errors="replace") as file:
        log = file.read().splitlines()
    if status == 0:
        return [Result("PASS", run.name)], [summary(log)]
    return ([Result("FAIL", run.name, f"exit status {status}, seed {SEED}")],
            [summary(log), *found(program, learnt), *log[-200:]])
