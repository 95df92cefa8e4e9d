# SPDX-License-Identifier: LGPL-2.1-or-later
# Turns value-kinds.h and fops.def, read in this order, into the section OPERATIONS of fops(7), in
# the man macros:
#
#   awk -f fops-man.awk core/table/value-kinds.h fops.def
#
# An operation is printed as its contract, which is the comment above its rows, and the two types
# that its rows make.
function fail(text) { print FILENAME ":" FNR ": " text >"/dev/stderr"; bad = 1; exit 1 }
function inside(line) { sub (/^[^(]*\(/, "", line); sub (/\).*$/, "", line); return line }

# "LOC, loc" as "loc_t *loc".
function declaration(line,    part) {
    split (inside(line), part, /, */)
    if (!(part[1] in type))
        fail("kind '" part[1] "' has no type C_" part[1] " in value-kinds.h")
    return type[part[1]] (type[part[1]] ~ /\*$/ ? "" : " ") part[2]
}

# Text for roff, with the names of manual pages in bold.
function escape(text) {
    gsub (/\\/, "\\e", text)
    gsub (/-/, "\\-", text)
    gsub (/'/, "\\(aq", text)
    return text
}
function prose(text,    out, name, section) {
    text = escape(text)
    while (match (text, /[a-z_][a-z_0-9]*\([1-8]\)/)) {
        name = substr (text, RSTART, RLENGTH - 3)
        section = substr (text, RSTART + RLENGTH - 3, 3)
        out = out substr (text, 1, RSTART - 1) "\\fB" name "\\fR" section
        text = substr (text, RSTART + RLENGTH)
    }
    return out text
}

# A new sentence starts on a line of its own, as roff wants it.
function paragraph(text) {
    gsub (/[.:] +/, "&\n", text)
    gsub (/: +\n/, ": ", text)
    gsub (/ +\n/, "\n", text)
    gsub (/\n[.']/, "\n\\\\&", text)
    return text
}

# One function type: what all have, then its own rows, broken at 70 columns.
function signature(name, common, n, list,    i, line) {
    line = "void " name " (" common
    for (i = 1; i <= n; i++) {
        if (length (line ", " list[i]) > 70) {
            print escape(line) ","
            line = "        " list[i]
        } else {
            line = line ", " list[i]
        }
    }
    print escape(line) ");"
}

function operation() {
    print ".SS " escape(name)
    if (contract == "")
        fail("operation '" name "' has no contract above it")
    print prose(paragraph(contract))
    print ".PP\n.nf"
    signature(name "_fop", "call_frame_t *frame, xlator_t *this", args, arg)
    print ".sp"
    signature(name "_cbk", "call_frame_t *frame, void *cookie, xlator_t *this", rets, ret)
    print ".fi"
}

/^#define C_[A-Z]/ { kind = substr ($2, 3); sub (/^#define C_[A-Z]+ /, ""); type[kind] = $0; next }
FILENAME != file   { file = FILENAME; comment = contract = "" }

# Comments: that of the operation's own is "/* name: contract */", and comes last before it.
/^\/\*/ { comment = ""; in_comment = 1 }
in_comment {
    line = $0
    over = line ~ /\*\/ *$/
    sub (/^ *\/?\* ?/, "", line)
    sub (/ *\*\/ *$/, "", line)
    comment = comment (comment == "" ? "" : " ") line
    if (over) {
        in_comment = 0
        contract = comment
    }
    next
}

/^FOP \(/ {
    name = inside($0)
    if (substr (contract, 1, length (name) + 1) != name ":")
        contract = ""
    sub (/^[a-z_]+: */, "", contract)
    contract = toupper (substr (contract, 1, 1)) substr (contract, 2)
    args = 0
    rets = 2
    ret[1] = "int32_t op_ret"
    ret[2] = "int32_t op_errno"
}
/^ *ARG \(/ { arg[++args] = declaration($0) }
/^ *RET \(/ { ret[++rets] = declaration($0) }
/^END \(/   { operation(); contract = "" }
END         { if (bad) exit 1 }
