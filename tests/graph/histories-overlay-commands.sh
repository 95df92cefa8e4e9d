#!/bin/bash
# SPDX-License-Identifier: LGPL-2.1-or-later
# Random histories over cluster/overlay with its commands, and with moves to another graph: a freeze
# and a commit change nothing that programs see, a discard brings back what the lower has, and after
# a commit the lower has what programs see. The model finds a discard that discards nothing.
# longer
# timeout: 900
. "$(dirname "$0")/overlay-lib.sh"

all=freeze,discard,reload
overlay lower
run 1 --lowers --commands freeze
run 101 --lowers --commands discard
run 201 --lowers --commands reload
run 301 --lowers --commands $all
run 401 --lowers --commands $all --faults 50
again 5 29 43 151 -- --lowers --commands discard
again 2065 -- --lowers --commands $all

# A file that was open at a discard, and is copied by the first write after it, has no name.
script --lowers --commands discard <<'EOF'
seed 7027
clients 3
3 c3 create f2 d/a wo 0755 calm
4 c1 open f2 d/a rw calm
5 c1 command discard calm
6 c1 create f0 d/a rw 0711 calm
7 c1 command discard calm
8 c1 open f0 d/a rw calm
13 c3 write f2 0 8 calm
15 c1 write f0 0 8 calm
EOF

# A file that was committed is the same one in the next graph.
script --lowers --commands commit,reload <<'EOF'
seed 121062
clients 2
1 c2 create f1 a rw+append+trunc 0755 calm
5 c2 command commit calm
7 c1 command reload calm
8 c1 create f1 a rw 0744 calm
10 c1 read f1 0 8 calm
16 c2 write f1 0 8 calm
EOF

# A copy that gets another name of the file than the one that a create has asked for.
script --lowers --commands freeze <<'EOF'
seed 5530004
clients 1
1 c1 link a e/a calm
2 c1 command freeze calm
14 c1 create f0 a rw+trunc 0700 calm
EOF

# A discard does not bring back a name that a frozen layer has removed.
script --lowers --commands freeze,discard <<'EOF'
seed 5540017
clients 1
6 c1 unlink a calm
8 c1 link c a calm
19 c1 command freeze calm
28 c1 unlink a calm
EOF

run 501 --lowers --commands commit
again 593 -- --lowers --commands commit
again 320025 -- --lowers --commands commit,freeze,discard
run 601 --lowers --commands commit,$all

overlay upper-lower lower
run 701 --lowers --commands $all

# A discard that discards nothing is found; so are commands that are not there.
BACK=/nowhere
stack test/pause
out=$("$WINDLASS" conform "$VOL" --case history -d "$TEST_DIR" --seed 1 --histories 20 \
    --commands discard) && fail "a discard that discards nothing passes"
expect_match "what is wrong" 'no order of what happened so far gives this answer' "$out"
expect_error "no volume of '.*' has the command 'freeze'" \
    "$WINDLASS" conform "$VOL" --case history -d "$TEST_DIR" --commands freeze
expect_error "commands must be among freeze, discard, commit, reload, got 'thaw'" \
    "$WINDLASS" conform "$VOL" --case history -d "$TEST_DIR" --commands freeze,thaw
