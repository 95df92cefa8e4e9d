#!/bin/bash
# SPDX-License-Identifier: LGPL-2.1-or-later
# A brick that is killed under load, again and again: SQLite and git on the mount see errors, and go
# on when it is back. Nothing that they confirmed is lost; the database and the repository are
# whole.
# timeout: 3600
# longer
. "$(dirname "$0")/lib.sh"
need_command git
python3 -c 'import sqlite3' 2>/dev/null || skip "needs SQLite for Python"

rounds=$(amount 30 400) # in each of three runs: 1,200 in all
brick one
brick_volfile one
mount_volfile "$VOL"

# Each worker appends what was confirmed to a file outside of the mount, and errors to another one.
# Between two attempts it waits until the mount works, as its users would.
cat >workers.py <<'EOF'
import contextlib, errno, os, sqlite3, subprocess, sys, time

def note(file, text):
    with open(file, "a") as out:
        out.write(f"{text}\n")

@contextlib.contextmanager
def noted(*kinds):
    try:
        yield
    except kinds as error:
        note("trouble", f"{time.time():.3f} {error} {getattr(error, 'stderr', '')}")

def wait_for_mount(mount):
    while True:
        try:
            os.stat(f"{mount}/works")
        except FileNotFoundError:
            return
        except OSError as error:
            note("errors", errno.errorcode[error.errno])
            time.sleep(0.02)

def rows(mount):
    number = 0
    while not os.path.exists("over"):
        wait_for_mount(mount)
        with noted(sqlite3.Error), \
                contextlib.closing(sqlite3.connect(f"{mount}/db", timeout=20)) as db:
            db.execute("PRAGMA synchronous = FULL")
            db.execute("CREATE TABLE IF NOT EXISTS rows (number INTEGER PRIMARY KEY, text TEXT)")
            number = max(number, db.execute("SELECT MAX (number) FROM rows").fetchone()[0] or 0)
            while not os.path.exists("over"):
                number += 1
                db.execute("INSERT INTO rows VALUES (?, ?)", (number, "x" * (number % 3000)))
                db.commit()
                note("rows", number)

def git(mount, *words):
    return subprocess.run(["git", "-C", f"{mount}/repository", *words], capture_output=True,
                          text=True)

def commit(mount, number):
    with open(f"{mount}/repository/file{number % 20}", "w") as file:
        file.write(f"{number}\n" * (number % 500))
    git(mount, "add", "-A").check_returncode()
    git(mount, "commit", "-q", "-m", f"{number}").check_returncode()
    head = git(mount, "rev-parse", "HEAD")
    head.check_returncode()
    return head.stdout.strip()

def commits(mount):
    number = 0
    while not os.path.exists("over"):
        number += 1
        try:
            note("commits", commit(mount, number))
        except (OSError, subprocess.CalledProcessError) as error:
            note("trouble", f"{time.time():.3f} {error} {getattr(error, 'stderr', '')}")
            if isinstance(error, OSError):
                note("errors", errno.errorcode[error.errno])
            wait_for_mount(mount)
            # What a git that failed leaves, and asks to be removed.
            for path, _, names in os.walk(f"{mount}/repository/.git"):
                for name in names:
                    if name.endswith(".lock"):
                        with contextlib.suppress(OSError):
                            os.unlink(f"{path}/{name}")

{"rows": rows, "commits": commits}[sys.argv[1]](sys.argv[2])
EOF
git init -q "$MNT/repository" || fail "git init"
git -C "$MNT/repository" config user.name test
git -C "$MNT/repository" config user.email test@localhost
git -C "$MNT/repository" config gc.auto 0
touch rows commits errors trouble
python3 workers.py rows "$MNT" &
workers=$!
python3 workers.py commits "$MNT" &
workers+=" $!"

# progress WORKERS: so many of the two confirm something more, within a minute.
progress () {
    local rows commits end=$((SECONDS + 60))
    rows=$(wc -l <rows) commits=$(wc -l <commits)
    until (($1 <= ($(wc -l <rows) > rows) + ($(wc -l <commits) > commits))); do
        [ $SECONDS -lt $end ] || {
            tail -n 10 trouble
            "$WINDLASS" inflight "$MNT"
            fail "no progress since $rows rows and $commits commits, in round $round"
        }
        sleep 0.05
    done
}
for ((round = 1; round <= rounds; round++)); do
    # Most kills come in the middle of a commit of git, which takes longest.
    progress $((round % 10 ? 1 : 2))
    sleep 0.0$((RANDOM % 100))
    brick_kill one 2>/dev/null
    brick_start one
done
progress 2
touch over
# shellcheck disable=SC2086 # several
wait $workers
echo "$(wc -l <rows) rows, $(wc -l <commits) commits, errors: $(sort errors | uniq -c | xargs)"

expect_no_match "errors of callers" '^E' "$(grep -v '^ENOTCONN$' errors)"
python3 - "$MNT/db" <<'EOF' || fail "the database"
import sqlite3, sys
db = sqlite3.connect(sys.argv[1])
assert db.execute("PRAGMA integrity_check").fetchone() == ("ok",)
there = {number for number, in db.execute("SELECT number FROM rows")}
confirmed = {int(line) for line in open("rows")}
assert confirmed <= there, f"lost: {sorted(confirmed - there)}"
assert all(text == "x" * (number % 3000) for number, text in db.execute("SELECT * FROM rows"))
EOF
expect_ok git -C "$MNT/repository" fsck --full --strict
git -C "$MNT/repository" log --format=%H | sort >there
expect "lost commits" '' "$(sort -u commits | comm -23 - there)"
unmount

# Another mount finds the same, and a name to which a killed brick gave no identity can be used.
mount_volfile "$VOL"
expect_ok git -C "$MNT/repository" fsck --full --strict
touch "$TEST_DIR/one.d/bare"
wait_until "[ -f '$MNT/bare' ]"
echo text >"$MNT/bare"
expect "what is in it" text "$(cat "$TEST_DIR/one.d/bare")"
expect_ok rm "$MNT/bare"
unmount
