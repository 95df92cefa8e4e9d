# SPDX-License-Identifier: LGPL-2.1-or-later
# Turns the rows of fops.def, or of rpc/wire/wire.def, into macros that can be expanded more than
# once in one place:
#
#   #define FOP_ARGS_stat(A) A (LOC, loc) A (DICT, xdata)
#   #define FOP_EFFECTS_writev(E) E (CHANGES_DATA | CHANGES_ATTRIBUTES, fd)
#   #define FOP_RETS_stat(R) R (IATT, buf) R (DICT, xdata)
#   #define FOP_LIST(F) F (lookup) F (stat) ...
#
# The preprocessor alone cannot do this: it expands the rows of an included file once, and a
# function that takes the arguments of a fop and passes them on needs them twice. For wire.def,
# -v table=WIRE -v row=PROCEDURE changes the prefix, and the word that a row begins with.
BEGIN {
    if (!table) {
        table = "FOP"
        row = "FOP"
    }
    print "/* Made by core/table/fops-rows.awk. */"
}
function row_begins(inside) {
    list = list " \\\n    F (" inside ")"
    name = inside
    sub (/,.*/, "", name)
    args = effects = rets = ""
}
function row_ends() {
    printf "#define %s_ARGS_%s(A)%s\n", table, name, args
    if (table == "FOP")
        printf "#define %s_EFFECTS_%s(E)%s\n", table, name, effects
    printf "#define %s_RETS_%s(R)%s\n", table, name, rets
}
/^ *[A-Z]+ \(/ {
    rest = $0
    while (match(rest, /[A-Z]+ \([^)]*\)/)) {
        word = inside = substr(rest, RSTART, RLENGTH)
        rest = substr(rest, RSTART + RLENGTH)
        sub (/ .*/, "", word)
        sub (/^[^(]*\(/, "", inside)
        sub (/\)$/, "", inside)
        if (word == row) row_begins(inside)
        else if (word == "EFFECT") effects = effects " E (" inside ")"
        else if (word == "ARG") args = args " A (" inside ")"
        else if (word == "RET") rets = rets " R (" inside ")"
        else if (word == "END") row_ends()
    }
}
END { print "#define " table "_LIST(F)" list }
