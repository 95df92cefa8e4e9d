# SPDX-License-Identifier: LGPL-2.1-or-later
"""How a test is run, by its kind, and what is said of it."""

import contextlib
import os
import re
import shlex
import signal
import subprocess
import threading
from dataclasses import dataclass

from . import fuzzing
from .listing import SOURCE, TESTS

LOG_LINES = int(os.environ.get("TEST_LOG_LINES", 200))
# 99 tells memcheck's findings from the program's own exit status. Children that libcheck forks for
# a case are checked by themselves, and memory of their parent counts as reachable.
MEMCHECK = ["valgrind", "--quiet", "--leak-check=full", "--show-leak-kinds=definite,indirect",
            "--errors-for-leak-kinds=definite,indirect",
            "--error-exitcode=99", "--num-callers=30", f"--suppressions={TESTS}/valgrind.supp"]


@dataclass
class Result:
    word: str  # PASS, FAIL or SKIP
    name: str
    reason: str = ""

    def __str__(self):
        return f"{self.word} {self.name}" + (f": {self.reason}" if self.reason else "")


def environment(tree, run, folder):
    """The environment of every test. Sanitizers cannot see allocations inside glib's own allocator,
    so it is turned off."""
    env = dict(os.environ)
    env.update(
        BUILD_DIR=tree, SOURCE_DIR=SOURCE, BUILD_NAME=run.build, WINDLASS=f"{tree}/windlass",
        TEST_DIR=folder, TEST_THROUGH=run.way or "device",
        WINDLASS_TEST_XLATORS=f"{tree}/tests/xlators",
        WINDLASS_XLATOR_PATH=f"{tree}/xlators:{tree}/tests/xlators",
        PATH="/usr/local/sbin:/usr/local/bin:/usr/sbin:/usr/bin:/sbin:/bin:" + env.get("PATH", ""),
        LC_ALL="C.UTF-8", G_DEBUG="fatal-criticals", G_SLICE="always-malloc",
        ASAN_OPTIONS="handle_sigill=1:detect_leaks=1:detect_stack_use_after_return=1:"
                     "strict_string_checks=1:disable_coredump=0",
        LSAN_OPTIONS=f"suppressions={TESTS}/lsan.supp:print_suppressions=0",
        TSAN_OPTIONS=f"suppressions={TESTS}/tsan.supp:history_size=4:second_deadlock_stack=1")
    if run.long:
        env.update(TEST_LONG="1", MALLOC_PERTURB_="165")
    if run.kind.startswith("valgrind"):
        env.update(G_DEBUG="fatal-criticals,gc-friendly", RUN=shlex.join(MEMCHECK))
        env.pop("MALLOC_PERTURB_", None)
    return env


def under(run):
    """The command that a program runs under: memcheck, or an address space as the thread sanitizer
    expects it, where that is allowed."""
    if run.kind.startswith("valgrind"):
        return MEMCHECK
    fixed = ["setarch", "-R"]
    return (fixed if run.build == "tsan"
            and subprocess.run(fixed + ["true"], stderr=subprocess.DEVNULL).returncode == 0 else [])


