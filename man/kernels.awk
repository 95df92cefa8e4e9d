# SPDX-License-Identifier: LGPL-2.1-or-later
# Prints the table of windlass-kernels(7), whose source is src/cli/doctor/kernel-features.def.

BEGIN {
    print ".TS\ntab(|) allbox;\nlB lB lB\nl lw(18n) lw(38n).\nLinux|feature|without it"
}
function end_row() {
    if (row)
        print "T}"
    row = 0
}
/^KERNEL_FEATURE/ {
    split ($0, text, "\"")
    gsub (/'/, "\\(aq", text[2])
    gsub (/[^0-9 ]/, " ", $0)
    print $1 "." $2 "|T{\n.ad l\n" text[2] "\nT}|T{\n.ad l"
    row = 1
    next
}
row && /^(\/\*| \*) / {
    last = sub (/ \*\/$/, "")
    print substr ($0, 4)
    if (last)
        end_row()
}
END { print ".TE" }
