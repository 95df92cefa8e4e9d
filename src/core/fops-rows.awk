# SPDX-License-Identifier: LGPL-2.1-or-later
# Turns fops.def into macros that can be expanded more than once in one place:
#
#   #define FOP_ARGS_stat(A) A (LOC, loc) A (DICT, xdata)
#   #define FOP_RETS_stat(R) R (IATT, buf) R (DICT, xdata)
#   #define FOP_LIST(F) F (lookup) F (stat) ...
#
# The preprocessor alone can't: an included file's rows pass by once, and a function that takes the arguments
# of a fop and hands them on needs them twice.
function inside(line) { sub (/^[^(]*\(/, "", line); sub (/\).*$/, "", line); return line }
BEGIN { print "/* Made by core/fops-rows.awk from fops.def. */" }
/^FOP \(/   { name = inside($0); list = list " \\\n    F (" name ")"; printf "#define FOP_ARGS_%s(A)", name }
/^ *ARG \(/ { printf " A (%s)", inside($0) }
/^REPLY/    { printf "\n#define FOP_RETS_%s(R)", name }
/^ *RET \(/ { printf " R (%s)", inside($0) }
/^END/      { print "" }
END         { print "#define FOP_LIST(F)" list }