class Runner:
    """Runs tests in folders below `work`, of the build trees {name: folder}. Several threads may
    call run at a time."""

    def __init__(self, trees, work):
        self.trees, self.work = trees, work
        self.running = set()  # process groups; under the lock
        self.lock = threading.RLock()  # a signal may come while another one is handled

    def run(self, run):
        """Its results and what else is to be printed."""
        folder = os.path.join(self.work, run.name.replace("/", "-"))
        os.mkdir(folder)
        os.chmod(folder, 0o777)
        try:
            return getattr(self, "run_" + run.kind.split()[-1])(run, folder)
        finally:
            subprocess.run(["chmod", "-R", "u+rwX", folder], stderr=subprocess.DEVNULL)
            subprocess.run(["rm", "-rf", "--one-file-system", folder, folder + ".namespace"],
                           stderr=subprocess.DEVNULL)

    def call(self, run, folder, command, timeout, **more):
        """The exit status, None after the time, of a command in the test's namespace; its output
        goes to the log."""
        env = dict(environment(self.trees[run.build], run, folder), **more)
        with open(folder + ".log", "wb") as log:
            process = subprocess.Popen([f"{TESTS}/namespace", "timeout", "-k", "20",
                                        str(timeout), *command], cwd=folder, env=env, stdout=log,
                                       stderr=log, stdin=subprocess.DEVNULL, start_new_session=True)
        with self.lock:
            self.running.add(process.pid)
        status = process.wait()
        with self.lock:
            self.running.discard(process.pid)
        return None if status in (124, 137) else status

    def stop(self):
        """Ends what runs; tests take down what they mounted."""
        with self.lock:
            for group in self.running:
                with contextlib.suppress(ProcessLookupError):
                    os.killpg(group, signal.SIGTERM)

    def log_of(self, folder):
        with open(folder + ".log", encoding="utf-8", errors="replace") as log:
            return log.read().splitlines()

    def judge(self, run, folder, status, timeout):
        """What the exit status means, where nothing else tells more."""
        log = self.log_of(folder)
        if status == 0:
            return [Result("PASS", run.name)], []
        if status == 77:
            return [Result("SKIP", run.name, log[-1] if log else "gives no reason")], []
        reason = f"no end after {timeout} seconds" if status is None else f"exit status {status}"
        return [Result("FAIL", run.name, reason)], log[-LOG_LINES:]

    def run_script(self, run, folder):
        status = self.call(run, folder, [run.test.path], run.test.timeout())
        return self.judge(run, folder, status, run.test.timeout())

    def run_program(self, run, folder):
        """A check program reports each of its cases in a TAP file. A case that crashed is one
        test."""
        part, name = run.test.name.split("/")
        program = f"{self.trees[run.build]}/tests/{part}/all"
        if not os.path.exists(program):
            return [Result("SKIP", run.name,
                           "needs check (>= 0.13), without which it isn't built")], []
        status = self.call(run, folder, [*under(run), program, name], run.test.timeout(),
                           CK_TAP_LOG_FILE_NAME=folder + ".tap",
                           CK_DEFAULT_TIMEOUT=os.environ.get("CK_DEFAULT_TIMEOUT", "240"))
        cases = tap_cases(run.name, folder + ".tap")
        if not cases or status not in (0, 77) and all(case.word == "PASS" for case in cases):
            results, log = self.judge(run, folder, status, run.test.timeout())
            return cases + results, log
        return cases, self.log_of(folder)[-LOG_LINES:] if status else []

    def run_replay(self, run, folder):
        """Without libFuzzer: the last line of the log is the file that it stopped at."""
        program = f"{self.trees[run.build]}/tests/{run.test.name}"
        status = self.call(run, folder, [*under(run), program, run.test.path], run.test.timeout(),
                           TMPDIR=folder)
        return self.judge(run, folder, status, run.test.timeout())

    def run_fuzz(self, run, folder):
        program = f"{self.trees[run.build]}/tests/{run.test.name}"
        return fuzzing.fuzz(lambda *arguments, **more: self.call(run, *arguments, **more), program,
                            run, folder)


def tap_cases(name, path):
    """Reads "ok 3 - file.c:suite:case: Passed" as "PASS debug/unit/file/case"; a loop's turns are
    case#2 and so on."""
    results, turns = [], {}
    if not os.path.exists(path):
        return results
    with open(path, encoding="utf-8", errors="replace") as file:
        for line in file:
            found = re.match(r"(not )?ok \d+ - [^:]*:[^:]*:([^:]*): ", line)
            if found:
                turns[found[2]] = turn = turns.get(found[2], 0) + 1
                results.append(Result("FAIL" if found[1] else "PASS",
                                      f"{name}/{found[2]}" + (f"#{turn}" if turn > 1 else "")))
    return results
