# SPDX-License-Identifier: LGPL-2.1-or-later
# Turns fops.def into macros that can be expanded more than once in one place:
#
#   #define FOP_ARGS_stat(A) A (LOC, loc) A (DICT, xdata)
#   #define FOP_EFFECTS_writev(E) E (CHANGES_DATA | CHANGES_ATTRIBUTES, fd)
#   #define FOP_RETS_stat(R) R (IATT, buf) R (DICT, xdata)
#   #define FOP_LIST(F) F (lookup) F (stat) ...
#
# The preprocessor alone cannot do this: it expands the rows of an included file once,
# and a function that takes the arguments of a fop and passes them on needs them twice.
function inside(line) { sub (/^[^(]*\(/, "", line); sub (/\).*$/, "", line); return line }
BEGIN { print "/* Made by core/table/fops-rows.awk from fops.def. */" }
/^FOP \(/   {
    name = inside($0)
    list = list " \\\n    F (" name ")"
    printf "#define FOP_ARGS_%s(A)", name
}
/^ *EFFECT \(/ { effects = effects " E (" inside($0) ")" }
/^ *ARG \(/ { printf " A (%s)", inside($0) }
/^REPLY/    {
    printf "\n#define FOP_EFFECTS_%s(E)%s\n#define FOP_RETS_%s(R)", name, effects, name
    effects = ""
}
/^ *RET \(/ { printf " R (%s)", inside($0) }
/^END/      { print "" }
END         { print "#define FOP_LIST(F)" list }
