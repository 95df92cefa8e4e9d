# shellcheck shell=bash
# SPDX-License-Identifier: LGPL-2.1-or-later
# What tests of `windlass trace` share.

# trace_checked FILE: prints it as trace_cat does, and checks the head, the balance of braces, that
# each is in the column of its function, and that times are plausible.
trace_checked () {
    awk '
        function bad(why) { print FILENAME ":" NR ": " why ": " $0; failed = 1; exit }
        NR == 1 { if ($0 != "   Time(us)  |  Function Graph") bad("not the head"); next }
        NR == 2 { if ($0 !~ /^-+$/) bad("not the rule"); next }
        substr($0, 13, 4) !~ /^.\|  $/ && !/^ *[0-9.]+ \|  / { bad("not a line of a trace") }
        {
            time = $0; sub(/ *\|.*/, "", time); gsub(/ /, "", time)
            text = $0; sub(/^[^|]*\|  /, "", text)
            if (time != "" && (time !~ /^[0-9]+\.[0-9][0-9][0-9]$/ || time + 0 > 600000000))
                bad("not a time")
            indent = match(text, /[^ ]/) - 1
            text = substr(text, indent + 1)
            if (text ~ /^\/\* .* \*\/$/) next
            if (text ~ /^}/) depth--
            if (depth < 0) bad("a brace too many")
            if (indent != 3 * depth) bad("not at its depth, " depth)
            if (text ~ /^[A-Za-z_][A-Za-z0-9_.+]*\(\) \{$/) {
                if (time != "") bad("a time where it begins")
                depth++
            } else if (text ~ /^[A-Za-z_][A-Za-z0-9_.+]*\(\)$/) { if (time == "") bad("no time") }
            else if (text == "}") { if (time == "") bad("no time") }
            else if (text != "} /* still running */") bad("unknown")
        }
        END {
            if (!failed && depth != 0) { print FILENAME ": " depth " braces too few"; failed = 1 }
            exit failed
        }' "$1" ||
        fail "'$1' is not a good trace"
}

# trace_cat FILE [OPTION...]: what was recorded, checked.
trace_cat () {
    "$WINDLASS" trace cat "$MNT" "${@:2}" >"$1" || fail "trace cat: exit status $?"
    trace_checked "$1"
}

# trace_has FILE NAME [BELOW]: a call of NAME; with BELOW, one inside of a call of that.
trace_has () {
    awk -v name="$2()" -v below="${3:+$3()}" '
        {
            text = $0; sub(/^[^|]*\|  /, "", text)
            depth = (match(text, /[^ ]/) - 1) / 3
            gsub(/^ +| \{$/, "", text); at[depth] = text
        }
        text == name {
            if (below == "") found = 1
            for (i = 0; i < depth; i++) if (at[i] == below) found = 1
        }
        END { exit !found }' "$1"
}

expect_trace () {
    trace_has "$@" || fail "'$1' has no $2${3:+ below $3}"
}

expect_no_trace () {
    ! trace_has "$@" || fail "'$1' has $2${3:+ below $3}"
}

# need_function_graph: this build and machine can.
need_function_graph () {
    grep -q '^#define HAVE_FUNCTION_GRAPH 1' "$BUILD_DIR/config.h" ||
        skip "needs a build with the function graph"
}
